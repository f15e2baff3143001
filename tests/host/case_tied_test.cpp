// PC-01, PC-02: output heads that are tied, absent, stored twice or different.
#include "case_util.h"

namespace slipway::cases {
namespace {

/// A vocabulary that outweighs everything else, so that a second copy of it shows in the size.
Draft tied_qwen2() {
  Draft draft = Draft::golden("qwen2-causal-lm");
  draft.config["tie_word_embeddings"] = true;
  draft.config["vocab_size"] = 20000;
  draft.tensors["model.embed_tokens.weight"] = random_tensor({20000, 32}, 1);
  draft.tensors.erase("lm_head.weight");
  return draft;
}

int64_t unique_bytes(const Draft& draft) {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : draft.tensors) bytes += tensor.nbytes();
  return bytes;
}

Tensor logits_of(const Draft& draft, const Inputs& inputs) {
  const TestFolder t;
  return by_name(export_checkpoint(draft.save(t / "in"))(inputs)).at("logits");
}

/// hidden [rows, length, width] times head [vocabulary, width].
Tensor project(const Tensor& hidden, const Tensor& head) {
  const int64_t tokens = hidden.dim(0) * hidden.dim(1), width = hidden.dim(2);
  Tensor out(DType::kF32, {hidden.dim(0), hidden.dim(1), head.dim(0)});
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t v = 0; v < head.dim(0); ++v) {
      double sum = 0;
      for (int64_t i = 0; i < width; ++i)
        sum += double{hidden.values<float>()[static_cast<size_t>(t * width + i)]} *
               double{head.values<float>()[static_cast<size_t>(v * width + i)]};
      out.mutable_values<float>()[static_cast<size_t>(t * head.dim(0) + v)] =
          static_cast<float>(sum);
    }
  return out;
}

TEST(CaseTied, AnAbsentAndAnEqualHeadAreOneStoredCopy) {
  const Draft absent = tied_qwen2();
  Draft equal = absent;
  equal.tensors["lm_head.weight"] = absent.tensors.at("model.embed_tokens.weight").clone();
  const GraphBytes one = bytes_of(absent);
  EXPECT_TRUE(one == bytes_of(equal)) << "the surplus copy changes the export";
  const auto size = static_cast<double>(one.data.size() + one.graph.size());
  EXPECT_LE(size, static_cast<double>(unique_bytes(absent)) * 1.05);
  EXPECT_GE(size, static_cast<double>(unique_bytes(absent)));
}

TEST(CaseTied, TheTiedHeadIsTheEmbedding) {
  const TestFolder t;
  const Draft draft = tied_qwen2();
  draft.save(t / "in");
  const Inputs inputs = {{"input_ids", token_ids(1, 3)}};
  const auto hidden = by_name(export_checkpoint(t / "in", "feature-extraction")(inputs));
  EXPECT_LE(
      difference(logits_of(draft, inputs), project(hidden.at("last_hidden_state"),
                                                   draft.tensors.at("model.embed_tokens.weight"))),
      1e-4);
}

TEST(CaseTied, ADifferentStoredHeadWinsWithAWarning) {
  const TestFolder t;
  Draft draft = Draft::golden("qwen2-causal-lm");
  draft.tensors["lm_head.weight"] = random_tensor({128, 32}, 2);
  const Inputs inputs = {{"input_ids", token_ids(2, 5)}};
  const Tensor untied = logits_of(draft, inputs);
  draft.config["tie_word_embeddings"] = true;
  EXPECT_TRUE(same_bits(logits_of(draft, inputs), untied));
  draft.save(t / "in");
  const auto hidden = by_name(export_checkpoint(t / "in", "feature-extraction")(inputs));
  EXPECT_LE(difference(untied,
                       project(hidden.at("last_hidden_state"), draft.tensors.at("lm_head.weight"))),
            1e-4);

  const ToolResult tool = run_tool({"export", (t / "in").string(), (t / "out").string()});
  EXPECT_EQ(tool.code, 0) << tool.err;
  EXPECT_TRUE(contains(tool.err, "lm_head.weight"));
  EXPECT_TRUE(contains(tool.err, "model.embed_tokens.weight"));
  EXPECT_TRUE(contains(tool.err, "different values"));
}

TEST(CaseTied, OneDifferentNumberKeepsThemApart) {
  Draft draft = Draft::golden("llama-causal-lm");
  Tensor head = draft.tensors.at("model.embed_tokens.weight").clone();
  head.mutable_values<float>()[4095] += 1.0F;
  draft.tensors["lm_head.weight"] = head;
  const Inputs inputs = {{"input_ids", token_ids(1, 4)}};
  const Tensor untied = logits_of(draft, inputs);
  draft.config["tie_word_embeddings"] = true;
  EXPECT_TRUE(same_bits(logits_of(draft, inputs), untied));
  draft.tensors.erase("lm_head.weight");
  EXPECT_GT(difference(logits_of(draft, inputs), untied), 1e-3) << "the test proves nothing";
}

TEST(CaseTied, AnUntiedModelWithoutItsHeadIsRefused) {
  Draft draft = Draft::golden("llama-causal-lm");
  draft.tensors.erase("lm_head.weight");
  EXPECT_TRUE(contains(refused(draft, 3), "lm_head.weight [128, 32]"));
}

TEST(CaseTied, ATiedMaskedLmIsOneStoredCopy) {
  Draft absent = Draft::golden("bert-masked-lm");
  Draft equal = absent;
  equal.tensors["cls.predictions.decoder.weight"] =
      absent.tensors.at("bert.embeddings.word_embeddings.weight").clone();
  equal.tensors["cls.predictions.decoder.bias"] = absent.tensors.at("cls.predictions.bias").clone();
  EXPECT_TRUE(bytes_of(absent) == bytes_of(equal));
}

}  // namespace
}  // namespace slipway::cases
