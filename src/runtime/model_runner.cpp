// A loaded model as users call it: inputs by name, checked, converted and completed.
#include "runtime/model_runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "runtime/dim_table.h"
#include "runtime/input_defaults.h"
#include "runtime/input_values.h"
#include "runtime/state_names.h"
#include "runtime/static_cache.h"

namespace slipway {
namespace {

std::string without_prefix(const std::string& name, std::string_view prefix) {
  return name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
}

/// Specs under leaf names. A name keeps its prefix where the bare one is taken.
std::vector<IoSpec> leaf_specs(const Session& session, const std::vector<IoSpec>& specs,
                               std::string_view prefix) {
  std::set<std::string> taken;
  for (const IoSpec& spec : specs) taken.insert(spec.name);
  std::vector<IoSpec> leaves = specs;
  for (IoSpec& spec : leaves) {
    std::string bare =
        spec.state ? state_leaf(session.metadata(), spec.name) : without_prefix(spec.name, prefix);
    if (taken.insert(bare).second) spec.name = std::move(bare);
  }
  return leaves;
}

std::vector<std::string> names_of(const std::vector<IoSpec>& specs) {
  std::vector<std::string> names;
  for (const IoSpec& spec : specs) names.push_back(spec.name);
  return names;
}

std::vector<std::string> names_of(const Leaves& leaves) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : leaves) names.push_back(name);
  return names;
}

bool is_mask(std::string_view leaf) {
  return leaf.find("attention_mask") != leaf.npos;  // also decoder_..., and one per layer kind
}

/// Inputs that index a table: a negative one would silently read its end.
bool is_id(std::string_view leaf) {
  return leaf == "input_ids" || leaf == "decoder_input_ids" || leaf == "token_type_ids" ||
         leaf == "position_ids";
}

}  // namespace

ModelRunner::ModelRunner(Session session, const RunnerLimits& limits)
    : session_(std::move(session)),
      where_(session_.path().filename().string()),
      inputs_(leaf_specs(session_, session_.inputs(), "input.")),
      outputs_(leaf_specs(session_, session_.outputs(), "output.")),
      limits_(RunnerLimits::from_metadata(session_.metadata(), where_).merged(limits)) {}

Leaves ModelRunner::match_names(const Leaves& given) const {
  Leaves leaves;
  std::vector<std::string> dropped;
  for (const auto& [name, tensor] : given) {
    if (!tensor.defined())
      throw Error(kUsage, fmt::format("[{}] the input {} is an undefined tensor", where_, name));
    const std::string bare = without_prefix(name, "input.");
    auto spec = inputs_.begin();
    while (spec != inputs_.end() && spec->name != name && spec->name != bare) ++spec;
    if (spec == inputs_.end()) dropped.push_back(name);
    else if (!leaves.emplace(spec->name, tensor).second)
      throw Error(kUsage, fmt::format("[{}] got {} twice, with and without the prefix 'input.'",
                                      where_, spec->name));
  }
  if (!dropped.empty())
    log::warning_once(fmt::format("[{}] dropping inputs that the export does not take: {}", where_,
                                  fmt::join(dropped, ", ")));
  return leaves;
}

void ModelRunner::require_all(const Leaves& leaves, const Leaves& given) const {
  const bool static_cache = has_static_cache(inputs_);
  std::vector<std::string> missing, essential;
  bool some_caches = false, lacks_cache = false;
  for (const IoSpec& spec : inputs_) {
    const bool has = leaves.count(spec.name) != 0;
    if (!has && spec.optional) continue;
    if (!has) missing.push_back(spec.name);
    if (!has && (static_cache || !has_default(spec))) essential.push_back(spec.name);
    some_caches = some_caches || (has && is_growing_cache(spec));
    lacks_cache = lacks_cache || (!has && is_growing_cache(spec));
  }
  if (missing.empty()) return;
  if (!essential.empty()) missing = essential;  // the others follow from these
  const char* hint = some_caches && lacks_cache ? "; give all caches or none" : "";
  throw Error(kInvalid, fmt::format("[{}] needs the inputs {}, which were not given and have no "
                                    "default{}; got {}",
                                    where_, fmt::join(missing, ", "), hint,
                                    fmt::join(names_of(given), ", ")));
}

