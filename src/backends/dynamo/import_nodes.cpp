// Calls of ATen ops, sizes, and sub-graphs.
#include "backends/dynamo/import_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "backends/dynamo/import_complex.h"
#include "backends/dynamo/import_masks.h"
#include "backends/dynamo/import_sizes.h"
#include "base/json.h"
#include "ir/build.h"

namespace slipway::dynamo {
namespace {

constexpr std::string_view kOps = "torch.ops.", kHigherOrder = "torch.ops.higher_order.";

// Checks of what is known already; a graph without them computes the same.
constexpr std::pair<std::string_view, std::string_view> kOverloads[] = {
    // In-place ops whose functional form has another overload's name.
    {"aten::pow.Scalar", "aten::pow.Tensor_Scalar"},
    {"aten::pow.Tensor", "aten::pow.Tensor_Tensor"},
    {"aten::floor_divide.Tensor", "aten::floor_divide."},
};

constexpr std::string_view kChecks[] = {
    "torch.ops.aten._assert_tensor_metadata.", "torch.ops.aten._assert_scalar.",
    "torch.ops.aten._assert_async.", "torch.ops.aten.sym_constrain_range", "torch._check"};

// Python's operators that work in place; their names without the i are those that do not.
constexpr std::string_view kInPlaceOperators[] = {"__iand__", "__ior__", "__ixor__", "__ilshift__",
                                                  "__irshift__"};

// Ops of other libraries that one of ours stands for.
constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
    {"transformers::grouped_mm_fallback", "slipway::grouped_mm"},
};

bool is_check(const std::string& target) {
  return std::any_of(std::begin(kChecks), std::end(kChecks),
                     [&](std::string_view prefix) { return target.starts_with(prefix); });
}

/// An op's name as we write it.
struct Target {
  std::string space, name, overload;
  bool in_place = false;

  std::string full() const {
    return fmt::format("{}::{}{}{}", space, name, overload.empty() ? "" : ".", overload);
  }
};

/// "torch.ops.aten.add_.Tensor" -> aten, add, Tensor, in place. Nullopt for what is no op.
std::optional<Target> parse_target(const std::string& text) {
  if (!text.starts_with(kOps)) return std::nullopt;
  const size_t a = text.find('.', kOps.size());
  const size_t b = a == text.npos ? text.npos : text.find('.', a + 1);
  if (b == text.npos) return std::nullopt;
  Target target{text.substr(kOps.size(), a - kOps.size()), text.substr(a + 1, b - a - 1),
                text.substr(b + 1)};
  if (target.overload == "default") target.overload.clear();
  for (const auto& [theirs, ours] : kRenamed)
    if (target.full() == theirs) {
      target.space = ours.substr(0, ours.find(':'));
      target.name = ours.substr(ours.find(':') + 2);
    }
  if (std::find(std::begin(kInPlaceOperators), std::end(kInPlaceOperators), target.name) !=
      std::end(kInPlaceOperators)) {
    target.name.erase(2, 1);
    target.in_place = true;
  } else if (target.name.ends_with('_') && !target.name.ends_with("__")) {
    target.name.pop_back();
    target.in_place = true;
    for (const auto& [written, functional] : kOverloads)
      if (target.full() == written)
        target.overload = functional.substr(std::min(functional.find('.') + 1, functional.size()));
  }
  return target;
}

/// The row of a call: where a number stands for a tensor, the overload that takes numbers.
const Op* find_row(const schema::Node& node, const Target& target) {
  const Op* op = find_op(target.full());
  for (const schema::NamedArgument& input : node.inputs) {
    if (!is_number(input.arg)) continue;
    const int at = op == nullptr ? -1 : op->schema.find(input.name);
    if (at < 0 || op->schema.args[static_cast<size_t>(at)].type != ArgType::kTensor) continue;
    std::string overload = target.overload;
    if (overload.starts_with("Tensor")) overload.replace(0, 6, "Scalar");
    else overload = "Scalar";
    return find_op(fmt::format("{}::{}.{}", target.space, target.name, overload));
  }
  return op;
}

bool is_known(const schema::Node& node) {
  const std::string& name = node.target;
  if (is_check(name) || is_size_op(name) || is_complex_op(name)) return true;
  if (name == "torch.ops.higher_order.cond" ||
      name == "torch.ops.higher_order.wrap_with_set_grad_enabled" ||
      name == "torch.ops.higher_order.wrap_with_autocast")
    return true;
  const auto target = parse_target(name);
  if (!target) return false;
  return (target->space == "aten" && target->name == "copy") || find_row(node, *target) != nullptr;
}

/// The innermost module: the path of the last entry "key,path,class".
std::string scope_of(const schema::Node& node) {
  for (const auto& [key, text] : node.metadata) {
    if (key != "nn_module_stack") continue;
    const std::string last = text.substr(text.rfind(';') + 1);
    const size_t comma = last.find(',');
    if (comma == last.npos) return "";
    return last.substr(comma + 1, last.find(',', comma + 1) - comma - 1);
  }
  return "";
}

/// The tensor that an in-place op writes to.
const std::string& target_tensor(const schema::Node& node) {
  if (!node.inputs.empty())
    if (const std::string* name = tensor_name(node.inputs[0].arg)) return *name;
  fail_node(node, "its first argument is not a tensor");
}

std::string result_name(const schema::Node& node) {
  const std::string* name = node.outputs.empty() ? nullptr : tensor_name(node.outputs[0]);
  return name == nullptr ? "" : *name;
}

/// What an in-place op stores: in the dtype and shape of the tensor that is written to.
Value stored(Value value, Value like) {
  value = to(value, like.dtype());
  return value.shape() == like.shape() ? value : expand(value, like.shape());
}

/// Whether an in-place op leaves every element as it is: a division by 1.
bool is_identity(Value value, Value before) {
  const Node& node = *value.node();
  if (node.kind != NodeKind::kOp || value.type() != before.type()) return false;
  const bool scales =
      node.op->name() == "aten::mul.Scalar" || node.op->name() == "aten::div.Scalar";
  if (!scales || node.arguments().value(0) != before) return false;
  const Arg& by = node.args[1];
  return by == Arg(Sym(1)) || by == Arg(1.0);
}

/// Axes of arguments, counted from the last, that have one size or are 1.
using SharedSize = std::vector<std::pair<size_t, int64_t>>;

// query, key, value and mask: the lengths of the queries and of the keys, heads, batch.
const std::vector<SharedSize> kAttentionSizes = {
    {{0, -2}, {3, -2}}, {{1, -2}, {2, -2}, {3, -1}},          {{0, -1}, {1, -1}},
    {{0, -3}, {3, -3}}, {{0, -4}, {1, -4}, {2, -4}, {3, -4}},
};

/// Writes the simplest of the sizes that are not 1 in the place of the others. False where they
/// are the same already.
bool agree_on(const std::vector<SharedSize>& sizes, std::vector<Arg>& args) {
  std::map<size_t, SymShape> shapes;
  for (const SharedSize& places : sizes) {
    std::vector<Sym*> equal;
    for (const auto& [i, axis] : places) {
      const auto* value = i < args.size() ? std::get_if<Value>(&args[i]) : nullptr;
      if (value == nullptr || value->rank() < -axis) continue;
      SymShape& shape = shapes.emplace(i, value->shape()).first->second;
      Sym& size = shape[shape.size() - static_cast<size_t>(-axis)];
      if (!size.is_const(1)) equal.push_back(&size);
    }
    Sym* best = nullptr;
    for (Sym* size : equal)
      if (best == nullptr || size->str().size() < best->str().size()) best = size;
    for (Sym* size : equal) *size = *best;
  }
  bool changed = false;
  for (const auto& [i, shape] : shapes) {
    const Value value = std::get<Value>(args[i]);
    if (shape == value.shape()) continue;
    args[i] = view(value, shape);
    changed = true;
  }
  return changed;
}

}  // namespace

