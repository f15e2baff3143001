// Patterns for the regular expressions of OpenVINO's string ops.
#include "backends/openvino/tokenizer_regex.h"

#include <fmt/format.h>

#include <map>

namespace slipway::openvino {
namespace {

struct Trie {
  std::map<std::string, Trie, std::less<>> next;
  bool ends = false;

  void add(std::string_view text) {
    Trie* at = this;
    for (const std::string& character : characters_of(text)) at = &at->next[character];
    at->ends = true;
  }

  /// What may follow here. Greedy, so a longer text wins.
  std::string pattern() const {
    std::string text;
    for (const auto& [character, child] : next)
      text += (text.empty() ? "" : "|") + literal(character) + child.pattern();
    if (next.size() > 1 || (ends && !next.empty())) text = "(?:" + text + ")";
    if (ends && !next.empty()) text += "?";
    return text;
  }
};

/// Refuses what the two engines read differently. Gives whether lines are anchored: Oniguruma's ^
/// and $ are about lines, PCRE2's about the text.
bool check(const Part& part, std::string_view pattern) {
  bool anchored = false;
  int in_class = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (c == '\\') {
      if (std::string_view("hHyYgkKGZ").find(next) != std::string_view::npos && next != '\0')
        part.unsupported(fmt::format("has \\{} in its expression, which PCRE2 reads otherwise", next));
      ++i;
    } else if (in_class > 0) {
      if (c == '[' && next != ':')
        part.unsupported("has a class inside a class in its expression, which PCRE2 does not know");
      if (c == '&' && next == '&')
        part.unsupported("has an intersection of classes in its expression, which PCRE2 does not "
                         "know");
      if (c == '[') {  // a POSIX class
        const size_t end = pattern.find(":]", i);
        if (end != std::string_view::npos) i = end + 1;
      } else if (c == ']') {
        in_class = 0;
      }
    } else if (c == '[') {
      in_class = 1;
      if (next == '^') ++i;
      if (i + 1 < pattern.size() && pattern[i + 1] == ']') ++i;
    } else if (c == '^' || c == '$') {
      anchored = true;
    } else if (c == '(' && pattern.substr(i).starts_with("(?~")) {
      part.unsupported("has an absence operator in its expression, which PCRE2 does not know");
    } else if (c == '(' && pattern.substr(i).starts_with("(?m")) {
      part.unsupported("has the option m in its expression, which PCRE2 reads otherwise");
    }
  }
  return anchored;
}

}  // namespace

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    characters.emplace_back(text.substr(i, length));
    i += length;
  }
  return characters;
}

std::string literal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (byte < 0x21 || byte == 0x7F) out += fmt::format("\\x{{{:X}}}", byte);
    else if (byte < 0x80 && !word && c != '_') out += std::string("\\") + c;
    else out += c;
  }
  return out;
}

std::string replacement(const Part& part) {
  const std::string text = part.text();
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] == '\\' && next >= '1' && next <= '9')
      part.unsupported("has a backslash before a digit, which OpenVINO takes for a reference");
    out += text[i] == '$' ? "$$" : std::string(1, text[i]);
  }
  return out;
}

std::string pattern_of(const Part& pattern) {
  if (pattern.has("String")) return literal(pattern["String"].text());
  const Part regex = pattern["Regex"];
  const std::string text = regex.text();
  return check(regex, text) ? "(?m)" + text : text;
}

std::string longest_of(std::span<const std::string> texts) {
  Trie trie;
  for (const std::string& text : texts) trie.add(text);
  const std::string pattern = trie.pattern();
  return trie.next.size() > 1 ? pattern : "(?:" + pattern + ")";
}

}  // namespace slipway::openvino
