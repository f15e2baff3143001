// Golden decoders with a static cache in the ExecuTorch runtime: prompt and steps by one method,
// the cache in the caller's memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "backends/executorch/emit.h"
#include "backends/executorch/lower.h"
#include "backends/executorch/partition.h"
#include "executorch_util.h"
#include "golden_util.h"
#include "lowering/upper_bounds.h"
#include "models/registry.h"
#include "passes/pipeline.h"
#include "runtime/repeated_call.h"
#include "slipway/generation_config.h"

namespace slipway {
namespace {

using executorch_test::kCallerOwns;

constexpr int64_t kSlots = 32, kMostTokens = 16;

/// Masks of a graph, and the sliding window that is part of each.
using Windows = std::map<std::string, std::optional<int64_t>>;

/// The decoder of a golden case for one row, with kSlots slots at most.
executorch::Program decoder(const std::string& name, Windows& windows) {
  const Checkpoint checkpoint = open_checkpoint(golden::folder(name));
  const models::ResolvedTask task =
      models::resolve_task(models::find_model(checkpoint.config), checkpoint.config, "auto");
  models::BuildOptions options;
  options.cache = models::CacheKind::kStatic;
  ExportedProgram source = models::build_program(checkpoint, task, options);
  windows = source.mask_windows;
  const auto optimize = [](Graph& graph, const std::vector<std::string_view>& passes) {
    PassContext context;
    Pipeline().repeat(passes).run(graph, context);
  };
  optimize(*source.graph, {"canonicalize", "fold", "cse"});
  std::map<std::string, int64_t> bounds;
  for (const Sym symbol : lowering::unbounded_symbols(*source.graph))
    bounds[symbol.name()] = symbol.name() == "batch_size"        ? 1
                            : symbol.name() == "sequence_length" ? kMostTokens
                                                                 : kSlots;
  lowering::set_upper_bounds(*source.graph, bounds);
  const auto graph = executorch::lower(source);
  optimize(*graph, {"cse"});
  const auto parts = executorch::partition(*graph);
  executorch::Program program;
  program.methods.push_back(executorch::emit(*graph, "forward", parts));
  return program;
}

struct Golden {
  std::vector<int64_t> prompt, tokens;
  std::vector<int64_t> ends;  ///< never chosen: min_new_tokens was as many as max_new_tokens
  explicit Golden(const std::string& name) {
    const Json json = parse_json_file(golden::folder(name) / "generate.json");
    prompt = json["prompt"]["input_ids"][0].get<std::vector<int64_t>>();
    tokens = json["new_tokens"].get<std::vector<int64_t>>();
    ends = GenerationConfig::from_pretrained(golden::folder(name))
               .eos_token_id.value_or(std::vector<int64_t>{});
  }
};

/// A call whose cache lies in tensors of ours, which are its inputs and its outputs.
class Decoder {
 public:
  Decoder(const Session& session, Windows windows)
      : windows_(std::move(windows)),
        inputs_(names(session.inputs())),
        outputs_(names(session.outputs())),
        call_(session, inputs_, outputs_) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].starts_with("past_key_values")) continue;
      Shape shape;
      for (const DimSpec& dim : session.inputs()[i].dims)
        shape.push_back(dim.is_fixed() ? dim.size : dim.symbol == "batch_size" ? 1 : kSlots);
      const Tensor cache(session.inputs()[i].dtype, shape);
      call_.set_input(i, cache);
      call_.set_output(place(outputs_, inputs_[i]), cache);
      cache_.push_back(cache);
    }
  }

  int64_t next(const std::vector<int64_t>& tokens, const std::vector<int64_t>& never) {
    const auto count = static_cast<int64_t>(tokens.size());
    Tensor ids(DType::kI64, {1, count}), positions(DType::kI64, {1, count});
    for (int64_t i = 0; i < count; ++i) {
      ids.mutable_values<int64_t>()[static_cast<size_t>(i)] = tokens[static_cast<size_t>(i)];
      positions.mutable_values<int64_t>()[static_cast<size_t>(i)] = position_ + i;
    }
    call_.set_input(place(inputs_, "input_ids"), ids);
    std::vector<Tensor> masks;
    for (const auto& [name, window] : windows_) {
      masks.push_back(mask(count, window.value_or(kSlots)));
      call_.set_input(place(inputs_, name), masks.back());
    }
    call_.set_input(place(inputs_, "position_ids"), positions);
    call_.run();
    position_ += count;
    Tensor logits = call_.take_output(place(outputs_, "logits"));
    const auto last = logits.mutable_values<float>().last(static_cast<size_t>(logits.dim(2)));
    for (const int64_t id : never) last[static_cast<size_t>(id)] = -1e30f;
    return std::ranges::max_element(last) - last.begin();
  }

  const std::vector<Tensor>& cache() const { return cache_; }

 private:
  static std::vector<std::string> names(const std::vector<IoSpec>& specs) {
    std::vector<std::string> list;
    for (const IoSpec& spec : specs) list.push_back(spec.name);
    return list;
  }
  static size_t place(const std::vector<std::string>& list, const std::string& name) {
    return static_cast<size_t>(std::ranges::find(list, name) - list.begin());
  }

  /// What each of the tokens sees: the slots up to its own, within the window.
  Tensor mask(int64_t count, int64_t window) const {
    Tensor mask(DType::kBool, {1, 1, count, kSlots});
    for (int64_t i = 0; i < count; ++i)
      for (int64_t slot = 0; slot < kSlots; ++slot)
        mask.mutable_values<bool>()[static_cast<size_t>(i * kSlots + slot)] =
            slot <= position_ + i && slot > position_ + i - window;
    return mask;
  }

  Windows windows_;
  std::vector<std::string> inputs_, outputs_;
  RepeatedCall call_;
  std::vector<Tensor> cache_;
  int64_t position_ = 0;
};

