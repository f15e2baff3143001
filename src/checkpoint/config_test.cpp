// Config getters: types and ranges, absent and null, head sizes, layer types, quantization.
#include "checkpoint/config.h"

#include <gtest/gtest.h>

#include "base/test_expect.h"
#include "base/test_folder.h"

namespace slipway {
namespace {

Config config(const std::string& text) {
  return Config::from_json(parse_json(text, "config.json"), "config.json");
}

TEST(Config, ReadsPlainValues) {
  const Config c = config(R"({"model_type": "llama", "architectures": ["LlamaForCausalLM", "B"],
    "torch_dtype": "torch.bfloat16", "n": 7, "x": 1e-05, "whole": 3, "b": true, "gone": null})");
  EXPECT_EQ(c.model_type(), "llama");
  EXPECT_EQ(c.architecture(), "LlamaForCausalLM");
  EXPECT_EQ(c.dtype(), "bfloat16");
  EXPECT_EQ(c.get_int("n"), 7);
  EXPECT_EQ(c.get_double("x"), 1e-5);
  EXPECT_EQ(c.get_double("whole"), 3.0);
  EXPECT_TRUE(c.get_bool_or("b", false));
  EXPECT_FALSE(c.has("gone"));
  EXPECT_EQ(c.get_int_or("gone", 5), 5);
  EXPECT_EQ(c.get_string_or("gone", "y"), "y");
  EXPECT_FALSE(c.section("gone").has_value());
}

TEST(Config, AbsentMeansDefaults) {
  const Config c = config("{}");
  EXPECT_EQ(c.model_type(), "");
  EXPECT_EQ(c.architecture(), "");
  EXPECT_EQ(c.dtype(), "float32");
  EXPECT_EQ(c.quant_method(), "");
  EXPECT_EQ(Config().model_type(), "");
}

TEST(Config, WrongTypesNameFileKeyGotAndNeed) {
  const Config c = config(R"({"f": 2.0, "s": "2", "neg": -1, "big": 18446744073709551615, "b": 1,
    "huge": 1e300, "list": [1], "o": {}, "architectures": "X", "text_config": [1]})");
  EXPECT_EQ(error_of(kInvalid, [&] { c.get_int("f"); }),
            "[config.json] f: got the number 2.0, need an integer from 0 to 1099511627776");
  EXPECT_EQ(error_of(kInvalid, [&] { c.get_int("s", 1, 9); }),
            "[config.json] s: got the text \"2\", need an integer from 1 to 9");
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { c.get_int("neg"); }), "neg: got the number -1"));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { c.get_int("big"); }), "18446744073709551615"));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { c.get_int("huge"); }), "1e+300"));
  EXPECT_TRUE(
      contains(error_of(kInvalid, [&] { c.get_int("none"); }), "none: absent, need an integer"));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { c.get_double("s"); }), "need a number"));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { c.get_double("list"); }), "a list of 1"));
  EXPECT_TRUE(
      contains(error_of(kInvalid, [&] { c.get_bool_or("b", true); }), "need true or false"));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { c.get_string("f"); }), "need a text"));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { c.architecture(); }), "architectures"));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { c.section("f"); }), "need an object"));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { c.head_dim(); }), "text_config: got a list of 1"));
}

TEST(Config, DtypeMustBeKnownAndAgree) {
  EXPECT_EQ(config(R"({"dtype": "float16", "torch_dtype": "torch.float16"})").dtype(), "float16");
  EXPECT_TRUE(contains(
      error_of(kInvalid,
               [&] { config(R"({"dtype": "float16", "torch_dtype": "float32"})").dtype(); }),
      "remove one"));
  EXPECT_TRUE(
      contains(error_of(kInvalid, [&] { config(R"({"dtype": "float17"})").dtype(); }), "float17"));
}

TEST(Config, SectionsAreNamedInErrors) {
  const Config c = config(R"({"text_config": {"hidden_size": "x"}})");
  EXPECT_TRUE(
      contains(error_of(kInvalid, [&] { c.section("text_config")->get_int("hidden_size"); }),
               "[config.json: text_config] hidden_size"));
  EXPECT_EQ(c.text().source(), "config.json: text_config");
  EXPECT_EQ(config("{}").text().source(), "config.json");
}

