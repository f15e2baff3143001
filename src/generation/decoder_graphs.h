// The interface of a decoder's graphs, as states use it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generation/decoder.h"

namespace slipway {

/// An attention mask that a graph takes: of rank 2, 1 where a token is none of padding, or of rank
/// 4, 1 where a query may look at a key.
struct MaskInput {
  std::string name;  ///< the graph's
  DType dtype = DType::kI64;
  size_t rank = 2;
  std::optional<int64_t> window;  ///< rank 4: how far back a query looks
};

/// Keys or values of one layer, under the names of one graph.
struct CacheTensor {
  std::string leaf;    ///< "past_key_values.layers.0.keys"
  std::string input;   ///< "" in a graph that starts an empty cache
  std::string output;  ///< "" where it is a state
  std::string state;   ///< the graph's name of it; "" where it is input and output
  DType dtype = DType::kF32;
  int64_t heads = 0, head_dim = 0;
  std::optional<int64_t> slots;       ///< where a static cache's length is fixed
  std::optional<int64_t> most_slots;  ///< where the graph bounds it
  bool only_bounded = false;          ///< the graph fixes no sizes, though they may not vary
};

/// A state that says how many slots are filled.
struct CounterState {
  std::string state;  ///< the graph's name
  DType dtype = DType::kI64;
};

/// One graph of a decoder.
struct DecoderGraph {
  explicit DecoderGraph(const ModelRunner& runner)
      : session(runner.session()),
        where(runner.session().path().filename().string()),
        limits(runner.limits()) {}

  Session session;
  std::string where;  ///< the file name, in front of messages
  RunnerLimits limits;
  std::string ids, logits;
  std::string positions;  ///< "" when it takes none
  /// Of one that keeps a cache and is told which slots tokens go to; "" for all others.
  std::string slot_positions;
  bool first_slot_only = false;  ///< they are the slot of a call's first token
  std::string logits_to_keep;    ///< "" when it always gives all
  std::vector<MaskInput> masks;
  std::vector<CacheTensor> caches;
  std::vector<std::string> counters;         ///< inputs that say how many slots are filled
  std::vector<CounterState> counter_states;  ///< the same as states
  std::string beams;  ///< input: the row whose cache each row continues; "" when it takes none
  std::optional<int64_t> batch;        ///< where it is fixed
  std::optional<int64_t> tokens;       ///< of one call, where they are fixed
  std::optional<int64_t> most_tokens;  ///< of one call, where the graph bounds them
  std::optional<int64_t> mask_slots;   ///< the length that a mask of rank 4 is fixed to
  std::optional<int64_t> slot_count;   ///< where there are slot_positions
  DType logits_dtype = DType::kF32;
  size_t logits_rank = 3;    ///< 2: of one token
  bool last_logits = false;  ///< those of a call's last tokens, perhaps of the last one only
  std::optional<int64_t> vocabulary;

  /// The upper bound of a size of an input or output, where the graph states one.
  std::optional<int64_t> most_size(const IoSpec& spec, size_t axis) const;
  /// A size that is fixed, or can be 1 only.
  std::optional<int64_t> known_size(const IoSpec& spec, size_t axis) const;
  bool keeps_cache() const {
    return !slot_positions.empty() || (!caches.empty() && !caches[0].state.empty());
  }
  bool takes_cache() const {
    return keeps_cache() || (!caches.empty() && !caches[0].input.empty());
  }
};

/// Both graphs, checked against each other.
struct Decoder {
  DecoderCache cache = DecoderCache::kNone;
  CachePlace place = CachePlace::kCaller;  ///< of the step's; a prompt's may be the caller's
  DecoderGraph prompt, step;
  bool one_graph = false;               ///< prompt and step are the same
  std::optional<int64_t> cache_length;  ///< static: where it is fixed
  std::optional<int64_t> max_positions;
  std::optional<int64_t> angles_change_at;  ///< as in DecoderStateOptions
};

/// A size that the graph fixes; nothing for other sizes and for axes that are not there.
std::optional<int64_t> fixed_size(const IoSpec& spec, size_t axis);
/// Of two limits; nothing is none.
std::optional<int64_t> smaller(std::optional<int64_t> a, std::optional<int64_t> b);

/// Of a program for ExecuTorch's LLM runner; nothing for other graphs. Throws Error{kInvalid} and
/// Error{kUnsupported} for one that says too little or contradicts itself.
std::optional<DecoderGraph> recognize_llm_graph(const ModelRunner& runner);

/// Throws as make_decoder_state().
Decoder recognize_decoder(const DecoderGraphs& graphs, const DecoderStateOptions& options);

}  // namespace slipway
