// The spellings of rotary settings: equal ones read equal, conflicts and unknown kinds are errors.
#include <gtest/gtest.h>

#include "base/test_expect.h"
#include "checkpoint/config.h"

namespace slipway {
namespace {

Config config(const std::string& rope) {
  return Config::from_json(
      parse_json(R"({"max_position_embeddings": 64)" + (rope.empty() ? "" : ", " + rope) + "}",
                 "c"),
      "config.json");
}

RopeParameters read(const std::string& rope, std::string_view layer = "",
                    std::optional<double> theta = std::nullopt) {
  return config(rope).rope(layer, theta);
}

std::string error(ErrorKind kind, const std::string& rope, std::string_view layer = "") {
  try {
    read(rope, layer);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
  return "no error";
}

TEST(ConfigRope, EquivalentSpellingsReadEqual) {
  const RopeParameters plain = read(R"("rope_theta": 5e5)");
  EXPECT_EQ(plain.rope_theta, 5e5);
  EXPECT_EQ(plain.rope_type, "default");
  for (
      const char* same :
      {R"("rope_theta": 500000, "rope_scaling": null)",
       R"("rope_theta": 500000, "rope_scaling": {"type": "default"})",
       R"("rope_theta": 500000, "rope_scaling": {"type": "mrope", "mrope_section": [2, 1, 1]})",
       R"("rope_theta": 500000, "rope_scaling": {"type": "mrope", "rope_type": "default"})",
       R"("rope_parameters": {"rope_type": "default", "rope_theta": 500000.0})",
       R"("rope_parameters": {"rope_theta": 500000.0})",
       R"("rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 500000}})",
       R"("rope_parameters": {"full_attention": {"rope_theta": 500000}, "sliding_attention": null})",
       R"("rope_theta": 500000, "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0})"})
    EXPECT_EQ(read(same), plain) << same;
}

TEST(ConfigRope, EquivalentScalingsReadEqual) {
  const RopeParameters linear =
      read(R"("rope_theta": 1e4, "rope_scaling": {"type": "linear", "factor": 2.0})");
  EXPECT_EQ(linear.rope_type, "linear");
  EXPECT_EQ(linear.factor, 2.0);
  for (
      const char* same :
      {R"("rope_theta": 1e4, "rope_scaling": {"rope_type": "linear", "factor": 2})",
       R"("rope_scaling": {"rope_type": "linear", "type": "linear", "factor": 2, "rope_theta": 1e4})",
       R"("rope_parameters": {"rope_type": "linear", "factor": 2, "rope_theta": 1e4})",
       R"("rope_theta": 1e4, "rope_scaling": {"type": "linear", "factor": 2.0},
           "rope_parameters": {"rope_type": "linear", "factor": 2, "rope_theta": 1e4})",
       R"("rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 2, "rope_theta": 1e4},
           "sliding_attention": {"rope_theta": 1e4, "factor": 2.0, "rope_type": "linear"}})"})
    EXPECT_EQ(read(same), linear) << same;
}

TEST(ConfigRope, ConflictsNameBothKeys) {
  EXPECT_TRUE(
      contains(error(kInvalid, R"("rope_theta": 1e4, "rope_parameters": {"rope_theta": 1e6})"),
               "rope_parameters.rope_theta is the number 1000000.0 but rope_theta is the "
               "number 10000.0"));
  EXPECT_TRUE(
      contains(error(kInvalid, R"("rope_parameters": {"rope_type": "default", "rope_theta": 1e4},
                     "rope_scaling": {"type": "linear", "factor": 2})"),
               "rope_parameters.rope_type is the text \"default\" but rope_scaling.type is "
               "the text \"linear\""));
  EXPECT_TRUE(contains(error(kInvalid, R"("rope_theta": 1e4, "rope_scaling": {"type": "linear",
                     "rope_type": "dynamic", "factor": 2})"),
                       "rope_scaling.rope_type"));
  EXPECT_TRUE(contains(error(kInvalid, R"("rope_theta": 1e4, "partial_rotary_factor": 0.5,
                     "rope_parameters": {"partial_rotary_factor": 0.25})"),
                       "partial_rotary_factor"));
}

