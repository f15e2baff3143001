// Arithmetic on the numbers of a program: sizes and what is computed from them.
#include "backends/dynamo/runner/numbers.h"

#include <fmt/format.h>

#include <cmath>

#include "slipway/error.h"

namespace slipway::dynamo_runner {
namespace {

using c10::IValue;

struct Row {
  std::string_view target;
  NumberOp op;
  int operands;  ///< -1: any number
};

constexpr Row kRows[] = {
    {"_operator.add", NumberOp::kAdd, 2},
    {"_operator.sub", NumberOp::kSub, 2},
    {"_operator.mul", NumberOp::kMul, 2},
    {"_operator.floordiv", NumberOp::kFloorDiv, 2},
    {"_operator.truediv", NumberOp::kTrueDiv, 2},
    {"_operator.mod", NumberOp::kMod, 2},
    {"_operator.pow", NumberOp::kPow, 2},
    {"_operator.neg", NumberOp::kNeg, 1},
    {"_operator.pos", NumberOp::kPos, 1},
    {"_operator.abs", NumberOp::kAbs, 1},
    {"_operator.eq", NumberOp::kEq, 2},
    {"_operator.ne", NumberOp::kNe, 2},
    {"_operator.lt", NumberOp::kLt, 2},
    {"_operator.le", NumberOp::kLe, 2},
    {"_operator.gt", NumberOp::kGt, 2},
    {"_operator.ge", NumberOp::kGe, 2},
    {"_operator.and_", NumberOp::kAnd, 2},
    {"_operator.or_", NumberOp::kOr, 2},
    {"_operator.invert", NumberOp::kInvert, 1},
    {"_operator.not_", NumberOp::kNot, 1},
    {"_operator.lshift", NumberOp::kLeftShift, 2},
    {"_operator.rshift", NumberOp::kRightShift, 2},
    {"math.pow", NumberOp::kPow, 2},
    {"math.trunc", NumberOp::kTrunc, 1},
    {"math.floor", NumberOp::kFloor, 1},
    {"math.ceil", NumberOp::kCeil, 1},
    {"math.sqrt", NumberOp::kSqrt, 1},
    {"_operator.max", NumberOp::kMax, -1},
    {"_operator.min", NumberOp::kMin, -1},
    {"torch.sym_max", NumberOp::kMax, -1},
    {"torch.sym_min", NumberOp::kMin, -1},
    {"torch.sym_sum", NumberOp::kSum, -1},
    {"torch.sym_ite", NumberOp::kIte, 3},
    {"torch.sym_not", NumberOp::kNot, 1},
    {"torch.sym_float", NumberOp::kToFloat, 1},
    {"torch.sym_int", NumberOp::kTrunc, 1},
    {"torch.sym_sqrt", NumberOp::kSqrt, 1},
};

std::string_view name_of(NumberOp op) {
  for (const Row& row : kRows)
    if (row.op == op) return row.target;
  return "?";
}

[[noreturn]] void fail(NumberOp op, std::string_view problem) {
  throw Error(kInvalid, fmt::format("[dynamo] {}: {}", name_of(op), problem));
}

double real(NumberOp op, const IValue& value) {
  if (value.isDouble()) return value.toDouble();
  if (value.isInt()) return static_cast<double>(value.toInt());
  if (value.isBool()) return value.toBool() ? 1 : 0;
  fail(op, "an operand is not a number");
}

int64_t whole(const IValue& value) { return value.isBool() ? value.toBool() : value.toInt(); }

int64_t to_whole(NumberOp op, double value) {
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0))
    fail(op, fmt::format("{} is not an integer of 64 bits", value));
  return static_cast<int64_t>(value);
}

int64_t floor_quotient(NumberOp op, int64_t a, int64_t b) {
  if (b == 0) fail(op, "division by zero");
  if (b == -1) {
    int64_t negated = 0;
    if (__builtin_sub_overflow(int64_t{0}, a, &negated)) fail(op, "an integer beyond 64 bits");
    return negated;
  }
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

int64_t power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result))
      fail(NumberOp::kPow, "an integer beyond 64 bits");
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
      fail(NumberOp::kPow, "an integer beyond 64 bits");
  }
  return result;
}

IValue of_integers(NumberOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case NumberOp::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case NumberOp::kSub:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case NumberOp::kMul:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case NumberOp::kFloorDiv:
      return floor_quotient(op, a, b);
    case NumberOp::kMod:
      if (b == -1) return int64_t{0};
      return a - floor_quotient(op, a, b) * b;
    case NumberOp::kPow:
      if (b >= 0) return power(a, b);
      return std::pow(static_cast<double>(a), static_cast<double>(b));
    case NumberOp::kTrueDiv:
      if (b == 0) fail(op, "division by zero");
      return static_cast<double>(a) / static_cast<double>(b);
    case NumberOp::kLeftShift:
    case NumberOp::kRightShift:
      if (b < 0 || b > 62) fail(op, fmt::format("a shift by {}", b));
      if (op == NumberOp::kRightShift) return a >> b;
      overflow = __builtin_mul_overflow(a, int64_t{1} << b, &result);
      break;
    default:
      fail(op, "not an operation on integers");
  }
  if (overflow) fail(op, "an integer beyond 64 bits");
  return result;
}

