// The checked runner: names, conversions, defaults, limits.
#include "runtime/model_runner.h"

#include <gtest/gtest.h>

#include "runtime/test_models.h"

namespace slipway {
namespace {

using test::Graph;
using test::kFloat;
using test::kInt64;
using test::TempDir;

const std::string kCache = "past_key_values.layers.0.keys";

std::vector<int64_t> ints(const Tensor& t) {
  const auto values = t.values<int64_t>();
  return {values.begin(), values.end()};
}

Tensor ids(Shape shape) { return Tensor(DType::kI64, std::move(shape)); }

class Decoder : public testing::Test {
 protected:
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& given) const {
    std::map<std::string, Tensor> results;
    for (auto& [name, tensor] : runner_.run(given)) results[name] = tensor;
    return results;
  }
  std::string error(const std::map<std::string, Tensor>& given, ErrorKind kind = kInvalid) const {
    try {
      runner_.run(given);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), kind) << e.what();
      return e.what();
    }
    return "no error";
  }

  TempDir dir_;
  ModelRunner runner_{Session::open("onnx", test::decoder().save(dir_ / "m.onnx"))};
};

TEST_F(Decoder, LeafNames) {
  EXPECT_EQ(runner_.inputs()[3].name, kCache);
  EXPECT_EQ(runner_.outputs()[3].name, kCache);
  const auto results = runner_.run({{"input_ids", ids({1, 2})}});
  EXPECT_EQ(results[0].first, "logits");
  EXPECT_EQ(results[3].first, kCache);
  EXPECT_EQ(results[3].second.shape(), (Shape{1, 1, 2, 2}));
  const auto wanted = runner_.run({{"input_ids", ids({1, 2})}}, {"output." + kCache, "logits"});
  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(wanted[0].first, kCache);
  EXPECT_EQ(wanted[1].first, "logits");
}

