// generate() against the reference's tokens and beam scores, under many settings
// (golden/generation).
#include <map>
#include <memory>

#include "base/json.h"
#include "case_util.h"
#include "generation/generation_config_json.h"
#include "slipway/generation.h"

namespace slipway::golden {
namespace {

using Rows = std::vector<std::vector<int64_t>>;

Json expectations(const std::string& name) {
  return parse_json_file(std::filesystem::path(SLIPWAY_SOURCE_DIR) / "tests/golden/generation" /
                         name);
}

Tensor tensor_of(const Rows& rows) {
  std::vector<int64_t> flat;
  for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  return Tensor::copy_of<int64_t>({std::ssize(rows), std::ssize(rows[0])}, flat);
}

GenerationOptions options_of(const Json& settings) {
  GenerationOptions options;
  static_cast<GenerationConfig&>(options) = generation_config_from_json(settings, Json());
  if (options.eos_token_id == std::nullopt) options.ignore_eos = true;
  return options;
}

Rows trimmed(const Generated& made) {
  Rows rows = made.new_ids;
  for (size_t i = 0; i < rows.size(); ++i) rows[i].resize(static_cast<size_t>(made.lengths[i]));
  return rows;
}

/// The ways to export a decoder: a task, or for generation.
ExportedModel export_as(const std::string& model, const std::string& how,
                        const std::string& format) {
  const auto config = config_of(format);
  const auto exporter = AutoHfExporter::from_config(*config);
  // Three rows, as in the cases: where memory is planned, it is for four times as many.
  if (how.starts_with("text-generation")) {
    const auto source = PreTrainedModel::from_pretrained(folder(model), how);
    return exporter->export_model(source, source.example_inputs(3, 8), *config);
  }
  const auto source = PreTrainedModel::from_pretrained(folder(model), "text-generation");
  DecomposeOptions options;
  options.multi_token_decode = how.ends_with("multi");
  if (how.starts_with("static")) {
    options.generation_config.cache_implementation = "static";
    options.generation_config.max_cache_len = 32;
  }
  const Inputs inputs = {{"input_ids", cases::token_ids(3, 5)},
                         {"attention_mask", tensor_of(Rows(3, std::vector<int64_t>(5, 1)))}};
  return exporter->export_for_generation(source, inputs, *config, options);
}

class GoldenGenerate
    : public testing::TestWithParam<std::tuple<std::string, std::string, std::string>> {
 protected:
  void SetUp() override {
    const auto& [model, how, format] = GetParam();
    export_as(model, how, format).save_pretrained(scratch_.path() / "out");
    exported_ =
        std::make_unique<ExportedModel>(ExportedModel::from_pretrained(scratch_.path() / "out"));
    for (Json& one : all_)
      if (one["model"] == model) cases_.push_back(one);
    ASSERT_GE(cases_.size(), 40u);
  }

  Json all_ = expectations("tiny.json");
  Scratch scratch_;
  std::unique_ptr<ExportedModel> exported_;
  std::vector<Json> cases_;
};

TEST_P(GoldenGenerate, BatchesOfThree) {
  for (const Json& one : cases_) {
    const Inputs inputs = {{"input_ids", tensor_of(one["input_ids"].get<Rows>())},
                           {"attention_mask", tensor_of(one["attention_mask"].get<Rows>())}};
    const Generated made = generate(*exported_, inputs, options_of(one["settings"]));
    EXPECT_EQ(trimmed(made), one["new_ids"].get<Rows>()) << one["settings"];
    ASSERT_EQ(made.scores.size(), one["scores"].size());
    for (size_t i = 0; i < made.scores.size(); ++i)
      // float32 sums, which a length penalty below 0 makes large
      EXPECT_NEAR(made.scores[i], one["scores"][i].get<float>(),
                  1e-4 + 1e-6 * std::abs(made.scores[i]))
          << one["settings"];
  }
}

TEST_P(GoldenGenerate, PromptLookupIsGreedy) {
  const bool reads_one =
      std::get<1>(GetParam()) == "growing" || std::get<1>(GetParam()) == "static";
  for (size_t i = 0; i < 8; ++i) {
    const Json& one = cases_[i];
    ASSERT_FALSE(one["settings"].contains("num_beams"));
    const Inputs inputs = {{"input_ids", tensor_of(one["input_ids"].get<Rows>())},
                           {"attention_mask", tensor_of(one["attention_mask"].get<Rows>())}};
    GenerationOptions options = options_of(one["settings"]);
    options.prompt_lookup_num_tokens = 4;
    if (reads_one) {
      EXPECT_TRUE(contains(error_of(kUnsupported, [&] { generate(*exported_, inputs, options); }),
                           "multi_token_decode"));
      continue;
    }
    EXPECT_EQ(trimmed(generate(*exported_, inputs, options)), one["new_ids"].get<Rows>())
        << one["settings"];
  }
}

// PC-16: what a prompt gives does not depend on the prompts beside it.
TEST_P(GoldenGenerate, PromptsAlone) {
  for (const Json& one : cases_) {
    // These count the padding, in the reference as here.
    if (one["settings"].contains("max_length")) continue;
    if (one["settings"].value("no_repeat_ngram_size", 0) == 1) continue;
    const auto ids = one["input_ids"].get<Rows>(), mask = one["attention_mask"].get<Rows>();
    const auto want = one["new_ids"].get<Rows>();
    const size_t copies = want.size() / ids.size();
    for (size_t row = 0; row < ids.size(); ++row) {
      const auto real = ids[row].begin() + (std::ranges::find(mask[row], 1) - mask[row].begin());
      const Generated made =
          generate(*exported_, {{"input_ids", tensor_of({{real, ids[row].end()}})}},
                   options_of(one["settings"]));
      EXPECT_EQ(trimmed(made), Rows(want.begin() + static_cast<std::ptrdiff_t>(row * copies),
                                    want.begin() + static_cast<std::ptrdiff_t>((row + 1) * copies)))
          << one["settings"] << " row " << row;
    }
  }
}

std::string label(const testing::TestParamInfo<GoldenGenerate::ParamType>& one) {
  return case_label(std::get<0>(one.param) + "_" + std::get<1>(one.param), std::get<2>(one.param));
}

INSTANTIATE_TEST_SUITE_P(
    Tiny, GoldenGenerate,
    testing::Combine(testing::Values("llama-causal-lm", "mistral-causal-lm", "qwen2-causal-lm",
                                     "qwen3-causal-lm"),
                     testing::Values("text-generation-with-past", "text-generation", "growing",
                                     "growing-multi", "static", "static-multi"),
                     testing::Values("onnx", "openvino", "openvino_stateless", "executorch")),
    label);
INSTANTIATE_TEST_SUITE_P(SingleFile, GoldenGenerate,
                         testing::Combine(testing::Values("llama-causal-lm", "mistral-causal-lm",
                                                          "qwen2-causal-lm", "qwen3-causal-lm"),
                                          testing::Values("growing", "growing-multi", "static",
                                                          "static-multi"),
                                          testing::Values("executorch_single")),
                         label);

// PC-31: the list of end tokens in generation_config.json counts, explicit settings win.
TEST(CaseGenerationSettings, FilesTravelAndExplicitSettingsWin) {
  const TestFolder t;
  const Json one = expectations("tiny.json")[0];
  const auto greedy = one["new_ids"].get<Rows>()[0];
  ASSERT_EQ(one["model"], "llama-causal-lm");
  cases::Draft draft = cases::Draft::golden("llama-causal-lm");
  // The first of these comes second, the id in config.json comes fifth.
  ASSERT_NE(greedy[2], greedy[4]);
  draft.config["eos_token_id"] = greedy[4];
  draft.save(t / "in");
  t.write("in/generation_config.json",
          Json{{"eos_token_id", {greedy[2], greedy[4]}}, {"pad_token_id", 3}, {"max_length", 10}}
              .dump());
  cases::export_checkpoint(t / "in", "text-generation-with-past").save_pretrained(t / "out");
  const auto exported = ExportedModel::from_pretrained(t / "out");
  const Inputs first = {{"input_ids", tensor_of({one["input_ids"].get<Rows>()[0]})}};
  const auto run = [&](const GenerationOptions& options) {
    return generate(exported, first, options);
  };
  Generated made = run({});
  EXPECT_EQ(made.new_ids[0], std::vector<int64_t>{greedy[0]});  // 9 tokens, and 10 are the most
  EXPECT_EQ(made.finish_reasons[0], FinishReason::kLength);
  GenerationOptions options;
  options.max_new_tokens = 12;
  made = run(options);
  EXPECT_EQ(trimmed(made)[0], std::vector<int64_t>(greedy.begin(), greedy.begin() + 3));
  EXPECT_EQ(made.finish_reasons[0], FinishReason::kEos);
  options.eos_token_id = {{greedy[4]}};
  EXPECT_EQ(run(options).lengths[0], 5);
  options.eos_token_id = {{greedy[3], greedy[1]}};
  EXPECT_EQ(run(options).lengths[0], 2);
  // The padding token of the file fills rows that ended.
  options.eos_token_id.reset();
  const Generated batch =
      generate(exported,
               {{"input_ids", tensor_of(one["input_ids"].get<Rows>())},
                {"attention_mask", tensor_of(one["attention_mask"].get<Rows>())}},
               options);
  EXPECT_EQ(batch.lengths[0], 3);
  EXPECT_EQ(batch.new_ids[0].back(), batch.new_ids[0].size() > 3 ? 3 : greedy[2]);
  EXPECT_GT(batch.new_ids[0].size(), 3u);
}

TEST(GoldenLookup, SameTokensInFewerCalls) {
  const Json one = expectations("tiny.json")[0];
  const Scratch scratch;
  export_case(one["model"], "text-generation-with-past").save_pretrained(scratch.path() / "out");
  const auto exported = ExportedModel::from_pretrained(scratch.path() / "out");
  const auto ids = one["input_ids"].get<Rows>();
  std::vector<int64_t> prompt(ids[0]);  // the prompt, what follows it, and the prompt again
  const auto more = one["new_ids"].get<Rows>()[0];
  prompt.insert(prompt.end(), more.begin(), more.end());
  prompt.insert(prompt.end(), ids[0].begin(), ids[0].end());
  GenerationOptions options;
  options.max_new_tokens = 20;
  options.ignore_eos = true;
  const Generated plain = generate(exported, {{"input_ids", tensor_of({prompt})}}, options);
  options.prompt_lookup_num_tokens = 5;
  const Generated looked = generate(exported, {{"input_ids", tensor_of({prompt})}}, options);
  EXPECT_EQ(looked.new_ids, plain.new_ids);
  EXPECT_EQ(plain.forward_calls, 20);
  EXPECT_LT(looked.forward_calls, 20);
}

}  // namespace
}  // namespace slipway::golden
