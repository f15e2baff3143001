// PC-04 and the names of PC-50: prefixes, older spellings, and names that nobody expects.
#include "case_util.h"

namespace slipway::cases {
namespace {

Draft with_prefix(Draft draft, const std::string& prefix, const std::string& except) {
  std::map<std::string, Tensor> renamed;
  for (const auto& [name, tensor] : draft.tensors)
    renamed[!except.empty() && name.starts_with(except) ? name : prefix + name] = tensor;
  draft.tensors = renamed;
  return draft;
}

Draft without_prefix(Draft draft, const std::string& prefix) {
  std::map<std::string, Tensor> renamed;
  for (const auto& [name, tensor] : draft.tensors)
    renamed[name.starts_with(prefix) ? name.substr(prefix.size()) : name] = tensor;
  draft.tensors = renamed;
  return draft;
}

TEST(CaseNames, BasePrefixMakesNoDifference) {
  for (const char* name : {"llama-causal-lm", "qwen3-causal-lm"}) {
    const Draft full = Draft::golden(name);
    const Draft bare = without_prefix(full, "model.");
    ASSERT_EQ(bare.tensors.count("embed_tokens.weight"), 1u);
    EXPECT_TRUE(bytes_of(full) == bytes_of(bare)) << name;
    EXPECT_TRUE(bytes_of(full, "feature-extraction") == bytes_of(bare, "feature-extraction"))
        << name;
  }
  const Draft full = Draft::golden("bert-sequence-classification");
  const Draft bare = without_prefix(full, "bert.");
  ASSERT_EQ(bare.tensors.count("pooler.dense.weight"), 1u);
  EXPECT_TRUE(bytes_of(full) == bytes_of(bare));
  const Draft base = Draft::golden("bert-base");
  EXPECT_TRUE(bytes_of(base) == bytes_of(with_prefix(base, "bert.", "")));
}

TEST(CaseNames, OlderNormSpellingsMakeNoDifference) {
  const Draft now = Draft::golden("bert-base");
  Draft older = now;
  older.tensors.clear();
  for (const auto& [stored, tensor] : now.tensors) {
    std::string name = stored;
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"Norm.weight", "Norm.gamma"},
                                   {"Norm.bias", "Norm.beta"}})
      if (name.ends_with(from)) name = name.substr(0, name.size() - from.size()) + to;
    older.tensors[name] = tensor;
  }
  ASSERT_EQ(older.tensors.count("embeddings.LayerNorm.gamma"), 1u);
  EXPECT_TRUE(bytes_of(now) == bytes_of(older));
}

TEST(CaseNames, WhatMapsToNothingIsListed) {
  Draft draft = Draft::golden("llama-causal-lm");
  draft.tensors["model.layers.1.mlp.extra_proj.weight"] = random_tensor({4, 4}, 1);
  EXPECT_TRUE(contains(refused(draft, 3), "model.layers.1.mlp.extra_proj.weight"));
}

TEST(CaseNames, WhatIsMissingIsListedWithTheNearestName) {
  Draft draft = Draft::golden("llama-causal-lm");
  draft.tensors["model.layers.1.mlp.upp_proj.weight"] =
      draft.tensors.at("model.layers.1.mlp.up_proj.weight");
  draft.tensors.erase("model.layers.1.mlp.up_proj.weight");
  const std::string message = refused(draft, 3);
  EXPECT_TRUE(contains(message, "model.layers.1.mlp.up_proj.weight [64, 32]"));
  EXPECT_TRUE(contains(message, "nearest stored name is model.layers.1.mlp.upp_proj.weight"));
}

TEST(CaseNames, HostileNamesNeverBecomeFiles) {
  const TestFolder t;
  Draft draft = Draft::golden("bert-base");
  for (const std::string& name :
       {std::string("head/one"), std::string("../../outside"), std::string("/absolute"),
        std::string("c:\\drive"), std::string("two..dots"), std::string(300, 'n'),
        std::string("line\nbreak \x1b[31m"), std::string("..")})
    draft.tensors[name] = random_tensor({2}, 1);
  draft.save(t / "in/checkpoint");
  const ToolResult result =
      run_tool({"export", (t / "in/checkpoint").string(), (t / "deep/er/out").string()});
  EXPECT_EQ(result.code, 0) << result.err;
  std::vector<std::string> names;
  for (const auto& [name, contents] : files_of(t.path())) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "deep/er/out/config.json", "deep/er/out/export.json",
                       "deep/er/out/model.onnx", "deep/er/out/model.onnx.data",
                       "in/checkpoint/config.json", "in/checkpoint/model.safetensors"}));
  EXPECT_TRUE(bytes_of(t / "deep/er/out") == bytes_of(Draft::golden("bert-base")));
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos) << "a name steers the terminal";
}

TEST(CaseNames, AHostileNameInsideTheModelIsAnError) {
  Draft draft = Draft::golden("bert-base");
  draft.tensors["encoder.layer.0/../../x"] = random_tensor({2}, 1);
  EXPECT_TRUE(contains(refused(draft, 3), "encoder.layer.0/../../x"));
}

}  // namespace
}  // namespace slipway::cases