TEST(Config, HeadDimStatedNullAbsentOrNested) {
  EXPECT_EQ(config(R"({"hidden_size": 64, "num_attention_heads": 4, "head_dim": 32})").head_dim(),
            32);
  EXPECT_EQ(config(R"({"hidden_size": 64, "num_attention_heads": 4, "head_dim": null})").head_dim(),
            16);
  EXPECT_EQ(config(R"({"hidden_size": 64, "num_attention_heads": 4})").head_dim(), 16);
  EXPECT_EQ(
      config(R"({"hidden_size": 64, "num_attention_heads": 4, "text_config": {"head_dim": 32}})")
          .head_dim(),
      32);
  EXPECT_TRUE(contains(
      error_of(kInvalid,
               [&] { config(R"({"head_dim": 16, "text_config": {"head_dim": 32}})").head_dim(); }),
      "head_dim is the number 16 but text_config.head_dim is the number 32"));
  EXPECT_TRUE(contains(
      error_of(kInvalid,
               [&] { config(R"({"hidden_size": 65, "num_attention_heads": 4})").head_dim(); }),
      "65 is not a multiple of num_attention_heads 4"));
  EXPECT_TRUE(contains(
      error_of(kInvalid,
               [&] { config(R"({"hidden_size": 64, "num_attention_heads": 0})").head_dim(); }),
      "num_attention_heads: got the number 0"));
}

TEST(Config, KeyValueHeads) {
  EXPECT_EQ(config(R"({"num_attention_heads": 4, "num_key_value_heads": 2})").num_key_value_heads(),
            2);
  EXPECT_EQ(
      config(R"({"num_attention_heads": 4, "num_key_value_heads": null})").num_key_value_heads(),
      4);
  EXPECT_EQ(config(R"({"num_attention_heads": 4})").num_key_value_heads(), 4);
  EXPECT_TRUE(contains(
      error_of(
          kInvalid,
          [&] {
            config(R"({"num_attention_heads": 4, "num_key_value_heads": 3})").num_key_value_heads();
          }),
      "4 is not a multiple of num_key_value_heads 3"));
}

TEST(Config, LayerTypes) {
  EXPECT_EQ(config(R"({"num_hidden_layers": 2, "layer_types": ["sliding_attention", "attention"]})")
                .layer_types({}),
            (std::vector<std::string>{"sliding_attention", "full_attention"}));
  EXPECT_EQ(config(R"({"layer_types": null})").layer_types({"full_attention"}),
            (std::vector<std::string>{"full_attention"}));
  EXPECT_TRUE(
      contains(error_of(kInvalid,
                        [&] {
                          config(R"({"num_hidden_layers": 3, "layer_types": ["full_attention"]})")
                              .layer_types({});
                        }),
               "1 entries, need num_hidden_layers = 3"));
  EXPECT_TRUE(contains(
      error_of(kUnsupported,
               [&] {
                 config(R"({"num_hidden_layers": 1, "layer_types": ["quantum"]})").layer_types({});
               }),
      "unknown kind \"quantum\", need one of full_attention, sliding_attention"));
  EXPECT_TRUE(contains(
      error_of(kInvalid,
               [&] { config(R"({"num_hidden_layers": 1, "layer_types": [1]})").layer_types({}); }),
      "a text"));
}

TEST(Config, QuantMethods) {
  EXPECT_EQ(
      config(R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})").quant_method(),
      "gptq");
  EXPECT_EQ(config(R"({"quantization_config": null})").quant_method(), "");
  EXPECT_EQ(config(R"({"quantization_config": {"load_in_4bit": true}})").quant_method(),
            "bitsandbytes");
  EXPECT_EQ(
      config(R"({"text_config": {"quantization_config": {"quant_method": "fp8"}}})").quant_method(),
      "fp8");
  EXPECT_EQ(config(R"({"compression_config": {"format": "dense"}})").quant_method(),
            "compressed-tensors");
  EXPECT_TRUE(contains(
      error_of(kInvalid, [&] { config(R"({"quantization_config": {"bits": 4}})").quant_method(); }),
      "[config.json: quantization_config] quant_method: absent"));
  EXPECT_TRUE(contains(
      error_of(kInvalid, [&] { config(R"({"quantization_config": "gptq"})").quant_method(); }),
      "quantization_config"));
  EXPECT_TRUE(contains(
      error_of(kInvalid,
               [&] { config(R"({"quantization_config": {"quant_method": ""}})").quant_method(); }),
      "\"\""));
}

TEST(Config, SaysWhereTheFileIsBroken) {
  const TestFolder folder;
  const auto read = [&](const std::string& text) {
    return Config::from_file(folder.write("config.json", text));
  };
  EXPECT_EQ(read("{\"model_type\": \"bert\"}").model_type(), "bert");
  const std::string cut = error_of(kInvalid, [&] { read("{\n  \"a\": 1,\n  \"b\" 2}"); });
  EXPECT_TRUE(contains(cut, (folder / "config.json").string()));
  EXPECT_TRUE(contains(cut, "line 3, column 7"));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { read(""); }), "line 1"));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { read("[1]"); }), "a list of 1"));
  EXPECT_TRUE(
      contains(error_of(kInvalid, [&] { Config::from_file(folder / "none.json"); }), "none.json"));
}

}  // namespace
}  // namespace slipway
