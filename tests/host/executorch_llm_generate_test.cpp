// Generating with directories for ExecuTorch's LLM runner: the tokens of other exports, sessions,
// and what one row cannot do.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/test_expect.h"
#include "base/test_folder.h"
#include "golden_util.h"
#include "slipway/generation.h"
#include "slipway/generation_session.h"

namespace slipway {
namespace {

constexpr int64_t kSlots = 32;

ExportedModel llm_export(const std::string& name, const std::filesystem::path& out) {
  ExecutorchConfig config;
  config.llm_slots = kSlots;
  const auto model = PreTrainedModel::from_pretrained(golden::folder(name), "auto");
  ExecutorchExporter()
      .export_model(model, model.example_inputs(), config)
      .save_pretrained(out, {.layout = Layout::kExecutorchLlm, .before_commit = {}});
  return ExportedModel::from_pretrained(out);
}

Tensor ids_of(const std::vector<int64_t>& ids) {
  return Tensor::copy_of<int64_t>({1, std::ssize(ids)}, ids);
}

class ExecutorchLlmGenerate : public testing::TestWithParam<const char*> {};

TEST_P(ExecutorchLlmGenerate, GivesTheGoldenTokens) {
  const Json golden = parse_json_file(golden::folder(GetParam()) / "generate.json");
  const auto prompt = golden["prompt"]["input_ids"][0].get<std::vector<int64_t>>();
  const auto wanted = golden["new_tokens"].get<std::vector<int64_t>>();
  const TestFolder folder;
  const ExportedModel exported = llm_export(GetParam(), folder / "out");
  GenerationOptions options;
  options.max_new_tokens = options.min_new_tokens = std::ssize(wanted);
  for (int round = 0; round < 2; ++round) {
    const Generated made = generate(exported, {{"input_ids", ids_of(prompt)}}, options);
    EXPECT_EQ(made.new_ids.at(0), wanted);
    EXPECT_EQ(made.forward_calls, std::ssize(wanted));
  }
}

// All positions' logits, text that is forgotten in part, and a copy that goes its own way.
TEST_P(ExecutorchLlmGenerate, SessionsEqualAnExportWithTheCacheOutside) {
  const TestFolder folder;
  const ExportedModel exported = llm_export(GetParam(), folder / "out");
  const ExportedModel other = golden::export_case(GetParam(), "auto");
  GenerationSession session(exported), want(other);
  EXPECT_EQ(session.max_length(), kSlots);
  const auto expect_equal = [](GenerationSession& a, GenerationSession& b,
                               const std::vector<int64_t>& ids, int64_t keep) {
    const Tensor got = a.forward(ids_of(ids), {}, keep),
                 expected = b.forward(ids_of(ids), {}, keep);
    ASSERT_EQ(got.shape(), expected.shape());
    EXPECT_LE(golden::max_difference(got, expected, [](int64_t) { return true; }), 1e-4);
  };
  for (int round = 0; round < 2; ++round) {
    expect_equal(session, want, {5, 9, 33, 7, 41}, 0);
    expect_equal(session, want, {11}, 1);
    expect_equal(session, want, {12, 13, 60}, 2);
    session.crop(6);
    want.crop(6);
    expect_equal(session, want, {20, 21}, 1);
    GenerationSession copy = session.copy(), want_copy = want.copy();
    expect_equal(copy, want_copy, {22}, 1);
    expect_equal(session, want, {23}, 1);
    expect_equal(copy, want_copy, {24}, 1);
    EXPECT_EQ(session.cache().size(), want.cache().size());
    session.reset();
    want.reset();
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ExecutorchLlmGenerate,
                         testing::Values("llama-causal-lm", "mistral-causal-lm", "qwen2-causal-lm",
                                         "qwen3-causal-lm"),
                         [](const auto& row) { return golden::case_label(row.param, "onnx"); });

TEST(ExecutorchLlmGenerate, EndsAreThoseOfTheProgramWhereNoFileSaysThem) {
  const Json golden = parse_json_file(golden::folder("llama-causal-lm") / "generate.json");
  const auto prompt = golden["prompt"]["input_ids"][0].get<std::vector<int64_t>>();
  const TestFolder folder;
  llm_export("llama-causal-lm", folder / "out");
  GenerationOptions options;
  options.max_new_tokens = 20;
  const auto made = [&] {
    const auto exported = ExportedModel::from_pretrained(folder / "out");
    return generate(exported, {{"input_ids", ids_of(prompt)}}, options);
  };
  const Generated with_files = made();
  std::filesystem::remove(folder / "out" / "config.json");
  std::filesystem::remove(folder / "out" / "generation_config.json");
  const Generated alone = made();
  EXPECT_EQ(alone.new_ids, with_files.new_ids);
  EXPECT_EQ(alone.finish_reasons, with_files.finish_reasons);
  options.ignore_eos = true;
  EXPECT_EQ(made().lengths.at(0), 20);
}

TEST(ExecutorchLlmGenerate, SaysWhatOneRowCannotDo) {
  const TestFolder folder;
  const ExportedModel exported = llm_export("llama-causal-lm", folder / "out");
  const auto refusal = [&](ErrorKind kind, const Tensor& ids, GenerationOptions options) {
    return error_of(kind, [&] { generate(exported, {{"input_ids", ids}}, options); });
  };
  const Tensor one = ids_of({5, 6, 7}), two = Tensor::of<int64_t>({2, 2}, {5, 6, 7, 8});
  const auto with = [](auto field, auto value) {
    GenerationOptions options;
    options.*field = value;
    return options;
  };
  const std::string rows = refusal(kUnsupported, two, {});
  EXPECT_TRUE(contains(rows, "there are 2 prompts"));
  EXPECT_TRUE(contains(rows, "without the layout executorch-llm"));
  EXPECT_TRUE(contains(refusal(kUnsupported, one, with(&GenerationOptions::num_beams, 4)),
                       "num_beams is 4"));
  EXPECT_TRUE(
      contains(refusal(kUnsupported, one, with(&GenerationOptions::num_return_sequences, 2)),
               "num_return_sequences is 2"));
  EXPECT_TRUE(
      contains(refusal(kUnsupported, one, with(&GenerationOptions::prompt_lookup_num_tokens, 3)),
               "prompt_lookup_num_tokens is set"));
  EXPECT_TRUE(contains(refusal(kInvalid, one, with(&GenerationOptions::max_new_tokens, 31)),
                       "need 33 slots, the cache has 32; set max_new_tokens to at most 30"));
  GenerationOptions room = with(&GenerationOptions::max_new_tokens, 30);
  room.ignore_eos = true;
  EXPECT_EQ(generate(exported, {{"input_ids", one}}, room).lengths.at(0), 30);
  GenerationSession session(exported);
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { session.forward(two); }), "takes exactly 1"));
  session.forward(ids_of(std::vector<int64_t>(30, 5)));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { session.forward(one); }),
                       "got 3 tokens after 30, the cache has slots for 32"));
  EXPECT_TRUE(contains(error_of(kInvalid,
                                [&] {
                                  session.reorder(std::vector<int64_t>{0, 0});
                                }),
                       "got 2 rows, the export takes exactly 1"));
  EXPECT_TRUE(contains(
      error_of(kInvalid, [&] { GenerationSession(exported, {.max_cache_len = 64}); }), "32 slots"));
}

}  // namespace
}  // namespace slipway
