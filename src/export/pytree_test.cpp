// Tree specs: the reference's texts built, read and named; hostile texts refused.
#include "base/pytree.h"

#include <gtest/gtest.h>

#include "base/test_expect.h"
#include "export/manifest.h"

namespace slipway {
namespace {

using Names = std::vector<std::string>;

Manifest golden(const std::string& name) {
  const std::string path = SLIPWAY_SOURCE_DIR "/tests/golden/export_json/" + name + ".json";
  return parse_manifest(python_json(parse_json_file(path)), path);
}

TreeSpec parse(const std::string& text) { return parse_tree_spec(text, "out_spec"); }

const Names kCache = {"past_key_values.layers.0.keys", "past_key_values.layers.0.values",
                      "past_key_values.layers.1.keys", "past_key_values.layers.1.values"};

TEST(PyTree, BuildsTheReferencesTextForACallWithACache) {
  const ExportMetadata decode = golden("llama-causal-lm-gen").components[1].metadata;
  const TreeSpec cache = TreeSpec::dynamic_cache(2, DType::kF32);
  EXPECT_EQ(dump_tree_spec(TreeSpec::keyword_call({{"input_ids", {}},
                                                   {"attention_mask", {}},
                                                   {"position_ids", {}},
                                                   {"past_key_values", cache}})),
            decode.in_spec);
  EXPECT_EQ(
      dump_tree_spec(TreeSpec::model_output("transformers.modeling_outputs.CausalLMOutputWithPast",
                                            {{"logits", {}}, {"past_key_values", cache}})),
      decode.out_spec);
}

TEST(PyTree, BuildsTheReferencesTextForAnEmptyCache) {
  EXPECT_EQ(dump_tree_spec(
                TreeSpec::keyword_call({{"input_ids", {}},
                                        {"attention_mask", {}},
                                        {"position_ids", {}},
                                        {"past_key_values", TreeSpec::empty_dynamic_cache(2)}})),
            golden("llama-causal-lm-gen").components[0].metadata.in_spec);
}

TEST(PyTree, BuildsTheReferencesTextForAStaticCache) {
  const StaticCacheShape shape{.layers = 2, .batch = 2, .heads = 2, .slots = 32, .head_dim = 8};
  const Manifest manifest = golden("llama-causal-lm-static");
  const auto call = [](TreeSpec cache) {
    return dump_tree_spec(TreeSpec::keyword_call({{"input_ids", {}},
                                                  {"attention_mask", {}},
                                                  {"position_ids", {}},
                                                  {"past_key_values", std::move(cache)}}));
  };
  EXPECT_EQ(call(TreeSpec::empty_static_cache(shape)), manifest.components[0].metadata.in_spec);
  EXPECT_EQ(call(TreeSpec::static_cache(shape, DType::kF32)),
            manifest.components[1].metadata.in_spec);
}

TEST(PyTree, ReadsBackWhatItWrites) {
  for (const char* name : {"llama-causal-lm", "llama-causal-lm-gen", "llama-causal-lm-static",
                           "qwen3-causal-lm-static", "bert-base"})
    for (const ManifestComponent& c : golden(name).components)
      for (const auto& text : {c.metadata.in_spec, c.metadata.out_spec})
        EXPECT_EQ(dump_tree_spec(parse(*text)), *text) << name;
  const TreeSpec odd = TreeSpec::dict({{"é\"", TreeSpec::list({{}, TreeSpec::tuple({})})}});
  EXPECT_EQ(parse(dump_tree_spec(odd)), odd);
}

TEST(PyTree, NamesLeaves) {
  const ExportMetadata decode = golden("llama-causal-lm-gen").components[1].metadata;
  Names in = {"input_ids", "attention_mask", "position_ids"}, out = {"logits"};
  in.insert(in.end(), kCache.begin(), kCache.end());
  out.insert(out.end(), kCache.begin(), kCache.end());
  EXPECT_EQ(input_leaf_names(parse(*decode.in_spec), "in_spec"), in);
  EXPECT_EQ(leaf_names(parse(*decode.out_spec), "out_spec"), out);
  EXPECT_EQ(leaf_names(TreeSpec::leaf(), "s"), Names{"output"});
  EXPECT_EQ(leaf_names(TreeSpec::dict({{"a", TreeSpec::list({{}, {}})}, {"b", {}}}), "s"),
            (Names{"a.0", "a.1", "b"}));
  EXPECT_EQ(input_leaf_names(TreeSpec::keyword_call(
                                 {{"past_key_values", TreeSpec::dynamic_cache(2, DType::kF16)}}),
                             "s"),
            kCache);
}

/// A cache of two leaves with the given context.
std::string cache(const std::string& context) {
  const std::string leaf = R"({"type": null, "context": null, "children_spec": []})";
  return R"([1, {"type": "m:Cache", "context": )" + python_json(Json(context)) +
         R"(, "children_spec": [)" + leaf + ", " + leaf + "]}]";
}

TEST(PyTree, NamesNestedCaches) {
  EXPECT_EQ(leaf_names(parse(cache(R"({"_t": "obj", "p": "m:Cache", "s": {
              "cross": {"_t": "obj", "p": "m:C", "s": {"layers": [{"keys": {"_t": "tensor", "i": 1}}]}},
              "by_layer": {"_t": "items", "v": [[0, {"_t": "tensor", "i": 0}]]}}})")),
                       "s"),
            (Names{"by_layer.0", "cross.layers.0.keys"}));
}

TEST(PyTree, RefusesContextsThatDoNotFit) {
  const auto names_error = [](const std::string& text) {
    return error_of(kInvalid, [&] { leaf_names(parse(text), "out_spec"); });
  };
  EXPECT_TRUE(contains(names_error(cache(R"({"_t": "obj", "s": {"a": {"_t": "tensor", "i": 2}}})")),
                       "\"a\" refers to a leaf that does not exist, there are 2"));
  EXPECT_TRUE(
      contains(names_error(cache(R"({"_t": "obj", "s": {"a": {"_t": "tensor", "i": -1}}})")),
               "does not exist"));
  EXPECT_TRUE(contains(names_error(cache(R"({"_t": "obj", "s": {"a": {"_t": "tensor", "i": 0}}})")),
                       "a leaf that its context does not place"));
  EXPECT_TRUE(contains(names_error(cache(R"({"_t": "obj", "s": {"a": {"_t": "tensor", "i": 0},
                                           "b": {"_t": "tensor", "i": 0}}})")),
                       "are the same leaf"));
  EXPECT_TRUE(contains(names_error(cache(R"({"_t": "obj"})")), "lacks its part \"s\""));
  EXPECT_TRUE(contains(names_error(cache(R"(["a"])")), "1 keys for 2 children"));
  EXPECT_TRUE(
      contains(names_error(cache("[\"a\", \"" + std::string(600, 'b') + "\"]")), "600 bytes"));
  EXPECT_TRUE(contains(error_of(kUnsupported, [] { leaf_names(parse(cache("3")), "s"); }),
                       "class \"m:Cache\" are not known"));
  EXPECT_TRUE(contains(
      error_of(
          kUnsupported,
          [] {
            input_leaf_names(TreeSpec::tuple({TreeSpec::tuple({{}}), TreeSpec::dict({})}), "s");
          }),
      "positional arguments"));
}

