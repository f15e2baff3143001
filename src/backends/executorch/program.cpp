// Building and checking the structs of a .pte program.
#include "backends/executorch/program.h"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "slipway/error.h"

namespace slipway::executorch {
namespace {

/// Checks one method; `at` is its place in messages.
class MethodCheck {
 public:
  explicit MethodCheck(const Method& method) : method_(method) {}

  void run() {
    need(!method_.name.empty(), "a method has no name");
    need(method_.input_names.size() == method_.inputs.size(), "inputs and their names differ");
    need(method_.output_names.size() == method_.outputs.size(), "outputs and their names differ");
    for (size_t i = 0; i < method_.values.size(); ++i) check_value(static_cast<ValueId>(i));
    for (const auto* list : {&method_.inputs, &method_.outputs})
      for (const ValueId id : *list) known(id);
    for (const ValueId id : method_.inputs) check_input(id);
    for (const ValueId id : method_.outputs) {
      const auto* tensor = std::get_if<TensorValue>(&method_.values[static_cast<size_t>(id)]);
      need(!tensor || !tensor->view_of, fmt::format("output {} is a view", id));
    }
    check_names(method_.input_names);
    check_names(method_.output_names);
    for (const Delegate& delegate : method_.delegates) xnnpack::verify(delegate.graph);
    for (const Instruction& instruction : method_.instructions)
      std::visit([this](const auto& call) { check(call); }, instruction);
  }

 private:
  void need(bool condition, const std::string& what) const {
    if (!condition)
      throw Error(kInternal, fmt::format("[executorch] method {}: {}", method_.name, what));
  }
  void known(ValueId id) const {
    need(id >= 0 && static_cast<size_t>(id) < method_.values.size(),
         fmt::format("value {} does not exist, there are {}", id, method_.values.size()));
  }
  void all_known(const std::vector<ValueId>& ids) const {
    for (const ValueId id : ids) known(id);
  }
  template <class... Kinds>
  void items_are(ValueId list, const std::vector<ValueId>& items) const {
    for (const ValueId id : items) {
      known(id);
      need((std::holds_alternative<Kinds>(method_.values[static_cast<size_t>(id)]) || ...),
           fmt::format("value {}: element {} has the wrong kind", list, id));
    }
  }

  void check_value(ValueId id) const {
    const EValue& value = method_.values[static_cast<size_t>(id)];
    if (const auto* ints = std::get_if<IntListValue>(&value)) items_are<int64_t>(id, ints->items);
    if (const auto* list = std::get_if<TensorListValue>(&value))
      items_are<TensorValue>(id, list->items);
    if (const auto* list = std::get_if<OptionalTensorListValue>(&value))
      items_are<TensorValue, NoneValue>(id, list->items);
    if (const auto* tensor = std::get_if<TensorValue>(&value)) check_tensor(id, *tensor);
  }

  void check_tensor(ValueId id, const TensorValue& tensor) const {
    const std::string where = fmt::format("[executorch] method {} value {}", method_.name, id);
    const Shape sizes = upper_bound(tensor.shape, where);
    if (tensor.data) {
      need(tensor.storage != Storage::kPlanned, fmt::format("value {} is planned, has data", id));
      need(tensor.data->dtype() == tensor.dtype && tensor.data->shape() == sizes,
           fmt::format("value {}: data are {} {}, the tensor {} {}", id,
                       short_name(tensor.data->dtype()), shape_string(tensor.data->shape()),
                       short_name(tensor.dtype), shape_string(sizes)));
    } else {
      need(tensor.storage != Storage::kConstant, fmt::format("constant {} has no data", id));
    }
    if (tensor.storage != Storage::kPlanned)
      need(!is_dynamic(tensor.shape), fmt::format("value {} is stored, needs fixed sizes", id));
    if (tensor.view_of) {
      known(*tensor.view_of);
      need(*tensor.view_of < id,
           fmt::format("view {} is of the later value {}", id, *tensor.view_of));
      const TensorValue& base = method_.tensor(*tensor.view_of);
      need(tensor.storage == Storage::kPlanned, fmt::format("view {} is stored", id));
      need(numel(upper_bound(base.shape, where)) * itemsize(base.dtype) >=
               numel(sizes) * itemsize(tensor.dtype),
           fmt::format("view {} is larger than value {}", id, *tensor.view_of));
    }
  }

