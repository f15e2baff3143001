// Writing .pt2 files: what is in them, and that reading them back gives the program that was
// written.
#include "backends/dynamo/write.h"

#include <gtest/gtest.h>

#include "backends/dynamo/import.h"
#include "backends/dynamo/lower.h"
#include "base/pytree.h"
#include "base/test_expect.h"
#include "base/test_folder.h"
#include "ir/build.h"
#include "ir/parse.h"
#include "ir/print.h"

namespace slipway::dynamo {
namespace {

TreeSpec call_of(const Graph& graph) {
  std::vector<std::pair<std::string, TreeSpec>> fields;
  for (const Node* input : graph.inputs()) fields.emplace_back(input->name, TreeSpec::leaf());
  return TreeSpec::keyword_call(std::move(fields));
}

WriteOptions options_of(const Graph& graph) {
  std::vector<std::pair<std::string, TreeSpec>> results;
  for (const Output& output : graph.outputs()) results.emplace_back(output.name, TreeSpec::leaf());
  WriteOptions options;
  options.program.in_spec = dump_tree_spec(call_of(graph));
  options.program.out_spec = dump_tree_spec(TreeSpec::dict(std::move(results)));
  for (const Node* input : graph.inputs())
    for (Sym size : input->types[0].shape)
      for (Sym s : size.symbols()) options.program.example_sizes[s.name()] = 3;
  return options;
}

ExportedProgram lowered(const std::string& text) {
  ExportedProgram program;
  program.graph = parse_graph(text);
  lower(program);
  return program;
}

std::vector<std::string> targets(const schema::ExportedProgram& program) {
  std::vector<std::string> names;
  for (const schema::Node& node : program.graph_module.graph.nodes) names.push_back(node.target);
  return names;
}

constexpr const char* kDecoder = R"(dims: b in 1.., s in 1..16, past in 0..
graph(%q: f32[b, 4, s, 8], %k: f32[b, 2, s, 8], %cos: f32[b, s, 4], %sin: f32[b, s, 4], %mask: i64[b, past + s], %pk: f32[b, 2, past, 8]) {
  %0: f32[b, 4, s, 8] = slipway::rotary_embedding(%q, %cos, %sin)
  %1: f32[b, 2, past + s, 8] = slipway::cache_append(%pk, %k)
  %2: bool[b, 1, s, past + s] = slipway::causal_mask(%mask, s, 4)
  %3: f32[b, 4, s, 8] = slipway::attention(%0, %1, %1, %2, 0.25)
  %4: f32[b, s, 4, 8] = aten::transpose.int(%3, 1, 2)
  %5: f32[b, s, 32] = aten::view(%4, [b, s, 32])
  return y=%5, pk=%1
})";

constexpr const char* kStatic = R"(dims: b in 1.., s in 1.., slots in 1..
graph(%k: f32[b, 2, s, 8], %keys: f32[b, 2, slots, 8], %count: i64[]) {
  %0: i64[s] = aten::arange.start_step(0, s)
  %1: i64[s] = aten::add.Tensor(%0, %count)
  %2: f32[b, 2, slots, 8] = slipway::cache_write(%keys, %1, %k)
  %3: f32[b, 2, slots, 8] = aten::neg(%2)
  %4: i64[] = aten::amax(%1)
  %5: i64[] = aten::add.Scalar(%4, 1)
  return y=%3, keys=%2, count=%5
})";

TEST(LowerDynamo, LeavesAtenOnlyAndReshapesInsteadOfViews) {
  const ExportedProgram program = lowered(kDecoder);
  std::map<std::string, int64_t> counts;
  for (const Node* node : program.graph->order())
    if (node->kind == NodeKind::kOp) ++counts[node->op->name()];
  for (const auto& [op, count] : counts) EXPECT_TRUE(op.starts_with("aten::")) << op;
  EXPECT_EQ(counts["aten::scaled_dot_product_attention"], 1);
  EXPECT_EQ(counts["aten::reshape"], 1);
  EXPECT_EQ(counts.count("aten::view"), 0U);
}

