// Two real models against the reference's tokens, logits and embeddings (make models fetches them).
#include <cstdlib>

#include "base/json.h"
#include "golden_util.h"
#include "slipway/generation.h"

namespace slipway::golden {
namespace {

std::filesystem::path model_path(const std::string& name) {
  return std::filesystem::path(SLIPWAY_SOURCE_DIR) / ".deps" / "models" / name;
}

Json reference(const std::string& name) {
  return parse_json_file(std::filesystem::path(SLIPWAY_SOURCE_DIR) / "tests" / "golden" /
                         "reference" / name);
}

ExportedModel export_to(const std::filesystem::path& source, const std::filesystem::path& out,
                        const std::string& format = "onnx") {
  const auto model = PreTrainedModel::from_pretrained(source);
  const auto config = config_of(format);
  AutoHfExporter::from_config(*config)
      ->export_model(model, model.example_inputs(), *config)
      .save_pretrained(out);
  return ExportedModel::from_pretrained(out);
}

/// Every kind of export of SmolLM2.
ExportedModel export_as(const std::string& how, const std::string& format,
                        const std::filesystem::path& source, const std::filesystem::path& out) {
  if (how == "growing") return export_to(source, out, format);
  const auto model = PreTrainedModel::from_pretrained(source);
  const auto config = config_of(format);
  if (how == "llm_runner") {
    ExecutorchConfig llm;
    llm.llm_slots = 256;
    ExecutorchExporter()
        .export_model(model, model.example_inputs(), llm)
        .save_pretrained(out, {.layout = Layout::kExecutorchLlm, .before_commit = {}});
    return ExportedModel::from_pretrained(out);
  }
  DecomposeOptions options;
  options.multi_token_decode = how.ends_with("many");
  if (how.starts_with("static")) {
    options.generation_config.cache_implementation = "static";
    options.generation_config.max_cache_len = 256;
  }
  AutoHfExporter::from_config(*config)
      ->export_for_generation(model, model.example_inputs(), *config, options)
      .save_pretrained(out);
  return ExportedModel::from_pretrained(out);
}

class SmolLM2 : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(SmolLM2, GivesTheReferencesTokens) {
  const auto source = model_path("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
  ASSERT_TRUE(std::filesystem::exists(source)) << "run make models";
  const Scratch scratch;
  const auto [how, format] = GetParam();
  const ExportedModel exported = export_as(how, format, source, scratch.path() / "smollm2");
  const auto text = TextProcessor::from_pretrained(exported.directory());
  const Json golden = reference("smollm2.json");
  ASSERT_EQ(golden.at("cases").size(), 4u);
  for (const Json& item : golden.at("cases")) {
    const Inputs inputs = item.at("messages").is_null()
                              ? text.encode_prompts({item.at("text").get<std::string>()})
                              : text.encode_chats({item.at("messages").dump()});
    const auto ids = inputs.at("input_ids").values<int64_t>();
    EXPECT_EQ(std::vector<int64_t>(ids.begin(), ids.end()),
              item.at("input_ids").get<std::vector<int64_t>>());
    GenerationOptions options;
    options.max_new_tokens = 40;
    options.first_step_top = 5;
    const Generated result = generate(exported, inputs, options);
    EXPECT_EQ(result.new_ids.at(0), item.at("new_ids").get<std::vector<int64_t>>());
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(result.first_step_top.at(0)[i].id, item.at("first_step_top5")[i][0].get<int64_t>());
      EXPECT_NEAR(result.first_step_top.at(0)[i].logit,
                  item.at("first_step_top5")[i][1].get<double>(), 1e-3);
    }
  }
}

std::string label(const testing::TestParamInfo<std::tuple<const char*, const char*>>& made) {
  return case_label(std::get<0>(made.param), std::get<1>(made.param));
}

INSTANTIATE_TEST_SUITE_P(RealModels, SmolLM2,
                         ::testing::Combine(::testing::Values("growing", "prefill_decode",
                                                              "prefill_decode_many", "static",
                                                              "static_many"),
                                            ::testing::Values("onnx")),
                         label);
// One that keeps its cache inside, one that does not, one with slots.
INSTANTIATE_TEST_SUITE_P(OpenVINO, SmolLM2,
                         ::testing::Combine(::testing::Values("growing", "prefill_decode_many",
                                                              "static"),
                                            ::testing::Values("openvino")),
                         label);
INSTANTIATE_TEST_SUITE_P(Executorch, SmolLM2,
                         ::testing::Combine(::testing::Values("growing", "static", "llm_runner"),
                                            ::testing::Values("executorch")),
                         label);
INSTANTIATE_TEST_SUITE_P(SingleFile, SmolLM2,
                         ::testing::Combine(::testing::Values("prefill_decode", "static_many"),
                                            ::testing::Values("executorch_single")),
                         label);
INSTANTIATE_TEST_SUITE_P(Stateless, SmolLM2,
                         ::testing::Values(std::tuple("growing", "openvino_stateless")), label);

TEST(RealModels, OneFileForSmolLM2HasItsWeightsOnce) {
  const auto source = model_path("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
  ASSERT_TRUE(std::filesystem::exists(source)) << "run make models";
  const Scratch scratch;
  export_as("prefill_decode", "executorch_single", source, scratch.path() / "smollm2");
  constexpr double kWeights = 134'515'008 * 4.0;  // the parameters of SmolLM2-135M
  const auto bytes = std::filesystem::file_size(scratch.path() / "smollm2" / "model.pte");
  EXPECT_GE(static_cast<double>(bytes), kWeights);
  EXPECT_LE(static_cast<double>(bytes), kWeights * 1.03);
}

TEST(RealModels, SmolLM2GivesTheReferencesBeams) {
  const auto source = model_path("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
  ASSERT_TRUE(std::filesystem::exists(source)) << "run make models";
  const Scratch scratch;
  const ExportedModel exported = export_to(source, scratch.path() / "smollm2");
  const Json cases = reference("../generation/smollm2_beams.json");
  ASSERT_EQ(cases.size(), reference("smollm2.json").at("cases").size());
  for (const Json& item : cases) {
    const auto ids = item.at("input_ids").get<std::vector<int64_t>>();
    GenerationOptions options;
    options.max_new_tokens = 24;
    options.num_beams = 3;
    options.num_return_sequences = 3;
    const Generated made = generate(
        exported, {{"input_ids", Tensor::copy_of<int64_t>({1, std::ssize(ids)}, ids)}}, options);
    for (size_t i = 0; i < 3; ++i) {
      auto row = made.new_ids.at(i);
      row.resize(static_cast<size_t>(made.lengths[i]));
      EXPECT_EQ(row, item.at("new_ids")[i].get<std::vector<int64_t>>());
      EXPECT_NEAR(made.scores.at(i), item.at("scores")[i].get<float>(), 1e-3);
    }
  }
}

TEST(RealModels, SmolLM2StopsAtTextAndGuessesAhead) {
  const auto source = model_path("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
  ASSERT_TRUE(std::filesystem::exists(source)) << "run make models";
  const Scratch scratch;
  const ExportedModel exported = export_to(source, scratch.path() / "smollm2");
  const auto text = TextProcessor::from_pretrained(exported.directory());
  const Json item = reference("smollm2.json").at("cases")[0];
  const auto want = item.at("new_ids").get<std::vector<int64_t>>();
  const Inputs inputs = text.encode_prompts({item.at("text").get<std::string>()});
  GenerationOptions options;
  options.max_new_tokens = 40;
  options.text_of = text.text_of();
  // Begins inside one token and ends inside another; the second is a special token.
  for (const char* stop : {"nswer i", "<|im_end|>"}) {
    options.stop_strings = {{stop}};
    options.ignore_eos = true;
    const Generated made = generate(exported, inputs, options);
    EXPECT_EQ(made.finish_reasons[0], FinishReason::kStop);
    size_t count = 1;
    while (text.text_of()(std::span(want).first(count)).find(stop) == std::string::npos) ++count;
    EXPECT_EQ(
        made.new_ids[0],
        std::vector<int64_t>(want.begin(), want.begin() + static_cast<std::ptrdiff_t>(count)));
  }
  options.stop_strings.reset();
  options.ignore_eos = false;
  options.prompt_lookup_num_tokens = 4;
  const Generated looked = generate(exported, inputs, options);
  EXPECT_EQ(looked.new_ids[0], want);
  EXPECT_LT(looked.forward_calls, looked.lengths[0]);
}

TEST(RealModels, MiniLMGivesTheReferencesEmbeddings) {
  ASSERT_TRUE(std::filesystem::exists(model_path("minilm"))) << "run make models";
  const Scratch scratch;
  const ExportedModel exported = export_to(model_path("minilm"), scratch.path() / "minilm");
  const auto text = TextProcessor::from_pretrained(exported.directory());
  const Json want = reference("minilm.json");
  const auto sentences = want.at("sentences").get<std::vector<std::string>>();
  const Inputs inputs = text.encode_texts(sentences);
  const auto ids = inputs.at("input_ids").values<int64_t>();
  std::vector<int64_t> expected_ids;
  for (const Json& row : want.at("input_ids"))
    for (const Json& id : row) expected_ids.push_back(id.get<int64_t>());
  EXPECT_EQ(std::vector<int64_t>(ids.begin(), ids.end()), expected_ids);
  EmbedOptions options;
  options.normalize = true;
  const Tensor got = embed(exported, text, sentences, options);
  const auto width = static_cast<size_t>(got.dim(1));
  for (size_t row = 0; row < sentences.size(); ++row) {
    const auto vector = want.at("embeddings")[row].get<std::vector<double>>();
    ASSERT_EQ(vector.size(), width);
    double dot = 0, a = 0, b = 0;
    for (size_t i = 0; i < width; ++i) {
      const double x = got.values<float>()[row * width + i];
      dot += x * vector[i];
      a += x * x;
      b += vector[i] * vector[i];
    }
    EXPECT_GE(dot / std::sqrt(a * b), 0.99999) << sentences[row];
  }
}

}  // namespace
}  // namespace slipway::golden
