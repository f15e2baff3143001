// Programs for ExecuTorch's LLM runner: the golden tokens with the cache inside, metadata methods,
// and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "backends/executorch/read.h"
#include "base/test_expect.h"
#include "base/test_folder.h"
#include "golden_util.h"
#include "runtime/repeated_call.h"
#include "slipway/generation_config.h"

namespace slipway {
namespace {

constexpr int64_t kSlots = 32;
const SaveOptions kLayout = {.layout = Layout::kExecutorchLlm, .before_commit = {}};

ExportedModel export_llm(const std::string& name, int64_t slots = kSlots,
                         const std::string& task = "text-generation-with-past") {
  ExecutorchConfig config;
  config.llm_slots = slots;
  const auto model = PreTrainedModel::from_pretrained(golden::folder(name), task);
  return ExecutorchExporter().export_model(model, model.example_inputs(), config);
}

/// The program's calls as the runner makes them: tokens and their positions.
class LlmProgram {
 public:
  explicit LlmProgram(const std::filesystem::path& file)
      : session_(Session::open("executorch", file)),
        call_(session_, {"input_ids", "cache_position"}, {"logits"}) {}

  const Session& session() const { return session_; }
  RepeatedCall& call() { return call_; }

  /// The logits after the tokens, the first of which is number `first`.
  Tensor logits(const std::vector<int64_t>& tokens, int64_t first) {
    const auto count = static_cast<int64_t>(tokens.size());
    ids_ = Tensor(DType::kI64, {1, count});
    positions_ = Tensor(DType::kI64, {count});
    std::ranges::copy(tokens, ids_.mutable_values<int64_t>().begin());
    const auto positions = positions_.mutable_values<int64_t>();
    std::iota(positions.begin(), positions.end(), first);
    call_.set_input(0, ids_);
    call_.set_input(1, positions_);
    call_.run();
    return call_.take_output(0);
  }

 private:
  Session session_;
  RepeatedCall call_;
  Tensor ids_, positions_;
};

/// The likeliest tokens after a prompt that is read `piece` tokens at a time, `never` left out.
std::vector<int64_t> generate(LlmProgram& program, const std::vector<int64_t>& prompt, size_t piece,
                              size_t count, const std::vector<int64_t>& never) {
  int64_t position = 0;
  Tensor logits;
  const auto read = [&](const std::vector<int64_t>& tokens) {
    logits = program.logits(tokens, position);
    position += static_cast<int64_t>(tokens.size());
  };
  for (size_t at = 0; at < prompt.size(); at += piece)
    read({prompt.begin() + static_cast<ptrdiff_t>(at),
          prompt.begin() + static_cast<ptrdiff_t>(std::min(prompt.size(), at + piece))});
  std::vector<int64_t> tokens;
  while (tokens.size() < count) {
    const auto values = logits.mutable_values<float>();
    for (const int64_t id : never) values[static_cast<size_t>(id)] = -1e30F;
    tokens.push_back(std::ranges::max_element(values) - values.begin());
    if (tokens.size() < count) read({tokens.back()});
  }
  return tokens;
}

class ExecutorchLlm : public testing::TestWithParam<const char*> {};

TEST_P(ExecutorchLlm, GivesTheGoldenTokensFromItsOwnCache) {
  const Json golden = parse_json_file(golden::folder(GetParam()) / "generate.json");
  const auto prompt = golden["prompt"]["input_ids"][0].get<std::vector<int64_t>>();
  const auto wanted = golden["new_tokens"].get<std::vector<int64_t>>();
  // Ends were never chosen: min_new_tokens was as many as max_new_tokens.
  const auto ends = GenerationConfig::from_pretrained(golden::folder(GetParam()))
                        .eos_token_id.value_or(std::vector<int64_t>{});
  const TestFolder folder;
  export_llm(GetParam()).save_pretrained(folder / "out", kLayout);
  LlmProgram program(folder / "out" / "model.pte");
  ASSERT_GT(prompt.size(), 2U);
  for (const size_t piece : {prompt.size(), size_t{2}, size_t{1}}) {
    EXPECT_EQ(generate(program, prompt, piece, wanted.size(), ends), wanted) << piece;
    // What is left in the slots is not seen: the next prompt begins at position 0 again.
  }
  const auto end = static_cast<int64_t>(prompt.size() + wanted.size());
  ASSERT_LE(end, kSlots);
  const Tensor keys = program.call().get_state("past_key_values.layers.0.keys");
  EXPECT_EQ(keys.dim(2), kSlots);
  const auto slot = [&](int64_t at) {
    return keys.values<float>().subspan(static_cast<size_t>(at * keys.dim(3)),
                                        static_cast<size_t>(keys.dim(3)));
  };
  EXPECT_TRUE(std::ranges::any_of(slot(end - 2), [](float v) { return v != 0; }));
  EXPECT_TRUE(std::ranges::all_of(slot(end - 1), [](float v) { return v == 0; }));
}

INSTANTIATE_TEST_SUITE_P(Models, ExecutorchLlm,
                         testing::Values("llama-causal-lm", "mistral-causal-lm", "qwen2-causal-lm",
                                         "qwen3-causal-lm"),
                         [](const auto& row) { return golden::case_label(row.param, "onnx"); });

TEST(ExecutorchLlmLayout, HasTheMetadataMethodsAndTwoInputs) {
  const TestFolder folder;
  export_llm("llama-causal-lm", 0).save_pretrained(folder / "out", kLayout);
  EXPECT_FALSE(std::filesystem::exists(folder / "out" / "export.json"));
  const executorch::Outline outline = executorch::read_outline(folder / "out" / "model.pte");
  std::vector<std::string> names;
  for (const executorch::MethodOutline& method : outline.methods) {
    EXPECT_EQ(method.is_metadata(), method.name != "forward");
    names.push_back(method.name);
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "enable_dynamic_shape", "forward", "get_bos_id", "get_dtype", "get_eos_id",
                       "get_eos_ids", "get_head_dim", "get_max_batch_size", "get_max_context_len",
                       "get_max_seq_len", "get_n_kv_heads", "get_n_layers", "get_vocab_size",
                       "use_kv_cache", "use_sdpa_with_kv_cache"}));
  const Session session = Session::open("executorch", folder / "out" / "model.pte");
  ASSERT_EQ(session.inputs().size(), 2U + 4U);  // keys and values of two layers are states
  EXPECT_EQ(session.inputs()[0].dims_text(), "[1, sequence_length]");
  EXPECT_EQ(session.inputs()[1].dims_text(), "[sequence_length]");
  EXPECT_EQ(session.outputs()[0].dims_text(), "[1, 1, 128]");
}

