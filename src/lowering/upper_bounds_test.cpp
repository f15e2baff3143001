// Upper bounds of sizes: which are missing, defaults, setting them everywhere.
#include "lowering/upper_bounds.h"

#include <gtest/gtest.h>

#include "base/test_expect.h"
#include "ir/parse.h"
#include "ir/print.h"

namespace slipway::lowering {
namespace {

constexpr const char* kText = R"(dims: b in 1.., p in 0.., s in 2..8
graph(%x: f32[b, s], %m: f32[b, p + s]) {
  %0: f32[b*s] = aten::view(%x, [b*s])
  %1: f32[b, p + s] = aten::neg(%m)
  return y=%0, z=%1
})";

TEST(UpperBounds, AreMissingWhereNoneIsStated) {
  std::vector<std::string> names;
  for (const Sym symbol : unbounded_symbols(*parse_graph(kText))) names.push_back(symbol.name());
  EXPECT_EQ(names, (std::vector<std::string>{"b", "p"}));
}

TEST(UpperBounds, DefaultToAFloorThatFallsWithTheirNumber) {
  const Sym a = Sym::symbol("a", 1), b = Sym::symbol("b", 0), c = Sym::symbol("c", 300);
  using Bounds = std::map<std::string, int64_t>;
  EXPECT_EQ(default_upper_bounds({a}, {}), (Bounds{{"a", 1024}}));
  EXPECT_EQ(default_upper_bounds({a}, {{"a", 500}}), (Bounds{{"a", 2000}}));
  EXPECT_EQ(default_upper_bounds({a, b, c}, {{"a", 2}}),
            (Bounds{{"a", 161}, {"b", 161}, {"c", 1200}}));
  const Sym batch = Sym::symbol("batch_size", 1);
  EXPECT_EQ(default_upper_bounds({batch, a}, {{"batch_size", 2}}),
            (Bounds{{"batch_size", 8}, {"a", 1024}}));
}

TEST(UpperBounds, AreSetInTypesAndArguments) {
  const auto graph = parse_graph(kText);
  set_upper_bounds(*graph, {{"b", 3}, {"p", 16}, {"other", 1}});
  EXPECT_TRUE(unbounded_symbols(*graph).empty());
  const Node& view = *graph->outputs()[0].value.node();
  EXPECT_EQ(view.types[0].shape[0].bounds().hi, 24);
  EXPECT_EQ(view.arguments().syms(1)[0], view.types[0].shape[0]);
  EXPECT_EQ(graph->outputs()[1].value.dim(1).bounds().hi, 24);
  EXPECT_TRUE(contains(error_of(kInvalid,
                                [&] {
                                  set_upper_bounds(*graph, {{"s", 1}});
                                }),
                       "got the upper bound 1 for s, need at least its lower one, 2"));
}

TEST(UpperBounds, OneSizeIsANumber) {
  const auto graph = parse_graph(R"(dims: b in 1..1, p in 0.., s in 2..8
graph(%x: f32[b, s], %m: f32[b, p + s]) {
  %0: f32[b*s] = aten::view(%x, [b*s])
  %1: f32[b, p + s] = aten::neg(%m)
  return y=%0, z=%1
})");
  fix_sizes(*graph);
  EXPECT_EQ(print(*graph), R"(dims: s in 2..8
graph(%x: f32[1, s], %m: f32[1, p + s]) {
  %0: f32[s] = aten::view(%x, [s])
  %1: f32[1, p + s] = aten::neg(%m)
  return y=%0, z=%1
}
)");
  const std::string before = print(*graph);
  fix_sizes(*graph);
  EXPECT_EQ(print(*graph), before);
}

}  // namespace
}  // namespace slipway::lowering
