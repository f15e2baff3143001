// Host tensors: contiguous, row-major, in main memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "slipway/dtype.h"
#include "slipway/error.h"

namespace slipway {

/// Sizes of the dimensions, outermost first. A scalar has none.
using Shape = std::vector<int64_t>;

/// The number of elements of a shape. Throws Error{kInvalid} for a negative size or an overflow.
int64_t numel(std::span<const int64_t> shape);

/// "[2, 9, 128]".
std::string shape_string(std::span<const int64_t> shape);

namespace detail {
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::kI16;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::kI8;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType value = DType::kU64;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType value = DType::kU32;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType value = DType::kU16;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};
}  // namespace detail

/// A contiguous row-major tensor. Copies share the storage; clone() makes an independent one.
/// Storage is either owned or kept alive by an owner handle given to wrap().
class Tensor {
 public:
  /// An undefined tensor: defined() is false.
  Tensor() = default;

  /// A zero-filled tensor. Throws Error{kInvalid} for a negative size or an overflow.
  Tensor(DType dtype, Shape shape);

  /// A tensor over memory of numel(shape) elements that `owner` keeps alive.
  static Tensor wrap(DType dtype, Shape shape, void* data, std::shared_ptr<void> owner);

  /// A tensor holding a copy of `values`. Throws Error{kInvalid} when the count does not fit.
  template <class T>
  static Tensor of(Shape shape, std::initializer_list<T> values) {
    return copy_of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor copy_of(Shape shape, std::span<const T> values) {
    Tensor t(detail::DTypeOf<T>::value, std::move(shape));
    t.copy_from(values.data(), values.size_bytes());
    return t;
  }

  bool defined() const { return data_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  /// The size of dimension i; negative i counts from the end.
  int64_t dim(int64_t i) const;
  int64_t numel() const { return numel_; }
  int64_t nbytes() const { return numel_ * itemsize(dtype_); }

  const std::byte* data() const { return data_.get(); }
  std::byte* mutable_data() { return data_.get(); }

  /// The elements. Throws Error{kInvalid} when T is not the dtype.
  template <class T>
  std::span<const T> values() const {
    check_dtype(detail::DTypeOf<T>::value);
    return {reinterpret_cast<const T*>(data_.get()), static_cast<size_t>(numel_)};
  }
  template <class T>
  std::span<T> mutable_values() {
    check_dtype(detail::DTypeOf<T>::value);
    return {reinterpret_cast<T*>(data_.get()), static_cast<size_t>(numel_)};
  }

  /// An independent copy.
  Tensor clone() const;
  /// The same storage under another shape of as many elements.
  Tensor reshape(Shape shape) const;

 private:
  void copy_from(const void* values, size_t bytes);
  void check_dtype(DType wanted) const;

  DType dtype_ = DType::kF32;
  Shape shape_;
  int64_t numel_ = 0;
  std::shared_ptr<std::byte> data_;
};

}  // namespace slipway
