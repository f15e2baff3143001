// Tensor names: glob patterns, edit distance, lists for messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slipway {

/// Whether `pattern`, where `*` stands for any text, covers all of `text`.
bool glob_match(std::string_view pattern, std::string_view text);

/// The name with the fewest edits to `name` among `candidates`; empty when none is near (more than
/// a third of its characters differ).
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// "a, b, c and 5 more": at most `limit` names, each cut to 120 characters.
std::string list_names(const std::vector<std::string>& names, size_t limit = 10);

}  // namespace slipway
