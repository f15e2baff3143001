// From example inputs and an export configuration to the sizes of a graph.
#include "export/resolve.h"

#include <fmt/format.h>

#include <algorithm>
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

/// "rows in 1..32", "7".
std::string text_of(Sym size) {
  if (!size.is_symbol()) return size.str();
  const auto [lo, hi] = size.bounds();
  return fmt::format("{} in {}..{}", size.name(), lo,
                     hi == Sym::kUnbounded ? "" : std::to_string(hi));
}

/// The choices made so far, each with the place that made it.
class Choices {
 public:
  /// `dim` is what the caller stated; nullopt for a size from the example.
  void choose(Sym own, Sym size, const std::optional<Dim>& dim, const std::string& where) {
    const auto [at, fresh] = chosen_.emplace(own.name(), Choice{size, dim, where});
    if (fresh || at->second.size == size) return;
    // AUTO is whatever the size is found to be.
    if (dim && dim->is_auto() && at->second.dim) return;
    if (dim && at->second.dim && at->second.dim->is_auto()) {
      at->second = Choice{size, dim, where};
      return;
    }
    throw Error(
        kInvalid,
        fmt::format("[export] {} is {}, but {} is {}; the model needs them equal ({})",
                    at->second.where, text_of(at->second.size), where, text_of(size), own.name()));
  }

  /// One name is one size: dimensions that share a Dim share its bounds, within what each can take.
  std::map<std::string, Sym> dims() const {
    std::map<std::string, std::pair<const Choice*, Sym>> named;
    for (const auto& [own, choice] : chosen_) {
      if (!choice.size.is_symbol()) continue;
      const auto [at, fresh] = named.emplace(choice.size.name(), std::pair(&choice, choice.size));
      if (!fresh) at->second.second = shared(*at->second.first, choice, at->second.second);
    }
    std::map<std::string, Sym> result;
    for (const auto& [own, choice] : chosen_)
      result.emplace(own,
                     choice.size.is_symbol() ? named.at(choice.size.name()).second : choice.size);
    return result;
  }

 private:
  struct Choice {
    Sym size;
    std::optional<Dim> dim;
    std::string where;
  };

  static Sym shared(const Choice& first, const Choice& second, Sym so_far) {
    const std::string& name = so_far.name();
    const bool same = !first.dim->is_auto() && !second.dim->is_auto() &&
                      first.dim->min == second.dim->min && first.dim->max == second.dim->max;
    const auto a = so_far.bounds(), b = second.size.bounds();
    if (same && std::max(a.lo, b.lo) <= std::min(a.hi, b.hi))
      return Sym::symbol(name, std::max(a.lo, b.lo), std::min(a.hi, b.hi));
    throw Error(kInvalid,
                fmt::format("[export] {} is {} and {} is {}: one name is one size; use the same "
                            "Dim for dimensions that are equal, another name for others",
                            first.where, text_of(so_far), second.where, text_of(second.size)));
  }

  std::map<std::string, Choice> chosen_;
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

/// Whether dynamic_shapes leaves an input out: then its sizes are those of the inputs it names, the
/// past is free, and only what nothing else decides comes from the example.
bool follows_others(const ExportConfig& config, const std::string& input) {
  return config.dynamic_shapes && config.dynamic_shapes->count(input) == 0;
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
  const auto decide = [&](const Node& input, bool follows) {
    const auto given = inputs.find(input.name);
    if (given != inputs.end()) check_example(input, given->second);
    const SymShape& shape = input.types[0].shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const Sym own = shape[axis];
      if (!own.is_symbol() || (follows && known.count(own.name()) != 0)) continue;
      std::optional<Dim> dim = stated(config, input.name, axis);
      if (follows && input.name.starts_with("past_key_values.")) dim = Dim::AUTO();
      if (dim && given == inputs.end() && config.dynamic_shapes) continue;
      if (dim) {
        choices.choose(own, dim->is_auto() ? own : bounded(own, *dim, config), dim,
                       place(input.name, axis));
      } else if (given != inputs.end()) {
        const int64_t size = given->second.shape()[axis];
        const auto bounds = own.bounds();
        if (size < bounds.lo || size > bounds.hi)
          throw Error(kInvalid, fmt::format("[export] {} is {}, the model takes {} to {}",
                                            place(input.name, axis), size, bounds.lo, bounds.hi));
        choices.choose(own, size, std::nullopt, place(input.name, axis));
      } else {
        continue;
      }
      known.insert(own.name());
    }
  };
  for (const bool follows : {false, true})
    for (const Node* input : symbolic.graph->inputs())
      if (follows == follows_others(config, input->name)) decide(*input, follows);
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
      if (own.is_const() || given == inputs.end() || stated(config, input->name, axis) ||
          follows_others(config, input->name))
        continue;
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
