// Continues prompts with a decoder: one call's start, its shared parts, and greedy and sampled
// steps.
#include "generation/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "generation/generate_run.h"
#include "slipway/error.h"

namespace slipway {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

GenerateRun::GenerateRun(DecoderState& state_, Prompt prompt_, const GenerationPlan& plan_,
                         const GenerateHooks& hooks_)
    : state(state_),
      prompt(std::move(prompt_)),
      plan(plan_),
      hooks(hooks_),
      stopping(plan, hooks.text_of),
      processors(plan) {}

Logits GenerateRun::read_prompt() {
  state.reset();
  ++result.forward_calls;
  const Logits logits(state.forward(prompt.ids, prompt.mask, 1), prompt.batch(), 1);
  const auto is_foreign = [&](int64_t id) { return id >= logits.vocabulary(); };
  if (!plan.eos.empty() && std::ranges::all_of(plan.eos, is_foreign))
    throw Error(kInvalid,
                fmt::format("[generate] eos_token_id has {}, the model has {} tokens, so no "
                            "row would end",
                            fmt::join(plan.eos, ", "), logits.vocabulary()));
  filler_ = is_foreign(plan.pad) ? 0 : plan.pad;
  if (hooks.first_step_top > 0)
    for (int64_t row = 0; row < prompt.batch(); ++row)
      result.first_step_top.push_back(top_tokens(logits.at(row, 0), hooks.first_step_top));
  return logits;
}

Logits GenerateRun::read(const Tensor& ids) {
  ++result.forward_calls;
  return Logits(state.forward(ids, ones(ids.shape()), ids.dim(1)), ids.dim(0), ids.dim(1));
}

void GenerateRun::first_token_done() {
  result.prefill_seconds = seconds_since(start_);
  start_ = std::chrono::steady_clock::now();
}

std::span<const float> GenerateRun::scores_after(const Sequence& row,
                                                 std::span<const float> logits) {
  if (processors.is_idle(std::ssize(row.ids))) return logits;
  scratch_.assign(logits.begin(), logits.end());
  processors.apply(row.ids, row.padding, scratch_);
  return scratch_;
}

bool GenerateRun::push(int64_t index, Sequence& row, int64_t id) {
  row.ids.push_back(id);
  row.ended = stopping.reason(row.made());
  return !hooks.on_token || hooks.on_token(index, id);
}

GeneratedTokens GenerateRun::finish(std::span<const Sequence> rows) {
  for (const Sequence& row : rows) {
    const auto made = row.made();
    result.new_ids.emplace_back(made.begin(), made.end());
    result.finish_reasons.push_back(row.ended.value_or(FinishReason::kCaller));
  }
  return finish();
}

GeneratedTokens GenerateRun::finish() {
  size_t longest = 0;
  for (const auto& row : result.new_ids) longest = std::max(longest, row.size());
  for (auto& row : result.new_ids) {
    result.lengths.push_back(std::ssize(row));
    row.resize(longest, plan.pad);
  }
  result.decode_seconds = seconds_since(start_);
  return std::move(result);
}

GeneratedTokens decode_token_by_token(GenerateRun& run) {
  const int64_t copies = run.plan.num_return_sequences;
  std::vector<Sequence> rows = sequences_of(run.prompt, copies);
  Sampler sampler(run.plan);
  std::vector<int64_t> next(rows.size());
  for (int64_t step = 0;; ++step) {
    const bool first = step == 0;
    const Logits logits = first ? run.read_prompt() : run.read(column_of(next));
    bool goes_on = true;
    for (size_t i = 0; i < rows.size(); ++i) {
      next[i] = run.filler();
      if (rows[i].ended) continue;
      const auto index = static_cast<int64_t>(i);
      const auto scores = run.scores_after(rows[i], logits.at(first ? index / copies : index, 0));
      if (run.plan.do_sample) {
        RandomStream random(run.plan.seed,
                            static_cast<uint64_t>(run.hooks.first_prompt * copies + index),
                            static_cast<uint64_t>(step));
        next[i] = Sampler::choose(sampler.candidates(scores, index), random);
      } else {
        next[i] = best_token(scores, index);
      }
      goes_on = run.push(index, rows[i], next[i]) && goes_on;
    }
    if (first) run.first_token_done();
    const bool all_ended = std::all_of(rows.begin(), rows.end(),
                                       [](const Sequence& row) { return row.ended.has_value(); });
    if (!goes_on || all_ended) return run.finish(rows);
    if (first && copies > 1) {
      std::vector<int64_t> sources;
      for (size_t i = 0; i < rows.size(); ++i) sources.push_back(static_cast<int64_t>(i) / copies);
      run.state.reorder(sources);
    }
  }
}

GeneratedTokens generate_tokens(DecoderState& state, const Tensor& input_ids,
                                const Tensor& attention_mask, const GenerationConfig& config,
                                const GenerateHooks& hooks) {
  Prompt prompt = Prompt::checked(input_ids, attention_mask);
  const GenerationPlan plan =
      plan_generation(config, prompt.length(), state.max_length(), state.limit_kind());
  GenerateRun run(state, std::move(prompt), plan, hooks);
  if (plan.lookup_tokens > 0) return decode_with_prompt_lookup(run);
  if (plan.num_beams == 1) return decode_token_by_token(run);
  if (hooks.on_token)
    throw Error(
        kUsage,
        fmt::format("[generate] num_beams is {}, and beams are known at their end only; set "
                    "num_beams to 1 or do not ask for tokens one by one",
                    plan.num_beams));
  return decode_beams(run);
}

}  // namespace slipway
