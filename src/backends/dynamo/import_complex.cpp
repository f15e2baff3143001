// The ops that rotary embeddings of complex numbers are written with.
#include "backends/dynamo/import_complex.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "ir/build.h"

namespace slipway::dynamo {
namespace {

constexpr std::string_view kPrefix = "torch.ops.aten.";
// They leave every number as it is.
constexpr std::string_view kSame[] = {"alias.default",       "detach.default",
                                      "detach_.default",     "contiguous.default",
                                      "clone.default",       "to.dtype",
                                      "to.device",           "to.dtype_layout",
                                      "type_as.default",     "view_as_complex.default",
                                      "view_as_real.default"};
constexpr std::string_view kOthers[] = {"polar.default", "mul.Tensor",      "unsqueeze.default",
                                        "view.default",  "reshape.default", "expand.default"};

template <size_t N>
bool contains(const std::string_view (&list)[N], std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

std::string_view short_name(const std::string& target) {
  return target.starts_with(kPrefix) ? std::string_view(target).substr(kPrefix.size())
                                     : std::string_view();
}

bool is_complex_name(const schema::Argument& argument, const ImportNames& names) {
  const auto* tensor = argument.get<schema::TensorArgument>();
  if (tensor == nullptr) return false;
  const auto at = names.metas.find(tensor->name);
  return at != names.metas.end() && at->second->dtype.value >= 9 && at->second->dtype.value <= 11;
}

class Pairs {
 public:
  Pairs(const schema::Node& node, ImportNames& names) : node_(node), names_(names) {}

  Value emit(std::string_view name) {
    if (contains(kSame, name)) return value(0);
    if (name == "polar.default") {
      const Value length = value(0);
      return length.graph().emit("slipway::polar", {length, value(1)});
    }
    if (name == "mul.Tensor") return product();
    if (name == "unsqueeze.default") {
      const int64_t axis = size(1).value();
      return unsqueeze(value(0), axis < 0 ? axis - 1 : axis);
    }
    SymShape shape = sizes(1);
    shape.emplace_back(2);
    return name == "expand.default" ? expand(value(0), shape) : view(value(0), shape);
  }

 private:
  const schema::Argument& argument(size_t i) const {
    if (i >= node_.inputs.size())
      throw Error(kInvalid,
                  fmt::format("[pt2] {}: argument {} is missing", describe_node(node_), i));
    return node_.inputs[i].arg;
  }

  Value value(size_t i) {
    if (const auto* tensor = argument(i).get<schema::TensorArgument>())
      return names_.tensors.read(tensor->name);
    throw Error(kInvalid,
                fmt::format("[pt2] {}: argument {} is no tensor", describe_node(node_), i));
  }

  Sym size(size_t i) const {
    if (const auto* number = argument(i).get<int64_t>()) return *number;
    throw Error(kInvalid,
                fmt::format("[pt2] {}: argument {} is no integer", describe_node(node_), i));
  }

  SymShape sizes(size_t i) const {
    SymShape shape;
    if (const auto* numbers = argument(i).get<std::vector<int64_t>>())
      shape.assign(numbers->begin(), numbers->end());
    else if (const auto* items = argument(i).get<std::vector<schema::SymIntArgument>>())
      for (const schema::SymIntArgument& item : *items) shape.push_back(import_size(item, names_));
    else
      throw Error(kInvalid,
                  fmt::format("[pt2] {}: argument {} is no shape", describe_node(node_), i));
    return shape;
  }

  Value product() {
    const schema::Argument &left = argument(0), &right = argument(1);
    if (const auto* number = right.get<double>()) return value(0) * *number;
    if (const auto* number = right.get<int64_t>()) return value(0) * static_cast<double>(*number);
    const bool both = is_complex_name(left, names_) && is_complex_name(right, names_);
    if (both) return value(0).graph().emit("slipway::complex_mul", {value(0), value(1)});
    return is_complex_name(left, names_) ? value(0) * unsqueeze(value(1), -1)
                                         : unsqueeze(value(0), -1) * value(1);
  }

  const schema::Node& node_;
  ImportNames& names_;
};

}  // namespace

bool is_complex(const schema::Node& node, const ImportNames& names) {
  for (const schema::NamedArgument& input : node.inputs)
    if (is_complex_name(input.arg, names)) return true;
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](const schema::Argument& output) {
    return is_complex_name(output, names);
  });
}

bool has_complex_form(const std::string& target) {
  const std::string_view name = short_name(target);
  return contains(kSame, name) || contains(kOthers, name);
}

void import_complex(const schema::Node& node, ImportNames& names) {
  const auto* output =
      node.outputs.empty() ? nullptr : node.outputs[0].get<schema::TensorArgument>();
  if (!has_complex_form(node.target) || output == nullptr)
    throw Error(kUnsupported, fmt::format("[pt2] {}: complex tensors do not go through this op",
                                          describe_node(node)));
  names.tensors.define(output->name, Pairs(node, names).emit(short_name(node.target)));
}

}  // namespace slipway::dynamo
