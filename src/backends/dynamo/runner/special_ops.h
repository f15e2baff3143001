// Ops that the runner does itself.
#pragma once

#include <span>
#include <string_view>

#include "backends/dynamo/runner/torch.h"

namespace slipway::dynamo_runner {

/// Rows of `input` [S, K], grouped by the ends in `offsets` [E] (int32 or int64, rising), times
/// `weight` [E, K, N] of their group: [S, N]. Rows after the last end are zero. Throws
/// Error{kInvalid} for other shapes and for ends that fall or lie beyond S.
at::Tensor grouped_mm(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& offsets);

/// Whether a linear layer has one row of float32 on the CPU: a step of one token. libtorch gives
/// that to BLAS as a product of matrices, for which OpenBLAS copies the whole weight first.
bool is_single_row(std::span<const c10::IValue> operands);
/// That layer as a product of the weight and a vector.
at::Tensor linear_row(std::span<const c10::IValue> operands);

/// Operands: tensor, sizes, strides, dtype, the last three optional. Throws Error{kInvalid}.
void assert_metadata(std::span<const c10::IValue> operands);
/// Operands: number, message.
void assert_scalar(std::span<const c10::IValue> operands);
/// Operands: number, least, greatest, the last two optional.
void constrain_range(std::span<const c10::IValue> operands);

}  // namespace slipway::dynamo_runner
