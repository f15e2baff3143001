// Recognizing decoders, what their graphs are fed, and states after failures.
#include "generation/decoder.h"

#include "base/test_expect.h"
#include "generation/cache_names.h"
#include "runtime/test_models.h"

namespace slipway {
namespace {

using test::kFloat;
using test::kInt64;

Tensor ids_of(std::initializer_list<int64_t> ids) {
  return Tensor::of<int64_t>({1, static_cast<int64_t>(ids.size())}, ids);
}

Tensor ones_like(const Tensor& ids) {
  Tensor mask(DType::kI64, ids.shape());
  std::ranges::fill(mask.mutable_values<int64_t>(), int64_t{1});
  return mask;
}

ModelRunner load(const test::TempDir& folder, const test::Graph& graph,
                 const std::string& name = "model.onnx") {
  return ModelRunner(Session::open("onnx", graph.save(folder / name)));
}

/// A decoder without a cache or a mask: logits are rows of a table.
test::Graph plain() {
  test::Graph graph;
  graph.input("input_ids", kInt64, {"batch", "tokens"})
      .output("logits", kFloat, {"batch", "tokens", "2"})
      .constant<float>("table", {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7})
      .node("Gather", {"table", "input_ids"}, "logits");
  return graph;
}

std::string refusal(ErrorKind kind, const test::Graph& graph) {
  const test::TempDir folder;
  const ModelRunner runner = load(folder, graph);
  return error_of(kind, [&] { make_decoder_state({runner, runner}); });
}

TEST(CacheNames, AreReadInBothConventions) {
  const auto keys = parse_cache_name("past_key_values.layers.12.keys");
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->layer, 12);
  EXPECT_EQ(keys->leaf(), "past_key_values.layers.12.keys");
  EXPECT_EQ(parse_cache_name("past_key_values.3.value"), parse_cache_name("present.3.value"));
  EXPECT_EQ(parse_cache_name("present.3.value")->leaf(), "past_key_values.layers.3.values");
  EXPECT_EQ(parse_cache_name("past_key_values.layers.0.cumulative_length")->part,
            CachePart::kCounter);
  for (const char* other :
       {"past_key_values.layers.0", "past_key_values.layers.x.keys", "present.0.decoder.key",
        "past_key_values.layers.-1.keys", "past_key_values.0.keys", "logits", "",
        "past_key_values.layers.99999999999999999999.keys",
        "past_key_values.cross_attention_cache.layers.0.keys"})
    EXPECT_FALSE(parse_cache_name(other)) << other;
}

TEST(DecoderGraphs, IsRecognizedByItsInterface) {
  const test::TempDir folder;
  const ModelRunner without = load(folder, plain(), "plain.onnx");
  EXPECT_EQ(decoder_cache({without, without}), DecoderCache::kNone);
  const ModelRunner growing = load(folder, test::decoder(), "growing.onnx");
  EXPECT_EQ(decoder_cache({growing, growing}), DecoderCache::kGrowing);
  EXPECT_TRUE(reads_many_tokens({growing, growing}));
  const auto state = make_decoder_state({growing, growing});
  EXPECT_EQ(state->max_length(), 18);
  EXPECT_EQ(state->batch_size(), 0);
}

TEST(DecoderGraphs, SaysWhatIsMissing) {
  test::Graph no_ids;
  no_ids.input("x", kInt64, {"n"})
      .output("logits", kInt64, {"n"})
      .node("Identity", {"x"}, "logits");
  EXPECT_TRUE(contains(refusal(kUnsupported, no_ids), "needs the input input_ids"));
  test::Graph more = plain();
  more.input("pixel_values", kFloat, {"batch"});
  EXPECT_TRUE(contains(refusal(kUnsupported, more), "its inputs pixel_values"));
  test::Graph fixed;
  fixed.input("input_ids", kInt64, {"batch", "7"})
      .output("logits", kFloat, {"batch", "7", "2"})
      .constant<float>("table", {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7})
      .node("Gather", {"table", "input_ids"}, "logits");
  EXPECT_TRUE(contains(refusal(kUnsupported, fixed), "exactly 7 tokens"));
  test::Graph lost = plain();
  lost.input("past_key_values.layers.0.keys", kFloat, {"batch", "1", "past", "2"});
  EXPECT_TRUE(contains(refusal(kUnsupported, lost), "takes 1 caches and gives back 0"));
}

TEST(DecoderGraphs, NeedsCachesThatFitTogether) {
  const test::TempDir folder;
  const ModelRunner growing = load(folder, test::decoder(), "growing.onnx");
  test::Graph prefill = plain();
  prefill.output("past_key_values.layers.0.keys", kFloat, {"batch", "1", "tokens", "3"})
      .constant<float>("wide", {4, 3}, std::vector<float>(12, 1))
      .constant<int64_t>("one", {1}, {1})
      .node("Gather", {"wide", "input_ids"}, "rows")
      .node("Unsqueeze", {"rows", "one"}, "past_key_values.layers.0.keys");
  const ModelRunner other = load(folder, prefill, "prefill.onnx");
  const std::string error = error_of(kInvalid, [&] { make_decoder_state({other, growing}); });
  EXPECT_TRUE(contains(error, "1 heads of size 2 (f32), need 1 of size 3"));
  const ModelRunner none = load(folder, plain(), "plain.onnx");
  EXPECT_TRUE(contains(error_of(kInvalid,
                                [&] {
                                  make_decoder_state({none, growing});
                                }),
                       "1 tensors, need 0"));
}

TEST(DecoderGraphs, WindowsComeFromTheConfig) {
  const auto windows = [](const char* text) {
    return DecoderStateOptions::from_config(parse_json(text, "config.json")).windows;
  };
  using Windows = std::map<std::string, int64_t>;
  EXPECT_EQ(windows(R"({"sliding_window": 4})"),
            (Windows{{"attention_mask", 4}, {"attention_mask.sliding_attention", 4}}));
  EXPECT_EQ(windows(R"({"sliding_window": 4, "use_sliding_window": false})"), Windows{});
  EXPECT_EQ(windows(R"({"sliding_window": null})"), Windows{});
  EXPECT_EQ(windows(R"({"sliding_window": 4,
                        "layer_types": ["full_attention", "sliding_attention"]})"),
            (Windows{{"attention_mask.sliding_attention", 4}}));
  EXPECT_EQ(windows(R"({"text_config": {"sliding_window": 6}})").at("attention_mask"), 6);
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { windows(R"({"sliding_window": "4"})"); }),
                       "sliding_window"));
}

