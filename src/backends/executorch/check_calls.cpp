// Checks calls in .pte files: kinds, counts and memory of their arguments.
#include "backends/executorch/check_calls.h"

#include <algorithm>

#include "base/json.h"

namespace slipway::executorch::reading {
namespace {

using Kind = fb::KernelTypes;

ValueKinds kind_of(Kind kind) {
  switch (kind) {
    case Kind::Null:
      return kNoneValue;
    case Kind::Int:
      return kIntValue;
    case Kind::Bool:
      return kBoolValue;
    case Kind::Double:
      return kDoubleValue;
    case Kind::Tensor:
      return kTensorValue;
    case Kind::String:
      return kStringValue;
    case Kind::IntList:
      return kIntListValue;
    case Kind::TensorList:
      return kTensorListValue;
    case Kind::DoubleList:
      return kDoubleListValue;
    case Kind::BoolList:
      return kBoolListValue;
    case Kind::OptionalTensorList:
      return kOptionalTensorListValue;
    default:
      return 0;
  }
}

bool contains(const flatbuffers::Vector<int32_t>* list, int32_t id) {
  return list && std::find(list->begin(), list->end(), id) != list->end();
}

}  // namespace

CallChecker::CallChecker(const File& file, const fb::ExecutionPlan& plan,
                         const MethodOutline& method)
    : file_(file), plan_(plan), method_(method) {
  for (uint32_t id = 0; id < plan.values()->size(); ++id)
    states_.push_back(first_state(static_cast<int32_t>(id)));
  for (const auto* ports : {plan.inputs(), plan.outputs()})  // the caller's
    for (const int32_t id : *ports) state(id).memory = true;
}

CallChecker::State CallChecker::first_state(int32_t id) const {
  const fb::EValue& entry = value(id);
  State state{.kinds = kind_of(entry.val_type()), .tensor = entry.val_as_Tensor(), .base = id};
  if (const auto* number = entry.val_as_Int()) state.range = {number->int_val(), number->int_val()};
  if (!state.tensor) return state;
  state.dtype = dtype_of(state.tensor->scalar_type()).value();
  const bool placed = state.tensor->allocation_info() != nullptr;
  const bool data = state.tensor->data_buffer_idx() > 0;
  const auto* extra = state.tensor->extra_tensor_info();
  const auto& sizes = *state.tensor->sizes();
  state.memory = placed || data || std::find(sizes.begin(), sizes.end(), 0) != sizes.end() ||
                 (extra && extra->fully_qualified_name());
  state.constant = data && !placed;
  return state;
}

void CallChecker::begin(size_t chain, size_t index) { chain_ = chain, instruction_ = index; }

void CallChecker::fail(const std::string& what) const {
  const std::string chain = chain_ > 0 ? fmt::format(" of chain {}", chain_) : "";
  file_.fail(fmt::format("method {} instruction {}{}: {}", quote(method_.name), instruction_, chain,
                         what));
}

void CallChecker::check_kinds(int32_t id, ValueKinds kinds, const std::string& place) const {
  if (!(state(id).kinds & kinds))
    fail(fmt::format("{} is value {}, {}, need {}", place, id, describe(state(id).kinds),
                     describe(kinds)));
  if (state(id).kinds & kTensorValue) check_memory(id, place);
  check_items(id, place);
}

void CallChecker::check_memory(int32_t id, const std::string& place) const {
  if (!state(id).memory) fail(fmt::format("{} is tensor {}, which has no memory yet", place, id));
}

void CallChecker::check_items(int32_t id, const std::string& place) const {
  const auto check = [&](int64_t item, ValueKinds kinds) {
    check_kinds(static_cast<int32_t>(item), kinds, "an item of " + place);
  };
  const fb::EValue& list = value(id);
  if (const auto* ints = list.val_as_IntList())
    for (const int64_t item : *ints->items()) check(item, kIntValue);
  const bool some = list.val_type() == Kind::OptionalTensorList;
  if (const auto* tensors = tensors_of(id))
    for (const int32_t item : *tensors)
      if (item >= 0) check(item, static_cast<ValueKinds>(kTensorValue | (some ? kNoneValue : 0)));
}

const CallChecker::Args* CallChecker::tensors_of(int32_t id) const {
  if (const auto* list = value(id).val_as_TensorList()) return list->items();
  if (const auto* list = value(id).val_as_OptionalTensorList()) return list->items();
  return nullptr;
}

void CallChecker::check_writable(int32_t id, const std::string& place) const {
  if (state(id).constant) fail(fmt::format("{} is the constant {}, it is written", place, id));
}

CallChecker::Effect CallChecker::kernel(const std::string& name, const Args& args) {
  const KernelSignature* signature = find_signature(name);
  Effect effect;
  if (!signature) return effect;  // the runtime has no kernel of that name either
  const size_t inputs = signature->inputs.size();
  need(args.size() >= inputs, fmt::format("{} is called with {} arguments, need {} and its results",
                                          name, args.size(), inputs));
  for (size_t i = 0; i < inputs; ++i) {
    const KernelSignature::Input& input = signature->inputs[i];
    const int32_t id = args.Get(static_cast<uint32_t>(i));
    check_kinds(id, input.kinds, fmt::format("argument {} ({}) of {}", i, input.name, name));
    effect.reads.push_back(id);
    if (const auto* list = tensors_of(id))
      for (const int32_t item : *list)
        if (item >= 0) effect.reads.push_back(item);
  }
  check_outs(*signature, name, args, effect);
  check_numbers(*signature, name, args);
  if (signature->gives == Gives::kTensors)
    for (size_t i = 0, count = effect.writes.size(); i < count; ++i)
      if (const int32_t base = state(effect.writes[i]).base; base != effect.writes[i])
        effect.writes.push_back(base);
  if (signature->gives == Gives::kSecond) {
    const State from = state(args.Get(0));
    State& to = state(args.Get(2));
    to.memory = true;
    to.constant = from.constant;
    to.base = from.base;
  }
  if (signature->gives > Gives::kSecond) give_number(*signature, name, args);
  return effect;
}

/// Tensors behind the inputs, and once more as one result, which the runtime does not read.
void CallChecker::check_outs(const KernelSignature& signature, const std::string& name,
                             const Args& args, Effect& effect) const {
  const auto inputs = static_cast<uint32_t>(signature.inputs.size());
  const bool numbers = signature.gives != Gives::kTensors;
  const auto outs = static_cast<uint32_t>(numbers ? 1 : signature.outs);
  const uint32_t least = inputs + outs, most = least + (numbers ? 0 : 1);
  const bool one_by_one = !numbers && args.size() == least + outs;
  need((args.size() >= least && args.size() <= most) || one_by_one,
       fmt::format("{} is called with {} arguments, need {}", name, args.size(), most));
  if (signature.gives > Gives::kSecond) {
    effect.writes.push_back(args.Get(inputs));
    return;
  }
  const auto written = [&](int32_t id, const std::string& place) {
    check_writable(id, place);
    effect.writes.push_back(id);
  };
  if (outs == 0) written(args.Get(0), fmt::format("argument 0 of {}", name));
  for (uint32_t i = inputs; i < least; ++i) {
    const std::string place = fmt::format("argument {} (out) of {}", i, name);
    const int32_t id = args.Get(i);
    if (signature.gives == Gives::kSecond) {
      need(state(id).kinds == kTensorValue, place + " is no tensor");
      effect.writes.push_back(id);
      continue;
    }
    check_kinds(id, signature.out_list ? kTensorListValue : kTensorValue, place);
    if (!signature.out_list) written(id, place);
    else
      for (const int32_t item : *value(id).val_as_TensorList()->items()) written(item, place);
  }
  if (args.size() == least) return;
  // One result, or several as a list; writers of others may name each.
  std::vector<int32_t> results(args.begin() + least, args.end());
  const auto* list = value(results[0]).val_as_TensorList();
  if (list) results.assign(list->items()->begin(), list->items()->end());
  const bool same = results == effect.writes;
  need(same, fmt::format("the result of {} is not what it writes to", name));
}

void CallChecker::delegate(const DelegatePort& delegate, const Args& args) {
  if (delegate.id != "XnnpackBackend") {
    for (uint32_t i = 0; i < args.size(); ++i)
      check_kinds(args.Get(i), kTensorValue | kTensorListValue,
                  fmt::format("argument {} of a delegate {}", i, quote(delegate.id)));
    return;
  }
  for (const DelegateArgument& argument : delegate.arguments) {
    const std::string place = fmt::format("argument {} of a delegate", argument.place);
    check_argument(argument, args.Get(argument.place), place);
  }
}

void CallChecker::check_argument(const DelegateArgument& argument, int32_t id,
                                 const std::string& place) const {
  check_kinds(id, kTensorValue, place);
  const State& given = state(id);
  if (argument.output) check_writable(id, place);
  // XNNPACK gives indices of 32 bits, which the runtime makes 64 bits wide.
  const bool wide = argument.output && given.dtype == DType::kI64 && argument.dtype == DType::kI32;
  need(wide || argument.dtype == given.dtype,
       fmt::format("{} is {}, the delegate's graph says {}", place, short_name(given.dtype),
                   argument.dtype ? short_name(*argument.dtype) : "another type"));
  const auto& sizes = *given.tensor->sizes();
  const auto& order = *given.tensor->dim_order();
  // A single number has no dimensions in a program, and one in a graph of ExecuTorch's exporter.
  bool same =
      sizes.size() == argument.dims.size() || (sizes.size() == 0 && argument.dims == Shape{1});
  for (uint32_t i = 0; same && i < sizes.size(); ++i)
    same = order[i] < sizes.size() && sizes[order[i]] == argument.dims[i];
  need(same, fmt::format("{} is tensor {}, whose sizes are not {}, which the delegate's graph says",
                         place, id, shape_string(argument.dims)));
}

void CallChecker::move(int32_t from, int32_t to) {
  State& source = state(from);
  State& target = state(to);
  const bool numbers = !((source.kinds | target.kinds) & ~(kNumberValue | kNoneValue));
  need(numbers || (source.tensor && target.tensor),
       fmt::format("value {}, {}, is moved to value {}, {}", from, describe(source.kinds), to,
                   describe(target.kinds)));
  if (source.tensor) {
    check_memory(from, "what is moved");
    need(source.dtype == target.dtype &&
             source.tensor->sizes()->size() == target.tensor->sizes()->size(),
         fmt::format("tensor {} is moved to tensor {} of another type or rank", from, to));
    target.memory = true;
    target.constant = source.constant;
    target.base = source.base;
  } else {
    target.kinds = source.kinds;
    target.range = {};  // another move may have come before
    target.computed = true;
  }
}

void CallChecker::jump(int32_t condition) const {
  check_kinds(condition, kTensorValue | kBoolValue, "the condition of a jump");
  need(!state(condition).tensor || state(condition).dtype == DType::kBool,
       "the condition of a jump is a tensor of numbers");
}

void CallChecker::free(int32_t id) {
  const auto* tensor = state(id).tensor;
  need(tensor && !tensor->allocation_info() && tensor->data_buffer_idx() == 0 &&
           !contains(plan_.inputs(), id) && !contains(plan_.outputs(), id),
       fmt::format("value {} is freed, which has no memory of its own", id));
  state(id).memory = false;
}

}  // namespace slipway::executorch::reading
