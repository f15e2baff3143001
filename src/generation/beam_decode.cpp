// Beam search and beam sampling over a decoder: its rows are the running beams of all prompts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "generation/beam_search.h"
#include "generation/generate_run.h"
#include "slipway/error.h"

namespace slipway {
namespace {

class BeamDecoder {
 public:
  explicit BeamDecoder(GenerateRun& run)
      : run_(run),
        count_(static_cast<size_t>(run.plan.num_beams)),
        rows_(sequences_of(run.prompt, run.plan.num_beams)),
        beams_(static_cast<size_t>(run.prompt.batch()), Beams(run.plan)),
        sampler_(run.plan) {}

  GeneratedTokens decode();

 private:
  struct Step {
    bool improves = false;  ///< some prompt's finished beams may still change
    bool is_full = true;    ///< all prompts have num_beams finished ones
    bool goes_on = false;   ///< some continuation does not end
  };

  /// One token more for the beams of all prompts. Row i of the decoder becomes its row sources_[i].
  Step advance(const Logits& logits, int64_t step);
  std::vector<BeamStep> choose(size_t prompt, const Logits& logits, int64_t step);
  std::vector<BeamStep> sample(size_t prompt, int64_t step);
  GeneratedTokens finish();

  /// The decoder has one row a prompt at the first step.
  int64_t row_of(size_t prompt, size_t beam, int64_t step) const {
    return static_cast<int64_t>(step == 0 ? prompt : prompt * count_ + beam);
  }

  GenerateRun& run_;
  size_t count_;
  std::vector<Sequence> rows_;
  std::vector<Beams> beams_;
  Sampler sampler_;
  std::vector<int64_t> sources_;
  std::vector<float> scores_;       ///< of one prompt: [num_beams, vocabulary], sums
  std::vector<BeamStep> possible_;  ///< of one prompt, when sampling
};

/// The processed log-probabilities of each beam's next token, added to its sum.
std::vector<BeamStep> BeamDecoder::choose(size_t prompt, const Logits& logits, int64_t step) {
  const auto width = static_cast<size_t>(logits.vocabulary());
  scores_.resize(count_ * width);
  possible_.clear();
  for (size_t beam = 0; beam < count_; ++beam) {
    const auto scores = std::span(scores_).subspan(beam * width, width);
    const int64_t row = row_of(prompt, beam, step);
    log_softmax(logits.at(row, 0), scores, row);
    const Sequence& sequence = rows_[prompt * count_ + beam];
    run_.processors.apply(sequence.ids, sequence.padding, scores);
    const float sum = beams_[prompt].running()[beam].score;
    if (run_.plan.do_sample) {
      for (const Candidate& c : sampler_.candidates(scores, row))
        possible_.push_back({static_cast<int64_t>(beam), c.id, c.score + sum});
    } else {
      for (float& score : scores) score += sum;
    }
  }
  const int64_t wanted = beams_[prompt].step_count();
  std::vector<BeamStep> steps =
      run_.plan.do_sample ? sample(prompt, step) : best_steps(scores_, logits.vocabulary(), wanted);
  if (std::ssize(steps) < wanted)
    throw Error(kInvalid, fmt::format("[generate] {} beams need {} continuations, but only {} are "
                                      "possible; use fewer beams",
                                      count_, wanted, steps.size()));
  return steps;
}

/// Without replacement: each score gets Gumbel noise, the highest sums are the draws in order.
std::vector<BeamStep> BeamDecoder::sample(size_t prompt, int64_t step) {
  RandomStream random(run_.plan.seed, static_cast<uint64_t>(run_.hooks.first_prompt) + prompt,
                      static_cast<uint64_t>(step));
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < possible_.size(); ++i) {
    const double u = random.uniform() + 0x1p-54;  // never 0
    order.emplace_back(static_cast<double>(possible_[i].score) - std::log(-std::log(u)), i);
  }
  const auto count = std::min(order.size(), static_cast<size_t>(beams_[prompt].step_count()));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [](const auto& a, const auto& b) {
                      return a.first != b.first ? a.first > b.first : a.second < b.second;
                    });
  std::vector<BeamStep> steps;
  for (size_t i = 0; i < count; ++i) steps.push_back(possible_[order[i].second]);
  return steps;
}

BeamDecoder::Step BeamDecoder::advance(const Logits& logits, int64_t step) {
  Step state;
  sources_.clear();
  std::vector<Sequence> next;
  for (size_t prompt = 0; prompt < beams_.size(); ++prompt) {
    Beams& beams = beams_[prompt];
    const std::vector<BeamStep> steps = choose(prompt, logits, step);
    std::vector<bool> ends;
    for (const BeamStep& one : steps) {
      std::vector<int64_t> made = beams.running()[static_cast<size_t>(one.beam)].ids;
      made.push_back(one.token);
      ends.push_back(run_.stopping.reason(made).has_value());
      state.goes_on = state.goes_on || !ends.back();
    }
    const std::vector<int64_t> from = beams.advance(steps, ends);
    for (size_t beam = 0; beam < count_; ++beam) {
      const auto source = static_cast<size_t>(from[beam]);
      sources_.push_back(row_of(prompt, source, step));
      next.push_back(rows_[prompt * count_ + source]);
      next.back().ids.push_back(beams.running()[beam].ids.back());
    }
    state.improves = state.improves || beams.can_improve();
    state.is_full = state.is_full && beams.is_full();
  }
  rows_ = std::move(next);
  return state;
}

GeneratedTokens BeamDecoder::decode() {
  for (int64_t step = 0;; ++step) {
    std::vector<int64_t> newest;
    for (const Sequence& row : rows_) newest.push_back(row.ids.back());
    const Step state = advance(step == 0 ? run_.read_prompt() : run_.read(column_of(newest)), step);
    if (step == 0) run_.first_token_done();
    const bool early = state.is_full && run_.plan.early_stopping == EarlyStopping::kTrue;
    if (!state.improves || early || !state.goes_on) return finish();
    bool moves = step == 0;
    for (size_t i = 0; i < sources_.size(); ++i)
      moves = moves || sources_[i] != static_cast<int64_t>(i);
    if (moves) run_.state.reorder(sources_);
  }
}

GeneratedTokens BeamDecoder::finish() {
  for (const Beams& beams : beams_)
    for (size_t i = 0; i < static_cast<size_t>(run_.plan.num_return_sequences); ++i) {
      const Hypothesis& best = beams.finished()[i];
      run_.result.new_ids.push_back(best.ids);
      run_.result.scores.push_back(best.score);
      run_.result.finish_reasons.push_back(
          best.ids.empty() ? FinishReason::kLength
                           : run_.stopping.reason(best.ids).value_or(FinishReason::kLength));
    }
  return run_.finish();
}

}  // namespace

GeneratedTokens decode_beams(GenerateRun& run) { return BeamDecoder(run).decode(); }

}  // namespace slipway
