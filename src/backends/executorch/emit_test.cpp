// Methods from lowered graphs: sizes, views, writes in place, outputs of their own.
#include "backends/executorch/emit.h"

#include <gtest/gtest.h>

#include "backends/executorch/lower.h"
#include "backends/executorch/partition.h"
#include "ir/parse.h"

namespace slipway::executorch {
namespace {

Method emitted(const std::string& text) {
  ExportedProgram source;
  source.graph = parse_graph(text);
  const auto graph = lower(source);
  expand_own_ops(*graph);
  Program program;
  program.methods.push_back(emit(*graph, "forward"));
  verify(program);
  return program.methods[0];
}

const KernelCall& call(const Method& method, size_t i) {
  return std::get<KernelCall>(method.instructions.at(i));
}

std::vector<std::string> kernels(const Method& method) {
  std::vector<std::string> names;
  for (size_t i = 0; i < method.instructions.size(); ++i) names.push_back(call(method, i).op);
  return names;
}

TEST(ExecutorchEmit, ComputesASizeOnceJustBeforeItIsNeeded) {
  const Method m = emitted(R"(dims: b in 1..4, s in 1..8
graph(%x: f32[b, s]) {
  %0: f32[b*s] = aten::view(%x, [b*s])
  %1: f32[b*s] = aten::neg(%0)
  %2: f32[b*s, 1] = aten::view(%1, [b*s, 1])
  %3: f32[b*s, 1] = aten::exp(%2)
  return y=%3
})");
  EXPECT_EQ(kernels(m),
            (std::vector<std::string>{"aten::sym_size", "aten::sym_size", "executorch_prim::mul",
                                      "executorch_prim::et_view", "aten::neg",
                                      "executorch_prim::et_view", "aten::exp"}));
}

TEST(ExecutorchEmit, AViewIsAnotherNameForItsMemory) {
  const Method m = emitted(R"(graph(%x: f32[2, 3]) {
  %0: f32[2, 3] = aten::neg(%x)
  %1: f32[6] = aten::view(%0, [6])
  %2: f32[6] = aten::exp(%1)
  %3: f32[3, 2] = aten::view(%0, [3, 2])
  return y=%2, z=%3
})");
  EXPECT_EQ(kernels(m), (std::vector<std::string>{"aten::neg", "executorch_prim::et_view",
                                                  "aten::exp", "aten::view_copy"}));
  EXPECT_EQ(m.tensor(call(m, 1).args[2]).view_of, call(m, 0).args.back());
  EXPECT_FALSE(m.tensor(m.outputs[1]).view_of);  // an output has memory of its own
}

/// The count is read by the write; its new value is copied in when everything has been computed.
TEST(ExecutorchEmit, WritesTheInputsOfACache) {
  const Method m = emitted(R"(dims: n in 1..16
graph(%cache: f32[1, 2, n, 4], %at: i64[1], %x: f32[1, 2, 1, 4], %count: i64[]) {
  %0: f32[1, 2, n, 4] = slipway::cache_write(%cache, %at, %x)
  %1: i64[] = aten::add.Scalar(%count, 1)
  %2: f32[1, 2, n, 4] = aten::neg(%0)
  return count=%1, cache=%0, y=%2
})");
  EXPECT_EQ(kernels(m), (std::vector<std::string>{"aten::add", "aten::index_put_", "aten::neg",
                                                  "aten::copy_"}));
  ASSERT_EQ(m.input_names[0], "cache");
  EXPECT_EQ(m.outputs[1], m.inputs[0]);
  EXPECT_EQ(m.outputs[0], m.inputs[3]);
  EXPECT_EQ(call(m, 1).args.front(), m.inputs[0]);
  EXPECT_EQ(call(m, 1).args.back(), m.inputs[0]);
}

TEST(ExecutorchEmit, WhatComesBackUnderAnotherNameIsACopy) {
  const Method m = emitted(R"(graph(%x: f32[2]) {
  %0: f32[2] = aten::neg(%x)
  return y=%x, z=%0, again=%0
})");
  EXPECT_EQ(kernels(m), (std::vector<std::string>{"aten::neg", "aten::clone", "aten::clone"}));
  EXPECT_NE(m.outputs[0], m.inputs[0]);
  EXPECT_NE(m.outputs[1], m.outputs[2]);
}

TEST(ExecutorchEmit, WhatIsKeptIsCountedWhileItRuns) {
  const Method m = emitted(R"(dims: s in 1..8, kept in 0..8
graph(%x: f32[1, s, 4], %count: i64[]) {
  %0: f32[1, kept, 4] = slipway::keep_last(%x, %count, kept)
  %1: f32[kept, 4] = aten::view(%0, [kept, 4])
  %2: f32[kept, 4] = aten::neg(%1)
  return y=%2
})");
  EXPECT_EQ(kernels(m), (std::vector<std::string>{
                            "aten::_local_scalar_dense", "executorch_prim::neg", "aten::slice_copy",
                            "aten::sym_size", "executorch_prim::et_view", "aten::neg"}));
}

TEST(ExecutorchEmit, SeveralResultsAreAListToo) {
  const Method m = emitted(R"(graph(%x: f32[2, 5]) {
  %0: f32[2, 3], %1: i64[2, 3] = aten::topk(%x, 3)
  return y=%0, at=%1
})");
  ASSERT_EQ(kernels(m), std::vector<std::string>{"aten::topk"});
  const auto& args = call(m, 0).args;
  const auto& list = std::get<TensorListValue>(m.values[static_cast<size_t>(args.back())]);
  EXPECT_EQ(list.items, m.outputs);
}

}  // namespace
}  // namespace slipway::executorch
