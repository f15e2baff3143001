// Views and writes of an imported graph.
#include "backends/dynamo/import_storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/json.h"
#include "ir/build.h"

namespace slipway::dynamo {
namespace {

using Backward = std::function<Value(Value, Value)>;

Value viewed_back(Value base, Value part) { return view(part, base.shape()); }

/// base with [start, end) of an axis replaced.
Value replace_range(Value base, Value part, int64_t axis, Sym start, Sym end) {
  std::vector<Value> parts;
  if (!start.is_const(0)) parts.push_back(slice(base, axis, 0, start));
  parts.push_back(part);
  if (end != base.dim(axis)) parts.push_back(slice(base, axis, end, base.dim(axis)));
  return parts.size() == 1 ? parts[0] : cat(parts, axis);
}

Sym bound(Sym at, Sym size) { return at.bounds().hi < 0 ? max(size + at, 0) : min(at, size); }

Backward slice_back(const Args& a) {
  const int64_t axis = a.integer(1);
  const Sym start = a.has(2) ? a.sym(2) : Sym(0);
  const Sym end = a.has(3) ? a.sym(3) : Sym(Sym::kUnbounded);
  if (!a.sym(4).is_const(1)) return nullptr;
  return [axis, start, end](Value base, Value part) {
    const int64_t at = normalize_axis(axis, base.rank());
    return replace_range(base, part, at, bound(start, base.dim(at)), bound(end, base.dim(at)));
  };
}

Backward select_back(const Args& a) {
  const int64_t axis = a.integer(1);
  const Sym index = a.sym(2);
  return [axis, index](Value base, Value part) {
    const int64_t at = normalize_axis(axis, base.rank());
    const Sym i = index.is_const() && index.value() < 0 ? base.dim(at) + index : index;
    return replace_range(base, unsqueeze(part, at), at, i, i + 1);
  };
}

Backward permute_back(const Args& a) {
  const std::vector<int64_t> dims = a.integers(1);
  return [dims](Value base, Value part) {
    std::vector<int64_t> inverse(dims.size());
    for (size_t i = 0; i < dims.size(); ++i)
      inverse[static_cast<size_t>(normalize_axis(dims[i], base.rank()))] = static_cast<int64_t>(i);
    return permute(part, inverse);
  };
}

/// Parts along an axis: the output `index` of split, chunk and the like. The range is found from
/// the sizes of the outputs before it.
Backward part_back(const Op& op, const std::vector<Arg>& args, size_t index) {
  const int axis_arg = op.schema.find("dim");
  if (axis_arg < 0) return nullptr;
  const int64_t axis = Args(op, args).integer(static_cast<size_t>(axis_arg));
  return [&op, args, index, axis](Value base, Value part) {
    const int64_t at = normalize_axis(axis, base.rank());
    if (op.name() == "aten::unbind.int") {
      const Sym i = static_cast<int64_t>(index);
      return replace_range(base, unsqueeze(part, at), at, i, i + 1);
    }
    Sym start = 0;
    std::vector<OpArg> again(args.begin(), args.end());
    again[0] = base;
    const std::vector<Value> outputs = base.graph().emit_all(op, again);
    for (size_t i = 0; i < index; ++i) start = start + outputs[i].dim(at);
    return replace_range(base, part, at, start, start + part.dim(at));
  };
}

struct ViewRow {
  std::string_view op;
  Backward (*back)(const Args&);
  bool maybe = false;
};

Backward same_back(const Args&) {
  return [](Value, Value part) { return part; };
}
Backward relabel_back(const Args&) { return viewed_back; }
Backward transpose_back(const Args& a) {
  return [i = a.integer(1), j = a.integer(2)](Value, Value part) { return transpose(part, i, j); };
}
Backward matrix_back(const Args&) {
  return [](Value, Value part) { return transpose(part, -2, -1); };
}
Backward moved_back(const Args& a) {
  return [name = a.op().name(), from = a[1], to = a[2]](Value, Value part) {
    return part.graph().emit(name, {part, to, from});
  };
}
Backward narrow_back(const Args& a) {
  return [axis = a.integer(1), start = a.sym(2), length = a.sym(3)](Value base, Value part) {
    const int64_t at = normalize_axis(axis, base.rank());
    const Sym from = start.is_const() && start.value() < 0 ? base.dim(at) + start : start;
    return replace_range(base, part, at, from, from + length);
  };
}
Backward reverse_back(const Args&) {
  return [](Value, Value part) {
    std::vector<int64_t> axes;
    for (int64_t i = part.rank(); i-- > 0;) axes.push_back(i);
    return part.rank() < 2 ? part : permute(part, axes);
  };
}
Backward no_back(const Args&) { return nullptr; }

const ViewRow kViews[] = {
    {"aten::alias", same_back},
    {"aten::detach", same_back},
    {"aten::lift_fresh", same_back},
    {"aten::view", relabel_back},
    {"aten::reshape", relabel_back, true},
    {"aten::flatten.using_ints", relabel_back, true},
    {"aten::unflatten.int", relabel_back, true},
    {"aten::unsqueeze", relabel_back},
    {"aten::squeeze.dim", relabel_back},
    {"aten::squeeze.dims", relabel_back},
    {"aten::squeeze", relabel_back},
    {"aten::transpose.int", transpose_back},
    {"aten::swapaxes", transpose_back},
    {"aten::swapdims", transpose_back},
    {"aten::mT", matrix_back},
    {"aten::movedim.int", moved_back},
    {"aten::movedim.intlist", moved_back},
    {"aten::narrow", narrow_back},
    {"aten::view_as", relabel_back},
    {"aten::reshape_as", relabel_back, true},
    {"aten::t", reverse_back},
    {"aten::numpy_T", reverse_back},
    {"aten::permute", permute_back},
    {"aten::slice.Tensor", slice_back},
    {"aten::select.int", select_back},
    {"aten::expand", no_back},
    {"aten::expand_as", no_back},
    {"aten::unfold", no_back},
    {"aten::contiguous", same_back},
    {"aten::to.dtype", same_back},
    {"aten::to.device", same_back},
    {"aten::to.other", same_back},
    {"aten::to.dtype_layout", same_back},
    {"aten::type_as", same_back},
    {"aten::dropout", same_back},
};

constexpr std::string_view kParts[] = {"aten::split.Tensor",     "aten::split.sizes",
                                       "aten::split_with_sizes", "aten::chunk",
                                       "aten::unbind.int",       "aten::tensor_split.sections"};

bool cuts_parts(const Op& op) {
  return std::find(std::begin(kParts), std::end(kParts), op.name()) != std::end(kParts);
}

const ViewRow* find_view(const Op& op) {
  for (const ViewRow& row : kViews)
    if (row.op == op.name()) return &row;
  return nullptr;
}

/// x.to(dtype, copy=True)
bool asks_for_copy(const Op& op, const std::vector<Arg>& args) {
  const int copy = op.schema.find("copy");
  return copy >= 0 && args[static_cast<size_t>(copy)] == Arg(true);
}

}  // namespace

bool is_view_op(const Op& op) { return cuts_parts(op) || find_view(op) != nullptr; }

ViewStep view_step(const Op& op, const std::vector<Arg>& args, size_t index) {
  ViewStep step;
  const bool parts = cuts_parts(op);
  const ViewRow* row = find_view(op);
  if (!is_view_op(op) || asks_for_copy(op, args)) return step;
  step.forward = [&op, args, index](Value base) {
    std::vector<OpArg> again(args.begin(), args.end());
    again[0] = base;
    return base.graph().emit_all(op, again)[index];
  };
  step.backward = parts ? part_back(op, args, index) : row->back(Args(op, args));
  step.maybe = row != nullptr && row->maybe;
  return step;
}

ImportStorage::Tensor& ImportStorage::at(const std::string& name) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    throw Error(kInvalid,
                fmt::format("[pt2] the graph uses {} before it is defined", quote(name, 120)));
  return found->second;
}