void ModelRunner::check_sizes(const Leaves& leaves) const {
  DimTable table(where_);
  for (const IoSpec& spec : inputs_)
    if (leaves.count(spec.name) != 0) table.add(spec.name, spec, leaves.at(spec.name).shape());
  table.check_sums();
  table.check_ranges(limits_.dims);
  for (const IoSpec& spec : inputs_) {
    if (leaves.count(spec.name) == 0) continue;
    const Tensor& tensor = leaves.at(spec.name);
    for (size_t axis = 0; axis < spec.dims.size(); ++axis) {
      const DimSpec& dim = spec.dims[axis];
      // An empty cache is an ordinary one; so is a size that the graph says may be 0.
      const bool may_be_empty =
          (axis > 0 && is_growing_cache(spec)) || limits_.dims.count(dim.symbol) != 0;
      if (tensor.shape()[axis] == 0 && !dim.is_fixed() && !may_be_empty)
        throw Error(kInvalid, fmt::format("[{}] {} has shape {}: {} is 0, need at least 1", where_,
                                          spec.name, shape_string(tensor.shape()), dim.text()));
    }
  }
}

void ModelRunner::check_input_values(const std::string& leaf, const Tensor& tensor) const {
  if (is_mask(leaf)) check_mask(tensor, where_, leaf);
  const auto at = limits_.values.find(leaf);
  if (at != limits_.values.end()) check_values(tensor, at->second, where_, leaf);
  else if (is_id(leaf)) check_values(tensor, Range{}, where_, leaf);
}

std::map<std::string, Tensor> ModelRunner::prepare(const Leaves& given) const {
  Leaves leaves = match_names(given);
  // What the caller gave is converted and checked before defaults are made from it.
  for (const IoSpec& spec : inputs_) {
    const auto at = leaves.find(spec.name);
    if (at == leaves.end()) continue;
    check_input_values(spec.name, at->second);
    at->second = convert_input(at->second, spec.dtype, where_, spec.name);
  }
  check_sizes(leaves);
  if (const auto layout = token_layout(inputs_, leaves)) {
    if (limits_.max_positions && layout->past &&
        (layout->tokens > *limits_.max_positions ||
         *layout->past > *limits_.max_positions - layout->tokens))
      throw Error(kInvalid, fmt::format("[{}] {} has {} tokens after {} cached ones, the model has "
                                        "{} positions",
                                        where_, layout->anchor, layout->tokens, *layout->past,
                                        *limits_.max_positions));
    check_mask_shape(inputs_, leaves, *layout, where_);
    check_slots(inputs_, leaves, *layout, where_);
    leaves = with_defaults(inputs_, leaves, *layout);
  }
  require_all(leaves, given);
  check_sizes(leaves);
  std::map<std::string, Tensor> ready;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const IoSpec& spec = inputs_[i];
    if (spec.optional && leaves.count(spec.name) == 0) continue;
    const Tensor& tensor = leaves.at(spec.name);
    if (given.count(spec.name) == 0) check_input_values(spec.name, tensor);
    ready[session_.inputs()[i].name] = convert_input(tensor, spec.dtype, where_, spec.name);
  }
  return ready;
}

const std::string* ModelRunner::find_state(const std::string& leaf) const {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].state && inputs_[i].name == leaf) return &session_.inputs()[i].name;
  return nullptr;
}

NamedTensors ModelRunner::run(const Leaves& given, const std::vector<std::string>& wanted) const {
  std::vector<std::string> graph_names, leaf_names;
  for (size_t i = 0; i < outputs_.size() && wanted.empty(); ++i) {
    graph_names.push_back(session_.outputs()[i].name);
    leaf_names.push_back(outputs_[i].name);
  }
  for (const std::string& name : wanted) {
    size_t i = 0;
    while (i < outputs_.size() && outputs_[i].name != name && session_.outputs()[i].name != name)
      ++i;
    if (const std::string* state = i == outputs_.size() ? find_state(name) : nullptr) {
      graph_names.push_back(*state);
      leaf_names.push_back(name);
      continue;
    }
    if (i == outputs_.size())
      throw Error(kUsage, fmt::format("[{}] no output {}, it has {}", where_, name,
                                      fmt::join(names_of(outputs_), ", ")));
    graph_names.push_back(session_.outputs()[i].name);
    leaf_names.push_back(outputs_[i].name);
  }
  NamedTensors results = session_.run(prepare(given), graph_names);
  for (size_t i = 0; i < results.size(); ++i) results[i].first = leaf_names[i];
  return results;
}

}  // namespace slipway
