// Arithmetic on the numbers of a program: sizes and what is computed from them.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "backends/dynamo/runner/torch.h"

namespace slipway::dynamo_runner {

enum class NumberOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kFloorDiv,
  kTrueDiv,
  kMod,
  kPow,
  kNeg,
  kPos,
  kAbs,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAnd,
  kOr,
  kNot,
  kInvert,
  kMin,
  kMax,
  kSum,
  kIte,
  kToFloat,
  kTrunc,
  kFloor,
  kCeil,
  kSqrt,
  kLeftShift,
  kRightShift,
};

/// The op of a serialized target: "_operator.add", "math.ceil", "torch.sym_max". Nothing for
/// others.
std::optional<NumberOp> find_number_op(std::string_view target);

/// How many operands it takes; nothing for any number of them.
std::optional<size_t> num_operands(NumberOp op);

/// Computes as Python does: floor division, the remainder's sign, integers kept apart from floats.
/// Throws Error{kInvalid} for a division by zero, an integer beyond 64 bits, and operands that are
/// not numbers.
c10::IValue apply(NumberOp op, std::span<const c10::IValue> operands);

}  // namespace slipway::dynamo_runner
