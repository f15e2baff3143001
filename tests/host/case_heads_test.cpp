// PC-10: head sizes and key-value heads that are stated, null, absent or elsewhere.
#include "case_util.h"

namespace slipway::cases {
namespace {

std::vector<std::string> cache_dims(const Draft& draft) {
  const TestFolder t;
  const ExportedModel exported = export_checkpoint(draft.save(t / "in"));
  const auto keys = dims_of(exported, "past_key_values.layers.1.keys");
  EXPECT_EQ(keys, dims_of(exported, "past_key_values.layers.1.values"));
  const auto out = by_name(exported({{"input_ids", token_ids(2, 3)}}));
  const Tensor& cache = out.at("past_key_values.layers.1.keys");
  EXPECT_EQ(std::to_string(cache.dim(1)), keys[1]);
  EXPECT_EQ(std::to_string(cache.dim(3)), keys[3]);
  return keys;
}

std::vector<std::string> dims(const std::string& heads, const std::string& size) {
  return {"batch_size", heads, "past_sequence_length", size};
}

/// Projections of new random numbers for these heads.
Draft resized(Draft draft, int64_t heads, int64_t kv_heads, int64_t head_dim) {
  for (auto& [name, tensor] : draft.tensors) {
    if (name.ends_with("q_proj.weight")) tensor = random_tensor({heads * head_dim, 32}, 1);
    if (name.ends_with("k_proj.weight")) tensor = random_tensor({kv_heads * head_dim, 32}, 2);
    if (name.ends_with("v_proj.weight")) tensor = random_tensor({kv_heads * head_dim, 32}, 3);
    if (name.ends_with("o_proj.weight")) tensor = random_tensor({32, heads * head_dim}, 4);
    if (name.ends_with("_norm.weight") && name.find("self_attn") != std::string::npos)
      tensor = random_tensor({head_dim}, 5);
  }
  return draft;
}

TEST(CaseHeads, AStatedSizeCounts) {
  const Draft qwen3 = Draft::golden("qwen3-causal-lm");
  ASSERT_EQ(qwen3.config["head_dim"], 16);  // 32 / 4 is 8
  EXPECT_EQ(cache_dims(qwen3), dims("2", "16"));
}

TEST(CaseHeads, NullAndAbsentAreDerived) {
  Draft draft = resized(Draft::golden("qwen3-causal-lm"), 4, 2, 8);
  draft.config["head_dim"] = nullptr;
  EXPECT_EQ(cache_dims(draft), dims("2", "8"));
  const GraphBytes null = bytes_of(draft);
  draft.config.erase("head_dim");
  EXPECT_TRUE(bytes_of(draft) == null);
  draft.config["head_dim"] = 8;
  EXPECT_TRUE(bytes_of(draft) == null);
}

TEST(CaseHeads, AbsentKeyValueHeadsEqualHeads) {
  Draft draft = resized(Draft::golden("llama-causal-lm"), 4, 4, 8);
  draft.config.erase("num_key_value_heads");
  EXPECT_EQ(cache_dims(draft), dims("4", "8"));
  const GraphBytes absent = bytes_of(draft);
  draft.config["num_key_value_heads"] = nullptr;
  EXPECT_TRUE(bytes_of(draft) == absent);
  draft.config["num_key_value_heads"] = 4;
  EXPECT_TRUE(bytes_of(draft) == absent);
}

TEST(CaseHeads, OneKeyValueHead) {
  Draft draft = resized(Draft::golden("llama-causal-lm"), 4, 1, 8);
  draft.config["num_key_value_heads"] = 1;
  EXPECT_EQ(cache_dims(draft), dims("1", "8"));
}

TEST(CaseHeads, ASizeInTextConfigCounts) {
  Draft draft = Draft::golden("qwen3-causal-lm");
  draft.config.erase("head_dim");
  draft.config["text_config"] = {{"head_dim", 16}};
  EXPECT_EQ(cache_dims(draft), dims("2", "16"));
  draft.config["head_dim"] = 8;
  const std::string message = refused(draft, 3);
  EXPECT_TRUE(contains(message, "head_dim is the number 8"));
  EXPECT_TRUE(contains(message, "text_config.head_dim is the number 16"));
}

TEST(CaseHeads, ShapesAreCheckedAgainstTheConfig) {
  Draft derived = Draft::golden("qwen3-causal-lm");
  derived.config["head_dim"] = nullptr;  // 8, but the tensors are of 16
  const std::string message = refused(derived, 3);
  EXPECT_TRUE(contains(message, "model.layers.0.self_attn.q_proj.weight is f32 [64, 32]"));
  EXPECT_TRUE(contains(message, "[32, 32] (num_attention_heads * head_dim)"));

  Draft absent = Draft::golden("llama-causal-lm");
  absent.config.erase("num_key_value_heads");  // 4, but the tensors are of 2
  EXPECT_TRUE(contains(refused(absent, 3), "[32, 32] (num_key_value_heads * head_dim)"));
}

TEST(CaseHeads, NumbersThatDoNotDivideAreRefused) {
  Draft heads = Draft::golden("llama-causal-lm");
  heads.config["head_dim"] = nullptr;
  heads.config["num_attention_heads"] = 5;
  heads.config["num_key_value_heads"] = 5;
  EXPECT_TRUE(contains(refused(heads, 3), "hidden_size 32 is not a multiple"));
  Draft groups = Draft::golden("llama-causal-lm");
  groups.config["num_key_value_heads"] = 3;
  EXPECT_TRUE(contains(refused(groups, 3), "num_key_value_heads 3"));
}

}  // namespace
}  // namespace slipway::cases
