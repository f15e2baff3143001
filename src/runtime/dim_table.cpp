// One value for every dimension name of a call, over all its inputs.
#include "runtime/dim_table.h"

#include <fmt/format.h>

#include "runtime/dim_expr.h"

namespace slipway {

void DimTable::add(const std::string& input, const IoSpec& spec, const Shape& shape) {
  if (spec.dims.empty()) return;
  if (shape.size() != spec.dims.size())
    throw Error(kInvalid, fmt::format("[{}] {} has shape {}, need {} dimensions: {}", where_, input,
                                      shape_string(shape), spec.dims.size(), spec.dims_text()));
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const DimSpec& dim = spec.dims[axis];
    if (dim.is_fixed()) {
      if (shape[axis] == dim.size) continue;
      throw Error(kInvalid, fmt::format("[{}] {} has shape {}, need {}: dimension {} was fixed to "
                                        "{} at export",
                                        where_, input, shape_string(shape), spec.dims_text(), axis,
                                        dim.size));
    }
    if (dim.symbol.empty()) continue;
    const auto [at, added] = known_.try_emplace(dim.symbol, Entry{shape[axis], input, axis});
    if (!added && at->second.size != shape[axis])
      throw Error(kInvalid,
                  fmt::format("[{}] {} has {} {} (dimension {}), but {} has {} (dimension {}); "
                              "both need the same size",
                              where_, input, dim.symbol, shape[axis], axis, at->second.input,
                              at->second.size, at->second.axis));
  }
}

std::optional<int64_t> DimTable::evaluate(const std::string& expression) const {
  const std::optional<DimExpr> expr = DimExpr::parse(expression);
  if (!expr) return std::nullopt;
  return expr->evaluate([this](const std::string& name) -> std::optional<int64_t> {
    const auto at = known_.find(name);
    if (at == known_.end()) return std::nullopt;
    return at->second.size;
  });
}

void DimTable::check_sums() const {
  for (const auto& [text, entry] : known_) {
    const std::optional<DimExpr> expr = DimExpr::parse(text);
    if (!expr || expr->is_symbol()) continue;
    const std::optional<int64_t> expected = evaluate(text);
    if (expected && *expected != entry.size)
      throw Error(kInvalid,
                  fmt::format("[{}] {} has size {} in dimension {}, need {} = {} from the other "
                              "inputs",
                              where_, entry.input, entry.size, entry.axis, text, *expected));
  }
}

void DimTable::check_ranges(const std::map<std::string, Range>& ranges) const {
  for (const auto& [name, range] : ranges) {
    const auto at = known_.find(name);
    const std::optional<int64_t> size =
        at != known_.end() ? std::optional(at->second.size) : evaluate(name);
    if (!size || range.contains(*size)) continue;
    const std::string who = at != known_.end() ? at->second.input + " has " : std::string{};
    throw Error(kInvalid, fmt::format("[{}] {}{} {}, the model takes {}", where_, who, name, *size,
                                      range.text()));
  }
}

std::optional<int64_t> DimTable::size_of(const DimSpec& dim) const {
  if (dim.is_fixed()) return dim.size;
  if (const auto at = known_.find(dim.symbol); at != known_.end()) return at->second.size;
  return evaluate(dim.symbol);
}

}  // namespace slipway
