// Tests of checks of XNNPACK graphs in .pte files: one broken graph each.

#include "backends/executorch/check_test.h"

namespace slipway::executorch {
namespace {

using xnnpack::Graph;
using xnnpack::NodeKind;

/// What reading a program says whose delegate is changed; empty for nothing.
std::string said_of(Program program, const std::function<void(Graph&)>& change) {
  return testing::said_of(std::move(program), [&](Method& m) { change(m.delegates[0].graph); });
}

TEST(ExecutorchCheckXnnpack, LayersFitTheirValues) {
  const auto with = [](size_t value, SymShape shape, Shape data) {
    return said_of(testing::shared_program(), [&](Graph& g) {
      g.values[value].shape = shape;
      if (!data.empty()) g.values[value].data = testing::eighths(data);
    });
  };
  EXPECT_EQ(with(1, {3, 8}, {3, 8}), "");
  EXPECT_TRUE(contains(with(1, {3, 4}, {3, 4}),
                       "method forward delegate 0: node 0 (XNNFullyConnected) has a filter of 4 to "
                       "3 channels for 8 to 3; the file is broken, export it again"));
  EXPECT_TRUE(contains(with(1, {24}, {24}), "has a value of 1 dimensions, needs 2"));
  EXPECT_TRUE(contains(with(2, {2}, {2}), "has a bias of another size"));
}

TEST(ExecutorchCheckXnnpack, FlagsAreThoseOfExporters) {
  const auto with = [](uint32_t flags) {
    return said_of(testing::shared_program(), [&](Graph& g) { g.nodes[0].flags = flags; });
  };
  EXPECT_TRUE(contains(with(8), "has flags that no exporter sets"));
  EXPECT_TRUE(contains(with(1), "has a filter of 3 to 8 channels"));  // the filter the other way
}

TEST(ExecutorchCheckXnnpack, AttributesFitTheirValues) {
  const auto with = [](size_t node, xnnpack::Attributes attributes) {
    return said_of(testing::reshape_program(),
                   [&](Graph& g) { g.nodes[node].attributes = attributes; });
  };
  using namespace xnnpack;
  EXPECT_EQ(with(1, Transpose{{0, 2, 1}}), "");
  EXPECT_TRUE(contains(with(0, Reshape{{0, 0, 2}}), "node 0 (XNNStaticReshape) has sizes"));
  EXPECT_TRUE(contains(with(0, Reshape{{0, 4}}), "has a value of 3 dimensions, needs 2"));
  EXPECT_TRUE(contains(with(1, Transpose{{0, 2, 2}}), "has no permutation"));
  EXPECT_TRUE(contains(with(1, Transpose{{0, 1}}), "a permutation of another length"));
  EXPECT_TRUE(contains(with(3, Axis{2}), "has no dimension 2"));
  EXPECT_TRUE(contains(with(4, Slice{{0, 4}, {0, 5}}), "leaves dimension 1"));
  EXPECT_TRUE(contains(with(4, Slice{{0}, {0}}), "offsets or sizes of another length"));
}

/// in0: f32[1, 6, 6, 4] -> a convolution of 2 groups to 6 channels.
Program convolution() {
  Graph g;
  const auto x = g.add({.shape = {1, 6, 6, 4}});
  const auto w = g.add({.shape = {6, 3, 3, 2}, .data = testing::eighths({6, 3, 3, 2})});
  const auto y = g.add({.shape = {1, 4, 4, 6}});
  g.nodes.push_back({.kind = NodeKind::kConv2d,
                     .inputs = {x, w, xnnpack::kNoValue},
                     .outputs = {y},
                     .attributes = xnnpack::Window{.kernel_height = 3,
                                                   .kernel_width = 3,
                                                   .group_input_channels = 2,
                                                   .group_output_channels = 3,
                                                   .groups = 2}});
  g.inputs = {x}, g.outputs = {y};
  return testing::delegate_program(std::move(g));
}

TEST(ExecutorchCheckXnnpack, ConvolutionsFitTheirFilters) {
  const auto with = [](const std::function<void(xnnpack::Window&)>& change) {
    return said_of(convolution(),
                   [&](Graph& g) { change(std::get<xnnpack::Window>(g.nodes[0].attributes)); });
  };
  EXPECT_EQ(with([](auto&) {}), "");
  EXPECT_TRUE(contains(with([](auto& w) { w.groups = 0; }), "(XNNConv2d) has groups of 0"));
  EXPECT_TRUE(contains(with([](auto& w) { w.stride_width = 0; }), "has a stride of 0"));
  EXPECT_TRUE(contains(with([](auto& w) { w.kernel_width = 4; }),
                       "has a filter of 3 in dimension 2, needs 4"));
  EXPECT_TRUE(contains(with([](auto& w) { w.group_input_channels = 1; }), "is of 2 to 6 channels"));
  EXPECT_TRUE(contains(with([](auto& w) { w.padding_left = 1u << 30; }), "padding that is too"));
}

}  // namespace
}  // namespace slipway::executorch
