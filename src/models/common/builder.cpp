// The builder that model files write into.
#include <fmt/format.h>

#include <limits>

#include "checkpoint/expr.h"
#include "models/model.h"

namespace slipway::models {

Scope Scope::operator/(std::string_view child) const {
  return Scope(*builder_, path_.empty() ? std::string(child) : fmt::format("{}.{}", path_, child));
}

Value Scope::weight(std::string_view name, const Shape& expected, std::string_view why) const {
  return builder_->weight((*this / name).path(), expected, why);
}

ScopeGuard Scope::enter() const { return ScopeGuard(builder_->graph(), path_); }

Sym ModelBuilder::dim(const std::string& name, int64_t lo, int64_t hi, std::string_view why) const {
  const auto at = options_.dims.find(name);
  if (at == options_.dims.end()) return Sym::symbol(name, lo, hi);
  const auto bounds = at->second.bounds();
  if (bounds.lo < lo || bounds.hi > hi)
    throw Error(
        kInvalid,
        fmt::format("[export] dimension '{}' is asked for in {}..{}, the model keeps {}..{}{}; "
                    "narrow its bounds",
                    at->second.str(), bounds.lo,
                    bounds.hi == Sym::kUnbounded ? "" : std::to_string(bounds.hi), lo,
                    hi == Sym::kUnbounded ? "" : std::to_string(hi),
                    why.empty() ? "" : fmt::format(" ({})", why)));
  return at->second;
}

Value ModelBuilder::input(const std::string& name, DType dtype, SymShape shape) {
  return graph().add_input(name, {dtype, std::move(shape)});
}

Value ModelBuilder::ids(const std::string& name, SymShape shape, int64_t count) {
  program_.value_ranges[name] = {0, count - 1};
  return input(name, DType::kI64, std::move(shape));
}

Value ModelBuilder::defaulted_input(const std::string& name, Tensor value) {
  const Value in = input(name, value.dtype(), SymShape(value.shape().begin(), value.shape().end()));
  if (value.dtype() == DType::kI64)
    program_.value_ranges[name] = {0, std::numeric_limits<int64_t>::max()};
  program_.input_defaults[name] = std::move(value);
  return in;
}

Value ModelBuilder::mask_input(const std::string& name, SymShape shape,
                               std::optional<int64_t> window) {
  program_.mask_windows[name] = window;
  return input(name, DType::kBool, std::move(shape));
}

Value ModelBuilder::weight(const std::string& name, const Shape& expected, std::string_view why) {
  const Lazy stored = binder_.bind(name, expected, why);
  Lazy& cast = cast_[stored];
  if (!cast) cast = lazy_cast(stored, options_.dtype);
  return graph().add_weight(name, cast);
}

}  // namespace slipway::models
