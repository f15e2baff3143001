// Models that see and hear as the reference traced them: in libtorch, and imported in ONNX Runtime
// and OpenVINO.
#include "backends/dynamo/program_file.h"
#include "dynamo_util.h"

namespace slipway::golden {
namespace {

namespace fs = std::filesystem;

constexpr size_t kCases = 32;
constexpr const char* kFailures = "expected_more_failures.json";

// The reference's own outputs of this case are 1.2e-5 from those of float64.
constexpr const char* kRounded = "llava_next-image-text-to-text";
constexpr double kRoundedTolerance = 2e-5;

fs::path root() { return SLIPWAY_MORE_PT2; }

/// The first `count` elements along axis 0, from the front again where there are fewer.
Tensor with_rows(const Tensor& value, int64_t count) {
  Shape shape = value.shape();
  const int64_t rows = shape[0];
  shape[0] = count;
  Tensor result(value.dtype(), shape);
  const int64_t bytes = value.nbytes() / rows;
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(result.mutable_data() + i * bytes, value.data() + i % rows * bytes,
                static_cast<size_t>(bytes));
  return result;
}

bool is_number(const std::string& text) {
  return text.find_first_not_of("0123456789") == std::string::npos;
}

/// The example's inputs for a batch of another size. Nullopt where the program fixes it. Inputs
/// that have several rows for each of the batch (images of a text) keep as many.
std::optional<Inputs> resized(const Inputs& inputs, const Runner& runner, int64_t batch) {
  int64_t traced = 0;
  for (const LeafSpec& spec : runner.inputs())
    if (inputs.contains(spec.name) && !spec.dims.empty() && !is_number(spec.dims[0])) {
      const int64_t rows = inputs.at(spec.name).dim(0);
      traced = traced == 0 ? rows : std::min(traced, rows);
    }
  if (traced == 0) return std::nullopt;
  Inputs result = inputs;
  for (const LeafSpec& spec : runner.inputs())
    if (inputs.contains(spec.name) && !spec.dims.empty() && !is_number(spec.dims[0])) {
      const Tensor& tensor = inputs.at(spec.name);
      result[spec.name] = with_rows(tensor, tensor.dim(0) / traced * batch);
    }
  return result;
}

class TracedModels : public testing::TestWithParam<std::string> {
 protected:
  fs::path folder() const { return root() / GetParam(); }
  Inputs inputs() const { return read_safetensors(folder() / "inputs.safetensors"); }
  Inputs outputs() const { return read_safetensors(folder() / "outputs.safetensors"); }
  ExportedModel in_libtorch() const { return ExportedModel::from_pretrained(folder()); }
  ExportedModel in_onnx() const {
    return OnnxExporter().export_model(TorchProgram::load(folder() / "model.pt2"), OnnxConfig());
  }
  template <class Check>
  void check(const char* kind, Check f) const {
    check_unless_expected(pt2_json(kFailures).at(kind), GetParam(), kFailures, f);
  }
};

TEST_P(TracedModels, GiveTheReferencesOutputsInLibtorch) {
  check("libtorch", [&] {
    const auto exported = in_libtorch();
    EXPECT_TRUE(exported.runners()[0].second.runtime().starts_with("libtorch "));
    expect_equal(by_name(exported(inputs())), outputs(), inputs(),
                 GetParam() == kRounded ? kRoundedTolerance : kTolerance);
  });
}

TEST_P(TracedModels, GiveTheReferencesOutputsThroughOnnx) {
  check("onnx",
        [&] { expect_equal(by_name(in_onnx()(inputs())), outputs(), inputs(), kOtherRuntime); });
}

TEST_P(TracedModels, GiveTheReferencesOutputsThroughOpenVINO) {
  check("onnx", [&] {
    OpenVINOConfig config;
    config.stateful = false;
    const auto exported =
        OpenVINOExporter().export_model(TorchProgram::load(folder() / "model.pt2"), config);
    expect_equal(by_name(exported(inputs())), outputs(), inputs(), kOtherRuntime);
  });
}

TEST_P(TracedModels, GiveTheSameAtOtherBatchSizes) {
  if (pt2_json(kFailures).at("onnx").contains(GetParam())) GTEST_SKIP() << "not in ONNX";
  check("batch", [&] {
    const auto libtorch = in_libtorch(), onnx = in_onnx();
    for (const int64_t batch : {1, 3}) {
      const auto given = resized(inputs(), libtorch.runners()[0].second, batch);
      if (!given) GTEST_SKIP() << "the batch is fixed";
      expect_equal(by_name(onnx(*given)), by_name(libtorch(*given)), *given, kOtherRuntime);
    }
  });
}

/// Written as a program again, and compared with ONNX at sizes that validation picks.
TEST_P(TracedModels, AreWrittenAgainAndValidate) {
  if (pt2_json(kFailures).at("onnx").contains(GetParam())) GTEST_SKIP() << "cannot be imported";
  check("dynamo", [&] {
    const auto program = TorchProgram::load(folder() / "model.pt2");
    const auto again = DynamoExporter().export_model(program, DynamoConfig());
    EXPECT_TRUE(validate_export(again));
    EXPECT_TRUE(validate_export(in_onnx(), {.eager = &again}));
  });
}

INSTANTIATE_TEST_SUITE_P(Golden, TracedModels, testing::ValuesIn(folders_in(root())), test_name);

void count_ops(const dynamo::schema::Graph& graph, std::map<std::string, int64_t>& counts) {
  for (const dynamo::schema::Node& node : graph.nodes) {
    counts[node.target] += 1;
    for (const auto& input : node.inputs)
      if (const auto* sub = input.arg.get<dynamo::schema::GraphArgument>(); sub && sub->graph)
        count_ops(*sub->graph, counts);
  }
}

/// src/backends/dynamo/import_ops_test.cpp looks at the list.
TEST(TracedModelsCases, HaveTheOpsThatTheListHas) {
  std::map<std::string, int64_t> counts;
  for (const fs::path& traces : {root(), fs::path(SLIPWAY_REFERENCE_PT2)})
    for (const std::string& name : folders_in(traces)) {
      const auto file = dynamo::ProgramFile::open(traces / name / "model.pt2");
      count_ops(file.program.graph_module.graph, counts);
    }
  EXPECT_EQ(Json(counts), pt2_json("trace_ops.json")) << "run tests/golden/pt2/trace_ops.py again";
}

TEST(TracedModelsCases, AreAllThereAndFewMayFail) {
  const std::vector<std::string> names = folders_in(root());
  EXPECT_EQ(names.size(), kCases);
  const Json failures = pt2_json(kFailures);
  for (const auto& [kind, reasons] : failures.items()) {
    EXPECT_LE(reasons.size() * 10, names.size()) << kind;
    for (const auto& [name, reason] : reasons.items()) {
      EXPECT_TRUE(std::find(names.begin(), names.end(), name) != names.end()) << name;
      EXPECT_FALSE(reason.get<std::string>().empty()) << name;
    }
  }
}

}  // namespace
}  // namespace slipway::golden
