// A GGUF file as a checkpoint: names, row order, configuration, tokenizer.
#include "checkpoint/gguf_checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/test_folder.h"
#include "checkpoint/gguf_config.h"
#include "checkpoint/gguf_names.h"
#include "checkpoint/gguf_store.h"
#include "checkpoint/gguf_test_file.h"

namespace slipway {
namespace {

std::vector<float> values(const WeightStore& store, std::string_view name) {
  const Lazy lazy = store.find(name);
  if (lazy == nullptr) return {};
  const Tensor t = materialize(*lazy);
  return {t.values<float>().begin(), t.values<float>().end()};
}

std::string config_error(const GgufTestFile& f) {
  return error_of([&] { gguf_config(*f.parse()); });
}

TEST(GgufCheckpoint, OpensAFile) {
  const TestFolder folder;
  const auto path = folder.write("tiny.gguf", tiny_llama().bytes());
  const Checkpoint checkpoint = open_gguf_checkpoint(path);
  EXPECT_EQ(checkpoint.path, path);
  EXPECT_EQ(checkpoint.weights->description(), "tiny.gguf");
  EXPECT_EQ(checkpoint.config.model_type(), "llama");
  EXPECT_EQ(checkpoint.config.head_dim(), 2);
  std::vector<std::string> names;
  for (const CompanionFile& file : checkpoint.companions) names.push_back(file.name);
  EXPECT_EQ(names, (std::vector<std::string>{"generation_config.json", "special_tokens_map.json",
                                             "tokenizer.json", "tokenizer_config.json"}));
  EXPECT_EQ(checkpoint.weights->names().size(), 11u);
  EXPECT_EQ(values(*checkpoint.weights, "model.norm.weight"), (std::vector<float>{0, 1, 2, 3}));
}

TEST(GgufNames, MapsEveryName) {
  const auto llama = tiny_llama().parse();
  const GgufArchitecture& row = gguf_architecture(*llama);
  EXPECT_EQ(gguf_tensor_name(row, "token_embd.weight", 2), "model.embed_tokens.weight");
  EXPECT_EQ(gguf_tensor_name(row, "output.weight", 2), "lm_head.weight");
  EXPECT_EQ(gguf_tensor_name(row, "blk.1.attn_q.bias", 2), "model.layers.1.self_attn.q_proj.bias");
  EXPECT_EQ(gguf_tensor_name(row, "blk.1.ffn_down.weight", 2),
            "model.layers.1.mlp.down_proj.weight");
  for (const char* bad :
       {"blk.2.attn_q.weight", "blk.01.attn_q.weight", "blk.-1.attn_q.weight", "blk..attn_q.weight",
        "blk.0.attn_q", "blk.0.attn_q.scale", "other.weight", "blk.0.attn_q_norm.weight", "weight",
        "", "blk.1x.attn_q.weight"})
    EXPECT_EQ(gguf_tensor_name(row, bad, 2), std::nullopt) << bad;

  GgufTestFile qwen;
  qwen.text("general.architecture", "qwen3");
  EXPECT_EQ(gguf_tensor_name(gguf_architecture(*qwen.parse()), "blk.0.attn_q_norm.weight", 1),
            "model.layers.0.self_attn.q_norm.weight");
}

TEST(GgufNames, NamesAnUnknownArchitectureAndUnknownTensors) {
  GgufTestFile f;
  f.text("general.architecture", "mamba");
  EXPECT_EQ(
      error_of([&] { gguf_architecture(*f.parse()); }),
      "unsupported: [gguf] test.gguf: the architecture \"mamba\" is not supported; supported: "
      "llama, qwen2, qwen3");
  GgufTestFile more = tiny_llama();
  more.floats("blk.0.attn_sinks.weight", {4}).floats("blk.1.attn_q.weight", {4, 4});
  EXPECT_EQ(error_of([&] { gguf_weights(more.parse()); }),
            "invalid: [gguf] test.gguf: 2 tensors have no place in a llama of 1 layers: "
            "blk.0.attn_sinks.weight, blk.1.attn_q.weight");
}

TEST(GgufStore, PutsPairedRowsBack) {
  // Two heads of size 4: stored rows 0 1 2 3 are rows 0 2 1 3 of the model's head.
  GgufTestFile f;
  f.text("general.architecture", "llama").u32("llama.block_count", 1);
  f.u32("llama.attention.head_count", 2).u32("llama.attention.head_count_kv", 1);
  f.floats("blk.0.attn_q.weight", {1, 8}).floats("blk.0.attn_q.bias", {8});
  f.floats("blk.0.attn_k.weight", {2, 4}).floats("blk.0.attn_v.weight", {1, 4});
  const auto store = gguf_weights(f.parse());
  const std::string layer = "model.layers.0.self_attn.";
  const std::vector<float> q = {0, 2, 1, 3, 4, 6, 5, 7};
  EXPECT_EQ(values(*store, layer + "q_proj.weight"), q);
  EXPECT_EQ(values(*store, layer + "q_proj.bias"), q);
  EXPECT_EQ(values(*store, layer + "k_proj.weight"), (std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(values(*store, layer + "v_proj.weight"), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(store->find(layer + "q_proj.weight"), store->find(layer + "q_proj.weight"));
  EXPECT_EQ(store->find("absent"), nullptr);

  GgufTestFile odd;
  odd.text("general.architecture", "llama").u32("llama.block_count", 1);
  odd.u32("llama.attention.head_count", 2).floats("blk.0.attn_q.weight", {1, 6});
  EXPECT_NE(error_of([&] { gguf_weights(odd.parse()); }).find("got shape [6, 1]"),
            std::string::npos);
}

TEST(GgufStore, OtherFamiliesKeepTheirRows) {
  GgufTestFile f;
  f.text("general.architecture", "qwen2").u32("qwen2.block_count", 1);
  f.u32("qwen2.attention.head_count", 1).floats("blk.0.attn_q.weight", {1, 4});
  EXPECT_EQ(values(*gguf_weights(f.parse()), "model.layers.0.self_attn.q_proj.weight"),
            (std::vector<float>{0, 1, 2, 3}));
}

TEST(GgufConfig, IsWhatTransformersReads) {
  GgufTestFile f = tiny_llama();
  f.u32("tokenizer.ggml.bos_token_id", 1).u32("tokenizer.ggml.eos_token_id", 2);
  f.u32("tokenizer.ggml.padding_token_id", 0xffffffffu);  // stands for none
  const Json json = gguf_config(*f.parse());
  const Json expected = parse_json(R"({
    "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 1, "dtype": "float32", "eos_token_id": 2, "head_dim": 2, "hidden_act": "silu",
    "hidden_size": 4, "initializer_range": 0.02, "intermediate_size": 6,
    "max_position_embeddings": 16, "mlp_bias": false, "model_type": "llama",
    "num_attention_heads": 2, "num_hidden_layers": 1, "num_key_value_heads": 1,
    "pad_token_id": null, "pretraining_tp": 1, "rms_norm_eps": 9.999999747378752e-06,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
    "tie_word_embeddings": true, "transformers_version": "5.23.0", "use_cache": true,
    "vocab_size": 3})",
                                   "expected");
  EXPECT_EQ(nlohmann::json(json), nlohmann::json(expected));
  const Json generation = gguf_generation_config(*f.parse());
  EXPECT_EQ(generation["eos_token_id"], 2);
  EXPECT_FALSE(generation.contains("pad_token_id"));

  f.floats("output.weight", {4, 3}).floats("blk.0.attn_q.bias", {4});
  const Json untied = gguf_config(*f.parse());
  EXPECT_EQ(untied["tie_word_embeddings"], false);
  EXPECT_EQ(untied["attention_bias"], true);
}

TEST(GgufConfig, RefusesWhatItDoesNotKnow) {
  const auto has = [](const std::string& error, const std::string& part) {
    return error.find(part) != std::string::npos ? "" : error;
  };
  GgufTestFile none, window = tiny_llama(), experts = tiny_llama(), rope = tiny_llama(),
                     partial = tiny_llama();
  none.text("general.architecture", "llama");
  EXPECT_EQ(has(config_error(none), "the metadata has no llama.block_count"), "");
  window.u32("llama.attention.sliding_window", 8);
  EXPECT_EQ(has(config_error(window), "unsupported: [gguf] test.gguf: llama.attention.sliding"),
            "");
  experts.u32("llama.expert_count", 8);
  EXPECT_EQ(has(config_error(experts), "got 8, experts are not supported"), "");
  rope.text("llama.rope.scaling.type", "longrope");
  EXPECT_EQ(has(config_error(rope), "got \"longrope\", supported: none, linear, yarn"), "");
  partial.u32("llama.attention.key_length", 4);
  EXPECT_EQ(has(config_error(partial), "llama.rope.dimension_count: got 2, need the head size"),
            "");
}

TEST(GgufConfig, ReadsRopeScaling) {
  GgufTestFile linear = tiny_llama(), yarn = tiny_llama(), old = tiny_llama();
  linear.text("llama.rope.scaling.type", "linear").f32("llama.rope.scaling.factor", 4.0f);
  yarn.text("llama.rope.scaling.type", "yarn").f32("llama.rope.scaling.factor", 2.0f);
  yarn.u32("llama.rope.scaling.original_context_length", 8);
  old.f32("llama.rope.scale_linear", 3.0f);
  EXPECT_EQ(gguf_config(*linear.parse())["rope_parameters"].dump(),
            R"({"rope_theta":10000.0,"rope_type":"linear","factor":4.0})");
  EXPECT_EQ(gguf_config(*yarn.parse())["rope_parameters"].dump(),
            R"({"rope_theta":10000.0,"rope_type":"yarn","factor":2.0,)"
            R"("original_max_position_embeddings":8})");
  EXPECT_EQ(gguf_config(*old.parse())["rope_parameters"]["factor"], 3.0);
}

/// The table that a converter writes for a llama3 scaling of a head of 64, base 10000.
std::string llama3_table(double factor, double spoil) {
  std::string data;
  for (int i = 0; i < 32; ++i) {
    const double wavelength = 2 * M_PI * std::pow(10000.0, 2.0 * i / 64);
    double value = factor;
    if (wavelength < 8192.0 / 4) value = 1.0;
    else if (wavelength <= 8192.0) {
      const double smooth = (8192.0 / wavelength - 1.0) / 3.0;
      value = 1.0 / ((1.0 - smooth) / factor + smooth);
    }
    GgufTestFile::put(data, static_cast<float>(i == 20 ? value + spoil : value));
  }
  return data;
}

TEST(GgufConfig, RecoversLlama3FromItsTable) {
  const auto rope = [](double factor, double spoil) {
    GgufTestFile f = tiny_llama();
    f.tensor("rope_freqs.weight", {32}, 0, llama3_table(factor, spoil));
    return gguf_rope_parameters(*f.parse(), 64);
  };
  EXPECT_EQ(rope(8.0, 0.0).dump(),
            R"({"rope_theta":10000.0,"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,)"
            R"("high_freq_factor":4.0,"original_max_position_embeddings":8192})");
  EXPECT_EQ(rope(1.0, 0.0)["rope_type"], "default");
  EXPECT_EQ(error_of([&] { rope(8.0, 0.5); }).substr(0, 60),
            "unsupported: [gguf] test.gguf: rope_freqs.weight is not the ");
  GgufTestFile f = tiny_llama();
  f.floats("rope_freqs.weight", {3});
  EXPECT_NE(config_error(f).find("got 3 factors, need 1"), std::string::npos);
}

TEST(GgufCheckpoint, RefusesEveryCut) {
  const TestFolder folder;
  const std::string whole = tiny_llama().bytes();
  for (size_t size = 0; size < whole.size(); size += 7) {
    const auto path = folder.write("cut.gguf", whole.substr(0, size));
    const std::string error = error_of([&] { open_gguf_checkpoint(path); });
    EXPECT_EQ(error.substr(0, 9), "invalid: ") << size << error;
  }
}

}  // namespace
}  // namespace slipway