TEST(LowerDynamo, AttentionWithASoftCapIsItsBody) {
  const ExportedProgram program = lowered(R"(dims: s in 1..
graph(%q: f32[1, 4, s, 8]) {
  %0: f32[1, 4, s, 8] = slipway::attention(%q, %q, %q, None, 0.25, 30.0)
  return y=%0
})");
  const std::string text = print(*program.graph);
  EXPECT_EQ(text.find("scaled_dot_product"), std::string::npos);
  EXPECT_NE(text.find("aten::tanh"), std::string::npos);
}

TEST(LowerDynamo, ProductsOfGroupsAreTorchsOwnOpWithZerosBehindTheLast) {
  const ExportedProgram program = lowered(R"(dims: s in 1..
graph(%x: f32[s, 8], %w: f32[3, 8, 4], %ends: i64[3]) {
  %0: f32[s, 4] = slipway::grouped_mm(%x, %w, %ends)
  return y=%0
})");
  const std::string text = print(*program.graph);
  EXPECT_TRUE(contains(text, "f32[s, 4] = aten::_grouped_mm(%x, %w, "));
  EXPECT_TRUE(contains(text, "f32[s, 4] = aten::where.self("));
  const ExportedProgram narrow = lowered(R"(dims: s in 1..
graph(%x: f32[s, 8], %w: f32[3, 8, 5], %ends: i64[3]) {
  %0: f32[s, 5] = slipway::grouped_mm(%x, %w, %ends)
  return y=%0
})");
  EXPECT_EQ(print(*narrow.graph).find("_grouped_mm"), std::string::npos);  // torch would refuse it
}

TEST(LowerDynamo, ListsOpsWithoutAnAtenForm) {
  const std::string message = error_of(kUnsupported, [] {
    lowered(
        "dims: s in 1..\ngraph(%x: f32[1, s, 8], %n: i64[]) {\n"
        "  %0: f32[1, s, 8] = slipway::keep_last(%x, %n, s)\n  return y=%0\n}");
  });
  EXPECT_TRUE(contains(message, "slipway::keep_last x1"));
}

TEST(WriteDynamo, ReadingBackGivesTheSameProgram) {
  const TestFolder folder;
  for (const char* text : {kDecoder, kStatic}) {
    const ExportedProgram program = lowered(text);
    write(*program.graph, folder.path(), "model", options_of(*program.graph));
    const Imported back = import_program(ProgramFile::open(folder / "model.pt2"));
    EXPECT_EQ(print(*back.program.graph), print(*program.graph));
    EXPECT_EQ(back.in_spec, options_of(*program.graph).program.in_spec);
  }
}

TEST(WriteDynamo, StaticCachesAreWrittenInPlace) {
  const ExportedProgram program = lowered(kStatic);
  const SerializedProgram made = serialize(*program.graph, options_of(*program.graph).program);
  const std::vector<std::string> names = targets(made.program);
  EXPECT_EQ(std::count(names.begin(), names.end(), "torch.ops.aten.index_copy_.default"), 1);
  EXPECT_EQ(names.back(), "torch.ops.aten.copy_.default");  // when the old count was read
  EXPECT_EQ(std::count(names.begin(), names.end(), "torch.ops.aten.index_copy.default"), 0);
}

TEST(WriteDynamo, ACacheThatSomethingElseReadsIsCopiedAtTheEnd) {
  const ExportedProgram program = lowered(R"(dims: slots in 1..
graph(%k: f32[1, 2, 1, 8], %keys: f32[1, 2, slots, 8], %at: i64[1]) {
  %0: f32[1, 2, slots, 8] = aten::index_copy(%keys, 2, %at, %k)
  %1: f32[1, 2, slots, 8] = aten::neg(%keys)
  return keys=%0, old=%1
})");
  const std::vector<std::string> names =
      targets(serialize(*program.graph, options_of(*program.graph).program).program);
  EXPECT_EQ(names.back(), "torch.ops.aten.copy_.default");
  EXPECT_EQ(std::count(names.begin(), names.end(), "torch.ops.aten.index_copy.default"), 1);
}

TEST(WriteDynamo, InputsThatTradePlacesAreClonedFirst) {
  const ExportedProgram program =
      lowered("graph(%a: f32[2], %b: f32[2]) {\n  return a=%b, b=%a\n}");
  const std::vector<std::string> names =
      targets(serialize(*program.graph, options_of(*program.graph).program).program);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "torch.ops.aten.clone.default", "torch.ops.aten.clone.default",
                       "torch.ops.aten.copy_.default", "torch.ops.aten.copy_.default"}));
}

