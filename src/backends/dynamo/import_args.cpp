// Converts serialized arguments by the kinds that an op's schema asks for.
#include "backends/dynamo/import_args.h"

#include <fmt/format.h>

#include "base/json.h"

namespace slipway::dynamo {
namespace {

using schema::Argument;

bool is_aten(const Op& op) { return op.name().starts_with("aten::"); }

class Converter {
 public:
  Converter(const schema::Node& node, const SchemaArg& want, ImportNames& names)
      : node_(node), want_(want), names_(names) {}

  Arg convert(const Argument& got) {
    if (got.get<schema::None>() != nullptr) return none(got);
    switch (want_.type) {
      case ArgType::kTensor:
        return tensor(got);
      case ArgType::kTensorList:
        return tensors(got);
      case ArgType::kInt:
        return size(got);
      case ArgType::kIntList:
        return sizes(got);
      case ArgType::kFloat:
        return number(got);
      case ArgType::kFloatList:
        if (const auto* list = got.get<std::vector<double>>()) return *list;
        fail(got, "floats");
      case ArgType::kBool:
        if (const auto* flag = got.get<bool>()) return *flag;
        fail(got, "a bool");
      case ArgType::kScalar:
        return scalar(got);
      case ArgType::kDType:
        return dtype(got);
      case ArgType::kString:
        if (const auto* text = got.get<std::string>()) return *text;
        fail(got, "a text");
      case ArgType::kOther:
        return std::monostate{};
    }
    fail(got, "a known kind");
  }

 private:
  [[noreturn]] void fail(const Argument& got, std::string_view need) const {
    throw Error(kInvalid, fmt::format("[pt2] {}: argument {} is {}, need {}", describe_node(node_),
                                      want_.name, got.tag(), need));
  }

  Arg none(const Argument& got) const {
    if (!want_.optional && want_.type != ArgType::kOther) fail(got, "a value");
    return std::monostate{};
  }

  Arg tensor(const Argument& got) {
    if (const auto* t = got.get<schema::TensorArgument>()) return names_.tensors.read(t->name);
    if (const auto* t = got.get<schema::OptionalTensorArgument>()) {
      if (const auto* some = std::get_if<schema::TensorArgument>(&t->value))
        return names_.tensors.read(some->name);
      return none(got);
    }
    fail(got, "a tensor");
  }

  Arg tensors(const Argument& got) {
    std::vector<Value> values;
    if (const auto* list = got.get<std::vector<schema::TensorArgument>>()) {
      for (const schema::TensorArgument& t : *list) values.push_back(names_.tensors.read(t.name));
    } else if (const auto* some = got.get<std::vector<schema::OptionalTensorArgument>>()) {
      for (const schema::OptionalTensorArgument& t : *some) {
        const auto* item = std::get_if<schema::TensorArgument>(&t.value);
        if (item == nullptr && !want_.optional_items) fail(got, "tensors without None");
        values.push_back(item == nullptr ? Value() : names_.tensors.read(item->name));
      }
    } else if (const auto* empty = got.get<std::vector<int64_t>>(); empty && empty->empty()) {
      return values;  // an empty list is written as one of integers
    } else {
      fail(got, "tensors");
    }
    return values;
  }

  Arg size(const Argument& got) const {
    if (const auto* value = got.get<int64_t>()) return Sym(*value);
    if (const auto* name = got.get<schema::SymIntArgument>()) return import_size(*name, names_);
    fail(got, "an integer");
  }

  Arg sizes(const Argument& got) const {
    std::vector<Sym> list;
    if (const auto* values = got.get<std::vector<int64_t>>()) {
      list.assign(values->begin(), values->end());
    } else if (const auto* items = got.get<std::vector<schema::SymIntArgument>>()) {
      for (const schema::SymIntArgument& item : *items) list.push_back(import_size(item, names_));
    } else {
      return std::vector<Sym>{std::get<Sym>(size(got))};  // one number for every axis
    }
    return list;
  }

  Arg number(const Argument& got) const {
    if (const auto* value = got.get<double>()) return *value;
    if (const auto* value = got.get<int64_t>()) return static_cast<double>(*value);
    if (const auto* value = got.get<schema::SymFloatArgument>())
      if (const auto* fixed = std::get_if<double>(&value->value)) return *fixed;
    fail(got, "a fixed number");
  }

  Arg scalar(const Argument& got) const {
    if (const auto* flag = got.get<bool>()) return *flag;
    if (got.get<int64_t>() != nullptr || got.get<schema::SymIntArgument>() != nullptr)
      return size(got);
    return number(got);
  }

