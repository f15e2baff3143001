// Patterns for the regular expressions of OpenVINO's string ops (PCRE2, Unicode classes).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/openvino/tokenizer_part.h"

namespace slipway::openvino {

/// Characters that Unicode calls white space, for use inside a class.
inline constexpr std::string_view kWhiteSpace =
    R"(\x{9}-\x{D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

/// The UTF-8 characters of a text. A byte that begins none stands alone.
std::vector<std::string> characters_of(std::string_view text);

/// A pattern that matches exactly this text.
std::string literal(std::string_view text);
/// A replacement that gives exactly the text of a component. Refuses one that the op would take for
/// a reference.
std::string replacement(const Part& part);

/// The `pattern` of a component, {"String": ..} or {"Regex": ..}, in PCRE2's terms. Refuses what
/// Oniguruma reads otherwise.
std::string pattern_of(const Part& pattern);

/// Matches the longest of the texts that begins at a place; no capturing groups. Texts are UTF-8.
std::string longest_of(std::span<const std::string> texts);

}  // namespace slipway::openvino