TEST(ConfigRope, LayerTypesOfTheirOwn) {
  const std::string both = R"("rope_theta": 1e6, "rope_parameters": {
      "full_attention": {"rope_type": "linear", "factor": 8, "rope_theta": 1e6},
      "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}})";
  EXPECT_EQ(read(both, "full_attention").factor, 8);
  EXPECT_EQ(read(both, "sliding_attention").rope_theta, 1e4);
  EXPECT_TRUE(
      contains(error(kInvalid, both), "\"full_attention\" and \"sliding_attention\" differ"));
  EXPECT_TRUE(contains(error(kInvalid, both, "chunked_attention"),
                       "no settings for layer type \"chunked_attention\"; it has full_attention, "
                       "sliding_attention"));
  // One set is enough where all layers are of one type.
  EXPECT_EQ(
      read(both + R"(, "num_hidden_layers": 1, "layer_types": ["sliding_attention"])").rope_theta,
      1e4);
  // Flat settings hold for every layer type; a value beside the layer types fills what they leave
  // open.
  EXPECT_EQ(read(R"("rope_theta": 7.0)", "full_attention").rope_theta, 7.0);
  EXPECT_EQ(
      read(R"("rope_theta": 7.0, "rope_parameters": {"full_attention": {"rope_type": "default"}})",
           "full_attention")
          .rope_theta,
      7.0);
  EXPECT_TRUE(contains(
      error(kInvalid, R"("rope_parameters": {"full_attention": {"rope_theta": 1}, "factor": 2})"),
      "rope_parameters.factor: got the number 2, need an object"));
}

TEST(ConfigRope, TooManyLayerTypes) {
  std::string entries;
  for (int i = 0; i < 65; ++i)
    entries += (i ? ", \"" : "\"") + std::to_string(i) + R"(": {"rope_theta": 1})";
  EXPECT_TRUE(contains(error(kInvalid, "\"rope_parameters\": {" + entries + "}"),
                       "at most 64 layer types"));
}

TEST(ConfigRope, ALayerTypeWithoutAName) {
  for (const char* entries : {R"("": {"rope_theta": 1})", R"("a": {"rope_theta": 1}, "": {})"})
    EXPECT_TRUE(contains(error(kInvalid, R"("rope_parameters": {)" + std::string(entries) + "}"),
                         "rope_parameters: got the empty name"));
}

TEST(ConfigRope, NoSilentBase) {
  EXPECT_TRUE(
      contains(error(kInvalid, ""), "rope_parameters.rope_theta and rope_theta are both absent"));
  EXPECT_TRUE(
      contains(error(kInvalid, R"("rope_theta": null, "rope_parameters": null)"), "absent"));
  EXPECT_EQ(read("", "", 1e4).rope_theta, 1e4);
  EXPECT_EQ(read(R"("rope_theta": 3)", "", 1e4).rope_theta, 3);
}

TEST(ConfigRope, UnknownKinds) {
  EXPECT_EQ(
      error(kUnsupported, R"("rope_theta": 1e4, "rope_scaling": {"type": "spiral"})"),
      "[config.json] rope_scaling.type: got the unknown rope type \"spiral\", need one of default, "
      "linear, dynamic, yarn, llama3, longrope");
  EXPECT_TRUE(
      contains(error(kInvalid, R"("rope_theta": 1e4, "rope_scaling": {"type": 3})"), "a text"));
  EXPECT_TRUE(contains(error(kInvalid, R"("rope_theta": 1e4, "rope_scaling": {"factor": 2.0})"),
                       "rope_scaling.rope_type: absent"));
  EXPECT_TRUE(
      contains(error(kInvalid, R"("rope_theta": 1e4, "rope_scaling": "linear")"), "an object"));
}