  void check_input(ValueId id) const {
    const EValue& value = method_.values[static_cast<size_t>(id)];
    if (const auto* tensor = std::get_if<TensorValue>(&value))
      need(tensor->storage == Storage::kPlanned && !tensor->view_of,
           fmt::format("input {} is stored or a view", id));
  }

  void check_names(const std::vector<std::string>& names) const {
    std::set<std::string> seen;
    for (const std::string& name : names)
      need(!name.empty() && seen.insert(name).second, fmt::format("name \"{}\" is taken", name));
  }

  void check(const KernelCall& call) const {
    need(call.op.find("::") != std::string::npos, "op " + call.op + " has no namespace");
    all_known(call.args);
  }
  void check(const DelegateCall& call) const {
    need(call.delegate >= 0 && static_cast<size_t>(call.delegate) < method_.delegates.size(),
         fmt::format("delegate {} does not exist", call.delegate));
    all_known(call.args);
    const xnnpack::Graph& graph = method_.delegates[static_cast<size_t>(call.delegate)].graph;
    need(call.args.size() == graph.inputs.size() + graph.outputs.size(),
         fmt::format("delegate {} is called with {} values, has {}", call.delegate,
                     call.args.size(), graph.inputs.size() + graph.outputs.size()));
    for (const ValueId id : call.args) method_.tensor(id);
  }
  void check(const MoveCall& call) const { all_known({call.from, call.to}); }
  void check(const JumpFalseCall& call) const {
    known(call.condition);
    need(call.destination >= 0 &&
             static_cast<size_t>(call.destination) <= method_.instructions.size(),
         fmt::format("a jump goes to instruction {}", call.destination));
  }
  void check(const FreeCall& call) const { method_.tensor(call.value); }

  const Method& method_;
};

}  // namespace

ValueId Method::add(EValue value) {
  values.push_back(std::move(value));
  return static_cast<ValueId>(values.size() - 1);
}

ValueId Method::constant(const EValue& value) {
  // By its text: variants that hold tensors do not compare.
  std::string key = fmt::format("{}", value.index());
  if (const auto* number = std::get_if<int64_t>(&value)) key += fmt::format(" {}", *number);
  else if (const auto* flag = std::get_if<bool>(&value)) key += fmt::format(" {}", *flag);
  else if (const auto* real = std::get_if<double>(&value)) key += fmt::format(" {:a}", *real);
  else SLIPWAY_ASSERT(std::holds_alternative<NoneValue>(value));
  const auto [at, added] = constants_.try_emplace(key, 0);
  if (added) at->second = add(value);
  return at->second;
}

ValueId Method::int_list(const std::vector<int64_t>& items) {
  IntListValue list;
  for (const int64_t item : items) list.items.push_back(constant(item));
  return add(std::move(list));
}

const TensorValue& Method::tensor(ValueId id) const {
  SLIPWAY_ASSERT(id >= 0 && static_cast<size_t>(id) < values.size());
  const auto* tensor = std::get_if<TensorValue>(&values[static_cast<size_t>(id)]);
  SLIPWAY_ASSERT(tensor != nullptr);
  return *tensor;
}

Shape upper_bound(const SymShape& shape, const std::string& where) {
  Shape sizes;
  for (const Sym size : shape) {
    const int64_t hi = size.bounds().hi;
    if (hi > std::numeric_limits<int32_t>::max())
      throw Error(kInvalid, fmt::format("{}: got the size {} without an upper bound that fits 31 "
                                        "bits, need one for every symbol; give dynamic_shapes",
                                        where, size.str()));
    sizes.push_back(hi);
  }
  numel(sizes);  // throws on overflow
  return sizes;
}

bool is_dynamic(const SymShape& shape) {
  for (const Sym size : shape)
    if (!size.is_const()) return true;
  return false;
}

void verify(const Program& program) {
  std::set<std::string> names;
  for (const Method& method : program.methods) {
    if (!names.insert(method.name).second)
      throw Error(kInternal, fmt::format("[executorch] two methods are named {}", method.name));
    MethodCheck(method).run();
  }
  for (const auto& [name, values] : program.metadata_methods) {
    if (name.empty() || !names.insert(name).second)
      throw Error(kInternal, fmt::format("[executorch] two methods are named {}", name));
    for (const EValue& value : values)
      if (!std::holds_alternative<int64_t>(value) && !std::holds_alternative<bool>(value) &&
          !std::holds_alternative<double>(value) && !std::holds_alternative<std::string>(value))
        throw Error(kInternal, fmt::format("[executorch] method {} gives no plain value", name));
  }
}

}  // namespace slipway::executorch