// PC-26: id 7 passes the check of ids and fails inside the runtime.
TEST(DecoderState, IsResettableAfterAFailedCall) {
  const test::TempDir folder;
  test::Graph graph = plain();
  graph.metadata("slipway.ranges", R"({"input_ids": [0, 7]})");
  const ModelRunner runner = load(folder, graph);
  const auto state = make_decoder_state({runner, runner});
  const Tensor good = ids_of({1, 2, 3}), bad = ids_of({7});
  state->forward(good, ones_like(good), 1);
  error_of(kInvalid, [&] { state->forward(bad, ones_like(bad), 1); });
  const Tensor next = ids_of({1});
  EXPECT_TRUE(contains(error_of(kUsage, [&] { state->forward(next, ones_like(next), 1); }),
                       "reset the state first"));
  EXPECT_TRUE(contains(error_of(kUsage, [&] { state->copy(); }), "reset the state first"));
  state->reset();
  const Tensor pair = Tensor::of<int64_t>({2, 2}, {3, 2, 1, 0});
  const Tensor logits = state->forward(pair, ones_like(pair), 2);
  EXPECT_EQ(logits.values<float>()[0], 6);
  EXPECT_EQ(state->length(), 2);
}

TEST(DecoderState, RefusesPaddingWithoutAMask) {
  const test::TempDir folder;
  const ModelRunner runner = load(folder, plain());
  const auto state = make_decoder_state({runner, runner});
  const Tensor ids = ids_of({1, 2});
  EXPECT_TRUE(contains(error_of(kInvalid,
                                [&] {
                                  state->forward(ids, Tensor::of<int64_t>({1, 2}, {0, 1}), 1);
                                }),
                       "takes no attention_mask"));
}

TEST(DecoderState, LimitsComeFromTheGraph) {
  const test::TempDir folder;
  const ModelRunner growing = load(folder, test::decoder());
  const auto state = make_decoder_state({growing, growing});
  Tensor ids(DType::kI64, {1, 16});
  state->forward(ids, ones_like(ids), 1);
  const Tensor three = ids_of({1, 1, 1});
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { state->forward(three, ones_like(three), 1); }),
                       "got 3 tokens after 16, the model has positions for 18"));
  const Tensor unknown = ids_of({8});
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { state->forward(unknown, ones_like(unknown), 1); }),
                       "need 0 to 7"));
  const Tensor two = ids_of({1, 2});
  EXPECT_EQ(state->forward(two, ones_like(two), 2).values<float>()[2], 1.0F);
}

}  // namespace
}  // namespace slipway
