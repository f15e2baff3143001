// Padding, reversing, resizing.
#include <cmath>

#include "ir/ops/bodies.h"
#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"

namespace slipway::ops {
namespace {

/// Pairs (before, after) from the last axis back; negative numbers cut off.
std::vector<ValueType> padded(const Args& a) {
  ValueType out = a.type(0);
  const std::vector<Sym>& pad = a.syms(1);
  if (pad.size() % 2 != 0 || pad.size() > 2 * out.shape.size())
    a.fail("needs a pair of numbers for each of the last axes");
  const std::string& mode = a.text(2);
  if (mode != "constant" && mode != "reflect" && mode != "replicate")
    throw Error(kUnsupported, "[ir] aten::pad: got mode '" + mode +
                                  "', need 'constant', 'reflect' or 'replicate'");
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    Sym& size = out.shape[out.shape.size() - 1 - i];
    size = size + pad[2 * i] + pad[2 * i + 1];
  }
  return {out};
}

std::vector<ValueType> flipped(const Args& a) {
  for (const int64_t axis : a.integers(1)) normalize_axis(axis, rank_of(a));
  return same_as_self(a);
}

/// [batch, channels, size...] to the wanted size, or by factors: then a size is floor(size factor).
std::vector<ValueType> resized(const Args& a) {
  ValueType out = a.type(0);
  const auto factors = static_cast<size_t>(a.op().schema.find("scale_factors"));
  const size_t axes = out.shape.size() - 2;
  const bool one = a.op().name().find("1d") != std::string::npos;
  if (out.shape.size() != (one ? 3u : 4u)) a.fail("needs [batch, channels, size...]");
  if (a.has(1) == a.has(factors)) a.fail("needs either output_size or scale_factors");
  if (a.has(1)) {
    if (a.syms(1).size() != axes) a.fail("needs a size for every axis");
    for (size_t i = 0; i < axes; ++i) out.shape[2 + i] = a.syms(1)[i];
    return {out};
  }
  const auto* scales = std::get_if<std::vector<double>>(&a[factors]);
  if (scales == nullptr || scales->size() != axes) a.fail("needs a factor for every axis");
  for (size_t i = 0; i < axes; ++i) {
    const double factor = (*scales)[i];
    Sym& size = out.shape[2 + i];
    if (!(factor > 0) || factor > 65536) a.fail("needs factors above 0");
    if (size.is_const()) {
      size = static_cast<int64_t>(std::floor(static_cast<double>(size.value()) * factor));
    } else if (factor == std::floor(factor)) {
      size = size * static_cast<int64_t>(factor);
    } else if (const double part = 1 / factor; part == std::floor(part)) {
      size = floordiv(size, static_cast<int64_t>(part));
    } else {
      throw Error(kUnsupported, "[ir] " + a.op().name() + ": a size of " + size.str() +
                                    " by a factor that is neither whole nor 1 / n; give the size");
    }
  }
  return {out};
}

const OpRow kRows[] = {
    {"aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
     padded, eval::pad},
    spelling("aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
             [](const Args& a) -> Values {
               return {emit(a, "aten::pad", a.value(0), a.syms(1), "constant", a.number(2))};
             }),
    {"aten::flip(Tensor self, int[] dims) -> Tensor", flipped, eval::flip},
    {"aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> "
     "Tensor",
     resized, eval::upsample},
    {"aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> "
     "Tensor",
     resized, eval::upsample},
    {"aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
     "float[]? scale_factors) -> Tensor",
     resized, eval::upsample},
    {"aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
     "float[]? scale_factors) -> Tensor",
     resized, eval::upsample},
    {"aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
     "float[]? scale_factors) -> Tensor",
     resized, eval::upsample},
};

}  // namespace

std::span<const OpRow> padding() { return kRows; }

}  // namespace slipway::ops
