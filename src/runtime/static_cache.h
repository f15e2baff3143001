// Static caches as inputs of one call: slots that are filled one after the other.
#pragma once

#include "runtime/input_defaults.h"

namespace slipway {

/// Throws Error{kInvalid} naming the input when a layer's "past_key_values.*.cumulative_length" and
/// the new tokens do not fit into its slots, which are the third axis of its keys or the last of a
/// mask of rank 4. A runtime would write past the end, or stop with a message about indices.
void check_slots(const std::vector<IoSpec>& specs, const Leaves& given, const TokenLayout& layout,
                 std::string_view where);

}  // namespace slipway
