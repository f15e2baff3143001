// Lazy reshape, slice, concatenation and row order: the same elements elsewhere.
#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/expr.h"
#include "checkpoint/expr_intern.h"

namespace slipway {
namespace {

/// Elements of one step along dimension 0.
int64_t row_size(const LazyTensor& x) {
  SLIPWAY_ASSERT(!x.shape().empty());
  return numel(std::span<const int64_t>(x.shape()).subspan(1));
}

Shape with_rows(Shape shape, int64_t rows) {
  shape[0] = rows;
  return shape;
}

/// A run of x's elements under another shape: reshape and slice.
class Part final : public LazyTensor {
 public:
  Part(Lazy x, int64_t first, Shape shape)
      : LazyTensor(x->dtype(), std::move(shape)), x_(std::move(x)), first_(first) {
    SLIPWAY_ASSERT(first_ >= 0 && first_ <= x_->numel() - numel());
  }

  void read(int64_t begin, int64_t count, std::byte* out) const override {
    SLIPWAY_ASSERT(begin >= 0 && count >= 0 && begin <= numel() - count);
    x_->read(first_ + begin, count, out);
  }
  int64_t granularity() const override { return x_->granularity(); }
  std::optional<ByteSpan> view() const override {
    const auto all = x_->view();
    if (!all) return std::nullopt;
    return all->subspan(static_cast<size_t>(first_ * itemsize(dtype())),
                        static_cast<size_t>(nbytes()));
  }

 private:
  Lazy x_;
  int64_t first_;
};

class Concat final : public LazyTensor {
 public:
  Concat(std::vector<Lazy> parts, Shape shape)
      : LazyTensor(parts.front()->dtype(), std::move(shape)), parts_(std::move(parts)) {
    int64_t end = 0;
    for (const Lazy& part : parts_) ends_.push_back(end += part->numel());
    SLIPWAY_ASSERT(end == numel());
  }

  void read(int64_t begin, int64_t count, std::byte* out) const override {
    SLIPWAY_ASSERT(begin >= 0 && count >= 0 && begin <= numel() - count);
    auto i =
        static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin());
    for (; count > 0; ++i) {
      const int64_t start = ends_[i] - parts_[i]->numel();
      const int64_t n = std::min(count, ends_[i] - begin);
      parts_[i]->read(begin - start, n, out);
      out += n * itemsize(dtype());
      begin += n;
      count -= n;
    }
  }
  int64_t granularity() const override {
    int64_t grain = 1;
    for (const Lazy& part : parts_) grain = std::max(grain, part->granularity());
    return grain;
  }

 private:
  std::vector<Lazy> parts_;
  std::vector<int64_t> ends_;
};

class PermuteRows final : public LazyTensor {
 public:
  PermuteRows(Lazy x, std::vector<int64_t> rows)
      : LazyTensor(x->dtype(), with_rows(x->shape(), static_cast<int64_t>(rows.size()))),
        x_(std::move(x)),
        rows_(std::move(rows)),
        row_(row_size(*x_)) {
    for (const int64_t r : rows_) SLIPWAY_ASSERT(r >= 0 && r < x_->shape()[0]);
  }

  void read(int64_t begin, int64_t count, std::byte* out) const override {
    SLIPWAY_ASSERT(begin >= 0 && count >= 0 && begin <= numel() - count);
    while (count > 0) {
      auto at = static_cast<size_t>(begin / row_);
      const int64_t within = begin % row_, source = rows_[at] * row_ + within;
      int64_t n = row_ - within;
      // Rows that stay neighbours are read at once.
      for (; n < count && rows_[at + 1] == rows_[at] + 1; ++at) n += row_;
      n = std::min(n, count);
      x_->read(source, n, out);
      out += n * itemsize(dtype());
      begin += n;
      count -= n;
    }
  }
  int64_t granularity() const override { return x_->granularity(); }

 private:
  Lazy x_;
  std::vector<int64_t> rows_;
  int64_t row_;
};

Lazy part(const Lazy& x, int64_t first, Shape shape) {
  return interned(*x, fmt::format("{} from {}", shape_string(shape), first),
                  [&] { return std::make_shared<Part>(x, first, std::move(shape)); });
}

}  // namespace

Lazy lazy_reshape(Lazy x, Shape shape) {
  SLIPWAY_ASSERT(x != nullptr && numel(shape) == x->numel());
  if (shape == x->shape()) return x;
  return part(x, 0, std::move(shape));
}

Lazy lazy_slice(Lazy x, int64_t begin, int64_t end) {
  SLIPWAY_ASSERT(x != nullptr && !x->shape().empty());
  SLIPWAY_ASSERT(begin >= 0 && begin <= end && end <= x->shape()[0]);
  if (begin == 0 && end == x->shape()[0]) return x;
  const int64_t first = begin * row_size(*x);
  Shape shape = with_rows(x->shape(), end - begin);
  return part(x, first, std::move(shape));
}

Lazy lazy_concat(std::vector<Lazy> parts) {
  SLIPWAY_ASSERT(!parts.empty() && parts.front() != nullptr && !parts.front()->shape().empty());
  if (parts.size() == 1) return parts.front();
  Shape shape = parts.front()->shape();
  shape[0] = 0;
  for (const Lazy& part : parts) {
    SLIPWAY_ASSERT(part != nullptr && part->dtype() == parts.front()->dtype());
    SLIPWAY_ASSERT(part->shape().size() == shape.size());
    SLIPWAY_ASSERT(std::equal(shape.begin() + 1, shape.end(), part->shape().begin() + 1));
    shape[0] += part->shape()[0];
  }
  return std::make_shared<Concat>(std::move(parts), std::move(shape));
}

Lazy lazy_permute_rows(Lazy x, std::vector<int64_t> rows) {
  SLIPWAY_ASSERT(x != nullptr && !x->shape().empty());
  return std::make_shared<PermuteRows>(std::move(x), std::move(rows));
}

}  // namespace slipway
