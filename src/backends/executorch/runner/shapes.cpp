// The sizes that a method takes and gives, as expressions over symbols.
#include "backends/executorch/runner/shapes.h"

#include <fmt/format.h>

#include "base/json.h"
#include "slipway/error.h"

namespace slipway::executorch_runner {

using executorch::Port;
using executorch::PortKind;

namespace {

std::map<std::string, Sym> read_symbols(const std::string& text, const std::string& where) {
  std::map<std::string, Sym> symbols;
  if (text.empty()) return symbols;
  const Json json = parse_json(text, where);
  for (const auto& [name, bounds] : json.items()) {
    const bool good = bounds.is_array() && bounds.size() == 2 && bounds[0].is_number_integer() &&
                      bounds[1].is_number_integer();
    if (!good)
      throw Error(kInvalid, fmt::format("[executorch] {}: the bounds of {} are {}, need [min, max]",
                                        where, quote(name), describe(bounds)));
    symbols.emplace(name, Sym::symbol(name, bounds[0].get<int64_t>(), bounds[1].get<int64_t>()));
  }
  return symbols;
}

}  // namespace

Shapes::Shapes(const executorch::MethodOutline& method, std::string where)
    : method_(method), where_(std::move(where)), symbols_(read_symbols(method.dims, where_)) {
  for (const Port& port : method.inputs) inputs_.push_back(parse(port));
  for (const Port& port : method.outputs) outputs_.push_back(parse(port));
}

void Shapes::fail(const std::string& what) const {
  throw Error(kInvalid, fmt::format("[executorch] {}: {}", where_, what));
}

Shapes::Dims Shapes::parse(const Port& port) const {
  Dims dims;
  for (size_t i = 0; i < port.sizes.size(); ++i) {
    if (!port.dynamic) {
      dims.emplace_back(Sym(port.sizes[i]));
      continue;
    }
    try {
      dims.emplace_back(parse_sym(port.dims[i], [this](std::string_view name) {
        const auto at = symbols_.find(std::string(name));
        return at == symbols_.end() ? std::nullopt : std::optional(at->second);
      }));
    } catch (const Error&) {
      dims.emplace_back();  // "?", or words of somebody else
    }
  }
  return dims;
}

void Shapes::check_bounds(size_t input, const Shape& shape) const {
  const Port& port = method_.inputs[input];
  if (shape.size() != port.sizes.size())
    fail(fmt::format("input {} is {}, need {} dimensions", port.name, shape_string(shape),
                     port.sizes.size()));
  for (size_t i = 0; i < shape.size(); ++i) {
    const std::optional<Sym>& dim = inputs_[input][i];
    if (dim && dim->is_const() && shape[i] != dim->value())
      fail(fmt::format("dimension {} of input {} is {}, need {}", i, port.name, shape[i],
                       dim->value()));
    if (shape[i] > port.sizes[i] || shape[i] < 0)
      fail(
          fmt::format("dimension {} of input {} is {}, the program takes at most {}; export it "
                      "with higher bounds (dynamic_shapes)",
                      i, port.name, shape[i], port.sizes[i]));
    if (!dim || !dim->is_symbol()) continue;
    const Sym::Bounds bounds = dim->bounds();
    if (shape[i] < bounds.lo || shape[i] > bounds.hi)
      fail(fmt::format("{} is {} (dimension {} of input {}), need {} to {}", dim->name(), shape[i],
                       i, port.name, bounds.lo, bounds.hi));
  }
}

std::vector<std::optional<Shape>> Shapes::bind(std::span<const Shape> inputs) const {
  std::map<std::string, int64_t> values;
  std::map<std::string, std::string> from;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (method_.inputs[i].kind != PortKind::kTensor) continue;
    check_bounds(i, inputs[i]);
    for (size_t d = 0; d < inputs[i].size(); ++d) {
      const std::optional<Sym>& dim = inputs_[i][d];
      if (!dim || !dim->is_symbol()) continue;
      const auto [at, added] = values.try_emplace(dim->name(), inputs[i][d]);
      if (added) from[dim->name()] = method_.inputs[i].name;
      else if (at->second != inputs[i][d])
        fail(fmt::format("{} is {} in input {} and {} in input {}", dim->name(), at->second,
                         from[dim->name()], inputs[i][d], method_.inputs[i].name));
    }
  }
  const auto evaluate = [&](const std::optional<Sym>& dim) -> std::optional<int64_t> {
    if (!dim) return std::nullopt;
    for (const Sym symbol : dim->symbols())
      if (!values.contains(symbol.name())) return std::nullopt;
    return dim->evaluate(values);
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t d = 0; d < inputs[i].size() && d < inputs_[i].size(); ++d)
      if (const auto size = evaluate(inputs_[i][d]); size && *size != inputs[i][d])
        fail(fmt::format("dimension {} of input {} is {}, need {} = {}", d, method_.inputs[i].name,
                         inputs[i][d], inputs_[i][d]->str(), *size));
  std::vector<std::optional<Shape>> outputs;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Shape shape;
    for (size_t d = 0; d < outputs_[i].size(); ++d) {
      const auto size = evaluate(outputs_[i][d]);
      if (!size || *size < 0 || *size > method_.outputs[i].sizes[d]) break;
      shape.push_back(*size);
    }
    const bool known = shape.size() == outputs_[i].size();
    outputs.push_back(known ? std::optional(std::move(shape)) : std::nullopt);
  }
  return outputs;
}

}  // namespace slipway::executorch_runner
