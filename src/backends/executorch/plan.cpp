// Memory planning.
#include "backends/executorch/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "slipway/error.h"

namespace slipway::executorch {
namespace {

constexpr int64_t kAlignment = 16;
/// XNNPACK reads a little beyond the end of its inputs.
constexpr int64_t kDelegatePadding = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// When each tensor of a method is in use, by root value.
class Lifetimes {
 public:
  explicit Lifetimes(const Method& method)
      : method_(method), spans_(method.values.size()), roots_(method.values.size()) {
    for (size_t i = 0; i < roots_.size(); ++i) {
      roots_[i] = static_cast<ValueId>(i);
      if (const auto* tensor = std::get_if<TensorValue>(&method.values[i]))
        if (tensor->view_of) roots_[i] = roots_[static_cast<size_t>(*tensor->view_of)];
    }
    for (const ValueId id : method.inputs) touch(id, 0);
    int64_t at = 0;
    for (const Instruction& instruction : method.instructions) {
      ++at;
      std::visit([&](const auto& call) { touch_all(call, at); }, instruction);
    }
    for (const ValueId id : method.outputs) touch(id, at + 1);
    follow_moves();
    widen_over_loops();
  }

  /// Where the memory of a value comes from.
  ValueId root(ValueId id) const { return roots_[static_cast<size_t>(id)]; }
  /// None where nothing uses the value.
  std::optional<std::pair<int64_t, int64_t>> span(ValueId id) const {
    return spans_[static_cast<size_t>(id)];
  }

 private:
  void touch(ValueId id, int64_t at) {
    const EValue& value = method_.values[static_cast<size_t>(id)];
    if (const auto* list = std::get_if<TensorListValue>(&value)) {
      for (const ValueId item : list->items) touch(item, at);
    } else if (const auto* some = std::get_if<OptionalTensorListValue>(&value)) {
      for (const ValueId item : some->items) touch(item, at);
    } else if (std::holds_alternative<TensorValue>(value)) {
      extend(root(id), at, at);
    }
  }

  bool extend(ValueId id, int64_t first, int64_t last) {
    auto& span = spans_[static_cast<size_t>(id)];
    const auto before = span;
    if (!span) span = {first, last};
    span->first = std::min(span->first, first);
    span->second = std::max(span->second, last);
    return span != before;
  }

  void touch_all(const KernelCall& call, int64_t at) {
    for (const ValueId id : call.args) touch(id, at);
  }
  void touch_all(const DelegateCall& call, int64_t at) {
    for (const ValueId id : call.args) touch(id, at);
  }
  void touch_all(const MoveCall& call, int64_t at) {
    touch(call.from, at);
    touch(call.to, at);
  }
  void touch_all(const JumpFalseCall& call, int64_t at) { touch(call.condition, at); }
  void touch_all(const FreeCall& call, int64_t at) { touch(call.value, at); }

  /// What is moved to has the memory of what is moved from.
  void follow_moves() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction& instruction : method_.instructions) {
        const auto* move = std::get_if<MoveCall>(&instruction);
        if (!move) continue;
        const ValueId from = root(move->from), to = root(move->to);
        if (const auto s = span(to); s && span(from))
          changed = extend(from, s->first, s->second) || changed;
      }
    }
  }

  /// What is used in a loop may be used again in its next round.
  void widen_over_loops() {
    for (size_t i = 0; i < method_.instructions.size(); ++i) {
      const auto* jump = std::get_if<JumpFalseCall>(&method_.instructions[i]);
      if (!jump || jump->destination > static_cast<int64_t>(i)) continue;
      const int64_t first = jump->destination + 1, last = static_cast<int64_t>(i) + 1;
      for (auto& s : spans_)
        if (s && s->first <= last && s->second >= first)
          s = {std::min(s->first, first), std::max(s->second, last)};
    }
  }

  const Method& method_;
  std::vector<std::optional<std::pair<int64_t, int64_t>>> spans_;
  std::vector<ValueId> roots_;
};

/// What a process has addresses for (x86-64, AArch64).
constexpr int64_t kMostBytes = int64_t{1} << 47;

[[noreturn]] void too_large(const std::string& what) {
  throw Error(kUnsupported, fmt::format("[executorch] {}; a process has 2^47 bytes at most. Memory "
                                        "is planned for the upper bounds of all sizes: give lower "
                                        "ones in dynamic_shapes",
                                        what));
}

int64_t bytes_of(const TensorValue& tensor) {
  const Shape shape = upper_bound(tensor.shape, "[executorch] planning");
  int64_t bytes = itemsize(tensor.dtype);
  for (const int64_t size : shape)
    if (__builtin_mul_overflow(bytes, size, &bytes) || bytes > kMostBytes)
      too_large(fmt::format("a tensor of {} takes too much memory", shape_string(shape)));
  return bytes;
}

