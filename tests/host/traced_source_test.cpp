// Traced programs as a source: the same graphs as the native models', and our own files read back.
#include <fstream>

#include "backends/dynamo/import.h"
#include "base/json.h"
#include "export/impl.h"
#include "golden_util.h"
#include "ir/print.h"

namespace slipway::golden {
namespace {

namespace fs = std::filesystem;

std::string test_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

struct Source {
  const char* name;
  const char* task;
};

constexpr Source kSources[] = {{"llama-causal-lm", "text-generation"},
                               {"mistral-causal-lm", "text-generation"},
                               {"qwen2-causal-lm", "text-generation"},
                               {"qwen3-causal-lm", "text-generation"},
                               {"bert-base", "auto"},
                               {"bert-masked-lm", "auto"},
                               {"bert-question-answering", "auto"},
                               {"bert-sequence-classification", "auto"},
                               {"bert-token-classification", "auto"}};

std::map<std::string, int64_t> ops_of(const ExportedModel& exported) {
  const auto counts = exported.components()[0].second.program.op_counts();
  return {counts.begin(), counts.end()};
}

class TracedSource : public testing::TestWithParam<Source> {};

/// tests/golden/pt2/histogram_differences.json: per op, native minus traced, with reasons.
TEST_P(TracedSource, LowersToTheOpsOfTheNativeModel) {
  auto native = ops_of(export_case(GetParam().name, GetParam().task));
  auto traced = ops_of(OnnxExporter().export_model(
      TorchProgram::load(fs::path(SLIPWAY_REFERENCE_PT2) / GetParam().name / "model.pt2"),
      OnnxConfig()));
  std::map<std::string, int64_t> difference;
  for (const auto& [op, count] : native) difference[op] += count;
  for (const auto& [op, count] : traced) difference[op] -= count;
  std::erase_if(difference, [](const auto& item) { return item.second == 0; });
  const Json all =
      parse_json_file(fs::path(SLIPWAY_SOURCE_DIR) / "tests/golden/pt2/histogram_differences.json");
  std::map<std::string, int64_t> expected;
  for (const auto& [family, reasons] : all.items())
    if (std::string(GetParam().name).starts_with(family))
      for (const Json& row : reasons) {
        EXPECT_FALSE(row.at("reason").get<std::string>().empty());
        for (const auto& [op, count] : row.at("ops").items()) expected[op] += count.get<int64_t>();
      }
  std::erase_if(expected, [](const auto& item) { return item.second == 0; });
  EXPECT_EQ(difference, expected);
}

INSTANTIATE_TEST_SUITE_P(Golden, TracedSource, testing::ValuesIn(kSources),
                         [](const auto& made) { return test_name(made.param.name); });

struct Written {
  const char* name;
  const char* task;
  bool is_static;
};

class OwnProgram : public testing::TestWithParam<Written> {};

/// Every size, dtype, argument and constant survives the file.
TEST_P(OwnProgram, ReadsBackAsItWasWritten) {
  const auto model = PreTrainedModel::from_pretrained(folder(GetParam().name), GetParam().task);
  DynamoConfig config;
  config.dynamic = true;
  DecomposeOptions decompose;
  if (GetParam().is_static) {
    decompose.generation_config.cache_implementation = "static";
    decompose.generation_config.max_cache_len = 24;
  }
  const Inputs inputs = model.example_inputs();
  const bool generates = std::string(GetParam().task) == "text-generation-with-past";
  const ExportedModel exported = generates ? DynamoExporter().export_for_generation(
                                                 model,
                                                 {{"input_ids", inputs.at("input_ids")},
                                                  {"attention_mask", inputs.at("attention_mask")}},
                                                 config, decompose)
                                           : DynamoExporter().export_model(model, inputs, config);
  const Scratch scratch;
  exported.save_pretrained(scratch.path() / "out");
  for (const auto& [name, component] : exported.components()) {
    const auto file = dynamo::ProgramFile::open(scratch.path() / "out" / (name + ".pt2"));
    EXPECT_EQ(print(*dynamo::import_program(file).program.graph), component.program.to_text())
        << name;
  }
}

std::vector<std::string> programs() {
  std::vector<std::string> names;
  for (const auto& entry :
       fs::directory_iterator(fs::path(SLIPWAY_SOURCE_DIR) / "tests/golden/programs"))
    if (entry.path().extension() == ".pt2") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

class SmallProgram : public testing::TestWithParam<std::string> {};

/// Written again, run by libtorch, a program gives what PyTorch computed; through ONNX too.
TEST_P(SmallProgram, ComputesTheSameInBothFormats) {
  const fs::path stem = fs::path(SLIPWAY_SOURCE_DIR) / "tests/golden/programs" / GetParam();
  const auto all = read_safetensors(stem.string() + ".safetensors");
  const auto part = [&](const std::string& prefix) {
    Inputs result;
    for (const auto& [name, tensor] : all)
      if (name.starts_with(prefix)) result.emplace(name.substr(prefix.size()), tensor);
    return result;
  };
  const TorchProgram program = TorchProgram::load(stem.string() + ".pt2");
  const ExportedModel formats[] = {DynamoExporter().export_model(program, DynamoConfig()),
                                   OnnxExporter().export_model(program, OnnxConfig())};
  for (const ExportedModel& exported : formats)
    for (int run = 0; all.lower_bound(std::to_string(run) + ".in.") != all.end(); ++run) {
      Inputs inputs = part(std::to_string(run) + ".in.");
      if (inputs.empty()) break;
      if (exported.export_format() == "onnx")  // it lacks what the graph does not read
        std::erase_if(inputs, [&](const auto& input) {
          const auto leaves = exported.runners()[0].second.inputs();
          return std::none_of(leaves.begin(), leaves.end(),
                              [&](const LeafSpec& leaf) { return leaf.name == input.first; });
        });
      const auto got = by_name(exported.runners()[0].second(inputs));
      for (const auto& [name, want] : part(std::to_string(run) + ".out.")) {
        ASSERT_TRUE(got.contains(name)) << exported.export_format() << " " << name;
        const Tensor& value = got.at(name);
        ASSERT_EQ(value.shape(), want.shape()) << exported.export_format() << " " << name;
        ASSERT_EQ(value.dtype(), want.dtype()) << exported.export_format() << " " << name;
        if (value.dtype() == DType::kF32)
          EXPECT_LE(max_difference(value, want, [](int64_t) { return true; }), 1e-5)
              << exported.export_format() << " " << name;
        else
          EXPECT_EQ(std::memcmp(value.data(), want.data(), static_cast<size_t>(want.nbytes())), 0)
              << exported.export_format() << " " << name;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Golden, SmallProgram, testing::ValuesIn(programs()),
                         [](const auto& made) { return made.param; });

constexpr Written kWritten[] = {{"llama-causal-lm", "text-generation", false},
                                {"llama-causal-lm", "text-generation-with-past", false},
                                {"llama-causal-lm", "text-generation-with-past", true},
                                {"mistral-causal-lm", "text-generation-with-past", false},
                                {"mistral-causal-lm", "text-generation-with-past", true},
                                {"qwen2-causal-lm", "text-generation-with-past", true},
                                {"qwen3-causal-lm", "text-generation-with-past", false},
                                {"bert-base", "auto", false},
                                {"bert-masked-lm", "auto", false},
                                {"bert-question-answering", "auto", false}};

INSTANTIATE_TEST_SUITE_P(Golden, OwnProgram, testing::ValuesIn(kWritten), [](const auto& made) {
  return test_name(made.param.name) + "_" + test_name(made.param.task) +
         (made.param.is_static ? "_static" : "");
});

}  // namespace
}  // namespace slipway::golden
