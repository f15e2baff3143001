// From example inputs and an export configuration to the sizes of a graph.
#include "export/resolve.h"

#include <fmt/format.h>

#include <set>

#include "base/log.h"

namespace slipway {
namespace {

std::string place(const std::string& input, size_t axis) {
  return fmt::format("{} dimension {}", input, axis);
}

/// A symbol with the bounds that the caller stated, inside the model's own.
Sym bounded(Sym own, const Dim& dim, const ExportConfig& config) {
  const auto model = own.bounds();
  int64_t lo = dim.min.value_or(model.lo), hi = dim.max.value_or(model.hi);
  if (lo > hi)
    throw Error(kInvalid,
                fmt::format("[export] Dim '{}' has min {} above max {}", dim.name, lo, hi));
  const bool beyond = lo < model.lo || hi > model.hi;
  if (beyond && config.prefer_deferred_runtime_asserts_over_guards) {
    log::info(fmt::format("dimension '{}' is narrowed to what the model can take", dim.name));
    lo = std::max(lo, model.lo);
    hi = std::min(hi, model.hi);
  } else if (beyond) {
    throw Error(
        kInvalid,
        fmt::format("[export] Dim '{}' spans {}..{}, but the model needs {} in {}..{}; narrow "
                    "min and max, or set prefer_deferred_runtime_asserts_over_guards",
                    dim.name, lo, hi == Sym::kUnbounded ? "" : std::to_string(hi), own.str(),
                    model.lo, model.hi == Sym::kUnbounded ? "" : std::to_string(model.hi)));
  }
  return Sym::symbol(dim.name, lo, hi);
}

/// The choices made so far, each with the place that made it.
class Choices {
 public:
  void choose(Sym own, Sym choice, const std::string& where) {
    const auto [at, fresh] = chosen_.emplace(own.name(), std::pair(choice, where));
    if (fresh || at->second.first == choice) return;
    throw Error(
        kInvalid,
        fmt::format("[export] {} is {}, but {} is {}; the model needs them equal ({})",
                    at->second.second, at->second.first.str(), where, choice.str(), own.name()));
  }
  std::map<std::string, Sym> dims() const {
    std::map<std::string, Sym> result;
    for (const auto& [name, choice] : chosen_) result.emplace(name, choice.first);
    return result;
  }

 private:
  std::map<std::string, std::pair<Sym, std::string>> chosen_;
};

/// What the configuration says about one axis: a Dim, or nullopt for the example's size.
std::optional<Dim> stated(const ExportConfig& config, const std::string& input, size_t axis) {
  if (!config.dynamic_shapes) return config.dynamic ? std::optional(Dim::AUTO()) : std::nullopt;
  const auto at = config.dynamic_shapes->find(input);
  if (at == config.dynamic_shapes->end()) return std::nullopt;
  for (const auto& [wanted, dim] : at->second)
    if (wanted == static_cast<int64_t>(axis)) return dim;
  return std::nullopt;
}

void check_names(const ExportedProgram& program, const ExportConfig& config) {
  if (!config.dynamic_shapes) return;
  for (const auto& [name, axes] : *config.dynamic_shapes) {
    const Node* found = nullptr;
    std::string names;
    for (const Node* input : program.graph->inputs()) {
      if (input->name == name) found = input;
      names += (names.empty() ? "" : ", ") + input->name;
    }
    if (found == nullptr)
      throw Error(kInvalid, fmt::format("[export] dynamic_shapes names '{}', the model takes {}",
                                        name, names));
    const auto rank = static_cast<int64_t>(found->types[0].shape.size());
    for (const auto& [axis, dim] : axes)
      if (axis < 0 || axis >= rank)
        throw Error(kInvalid,
                    fmt::format("[export] dynamic_shapes names dimension {} of '{}', which has {}",
                                axis, name, rank));
  }
}

void check_example(const Node& input, const Tensor& example) {
  const ValueType& type = input.types[0];
  bool fits = example.shape().size() == type.shape.size();
  for (size_t i = 0; fits && i < type.shape.size(); ++i)
    fits = !type.shape[i].is_const() || type.shape[i].value() == example.shape()[i];
  if (!fits)
    throw Error(kInvalid,
                fmt::format("[export] the example of '{}' has shape {}, the model needs {}",
                            input.name, shape_string(example.shape()), shape_string(type.shape)));
}

}  // namespace

std::map<std::string, Sym> resolve_dims(const ExportedProgram& symbolic, const Inputs& inputs,
                                        const ExportConfig& config) {
  check_names(symbolic, config);
  Choices choices;
  std::set<std::string> known;
  for (const Node* input : symbolic.graph->inputs()) {
    const auto given = inputs.find(input->name);
    if (given != inputs.end()) check_example(*input, given->second);
    const SymShape& shape = input->types[0].shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const Sym own = shape[axis];
      if (!own.is_symbol()) continue;
      const std::optional<Dim> dim = stated(config, input->name, axis);
      if (dim && given == inputs.end() && config.dynamic_shapes) continue;
      if (dim) {
        choices.choose(own, dim->is_auto() ? own : bounded(own, *dim, config),
                       place(input->name, axis));
      } else if (given != inputs.end()) {
        const int64_t size = given->second.shape()[axis];
        const auto bounds = own.bounds();
        if (size < bounds.lo || size > bounds.hi)
          throw Error(kInvalid, fmt::format("[export] {} is {}, the model takes {} to {}",
                                            place(input->name, axis), size, bounds.lo, bounds.hi));
        choices.choose(own, size, place(input->name, axis));
      } else {
        continue;
      }
      known.insert(own.name());
    }
  }
  std::map<std::string, Sym> dims = choices.dims();
  for (const Node* input : symbolic.graph->inputs()) {
    const auto given = inputs.find(input->name);
    for (size_t axis = 0; axis < input->types[0].shape.size(); ++axis) {
      const Sym own = input->types[0].shape[axis];
      for (Sym s : own.symbols())
        if (known.count(s.name()) == 0)
          throw Error(
              kInvalid,
              fmt::format("[export] nothing says how large '{}' is; give an example of '{}' "
                          "or export with dynamic shapes",
                          s.name(), input->name));
      if (own.is_const() || given == inputs.end() || stated(config, input->name, axis)) continue;
      const Sym size = own.substitute(dims);
      if (!size.is_const(given->second.shape()[axis]))
        throw Error(
            kInvalid,
            fmt::format("[export] {} is {} = {} in the graph, the example has {}; make it dynamic "
                        "too or fix the others",
                        place(input->name, axis), own.str(), size.str(),
                        given->second.shape()[axis]));
    }
  }
  return dims;
}

}  // namespace slipway