TEST(PyTree, RefusesTextsThatAreNoSpecs) {
  const auto parse_error = [](const std::string& text) {
    return error_of(kInvalid, [&] { parse(text); });
  };
  EXPECT_TRUE(contains(parse_error("{}"), "a list of a protocol and a tree"));
  EXPECT_TRUE(contains(parse_error("[1, 2]"), "got the number 2, need an object"));
  EXPECT_TRUE(contains(parse_error("[1, {}]"), "a field type"));
  EXPECT_TRUE(
      contains(parse_error(R"([1, {"type": null, "context": "x", "children_spec": []}])"), "leaf"));
  EXPECT_TRUE(contains(parse_error(R"([1, {"type": "a", "context": "{", "children_spec": []}])"),
                       "not valid JSON"));
  EXPECT_TRUE(
      contains(parse_error(R"([1, {"type": "", "context": "1", "children_spec": []}])"), "class"));
  EXPECT_TRUE(contains(error_of(kUnsupported, [] { parse("[2, {}]"); }), "protocol 2"));
  std::string deep = R"({"type": null, "context": null, "children_spec": []})";
  for (int i = 0; i < 200; ++i)
    deep = R"({"type": "builtins.tuple", "context": "null", "children_spec": [)" + deep + "]}";
  EXPECT_TRUE(contains(parse_error("[1, " + deep + "]"), "levels of nesting"));
}

}  // namespace
}  // namespace slipway
