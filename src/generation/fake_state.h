// A decoder for tests: logits are a function of what a row has read; calls are counted and checked.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "generation/decoder_state.h"

namespace slipway::test {

/// Keeps to the contract of DecoderState and fails the test where its caller does not.
class FakeState : public DecoderState {
 public:
  using Row = std::vector<int64_t>;
  /// The logits after the real ids of a row.
  using Model = std::function<std::vector<float>(const Row& ids)>;

  explicit FakeState(Model model, std::optional<int64_t> limit = std::nullopt)
      : model_(std::move(model)), limit_(limit) {}

  Tensor forward(const Tensor& ids, const Tensor& mask, int64_t keep) override {
    ++calls;
    EXPECT_EQ(mask.shape(), ids.shape());
    if (rows_.empty()) rows_.resize(static_cast<size_t>(ids.dim(0)));
    EXPECT_EQ(ids.dim(0), batch_size());
    const int64_t count = ids.dim(1);
    EXPECT_TRUE(!limit_ || length() + count <= *limit_);
    EXPECT_TRUE(keep >= 1 && keep <= count);
    std::vector<float> logits;
    for (size_t row = 0; row < rows_.size(); ++row)
      for (int64_t i = 0; i < count; ++i) {
        const auto at = row * static_cast<size_t>(count) + static_cast<size_t>(i);
        rows_[row].push_back({ids.values<int64_t>()[at], mask.values<int64_t>()[at]});
        if (i < count - keep) continue;
        const std::vector<float> one = model_(real_ids(row));
        width_ = std::ssize(one);
        logits.insert(logits.end(), one.begin(), one.end());
      }
    return Tensor::copy_of<float>({batch_size(), keep, width_}, logits);
  }

  int64_t batch_size() const override { return std::ssize(rows_); }
  int64_t length() const override { return rows_.empty() ? 0 : std::ssize(rows_[0]); }
  std::optional<int64_t> max_length() const override { return limit_; }
  void reset() override { rows_.clear(); }
  void reorder(std::span<const int64_t> rows) override {
    std::vector<std::vector<Token>> next;
    for (const int64_t row : rows) next.push_back(rows_.at(static_cast<size_t>(row)));
    rows_ = std::move(next);
  }
  void crop(int64_t length) override {
    for (auto& row : rows_) row.resize(static_cast<size_t>(length));
  }
  std::unique_ptr<DecoderState> copy() const override { return std::make_unique<FakeState>(*this); }

  Row real_ids(size_t row) const {
    Row ids;
    for (const Token& token : rows_[row])
      if (token.mask != 0) ids.push_back(token.id);
    return ids;
  }
  /// What a row was fed, padding included.
  Row fed(size_t row) const {
    Row ids;
    for (const Token& token : rows_[row]) ids.push_back(token.id);
    return ids;
  }

  int64_t calls = 0;

 private:
  struct Token {
    int64_t id, mask;
  };
  Model model_;
  std::optional<int64_t> limit_;
  std::vector<std::vector<Token>> rows_;
  int64_t width_ = 0;
};

/// After id i the likeliest of 8 is (i + 1) % 8, then (i + 2) % 8.
inline std::vector<float> successor(const FakeState::Row& ids) {
  std::vector<float> logits(8, 0.0F);
  logits[static_cast<size_t>((ids.back() + 1) % 8)] = 3.0F;
  logits[static_cast<size_t>((ids.back() + 2) % 8)] = 2.0F;
  return logits;
}

/// Logits that look random and depend on the last two ids.
inline FakeState::Model scrambled(int64_t vocabulary) {
  return [vocabulary](const FakeState::Row& ids) {
    uint64_t x = 88172645463325252ULL;
    for (size_t i = ids.size() < 2 ? 0 : ids.size() - 2; i < ids.size(); ++i)
      x = (x ^ static_cast<uint64_t>(ids[i] + 1)) * 0x9E3779B97F4A7C15ULL;
    std::vector<float> logits;
    for (int64_t i = 0; i < vocabulary; ++i) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      logits.push_back(static_cast<float>(x >> 40) / 4194304.0F);
    }
    return logits;
  };
}

inline Tensor ids_of(Shape shape, std::initializer_list<int64_t> values) {
  return Tensor::of<int64_t>(std::move(shape), values);
}

}  // namespace slipway::test
