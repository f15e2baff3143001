// The kernels of ExecuTorch's release as target ops: names.
#include "backends/executorch/kernels.h"

#include <array>

#include "slipway/error.h"

namespace slipway::executorch {
namespace {

/// Namespaces of target ops and of the kernels behind them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNamespaces = {{
    {"et", "aten"},
    {"et_device", "et_copy"},
    {"et_dim_order", "dim_order_ops"},
    {"et_quantized", "quantized_decomposed"},
}};

std::vector<ValueType> quantized_linear(const Args& a) {
  ValueType out = a.type(0);
  out.shape.back() = a.type(1).shape[0];
  return {out};
}

/// What lowering writes and no kernel is.
constexpr OpRow kOwn[] = {
    // The last elements of an axis, as many as a tensor says: emit() makes several calls of it.
    {"et::slice_last(Tensor self, int dim, Tensor count) -> Tensor", nullptr},
    // A product of matrices batched over the axes before: delegates take it as it is,
    // expand_own_ops() writes the others as et::bmm.out.
    {"et::matmul(Tensor self, Tensor other, *, bool transpose_b=False) -> Tensor", nullptr},
    // quantized_layers.h
    {"et::linear_quantized(Tensor input, Tensor weight, Tensor scales, Tensor? bias=None, *, "
     "bool dynamic=False) -> Tensor",
     quantized_linear},
    {"et::linear_int8(Tensor input, Tensor weight, Tensor scales, Tensor? bias, Tensor? "
     "bias_scales, float[] parameters) -> Tensor",
     quantized_linear},
    {"et::round_to(Tensor input, float scale, int zero_point, bool signed) -> Tensor",
     [](const Args& a) { return std::vector<ValueType>{a.type(0)}; }},
};

}  // namespace

void register_kernels() {
  register_ops(kOwn);
  register_ops(kernels_a_to_k());
  register_ops(kernels_l_to_z());
}

KernelName kernel_of(const Op& op) {
  const std::string& name = op.name();
  const size_t colons = name.find("::"), dot = name.find('.', colons);
  for (const auto& [ours, theirs] : kNamespaces)
    if (name.substr(0, colons) == ours)
      return {
          std::string(theirs) + name.substr(colons, dot == std::string::npos ? dot : dot - colons),
          dot == std::string::npos ? "" : name.substr(dot + 1)};
  throw Error(kInternal, "[executorch] " + name + " is no kernel");
}

bool writes_in_place(const Op& op) { return op.name().ends_with('_'); }

}  // namespace slipway::executorch
