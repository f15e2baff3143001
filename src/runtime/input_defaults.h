// The inputs that a caller may leave out, and what they are then.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/session.h"

namespace slipway {

/// Inputs by leaf name.
using Leaves = std::map<std::string, Tensor>;

/// What the tokens of a call look like, from the inputs that carry them.
struct TokenLayout {
  std::string anchor;  ///< "input_ids", "inputs_embeds" or "decoder_input_ids"
  int64_t batch = 0;
  int64_t tokens = 0;           ///< new tokens a row
  std::optional<int64_t> past;  ///< cached tokens; nothing where the graph's state does not tell
};

/// A key or value cache that grows: "past_key_values.*", [batch, heads, past, size] with a symbolic
/// past. The caches of a decoder's cross attention are none of these. Caches of graphs with
/// has_static_cache() look the same when their length is symbolic.
bool is_growing_cache(const IoSpec& spec);

/// Whether the caches have slots that are filled one after the other: there is an input
/// "past_key_values.*.cumulative_length" that says how many are.
bool has_static_cache(const std::vector<IoSpec>& specs);

/// The output that carries a growing cache on to the next call, by the input's leaf name:
/// "present.0.key" of "past_key_values.0.key"; otherwise the name itself.
std::string cache_output(const std::string& input);

/// Whether with_defaults() knows a default for the input, given the tokens.
bool has_default(const IoSpec& spec);

/// Reads the layout from the given inputs; nothing when the graph takes no tokens or the caller
/// gave none. `specs` has leaf names.
std::optional<TokenLayout> token_layout(const std::vector<IoSpec>& specs, const Leaves& given);

/// Throws Error{kInvalid} when a rank-2 attention mask does not cover cached and new tokens of
/// every row: a graph that uses separate symbols for it would compute something else silently.
void check_mask_shape(const std::vector<IoSpec>& specs, const Leaves& given,
                      const TokenLayout& layout, std::string_view where);

/// Adds to `given` what the graph takes and the caller left out, where a default is documented:
/// - all growing caches, when none was given: empty (past length 0); not static ones;
/// - attention_mask [batch, past + tokens]: ones;
/// - position_ids [batch, tokens]: the number of unmasked tokens before each one, 0 where masked;
/// - token_type_ids [batch, tokens]: zeros;
/// - beam_idx [batch]: every row its own cache;
/// - num_logits_to_keep: 0, which means the logits of all tokens.
Leaves with_defaults(const std::vector<IoSpec>& specs, const Leaves& given,
                     const TokenLayout& layout);

}  // namespace slipway
