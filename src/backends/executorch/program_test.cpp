// Tests of the checks on programs and delegates' graphs.
#include "backends/executorch/program.h"

#include <gtest/gtest.h>

#include "backends/executorch/test_programs.h"
#include "base/test_expect.h"

namespace slipway::executorch {
namespace {

/// What verify() says about a program after a change to its first method.
template <class Change>
std::string refused(Program program, Change change) {
  change(program.methods[0]);
  return error_of(kInternal, [&] { verify(program); });
}

TEST(ExecutorchProgram, AcceptsWhatTheOtherTestsUse) {
  for (const auto& make :
       {testing::add_program, testing::flatten_program, testing::buffer_program,
        testing::shared_program, testing::branch_program, testing::scale_program})
    EXPECT_NO_THROW(verify(make()));
}

TEST(ExecutorchProgram, RefusesWhatRuntimesWouldCrashOn) {
  const Program add = testing::add_program(), flat = testing::flatten_program();
  EXPECT_TRUE(contains(
      refused(add, [](Method& m) { std::get<KernelCall>(m.instructions[0]).args[0] = 99; }),
      "value 99 does not exist"));
  EXPECT_TRUE(contains(refused(add, [](Method& m) { m.input_names = {}; }),
                       "inputs and their names differ"));
  EXPECT_TRUE(contains(refused(add,
                               [](Method& m) {
                                 m.instructions = {JumpFalseCall{3, 7}};
                               }),
                       "a jump goes to instruction 7"));
  EXPECT_TRUE(contains(refused(add,
                               [](Method& m) {
                                 m.instructions = {DelegateCall{0, {}}};
                               }),
                       "delegate 0 does not exist"));
  EXPECT_TRUE(
      contains(refused(add, [](Method& m) { std::get<TensorValue>(m.values[1]).data = nullptr; }),
               "constant 1 has no data"));
  EXPECT_TRUE(
      contains(refused(add, [](Method& m) { std::get<TensorValue>(m.values[1]).shape = {5}; }),
               "data are f32 [4], the tensor f32 [5]"));
  EXPECT_TRUE(contains(refused(flat,
                               [](Method& m) {
                                 for (size_t i = 0; i < m.values.size(); ++i)
                                   if (auto* t = std::get_if<TensorValue>(&m.values[i]))
                                     if (t->view_of) m.outputs = {static_cast<ValueId>(i)};
                               }),
                       "is a view"));
  EXPECT_TRUE(contains(refused(flat, [](Method& m) { m.add(IntListValue{{0}}); }),
                       "element 0 has the wrong kind"));
}

TEST(ExecutorchProgram, NumbersAreAddedOnce) {
  Method m("forward");
  EXPECT_EQ(m.constant(int64_t{1}), m.constant(int64_t{1}));
  EXPECT_NE(m.constant(int64_t{1}), m.constant(1.0));
  EXPECT_NE(m.constant(int64_t{1}), m.constant(true));
  EXPECT_EQ(m.constant(NoneValue{}), m.constant(NoneValue{}));
  const size_t before = m.values.size();
  m.int_list({1, 1, 2});
  EXPECT_EQ(m.values.size(), before + 2);  // the 2, and the list
}

TEST(ExecutorchProgram, RefusesGraphsThatXnnpackWouldMisread) {
  using xnnpack::NodeKind;
  const auto graph = [](auto change) {
    xnnpack::Graph g =
        testing::linear_delegate(testing::eighths({3, 8}), testing::eighths({3})).graph;
    change(g);
    return error_of(kInternal, [&] { xnnpack::verify(g); });
  };
  EXPECT_TRUE(contains(graph([](xnnpack::Graph& g) { g.nodes[0].inputs.pop_back(); }),
                       "a node FullyConnected has the wrong inputs"));
  EXPECT_TRUE(
      contains(graph([](xnnpack::Graph& g) { g.inputs = {}; }), "reads value 0 before it is made"));
  EXPECT_TRUE(contains(graph([](xnnpack::Graph& g) { g.nodes.clear(); }), "no node makes"));
  EXPECT_TRUE(contains(graph([](xnnpack::Graph& g) {
                         g.values[1].shape = {4, 8};
                       }),
                       "are no static data of 32 elements"));
  EXPECT_TRUE(
      contains(graph([](xnnpack::Graph& g) { g.values[1].type = xnnpack::DataType::kFp16; }),
               "value 1: f32 [3, 8] are no static data"));
  EXPECT_TRUE(contains(graph([](xnnpack::Graph& g) {
                         const auto y = g.add({.shape = {3, 8}});
                         g.nodes.push_back({.kind = NodeKind::kAbs, .inputs = {1}, .outputs = {y}});
                       }),
                       "static value 1 is packed by one node and read by another"));
  EXPECT_TRUE(contains(graph([](xnnpack::Graph& g) { g.nodes[0].attributes = xnnpack::Axis{0}; }),
                       "attributes"));
  xnnpack::Graph blocks;
  blocks.add({.type = xnnpack::DataType::kQbint4,
              .shape = {2, 64},
              .quantization = xnnpack::Blockwise{testing::eighths({4}), 0, 32}});
  EXPECT_TRUE(contains(error_of(kInternal, [&] { xnnpack::verify(blocks); }),
                       "value 0 needs 4 scales of bf16"));
}

}  // namespace
}  // namespace slipway::executorch
