// Tables of SentencePiece's: every key is found, nothing else is, whatever the bytes.
#include "backends/openvino/character_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace slipway::openvino {
namespace {

/// Reads a table as Darts-clone and SentencePiece do: the value of the longest key in front.
class Reader {
 public:
  explicit Reader(const std::string& table) {
    uint32_t size = 0;
    std::memcpy(&size, table.data(), 4);
    units_.resize(size / 4);
    std::memcpy(units_.data(), table.data() + 4, size);
    values_ = table.substr(4 + size);
  }

  std::optional<std::string> find(const std::string& text) const {
    std::optional<std::string> found;
    uint32_t at = 0, unit = units_.at(0);
    at ^= offset(unit);
    for (const char c : text) {
      at ^= static_cast<uint8_t>(c);
      unit = units_.at(at);
      if ((unit & (1u << 31 | 0xFF)) != static_cast<uint8_t>(c)) return found;
      at ^= offset(unit);
      if (unit >> 8 & 1) found = values_.c_str() + (units_.at(at) & ~(1u << 31));
    }
    return found;
  }

 private:
  static uint32_t offset(uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }
  std::vector<uint32_t> units_;
  std::string values_;
};

TEST(CharacterMap, FindsTheLongestKey) {
  const Reader table(character_map({{"a", "1"}, {"abc", "2"}, {"b", ""}, {"\xFF", "3"}}));
  EXPECT_EQ(table.find("a"), "1");
  EXPECT_EQ(table.find("abd"), "1");
  EXPECT_EQ(table.find("abcd"), "2");
  EXPECT_EQ(table.find("b"), "");
  EXPECT_EQ(table.find("\xFF"), "3");
  for (const std::string& text : {std::string("c"), std::string(), std::string("\0", 1)})
    EXPECT_EQ(table.find(text), std::nullopt) << text;
}

TEST(CharacterMap, FindsEveryKeyAndNoOther) {
  std::map<std::string, std::string> replacements;
  uint32_t seed = 1;
  const auto next = [&] { return seed = seed * 1664525 + 1013904223; };
  for (int i = 0; i < 3000; ++i) {
    std::string key;
    for (uint32_t n = 1 + next() % 5; n > 0; --n) key += static_cast<char>(1 + next() % 255);
    replacements[key] = std::to_string(i);
  }
  const Reader table(character_map(replacements));
  for (const auto& [key, value] : replacements) EXPECT_EQ(table.find(key), value);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (uint32_t n = 1 + next() % 5; n > 0; --n) text += static_cast<char>(next() % 256);
    std::optional<std::string> want;
    for (size_t n = 1; n <= text.size(); ++n)
      if (const auto at = replacements.find(text.substr(0, n)); at != replacements.end())
        want = at->second;
    EXPECT_EQ(table.find(text), want);
  }
}

TEST(CharacterMap, LowersAsTheLibraryDoes) {
  const Reader table(lowercase_map());
  EXPECT_EQ(table.find("A"), "a");
  EXPECT_EQ(table.find("\u00c9"), "\u00e9");
  EXPECT_EQ(table.find("\u0416"), "\u0436");
  EXPECT_EQ(table.find("\u0130"), "i\u0307");
  EXPECT_EQ(table.find("\u1e9e"), "\u00df");
  EXPECT_EQ(table.find("\u13a0"), "\uab70");
  EXPECT_EQ(table.find("\U00010400"), "\U00010428");
  // Case folding would change these.
  for (const char* text : {"a", "\u03c2", "\u017f", "\u00b5", "\u0149", "1"})
    EXPECT_EQ(table.find(text), std::nullopt) << text;
}

}  // namespace
}  // namespace slipway::openvino
