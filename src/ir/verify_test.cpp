// What the verifier finds.
#include "ir/verify.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/parse.h"

namespace slipway {
namespace {

std::string complaint(const Graph& graph, const Contract* contract = nullptr) {
  try {
    if (contract != nullptr) verify(graph, *contract);
    else verify(graph);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kInternal);
    return error.what();
  }
  return "fine";
}

const ValueType kRow{DType::kF32, {Sym::symbol("n"), 4}};

TEST(Verify, AcceptsAWholeGraph) {
  Graph g;
  g.add_output("y", exp(g.add_input("x", kRow)));
  EXPECT_EQ(complaint(g), "fine");
}

TEST(Verify, FindsAStaleType) {
  Graph g;
  const Value y = exp(g.add_input("x", kRow));
  g.add_output("y", y);
  y.node()->types[0].dtype = DType::kF16;
  EXPECT_EQ(complaint(g), "[verify] aten::exp has type f16[n, 4], inference gives f32[n, 4]");
}

TEST(Verify, FindsArgumentsThatNoLongerFit) {
  Graph g;
  const Value x = g.add_input("x", kRow);
  const Value y = matmul(x, g.add_weight("w", {DType::kF32, {4, 2}}));
  g.add_output("y", y);
  y.node()->args[1] = g.add_weight("v", {DType::kF32, {5, 2}});
  EXPECT_EQ(complaint(g), "[verify] aten::matmul: [ir] aten::matmul: the inner size is 4, need 5");
}

TEST(Verify, FindsCycles) {
  Graph g;
  const Value a = exp(g.add_input("x", kRow)), b = neg(a);
  g.add_output("y", b);
  a.node()->args[0] = b;
  EXPECT_NE(complaint(g).find("depends on itself"), std::string::npos);
}

TEST(Verify, FindsValuesOfAnotherGraph) {
  Graph g, other;
  const Value y = exp(g.add_input("x", kRow));
  g.add_output("y", y);
  y.node()->args[0] = other.add_input("x", kRow);
  EXPECT_EQ(complaint(g), "[verify] input 'x' belongs to another graph");
}

TEST(Verify, FindsUndefinedAndRepeatedOutputs) {
  Graph g;
  const Value x = g.add_input("x", kRow);
  g.add_output("y", x);
  g.add_output("y", x);
  EXPECT_EQ(complaint(g), "[verify] there are two outputs named 'y'");
  g.outputs()[1] = {"z", Value()};
  EXPECT_EQ(complaint(g), "[verify] output 'z' is undefined");
  g.outputs()[1] = {"z", Value(x.node(), 1)};
  EXPECT_EQ(complaint(g), "[verify] output 'z' uses output 1 of input 'x', which has 1");
}

TEST(Verify, FindsTwoLeavesOfOneName) {
  Graph g;
  const Value x = g.add_input("x", kRow);
  g.add_output("y", x + g.add_weight("x", {DType::kF32, {4}}));
  EXPECT_EQ(complaint(g), "[verify] there are two inputs or weights named 'x'");
}

TEST(Verify, FindsOneSymbolWithTwoRanges) {
  Graph g;
  const Value x = g.add_input("x", {DType::kF32, {Sym::symbol("n", 0, 4)}});
  const Value y = g.add_input("y", {DType::kF32, {Sym::symbol("n", 0, 5)}});
  g.add_output("x", x);
  g.add_output("y", y);
  EXPECT_EQ(complaint(g), "[verify] input 'y': dimension 'n' has two different ranges");
}

TEST(Verify, FindsDataOfAnotherShape) {
  Graph g;
  const Value c = g.constant(Tensor(DType::kF32, {2}));
  g.add_output("y", c);
  c.node()->types[0].shape = {3};
  EXPECT_EQ(complaint(g), "[verify] a constant holds f32[2], its type is f32[3]");
}

TEST(Verify, ContractsNameEveryOpThatBreaksThem) {
  const auto g = parse_graph(
      "graph(%x: f32[2, 4], %w: f32[4]) { %0 = slipway::rms_norm(%x, %w, 1e-06)"
      " %1 = slipway::rms_norm(%0, %w, 1e-06) return y=%1 }");
  EXPECT_EQ(complaint(*g, &aten_contract()), "fine");
  EXPECT_EQ(complaint(*g, &core_contract()),
            "[verify] the 'core' contract is broken: only aten:: ops: slipway::rms_norm x2; run "
            "`decompose` over what the back end lacks");
}

}  // namespace
}  // namespace slipway
