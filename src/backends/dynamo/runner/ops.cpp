// From the targets of a serialized graph to the ops of libtorch.
#include "backends/dynamo/runner/ops.h"

#include <ATen/core/function_schema.h>

#include <array>
#include <vector>

namespace slipway::dynamo_runner {
namespace {

constexpr std::string_view kPrefix = "torch.ops.";

struct Row {
  std::string_view target;
  Action action;
};

constexpr Row kOwn[] = {
    {"torch.ops.aten.sym_size.int", Action::kSize},
    {"torch.ops.aten.sym_stride.int", Action::kStride},
    {"torch.ops.aten.sym_numel.default", Action::kNumel},
    {"torch.ops.aten.sym_storage_offset.default", Action::kStorageOffset},
    {"torch.ops.aten._assert_tensor_metadata.default", Action::kAssertMetadata},
    {"torch.ops.aten._assert_scalar.default", Action::kAssertScalar},
    {"torch.ops.aten.sym_constrain_range.default", Action::kConstrainRange},
    {"torch.ops.aten.sym_constrain_range_for_size.default", Action::kConstrainRange},
    {"torch.ops.transformers.grouped_mm_fallback.default", Action::kGroupedMm},
    {"torch.ops.aten.linear.default", Action::kLinear},
};

/// namespace, name and overload of a target.
std::vector<std::string> parts_of(std::string_view target) {
  std::vector<std::string> parts;
  if (!target.starts_with(kPrefix)) return parts;
  target.remove_prefix(kPrefix.size());
  while (true) {
    const size_t dot = target.find('.');
    parts.emplace_back(target.substr(0, dot));
    if (dot == target.npos) return parts;
    target.remove_prefix(dot + 1);
  }
}

}  // namespace

std::optional<c10::OperatorHandle> find_op(std::string_view target) {
  const std::vector<std::string> parts = parts_of(target);
  constexpr std::array<std::string_view, 4> kNamespaces = {"aten", "quantized", "onednn", "mkldnn"};
  if (parts.size() != 3 ||
      std::find(kNamespaces.begin(), kNamespaces.end(), parts[0]) == kNamespaces.end() ||
      parts[1] == "from_file")
    return std::nullopt;
  return c10::Dispatcher::singleton().findSchema(
      {parts[0] + "::" + parts[1], parts[2] == "default" ? "" : parts[2]});
}

std::string op_name(std::string_view target) {
  const std::vector<std::string> parts = parts_of(target);
  if (parts.size() < 2) return std::string(target);
  std::string name = parts[0] + "::" + parts[1];
  if (parts.size() > 2 && parts[2] != "default") name += "." + parts[2];
  return name;
}

std::optional<Action> own_action(std::string_view target) {
  for (const Row& row : kOwn)
    if (row.target == target) return row.action;
  return std::nullopt;
}

const c10::FunctionSchema* own_schema(Action action) {
  if (action == Action::kGroupedMm) {
    static const auto* schema = new c10::FunctionSchema(
        "transformers::grouped_mm_fallback", "",
        {c10::Argument("input"), c10::Argument("weight"), c10::Argument("offs")},
        {c10::Argument("")});
    return schema;
  }
  for (const Row& row : kOwn)
    if (row.action == action)
      if (const auto op = find_op(row.target)) return &op->schema();
  return nullptr;
}

bool may_return_operand(std::string_view target) {
  constexpr std::string_view kNames[] = {
      "dropout",    "dropout_",   "feature_dropout",   "alpha_dropout",  "feature_alpha_dropout",
      "type_as",    "einsum",     "broadcast_tensors", "meshgrid",       "atleast_1d",
      "atleast_2d", "atleast_3d", "expand_as",         "cartesian_prod", "to_dense"};
  const std::vector<std::string> parts = parts_of(target);
  if (parts.size() < 2) return false;
  for (const std::string_view name : kNames)
    if (parts[1] == name) return true;
  return false;
}

}  // namespace slipway::dynamo_runner
