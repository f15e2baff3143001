// The kernels of ExecuTorch's release as target ops.
#pragma once

#include <span>
#include <string>

#include "ir/op.h"

namespace slipway::executorch {

/// A kernel's name as its runtime has it.
struct KernelName {
  std::string op;        ///< "aten::add"
  std::string overload;  ///< "out"
};

/// What the libraries of the 1.5.1 wheel register: 240 portable, optimized and primitive kernels
/// and 19 quantized ones, less those that take or give only numbers (emit.cpp uses these). An op is
/// named after its kernel, `et::add.out` for aten's; its arguments are the kernel's without the out
/// tensors, which become its results. `et::copy_` and `et::index_put_` write their first argument.
std::span<const OpRow> kernels_a_to_k();
std::span<const OpRow> kernels_l_to_z();

/// Registers all of them.
void register_kernels();

/// The kernel of an op of these namespaces.
KernelName kernel_of(const Op& op);
/// True for a kernel that writes to its first argument and gives it back.
bool writes_in_place(const Op& op);

}  // namespace slipway::executorch
