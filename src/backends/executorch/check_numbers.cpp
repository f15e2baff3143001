// Checks numbers among the arguments of kernels in .pte files, and follows those that are computed.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backends/executorch/check_calls.h"
#include "base/json.h"

namespace slipway::executorch::reading {

/// What kernels abort on, or trap, instead of returning an error.
void CallChecker::check_numbers(const KernelSignature& signature, const std::string& name,
                                const Args& args) {
  if (name == "aten::sym_size.int") check_size_call(args);
  if (name != "aten::as_strided_copy.out") check_counts(signature, name, args);
  if (name == "aten::embedding.out") {  // aborts for others
    const DType dtype = state(args.Get(1)).dtype;
    need(dtype == DType::kI64 || dtype == DType::kI32,
         fmt::format("argument 1 (indices) of {} is {}, need i64 or i32", name, short_name(dtype)));
  }
  if (name.starts_with("aten::arange.")) check_sequence(name, args);
  if (signature.divisor >= 0) {
    const int32_t id = args.Get(static_cast<uint32_t>(signature.divisor));
    const auto* number = value(id).val_as_Int();
    need(state(id).computed || !number || number->int_val() != 0,
         fmt::format("{} divides by 0", name));
  }
}

/// Kernels divide by these numbers, not all after a check.
void CallChecker::check_counts(const KernelSignature& signature, const std::string& name,
                               const Args& args) const {
  constexpr std::array<std::string_view, 7> kCounts{
      "kernel_size", "stride", "dilation", "groups", "group", "upscale_factor", "downscale_factor"};
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  constexpr double kMostOfWindow = 1 << 24;  // beyond which a kernel does not end
  for (uint32_t i = 0; i < signature.inputs.size(); ++i) {
    const std::string& input = signature.inputs[i].name;
    if (std::find(kCounts.begin(), kCounts.end(), input) == kCounts.end()) continue;
    const auto check = [&](int64_t id) {
      const IntRange range = state(static_cast<int32_t>(id)).range;
      need(!range.known() || (range.high > 0 && range.low <= kMost),
           fmt::format("argument {} ({}) of {} is {}, need 1 or more", i, input, name, range.low));
    };
    const fb::EValue& argument = value(args.Get(i));
    if (argument.val_as_Int()) check(args.Get(i));
    const auto* list = argument.val_as_IntList();
    if (!list) continue;
    double product = 1;
    for (const int64_t item : *list->items()) {
      check(item);
      const IntRange range = state(static_cast<int32_t>(item)).range;
      if (range.known()) product *= static_cast<double>(range.low);
    }
    need(input != "kernel_size" || product <= kMostOfWindow,
         fmt::format("argument {} ({}) of {} is larger than any image", i, input, name));
  }
}

/// The kernel aborts where there is no such dimension.
void CallChecker::check_size_call(const Args& args) {
  const int32_t axis = args.Get(1);
  const int64_t number = value(axis).val_as_Int() ? value(axis).val_as_Int()->int_val() : -1;
  const int64_t rank = state(args.Get(0)).tensor->sizes()->size();
  need(number >= 0 && number < rank,
       fmt::format("argument 1 (dim) of aten::sym_size.int is {}, tensor {} has {} dimensions",
                   number, args.Get(0), rank));
  axes_.push_back(axis);
}

/// The kernel aborts for a length that 32 bits do not hold.
void CallChecker::check_sequence(const std::string& name, const Args& args) const {
  constexpr int64_t kMost = int64_t{1} << 40;  // more than any tensor; a bound may be too high
  const bool from_zero = name == "aten::arange.out";
  const auto range = [&](uint32_t i) -> IntRange {
    const int32_t id = args.Get(i);
    if (const auto* real = value(id).val_as_Double(); real && !state(id).computed) {
      need(std::abs(real->double_val()) <= static_cast<double>(kMost),
           fmt::format("argument {} of {} is {}", i, name, real->double_val()));
      return {};
    }
    const IntRange found = state(id).range;
    need(!found.known() || (found.low >= -kMost && found.high <= kMost),
         fmt::format("argument {} of {} is {} to {}", i, name, found.low, found.high));
    return found;
  };
  const IntRange start = from_zero ? IntRange{0, 0} : range(0), end = range(from_zero ? 0 : 1);
  const IntRange step = from_zero ? IntRange{1, 1} : range(2);
  const auto* real_step = from_zero ? nullptr : value(args.Get(2)).val_as_Double();
  need((step.low != 0 || step.high != 0) && !(real_step && real_step->double_val() == 0),
       fmt::format("{} has a step of 0", name));
  const bool up = step.low > 0, down = step.high < 0;
  // The least length with a step of 1; what is known is checked to be below kMost.
  const bool long_one = up && step.high == 1 && end.known() && start.known() &&
                        end.low - start.high > std::numeric_limits<int32_t>::max();
  need(!long_one && !(up && end.high < start.low) && !(down && end.low > start.high),
       fmt::format("{} goes from {} to {} in steps of {}", name, start.low, end.high, step.low));
}

void CallChecker::give_number(const KernelSignature& signature, const std::string& name,
                              const Args& args) {
  const auto inputs = static_cast<uint32_t>(signature.inputs.size());
  State& result = state(args.Get(inputs));
  need(!(result.kinds & ~(kNumberValue | kNoneValue)),
       fmt::format("the result of {} is value {}, {}, need a number", name, args.Get(inputs),
                   describe(result.kinds)));
  switch (signature.gives) {
    case Gives::kInt:
      result.kinds = kIntValue;
      break;
    case Gives::kDouble:
      result.kinds = kDoubleValue;
      break;
    case Gives::kBool:
      result.kinds = kBoolValue;
      break;
    case Gives::kElement: {
      const DType dtype = state(args.Get(0)).dtype;
      result.kinds = kIntValue;
      if (dtype == DType::kBool) result.kinds = kBoolValue;
      if (is_floating(dtype)) result.kinds = kDoubleValue;
      break;
    }
    case Gives::kArithmetic: {
      bool real = false, whole = true;
      for (uint32_t i = 0; i < inputs; ++i) {
        real = real || state(args.Get(i)).kinds == kDoubleValue;
        whole = whole && state(args.Get(i)).kinds == kIntValue;
      }
      result.kinds = kNumberValue;
      if (real) result.kinds = kDoubleValue;
      if (whole) result.kinds = kIntValue;
      break;
    }
    default:
      result.kinds = kNumberValue;
  }
  result.computed = true;
  const auto range = [&](uint32_t i) { return i < inputs ? state(args.Get(i)).range : IntRange{}; };
  result.range = range_of(name, range(0), range(1));
  if (name == "aten::sym_size.int") {
    const auto axis = static_cast<uint32_t>(value(args.Get(1)).val_as_Int()->int_val());
    result.range = {0, state(args.Get(0)).tensor->sizes()->Get(axis)};
  }
}

void CallChecker::finish() const {
  for (const int32_t id : axes_)
    if (state(id).computed)
      file_.fail(
          fmt::format("method {}: a dimension of aten::sym_size.int is value {}, which is "
                      "computed",
                      quote(method_.name), id));
}

}  // namespace slipway::executorch::reading