class ExecutorchDecode : public executorch_test::Programs,
                         public testing::WithParamInterface<const char*> {};

TEST_P(ExecutorchDecode, GivesTheGoldenTokensWithTheCacheInPlace) {
  const Golden golden(GetParam());
  for (const auto& options : {kCallerOwns, executorch::PlanOptions{}}) {
    Windows windows;
    const executorch::Program program = decoder(GetParam(), windows);
    const Session session = open(program, options);
    Decoder decoder(session, windows);
    std::vector<int64_t> feed = golden.prompt, tokens;
    while (tokens.size() < golden.tokens.size()) {
      tokens.push_back(decoder.next(feed, golden.ends));
      feed = {tokens.back()};
    }
    EXPECT_EQ(tokens, golden.tokens);
    const auto filled = static_cast<int64_t>(golden.prompt.size() + tokens.size() - 1);
    for (const Tensor& cache : decoder.cache()) {
      if (cache.rank() == 0) {
        EXPECT_EQ(cache.values<int64_t>()[0], filled);
        continue;
      }
      // [1, heads, slots, size]: what was written, and nothing beyond it.
      const auto slot = [&](int64_t at) {
        return cache.values<float>().subspan(static_cast<size_t>(at * cache.dim(3)),
                                             static_cast<size_t>(cache.dim(3)));
      };
      EXPECT_TRUE(std::ranges::any_of(slot(filled - 1), [](float v) { return v != 0; }));
      EXPECT_TRUE(std::ranges::all_of(slot(filled), [](float v) { return v == 0; }));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ExecutorchDecode,
                         testing::Values("llama-causal-lm", "mistral-causal-lm", "qwen2-causal-lm",
                                         "qwen3-causal-lm"),
                         [](const auto& row) { return golden::case_label(row.param, "onnx"); });

/// examples/executorch_decode.cpp, which links nothing of ours.
TEST_F(ExecutorchDecode, TheExampleGivesThemToo) {
  const Golden golden("llama-causal-lm");
  Windows windows;
  open(decoder("llama-causal-lm", windows), kCallerOwns);
  std::string command =
      std::string(SLIPWAY_EXECUTORCH_EXAMPLE) + " '" + (folder_ / "model.pte").string() + "' ";
  for (size_t i = 0; i < golden.prompt.size(); ++i)
    command += (i > 0 ? "," : "") + std::to_string(golden.prompt[i]);
  command += " " + std::to_string(golden.tokens.size()) + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> output(::popen(command.c_str(), "r"), ::pclose);
  ASSERT_TRUE(output);
  std::vector<int64_t> tokens;
  for (long long token = 0; std::fscanf(output.get(), "%lld", &token) == 1;)
    tokens.push_back(token);
  EXPECT_EQ(tokens, golden.tokens);
}

}  // namespace
}  // namespace slipway
