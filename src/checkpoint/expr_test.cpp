// Lazy expressions against naive versions: whole, in unaligned ranges, and from several threads.
#include "checkpoint/expr.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>

#include "base/floats.h"
#include "base/parallel.h"

namespace slipway {
namespace {

/// A source that computes its elements, only whole granules of it, and counts what it computed.
class Granular final : public LazyTensor {
 public:
  Granular(Shape shape, int64_t grain) : LazyTensor(DType::kF32, std::move(shape)), grain_(grain) {}

  static float value(int64_t i) { return static_cast<float>((i * 2654435761u) % 100003); }
  void read(int64_t begin, int64_t count, std::byte* out) const override {
    for (int64_t i = begin; i < begin + count; ++i) {
      const float v = value(i);
      std::memcpy(out + (i - begin) * 4, &v, 4);
    }
    if (count > 0) decoded += ((begin + count - 1) / grain_ - begin / grain_ + 1) * grain_;
  }
  int64_t granularity() const override { return grain_; }
  mutable std::atomic<int64_t> decoded{0};

 private:
  int64_t grain_;
};

Tensor ramp(DType dtype, Shape shape) {
  Tensor t(dtype, std::move(shape));
  for (int64_t i = 0; i < t.nbytes(); ++i)
    t.mutable_data()[i] = static_cast<std::byte>((i * 37 + i / 251) % 120);
  return t;
}

/// Checks the whole and 200 random ranges against `expected`.
void expect_reads(const Lazy& lazy, const Tensor& expected) {
  ASSERT_EQ(lazy->dtype(), expected.dtype());
  ASSERT_EQ(lazy->shape(), expected.shape());
  const Tensor whole = materialize(*lazy);
  ASSERT_EQ(std::memcmp(whole.data(), expected.data(), static_cast<size_t>(expected.nbytes())), 0);
  if (const auto view = lazy->view()) {
    ASSERT_EQ(view->size(), static_cast<size_t>(expected.nbytes()));
    ASSERT_EQ(std::memcmp(view->data(), expected.data(), view->size()), 0);
  }
  std::mt19937_64 random(1);
  const int64_t size = itemsize(expected.dtype()), n = expected.numel();
  std::vector<std::byte> out(static_cast<size_t>(n * size + 1));
  for (int i = 0; i < 200; ++i) {
    const int64_t begin = static_cast<int64_t>(random() % static_cast<uint64_t>(n + 1));
    const int64_t count = static_cast<int64_t>(random() % static_cast<uint64_t>(n - begin + 1));
    out[static_cast<size_t>(count * size)] = std::byte{0x5a};
    lazy->read(begin, count, out.data());
    ASSERT_EQ(
        std::memcmp(out.data(), expected.data() + begin * size, static_cast<size_t>(count * size)),
        0)
        << begin << " + " << count;
    ASSERT_EQ(out[static_cast<size_t>(count * size)], std::byte{0x5a}) << "wrote past the range";
  }
  EXPECT_THROW(lazy->read(0, n + 1, out.data()), Error);
  EXPECT_THROW(lazy->read(-1, 1, out.data()), Error);
  EXPECT_THROW(lazy->read(n, 1, out.data()), Error);
}

Tensor transposed(const Tensor& x) {
  Tensor t(x.dtype(), {x.dim(1), x.dim(0)});
  const int64_t size = itemsize(x.dtype()), rows = x.dim(0), columns = x.dim(1);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      std::memcpy(t.mutable_data() + (c * rows + r) * size, x.data() + (r * columns + c) * size,
                  static_cast<size_t>(size));
  return t;
}

TEST(Expr, Transpose) {
  for (const DType dtype : {DType::kU8, DType::kBF16, DType::kF32, DType::kF64})
    for (const Shape& shape :
         {Shape{1, 1}, Shape{1, 700}, Shape{700, 1}, Shape{33, 259}, Shape{70, 513}}) {
      const Tensor x = ramp(dtype, shape);
      expect_reads(lazy_transpose2d(lazy_constant(x)), transposed(x));
    }
  EXPECT_EQ(materialize(*lazy_transpose2d(lazy_constant(Tensor(DType::kF32, {0, 5})))).shape(),
            (Shape{5, 0}));
}

TEST(Expr, TransposeDecodesEveryGranuleOnce) {
  for (const int64_t grain : {32, 256}) {
    const auto source = std::make_shared<Granular>(Shape{96, 768}, grain);
    const Lazy t = lazy_transpose2d(source);
    const Tensor expected = transposed(materialize(*source));
    expect_reads(t, expected);
    source->decoded = 0;
    std::vector<std::byte> out(static_cast<size_t>(t->granularity()) * 4);
    for (int64_t at = 0; at < t->numel(); at += t->granularity())
      t->read(at, std::min(t->granularity(), t->numel() - at), out.data());
    EXPECT_EQ(source->decoded, source->numel()) << grain;
  }
}

TEST(Expr, TransposeGranulesStaySmall) {
  const auto vocabulary = std::make_shared<Granular>(Shape{49152, 576}, 32);
  EXPECT_LE(lazy_transpose2d(vocabulary)->granularity() * 4, int64_t{8} << 20);
}

TEST(Expr, Cast) {
  const Tensor x = ramp(DType::kBF16, {7, 301});
  Tensor expected(DType::kF32, {7, 301});
  for (int64_t i = 0; i < x.numel(); ++i) {
    uint16_t code = 0;
    std::memcpy(&code, x.data() + i * 2, 2);
    expected.mutable_values<float>()[static_cast<size_t>(i)] = bf16_to_float(code);
  }
  expect_reads(lazy_cast(lazy_constant(x), DType::kF32), expected);

  const auto source = std::make_shared<Granular>(Shape{300, 256}, 256);  // more than one step
  Tensor halves(DType::kF16, {300, 256});
  for (int64_t i = 0; i < halves.numel(); ++i) {
    const uint16_t code = float_to_f16(Granular::value(i));
    std::memcpy(halves.mutable_data() + i * 2, &code, 2);
  }
  const Lazy cast = lazy_cast(source, DType::kF16);
  expect_reads(cast, halves);
  EXPECT_EQ(cast->granularity(), 256);
  EXPECT_EQ(lazy_cast(source, DType::kF32), Lazy(source));
}

TEST(Expr, EqualCallsGiveOneObject) {
  const Lazy x = lazy_constant(Tensor(DType::kF32, {4, 6}));
  const Lazy half = lazy_slice(x, 1, 3), line = lazy_reshape(half, {12});
  EXPECT_EQ(lazy_slice(x, 1, 3), half);
  EXPECT_NE(lazy_slice(x, 2, 4), half);
  EXPECT_EQ(lazy_reshape(half, {12}), line);
  EXPECT_NE(lazy_reshape(half, {3, 4}), line);
  EXPECT_EQ(lazy_transpose2d(half), lazy_transpose2d(lazy_slice(x, 1, 3)));
  EXPECT_EQ(lazy_cast(line, DType::kF16), lazy_cast(line, DType::kF16));
  EXPECT_NE(lazy_cast(line, DType::kF16), lazy_cast(line, DType::kBF16));
}

TEST(Expr, Affine) {
  const auto source = std::make_shared<Granular>(Shape{40, 1000}, 32);
  Tensor expected(DType::kF32, {40, 1000});
  for (int64_t i = 0; i < expected.numel(); ++i)
    expected.mutable_values<float>()[static_cast<size_t>(i)] = Granular::value(i) * 0.5f + 1.0f;
  expect_reads(lazy_affine(source, 0.5, 1.0), expected);
  const Tensor doubles = Tensor::of<double>({2}, {1e300, 3});
  EXPECT_EQ(materialize(*lazy_affine(lazy_constant(doubles), 2, 0)).values<double>()[0], 2e300);
  const uint16_t one = float_to_bf16(1.0f);
  const Tensor bf16 = Tensor::wrap(DType::kBF16, {1}, const_cast<uint16_t*>(&one), nullptr);
  const Tensor sum = materialize(*lazy_affine(lazy_constant(bf16), 1, 1));
  uint16_t code = 0;
  std::memcpy(&code, sum.data(), 2);
  EXPECT_EQ(code, float_to_bf16(2.0f));
}

TEST(Expr, ReshapeSliceConcat) {
  const Tensor x = ramp(DType::kF32, {6, 35});
  const Lazy lazy = lazy_constant(x);
  expect_reads(lazy_reshape(lazy, {5, 42}), x.reshape({5, 42}));
  EXPECT_EQ(lazy_reshape(lazy, {6, 35}), lazy);
  Tensor middle(DType::kF32, {3, 35});
  std::memcpy(middle.mutable_data(), x.data() + 2 * 35 * 4, 3 * 35 * 4);
  expect_reads(lazy_slice(lazy, 2, 5), middle);
  const Lazy empty = lazy_slice(lazy, 6, 6);
  EXPECT_EQ(empty->shape(), (Shape{0, 35}));
  expect_reads(
      lazy_concat({lazy_slice(lazy, 0, 1), empty, lazy_slice(lazy, 1, 4), lazy_slice(lazy, 4, 6)}),
      x);
  EXPECT_THROW(lazy_slice(lazy, 2, 7), Error);
  EXPECT_THROW(lazy_reshape(lazy, {6, 36}), Error);
  EXPECT_THROW(lazy_concat({lazy, lazy_reshape(lazy, {7, 30})}), Error);
}

TEST(Expr, PermuteRows) {
  const Tensor x = ramp(DType::kI16, {6, 35});
  const std::vector<int64_t> rows{3, 4, 5, 0, 2, 2, 1};
  Tensor expected(DType::kI16, {7, 35});
  for (size_t i = 0; i < rows.size(); ++i)
    std::memcpy(expected.mutable_data() + i * 70, x.data() + rows[i] * 70, 70);
  expect_reads(lazy_permute_rows(lazy_constant(x), rows), expected);
  EXPECT_THROW(lazy_permute_rows(lazy_constant(x), {6}), Error);
}

TEST(Expr, StackedExpressionsFromSeveralThreads) {
  const auto source = std::make_shared<Granular>(Shape{64, 512}, 256);
  const Tensor expected = transposed(materialize(*lazy_permute_rows(source, {5, 1, 60, 61})));
  const Lazy lazy =
      lazy_reshape(lazy_transpose2d(lazy_permute_rows(source, {5, 1, 60, 61})), {512 * 4});
  parallel_for(64, [&](int64_t i) {
    std::vector<float> out(32);
    lazy->read(i * 32, 32, reinterpret_cast<std::byte*>(out.data()));
    for (size_t k = 0; k < 32; ++k)
      if (out[k] != expected.values<float>()[static_cast<size_t>(i) * 32 + k])
        throw Error(kInternal, "threads disagree");
  });
}

}  // namespace
}  // namespace slipway
