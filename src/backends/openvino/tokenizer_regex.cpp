// Patterns for the regular expressions of OpenVINO's string ops.
#include "backends/openvino/tokenizer_regex.h"

#include <fmt/format.h>

#include <algorithm>
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

/// Oniguruma's word characters, for use inside a class; PCRE2's lack vowel signs.
constexpr std::string_view kWord =
    R"(\p{L}\p{Nl}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}\x{24B6}-\x{24E9})"
    R"(\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})";

/// Writes an expression of Oniguruma's in PCRE2's terms.
class Translation {
 public:
  Translation(const Part& part, std::string_view text) : part_(part), text_(text) {
    while (at_ < text_.size()) in_class_ ? class_item() : item();
  }

  /// Oniguruma's ^ and $ are about lines, PCRE2's about the text.
  std::string result() const { return anchored_ ? "(?m)" + out_ : out_; }

 private:
  char ahead(size_t by) const { return at_ + by < text_.size() ? text_[at_ + by] : '\0'; }

  void copy(size_t count) {
    count = std::min(count, text_.size() - at_);
    out_ += text_.substr(at_, count);
    at_ += count;
  }

  void put(const std::string& text, size_t instead_of) {
    out_ += text;
    at_ += instead_of;
  }

  void refuse(const std::string& what) const {
    part_.unsupported(what + " in its expression, which PCRE2 reads otherwise");
  }

  void refuse_escapes(std::string_view letters) const {
    if (ahead(1) != '\0' && letters.find(ahead(1)) != letters.npos)
      refuse(fmt::format("has \\{}", ahead(1)));
  }

  void item() {
    const std::string word = fmt::format("[{}]", kWord);
    const char c = ahead(0), next = ahead(1);
    if (c == '\\') {
      refuse_escapes("hHyYgkKGZ");
      if (next == 'w') return put(word, 2);
      if (next == 'W') return put(fmt::format("[^{}]", kWord), 2);
      if (next == 'b') return put(fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word), 2);
      if (next == 'B') return put(fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word), 2);
      return copy(2);
    }
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("(?~")) refuse("has an absence operator");
    if (rest.starts_with("(?m")) refuse("has the option m");
    anchored_ = anchored_ || c == '^' || c == '$';
    if (c != '[') return copy(1);
    in_class_ = true;
    copy(next == '^' ? 2 : 1);
    if (ahead(0) == ']') copy(1);
  }

  void class_item() {
    const char c = ahead(0), next = ahead(1);
    if (c == '\\') {
      refuse_escapes("hHW");
      return next == 'w' ? put(std::string(kWord), 2) : copy(2);
    }
    if (c == '&' && next == '&') refuse("has an intersection of classes");
    if (c == '[' && next != ':') refuse("has a class inside a class");
    if (c == '[') return copy(std::min(text_.size(), text_.find(":]", at_) + 2) - at_);
    in_class_ = c != ']';
    copy(1);
  }

  const Part& part_;
  std::string_view text_;
  size_t at_ = 0;
  std::string out_;
  bool in_class_ = false, anchored_ = false;
};

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
  return Translation(regex, text).result();
}

std::string longest_of(std::span<const std::string> texts) {
  Trie trie;
  for (const std::string& text : texts) trie.add(text);
  const std::string pattern = trie.pattern();
  return trie.next.size() > 1 ? pattern : "(?:" + pattern + ")";
}

}  // namespace slipway::openvino
