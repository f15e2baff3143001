// Sizes as expressions of symbols.
#include "backends/dynamo/import_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace slipway::dynamo {
namespace {

Sym power(Sym base, Sym exponent) {
  if (!exponent.is_const() || exponent.value() < 0 || exponent.value() > 8)
    throw Error(kUnsupported, "[pt2] a power of sizes needs an exponent from 0 to 8");
  Sym value = 1;
  for (int64_t i = 0; i < exponent.value(); ++i) value = value * base;
  return value;
}

struct BinaryRow {
  std::string_view target;
  Sym (*apply)(Sym, Sym);
};

constexpr BinaryRow kBinary[] = {
    {"_operator.add", [](Sym a, Sym b) { return a + b; }},
    {"_operator.sub", [](Sym a, Sym b) { return a - b; }},
    {"_operator.mul", [](Sym a, Sym b) { return a * b; }},
    {"_operator.floordiv", [](Sym a, Sym b) { return floordiv(a, b); }},
    {"_operator.mod", [](Sym a, Sym b) { return mod(a, b); }},
    {"_operator.pow", power},
    {"torch.sym_max", [](Sym a, Sym b) { return max(a, b); }},
    {"torch.sym_min", [](Sym a, Sym b) { return min(a, b); }},
};

constexpr std::string_view kUnary[] = {"_operator.neg", "_operator.pos", "torch.sym_int",
                                       "math.trunc"};

// Conditions, which torch has checked, and what comes from the values of tensors.
constexpr std::string_view kOpaque[] = {"torch.sym_ite",
                                        "torch.sym_float",
                                        "torch.sym_sqrt",
                                        "_operator.truediv",
                                        "torch.ops.aten.item.default",
                                        "torch.ops.aten._local_scalar_dense.default",
                                        "_operator.eq",
                                        "_operator.ne",
                                        "_operator.le",
                                        "_operator.ge",
                                        "_operator.lt",
                                        "_operator.gt",
                                        "_operator.and_",
                                        "_operator.or_",
                                        "torch.sym_not"};

constexpr std::string_view kSize = "torch.ops.aten.sym_size.int";
constexpr std::string_view kNumel = "torch.ops.aten.sym_numel.default";

template <size_t N>
bool contains(const std::string_view (&list)[N], std::string_view target) {
  return std::find(std::begin(list), std::end(list), target) != std::end(list);
}

const BinaryRow* find_binary(std::string_view target) {
  for (const BinaryRow& row : kBinary)
    if (row.target == target) return &row;
  return nullptr;
}

Sym operand(const schema::Node& node, size_t i, const ImportNames& names) {
  if (i < node.inputs.size()) {
    const schema::Argument& argument = node.inputs[i].arg;
    if (const auto* value = argument.get<int64_t>()) return *value;
    if (const auto* size = argument.get<schema::SymIntArgument>()) return import_size(*size, names);
  }
  throw Error(kUnsupported,
              fmt::format("[pt2] {}: operand {} is not a whole number", describe_node(node), i));
}

bool uses_unknown(const schema::Node& node, const ImportNames& names) {
  for (const schema::NamedArgument& input : node.inputs)
    if (const auto* size = input.arg.get<schema::SymIntArgument>())
      if (const auto* name = std::get_if<schema::Name>(&size->value))
        if (names.unknown_sizes.contains(name->value)) return true;
  return false;
}

Sym tensor_size(const schema::Node& node, ImportNames& names) {
  const auto* tensor =
      node.inputs.empty() ? nullptr : node.inputs[0].arg.get<schema::TensorArgument>();
  if (tensor == nullptr)
    throw Error(kInvalid, fmt::format("[pt2] {}: it has no tensor", describe_node(node)));
  const SymShape shape = names.tensors.read(tensor->name).shape();
  if (node.target == kNumel) return numel(shape);
  const Sym axis = operand(node, 1, names);
  if (!axis.is_const())
    throw Error(kInvalid, fmt::format("[pt2] {}: its axis is symbolic", describe_node(node)));
  return shape[static_cast<size_t>(
      normalize_axis(axis.value(), static_cast<int64_t>(shape.size())))];
}

}  // namespace

bool is_size_op(std::string_view target) {
  return target == kSize || target == kNumel || find_binary(target) != nullptr ||
         contains(kUnary, target) || contains(kOpaque, target);
}

void import_size_op(const schema::Node& node, ImportNames& names) {
  const std::string& target = node.target;
  const auto* output =
      node.outputs.empty() ? nullptr : node.outputs[0].get<schema::SymIntArgument>();
  const auto* name = output == nullptr ? nullptr : std::get_if<schema::Name>(&output->value);
  if (name == nullptr) return;  // a condition, or a number that the file has already
  if (contains(kOpaque, target) || uses_unknown(node, names)) {
    names.unknown_sizes.insert(name->value);
    return;
  }
  Sym value;
  if (target == kSize || target == kNumel) {
    value = tensor_size(node, names);
  } else if (const BinaryRow* row = find_binary(target)) {
    value = row->apply(operand(node, 0, names), operand(node, 1, names));
  } else {
    value = operand(node, 0, names);
    if (target == "_operator.neg") value = Sym(0) - value;
  }
  names.sizes[name->value] = value;
}

}  // namespace slipway::dynamo
