// The checkpoint audit: names with and without prefixes, ties, and the report (PC-01, 02, 04).
#include "checkpoint/binder.h"

#include <gtest/gtest.h>

#include "checkpoint/memory_store.h"

namespace slipway {
namespace {

using Tensors = std::map<std::string, Tensor>;

Tensor ramp(Shape shape, float start) {
  Tensor t(DType::kF32, std::move(shape));
  for (float& v : t.mutable_values<float>()) v = start++;
  return t;
}

WeightBinder binder(const Tensors& tensors, std::string prefix = "model",
                    std::vector<std::string> ignorable = {}) {
  return WeightBinder(std::make_shared<MemoryStore>(tensors),
                      {std::move(prefix), std::move(ignorable)});
}

float first(const Lazy& lazy) { return materialize(*lazy).values<float>()[0]; }

std::string problems(const WeightBinder& b) {
  try {
    b.finish();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kInvalid);
    return e.what();
  }
  return "";
}

TEST(Binder, FindsNamesWithAndWithoutTheBasePrefix) {
  for (const std::string stored : {"model.norm.weight", "norm.weight"})
    for (const std::string asked : {"model.norm.weight", "norm.weight"}) {
      WeightBinder b = binder({{stored, ramp({3}, 7)}});
      EXPECT_TRUE(b.has(asked));
      EXPECT_EQ(first(b.bind(asked, {3}, "hidden_size=3")), 7) << stored << " asked as " << asked;
      EXPECT_EQ(problems(b), "");
    }
}

TEST(Binder, FindsLegacyNormalizationNames) {
  WeightBinder b = binder(
      {{"bert.x.LayerNorm.gamma", ramp({2}, 1)}, {"x.LayerNorm.beta", ramp({2}, 5)}}, "bert");
  EXPECT_EQ(first(b.bind("bert.x.LayerNorm.weight", {2}, "")), 1);
  EXPECT_EQ(first(b.bind("bert.x.LayerNorm.bias", {2}, "")), 5);
  EXPECT_EQ(problems(b), "");
}

TEST(Binder, SameNameIsTheSameObject) {
  WeightBinder b = binder({{"w", ramp({2}, 1)}});
  EXPECT_EQ(b.bind("w", {2}, ""), b.bind("w", {2}, ""));
}

TEST(Binder, TiedHeadThatIsAbsentIsTheEmbedding) {
  WeightBinder b = binder({{"model.embed.weight", ramp({4, 2}, 1)}});
  b.tie("lm_head.weight", "model.embed.weight");
  const Lazy head = b.bind("lm_head.weight", {4, 2}, "");
  EXPECT_EQ(head, b.bind("model.embed.weight", {4, 2}, ""));
  EXPECT_FALSE(b.has("lm_head.weight"));
  EXPECT_EQ(problems(b), "");
}

TEST(Binder, TiedHeadWithEqualValuesIsStoredOnce) {
  WeightBinder b =
      binder({{"model.embed.weight", ramp({4, 2}, 1)}, {"lm_head.weight", ramp({4, 2}, 1)}});
  b.tie("lm_head.weight", "model.embed.weight");
  const Lazy embed = b.bind("model.embed.weight", {4, 2}, "");
  EXPECT_EQ(b.bind("lm_head.weight", {4, 2}, ""), embed);
  EXPECT_EQ(problems(b), "");
}

TEST(Binder, TiedHeadWithOtherValuesStaysApartAndSaysSo) {
  WeightBinder b =
      binder({{"model.embed.weight", ramp({4, 2}, 1)}, {"lm_head.weight", ramp({4, 2}, 9)}});
  b.tie("lm_head.weight", "model.embed.weight");
  testing::internal::CaptureStderr();
  const Lazy head = b.bind("lm_head.weight", {4, 2}, "");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("lm_head.weight"), std::string::npos) << said;
  EXPECT_NE(said.find("different values"), std::string::npos) << said;
  EXPECT_EQ(first(head), 9);
  EXPECT_EQ(first(b.bind("model.embed.weight", {4, 2}, "")), 1);
  EXPECT_EQ(problems(b), "");
}

TEST(Binder, UntiedWeightsAreNeverShared) {
  WeightBinder b =
      binder({{"model.embed.weight", ramp({4, 2}, 1)}, {"lm_head.weight", ramp({4, 2}, 1)}});
  EXPECT_NE(b.bind("model.embed.weight", {4, 2}, ""), b.bind("lm_head.weight", {4, 2}, ""));
}

TEST(Binder, TiesAreSymmetricWhenOnlyTheHeadIsStored) {
  for (const bool head_first : {false, true}) {
    WeightBinder b = binder({{"lm_head.weight", ramp({4, 2}, 3)}});
    b.tie("lm_head.weight", "model.embed.weight");
    Lazy head, embed;
    if (head_first) head = b.bind("lm_head.weight", {4, 2}, "");
    embed = b.bind("model.embed.weight", {4, 2}, "");
    if (!head_first) head = b.bind("lm_head.weight", {4, 2}, "");
    EXPECT_EQ(head, embed);
    EXPECT_EQ(first(head), 3);
    EXPECT_EQ(problems(b), "");
  }
}

