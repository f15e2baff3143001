// Every model type, evaluated in plain C++ on its golden case: definitions against the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "ir/eval.h"
#include "ir/verify.h"
#include "models/registry.h"

namespace slipway::models {
namespace {

std::filesystem::path folder(const std::string& name) {
  return std::filesystem::path(SLIPWAY_SOURCE_DIR) / "tests" / "golden" / "models" / name;
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, EvaluatesToTheReferencesOutputs) {
  const Checkpoint checkpoint = open_checkpoint(folder(GetParam()));
  ResolvedTask task = resolve_task(find_model(checkpoint.config), checkpoint.config, "auto");
  task.cache = CacheKind::kNone;
  const ExportedProgram program = build_program(checkpoint, task, {});
  verify(*program.graph);
  const auto inputs = read_safetensors(folder(GetParam()) / "inputs.safetensors");
  const Tensor& mask = inputs.at("attention_mask");
  const auto got = evaluate(*program.graph, inputs);
  int compared = 0;
  for (const auto& [leaf, want] : read_safetensors(folder(GetParam()) / "outputs.safetensors")) {
    if (leaf.starts_with("past_key_values")) continue;  // cropped windows; host tests compare them
    ASSERT_EQ(got.count(leaf), 1u) << leaf;
    const Tensor& value = got.at(leaf);
    ASSERT_EQ(value.shape(), want.shape()) << leaf;
    const bool positional = value.rank() >= 2 && value.dim(1) == mask.dim(1);
    const int64_t stride = positional ? value.numel() / mask.numel() : 1;
    double worst = 0;
    for (int64_t i = 0; i < value.numel(); ++i) {
      if (positional && mask.values<int64_t>()[static_cast<size_t>(i / stride)] == 0) continue;
      const auto at = static_cast<size_t>(i);
      worst =
          std::max<double>(worst, std::abs(value.values<float>()[at] - want.values<float>()[at]));
    }
    EXPECT_LE(worst, 1e-4) << leaf;  // float32 sums in another order
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(Models, Golden,
                         testing::Values("llama-causal-lm", "mistral-causal-lm", "qwen2-causal-lm",
                                         "qwen3-causal-lm", "bert-base", "bert-masked-lm",
                                         "bert-sequence-classification",
                                         "bert-token-classification", "bert-question-answering"),
                         [](const auto& made) {
                           std::string name = made.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Registry, RefusesWhatItLacksByName) {
  const auto outcome = [](const char* json, const char* task) {
    try {
      const Config config = Config::from_json(Json::parse(json), "config.json");
      resolve_task(find_model(config), config, task);
    } catch (const Error& error) {
      return std::string(to_string(error.kind())) + ": " + error.what();
    }
    return std::string("no error");
  };
  const auto expect = [&](const char* json, const char* task, const char* part) {
    const std::string got = outcome(json, task);
    EXPECT_NE(got.find(part), std::string::npos) << got;
  };
  expect(R"({"model_type": "rwkv9"})", "auto", "unsupported: [models] model_type 'rwkv9'");
  expect(R"({"model_type": "llama"})", "fill-mask", "has no task 'fill-mask'");
  expect(R"({})", "auto", "invalid: ");
  expect(R"({"model_type": "llama", "architectures": ["LlamaForMusic"]})", "auto", "LlamaForMusic");
}

TEST(Decoder, RefusesSettingsThatItWouldComputeWrong) {
  Json json = parse_json_file(folder("llama-causal-lm") / "config.json");
  const auto outcome = [&](const char* key, Json value) {
    Checkpoint checkpoint = open_checkpoint(folder("llama-causal-lm"));
    Json changed = json;
    changed[key] = std::move(value);
    checkpoint.config = Config::from_json(changed, "config.json");
    try {
      const ModelType& model = find_model(checkpoint.config);
      build_program(checkpoint, resolve_task(model, checkpoint.config, "auto"), {});
    } catch (const Error& error) {
      return std::string(to_string(error.kind())) + ": " + error.what();
    }
    return std::string("no error");
  };
  EXPECT_NE(outcome("partial_rotary_factor", 0.5).find("unsupported: "), std::string::npos);
  EXPECT_NE(outcome("rms_norm_eps", -1.0).find("invalid: "), std::string::npos);
  EXPECT_NE(outcome("rms_norm_eps", 0.0).find("'rms_norm_eps'"), std::string::npos);
  EXPECT_EQ(outcome("rms_norm_eps", 1e-5), "no error");
}

}  // namespace
}  // namespace slipway::models