IValue of_reals(NumberOp op, double a, double b) {
  switch (op) {
    case NumberOp::kAdd:
      return a + b;
    case NumberOp::kSub:
      return a - b;
    case NumberOp::kMul:
      return a * b;
    case NumberOp::kPow:
      return std::pow(a, b);
    default:
      break;
  }
  if (op == NumberOp::kLeftShift || op == NumberOp::kRightShift)
    fail(op, "an operand is not an integer");
  if (b == 0) fail(op, "division by zero");
  if (op == NumberOp::kTrueDiv) return a / b;
  if (op == NumberOp::kFloorDiv) return std::floor(a / b);
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <class T>
bool compare(NumberOp op, T a, T b) {
  switch (op) {
    case NumberOp::kEq:
      return a == b;
    case NumberOp::kNe:
      return a != b;
    case NumberOp::kLt:
      return a < b;
    case NumberOp::kLe:
      return a <= b;
    case NumberOp::kGt:
      return a > b;
    default:
      return a >= b;
  }
}

IValue of_one(NumberOp op, const IValue& value) {
  const bool is_whole = !value.isDouble();
  switch (op) {
    case NumberOp::kNeg:
      return is_whole ? of_integers(NumberOp::kSub, 0, whole(value)) : IValue(-value.toDouble());
    case NumberOp::kPos:
      return value;
    case NumberOp::kAbs:
      if (!is_whole) return std::abs(value.toDouble());
      return whole(value) < 0 ? of_integers(NumberOp::kSub, 0, whole(value)) : IValue(whole(value));
    case NumberOp::kNot:
      return real(op, value) == 0;
    case NumberOp::kInvert:
      return value.isBool() ? IValue(!value.toBool()) : IValue(~whole(value));
    case NumberOp::kToFloat:
      return real(op, value);
    default:
      break;
  }
  const double x = real(op, value);
  switch (op) {
    case NumberOp::kTrunc:
      return is_whole ? whole(value) : to_whole(op, std::trunc(x));
    case NumberOp::kFloor:
      return is_whole ? whole(value) : to_whole(op, std::floor(x));
    case NumberOp::kCeil:
      return is_whole ? whole(value) : to_whole(op, std::ceil(x));
    case NumberOp::kSqrt:
      return std::sqrt(x);
    default:
      fail(op, "not an operation on one number");
  }
}

IValue of_two(NumberOp op, const IValue& a, const IValue& b) {
  const bool whole_numbers = !a.isDouble() && !b.isDouble();
  if (op == NumberOp::kAnd || op == NumberOp::kOr) {
    if (!whole_numbers) fail(op, "an operand is not an integer");
    if (a.isBool() && b.isBool())
      return op == NumberOp::kAnd ? a.toBool() && b.toBool() : a.toBool() || b.toBool();
    return op == NumberOp::kAnd ? whole(a) & whole(b) : whole(a) | whole(b);
  }
  if (op >= NumberOp::kEq && op <= NumberOp::kGe)
    return whole_numbers ? compare(op, whole(a), whole(b)) : compare(op, real(op, a), real(op, b));
  if (op == NumberOp::kMin || op == NumberOp::kMax) {
    const bool first = op == NumberOp::kMin ? !of_two(NumberOp::kLt, b, a).toBool()
                                            : !of_two(NumberOp::kGt, b, a).toBool();
    return first ? a : b;
  }
  return whole_numbers ? of_integers(op, whole(a), whole(b))
                       : of_reals(op, real(op, a), real(op, b));
}

}  // namespace

std::optional<NumberOp> find_number_op(std::string_view target) {
  for (const Row& row : kRows)
    if (row.target == target) return row.op;
  return std::nullopt;
}

std::optional<size_t> num_operands(NumberOp op) {
  for (const Row& row : kRows)
    if (row.op == op && row.operands >= 0) return static_cast<size_t>(row.operands);
  return std::nullopt;
}

IValue apply(NumberOp op, std::span<const IValue> operands) {
  for (const IValue& operand : operands)
    if (!operand.isInt() && !operand.isBool() && !operand.isDouble())
      fail(op, fmt::format("got {}, need a number", operand.tagKind()));
  if (const auto needs = num_operands(op); needs ? operands.size() != *needs : operands.empty())
    fail(op, fmt::format("got {} operands", operands.size()));
  if (op == NumberOp::kIte) return real(op, operands[0]) != 0 ? operands[1] : operands[2];
  if (op == NumberOp::kSum || op == NumberOp::kMin || op == NumberOp::kMax) {
    IValue result = operands[0];
    for (size_t i = 1; i < operands.size(); ++i)
      result = of_two(op == NumberOp::kSum ? NumberOp::kAdd : op, result, operands[i]);
    return result;
  }
  return operands.size() == 1 ? of_one(op, operands[0]) : of_two(op, operands[0], operands[1]);
}

}  // namespace slipway::dynamo_runner