TEST(Binder, BothTiedNamesMissingIsReportedOnce) {
  WeightBinder b = binder({});
  b.tie("lm_head.weight", "model.embed.weight");
  b.bind("model.embed.weight", {4, 2}, "");
  b.bind("lm_head.weight", {4, 2}, "");
  EXPECT_NE(problems(b).find("1 missing"), std::string::npos) << problems(b);
}

TEST(Binder, ReportsAllProblemsTogether) {
  WeightBinder b = binder({{"model.norm.weigth", ramp({3}, 0)},
                           {"model.a.weight", ramp({3}, 0)},
                           {"model.q.weight", Tensor(DType::kI32, {2})},
                           {"model.a.extra", ramp({1}, 0)}});
  const Lazy missing = b.bind("model.norm.weight", {3}, "hidden_size=3");
  b.bind("model.a.weight", {4}, "hidden_size=4");
  b.bind("model.q.weight", {2}, "");
  EXPECT_EQ(missing->shape(), Shape{3});
  EXPECT_THROW(materialize(*missing), Error);
  const std::string text = problems(b);
  for (const char* part :
       {"1 missing",
        "model.norm.weight [3] (hidden_size=3; the nearest stored name is model.norm.weigth)",
        "2 of another type or shape",
        "model.a.weight is f32 [3], need floating point [4] (hidden_size=4)",
        "model.q.weight is i32 [2]", "2 that the model has no place for", "model.a.extra"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Binder, ListsTenNamesAndTheCount) {
  Tensors tensors;
  for (int i = 10; i < 35; ++i) tensors["model.l." + std::to_string(i)] = ramp({1}, 0);
  WeightBinder b = binder(tensors);
  b.bind("model.l.10", {1}, "");
  const std::string text = problems(b);
  EXPECT_NE(text.find("24 that the model has no place for"), std::string::npos) << text;
  EXPECT_NE(text.find("model.l.20 and 14 more"), std::string::npos) << text;
}

TEST(Binder, SurplusWithoutThePrefixCountsAsTheBaseModel) {
  WeightBinder b = binder({{"layers.0.w", ramp({1}, 0)}, {"layers.1.w", ramp({1}, 0)}});
  b.bind("model.layers.0.w", {1}, "");
  EXPECT_NE(problems(b).find("layers.1.w"), std::string::npos);
}

TEST(Binder, OneWeightUnderTwoSpellingsIsRefused) {
  WeightBinder b = binder({{"model.norm.weight", ramp({1}, 0)}, {"norm.weight", ramp({1}, 1)}});
  b.bind("model.norm.weight", {1}, "");
  EXPECT_NE(problems(b).find("no place for: norm.weight"), std::string::npos);
}

TEST(Binder, AnotherTasksHeadIsOnlyNamed) {
  const Tensors tensors{
      {"bert.e.w", ramp({1}, 0)}, {"cls.a", ramp({1}, 0)}, {"cls.b", ramp({1}, 0)}};
  WeightBinder task = binder(tensors, "bert");
  task.bind("bert.e.w", {1}, "");
  task.bind("cls.a", {1}, "");
  testing::internal::CaptureStderr();
  EXPECT_EQ(problems(task), "");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("cls.b"), std::string::npos);

  WeightBinder base = binder(tensors, "bert");  // a headless model says nothing by default
  base.bind("e.w", {1}, "");
  testing::internal::CaptureStderr();
  EXPECT_EQ(problems(base), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Binder, IgnorableNamesMayStay) {
  WeightBinder b = binder({{"model.w", ramp({1}, 0)},
                           {"model.layers.0.rotary_emb.inv_freq", ramp({1}, 0)},
                           {"rotary_emb.inv_freq", ramp({1}, 0)},
                           {"pooler.dense.weight", ramp({1}, 0)}},
                          "model", {"*.rotary_emb.inv_freq", "model.pooler.*"});
  b.bind("model.w", {1}, "");
  EXPECT_EQ(problems(b), "");
}

TEST(Binder, OptionalTensors) {
  WeightBinder b = binder({{"model.b", ramp({2}, 4)}});
  EXPECT_EQ(b.bind_optional("model.a", {2}, ""), nullptr);
  EXPECT_EQ(first(b.bind_optional("model.b", {2}, "")), 4);
  EXPECT_EQ(problems(b), "");
}

TEST(Binder, HostileNamesAreHarmless) {
  const std::string longest(300, 'n');
  Tensors tensors;
  for (const std::string& name : {std::string("a/b"), std::string("c:d"), std::string("../e"),
                                  longest, std::string("*"), std::string("中文.é")})
    tensors[name] = ramp({1}, 2);
  WeightBinder b = binder(tensors);
  for (const auto& [name, tensor] : tensors) EXPECT_EQ(first(b.bind(name, {1}, "")), 2);
  EXPECT_EQ(problems(b), "");
}

}  // namespace
}  // namespace slipway
