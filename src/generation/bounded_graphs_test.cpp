// Decoders whose graphs only bound sizes, as .pte files of other exporters do.
#include "base/test_expect.h"
#include "generation/decoder.h"
#include "runtime/test_models.h"

namespace slipway {
namespace {

using test::kFloat;
using test::kInt64;

constexpr const char* kSizes = R"({"input_ids": [4, 8], "logits": [4, 8, 2],
  "past_key_values.layers.0.keys": [4, 1, 16, 2]})";

/// As test::decoder() with a name for every size. A shape that was a float on the way is none that
/// ONNX Runtime infers.
test::Graph bounded(const char* sizes = kSizes) {
  const std::string past = "input.past_key_values.layers.0.keys";
  const std::string present = "output.past_key_values.layers.0.keys";
  test::Graph graph;
  graph.input("input_ids", kInt64, {"a", "b"})
      .input(past, kFloat, {"c", "d", "e", "f"})
      .output("logits", kFloat, {"g", "h", "i"})
      .output(present, kFloat, {"j", "k", "l", "m"})
      .constant<float>("table", {8, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
      .constant<int64_t>("one", {1}, {1})
      .node("Gather", {"table", "input_ids"}, "logits")
      .node("Unsqueeze", {"logits", "one"}, "rows")
      .node("Shape", {"rows"}, "sizes")
      .node("Cast", {"sizes"}, "floats", {{"to", kFloat}})
      .node("Cast", {"floats"}, "shape", {{"to", kInt64}})
      .node("Reshape", {"rows", "shape"}, "kept")
      .node("Concat", {past, "kept"}, present, {{"axis", 2}})
      .metadata("slipway.sizes", sizes);
  return graph;
}

class BoundedGraphs : public testing::Test {
 protected:
  ModelRunner load(const test::Graph& graph, std::optional<CacheHeads> heads) const {
    RunnerLimits limits;
    limits.cache_heads = heads;
    return ModelRunner(Session::open("onnx", graph.save(folder_ / "model.onnx")), limits);
  }
  std::string refusal(ErrorKind kind, std::optional<CacheHeads> heads) const {
    const ModelRunner runner = load(bounded(), heads);
    return error_of(kind, [&] { make_decoder_state({runner, runner}); });
  }

 private:
  test::TempDir folder_;
};

TEST_F(BoundedGraphs, TakeHeadsFromTheConfigAndLimitsFromTheBounds) {
  const ModelRunner runner = load(bounded(), CacheHeads{1, 2, 2});
  const auto state = make_decoder_state({runner, runner});
  EXPECT_EQ(state->max_length(), 17);  // the last token is read on 16 others
  const Tensor ids = Tensor::of<int64_t>({1, 3}, {1, 2, 3});
  const Tensor mask = Tensor::of<int64_t>({1, 3}, {1, 1, 1});
  EXPECT_EQ(state->forward(ids, mask, 1).values<float>()[0], 6);
  state->forward(ids, mask, 1);
  const auto cache = state->cache();
  ASSERT_EQ(cache.size(), 1U);
  EXPECT_EQ(cache[0].second.shape(), (Shape{1, 1, 6, 2}));
  EXPECT_EQ(cache[0].second.values<float>()[11], 7);
}

TEST_F(BoundedGraphs, RefuseHeadsThatNothingSays) {
  EXPECT_TRUE(contains(refusal(kUnsupported, std::nullopt),
                       "it fixes no sizes of the cache past_key_values.layers.0.keys, and there is "
                       "no config.json"));
  EXPECT_TRUE(contains(refusal(kInvalid, CacheHeads{2, 2, 2}),
                       "has 1 heads of size 2, config.json says 2 of size 2"));
  EXPECT_TRUE(contains(refusal(kInvalid, CacheHeads{1, 4, 2}), "config.json says 1 of size 4"));
}

TEST_F(BoundedGraphs, RefuseMetadataThatIsMalformed) {
  for (const char* sizes : {"[]", "{", R"({"x": 3})", R"({"x": [1, -2]})", R"({"x": ["1"]})"})
    EXPECT_TRUE(contains(error_of(kInvalid, [&] { load(bounded(sizes), std::nullopt); }),
                         "the metadata slipway.sizes is"))
        << sizes;
}

}  // namespace
}  // namespace slipway
