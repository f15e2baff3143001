// What a loaded component tells about itself, and validating an export by running it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "base/floats.h"
#include "base/json.h"
#include "base/log.h"
#include "checkpoint/expr.h"
#include "export/impl.h"
#include "runtime/dim_expr.h"
#include "slipway/exporter.h"

namespace slipway {
namespace {

std::vector<LeafSpec> leaves(const std::vector<IoSpec>& specs) {
  std::vector<LeafSpec> result;
  for (const IoSpec& spec : specs) {
    LeafSpec leaf{spec.name, spec.dtype, {}, spec.optional};
    for (const DimSpec& dim : spec.dims) leaf.dims.push_back(dim.text());
    result.push_back(leaf);
  }
  return result;
}

/// The sizes of the trace where a traced program has only the name of the input's axis for one
/// ("pixel_values_dim_2"): what else those may be is known to torch's guards, to no runtime.
std::map<std::string, int64_t> traced_sizes(const ModelRunner& runner,
                                            const ExportMetadata& metadata) {
  std::map<std::string, int64_t> sizes;
  for (const auto& [name, kwarg] : metadata.kwargs)
    for (const IoSpec& input : runner.inputs()) {
      if (input.name != name || kwarg.shape.size() != input.dims.size()) continue;
      for (size_t axis = 0; axis < input.dims.size(); ++axis)
        if (kwarg.shape[axis] > 0 &&
            input.dims[axis].symbol == fmt::format("{}_dim_{}", name, axis))
          sizes.emplace(input.dims[axis].symbol, kwarg.shape[axis]);
    }
  return sizes;
}

/// Symbols of the inputs: those of `given`, others set to small, different sizes within their
/// bounds.
std::map<std::string, int64_t> sizes_for(const ModelRunner& runner, int64_t round,
                                         std::map<std::string, int64_t> given) {
  std::map<std::string, int64_t> sizes = std::move(given);
  int64_t next = round + 1;
  for (const IoSpec& input : runner.inputs())
    for (const DimSpec& dim : input.dims) {
      if (dim.is_fixed() || dim.symbol.find_first_of(" +-*/") != std::string::npos) continue;
      int64_t size = next;
      if (const auto at = runner.limits().dims.find(dim.symbol); at != runner.limits().dims.end())
        size = std::clamp(next, at->second.min, at->second.max);
      if (dim.symbol == "cache_length") size = std::max<int64_t>(size, 16);  // room for the tokens
      if (sizes.emplace(dim.symbol, size).second) next = next % 5 + 1;
    }
  return sizes;
}

std::optional<int64_t> size_of(const DimSpec& dim, const std::map<std::string, int64_t>& sizes) {
  if (dim.is_fixed()) return dim.size;
  const std::optional<DimExpr> expr = DimExpr::parse(dim.symbol);
  if (!expr) return std::nullopt;
  return expr->evaluate([&](const std::string& name) -> std::optional<int64_t> {
    const auto at = sizes.find(name);
    return at == sizes.end() ? std::nullopt : std::optional(at->second);
  });
}

/// A mask of tokens whose length is a name that no other input has: the graph takes any, yet it
/// must be that of the tokens.
bool is_free_mask(const ModelRunner& runner, const IoSpec& mask) {
  if (mask.name != "attention_mask" || mask.dims.size() != 2 || mask.dims[1].is_fixed())
    return false;
  bool tokens = false;
  for (const IoSpec& input : runner.inputs()) {
    if (input.name == mask.name) continue;
    tokens = tokens || input.name == "input_ids" || input.name == "inputs_embeds";
    for (const DimSpec& dim : input.dims)
      if (dim.symbol == mask.dims[1].symbol) return false;
  }
  return tokens;
}

Inputs inputs_for(const ModelRunner& runner, const std::map<std::string, int64_t>& sizes) {
  Inputs inputs;
  for (const IoSpec& input : runner.inputs()) {
    Shape shape;
    bool known = true;
    for (const DimSpec& dim : input.dims) {
      const std::optional<int64_t> size = size_of(dim, sizes);
      known = known && size;
      shape.push_back(size.value_or(0));
    }
    // The runner fills in what follows from the others.
    if (!known || is_free_mask(runner, input) || input.name == "beam_idx") continue;
    Tensor tensor(input.dtype, shape);
    if (input.dtype == DType::kBool) {
      std::fill_n(reinterpret_cast<bool*>(tensor.mutable_data()), tensor.numel(), true);
    } else if (input.dtype == DType::kF32) {
      // Positive, and no two alike: logarithms, quotients and orders are then defined.
      const auto values = tensor.mutable_values<float>();
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = 0.1F + static_cast<float>(i * 619 % 1009) / 1009.0F;
    } else if (input.dtype == DType::kI64) {
      int64_t lo = 0, hi = 1;
      if (const auto at = runner.limits().values.find(input.name);
          at != runner.limits().values.end())
        lo = at->second.min, hi = at->second.max;
      const auto values = tensor.mutable_values<int64_t>();
      for (size_t i = 0; i < values.size(); ++i)
        values[i] =
            input.name == "attention_mask" ? 1 : std::min(hi, lo + static_cast<int64_t>(i) % 7);
    }
    inputs[input.name] = tensor;
  }
  return inputs;
}

void check_output(const std::string& component, const IoSpec& spec, const std::string& name,
                  const Tensor& value, const std::map<std::string, int64_t>& sizes) {
  const auto fail = [&](const std::string& what) {
    throw Error(kInternal,
                fmt::format("[validate] component '{}', output '{}': {}; please report this",
                            component, name, what));
  };
  if (value.dtype() != spec.dtype) fail("another dtype than declared");
  bool fits = value.shape().size() == spec.dims.size();
  for (size_t i = 0; fits && i < spec.dims.size(); ++i) {
    const auto at = sizes.find(spec.dims[i].symbol);
    const int64_t want = spec.dims[i].is_fixed() ? spec.dims[i].size
                         : at != sizes.end()     ? at->second
                                                 : value.shape()[i];
    fits = value.shape()[i] == want;
  }
  if (!fits)
    fail(fmt::format("shape {}, declared {}", shape_string(value.shape()), spec.dims_text()));
}

Tensor cast(const Tensor& value, DType dtype) {
  return materialize(*lazy_cast(lazy_constant(value), dtype));
}

Tensor widened(const Tensor& value) { return cast(value, DType::kF32); }

void check_finite(const std::string& component, const std::string& name, const Tensor& value,
                  const ExportMetadata& metadata) {
  if (!is_floating(value.dtype())) return;
  const Tensor wide = widened(value);
  for (const float v : wide.values<float>())
    if (!std::isfinite(v) && metadata.export_dtype == "float16")
      throw Error(kUnsupported,
                  fmt::format("[validate] component '{}', output '{}': a value that is not finite; "
                              "the model goes beyond the range of float16, export it as bf16 or "
                              "fp32",
                              component, name));
    else if (!std::isfinite(v))
      throw Error(kInternal, fmt::format("[validate] component '{}', output '{}': a value that is "
                                         "not finite; please report this",
                                         component, name));
}

/// Differences of this share of the largest number are rounding in another order. What is stored
/// or computed in a 16-bit dtype may come out as float32.
double tolerance(DType dtype, const ExportMetadata& metadata) {
  const Json config = Json::parse(metadata.export_config, nullptr, false);
  const bool halved = config.is_object() && config.value("compress_to_fp16", Json()) == true;
  if (dtype == DType::kBF16 || metadata.export_dtype == "bfloat16") return 1e-1;
  if (dtype == DType::kF16 || halved) return 2e-2;
  // Every result is rounded here and none there.
  return metadata.export_dtype == "float16" ? 5e-2 : 1e-3;
}

constexpr double kStepTolerance = 1e-1;

/// Where eager is finite, the values must be its.
void compare(const std::string& component, const ExportMetadata& metadata,
             const NamedTensors& outputs, const Outputs& eager, const ValidationOptions& options) {
  for (const auto& [name, value] : outputs) {
    const auto at = std::find_if(eager.begin(), eager.end(),
                                 [&](const auto& output) { return output.first == name; });
    if (at == eager.end() || at->second.shape() != value.shape()) continue;
    const Tensor got = widened(value), want = widened(at->second);
    double worst = 0, largest = 1;
    for (size_t i = 0; i < got.values<float>().size(); ++i) {
      const double w = want.values<float>()[i], distance = std::abs(got.values<float>()[i] - w);
      if (!std::isfinite(w)) continue;
      worst = std::isnan(distance) ? INFINITY : std::max(worst, distance);
      largest = std::max(largest, std::abs(w));
    }
    const double share = std::max(tolerance(value.dtype(), metadata),
                                  options.rounds_to_steps ? kStepTolerance : 0.0);
    if (worst > share * largest)
      throw Error(kInternal,
                  fmt::format("[validate] component '{}', output '{}' differs by {:.3g} from what "
                              "libtorch computes (largest number {:.3g}); please report this",
                              component, name, worst, largest));
  }
}

/// The inputs of PyTorch's program: those given, and what the other format does not read.
Inputs eager_inputs(const Runner& eager, const Inputs& given,
                    const std::map<std::string, int64_t>& sizes) {
  Inputs inputs = inputs_for(eager.impl().runner(), sizes);
  for (const LeafSpec& leaf : eager.inputs())
    if (const auto at = given.find(leaf.name); at != given.end())
      inputs.insert_or_assign(leaf.name,
                              is_floating(leaf.dtype) ? cast(at->second, leaf.dtype) : at->second);
  return inputs;
}

/// The runner of the same component, or null.
const Runner* eager_runner(const ValidationOptions& options, const std::string& component) {
  if (options.eager == nullptr) return nullptr;
  for (const auto& [name, runner] : options.eager->runners())
    if (name == component) return &runner;
  return nullptr;
}

void run_round(const std::string& name, const ModelRunner& checked, const ExportMetadata& metadata,
               const Runner* eager, const Inputs& inputs,
               const std::map<std::string, int64_t>& sizes, const ValidationOptions& options) {
  const NamedTensors outputs = checked.run(inputs);
  if (outputs.size() != checked.outputs().size())
    throw Error(kInternal, fmt::format("[validate] component '{}' gave {} outputs, declared {}",
                                       name, outputs.size(), checked.outputs().size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    check_output(name, checked.outputs()[i], outputs[i].first, outputs[i].second, sizes);
    if (!options.made_up_inputs_may_not_suit)
      check_finite(name, outputs[i].first, outputs[i].second, metadata);
  }
  if (eager != nullptr)
    compare(name, metadata, outputs, (*eager)(eager_inputs(*eager, inputs, sizes)), options);
}

}  // namespace

std::vector<LeafSpec> Runner::inputs() const { return leaves(impl_->runner().inputs()); }
std::vector<LeafSpec> Runner::outputs() const { return leaves(impl_->runner().outputs()); }
std::string Runner::runtime() const { return impl_->runner().session().runtime(); }

bool validate_export(const ExportedModel& exported, const ValidationOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  bool validated = false;
  for (const auto& [name, runner] : exported.runners()) {
    const ModelRunner& checked = runner.impl().runner();
    const Runner* eager = eager_runner(options, name);
    const ExportMetadata& metadata = exported.component(name).metadata;
    const auto traced = traced_sizes(checked, metadata);
    for (int64_t round = 0; round < 2; ++round) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (round > 0 && spent.count() > options.max_seconds) {
        log::warning(fmt::format("validation of '{}' stopped after {:.0f} s", name, spent.count()));
        break;
      }
      const auto sizes = sizes_for(checked, round, traced);
      const Inputs inputs = inputs_for(checked, sizes);
      for (const auto& [input, tensor] : inputs)
        if (tensor.dtype() == DType::kI64 && tensor.numel() > options.max_elements) {
          log::warning(fmt::format("'{}' is not validated: its input '{}' is fixed at {} elements",
                                   name, input, tensor.numel()));
          return false;
        }
      try {
        run_round(name, checked, metadata, eager, inputs, sizes, options);
        validated = true;
      } catch (const Error& error) {
        if (!options.made_up_inputs_may_not_suit || error.kind() == kInternal) throw;
        log::warning(fmt::format("'{}' is not validated: it refuses made-up inputs: {}", name,
                                 error.what()));
        return false;
      }
    }
  }
  return validated;
}

}  // namespace slipway
