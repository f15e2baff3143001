// The op registry, and typed access to arguments.
#include "ir/op.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "ir/graph.h"
#include "ir/ops/families.h"

namespace slipway {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Op>, std::less<>> ops;

  void add(std::span<const OpRow> rows) {
    const std::lock_guard lock(mutex);
    for (const OpRow& row : rows) {
      auto op = std::make_unique<Op>(Op{row, Schema::parse(row.schema)});
      const std::string name = op->name();
      ops.try_emplace(name, std::move(op));
    }
  }
};

/// Ops never go away: nodes point at them.
Registry& registry() {
  static Registry& instance = *[] {
    auto* made = new Registry();
    for (const auto rows : ops::families()) made->add(rows);
    return made;
  }();
  return instance;
}

}  // namespace

const Op* find_op(std::string_view name) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto at = r.ops.find(name);
  return at == r.ops.end() ? nullptr : at->second.get();
}

const Op& get_op(std::string_view name) {
  if (const Op* op = find_op(name)) return *op;
  throw Error(kUnsupported, fmt::format("[ir] there is no op '{}'; add a row in src/ir/ops", name));
}

std::vector<const Op*> all_ops() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  std::vector<const Op*> ops;
  for (const auto& [name, op] : r.ops) ops.push_back(op.get());
  return ops;
}

void register_ops(std::span<const OpRow> rows) { registry().add(rows); }

void Args::fail(const std::string& message) const {
  throw Error(kInvalid, fmt::format("[ir] {}: {}", op_.name(), message));
}

Graph& Args::graph() const {
  if (graph_ != nullptr) return *graph_;
  for (const Arg& arg : args_) {
    if (const auto* v = std::get_if<Value>(&arg)) return v->graph();
    if (const auto* list = std::get_if<std::vector<Value>>(&arg))
      for (const Value v : *list)
        if (v.defined()) return v.graph();
  }
  throw Error(kInternal, fmt::format("[ir] {}: no graph to write the body into", op_.name()));
}

Value Args::value(size_t i) const {
  if (const auto* v = std::get_if<Value>(&args_[i])) return *v;
  fail(fmt::format("argument '{}' must be a tensor", op_.schema.args[i].name));
}

const std::vector<Value>& Args::values(size_t i) const {
  if (const auto* v = std::get_if<std::vector<Value>>(&args_[i])) return *v;
  fail(fmt::format("argument '{}' must be a list of tensors", op_.schema.args[i].name));
}

Sym Args::sym(size_t i) const {
  if (const auto* v = std::get_if<Sym>(&args_[i])) return *v;
  fail(fmt::format("argument '{}' must be an integer", op_.schema.args[i].name));
}

int64_t Args::integer(size_t i) const {
  const Sym s = sym(i);
  if (!s.is_const())
    fail(fmt::format("argument '{}' must be a fixed integer, got {}", op_.schema.args[i].name,
                     s.str()));
  return s.value();
}

double Args::number(size_t i) const {
  if (const auto* v = std::get_if<double>(&args_[i])) return *v;
  if (const auto* v = std::get_if<bool>(&args_[i])) return *v ? 1.0 : 0.0;
  return static_cast<double>(integer(i));
}

bool Args::flag(size_t i) const {
  if (const auto* v = std::get_if<bool>(&args_[i])) return *v;
  fail(fmt::format("argument '{}' must be true or false", op_.schema.args[i].name));
}

const std::vector<Sym>& Args::syms(size_t i) const {
  if (const auto* v = std::get_if<std::vector<Sym>>(&args_[i])) return *v;
  fail(fmt::format("argument '{}' must be a list of integers", op_.schema.args[i].name));
}

std::vector<int64_t> Args::integers(size_t i) const {
  std::vector<int64_t> result;
  for (Sym s : syms(i)) {
    if (!s.is_const())
      fail(fmt::format("argument '{}' must hold fixed integers", op_.schema.args[i].name));
    result.push_back(s.value());
  }
  return result;
}

const std::string& Args::text(size_t i) const {
  if (const auto* v = std::get_if<std::string>(&args_[i])) return *v;
  fail(fmt::format("argument '{}' must be a string", op_.schema.args[i].name));
}

DType Args::dtype(size_t i) const {
  if (const auto* v = std::get_if<DType>(&args_[i])) return *v;
  fail(fmt::format("argument '{}' must be a dtype", op_.schema.args[i].name));
}

int64_t Args::axis(size_t i, int64_t rank) const { return normalize_axis(integer(i), rank); }

std::vector<int64_t> Args::axes(size_t i, int64_t rank) const {
  std::vector<int64_t> result;
  if (has(i))
    for (const int64_t a : integers(i)) result.push_back(normalize_axis(a, rank));
  if (result.empty())
    for (int64_t a = 0; a < rank; ++a) result.push_back(a);
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) fail("an axis is repeated");
  return result;
}

int64_t normalize_axis(int64_t axis, int64_t rank) {
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank)
    throw Error(kInvalid, fmt::format("[ir] axis {} is outside a tensor of rank {}", axis, rank));
  return at;
}

}  // namespace slipway
