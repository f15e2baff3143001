// Taking a generative model apart into graphs that are exported one by one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "slipway/generation_config.h"
#include "slipway/model.h"

namespace slipway {

/// What of a generative model becomes one graph, with example inputs of that graph's forward. Call
/// `model(inputs)` to run it in plain C++; change `inputs`, or leave a component out, before it is
/// exported.
struct Submodel {
  PreTrainedModel model;
  Inputs inputs;
};

/// By name, in the order in which generation runs them.
using Components = std::vector<std::pair<std::string, Submodel>>;

struct DecomposeOptions {
  /// cache_implementation = "static" and max_cache_len = N give the graphs a cache of fixed slots
  /// in place of one that grows. Other fields do not change the graphs.
  GenerationConfig generation_config;
  /// Whether `decode` takes any number of tokens after any number of cached ones: one token, a
  /// further turn, guesses to verify, or a whole prompt on an empty cache. Otherwise it takes one.
  bool multi_token_decode = false;
};

/// {"prefill", "decode"} of a causal language model. `inputs` are generation's: input_ids
/// [batch, sequence] and attention_mask of that shape where rows are padded (on the left). The
/// example inputs are what greedy generation of 2 tokens (3 with multi_token_decode) feeds: the
/// model is run in plain C++, so give small ones. Throws Error{kUnsupported} for a model that
/// does not generate, Error{kInvalid} for inputs it cannot take and for a static cache without
/// max_cache_len or shorter than the example.
Components decompose_prefill_decode(const PreTrainedModel& model, const Inputs& inputs,
                                    const DecomposeOptions& options = {});

/// The components that generation needs, each to be exported on its own: those of
/// decompose_prefill_decode for a text model.
Components decompose_for_generation(const PreTrainedModel& model, const Inputs& inputs,
                                    const DecomposeOptions& options = {});

/// Whether a model has encoders of other modalities in front of its language model.
bool is_multimodal(const PreTrainedModel& model);

}  // namespace slipway