TEST(ConfigRope, MissingAndImpossibleFields) {
  const std::string theta = R"("rope_theta": 1e4, "rope_scaling": )";
  EXPECT_TRUE(contains(error(kInvalid, theta + R"({"type": "linear"})"),
                       "rope_scaling.factor: absent, need a number"));
  EXPECT_TRUE(contains(error(kInvalid, theta + R"({"type": "dynamic", "factor": 0})"), "above 0"));
  EXPECT_TRUE(
      contains(error(kInvalid, theta + R"({"type": "linear", "factor": "2"})"), "a number"));
  EXPECT_TRUE(contains(
      error(kInvalid, theta + R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 1})"),
      "high_freq_factor: absent"));
  EXPECT_TRUE(
      contains(error(kInvalid, theta + R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 4,
                     "high_freq_factor": 4})"),
               "more than low_freq_factor = 4"));
  EXPECT_TRUE(contains(error(kInvalid, theta + R"({"rope_type": "longrope", "short_factor": [1]})"),
                       "long_factor: absent"));
  EXPECT_TRUE(contains(
      error(kInvalid,
            theta + R"({"rope_type": "longrope", "short_factor": [1], "long_factor": [-1]})"),
      "above 0"));
  EXPECT_TRUE(contains(
      error(kInvalid,
            theta + R"({"rope_type": "longrope", "short_factor": [], "long_factor": [1]})"),
      "a list of 0"));
  EXPECT_TRUE(contains(error(kInvalid, R"("rope_theta": 0)"), "above 0"));
  EXPECT_TRUE(contains(error(kInvalid, R"("rope_theta": true)"), "need a number"));
  EXPECT_TRUE(
      contains(error(kInvalid, R"("rope_theta": 1, "rope_scaling": {"type": "yarn", "factor": 2})"),
               "above 1"));
  EXPECT_TRUE(
      contains(error(kInvalid, R"("rope_theta": 1e4, "partial_rotary_factor": 1.5)"), "0 to 1"));
}

TEST(ConfigRope, YarnFields) {
  const RopeParameters p = read(R"("rope_theta": 1e4, "rope_scaling": {"type": "yarn", "factor": 4,
      "original_max_position_embeddings": 32, "mscale": 0.7, "mscale_all_dim": 0, "beta_fast": 16,
      "beta_slow": 0, "truncate": false, "attention_factor": null})");
  EXPECT_EQ(p.original_max_position_embeddings, 32);
  EXPECT_EQ(p.factor, 4);
  EXPECT_EQ(p.mscale, 0.7);
  EXPECT_FALSE(p.mscale_all_dim.has_value());
  EXPECT_EQ(p.beta_fast, 16);
  EXPECT_EQ(p.beta_slow, 1);
  EXPECT_FALSE(p.truncate);
  EXPECT_FALSE(p.attention_factor.has_value());
  // The original length is the model's where no spelling states it; the factor follows from both.
  EXPECT_EQ(read(R"("rope_theta": 1e4, "rope_scaling": {"type": "yarn", "factor": 4})")
                .original_max_position_embeddings,
            64);
  EXPECT_EQ(read(R"("rope_theta": 1e4, "rope_scaling": {"type": "yarn",
                 "original_max_position_embeddings": 16})")
                .factor,
            4);
}

TEST(ConfigRope, LongRopeOldNamesAndTopLevelLength) {
  const std::string lists = R"("short_factor": [1, 1.5], "long_factor": [2, 3])";
  const RopeParameters p = read(R"("rope_theta": 1e4, "original_max_position_embeddings": 16,
      "rope_scaling": {"type": "su", )" +
                                lists + "}");
  EXPECT_EQ(p.rope_type, "longrope");
  EXPECT_EQ(p.original_max_position_embeddings, 16);
  EXPECT_EQ(p.factor, 4);
  EXPECT_EQ(p.long_factor, (std::vector<double>{2, 3}));
  EXPECT_EQ(read(R"("rope_theta": 1e4, "original_max_position_embeddings": 16,
      "rope_scaling": {"type": "yarn", )" +
                 lists + "}"),
            p);
  EXPECT_EQ(read(R"("rope_parameters": {"rope_theta": 1e4, "rope_type": "longrope",
      "original_max_position_embeddings": 16, )" +
                 lists + "}"),
            p);
  EXPECT_TRUE(contains(error(kInvalid, R"("rope_theta": 1e4, "original_max_position_embeddings": 16,
      "rope_scaling": {"type": "su", "original_max_position_embeddings": 8, )" +
                                           lists + "}"),
                       "original_max_position_embeddings"));
}

}  // namespace
}  // namespace slipway
