// The names that graphs give their inputs and outputs.
#include "export/io_names.h"

#include <fmt/format.h>

#include <optional>

#include "ir/build.h"

namespace slipway {
namespace {

/// "3.key" of "past_key_values.layers.3.keys"; nothing for what is no layer's keys or values.
std::optional<std::string> cache_part(const std::string& leaf) {
  constexpr std::string_view kLayers = "past_key_values.layers.";
  if (!leaf.starts_with(kLayers)) return std::nullopt;
  const std::string rest = leaf.substr(kLayers.size());
  const size_t dot = rest.find('.');
  if (dot == 0 || dot == std::string::npos || rest.find_first_not_of("0123456789") != dot)
    return std::nullopt;
  const std::string part = rest.substr(dot + 1);
  if (part != "keys" && part != "values") return std::nullopt;
  return rest.substr(0, rest.size() - 1);
}

std::string input_name(const std::string& leaf) {
  const auto part = cache_part(leaf);
  return part ? "past_key_values." + *part : leaf;
}

}  // namespace

void apply_io_names(ExportedProgram& program, IoNames names) {
  if (names == IoNames::kTransformers) return;
  Graph& graph = *program.graph;
  for (Node* input : graph.inputs()) input->name = input_name(input->name);
  for (Output& output : graph.outputs()) {
    if (const auto part = cache_part(output.name)) output.name = "present." + *part;
    if (output.name == "logits" && output.value.dtype() != DType::kF32)
      output.value = to(output.value, DType::kF32);
  }
  if (names != IoNames::kTransformersJs) return;
  for (Node* input : graph.inputs())
    if (input->name == "logits_to_keep") input->name = "num_logits_to_keep";
  program.input_defaults.erase("logits_to_keep");
}

Inputs with_io_names(const Inputs& inputs, IoNames names) {
  if (names == IoNames::kTransformers) return inputs;
  Inputs renamed;
  for (const auto& [leaf, tensor] : inputs) renamed[input_name(leaf)] = tensor;
  return renamed;
}

}  // namespace slipway
