// Runs two graphs on the same seeded numbers.
#include "text_test_numeric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ir/eval.h"

namespace slipway::text_tests {
namespace {

using Dims = std::map<std::string, int64_t>;

double default_tolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-12;
    case DType::kF32:
      return 2e-6;
    case DType::kF16:
      return 4e-3;
    case DType::kBF16:
      return 3e-2;
    default:
      return is_floating(dtype) ? 0.3 : 0;
  }
}

/// What has to be given from outside: inputs, and weights and constants known by type only.
std::vector<const Node*> leaves(const Graph& graph) {
  std::vector<const Node*> found(graph.inputs().begin(), graph.inputs().end());
  for (const Node* node : graph.order())
    if (node->kind != NodeKind::kOp && node->kind != NodeKind::kInput && node->data == nullptr)
      found.push_back(node);
  return found;
}

/// Sizes that differ between symbols and rounds, inside the bounds.
Dims sizes(const Graph& graph, int64_t round) {
  std::vector<const Node*> nodes(graph.inputs().begin(), graph.inputs().end());
  for (const Node* node : graph.order()) nodes.push_back(node);
  Dims dims;
  for (const Node* node : nodes)
    for (const Sym size : node->types.at(0).shape)
      for (const Sym symbol : size.symbols()) {
        const Sym::Bounds b = symbol.bounds();
        const int64_t wanted = 2 + static_cast<int64_t>(dims.size()) + 3 * round;
        dims.emplace(symbol.name(), std::clamp(wanted, std::max<int64_t>(b.lo, 0), b.hi));
      }
  return dims;
}

Tensor random_tensor(const ValueType& type, const Dims& dims, std::mt19937& random) {
  Array array;
  array.dtype = type.dtype;
  for (const Sym size : type.shape) array.shape.push_back(size.evaluate(dims));
  array.values.resize(static_cast<size_t>(numel(array.shape)));
  for (double& v : array.values) {
    const auto bits = static_cast<double>(random() & 0xffff);
    if (type.dtype == DType::kBool) v = bits < 0x8000 ? 0 : 1;
    else v = is_floating(type.dtype) ? bits / 0x4000 - 2 : std::floor(bits * 3 / 0x10000);
  }
  array.round();
  return array.to_tensor();
}

std::string tensor_difference(const std::string& name, const Tensor& a, const Tensor& b,
                              double tolerance) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape())
    return fmt::format("output '{}': {}{} and {}{}", name, short_name(a.dtype()),
                       shape_string(a.shape()), short_name(b.dtype()), shape_string(b.shape()));
  const Array x = Array::from_tensor(a), y = Array::from_tensor(b);
  double scale = 1;
  for (const double v : x.values)
    if (std::isfinite(v)) scale = std::max(scale, std::fabs(v));
  if (tolerance == 0) tolerance = default_tolerance(a.dtype());
  for (size_t i = 0; i < x.values.size(); ++i) {
    const double p = x.values[i], q = y.values[i];
    if (p == q || (std::isnan(p) && std::isnan(q)) || std::fabs(p - q) <= tolerance * scale)
      continue;
    return fmt::format("output '{}' of {}: element {} is {} before and {} after", name,
                       shape_string(a.shape()), i, p, q);
  }
  return "";
}

}  // namespace

std::string numeric_difference(const Graph& before, const Graph& after, double tolerance) {
  const std::vector<const Node*> wanted = leaves(before);
  for (int64_t round = 0; round < 2; ++round) {
    const Dims dims = sizes(before, round);
    std::mt19937 random(static_cast<unsigned>(20 + round));
    std::map<std::string, Tensor> inputs;
    for (const Node* node : wanted)
      inputs[node->name] = random_tensor(node->types[0], dims, random);
    const auto x = evaluate(before, inputs, dims), y = evaluate(after, inputs, dims);
    for (const auto& [name, tensor] : x) {
      const auto at = y.find(name);
      if (at == y.end()) return fmt::format("output '{}' is gone", name);
      if (std::string d = tensor_difference(name, tensor, at->second, tolerance); !d.empty())
        return d;
    }
    if (x.size() != y.size()) return "there are new outputs";
  }
  return "";
}

}  // namespace slipway::text_tests
