// Sums of dimension names, and one value for every name of a call.
#include "runtime/dim_table.h"

#include <gtest/gtest.h>

#include "runtime/dim_expr.h"

namespace slipway {
namespace {

std::optional<int64_t> value(const std::string& text) {
  const auto expr = DimExpr::parse(text);
  if (!expr) return std::nullopt;
  return expr->evaluate([](const std::string& name) -> std::optional<int64_t> {
    if (name == "past") return 5;
    if (name == "s36") return 7;
    if (name == "huge") return std::numeric_limits<int64_t>::max();
    return std::nullopt;
  });
}

TEST(DimExpr, Sums) {
  EXPECT_EQ(value("past + s36"), 12);
  EXPECT_EQ(value("s36 - past - 1"), 1);
  EXPECT_EQ(value("s36+1"), 8);
  EXPECT_EQ(value(" 4 "), 4);
  EXPECT_TRUE(DimExpr::parse("past")->is_symbol());
  EXPECT_FALSE(DimExpr::parse("past + 1")->is_symbol());
}

TEST(DimExpr, WhatIsNoSumOrUnknown) {
  for (const char* text : {"", " ", "2*s36", "max(a, b)", "a +", "+ a", "a b", "3x", "a + -1",
                           "99999999999999999999", "a//2"})
    EXPECT_FALSE(DimExpr::parse(text).has_value()) << text;
  EXPECT_FALSE(value("past + other").has_value());
  EXPECT_FALSE(value("huge + 1").has_value());
}

IoSpec spec(const std::vector<DimSpec>& dims) { return {"x", DType::kI64, dims}; }
const DimSpec kBatch{-1, "batch"}, kPast{-1, "past"}, kLength{-1, "length"};
const DimSpec kTotal{-1, "past + length"};

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kInvalid);
    return e.what();
  }
  return "no error";
}

TEST(DimTable, UnifiesNames) {
  DimTable table("m.onnx");
  table.add("ids", spec({kBatch, kLength}), {2, 9});
  table.add("types", spec({kBatch, kLength}), {2, 9});
  EXPECT_EQ(table.size_of(kLength), 9);
  EXPECT_EQ(table.size_of({3, ""}), 3);
  EXPECT_FALSE(table.size_of(kPast).has_value());
  EXPECT_EQ(message([&] { table.add("more", spec({kBatch}), {3}); }),
            "[m.onnx] more has batch 3 (dimension 0), but ids has 2 (dimension 0); both need the "
            "same size");
}

TEST(DimTable, RankAndFixedSizes) {
  DimTable table("m.onnx");
  EXPECT_EQ(message([&] {
              table.add("ids", spec({kBatch, {9, ""}}), {2});
            }),
            "[m.onnx] ids has shape [2], need 2 dimensions: [batch, 9]");
  EXPECT_EQ(message([&] {
              table.add("ids", spec({kBatch, {9, ""}}), {2, 8});
            }),
            "[m.onnx] ids has shape [2, 8], need [batch, 9]: dimension 1 was fixed to 9 at export");
  table.add("scalar", spec({}), {});
  table.add("unnamed", spec({{-1, ""}, {-1, ""}}), {2, 3});  // two sizes, no name: no conflict
}

TEST(DimTable, SumsAndRanges) {
  DimTable table("m.onnx");
  table.add("ids", spec({kBatch, kLength}), {2, 9});
  table.add("mask", spec({kBatch, kTotal}), {2, 10});
  table.check_sums();  // past is unknown yet
  table.add("cache", spec({kBatch, kPast}), {2, 0});
  EXPECT_EQ(message([&] { table.check_sums(); }),
            "[m.onnx] mask has size 10 in dimension 1, need past + length = 9 from the other "
            "inputs");
  table.check_ranges({{"length", {1, 9}}, {"unheard", {1, 2}}});
  EXPECT_EQ(message([&] {
              table.check_ranges({{"length", {1, 8}}});
            }),
            "[m.onnx] ids has length 9, the model takes 1 to 8");
  EXPECT_EQ(message([&] {
              table.check_ranges({{"length + past", {10}}});
            }),
            "[m.onnx] length + past 9, the model takes at least 10");
}

}  // namespace
}  // namespace slipway
