// The pipeline: order, fixpoints, switching off, books.
#include "passes/pipeline.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace slipway {
namespace {

void two_equal_silus(Graph& graph) {
  const Value x = graph.add_input("x", {DType::kF32, {4}});
  graph.add_output("y", silu(x) + silu(x));
}

/// Adds one neg to the output while the graph has fewer than `most` nodes.
Pass growing(size_t most) {
  return {"grow", "for tests", [most](Graph& g, PassContext&) {
            if (g.order().size() >= most) return PassResult{0};
            g.outputs()[0].value = neg(g.outputs()[0].value);
            return PassResult{1};
          }};
}

TEST(Pipeline, RunsInOrderAndReports) {
  Graph graph;
  two_equal_silus(graph);
  Pipeline pipeline;
  pipeline.add("decompose").add("cse");
  PassContext context;
  EXPECT_EQ(pipeline.run(graph, context), 2 + 2);  // two silu; a sigmoid and a product each
  ASSERT_EQ(pipeline.report().size(), 2u);
  EXPECT_EQ(pipeline.report()[0].name, "decompose");
  EXPECT_EQ(pipeline.report()[0].changes, 2);
  EXPECT_EQ(pipeline.report()[1].name, "cse");
  EXPECT_EQ(pipeline.report()[1].changes, 2);
  EXPECT_EQ(pipeline.report()[1].runs, 1);
  EXPECT_GT(pipeline.report()[0].seconds, 0.0);
  EXPECT_LT(pipeline.report()[0].seconds, 10.0);
}

TEST(Pipeline, DisabledPassesDoNotRun) {
  Graph graph;
  two_equal_silus(graph);
  Pipeline pipeline;
  pipeline.add("decompose").add("cse").disable("decompose");
  PassContext context;
  EXPECT_EQ(pipeline.run(graph, context), 1);
  ASSERT_EQ(pipeline.report().size(), 1u);
  EXPECT_EQ(pipeline.report()[0].name, "cse");
  EXPECT_EQ(graph.order().size(), 3u);  // x, silu, add
}

TEST(Pipeline, DisablingAnUnknownNameListsTheNames) {
  Pipeline pipeline;
  pipeline.add("decompose").add("cse");
  try {
    pipeline.disable("csee");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kUsage);
    EXPECT_NE(std::string(e.what()).find("'csee'"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("decompose, cse"), std::string::npos);
  }
}

TEST(Pipeline, AddingAnUnknownNameListsTheNames) {
  Pipeline pipeline;
  try {
    pipeline.add("nonsense");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kUsage);
    EXPECT_NE(std::string(e.what()).find("canonicalize, fold, cse, raise, decompose, dce"),
              std::string::npos);
  }
}

TEST(Pipeline, RepeatStopsWhenNothingChanges) {
  Graph graph;
  two_equal_silus(graph);
  Pipeline pipeline;
  pipeline.repeat({"decompose", "cse"}, 8);
  PassContext context;
  pipeline.run(graph, context);
  EXPECT_EQ(pipeline.report()[0].runs, 2);  // the second round finds nothing
  EXPECT_EQ(pipeline.report()[1].runs, 2);
}

TEST(Pipeline, APassAddedOnceRunsOnce) {
  Graph graph;
  two_equal_silus(graph);
  Pipeline pipeline;
  pipeline.add(growing(100));
  PassContext context;
  EXPECT_EQ(pipeline.run(graph, context), 1);
  EXPECT_EQ(graph.order().size(), 5u);
}

TEST(Pipeline, ErrorsNameThePass) {
  Graph graph;
  two_equal_silus(graph);
  Pipeline pipeline;
  pipeline.add(Pass{"broken", "for tests", [](Graph&, PassContext&) -> PassResult {
                      throw Error(kInvalid, "something");
                    }});
  PassContext context;
  try {
    pipeline.run(graph, context);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "[pass broken]: something");
  }
}

#ifndef NDEBUG
TEST(Pipeline, ABrokenGraphNamesThePass) {
  Graph graph;
  two_equal_silus(graph);
  Pipeline pipeline;
  pipeline.add(Pass{"liar", "for tests", [](Graph& g, PassContext&) {
                      g.outputs()[0].value.node()->types[0].dtype = DType::kI64;
                      return PassResult{1};
                    }});
  PassContext context;
  try {
    pipeline.run(graph, context);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kInternal);
    EXPECT_EQ(std::string(e.what()).rfind("[pass liar] left a broken graph", 0), 0u) << e.what();
  }
}
#endif

TEST(Passes, NamesAreUniqueAndDescribed) {
  std::set<std::string_view> names;
  for (const Pass& pass : all_passes()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_FALSE(pass.description.empty()) << pass.name;
  }
}

TEST(PassContext, KeepsAReasonOncePerPlace) {
  Graph graph;
  const ScopeGuard scope(graph, "model.layers.0");
  const Value y = relu(graph.add_input("x", {DType::kF32, {4}}));
  PassContext context;
  context.add_reason("rule", "why", y.node());
  context.add_reason("rule", "why", y.node());
  context.add_reason("rule", "why", nullptr);
  ASSERT_EQ(context.reasons().size(), 2u);
  EXPECT_EQ(context.reasons()[0].op, "aten::relu");
  EXPECT_EQ(context.reasons()[0].scope, "model.layers.0");
}

}  // namespace
}  // namespace slipway
