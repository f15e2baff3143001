// What the decoding methods share: one call's prompt, settings, clock and choice of tokens.
#pragma once

#include <chrono>

#include "generation/generate.h"
#include "generation/logits.h"
#include "generation/logits_processors.h"
#include "generation/sampler.h"

namespace slipway {

/// One generate_tokens() call. Methods add to `result`.
class GenerateRun {
 public:
  GenerateRun(DecoderState& state, Prompt prompt, const GenerationPlan& plan,
              const GenerateHooks& hooks);

  /// Reads the prompt; the logits of its last position. Records the first step's highest.
  Logits read_prompt();
  /// What rows that ended are fed: the padding token, where the model has it. Files name padding
  /// tokens that only the tokenizer has; what such rows read does not matter.
  int64_t filler() const { return filler_; }
  /// Reads ids [rows, n]; the logits of all n positions.
  Logits read(const Tensor& ids);
  /// Ends the first step's time.
  void first_token_done();

  /// The processed scores of the token after a row: `logits` itself where nothing changes them,
  /// else scratch that is valid until the next call.
  std::span<const float> scores_after(const Sequence& row, std::span<const float> logits);

  /// Appends a token to a row that has not ended, tells the caller, and ends the row where it must.
  /// False: the caller wants no more.
  bool push(int64_t index, Sequence& row, int64_t id);
  /// Rows and timing into the result.
  GeneratedTokens finish(std::span<const Sequence> rows);
  /// As finish for rows and reasons that the method put into the result.
  GeneratedTokens finish();

  DecoderState& state;
  const Prompt prompt;
  const GenerationPlan plan;
  const GenerateHooks& hooks;
  const Stopping stopping;
  LogitsProcessors processors;
  GeneratedTokens result;

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<float> scratch_;
  int64_t filler_ = 0;
};

/// Greedy decoding and sampling: one token of each row a step.
GeneratedTokens decode_token_by_token(GenerateRun& run);
/// Greedy decoding that checks several guesses, copied from the row's earlier text, in one call.
GeneratedTokens decode_with_prompt_lookup(GenerateRun& run);
/// Beam search, and beam sampling with do_sample.
GeneratedTokens decode_beams(GenerateRun& run);

}  // namespace slipway
