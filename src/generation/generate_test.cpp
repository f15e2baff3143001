// The greedy loop on small ONNX decoders made by hand.
#include "generation/generate.h"

#include <gtest/gtest.h>

#include "base/test_expect.h"
#include "runtime/test_models.h"

namespace slipway {
namespace {

using test::Graph;
using test::kFloat;
using test::kInt64;
using test::TempDir;

constexpr int64_t kVocabulary = 8;
const std::string kPast = "input.past_key_values.layers.0.keys";
const std::string kPresent = "output.past_key_values.layers.0.keys";
const std::string kTotal = "past_sequence_length + sequence_length";

/// Row i prefers (i + 1) % 8, then (i + 2) % 8.
std::vector<float> successors() {
  std::vector<float> table(kVocabulary * kVocabulary, 0.0F);
  for (int64_t i = 0; i < kVocabulary; ++i) {
    table[static_cast<size_t>(i * kVocabulary + (i + 1) % kVocabulary)] = 3.0F;
    table[static_cast<size_t>(i * kVocabulary + (i + 2) % kVocabulary)] = 2.0F;
  }
  return table;
}

/// A decoder with a growing cache whose next token follows from `by`: an input of ids below 8.
Graph cached(const std::string& by) {
  Graph graph;
  graph.input("input_ids", kInt64, {"batch_size", "sequence_length"})
      .input("attention_mask", kInt64, {"batch_size", kTotal})
      .input("position_ids", kInt64, {"batch_size", "sequence_length"})
      .input(kPast, kFloat, {"batch_size", "1", "past_sequence_length", "8"})
      .output("logits", kFloat, {"batch_size", "sequence_length", "8"})
      .output(kPresent, kFloat, {"batch_size", "1", kTotal, "8"})
      .constant<float>("table", {kVocabulary, kVocabulary}, successors())
      .constant<int64_t>("one", {1}, {1})
      .node("Gather", {"table", by}, "logits")
      .node("Unsqueeze", {"logits", "one"}, "rows")
      .node("Concat", {kPast, "rows"}, kPresent, {{"axis", 2}})
      .metadata("slipway.ranges", R"({"input_ids": [0, 7]})")
      .metadata("slipway.dims",
                R"({"past_sequence_length": [0, null], ")" + kTotal + R"(": [1, 12]})");
  return graph;
}

/// No cache: the whole sequence every time.
Graph plain() {
  Graph graph;
  graph.input("input_ids", kInt64, {"b", "s"})
      .input("attention_mask", kInt64, {"b", "s"})
      .output("logits", kFloat, {"b", "s", "8"})
      .output("past_key_values.layers.0.keys", kFloat, {"b", "s", "8"})
      .constant<float>("table", {kVocabulary, kVocabulary}, successors())
      .node("Gather", {"table", "input_ids"}, "logits")
      .node("Identity", {"logits"}, "past_key_values.layers.0.keys");
  return graph;
}

class Greedy : public testing::Test {
 protected:
  ModelRunner load(Graph graph) {
    return ModelRunner(Session::open("onnx", graph.save(dir_ / fmt_name())));
  }
  std::string fmt_name() { return "m" + std::to_string(count_++) + ".onnx"; }

  static Tensor ids(Shape shape, std::initializer_list<int64_t> values) {
    return Tensor::of<int64_t>(std::move(shape), values);
  }

