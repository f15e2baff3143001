// The golden generations step by step: tokens and logits of every kind of export, for prompts
// alone, in batches with others, and read in pieces.
#include <fmt/format.h>

#include "base/json.h"
#include "decoder_util.h"
#include "golden_util.h"
#include "slipway/generation_session.h"

namespace slipway::golden {
namespace {

constexpr double kTolerance = 1e-4;  // float32 sums in another order

struct Generation {
  std::vector<int64_t> prompt, tokens;
  Tensor logits;              ///< [steps, vocabulary]
  std::vector<int64_t> ends;  ///< never chosen: min_new_tokens was as many as max_new_tokens
};

Generation generation_of(const std::string& name) {
  const Inputs file = read_safetensors(folder(name) / "generate.safetensors");
  const Tensor& ids = file.at("input_ids");
  return {
      {ids.values<int64_t>().begin(), ids.values<int64_t>().end()},
      parse_json_file(folder(name) / "generate.json").at("new_tokens").get<std::vector<int64_t>>(),
      file.at("logits"),
      GenerationConfig::from_pretrained(folder(name))
          .eos_token_id.value_or(std::vector<int64_t>{})};
}

/// Left-padded rows of ids, and their mask.
struct Batch {
  Tensor ids, mask;
  explicit Batch(const std::vector<std::vector<int64_t>>& rows) {
    size_t width = 0;
    for (const auto& row : rows) width = std::max(width, row.size());
    const Shape shape = {static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)};
    ids = Tensor(DType::kI64, shape);
    mask = Tensor(DType::kI64, shape);
    for (size_t r = 0; r < rows.size(); ++r)
      for (size_t i = 0; i < rows[r].size(); ++i) {
        const size_t at = r * width + width - rows[r].size() + i;
        ids.mutable_values<int64_t>()[at] = rows[r][i];
        mask.mutable_values<int64_t>()[at] = 1;
      }
  }
};

/// The same token for every row.
Tensor one_token(int64_t rows, int64_t id) {
  Tensor ids(DType::kI64, {rows, 1});
  std::ranges::fill(ids.mutable_values<int64_t>(), id);
  return ids;
}

/// Reads a prompt in pieces that end at `ends`; the logits of its last position.
Tensor read_prompt(GenerationSession& session, const Batch& batch, std::vector<int64_t> ends) {
  ends.push_back(batch.ids.dim(1));
  Tensor logits;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    logits = session.forward(decoders::columns(batch.ids, begin, end),
                             decoders::columns(batch.mask, begin, end));
    begin = end;
  }
  return logits;
}

/// Compares the logits of one row with a golden step, and the token that they choose.
void expect_step(const Tensor& logits, int64_t row, const Generation& golden, size_t step,
                 const std::string& what) {
  const int64_t vocabulary = golden.logits.dim(1);
  const auto want = golden.logits.values<float>().subspan(step * static_cast<size_t>(vocabulary));
  const auto got = logits.values<float>().subspan(static_cast<size_t>(row * vocabulary));
  double worst = 0;
  int64_t best = -1;
  for (int64_t i = 0; i < vocabulary; ++i) {
    const auto at = static_cast<size_t>(i);
    const double difference =
        std::abs(static_cast<double>(got[at]) - static_cast<double>(want[at]));
    worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
    if (std::find(golden.ends.begin(), golden.ends.end(), i) != golden.ends.end()) continue;
    if (best < 0 || got[at] > got[static_cast<size_t>(best)]) best = i;
  }
  EXPECT_LE(worst, kTolerance) << what << ", step " << step;
  EXPECT_EQ(best, golden.tokens[step]) << what << ", step " << step;
}

class GoldenSteps : public ::testing::TestWithParam<decoders::Made> {
 protected:
  GenerationSession session() const {
    return GenerationSession(decoders::fixture(GetParam()).exported(), {.max_cache_len = 24});
  }
  Generation golden() const { return generation_of(GetParam().model); }
};

TEST_P(GoldenSteps, OfThePromptAloneInEverySplit) {
  const Generation g = golden();
  GenerationSession s = session();
  const auto length = static_cast<int64_t>(g.prompt.size());
  std::vector<std::vector<int64_t>> splits = {{}};
  for (int64_t at = 1; at < length; ++at) splits.push_back({at});
  splits.push_back({2, 3, 7});
  splits.emplace_back();
  for (int64_t at = 1; at < length; ++at) splits.back().push_back(at);
  for (const auto& split : splits) {
    s.reset();
    const std::string what = fmt::format("split at {}", fmt::join(split, ", "));
    Tensor logits = read_prompt(s, Batch({g.prompt}), split);
    for (size_t step = 0; step < g.tokens.size(); ++step) {
      expect_step(logits, 0, g, step, what);
      logits = s.forward(one_token(1, g.tokens[step]));
    }
  }
}

TEST_P(GoldenSteps, OfThePromptAmongOthers) {
  const Generation g = golden();
  GenerationSession s = session();
  const std::vector<int64_t> shorter(g.prompt.begin(), g.prompt.begin() + 4);
  std::vector<int64_t> longer = {9, 8, 7};
  longer.insert(longer.end(), g.prompt.begin(), g.prompt.end());
  Tensor logits = read_prompt(s, Batch({shorter, g.prompt, longer}), {});
  for (size_t step = 0; step < g.tokens.size(); ++step) {
    expect_step(logits, 1, g, step, "in a batch of three");
    logits = s.forward(one_token(3, g.tokens[step]));
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, GoldenSteps,
                         ::testing::ValuesIn(decoders::all_made({"llama", "mistral", "qwen2",
                                                                 "qwen3"})),
                         decoders::name_of);

}  // namespace
}  // namespace slipway::golden