/// Places of buffers that several methods share, by name.
class BufferArena {
 public:
  Place place(const std::string& method, const TensorValue& buffer) {
    const int64_t bytes = aligned(bytes_of(buffer));
    if (buffer.name.empty())
      throw Error(kInternal, fmt::format("[executorch] method {}: a buffer has no name", method));
    const auto [at, added] = known_.try_emplace(buffer.name, std::pair{Place{}, bytes});
    if (added) {
      at->second.first = {kBuffers, size_};
      size_ += bytes;
    } else if (at->second.second != bytes) {
      throw Error(kInternal, fmt::format("[executorch] buffer {} has two sizes", buffer.name));
    }
    return at->second.first;
  }
  int64_t size() const { return size_; }

 private:
  std::map<std::string, std::pair<Place, int64_t>> known_;
  int64_t size_ = 0;
};

/// The values of a method that the arena of activations holds.
std::vector<ValueId> planned_values(const Method& method, const Lifetimes& lifetimes,
                                    const PlanOptions& options) {
  std::set<ValueId> theirs;
  if (!options.alloc_graph_input) theirs.insert(method.inputs.begin(), method.inputs.end());
  if (!options.alloc_graph_output) theirs.insert(method.outputs.begin(), method.outputs.end());
  std::vector<ValueId> ours;
  for (size_t i = 0; i < method.values.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const auto* tensor = std::get_if<TensorValue>(&method.values[i]);
    if (tensor && tensor->storage == Storage::kPlanned && lifetimes.root(id) == id &&
        lifetimes.span(id) && !theirs.contains(id))
      ours.push_back(id);
  }
  return ours;
}

MethodPlan plan_method(const Method& method, const PlanOptions& options, BufferArena& buffers) {
  const Lifetimes lifetimes(method);
  MethodPlan plan;
  plan.places.resize(method.values.size());
  const std::vector<ValueId> ids = planned_values(method, lifetimes, options);
  std::vector<Lifetime> spans;
  for (const ValueId id : ids) {
    const auto span = *lifetimes.span(id);
    spans.push_back({span.first, span.second, bytes_of(method.tensor(id))});
  }
  const Packing packing = pack(spans);
  if (packing.bytes > kMostBytes)
    too_large(fmt::format("method {} takes {} bytes of memory", method.name, packing.bytes));
  for (size_t i = 0; i < ids.size(); ++i)
    plan.places[static_cast<size_t>(ids[i])] = Place{kActivations, packing.offsets[i]};
  const int64_t padding = method.delegates.empty() ? 0 : kDelegatePadding;
  plan.arena_bytes = {0, packing.bytes + padding};
  for (size_t i = 0; i < method.values.size(); ++i) {
    const auto* tensor = std::get_if<TensorValue>(&method.values[i]);
    if (!tensor) continue;
    if (tensor->storage == Storage::kBuffer) {
      if (options.alloc_mutable_buffers) plan.places[i] = buffers.place(method.name, *tensor);
      else if (tensor->data)
        throw Error(kUnsupported,
                    fmt::format("[executorch] buffer {} begins with data, which a program without "
                                "alloc_mutable_buffers cannot hold; turn it on",
                                tensor->name));
    }
    if (tensor->view_of)
      plan.places[i] = plan.places[static_cast<size_t>(lifetimes.root(static_cast<ValueId>(i)))];
  }
  return plan;
}

}  // namespace

Packing pack(const std::vector<Lifetime>& lifetimes) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  struct Placed {
    int64_t offset, end, first, last;
  };
  std::vector<Placed> placed;  // by offset
  Packing packing{std::vector<int64_t>(lifetimes.size()), 0};
  for (const size_t i : order) {
    const Lifetime& life = lifetimes[i];
    const int64_t bytes = aligned(life.bytes);
    int64_t best = -1, best_gap = std::numeric_limits<int64_t>::max(), free_from = 0;
    for (const Placed& other : placed) {
      if (other.last < life.first || other.first > life.last) continue;
      const int64_t gap = other.offset - free_from;
      if (gap >= bytes && gap < best_gap) best = free_from, best_gap = gap;
      free_from = std::max(free_from, other.end);
    }
    const int64_t offset = best >= 0 ? best : free_from;
    packing.offsets[i] = offset;
    packing.bytes = std::max(packing.bytes, offset + bytes);
    const Placed entry{offset, offset + bytes, life.first, life.last};
    const auto at =
        std::upper_bound(placed.begin(), placed.end(), entry,
                         [](const Placed& a, const Placed& b) { return a.offset < b.offset; });
    placed.insert(at, entry);
  }
  return packing;
}

std::vector<MethodPlan> plan(const Program& program, const PlanOptions& options) {
  BufferArena buffers;
  std::vector<MethodPlan> plans;
  for (const Method& method : program.methods)
    plans.push_back(plan_method(method, options, buffers));
  if (buffers.size() > 0)
    for (MethodPlan& one : plans) one.arena_bytes.push_back(buffers.size());
  return plans;
}

}  // namespace slipway::executorch
