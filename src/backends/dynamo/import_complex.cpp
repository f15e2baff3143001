// Imports ops on complex tensors as ops on pairs.
#include "backends/dynamo/import_complex.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"

namespace slipway::dynamo {
namespace {

constexpr std::string_view kAten = "torch.ops.aten.";
constexpr int64_t kComplexHalf = 9, kComplexDouble = 11;  // of torch's serialized dtypes

constexpr std::string_view kSame[] = {"view_as_complex.default",
                                      "view_as_real.default",
                                      "clone.default",
                                      "detach.default",
                                      "detach_.default",
                                      "alias.default",
                                      "contiguous.default",
                                      "lift_fresh_copy.default",
                                      "to.dtype_layout",
                                      "to.dtype",
                                      "to.device"};
constexpr std::string_view kAlong[] = {"unsqueeze.default", "slice.Tensor", "select.int"};
constexpr std::string_view kSized[] = {"view.default", "reshape.default", "expand.default"};

template <size_t n>
bool is_one_of(std::string_view name, const std::string_view (&list)[n]) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

const std::string* tensor_name(const schema::Argument* argument) {
  if (argument == nullptr) return nullptr;
  const auto* tensor = argument->get<schema::TensorArgument>();
  return tensor == nullptr ? nullptr : &tensor->name;
}

bool is_complex(const std::string* name, const ImportNames& names) {
  if (name == nullptr) return false;
  const auto at = names.metas.find(*name);
  return at != names.metas.end() && at->second->dtype.value >= kComplexHalf &&
         at->second->dtype.value <= kComplexDouble;
}

class ComplexImporter {
 public:
  ComplexImporter(const schema::Node& node, Graph& graph, ImportNames& names)
      : node_(node), graph_(graph), names_(names), op_(node.target) {
    if (op_.starts_with(kAten)) op_.remove_prefix(kAten.size());
  }

  Value run() {
    if (is_one_of(op_, kSame)) {
      const bool from = is_complex(name("self"), names_);
      const bool real = op_ == "view_as_real.default" || op_ == "view_as_complex.default";
      if (!real && from != is_complex(output(), names_)) refuse();
      return tensor("self");
    }
    if (op_ == "polar.default")
      return graph_.emit("slipway::polar", {tensor("abs"), tensor("angle")});
    if (op_ == "mul.Tensor") return product();
    if (op_ == "neg.default") return neg(tensor("self"));
    if (op_ == "add.Tensor" || op_ == "sub.Tensor") return sum();
    if (is_one_of(op_, kAlong)) return along();
    if (is_one_of(op_, kSized)) return sized();
    refuse();
  }

  const std::string* output() const {
    return node_.outputs.size() == 1 ? tensor_name(&node_.outputs[0]) : nullptr;
  }

 private:
  [[noreturn]] void refuse() const {
    throw Error(kUnsupported,
                fmt::format("[pt2] {}: this op on complex numbers is not supported; write it with "
                            "real and imaginary parts",
                            describe_node(node_)));
  }

  const std::string* name(const char* argument) const {
    return tensor_name(find_argument(node_, argument));
  }
  Value tensor(const char* argument) {
    if (const std::string* found = name(argument)) return names_.tensors.read(*found);
    refuse();
  }

  /// Two complex tensors; or one with a real tensor or number, which scales both parts.
  Value product() {
    if (name("other") == nullptr) {
      const Op& op = get_op("aten::mul.Scalar");
      const std::vector<Arg> args = import_args(node_, op, names_);
      return graph_.emit(op, {OpArg(args[0]), OpArg(args[1])});
    }
    const bool left = is_complex(name("self"), names_), right = is_complex(name("other"), names_);
    const Value a = tensor("self"), b = tensor("other");
    if (left && right) return graph_.emit("slipway::complex_mul", {a, b});
    return left ? a * unsqueeze(b, -1) : unsqueeze(a, -1) * b;
  }

  Value sum() {
    const schema::Argument* alpha = find_argument(node_, "alpha");
    if (alpha != nullptr || !is_complex(name("self"), names_) || !is_complex(name("other"), names_))
      refuse();
    const Value a = tensor("self"), b = tensor("other");
    return op_ == "add.Tensor" ? a + b : a - b;
  }

  /// Axes counted from the end pass over the pairs' own.
  Value along() {
    const Op& op = row();
    std::vector<Arg> args = import_args(node_, op, names_);
    const auto at = static_cast<size_t>(op.schema.find("dim"));
    if (const auto* axis = std::get_if<Sym>(&args[at]);
        axis != nullptr && axis->is_const() && axis->value() < 0)
      args[at] = *axis - 1;
    return graph_.emit(op, {args.begin(), args.end()});
  }

  Value sized() {
    const Op& op = row();
    std::vector<Arg> args = import_args(node_, op, names_);
    auto* sizes = std::get_if<std::vector<Sym>>(&args[1]);
    if (sizes == nullptr) refuse();
    sizes->emplace_back(2);
    return graph_.emit(op, {args.begin(), args.end()});
  }

  const Op& row() const {
    std::string_view own = op_;
    if (own.ends_with(".default")) own.remove_suffix(8);
    return get_op(fmt::format("aten::{}", own));
  }

  const schema::Node& node_;
  Graph& graph_;
  ImportNames& names_;
  std::string_view op_;
};

}  // namespace

bool touches_complex(const schema::Node& node, const ImportNames& names) {
  const auto any = [&](const schema::Argument& a) { return is_complex(tensor_name(&a), names); };
  return std::any_of(node.outputs.begin(), node.outputs.end(), any) ||
         std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](const schema::NamedArgument& input) { return any(input.arg); });
}

bool is_complex_op(const std::string& target) {
  return target == "torch.ops.aten.polar.default" ||
         target == "torch.ops.aten.view_as_complex.default" ||
         target == "torch.ops.aten.view_as_real.default";
}

void import_complex(const schema::Node& node, Graph& graph, ImportNames& names) {
  ComplexImporter importer(node, graph, names);
  const Value value = importer.run();
  if (importer.output() != nullptr) names.tensors.define(*importer.output(), value);
}

}  // namespace slipway::dynamo