TEST(WriteDynamo, SizesComeFromInputsAndSymbolsBeginWithS) {
  const ExportedProgram program = lowered(R"(dims: b in 1.., s in 2..9, past in 0..
graph(%x: f32[b, s], %m: i64[b, past + s]) {
  %0: i64[past] = aten::arange.start_step(0, past)
  %1: i64[past + s] = aten::arange.start_step(0, past + s)
  return y=%0, z=%1, u=%x
})");
  const SerializedProgram made = serialize(*program.graph, options_of(*program.graph).program);
  const std::vector<std::string> names = targets(made.program);
  // past is no size of an input: past + s read from m, without s.
  EXPECT_EQ(std::count(names.begin(), names.end(), "torch.ops.aten.sym_size.int"), 2);
  EXPECT_EQ(std::count(names.begin(), names.end(), "_operator.sub"), 1);
  const auto& ranges = made.program.range_constraints;
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[0].first, "s_b");
  EXPECT_EQ(ranges[2].first, "s");
  EXPECT_EQ(ranges[2].second.min_val, 2);
  EXPECT_EQ(ranges[2].second.max_val, 9);
  EXPECT_EQ(ranges[0].second.max_val, std::nullopt);
}

TEST(WriteDynamo, PromisedBoundsAreCheckedByTheGraph) {
  const ExportedProgram program = lowered(
      "dims: s in 1..9\ngraph(%x: f32[s]) {\n  %0: f32[s] = aten::neg(%x)\n  return y=%0\n}");
  WriteOptions options = options_of(*program.graph);
  options.program.promised["s"] = {1, 4096};  // 1 is the graph's own
  const SerializedProgram made = serialize(*program.graph, options.program);
  EXPECT_EQ(made.program.range_constraints[0].second.max_val, 4096);
  const std::vector<std::string> names = targets(made.program);
  EXPECT_EQ(std::count(names.begin(), names.end(), "torch.ops.aten._assert_scalar.default"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "_operator.le"), 1);
}

TEST(WriteDynamo, ListsAndTuplesOfResultsReadBack) {
  const TestFolder folder;
  const ExportedProgram program = lowered(R"(dims: b in 1..
graph(%x: f32[b, 6]) {
  %0: f32[b, 2], %1: f32[b, 4] = aten::split_with_sizes(%x, [2, 4], 1)
  %2: f32[b, 3], %3: i64[b, 3] = aten::topk(%x, 3)
  return a=%0, b=%1, c=%2, d=%3
})");
  write(*program.graph, folder.path(), "model", options_of(*program.graph));
  const Imported back = import_program(ProgramFile::open(folder / "model.pt2"));
  EXPECT_EQ(print(*back.program.graph), print(*program.graph));
}

TEST(WriteDynamo, ATiedWeightIsStoredOnceAndEqualProgramsAreEqualBytes) {
  const TestFolder folder;
  const auto make = [&](const std::string& name) {
    Graph graph;
    const Lazy table = lazy_constant(Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
    const Value ids = graph.add_input("ids", {DType::kI64, {3}});
    const Value x = embedding(graph.add_weight("embed.weight", table), ids);
    graph.add_output("y", linear(x, graph.add_weight("head.weight", table), Value()));
    return write(graph, folder.path(), name, options_of(graph));
  };
  const WriteSummary summary = make("model");
  EXPECT_EQ(summary.weight_bytes, 16);
  EXPECT_EQ(summary.file_bytes,
            static_cast<int64_t>(std::filesystem::file_size(folder / "model.pt2")));
  const ProgramFile file = ProgramFile::open(folder / "model.pt2");
  ASSERT_EQ(file.weights.config.size(), 1U);
  EXPECT_EQ(file.weights.config[0].first, "embed.weight");
  const std::string bytes = TestFolder::read(folder / "model.pt2");
  make("model");
  EXPECT_EQ(TestFolder::read(folder / "model.pt2"), bytes);
}

}  // namespace
}  // namespace slipway::dynamo