std::map<std::string, int64_t> unknown_ops(const std::vector<schema::Node>& nodes) {
  std::map<std::string, int64_t> unknown;
  for (const schema::Node& node : nodes) {
    if (!is_known(node)) unknown[node.target] += 1;
    for (const schema::NamedArgument& input : node.inputs)
      if (const auto* sub = input.arg.get<schema::GraphArgument>(); sub && sub->graph)
        for (const auto& [op, count] : unknown_ops(sub->graph->nodes)) unknown[op] += count;
  }
  return unknown;
}

void NodeImporter::run(const std::vector<schema::Node>& nodes) {
  for (const schema::Node& node : nodes) {
    const ScopeGuard scope(graph_, scope_of(node));
    try {
      import_node(node);
    } catch (const Error& error) {
      if (std::string_view(error.what()).find(describe_node(node)) != std::string_view::npos) throw;
      throw error.with_context(fmt::format("[pt2] {}", describe_node(node)));
    }
  }
}

void NodeImporter::import_node(const schema::Node& node) {
  if (is_check(node.target)) return;
  if (is_size_op(node.target)) return import_size_op(node, names_);
  if (node.target.starts_with(kHigherOrder)) return import_higher_order(node);
  if (touches_complex(node, names_)) return import_complex(node, graph_, names_);
  const auto target = parse_target(node.target);
  if (!target) throw Error(kUnsupported, fmt::format("[pt2] no row for {}", node.target));
  if (target->space == "aten" && target->name == "copy") {
    const schema::Argument* source = find_argument(node, "src");
    const std::string* from = source == nullptr ? nullptr : tensor_name(*source);
    if (from == nullptr) fail_node(node, "it has no tensor src");
    const std::string& name = target_tensor(node);
    const Value value = stored(names_.tensors.read(*from), names_.tensors.read(name));
    if (target->in_place) names_.tensors.write(name, value, result_name(node));
    else names_.tensors.define(result_name(node), value);
    return;
  }
  const Op* op = find_row(node, *target);
  if (op == nullptr) throw Error(kUnsupported, fmt::format("[pt2] no row for {}", node.target));
  import_call(node, *op, target->in_place);
}

