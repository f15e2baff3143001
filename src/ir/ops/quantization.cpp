// Ops of graphs that torch's quantizers made: parameters, quantizing, dequantizing.
#include <fmt/format.h>

#include "ir/ops/families.h"
#include "ir/ops/quantization.h"

namespace slipway::ops {
namespace {

using namespace quantized;

/// A tensor of one element as one without axes.
Value only(const Args& a, size_t i) {
  const Value x = a.value(i);
  if (!numel(x.shape()).is_const(1)) a.fail(fmt::format("argument {} must have one element", i));
  return x.rank() == 0 ? x : view(x, {});
}

/// Parameters of an axis in a shape that broadcasts.
Value along(const Args& a, Value parameters, Value x, int64_t axis) {
  if (parameters.rank() != 1) a.fail("needs one scale and zero point a channel, in one axis");
  require_equal(a, parameters.dim(0), x.dim(axis), "the number of channels");
  SymShape shape(x.shape().size(), Sym(1));
  shape[static_cast<size_t>(axis)] = x.dim(axis);
  return view(parameters, shape);
}

// Numbers. Torch multiplies by the reciprocal, adds the zero point to the rounded value, and
// limits.

Values quantize_per_tensor(const Args& a) {
  const DType dtype = a.dtype(5);
  const auto [low, high] = range(a, 3, dtype);
  const Value rounded = round(a, single(a, a.value(0)) * (1.0 / a.number(1)));
  return {to(clamp(a, rounded + static_cast<double>(a.integer(2)), low, high), dtype)};
}

/// The reciprocal is that of the scale as a double, whatever it is stored as.
Values quantize_per_tensor_by(const Args& a) {
  const DType dtype = a.dtype(5);
  const auto [low, high] = range(a, 3, dtype);
  const Value x = single(a, a.value(0));
  const Value inverse = to(reciprocal(to(only(a, 1), DType::kF64)), x.dtype());
  const Value rounded = round(a, x * inverse) + to(only(a, 2), x.dtype());
  return {to(clamp(a, rounded, low, high), dtype)};
}

DType dequantized(const Args& a, size_t i) { return a.has(i) ? a.dtype(i) : DType::kF32; }

Values dequantize_per_tensor(const Args& a) {
  const Value x = to(a.value(0), dequantized(a, 6));
  const int64_t zero = a.integer(2);
  return {(zero == 0 ? x : x - static_cast<double>(zero)) * a.number(1)};
}

Values dequantize_per_tensor_by(const Args& a) {
  const DType out = dequantized(a, 6);
  const Value x = to(a.value(0), out);
  return {(x - to(only(a, 2), out)) * to(only(a, 1), out)};
}

// Channels.

Values quantize_per_channel(const Args& a) {
  const DType dtype = a.dtype(6);
  const auto [low, high] = range(a, 4, dtype);
  const Value x = single(a, a.value(0));
  const int64_t axis = a.axis(3, x.rank());
  const Value inverse = reciprocal(along(a, a.value(1), x, axis));
  const Value rounded = round(a, x * inverse) + along(a, a.value(2), x, axis);
  return {to(clamp(a, rounded, low, high), dtype)};
}

Values dequantize_per_channel(const Args& a) {
  Value x = a.value(0);
  const int64_t axis = a.axis(3, x.rank());
  const Value scales = along(a, a.value(1), x, axis);
  x = to(x, scales.dtype());
  if (a.has(2)) x = x - to(along(a, a.value(2), x, axis), scales.dtype());
  return {to(x * scales, dequantized(a, 7))};
}

// Rows: parameters for each along the last axis.

Value row_parameters(const Args& a, size_t i, Value x) {
  SymShape rows = x.shape();
  if (rows.empty()) a.fail("needs a tensor with axes");
  rows.back() = 1;
  const Value parameters = a.value(i);
  return parameters.shape() == rows ? parameters : view(parameters, rows);
}

Values quantize_per_token(const Args& a) {
  const DType dtype = a.dtype(5);
  const auto [low, high] = range(a, 3, dtype);
  const Value x = a.value(0);
  const Value scaled = x * reciprocal(row_parameters(a, 1, x)) + row_parameters(a, 2, x);
  return {to(clamp(a, round(a, scaled), low, high), dtype)};
}

Values dequantize_per_token(const Args& a) {
  const Value scales = row_parameters(a, 1, a.value(0));
  const Value zeros = to(row_parameters(a, 2, a.value(0)), scales.dtype());
  return {to((to(a.value(0), scales.dtype()) - zeros) * scales, a.dtype(6))};
}

// Groups of a row of a matrix.

/// [rows, columns] as [rows * columns / size, size].
Value grouped(const Args& a, Value x, size_t scales, size_t size) {
  if (x.rank() != 2) a.fail("needs a matrix");
  int64_t group = a.integer(size);
  if (x.dim(1).is_const() && group > x.dim(1).value() && a.value(scales).dim(-1).is_const(1))
    group = x.dim(1).value();
  if (group < 2 || !x.dim(1).is_const() || x.dim(1).value() % group != 0)
    a.fail(fmt::format("groups of {} do not divide {} columns", group, x.dim(1).str()));
  return view(x, {x.dim(0) * (x.dim(1).value() / group), Sym(group)});
}
Value column(Value x) { return view(x, {numel(x.shape()), Sym(1)}); }

Values quantize_per_channel_group(const Args& a) {
  const DType dtype = a.dtype(5);
  const auto [low, high] = range(a, 3, dtype);
  const Value x = grouped(a, a.value(0), 1, 6);
  const Value scaled = x * reciprocal(column(a.value(1))) + column(a.value(2));
  return {view(to(clamp(a, round(a, scaled), low, high), dtype), a.type(0).shape)};
}

Values dequantize_per_channel_group(const Args& a) {
  const Value scales = column(a.value(1));
  Value x = to(grouped(a, a.value(0), 1, 6), scales.dtype());
  if (a.has(2)) x = x - to(column(a.value(2)), scales.dtype());
  return {to(view(x * scales, a.type(0).shape), a.dtype(7))};
}

// Parameters while running.

std::vector<int64_t> all_axes(Value x) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i);
  return axes;
}

