// The arguments of nodes, and the conditions on a program's inputs, in torch's notation.
#include "backends/dynamo/arguments.h"

#include <fmt/format.h>

#include <algorithm>

namespace slipway::dynamo {
namespace {

using schema::Argument;
using schema::TensorArgument;

constexpr int64_t kByPosition = 1, kByKeyword = 2;

class Converter {
 public:
  Converter(const std::map<Value, std::string>& names, Sizes& sizes)
      : names_(names), sizes_(sizes) {}

  Argument operator()(const SchemaArg& arg, const Arg& value) {
    if (const auto* v = std::get_if<Value>(&value)) return {TensorArgument{names_.at(*v)}};
    if (const auto* list = std::get_if<std::vector<Value>>(&value)) return tensors(arg, *list);
    if (const auto* flag = std::get_if<bool>(&value)) return {*flag};
    if (const auto* s = std::get_if<Sym>(&value)) return size(*s);
    if (const auto* list = std::get_if<std::vector<Sym>>(&value)) return size_list(*list);
    if (const auto* number = std::get_if<double>(&value)) return {*number};
    if (const auto* list = std::get_if<std::vector<double>>(&value)) return {*list};
    if (const auto* text = std::get_if<std::string>(&value)) return {*text};
    if (const auto* dtype = std::get_if<DType>(&value)) return {schema::to_scalar_type(*dtype)};
    return {schema::None{}};
  }

 private:
  Argument size(Sym s) {
    if (s.is_const()) return {s.value()};
    return {sizes_.argument(s)};
  }

  Argument size_list(const std::vector<Sym>& list) {
    if (std::all_of(list.begin(), list.end(), [](Sym s) { return s.is_const(); })) {
      std::vector<int64_t> numbers;
      for (Sym s : list) numbers.push_back(s.value());
      return {std::move(numbers)};
    }
    std::vector<schema::SymIntArgument> items;
    for (Sym s : list) items.push_back(sizes_.argument(s));
    return {std::move(items)};
  }

  Argument tensors(const SchemaArg& arg, const std::vector<Value>& list) {
    if (arg.optional_items) {
      std::vector<schema::OptionalTensorArgument> items;
      for (Value v : list) {
        if (v.defined()) items.push_back({TensorArgument{names_.at(v)}});
        else items.push_back({schema::None{}});
      }
      return {std::move(items)};
    }
    std::vector<TensorArgument> items;
    for (Value v : list) items.push_back({names_.at(v)});
    return {std::move(items)};
  }

  const std::map<Value, std::string>& names_;
  Sizes& sizes_;
};

std::string python_text(Sym size, const std::map<std::string, std::string>& sources) {
  if (size.is_const()) return std::to_string(size.value());
  if (size.is_symbol()) return sources.at(size.name());
  const auto join = [&](const char* between) {
    std::string text;
    for (Sym part : size.args()) text += (text.empty() ? "" : between) + python_text(part, sources);
    return text;
  };
  switch (size.kind()) {
    case SymKind::kAdd:
      return "(" + join(" + ") + ")";
    case SymKind::kMul:
      return "(" + join("*") + ")";
    case SymKind::kFloorDiv:
      return "(" + join("//") + ")";
    case SymKind::kMod:
      return "(" + join(" % ") + ")";
    case SymKind::kMin:
      return "min(" + join(", ") + ")";
    default:
      return "max(" + join(", ") + ")";
  }
}

/// The Python path of each leaf of a call: L['input_ids'], L['past_key_values'][3].
void find_paths(const TreeSpec& spec, const std::string& path, std::vector<std::string>& out) {
  if (spec.is_leaf()) {
    out.push_back(path);
    return;
  }
  for (size_t i = 0; i < spec.children.size(); ++i)
    find_paths(spec.children[i],
               spec.type == "builtins.dict"
                   ? fmt::format("{}['{}']", path, spec.context.at(i).get<std::string>())
                   : fmt::format("{}[{}]", path, i),
               out);
}

}  // namespace

std::vector<schema::NamedArgument> named_arguments(const Node& node,
                                                   const std::map<Value, std::string>& names,
                                                   Sizes& sizes) {
  Converter convert(names, sizes);
  const std::vector<SchemaArg>& schema = node.op->schema.args;
  const auto is_default = [&](size_t i) {
    return schema[i].has_default ? node.args[i] == schema[i].default_value
                                 : std::holds_alternative<std::monostate>(node.args[i]);
  };
  size_t last = 0;  // positional arguments stand without gaps
  for (size_t i = 0; i < schema.size(); ++i)
    if (!schema[i].keyword_only && (!schema[i].has_default || !is_default(i))) last = i + 1;
  std::vector<schema::NamedArgument> result;
  for (size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].keyword_only ? is_default(i) : i >= last) continue;
    result.push_back({schema[i].name, convert(schema[i], node.args[i]),
                      schema[i].keyword_only ? kByKeyword : kByPosition});
  }
  if (node.op->schema.find("device") >= 0 && operands(node).empty())
    result.push_back({"device", {schema::Device{}}, kByKeyword});
  return result;
}

std::vector<std::string> guards_code(const Graph& graph, const TreeSpec& in_spec) {
  if (in_spec.children.at(0).num_leaves() != 0) return {};  // only keyword arguments have paths
  std::vector<std::string> paths;
  find_paths(in_spec.children.at(1), "L", paths);
  const std::vector<std::string> leaves = input_leaf_names(in_spec, "in_spec");
  std::map<std::string, std::string> sources;
  std::vector<std::pair<Sym, std::string>> sums;
  for (size_t i = 0; i < leaves.size(); ++i)
    for (const Node* input : graph.inputs()) {
      if (input->name != leaves[i]) continue;
      const SymShape& shape = input->types[0].shape;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        const std::string source = fmt::format("{}.size()[{}]", paths[i], axis);
        if (shape[axis].is_symbol()) sources.emplace(shape[axis].name(), source);
        else if (!shape[axis].is_const()) sums.emplace_back(shape[axis], source);
      }
    }
  std::vector<std::string> guards;
  for (const auto& [sum, source] : sums) {
    const std::vector<Sym> symbols = sum.symbols();
    if (std::all_of(symbols.begin(), symbols.end(),
                    [&](Sym s) { return sources.contains(s.name()); }))
      guards.push_back(fmt::format("{} == {}", source, python_text(sum, sources)));
  }
  return guards;
}

}  // namespace slipway::dynamo