  Arg dtype(const Argument& got) const {
    const auto* type = got.get<schema::ScalarType>();
    if (type == nullptr) fail(got, "a dtype");
    if (const auto known = schema::to_dtype(*type)) return *known;
    throw Error(kUnsupported, fmt::format("[pt2] {}: dtype {} is not supported",
                                          describe_node(node_), schema::to_string(*type)));
  }

  const schema::Node& node_;
  const SchemaArg& want_;
  ImportNames& names_;
};

}  // namespace

ImportNames::ImportNames(const schema::Graph& graph, const ImportSymbols& file_symbols)
    : symbols(file_symbols) {
  for (const auto& [name, meta] : graph.tensor_values) metas.emplace(name, &meta);
}

std::optional<SymShape> ImportNames::recorded_shape(const std::string& name) const {
  const auto at = metas.find(name);
  if (at == metas.end()) return std::nullopt;
  try {
    return symbols.shape(*at->second);
  } catch (const Error&) {
    return std::nullopt;  // an expression that we cannot say
  }
}

bool ImportNames::recorded_contiguous(const std::string& name) const {
  const auto at = metas.find(name);
  const auto shape = recorded_shape(name);
  if (!shape || at->second->strides.size() != shape->size()) return false;
  Sym step = 1;
  for (size_t i = shape->size(); i-- > 0; step = step * (*shape)[i])
    if (!(*shape)[i].is_const(1) && symbols.size(at->second->strides[i]) != step) return false;
  return true;
}

std::string describe_node(const schema::Node& node) {
  std::string name = node.name.value_or("");
  if (name.empty() && !node.outputs.empty())
    if (const auto* t = node.outputs[0].get<schema::TensorArgument>()) name = t->name;
  return fmt::format("node {} ({})", quote(name, 120), node.target);
}

const std::string* tensor_name(const schema::Argument& argument) {
  const auto* tensor = argument.get<schema::TensorArgument>();
  return tensor == nullptr ? nullptr : &tensor->name;
}

void fail_node(const schema::Node& node, const std::string& message) {
  throw Error(kInvalid, fmt::format("[pt2] {}: {}", describe_node(node), message));
}

Sym import_size(const schema::SymIntArgument& argument, const ImportNames& names) {
  if (const auto* value = std::get_if<int64_t>(&argument.value)) return *value;
  const std::string& name = std::get<schema::Name>(argument.value).value;
  if (names.unknown_sizes.contains(name))
    throw Error(kUnsupported, fmt::format("[pt2] the size {} depends on the values of a tensor",
                                          quote(name, 120)));
  const auto at = names.sizes.find(name);
  if (at == names.sizes.end())
    throw Error(kInvalid, fmt::format("[pt2] the graph uses the size {} before it is defined",
                                      quote(name, 120)));
  return at->second;
}

bool is_number(const schema::Argument& argument) {
  return argument.get<int64_t>() != nullptr || argument.get<double>() != nullptr ||
         argument.get<bool>() != nullptr || argument.get<schema::SymIntArgument>() != nullptr ||
         argument.get<schema::SymFloatArgument>() != nullptr;
}

const schema::Argument* find_argument(const schema::Node& node, const std::string& name) {
  for (const schema::NamedArgument& input : node.inputs)
    if (input.name == name) return &input.arg;
  return nullptr;
}

std::vector<Arg> import_args(const schema::Node& node, const Op& op, ImportNames& names) {
  std::vector<Arg> args;
  for (size_t i = 0; i < op.schema.args.size(); ++i) {
    const SchemaArg& want = op.schema.args[i];
    const schema::Argument* got = find_argument(node, want.name);
    // Some ops call their first argument `input`, and `self` when they work in place.
    if (got == nullptr && i == 0) got = find_argument(node, "self");
    // Arguments of other libraries' ops that have other names go by their order.
    if (got == nullptr && !is_aten(op) && i < node.inputs.size() &&
        op.schema.find(node.inputs[i].name) < 0)
      got = &node.inputs[i].arg;
    if (got != nullptr) {
      args.push_back(Converter(node, want, names).convert(*got));
    } else if (want.has_default || want.optional || want.type == ArgType::kOther) {
      args.push_back(want.default_value);
    } else {
      throw Error(kInvalid,
                  fmt::format("[pt2] {}: argument {} is missing", describe_node(node), want.name));
    }
  }
  for (const schema::NamedArgument& input : node.inputs)
    if (is_aten(op) && op.schema.find(input.name) < 0 && input.name != "self")
      throw Error(kInvalid, fmt::format("[pt2] {}: {} has no argument {}", describe_node(node),
                                        op.name(), quote(input.name)));
  return args;
}

}  // namespace slipway::dynamo