/// Scale and zero point as torch gives them: f64[1] and i64[1].
Values as_numbers(Value scale, Value zero) {
  return {view(to(scale, DType::kF64), {Sym(1)}), view(to(zero, DType::kI64), {Sym(1)})};
}

Values choose_per_tensor(const Args& a) {
  const auto [low, high] = range(a, 1, a.dtype(4));
  const Value x = a.value(0);
  const auto [least, most] = extremes(a, x, all_axes(x), false);
  const Value eps = number(a, a.number(3), DType::kF32);
  const Value scale = emit(a, "aten::maximum", (most - least) / (high - low), eps);
  const Value zero = emit(a, "aten::rsub.Scalar", round(a, least / scale), low);
  return as_numbers(scale, clamp(a, zero, low, high));
}

Values choose_symmetric(const Args& a) {
  const auto [low, high] = range(a, 1, a.dtype(4));
  const Value x = a.value(0);
  const auto [least, most] = extremes(a, x, all_axes(x), false);
  const Value bound = emit(a, "aten::maximum", neg(least), most) / ((high - low) / 2);
  const Value scale = emit(a, "aten::maximum", bound, number(a, a.number(3), DType::kF32));
  return as_numbers(scale, number(a, a.dtype(4) == DType::kU8 ? 128.0 : 0.0, DType::kI64));
}

/// Symmetric over each row, to [-127, 127].
Values choose_per_token(const Args& a) {
  if (a.dtype(1) != DType::kI8) a.fail("gives parameters for int8 only");
  const Value size = emit(a, "aten::abs", a.value(0));
  Value most = emit(a, "aten::amax", size, std::vector<Sym>{-1}, true);
  if (most.dtype() == DType::kF16) most = to(most, DType::kF32);
  const Value scale = at_least(a, most, 1e-5) / 127.0;
  return {scale, full(a.graph(), scale.shape(), 0.0, scale.dtype())};
}

/// Of the two zero points that the extremes give, the one with the smaller error.
Values choose_per_token_asymmetric(const Args& a) {
  constexpr double kLow = -128, kHigh = 127, kEps = 1.1920928955078125e-07;
  const auto [least, most] = extremes(a, a.value(0), {-1}, true);
  const Value scale = at_least(a, (most - least) / (kHigh - kLow), kEps);
  const Value below = least / scale, above = most / scale;
  const Value errors = (below + kLow) + (above + kHigh);
  const auto from = [&](double end, Value by) { return emit(a, "aten::rsub.Scalar", by, end); };
  const Value zero = where(greater(errors, 0), from(kLow, below), from(kHigh, above));
  return {to(scale, DType::kF64), to(round(a, clamp(a, zero, kLow, kHigh)), DType::kI64)};
}

// The library's definitions; quant_min, quant_max and dtype of dequantizing ops say what their
// input is, and are not computed with.
const OpRow kRows[] = {
    written("quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, "
            "int quant_min, int quant_max, ScalarType dtype) -> Tensor",
            quantize_per_tensor),
    written("quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor "
            "zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
            quantize_per_tensor_by),
    written("quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int "
            "zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? "
            "out_dtype=None) -> Tensor",
            dequantize_per_tensor),
    written("quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor "
            "zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? "
            "out_dtype=None) -> Tensor",
            dequantize_per_tensor_by),
    written("quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, int "
            "quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)",
            choose_per_tensor),
    written("quantized_decomposed::choose_qparams_symmetric.tensor(Tensor input, int quant_min, "
            "int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)",
            choose_symmetric),
    written("quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor "
            "zero_points, int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
            quantize_per_channel),
    written("quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? "
            "zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, "
            "ScalarType? out_dtype=None) -> Tensor",
            dequantize_per_channel),
    written("quantized_decomposed::choose_qparams_per_token(Tensor input, ScalarType dtype) -> "
            "(Tensor, Tensor)",
            choose_per_token),
    written("quantized_decomposed::choose_qparams_per_token_asymmetric(Tensor input, ScalarType "
            "dtype) -> (Tensor, Tensor)",
            choose_per_token_asymmetric),
    written("quantized_decomposed::_choose_qparams_per_token_asymmetric_impl(Tensor input, "
            "ScalarType dtype) -> (Tensor, Tensor)",
            choose_per_token_asymmetric),
    written("quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, Tensor "
            "zero_points, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
            quantize_per_token),
    written("quantized_decomposed::dequantize_per_token(Tensor input, Tensor scales, Tensor "
            "zero_points, int quant_min, int quant_max, ScalarType dtype, ScalarType "
            "output_dtype) -> Tensor",
            dequantize_per_token),
    written("quantized_decomposed::quantize_per_channel_group(Tensor input, Tensor scales, Tensor "
            "zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size) -> "
            "Tensor",
            quantize_per_channel_group),
    written("quantized_decomposed::dequantize_per_channel_group(Tensor input, Tensor scales, "
            "Tensor? zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size, "
            "ScalarType output_dtype) -> Tensor",
            dequantize_per_channel_group),
    spelling("quantized_decomposed::convert_element_type.no_fuse(Tensor input, ScalarType dtype) "
             "-> Tensor",
             [](const Args& a) -> Values { return {to(a.value(0), a.dtype(1))}; }),
};

}  // namespace

std::span<const OpRow> quantization() { return kRows; }

}  // namespace slipway::ops
