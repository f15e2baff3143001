// Signatures of the runtime's kernels: out of their schemas, and of the primitive ones.
#include "backends/executorch/kernel_signatures.h"

#include <array>
#include <map>

#include "backends/executorch/kernels.h"

namespace slipway::executorch {
namespace {

ValueKinds kinds_of(const SchemaArg& arg) {
  const auto kinds = [&]() -> ValueKinds {
    switch (arg.type) {
      case ArgType::kTensor:
        return kTensorValue;
      case ArgType::kTensorList:
        return arg.optional_items ? kOptionalTensorListValue : kTensorListValue;
      case ArgType::kInt:
      case ArgType::kDType:
        return kIntValue;
      case ArgType::kIntList:
        return kIntListValue;
      case ArgType::kFloat:
        return kDoubleValue;
      case ArgType::kFloatList:
        return kDoubleListValue;
      case ArgType::kBool:
        return kBoolValue;
      case ArgType::kScalar:
        return kNumberValue;
      case ArgType::kString:
        return kStringValue;
      case ArgType::kOther:  // MemoryFormat?, and bool[3]
        return arg.optional ? kIntValue : kBoolListValue;
    }
    return 0;
  }();
  return static_cast<ValueKinds>(kinds | (arg.optional ? kNoneValue : 0));
}

KernelSignature signature_of(const Op& op) {
  KernelSignature signature;
  for (const SchemaArg& arg : op.schema.args) signature.inputs.push_back({arg.name, kinds_of(arg)});
  signature.out_list = op.schema.variadic_output;
  if (!writes_in_place(op)) signature.outs = static_cast<size_t>(op.schema.num_outputs);
  return signature;
}

/// Kernels of the runtime itself, that take or give numbers.
struct Primitive {
  std::string_view name;
  Gives gives;
  std::array<KernelSignature::Input, 3> inputs;
  int divisor = -1;
};

const std::vector<Primitive>& primitives() {
  constexpr ValueKinds kReal = kIntValue | kDoubleValue;
  using Inputs = std::array<KernelSignature::Input, 3>;
  static const Inputs tensor{{{"self", kTensorValue}}}, ints{{{"a", kIntValue}, {"b", kIntValue}}},
      reals{{{"a", kReal}, {"b", kReal}}}, numbers{{{"a", kNumberValue}, {"b", kNumberValue}}},
      number{{{"a", kNumberValue}}}, real{{{"a", kReal}}}, fraction{{{"a", kDoubleValue}}},
      flag{{{"a", kBoolValue}}};
  static const std::vector<Primitive> all{
      {"aten::sym_size.int", Gives::kInt, {{{"self", kTensorValue}, {"dim", kIntValue}}}},
      {"aten::sym_numel", Gives::kInt, tensor},
      {"aten::_local_scalar_dense", Gives::kElement, tensor},
      {"executorch_prim::sym_max.Scalar", Gives::kInt, ints},
      {"executorch_prim::sym_min.Scalar", Gives::kInt, ints},
      {"executorch_prim::add.Scalar", Gives::kArithmetic, reals},
      {"executorch_prim::sub.Scalar", Gives::kArithmetic, reals},
      {"executorch_prim::mul.Scalar", Gives::kArithmetic, reals},
      {"executorch_prim::neg.Scalar", Gives::kArithmetic, real},
      {"executorch_prim::floordiv.Scalar", Gives::kArithmetic, reals, 1},
      {"executorch_prim::floordiv.int", Gives::kInt, ints, 1},
      {"executorch_prim::mod.Scalar", Gives::kInt, ints, 1},
      {"executorch_prim::mod.int", Gives::kInt, ints, 1},
      {"executorch_prim::truediv.Scalar", Gives::kDouble, reals},
      {"executorch_prim::sym_float.Scalar", Gives::kDouble, number},
      {"executorch_prim::sym_int.Scalar", Gives::kInt, number},
      {"executorch_prim::ceil.Scalar", Gives::kInt, fraction},
      {"executorch_prim::round.Scalar", Gives::kInt, fraction},
      {"executorch_prim::trunc.Scalar", Gives::kInt, fraction},
      {"executorch_prim::eq.Scalar", Gives::kBool, numbers},
      {"executorch_prim::gt.Scalar", Gives::kBool, numbers},
      {"executorch_prim::lt.Scalar", Gives::kBool, numbers},
      {"executorch_prim::ge.Scalar", Gives::kBool, numbers},
      {"executorch_prim::le.Scalar", Gives::kBool, numbers},
      {"executorch_prim::sym_not.Scalar", Gives::kBool, flag},
      {"executorch_prim::sym_ite.Scalar",
       Gives::kAny,
       {{{"b", kBoolValue}, {"t", kNumberValue}, {"f", kNumberValue}}}},
      {"executorch_prim::et_copy_index.tensor",
       Gives::kTensors,
       {{{"copy_to", kTensorValue}, {"copy_from", kTensorValue}, {"index", kIntValue}}}},
      {"executorch_prim::et_view.default",
       Gives::kSecond,
       {{{"self", kTensorValue}, {"size", kIntListValue}}}},
  };
  return all;
}

using Table = std::map<std::string, KernelSignature, std::less<>>;

Table make_table() {
  Table table;
  for (const auto rows : {kernels_a_to_k(), kernels_l_to_z()})
    for (const OpRow& row : rows) {
      const Op op{row, Schema::parse(row.schema)};
      const KernelName name = kernel_of(op);
      table[name.overload.empty() ? name.op : name.op + "." + name.overload] = signature_of(op);
    }
  for (const Primitive& row : primitives()) {
    KernelSignature& signature = table[std::string(row.name)];
    for (const auto& input : row.inputs)
      if (input.kinds != 0) signature.inputs.push_back(input);
    signature.gives = row.gives;
    signature.divisor = row.divisor;
  }
  return table;
}

}  // namespace

std::string describe(ValueKinds kinds) {
  constexpr std::array kNames{"None",
                              "an int",
                              "a bool",
                              "a float",
                              "a tensor",
                              "a string",
                              "a list of ints",
                              "a list of tensors",
                              "a list of floats",
                              "a list of bools",
                              "a list of optional tensors"};
  std::string text;
  for (size_t bit = kNames.size(); bit-- > 0;)
    if (kinds & 1 << bit) text += (text.empty() ? "" : " or ") + std::string(kNames[bit]);
  return text;
}

const KernelSignature* find_signature(std::string_view name) {
  static const Table table = make_table();
  const auto at = table.find(name);
  return at == table.end() ? nullptr : &at->second;
}

}  // namespace slipway::executorch
