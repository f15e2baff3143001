// States of decoders: every way to read a sequence gives the logits of reading it at once.
#include <fmt/format.h>

#include "decoder_util.h"

namespace slipway::decoders {
namespace {

class State : public testing::TestWithParam<Made> {
 protected:
  const Fixture& made() const { return fixture(GetParam()); }
};

TEST_P(State, EachSplitEqualsTheWhole) {
  const Tensor ids = token_ids(2, 9), mask = left_padding({0, 3}, 9);
  const Tensor whole = made().state()->forward(ids, mask, 9).clone();
  for (int64_t first = 1; first < 9; ++first)
    for (int64_t second = first + 1; second <= 9; ++second) {
      const auto state = made().state();
      const Tensor got = read(*state, ids, mask, {first, second, 9});
      EXPECT_LE(difference_where(got, whole, mask), kTolerance) << first << ", " << second;
      EXPECT_EQ(state->length(), 9);
      EXPECT_EQ(state->batch_size(), 2);
    }
}

TEST_P(State, PaddedRowsEqualThemselvesAlone) {
  const std::vector<int64_t> pads = {0, 2, 5, 7};
  const Tensor ids = token_ids(4, 12), mask = left_padding(pads, 12);
  const auto state = made().state();
  const Tensor got = read(*state, ids, mask, {8, 9, 12});
  for (size_t row = 0; row < pads.size(); ++row) {
    const auto index = static_cast<int64_t>(row);
    const Tensor alone = columns(rows_of(ids, {index}), pads[row], 12);
    const auto single = made().state();
    const Tensor want = single->forward(alone, ones(1, 12 - pads[row]), 12 - pads[row]);
    EXPECT_LE(difference_where(columns(rows_of(got, {index}), pads[row], 12), want,
                               ones(1, 12 - pads[row])),
              kTolerance)
        << row;
  }
}

// PC-19: a past of 5, then 1, 3 and 2 tokens in one call each.
TEST_P(State, NewTokensSeeThePastAndNothingLater) {
  const Tensor ids = token_ids(1, 11), mask = ones(1, 11);
  const auto by_call = made().state(), one_by_one = made().state();
  const Tensor got = read(*by_call, ids, mask, {5, 6, 9, 11});
  const Tensor want = read(*one_by_one, ids, mask, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_LE(difference_where(got, want, mask), kTolerance);
  // What comes later changes nothing.
  Tensor other = ids.clone();
  other.mutable_values<int64_t>()[10] += 1;
  const auto changed = made().state();
  const Tensor before = read(*changed, other, mask, {5, 6, 9, 11});
  EXPECT_LE(difference_where(columns(before, 0, 10), columns(got, 0, 10), ones(1, 10)), kTolerance);
}

TEST_P(State, KeepsTheLastPositionsOnly) {
  const Tensor ids = token_ids(3, 7), mask = left_padding({1, 0, 4}, 7);
  const Tensor whole = made().state()->forward(ids, mask, 7).clone();
  for (int64_t keep = 1; keep <= 7; ++keep) {
    const auto state = made().state();
    const Tensor got = state->forward(ids, mask, keep);
    EXPECT_LE(difference_where(got, columns(whole, 7 - keep, 7), columns(mask, 7 - keep, 7)),
              kTolerance)
        << keep;
  }
  const auto state = made().state();
  state->forward(columns(ids, 0, 2), columns(mask, 0, 2), 1);
  EXPECT_LE(difference_where(state->forward(columns(ids, 2, 7), columns(mask, 2, 7), 3),
                             columns(whole, 4, 7), columns(mask, 4, 7)),
            kTolerance);
}

TEST_P(State, CropForgetsTheLastTokens) {
  const Tensor ids = token_ids(2, 10), mask = left_padding({0, 2}, 10);
  const Tensor whole = made().state()->forward(ids, mask, 10).clone();
  for (const int64_t length : {1, 2, 4, 9}) {
    const auto state = made().state();
    Tensor wrong = ids.clone();
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t i = length; i < 10; ++i)
        wrong.mutable_values<int64_t>()[static_cast<size_t>(row * 10 + i)] = 2;
    read(*state, wrong, mask, {8, 9, 10});
    state->crop(length);
    EXPECT_EQ(state->length(), length);
    const Tensor tail = columns(mask, length, 10);
    const Tensor got = read(*state, columns(ids, length, 10), tail, {1, 10 - length});
    EXPECT_LE(difference_where(got, columns(whole, length, 10), tail), kTolerance) << length;
  }
  const auto state = made().state();
  state->forward(ids, mask, 1);
  refused(kInvalid, "cannot crop to 11", [&] { state->crop(11); });
}

TEST_P(State, ReorderMovesRowsAndChangesTheBatch) {
  const Tensor ids = token_ids(3, 8), mask = left_padding({0, 3, 1}, 8);
  const Tensor whole = made().state()->forward(ids, mask, 8).clone();
  for (const std::vector<int64_t>& order :
       std::vector<std::vector<int64_t>>{{2, 0, 1}, {1, 1, 1}, {0, 2}, {1}, {2, 2, 0, 0, 1, 1}}) {
    const auto state = made().state();
    read(*state, columns(ids, 0, 5), columns(mask, 0, 5), {4, 5});
    state->reorder(order);
    EXPECT_EQ(state->batch_size(), static_cast<int64_t>(order.size()));
    const Tensor tail = rows_of(columns(mask, 5, 8), order);
    const Tensor got = read(*state, rows_of(columns(ids, 5, 8), order), tail, {1, 3});
    EXPECT_LE(difference_where(got, rows_of(columns(whole, 5, 8), order), tail), kTolerance);
  }
  const auto state = made().state();
  refused(kUsage, "no rows to reorder", [&] { state->reorder(std::vector<int64_t>{0}); });
  state->forward(ids, mask, 1);
  refused(kInvalid, "no row 3", [&] { state->reorder(std::vector<int64_t>{0, 3}); });
}

TEST_P(State, CopiesGoTheirOwnWay) {
  const Tensor ids = token_ids(2, 8), mask = left_padding({2, 0}, 8);
  const Tensor whole = made().state()->forward(ids, mask, 8).clone();
  const auto state = made().state();
  read(*state, columns(ids, 0, 5), columns(mask, 0, 5), {3, 5});
  const auto copied = state->copy();
  const Tensor twos = Tensor::of<int64_t>({2, 2}, {2, 2, 2, 2});
  state->forward(twos, ones(2, 2), 1);
  EXPECT_EQ(copied->length(), 5);
  const Tensor tail = columns(mask, 5, 8);
  const Tensor got = read(*copied, columns(ids, 5, 8), tail, {2, 3});
  EXPECT_LE(difference_where(got, columns(whole, 5, 8), tail), kTolerance);
  state->crop(5);
  EXPECT_LE(difference_where(read(*state, columns(ids, 5, 8), tail, {3}), got, tail), kTolerance);
  EXPECT_EQ(made().state()->copy()->length(), 0);
}

// PC-26: a prompt, steps, then another prompt of another length and batch.
TEST_P(State, ResetEqualsAFreshState) {
  const auto state = made().state();
  read(*state, token_ids(3, 6), left_padding({0, 1, 2}, 6), {4, 5, 6});
  state->reset();
  EXPECT_EQ(state->batch_size(), 0);
  EXPECT_EQ(state->length(), 0);
  const Tensor ids = token_ids(2, 9), mask = left_padding({5, 0}, 9);
  const auto fresh = made().state();
  EXPECT_TRUE(same_bits(read(*state, ids, mask, {7, 8, 9}), read(*fresh, ids, mask, {7, 8, 9})));
}

TEST_P(State, RefusesWhatDoesNotFit) {
  const auto state = made().state();
  const Tensor ids = token_ids(2, 4), mask = ones(2, 4);
  refused(kInvalid, "at least one token", [&] {
    state->forward(Tensor(DType::kI64, {1, 0}), Tensor(DType::kI64, {1, 0}), 1);
  });
  refused(kInvalid, "both must be equal", [&] { state->forward(ids, ones(2, 3), 1); });
  refused(kInvalid, "need 1 to 4", [&] { state->forward(ids, mask, 5); });
  refused(kInvalid, "need 1 to 4", [&] { state->forward(ids, mask, 0); });
  Tensor right = ones(2, 4);
  right.mutable_values<int64_t>()[7] = 0;
  refused(kInvalid, "padded on the left", [&] { state->forward(ids, right, 1); });
  Tensor bad = ids.clone();
  bad.mutable_values<int64_t>()[2] = -1;
  refused(kInvalid, "input_ids", [&] { state->forward(bad, mask, 1); });
  // None of it has left a trace.
  const auto fresh = made().state();
  EXPECT_TRUE(same_bits(state->forward(ids, mask, 4), fresh->forward(ids, mask, 4)));
  refused(kInvalid, "got 1 rows", [&] { state->forward(token_ids(1, 1), ones(1, 1), 1); });
}

INSTANTIATE_TEST_SUITE_P(Golden, State,
                         testing::ValuesIn(all_made({"llama", "mistral", "qwen2", "qwen3"})),
                         name_of);

}  // namespace
}  // namespace slipway::decoders