  TempDir dir_;
  int count_ = 0;
};

using Rows = std::vector<std::vector<int64_t>>;

TEST_F(Greedy, FollowsTheTokens) {
  const ModelRunner runner = load(cached("input_ids"));
  const GreedyResult made =
      generate_greedy({runner, runner}, ids({2, 2}, {0, 1, 4, 5}), {},
                      {.max_new_tokens = 4, .eos_ids = {}, .first_step_top = 2, .on_token = {}});
  EXPECT_EQ(made.new_ids, (Rows{{2, 3, 4, 5}, {6, 7, 0, 1}}));
  EXPECT_EQ(made.lengths, (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(made.decode_steps, 3);
  ASSERT_EQ(made.first_step_top.size(), 2u);
  EXPECT_EQ(made.first_step_top[0], (std::vector<std::pair<int64_t, float>>{{2, 3.F}, {3, 2.F}}));
}

TEST_F(Greedy, CacheAndNoCacheAgree) {
  const ModelRunner with = load(cached("input_ids")), without = load(plain());
  const GreedyOptions options{.max_new_tokens = 5, .eos_ids = {}, .on_token = {}};
  const Tensor prompt = ids({1, 3}, {1, 2, 3});
  const GreedyResult a = generate_greedy({with, with}, prompt, {}, options);
  const GreedyResult b = generate_greedy({without, without}, prompt, {}, options);
  EXPECT_EQ(a.new_ids, b.new_ids);
  EXPECT_EQ(a.new_ids, (Rows{{4, 5, 6, 7, 0}}));
}

TEST_F(Greedy, PrefillAndDecodeAsTwoGraphs) {
  // The prompt's graph returns the cache that the step's graph takes.
  Graph prefill;
  prefill.input("input_ids", kInt64, {"b", "s"})
      .output("logits", kFloat, {"b", "s", "8"})
      .output("past_key_values.layers.0.keys", kFloat, {"b", "1", "s", "8"})
      .constant<float>("table", {kVocabulary, kVocabulary}, successors())
      .constant<int64_t>("one", {1}, {1})
      .node("Gather", {"table", "input_ids"}, "logits")
      .node("Unsqueeze", {"logits", "one"}, "past_key_values.layers.0.keys");
  const ModelRunner prompt = load(prefill), step = load(cached("input_ids"));
  const GreedyResult made = generate_greedy({prompt, step}, ids({1, 2}, {5, 6}), {},
                                            {.max_new_tokens = 3, .eos_ids = {}, .on_token = {}});
  EXPECT_EQ(made.new_ids, (Rows{{7, 0, 1}}));
}

TEST_F(Greedy, PositionsSkipPadding) {
  // The next token is the position plus 1: a padded row counts from its first real token.
  const ModelRunner runner = load(cached("position_ids"));
  const GreedyResult made = generate_greedy({runner, runner}, ids({2, 3}, {1, 1, 1, 0, 0, 1}),
                                            ids({2, 3}, {1, 1, 1, 0, 0, 1}),
                                            {.max_new_tokens = 3, .eos_ids = {}, .on_token = {}});
  EXPECT_EQ(made.new_ids, (Rows{{3, 4, 5}, {1, 2, 3}}));
}

TEST_F(Greedy, RowsEndOnTheirOwn) {
  const ModelRunner runner = load(cached("input_ids"));
  std::vector<std::pair<int64_t, int64_t>> seen;
  GreedyOptions options{.max_new_tokens = 9, .eos_ids = {3, 7}, .pad_id = 5, .on_token = {}};
  options.on_token = [&](int64_t row, int64_t id) {
    seen.emplace_back(row, id);
    return true;
  };
  const GreedyResult made = generate_greedy({runner, runner}, ids({2, 1}, {1, 3}), {}, options);
  EXPECT_EQ(made.new_ids, (Rows{{2, 3, 5, 5}, {4, 5, 6, 7}}));
  EXPECT_EQ(made.lengths, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(made.reached_eos, (std::vector<bool>{true, true}));
  EXPECT_EQ(seen, (std::vector<std::pair<int64_t, int64_t>>{
                      {0, 2}, {1, 4}, {0, 3}, {1, 5}, {1, 6}, {1, 7}}));
}

TEST_F(Greedy, CallerCanStop) {
  const ModelRunner runner = load(cached("input_ids"));
  GreedyOptions options{.max_new_tokens = 9, .eos_ids = {}, .on_token = {}};
  options.on_token = [](int64_t, int64_t id) { return id != 4; };
  const GreedyResult made = generate_greedy({runner, runner}, ids({1, 1}, {1}), {}, options);
  EXPECT_EQ(made.new_ids, (Rows{{2, 3, 4}}));
  EXPECT_FALSE(made.reached_eos[0]);
}

TEST_F(Greedy, PositionsRunOutBeforeAnythingRuns) {
  const ModelRunner runner = load(cached("input_ids"));
  const DecoderGraphs graphs{runner, runner};
  EXPECT_EQ(max_sequence_length(graphs), 12);
  GreedyOptions options{.max_new_tokens = 11, .eos_ids = {}, .on_token = {}};
  const Tensor prompt = ids({1, 2}, {0, 0});
  EXPECT_EQ(generate_greedy(graphs, prompt, {}, options).lengths[0], 11);  // uses all 12
  options.max_new_tokens = 12;
  options.on_token = [](int64_t, int64_t) -> bool { throw std::logic_error("a token was made"); };
  const std::string error =
      error_of(kInvalid, [&] { generate_greedy(graphs, prompt, {}, options); });
  EXPECT_TRUE(contains(error, "need 13 positions, the model has 12"));
}

TEST_F(Greedy, RefusesPromptsThatCannotWork) {
  const ModelRunner runner = load(cached("input_ids"));
  const DecoderGraphs graphs{runner, runner};
  const auto error = [&](const Tensor& prompt, const Tensor& mask) {
    return error_of(kInvalid, [&] { generate_greedy(graphs, prompt, mask, {}); });
  };
  EXPECT_TRUE(contains(error(Tensor(DType::kI64, {1, 0}), {}), "prompt is empty"));
  EXPECT_TRUE(contains(error(Tensor(DType::kI64, {3}), {}), "shape [3]"));
  EXPECT_TRUE(contains(error(ids({1, 2}, {1, 0}), ids({1, 2}, {1, 0})), "padded on the left"));
  EXPECT_TRUE(contains(error(ids({1, 2}, {1, 0}), ids({1, 1}, {1})), "must be equal"));
  EXPECT_TRUE(contains(error(ids({1, 2}, {1, 0}), ids({1, 2}, {2, 1})), "attention_mask"));
  EXPECT_TRUE(contains(error_of(kInvalid,
                                [&] {
                                  generate_greedy(
                                      graphs, ids({1, 1}, {8}), {},
                                      {.max_new_tokens = 1, .eos_ids = {}, .on_token = {}});
                                }),
                       "8"));
}

TEST_F(Greedy, RefusesOtherGraphs) {
  Graph encoder;
  encoder.input("input_ids", kInt64, {"b", "s"})
      .output("last_hidden_state", kFloat, {"b", "s", "8"})
      .constant<float>("table", {kVocabulary, kVocabulary}, successors())
      .node("Gather", {"table", "input_ids"}, "last_hidden_state");
  Graph fixed;
  fixed.input("input_ids", kInt64, {"1", "4"})
      .output("logits", kFloat, {"1", "4", "8"})
      .constant<float>("table", {kVocabulary, kVocabulary}, successors())
      .node("Gather", {"table", "input_ids"}, "logits");
  const ModelRunner a = load(encoder), b = load(fixed);
  const auto error = [&](const ModelRunner& runner) {
    return error_of(kUnsupported, [&] {
      generate_greedy({runner, runner}, ids({1, 1}, {1}), {}, {});
    });
  };
  EXPECT_TRUE(contains(error(a), "output logits"));
  EXPECT_TRUE(contains(error(b), "exactly 4 tokens"));
}

}  // namespace
}  // namespace slipway
