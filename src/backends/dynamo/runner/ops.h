// From the targets of a serialized graph to the ops of libtorch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/dynamo/runner/code.h"

namespace slipway::dynamo_runner {

/// The op of "torch.ops.aten.add.Tensor". Nothing where this libtorch has none of that name, and
/// for ops that reach beyond tensors (files, processes): nothing in a file is executed.
std::optional<c10::OperatorHandle> find_op(std::string_view target);

/// "aten::add.Tensor" of "torch.ops.aten.add.Tensor"; other targets as they are.
std::string op_name(std::string_view target);

/// What the runner does itself for a target, with arguments as the op declares them.
std::optional<Action> own_action(std::string_view target);

/// The op whose declaration an own action follows: grouped_mm_fallback is not libtorch's.
const c10::FunctionSchema* own_schema(Action action);

/// Whether a result may be one of the operands although its declaration does not say so: dropout
/// in a program for inference is one of those.
bool may_return_operand(std::string_view target);

}  // namespace slipway::dynamo_runner
