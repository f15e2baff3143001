// Guesses of the next tokens, and greedy decoding that checks several of them in one call.
#include "generation/prompt_lookup.h"

#include <algorithm>

#include "generation/generate_run.h"

namespace slipway {
namespace {

/// The newest token of each row and its guesses, int64 [rows, 1 + width].
class Guesses {
 public:
  /// The batch gets as many columns as the row with most guesses; the filler is the guess where a
  /// row has fewer, and for rows that ended.
  Guesses(const GenerateRun& run, std::span<const Sequence> rows, int64_t most) {
    std::vector<std::span<const int64_t>> found(rows.size());
    for (size_t i = 0; i < rows.size() && most > 0; ++i) {
      if (rows[i].ended) continue;
      const auto real = std::span(rows[i].ids).subspan(static_cast<size_t>(rows[i].padding));
      found[i] = lookup_guesses(real, run.plan.lookup_ngram, most);
      const auto end = std::find_if(found[i].begin(), found[i].end(),
                                    [&](int64_t id) { return run.plan.is_end(id); });
      found[i] = found[i].first(static_cast<size_t>(end - found[i].begin()));
      width_ = std::max(width_, std::ssize(found[i]));
    }
    ids_ = Tensor(DType::kI64, {std::ssize(rows), 1 + width_});
    auto out = ids_.mutable_values<int64_t>();
    std::ranges::fill(out, run.filler());
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].ended) continue;
      const auto row = out.subspan(i * static_cast<size_t>(1 + width_));
      row[0] = rows[i].ids.back();
      std::copy(found[i].begin(), found[i].end(), row.begin() + 1);
    }
  }

  const Tensor& ids() const { return ids_; }
  int64_t width() const { return width_; }
  /// The guess of a row for the token that follows position `at`.
  int64_t after(size_t row, int64_t at) const {
    return ids_
        .values<int64_t>()[row * static_cast<size_t>(1 + width_) + static_cast<size_t>(at + 1)];
  }

 private:
  int64_t width_ = 0;
  Tensor ids_;
};

/// Decoding state of the batch: rows that all have read the same number of tokens.
struct Batch {
  GenerateRun& run;
  std::vector<Sequence> rows;
  bool goes_on = true;

  bool is_done() const {
    return !goes_on || std::all_of(rows.begin(), rows.end(),
                                   [](const Sequence& row) { return row.ended.has_value(); });
  }

  /// Adds the best token of each row after one position.
  void step(const Logits& logits, int64_t position) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].ended) continue;
      const auto index = static_cast<int64_t>(i);
      const auto scores = run.scores_after(rows[i], logits.at(index, position));
      goes_on = run.push(index, rows[i], best_token(scores, index)) && goes_on;
    }
  }

  /// How many guesses the lengths of rows and of the model leave room for. None where a call of
  /// several tokens would give others than calls of one.
  int64_t room() const {
    int64_t most = run.plan.lookup_tokens;
    for (const Sequence& row : rows)
      if (!row.ended) most = std::min(most, run.plan.max_new_tokens - std::ssize(row.made()) - 1);
    for (const auto limit : {run.state.max_length(), run.state.angles_change_at()})
      if (limit) most = std::min(most, *limit - run.state.length() - 1);
    return std::max<int64_t>(most, 0);
  }

  bool guessed_right(const Guesses& guesses, int64_t position) const {
    for (size_t i = 0; i < rows.size(); ++i)
      if (!rows[i].ended && rows[i].ids.back() != guesses.after(i, position)) return false;
    return true;
  }
};

}  // namespace

std::span<const int64_t> lookup_guesses(std::span<const int64_t> ids, int64_t max_ngram,
                                        int64_t count) {
  const auto length = std::ssize(ids);
  for (int64_t n = std::min(max_ngram, length - 1); n > 0; --n) {
    const auto tail = ids.last(static_cast<size_t>(n));
    const auto at = std::search(ids.begin(), ids.end() - 1, tail.begin(), tail.end());
    if (at == ids.end() - 1) continue;
    const int64_t begin = at - ids.begin() + n;
    return ids.subspan(static_cast<size_t>(begin),
                       static_cast<size_t>(std::min(count, length - begin)));
  }
  return {};
}

/// Row by row this is greedy decoding; a batch goes ahead as far as the guesses of all its rows are
/// right, since its rows share one length.
GeneratedTokens decode_with_prompt_lookup(GenerateRun& run) {
  Batch batch{run, sequences_of(run.prompt, 1)};
  batch.step(run.read_prompt(), 0);
  run.first_token_done();
  while (!batch.is_done()) {
    const Guesses guesses(run, batch.rows, batch.room());
    const int64_t before = run.state.length();
    const Logits logits = run.read(guesses.ids());
    int64_t position = 0;
    batch.step(logits, 0);
    while (position < guesses.width() && !batch.is_done() && batch.guessed_right(guesses, position))
      batch.step(logits, ++position);
    if (position < guesses.width()) run.state.crop(before + 1 + position);
  }
  return run.finish(batch.rows);
}

}  // namespace slipway