void ImportStorage::define(const std::string& name, Value value) {
  tensors_[name] = {storages_.size(), {}, value, 0, false};
  storages_.push_back({value, 0});
}

void ImportStorage::define_view(const std::string& name, const std::string& base, ViewStep step,
                                Value value) {
  Tensor tensor = at(base);
  if (value.dtype() != tensor.value.dtype()) return define(name, value);  // it made a copy
  tensor.maybe = tensor.maybe || step.maybe;
  tensor.steps.push_back(std::move(step));
  tensor.value = value;
  tensor.version = storages_[tensor.storage].version;
  tensors_[name] = std::move(tensor);
}

Value ImportStorage::read(const std::string& name) {
  Tensor& tensor = at(name);
  const Storage& storage = storages_[tensor.storage];
  if (tensor.version == storage.version) return tensor.value;
  if (tensor.maybe)
    throw Error(kUnsupported,
                fmt::format("[pt2] {} may be a copy or a view of a tensor that was written to "
                            "since: make it .clone() in the model",
                            quote(name)));
  Value value = storage.value;
  for (const ViewStep& step : tensor.steps) value = step.forward(value);
  tensor.value = value;
  tensor.version = storage.version;
  return value;
}

void ImportStorage::write(const std::string& name, Value value, const std::string& result) {
  Tensor& tensor = at(name);
  Storage& storage = storages_[tensor.storage];
  // Values along the chain, so that each step's base is at hand on the way back.
  std::vector<Value> chain = {storage.value};
  for (const ViewStep& step : tensor.steps) {
    if (!step.backward)
      throw Error(kUnsupported, fmt::format("[pt2] the program writes to {}, a view that repeats "
                                            "elements or skips some",
                                            quote(name)));
    chain.push_back(step.forward(chain.back()));
  }
  Value part = value;
  for (size_t i = tensor.steps.size(); i-- > 0;) part = tensor.steps[i].backward(chain[i], part);
  storage.value = part;
  storage.version += 1;
  tensor.value = value;
  tensor.version = storage.version;
  if (tensor.maybe) {
    // The write reached its own tensor for sure, its base perhaps: it goes on alone, and the base
    // and all its views are out of date for good.
    const Tensor own{storages_.size(), {}, value, 0, false};
    for (auto& [other, item] : tensors_)
      if (item.storage == tensor.storage) item.maybe = true;
    storages_.push_back({value, 0});
    tensors_[name] = own;
    if (!result.empty()) tensors_[result] = own;
    return;
  }
  if (!result.empty() && result != name) tensors_[result] = tensor;
}

bool ImportStorage::written(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found != tensors_.end() && storages_[found->second.storage].version > 0;
}

}  // namespace slipway::dynamo
