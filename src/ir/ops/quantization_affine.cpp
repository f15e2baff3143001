// torchao's affine ops: quantization by blocks over any axes; and torch's product of integers.
#include <fmt/format.h>

#include <cmath>

#include "ir/ops/families.h"
#include "ir/ops/quantization.h"

namespace slipway::ops {
namespace {

using namespace quantized;

/// A tensor seen as blocks: an axis that blocks divide is two.
struct Blocks {
  SymShape shape;               ///< of the tensor
  SymShape parameters;          ///< of scales: 1 along `inside`
  SymShape counts;              ///< how many blocks each axis of the tensor has
  std::vector<int64_t> inside;  ///< axes within a block
};

Blocks blocks_of(const Args& a, const SymShape& shape, size_t size_arg) {
  const std::vector<Sym>& sizes = a.syms(size_arg);
  if (sizes.size() != shape.size())
    a.fail(fmt::format("has blocks of {} axes for a tensor of {}", sizes.size(), shape.size()));
  Blocks blocks;
  const auto axis = [&](Sym size, bool in_block) {
    if (in_block) blocks.inside.push_back(static_cast<int64_t>(blocks.shape.size()));
    blocks.shape.push_back(size);
    blocks.parameters.push_back(in_block ? Sym(1) : size);
  };
  for (size_t i = 0; i < shape.size(); ++i) {
    const Sym size = shape[i], block = sizes[i];
    if (block.is_const(1)) {
      axis(size, false);
      blocks.counts.push_back(size);
    } else if (block == size) {
      axis(size, true);
      blocks.counts.emplace_back(1);
    } else {
      if (!size.is_const() || !block.is_const() || block.value() < 1 ||
          size.value() % block.value() != 0)
        a.fail(fmt::format("blocks of {} do not divide a size of {}", block.str(), size.str()));
      axis(size.value() / block.value(), false);
      axis(block, true);
      blocks.counts.emplace_back(size.value() / block.value());
    }
  }
  return blocks;
}

Value seen_as(Value x, const SymShape& shape) { return x.shape() == shape ? x : view(x, shape); }

/// The zero point in the shape of the scales; undefined where there is none or an empty tensor.
Value zero_point(const Args& a, size_t i, const Blocks& blocks) {
  if (!a.has(i) || numel(a.type(i).shape).is_const(0)) return {};
  return seen_as(a.value(i), blocks.parameters);
}

Values quantize_affine(const Args& a) {
  const DType dtype = a.dtype(4);
  const auto [low, high] = range(a, 5, dtype);
  const Value x = a.value(0);
  const Blocks blocks = blocks_of(a, x.shape(), 1);
  const Value inverse = reciprocal(seen_as(a.value(2), blocks.parameters));
  Value y = round(a, seen_as(x, blocks.shape) * inverse);
  if (const Value zero = zero_point(a, 3, blocks); zero.defined()) y = y + zero;
  return {to(seen_as(clamp(a, y, low, high), x.shape()), dtype)};
}

Values dequantize_affine(const Args& a) {
  const DType dtype = a.has(7) ? a.dtype(7) : DType::kF32;
  const Value x = a.value(0);
  const Blocks blocks = blocks_of(a, x.shape(), 1);
  Value y = seen_as(to(x, dtype), blocks.shape);
  if (const Value zero = zero_point(a, 3, blocks); zero.defined()) y = y - to(zero, dtype);
  y = y * seen_as(a.value(2), blocks.parameters);
  return {to(seen_as(y, x.shape()), dtype)};
}

/// The smallest normal number.
double smallest(DType dtype) {
  return dtype == DType::kF16 ? 6.103515625e-05 : 1.1754943508222875e-38;
}

DType dtype_or(const Args& a, size_t i, DType otherwise) {
  return a.has(i) ? a.dtype(i) : otherwise;
}

Values choose_qparams_affine(const Args& a) {
  const Value x = a.value(0);
  const std::string& mapping = a.text(1);
  const auto [low, high] = range(a, 4, a.dtype(3));
  const double eps = a.has(6) ? a.number(6) : smallest(x.dtype());
  const bool keepdim = a.flag(9);
  const Blocks blocks = blocks_of(a, x.shape(), 2);
  const auto [least, most] = extremes(a, seen_as(x, blocks.shape), blocks.inside, keepdim);
  Value scale, zero;
  DType zero_dtype = dtype_or(a, 8, DType::kI32);
  if (mapping == "ASYMMETRIC") {
    scale = at_least(a, (most - least) / (high - low), eps);
    const Value shift = round(a, least / scale);
    zero = clamp(a, emit(a, "aten::rsub.Scalar", shift, low), low, high);
  } else {
    if (mapping == "SYMMETRIC") {
      scale = emit(a, "aten::maximum", neg(least), most) / ((high - low) / 2);
    } else if (mapping == "SYMMETRIC_NO_CLIPPING_ERR") {
      scale = emit(a, "aten::maximum", least / low, most / high);
    } else {
      a.fail(fmt::format("has no mapping '{}'", mapping));
    }
    scale = at_least(a, scale, eps);
    zero = full(a.graph(), scale.shape(), std::trunc((high + low + 1) / 2), scale.dtype());
    zero_dtype = dtype_or(a, 8, scale.dtype());
  }
  if (keepdim) {
    scale = seen_as(scale, blocks.counts);
    zero = seen_as(zero, blocks.counts);
  }
  return {to(scale, dtype_or(a, 7, x.dtype())), to(zero, zero_dtype)};
}

/// int8 or uint8 by int8, summed in int32.
Values int_mm(const Args& a) {
  for (const size_t i : {size_t{0}, size_t{1}})
    if (a.type(i).shape.size() != 2 || itemsize(a.type(i).dtype) != 1 ||
        !is_integral(a.type(i).dtype))
      a.fail("needs matrices of int8 or uint8");
  return {matmul(to(a.value(0), DType::kI32), to(a.value(1), DType::kI32))};
}

const OpRow kRows[] = {
    written("torchao::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? "
            "zero_point, ScalarType output_dtype, Scalar? quant_min=None, Scalar? "
            "quant_max=None) -> Tensor",
            quantize_affine),
    written("torchao::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? "
            "zero_point, ScalarType input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, "
            "ScalarType? output_dtype=None) -> Tensor",
            dequantize_affine),
    written("torchao::choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, "
            "ScalarType target_dtype, Scalar? quant_min=None, Scalar? quant_max=None, float? "
            "eps=None, ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, bool "
            "keepdim=False) -> (Tensor, Tensor)",
            choose_qparams_affine),
    spelling("aten::_int_mm(Tensor self, Tensor mat2) -> Tensor", int_mm),
};

}  // namespace

std::span<const OpRow> quantization_affine() { return kRows; }

}  // namespace slipway::ops