std::vector<Value> NodeImporter::emit(const schema::Node& node, const Op& op,
                                      std::vector<Arg>& args) {
  const auto given = [&] {
    std::vector<OpArg> list;
    for (size_t i = 0; i < args.size(); ++i)
      list.push_back(named(op.schema.args[i].name, OpArg(args[i])));
    return list;
  };
  try {
    return graph_.emit_all(op, given());
  } catch (const Error& error) {
    if (error.kind() != kInvalid || !(restate(node, op, args) || agree(op, args))) throw;
  }
  try {
    return graph_.emit_all(op, given());
  } catch (const Error& error) {
    if (error.kind() != kInvalid || !agree(op, args)) throw;
  }
  return graph_.emit_all(op, given());
}

bool NodeImporter::agree(const Op& op, std::vector<Arg>& args) {
  if (op.name() == "aten::scaled_dot_product_attention") return agree_on(kAttentionSizes, args);
  if (!op.has(kElementwise)) return false;
  // Axes from the last one on are the same size.
  std::vector<SharedSize> sizes;
  for (size_t i = 0; i < args.size(); ++i)
    if (const auto* value = std::get_if<Value>(&args[i]))
      for (int64_t axis = 1; axis <= value->rank(); ++axis) {
        sizes.resize(std::max(sizes.size(), static_cast<size_t>(axis)));
        sizes[static_cast<size_t>(axis - 1)].push_back({i, -axis});
      }
  return agree_on(sizes, args);
}

bool NodeImporter::restate(const schema::Node& node, const Op& op, std::vector<Arg>& args) {
  bool changed = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const auto* value = std::get_if<Value>(&args[i]);
    const schema::Argument* argument = find_argument(node, op.schema.args[i].name);
    const std::string* name = argument == nullptr ? nullptr : tensor_name(*argument);
    if (value == nullptr || name == nullptr) continue;
    const auto shape = names_.recorded_shape(*name);
    if (!shape || *shape == value->shape() || shape->size() != value->shape().size()) continue;
    args[i] = view(*value, *shape);
    changed = true;
  }
  return changed;
}

void NodeImporter::settle_shape(const schema::Node& node, std::vector<Arg>& args) const {
  auto* sizes = std::get_if<std::vector<Sym>>(&args[1]);
  const std::string name = result_name(node);
  const auto recorded = names_.recorded_shape(name);
  if (sizes == nullptr || !recorded || recorded->size() != sizes->size()) return;
  for (size_t i = 0; i < sizes->size(); ++i)
    if ((*sizes)[i].is_const(-1)) (*sizes)[i] = (*recorded)[i];
}

void NodeImporter::import_call(const schema::Node& node, const Op& op, bool in_place) {
  std::vector<Arg> args = import_args(node, op, names_);
  if (op.name() == "aten::view" || op.name() == "aten::reshape") settle_shape(node, args);
  const std::optional<Value> masked = masked_write(op, args);
  const std::vector<Value> values = masked ? std::vector<Value>{*masked} : emit(node, op, args);
  bool is_view = view_step(op, args, 0).forward != nullptr;
  if (op.name() == "aten::contiguous")
    is_view = names_.recorded_contiguous(target_tensor(node));  // else it is a copy
  if (in_place && !is_view) {
    const std::string& name = target_tensor(node);
    const Value before = names_.tensors.read(name);
    const Value value = is_identity(values[0], before) ? before : stored(values[0], before);
    if (value == before) names_.tensors.define_alias(result_name(node), name);
    else names_.tensors.write(name, value, result_name(node));
    return;
  }
  const std::vector<std::string> outputs = output_names(node);
  if (outputs.size() != values.size())
    fail_node(node, fmt::format("it has {} outputs, {} gives {}", outputs.size(), op.name(),
                                values.size()));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (is_view)
      names_.tensors.define_view(outputs[i], target_tensor(node), view_step(op, args, i),
                                 values[i]);
    else if (!outputs[i].empty()) names_.tensors.define(outputs[i], values[i]);
}

std::vector<std::string> NodeImporter::output_names(const schema::Node& node) const {
  std::vector<std::string> names;
  for (const schema::Argument& output : node.outputs) {
    if (const std::string* name = tensor_name(output)) {
      names.push_back(*name);
    } else if (const auto* list = output.get<std::vector<schema::TensorArgument>>()) {
      for (const schema::TensorArgument& item : *list) names.push_back(item.name);
    } else if (output.get<schema::None>() != nullptr) {
      names.emplace_back();  // a result that nothing uses
    } else {
      throw Error(kUnsupported,
                  fmt::format("[pt2] {}: it returns {}: sizes and numbers that depend on values "
                              "are not supported",
                              describe_node(node), output.tag()));
    }
  }
  return names;
}

}  // namespace slipway::dynamo
