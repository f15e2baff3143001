// A decoder of text from its loaded graphs: which cache it has, and states over it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "generation/decoder_state.h"
#include "runtime/model_runner.h"

namespace slipway {

/// The graphs of a decoder: `prompt` reads a prompt, `step` what follows on the cache. The same
/// graph twice where one serves both.
struct DecoderGraphs {
  const ModelRunner& prompt;
  const ModelRunner& step;
};

enum class DecoderCache {
  kNone,     ///< every call runs the whole sequence again
  kGrowing,  ///< keys and values of exact length go in, longer ones come out
  kStatic,   ///< keys and values lie in slots that are filled in place
};

/// Whose memory a cache lies in.
enum class CachePlace {
  kCaller,   ///< inputs and outputs of the graph
  kRuntime,  ///< states that the graph keeps from run to run
};

/// Slots of a static cache whose length neither the graph nor the caller states: as many as the
/// model has positions, and no more than this.
constexpr int64_t kDefaultCacheLength = 2048;

struct DecoderStateOptions {
  /// Slots of a static cache with a symbolic length. Where the length is fixed it may not be more;
  /// other decoders take no notice of it.
  std::optional<int64_t> max_cache_len;
  /// Positions that the model was made for: what a static cache has slots for where nothing else
  /// says it. No limit on what is read.
  std::optional<int64_t> max_positions;
  /// The length from which the rotary angles of a call depend on how far the call reaches (rope
  /// types dynamic and longrope). Calls that reach beyond it are not taken apart.
  std::optional<int64_t> angles_change_at = std::nullopt;
  /// The sliding window of mask inputs, for graphs without the metadata `slipway.masks`.
  std::map<std::string, int64_t> windows;

  /// max_position_embeddings, the rotary settings, and windows from sliding_window,
  /// use_sliding_window and layer_types of a config.json, or of the text_config in it. Throws
  /// Error{kInvalid} for values of the wrong type.
  static DecoderStateOptions from_config(const Json& config);
};

/// Throws Error{kUnsupported} naming what is missing where the graphs are no decoder.
DecoderCache decoder_cache(const DecoderGraphs& graphs);

/// Whether one call can read many tokens after others.
bool reads_many_tokens(const DecoderGraphs& graphs);

/// Whether it is a program for ExecuTorch's LLM runner: it has one row, and gives the logits of the
/// last token.
bool is_llm_program(const DecoderGraphs& graphs);

/// The slots of a static cache, where the graphs fix them.
std::optional<int64_t> fixed_slots(const DecoderGraphs& graphs);

/// The most tokens of a sequence that the graphs can take, where they state one.
std::optional<int64_t> max_sequence_length(const DecoderGraphs& graphs);

/// An empty state. Shares the weights; the runners need not outlive it. Throws Error{kUnsupported}
/// naming what is missing for graphs that are no decoder or have other sizes fixed than the
/// cache's; Error{kInvalid} when the two graphs' caches do not fit together, or for a
/// max_cache_len beyond the graphs' fixed one.
std::unique_ptr<DecoderState> make_decoder_state(const DecoderGraphs& graphs,
                                                 const DecoderStateOptions& options = {});

}  // namespace slipway
