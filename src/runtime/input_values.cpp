// Conversion and checks of input values before a runtime sees them.
#include "runtime/input_values.h"

#include <fmt/format.h>

#include <utility>

#include "base/floats.h"

namespace slipway {
namespace {

/// Calls f with a typed pointer to the elements; a bool is read as the byte that it is.
template <class F>
void visit_integers(DType dtype, const std::byte* data, F f) {
  switch (dtype) {
    case DType::kI64:
      return f(reinterpret_cast<const int64_t*>(data));
    case DType::kI32:
      return f(reinterpret_cast<const int32_t*>(data));
    case DType::kI16:
      return f(reinterpret_cast<const int16_t*>(data));
    case DType::kI8:
      return f(reinterpret_cast<const int8_t*>(data));
    case DType::kU64:
      return f(reinterpret_cast<const uint64_t*>(data));
    case DType::kU32:
      return f(reinterpret_cast<const uint32_t*>(data));
    case DType::kU16:
      return f(reinterpret_cast<const uint16_t*>(data));
    case DType::kU8:
    case DType::kBool:
      return f(reinterpret_cast<const uint8_t*>(data));
    default:
      SLIPWAY_ASSERT(false);
  }
}

bool is_whole(DType dtype) { return is_integral(dtype) || dtype == DType::kBool; }

/// "[1, 3]" for element 12 of a [2, 9] tensor.
std::string place(const Shape& shape, int64_t index) {
  Shape at(shape.size());
  for (size_t i = shape.size(); i-- > 0; index /= shape[i]) at[i] = index % shape[i];
  return shape_string(at);
}

[[noreturn]] void wrong_dtype(const Tensor& tensor, DType wanted, std::string_view where,
                              std::string_view input) {
  throw Error(kInvalid, fmt::format("[{}] {} has dtype {}, need {}; convert it first", where, input,
                                    short_name(tensor.dtype()), short_name(wanted)));
}

template <class To>
void narrow(const Tensor& from, Tensor& to, To largest, std::string_view where,
            std::string_view input) {
  To* out = reinterpret_cast<To*>(to.mutable_data());
  visit_integers(from.dtype(), from.data(), [&](const auto* in) {
    for (int64_t i = 0; i < from.numel(); ++i) {
      if (!std::in_range<To>(in[i]) || std::cmp_greater(in[i], largest))
        throw Error(kInvalid,
                    fmt::format("[{}] {}{} is {}, which the graph's {} does not hold (got {})",
                                where, input, place(from.shape(), i), in[i], short_name(to.dtype()),
                                short_name(from.dtype())));
      out[i] = static_cast<To>(in[i]);
    }
  });
}

template <class To>
void narrow(const Tensor& from, Tensor& to, std::string_view where, std::string_view input) {
  narrow<To>(from, to, std::numeric_limits<To>::max(), where, input);
}

Tensor convert_integers(const Tensor& from, DType wanted, std::string_view where,
                        std::string_view input) {
  Tensor to(wanted, from.shape());
  switch (wanted) {
    case DType::kI64:
      narrow<int64_t>(from, to, where, input);
      break;
    case DType::kI32:
      narrow<int32_t>(from, to, where, input);
      break;
    case DType::kI16:
      narrow<int16_t>(from, to, where, input);
      break;
    case DType::kI8:
      narrow<int8_t>(from, to, where, input);
      break;
    case DType::kU64:
      narrow<uint64_t>(from, to, where, input);
      break;
    case DType::kU32:
      narrow<uint32_t>(from, to, where, input);
      break;
    case DType::kU16:
      narrow<uint16_t>(from, to, where, input);
      break;
    case DType::kU8:
      narrow<uint8_t>(from, to, where, input);
      break;
    case DType::kBool:
      narrow<uint8_t>(from, to, 1, where, input);
      break;
    default:
      SLIPWAY_ASSERT(false);
  }
  return to;
}

float widened(const std::byte* data, DType dtype, int64_t i) {
  const auto half = [&] { return reinterpret_cast<const uint16_t*>(data)[i]; };
  const auto quarter = [&] { return reinterpret_cast<const uint8_t*>(data)[i]; };
  switch (dtype) {
    case DType::kF32:
      return reinterpret_cast<const float*>(data)[i];
    case DType::kF16:
      return f16_to_float(half());
    case DType::kBF16:
      return bf16_to_float(half());
    case DType::kF8E4M3:
      return f8e4m3_to_float(quarter());
    default:
      return f8e5m2_to_float(quarter());
  }
}

}  // namespace

Tensor convert_input(const Tensor& tensor, DType wanted, std::string_view where,
                     std::string_view input) {
  const DType got = tensor.dtype();
  if (got == wanted) return tensor;
  if (is_whole(got) && is_whole(wanted)) return convert_integers(tensor, wanted, where, input);
  const bool widens = is_floating(got) && itemsize(got) < itemsize(wanted) &&
                      (wanted == DType::kF32 || wanted == DType::kF64);
  if (!widens) wrong_dtype(tensor, wanted, where, input);
  Tensor wide(wanted, tensor.shape());
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const float value = widened(tensor.data(), got, i);
    if (wanted == DType::kF32) reinterpret_cast<float*>(wide.mutable_data())[i] = value;
    else reinterpret_cast<double*>(wide.mutable_data())[i] = value;
  }
  return wide;
}

void check_values(const Tensor& tensor, const Range& range, std::string_view where,
                  std::string_view input) {
  if (!is_whole(tensor.dtype())) return;
  visit_integers(tensor.dtype(), tensor.data(), [&](const auto* in) {
    for (int64_t i = 0; i < tensor.numel(); ++i)
      if (std::cmp_less(in[i], range.min) || std::cmp_greater(in[i], range.max))
        throw Error(kInvalid, fmt::format("[{}] {}{} is {}, need {}", where, input,
                                          place(tensor.shape(), i), in[i], range.text()));
  });
}

void check_mask(const Tensor& tensor, std::string_view where, std::string_view input) {
  check_values(tensor, {0, 1}, where, input);
}

}  // namespace slipway
