// JSON: limits and positions of errors, and text equal to Python's.
#include "base/json.h"

#include <gtest/gtest.h>

#include "base/test_expect.h"

namespace slipway {
namespace {

std::string error(const std::string& text, const JsonLimits& limits = {}) {
  try {
    parse_json(text, "f.json", limits);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kInvalid);
    return e.what();
  }
  return "no error";
}

TEST(Json, ParsesAndKeepsOrder) {
  const Json v =
      parse_json("\xef\xbb\xbf{\"b\": [1, -2, 3.5, true, null], \"a\": {\"x\": \"\\u00e9\"}}", "f");
  EXPECT_EQ(v.dump(), "{\"b\":[1,-2,3.5,true,null],\"a\":{\"x\":\"\xc3\xa9\"}}");
}

TEST(Json, ErrorsSayWhere) {
  EXPECT_TRUE(contains(error("{\n\"a\": nope}"), "[f.json] line 2, column"));
  EXPECT_TRUE(contains(error("{\"a\": NaN}"), "line 1, column"));
  EXPECT_TRUE(contains(error("{\"a\": Infinity}"), "not valid JSON"));
  EXPECT_TRUE(contains(error("1e999"), "not valid JSON"));
  EXPECT_TRUE(contains(error("{} x"), "not valid JSON"));
  EXPECT_TRUE(contains(error("[1"), "not valid JSON"));
  EXPECT_TRUE(contains(error(""), "not valid JSON"));
  EXPECT_TRUE(contains(error("\"\xff\""), "not valid JSON"));
  EXPECT_TRUE(contains(error("\"\\ud800\""), "not valid JSON"));
  EXPECT_TRUE(contains(error("{\"a\": 1, \"a\": 1}"), "the key \"a\" twice"));
}

TEST(Json, Limits) {
  EXPECT_TRUE(contains(error(std::string(100000, '[')), "more than 128 levels"));
  EXPECT_TRUE(contains(error("[1, 2, 3]", {100, 8, 3}), "more than 3 values"));
  EXPECT_TRUE(contains(error("[1, 2, 3]", {4, 8, 9}), "got 9 bytes"));
  EXPECT_EQ(error("[1, 2, 3]", {9, 1, 4}), "no error");
}

TEST(Json, ManyKeysTakeLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 300000; ++i) text += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
  EXPECT_EQ(parse_json(text + "}", "f").size(), 300000u);
}

TEST(Json, WritesWhatPythonWrites) {
  const Json v = parse_json(
      R"({"a": [1, 2.0, 1e-05, 0.0001, 1e16, 123456789012345.0, 1e15, -0.0, 0.1, 1e22, 1.5e-7],
    "e": {}, "l": [], "s": "é\u007f\ud83d\ude00\n\"\\/\u0001\b\f\t\r", "n": null, "t": true})",
      "f");
  EXPECT_EQ(
      python_json(v),
      R"({"a": [1, 2.0, 1e-05, 0.0001, 1e+16, 123456789012345.0, 1000000000000000.0, -0.0, 0.1, )"
      R"(1e+22, 1.5e-07], "e": {}, "l": [], "s": "\u00e9\u007f\ud83d\ude00\n\"\\/\u0001\b\f\t\r", )"
      R"("n": null, "t": true})");
  EXPECT_EQ(python_json_indented(parse_json(R"({"a": [1, {"b": []}], "c": {}})", "f")),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}");
}

TEST(Json, QuotesForMessages) {
  EXPECT_EQ(quote("a\nb\x01"), "\"a\\x0ab\\x01\"");
  EXPECT_EQ(quote("abcdef", 3), "\"abc...\"");
  EXPECT_EQ(quote("ab\xc3\xa9z", 3), "\"ab...\"");
  EXPECT_EQ(describe(Json(1.5)), "the number 1.5");
}

}  // namespace
}  // namespace slipway