TEST(ExecutorchLlmLayout, ReplacesAnOlderExport) {
  const TestFolder folder;
  export_llm("llama-causal-lm").save_pretrained(folder / "out", kLayout);
  golden::export_case("llama-causal-lm", "text-generation").save_pretrained(folder / "out");
  EXPECT_FALSE(std::filesystem::exists(folder / "out" / "model.pte"));
  export_llm("llama-causal-lm").save_pretrained(folder / "out", kLayout);
  EXPECT_FALSE(std::filesystem::exists(folder / "out" / "export.json"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out" / "model.onnx"));
}

TEST(ExecutorchLlmLayout, RefusesWhatTheRunnerCannotUse) {
  const TestFolder folder;
  const auto refuses = [](ErrorKind kind, const std::string& part, auto call) {
    EXPECT_TRUE(contains(error_of(kind, call), part));
  };
  refuses(kUsage, "one for executorch-llm",
          [&] { export_llm("llama-causal-lm").save_pretrained(folder / "out"); });
  refuses(kUsage, "export with llm_slots", [&] {
    golden::export_case("llama-causal-lm", "auto", {}, "executorch")
        .save_pretrained(folder / "out", kLayout);
  });
  refuses(kUsage, "need 3 to 64", [] { export_llm("llama-causal-lm", 65); });
  refuses(kUsage, "need 3 to 64", [] { export_llm("llama-causal-lm", 2); });
  refuses(kUnsupported, "needs text-generation-with-past",
          [] { export_llm("llama-causal-lm", 8, "text-generation"); });
  for (const auto flag :
       {&ExecutorchConfig::alloc_graph_output, &ExecutorchConfig::alloc_mutable_buffers})
    refuses(kUsage, "gives outputs and buffers no memory", [&] {
      ExecutorchConfig config;
      config.llm_slots = 8;
      config.*flag = false;
      const auto model =
          PreTrainedModel::from_pretrained(golden::folder("llama-causal-lm"), "auto");
      ExecutorchExporter().export_model(model, model.example_inputs(), config);
    });
  refuses(kUsage, "'llm_slots' must be a number of slots", [] {
    AutoExportConfig::from_dict(R"({"export_format": "executorch", "llm_slots": -1})");
  });
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

}  // namespace
}  // namespace slipway
