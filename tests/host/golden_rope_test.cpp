// Every rotary kind on both sides of its switch, against the reference.
#include <fstream>

#include "base/json.h"
#include "golden_util.h"

namespace slipway::golden {
namespace {

constexpr double kTolerance = 1e-4;  // float32 sums in another order

class Rope : public testing::TestWithParam<const char*> {};

TEST_P(Rope, EqualsTheReferenceShortAndLong) {
  const auto data = std::filesystem::path(SLIPWAY_SOURCE_DIR) / "tests" / "golden" / "rope_models";
  const auto want = read_safetensors(data / "kinds.safetensors");
  const Json patch = parse_json_file(data / "kinds.json").at(GetParam());
  const Scratch scratch;
  const auto checkpoint = scratch.path() / "checkpoint";
  std::filesystem::create_directory(checkpoint);
  std::filesystem::copy_file(folder("llama-causal-lm") / "model.safetensors",
                             checkpoint / "model.safetensors");
  Json config = parse_json_file(folder("llama-causal-lm") / "config.json");
  for (const auto& [key, value] : patch.items()) config[key] = value;
  std::ofstream(checkpoint / "config.json") << config.dump();

  OnnxConfig dynamic;
  dynamic.dynamic = true;
  for (const char* task : {"text-generation", "text-generation-with-past"}) {
    const auto model = PreTrainedModel::from_pretrained(checkpoint, task);
    const ExportedModel exported =
        OnnxExporter().export_model(model, model.example_inputs(), dynamic);
    const auto ids = want.at("input_ids").values<int64_t>();
    for (const int64_t length : {7, 16, 17, 40}) {
      const Tensor input =
          Tensor::copy_of<int64_t>({1, length}, ids.first(static_cast<size_t>(length)));
      const Tensor& expected = want.at(std::string(GetParam()) + ".L" + std::to_string(length));
      const auto got = by_name(exported({{"input_ids", input}}));
      EXPECT_LE(max_difference(got.at("logits"), expected, [](int64_t) { return true; }),
                kTolerance)
          << task << " length " << length;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, Rope,
                         testing::Values("default", "linear", "dynamic", "yarn", "llama3",
                                         "longrope"),
                         [](const auto& made) { return std::string(made.param); });

}  // namespace
}  // namespace slipway::golden