TEST_F(Decoder, DefaultsWithoutCache) {
  const auto results = run({{"input_ids", ids({2, 3})}});
  EXPECT_EQ(results.at("mask").shape(), (Shape{2, 3}));
  EXPECT_EQ(ints(results.at("mask")), (std::vector<int64_t>{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(ints(results.at("positions")), (std::vector<int64_t>{0, 1, 2, 0, 1, 2}));
}

TEST_F(Decoder, DefaultsWithCacheAndPadding) {
  const Tensor cache(DType::kF32, {2, 1, 2, 2});
  const auto plain = run({{"input_ids", ids({2, 2})}, {"input." + kCache, cache}});
  EXPECT_EQ(ints(plain.at("mask")), std::vector<int64_t>(8, 1));
  EXPECT_EQ(ints(plain.at("positions")), (std::vector<int64_t>{2, 3, 2, 3}));
  // Rows padded on the left: positions count what is visible, as the reference's generate() does.
  const Tensor mask = Tensor::of<int64_t>({2, 4}, {1, 1, 1, 1, 0, 0, 0, 1});
  const auto padded = run({{"input_ids", ids({2, 2})}, {kCache, cache}, {"attention_mask", mask}});
  EXPECT_EQ(ints(padded.at("positions")), (std::vector<int64_t>{2, 3, 0, 0}));
  const Tensor holes = Tensor::of<int64_t>({1, 4}, {1, 0, 1, 1});
  const auto middle = run({{"input_ids", ids({1, 4})}, {"attention_mask", holes}});
  EXPECT_EQ(ints(middle.at("positions")), (std::vector<int64_t>{0, 0, 1, 2}));
}

// PC-20: masks and ids of other integer types, in any order.
TEST_F(Decoder, IntegerInputsConvert) {
  const auto same = [&](const Tensor& mask) {
    const auto results = run({{"attention_mask", mask},
                              {"position_ids", Tensor::of<int32_t>({1, 3}, {0, 0, 1})},
                              {"input_ids", Tensor::of<int32_t>({1, 3}, {1, 2, 3})}});
    EXPECT_EQ(ints(results.at("mask")), (std::vector<int64_t>{0, 1, 1}));
    EXPECT_EQ(ints(results.at("positions")), (std::vector<int64_t>{0, 0, 1}));
    EXPECT_EQ(results.at("logits").values<float>()[0], 0.5f);
  };
  same(Tensor::of<int64_t>({1, 3}, {0, 1, 1}));
  same(Tensor::of<int32_t>({1, 3}, {0, 1, 1}));
  same(Tensor::of<uint8_t>({1, 3}, {0, 1, 1}));
  same(Tensor::of<bool>({1, 3}, {false, true, true}));
  EXPECT_EQ(error({{"input_ids", ids({1, 1})}, {"attention_mask", Tensor::of<float>({1, 1}, {1})}}),
            "[m.onnx] attention_mask has dtype f32, need i64; convert it first");
  EXPECT_EQ(error({{"input_ids", Tensor::of<float>({1, 1}, {1})}}),
            "[m.onnx] input_ids has dtype f32, need i64; convert it first");
  EXPECT_EQ(error({{"input_ids", ids({1, 1})}, {kCache, Tensor(DType::kF64, {1, 1, 0, 2})}}),
            "[m.onnx] past_key_values.layers.0.keys has dtype f64, need f32; convert it first");
  EXPECT_EQ(error({{"input_ids", ids({1, 1})},
                   {"attention_mask", Tensor::of<int64_t>({1, 1}, {-10000})}}),
            "[m.onnx] attention_mask[0, 0] is -10000, need 0 to 1");
}

// PC-20: whatever cannot be filled is named.
TEST_F(Decoder, MissingAndUnknownInputs) {
  EXPECT_EQ(error({{"attention_mask", ids({1, 1})}}),
            "[m.onnx] needs the inputs input_ids, which were not given and have no default; got "
            "attention_mask");
  testing::internal::CaptureStderr();
  run({{"input_ids", ids({1, 1})}, {"labels", ids({1, 1})}, {"extra", ids({1})}});
  const std::string warned = testing::internal::GetCapturedStderr();
  EXPECT_NE(warned.find("[m.onnx] dropping inputs that the export does not take: extra, labels"),
            warned.npos)
      << warned;
  EXPECT_NE(error({{kCache, Tensor(DType::kF32, {1, 1, 0, 2})},
                   {"input." + kCache, Tensor(DType::kF32, {1, 1, 0, 2})}},
                  kUsage)
                .find("twice"),
            std::string::npos);
  EXPECT_THROW(runner_.run({{"input_ids", ids({1, 1})}}, {"nothing"}), Error);
}

// PC-22: ids at and past the vocabulary, minus 1, more tokens than positions, the cache counted.
TEST_F(Decoder, Limits) {
  EXPECT_EQ(error({{"input_ids", Tensor::of<int64_t>({1, 2}, {7, 8})}}),
            "[m.onnx] input_ids[0, 1] is 8, need 0 to 7");
  EXPECT_EQ(error({{"input_ids", Tensor::of<int64_t>({1, 2}, {-1, 0})}}),
            "[m.onnx] input_ids[0, 0] is -1, need 0 to 7");
  EXPECT_EQ(run({{"input_ids", ids({1, 16})}}).at("logits").dim(1), 16);
  EXPECT_EQ(error({{"input_ids", ids({1, 17})}}),
            "[m.onnx] input_ids has sequence_length 17, the model takes 1 to 16");
  // Generation from a prompt of 16 crosses the limit of 18 positions on step 3.
  Tensor cache = run({{"input_ids", ids({1, 16})}}).at(kCache);
  for (int step = 1; step <= 2; ++step)
    cache = run({{"input_ids", ids({1, 1})}, {kCache, cache}}).at(kCache);
  EXPECT_EQ(error({{"input_ids", ids({1, 1})}, {kCache, cache}}),
            "[m.onnx] past_sequence_length + sequence_length 19, the model takes 1 to 18");
}

TEST_F(Decoder, ShapesThatDoNotFit) {
  EXPECT_EQ(error({{"input_ids", ids({3})}}),
            "[m.onnx] input_ids has shape [3], need 2 dimensions: [batch_size, sequence_length]");
  EXPECT_EQ(error({{"input_ids", ids({2, 3})}, {"attention_mask", ids({3, 3})}}),
            "[m.onnx] attention_mask has batch_size 3 (dimension 0), but input_ids has 2 "
            "(dimension 0); both need the same size");
  EXPECT_EQ(error({{"input_ids", ids({1, 3})}, {"attention_mask", ids({1, 4})}}),
            "[m.onnx] attention_mask has shape [1, 4], need [1, 3]: input_ids has batch 1 and 3 "
            "tokens, the cache holds 0");
  EXPECT_EQ(error({{"input_ids", ids({1, 3})}, {kCache, Tensor(DType::kF32, {1, 2, 0, 2})}}),
            "[m.onnx] past_key_values.layers.0.keys has shape [1, 2, 0, 2], need [batch_size, 1, "
            "past_sequence_length, 2]: dimension 1 was fixed to 1 at export");
  EXPECT_EQ(error({{"input_ids", ids({0, 3})}}),
            "[m.onnx] input_ids has shape [0, 3]: batch_size is 0, need at least 1");
  EXPECT_EQ(error({{"input_ids", ids({1, 0})}}),
            "[m.onnx] input_ids has sequence_length 0, the model takes 1 to 16");
}

// A graph of another exporter: symbols that say nothing, no metadata; limits come from the caller.
TEST(ForeignGraph, LimitsAndSegmentIds) {
  const TempDir dir;
  Graph graph;
  graph.input("attention_mask", kInt64, {"s43", "s41"})
      .input("input_ids", kInt64, {"s18", "s41"})
      .input("token_type_ids", kInt64, {"s18", "s41"})
      .output("types", kInt64, {"s18", "s41"})
      .output("masked", kInt64, {"s18", "s41"})
      .node("Identity", {"token_type_ids"}, "types")
      .node("Mul", {"attention_mask", "input_ids"}, "masked");
  RunnerLimits limits;
  limits.values = {{"input_ids", {0, 99}}, {"token_type_ids", {0, 1}}};
  limits.max_positions = 16;
  const ModelRunner runner(Session::open("onnx", graph.save(dir / "m.onnx")), limits);
  const auto results = runner.run({{"input_ids", Tensor::of<int64_t>({2, 2}, {5, 6, 7, 8})}});
  EXPECT_EQ(ints(results[0].second), (std::vector<int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(ints(results[1].second), (std::vector<int64_t>{5, 6, 7, 8}));
  const auto error = [&](const std::map<std::string, Tensor>& given) -> std::string {
    try {
      runner.run(given);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error({{"input_ids", ids({1, 16})}}), "no error");
  EXPECT_EQ(error({{"input_ids", ids({1, 17})}}),
            "[m.onnx] input_ids has 17 tokens after 0 cached ones, the model has 16 positions");
  EXPECT_EQ(
      error({{"input_ids", ids({1, 1})}, {"token_type_ids", Tensor::of<int64_t>({1, 1}, {2})}}),
      "[m.onnx] token_type_ids[0, 0] is 2, need 0 to 1");
  // Runtimes compute with a mask of more rows and say nothing (measured).
  EXPECT_EQ(error({{"input_ids", ids({2, 2})}, {"attention_mask", ids({3, 2})}}),
            "[m.onnx] attention_mask has shape [3, 2], need [2, 2]: input_ids has batch 2 and 2 "
            "tokens, the cache holds 0");
  EXPECT_EQ(error({{"input_ids", ids({0, 2})}}),
            "[m.onnx] input_ids has shape [0, 2]: s18 is 0, need at least 1");
}

TEST(StaticGraph, FixedSizesAndCaches) {
  const TempDir dir;
  Graph graph;
  graph.input("input_ids", kInt64, {"2", "3"})
      .input("past_key_values.layers.0.keys", kFloat, {"2", "1", "8", "2"})
      .output("ids", kInt64, {"2", "3"})
      .output("cache", kFloat, {"2", "1", "8", "2"})
      .node("Identity", {"input_ids"}, "ids")
      .node("Identity", {"past_key_values.layers.0.keys"}, "cache");
  const ModelRunner runner(Session::open("onnx", graph.save(dir / "m.onnx")));
  const auto error = [&](const std::map<std::string, Tensor>& given) -> std::string {
    try {
      runner.run(given);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(
      error({{"input_ids", ids({3, 3})}}),
      "[m.onnx] input_ids has shape [3, 3], need [2, 3]: dimension 0 was fixed to 2 at export");
  EXPECT_EQ(error({{"input_ids", ids({2, 3})}}),  // a static cache has no empty state
            "[m.onnx] needs the inputs past_key_values.layers.0.keys, which were not given and "
            "have no default; got input_ids");
}

TEST(ManyCaches, AllOrNone) {
  const TempDir dir;
  Graph graph;
  graph.input("input_ids", kInt64, {"b", "s"}).output("ids", kInt64, {"b", "s"});
  graph.node("Identity", {"input_ids"}, "ids");
  for (const std::string end : {"0.key", "0.value"}) {
    graph.input("past_key_values." + end, kFloat, {"b", "1", "past", "2"})
        .output("present." + end, kFloat, {"b", "1", "past", "2"})
        .node("Identity", {"past_key_values." + end}, "present." + end);
  }
  const ModelRunner runner(Session::open("onnx", graph.save(dir / "m.onnx")));
  EXPECT_EQ(runner.run({{"input_ids", ids({2, 1})}})[2].second.shape(), (Shape{2, 1, 0, 2}));
  try {
    runner.run(
        {{"input_ids", ids({2, 1})}, {"past_key_values.0.key", Tensor(DType::kF32, {2, 1, 4, 2})}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()),
              "[m.onnx] needs the inputs past_key_values.0.value, which were not given and have no "
              "default; give all caches or none; got input_ids, past_key_values.0.key");
  }
}

}  // namespace
}  // namespace slipway
