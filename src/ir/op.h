// The table of operators: every op is a row.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/schema.h"

namespace slipway {

class Args;
struct Array;
class EvalArgs;
class Graph;

/// Facts about an op that passes rely on; or-ed together.
enum Trait : uint32_t {
  kCommutes = 1,     ///< the first two arguments may be swapped
  kView = 2,         ///< the result holds the first argument's elements, only seen otherwise
  kElementwise = 4,  ///< one output, shapes broadcast
  kImpure = 8,       ///< equal arguments do not give equal results; never merged or dropped
  kSink = 32,        ///< keeps a value for the next run: an output that callers do not see
  kSpelling = 16,    ///< another way to write its body: front ends expand it at once
};

/// One operator. `schema` is verbatim from PyTorch for `aten::` rows.
struct OpRow {
  std::string_view schema;
  /// Types of the outputs. Throws Error{kInvalid} for arguments that do not fit. Null for target
  /// ops whose types depend on the contents of a tensor (Graph::emit_as gives them).
  std::vector<ValueType> (*infer)(const Args&);
  /// The values, for tests and constant folding; null when there is none.
  std::vector<Array> (*eval)(const EvalArgs&) = nullptr;
  /// The op written in simpler ones: its decomposition, pattern and oracle; null for core ops.
  std::vector<Value> (*body)(const Args&) = nullptr;
  uint32_t traits = 0;
};

/// A row with its schema parsed.
struct Op {
  OpRow row;
  Schema schema;
  const std::string& name() const { return schema.name; }
  bool has(Trait trait) const { return (row.traits & trait) != 0; }
};

/// The op of a full name such as "aten::add.Tensor", or null.
const Op* find_op(std::string_view name);
/// The same; Error{kUnsupported} for a name that no row has.
const Op& get_op(std::string_view name);
/// Every registered op, sorted by name.
std::vector<const Op*> all_ops();

/// Adds rows of a target namespace (a back end's ops). Rows that exist already are left alone.
void register_ops(std::span<const OpRow> rows);

/// The arguments of a node being inferred, expanded or lowered, in schema order with defaults
/// filled.
class Args {
 public:
  /// `graph` is where a body is written; without it that of the first tensor argument.
  Args(const Op& op, std::span<const Arg> args, Graph* graph = nullptr)
      : op_(op), args_(args), graph_(graph) {}

  const Op& op() const { return op_; }
  size_t size() const { return args_.size(); }
  bool has(size_t i) const { return !std::holds_alternative<std::monostate>(args_[i]); }
  const Arg& operator[](size_t i) const { return args_[i]; }
  /// The graph that a body is written into. Asserts that there is one.
  Graph& graph() const;

  /// Each accessor throws Error{kInvalid} naming op and argument when the kind does not fit.
  Value value(size_t i) const;
  /// Undefined where the argument is None.
  Value optional(size_t i) const { return has(i) ? value(i) : Value(); }
  const std::vector<Value>& values(size_t i) const;
  const ValueType& type(size_t i) const { return value(i).type(); }
  Sym sym(size_t i) const;
  int64_t integer(size_t i) const;
  double number(size_t i) const;
  bool flag(size_t i) const;
  const std::vector<Sym>& syms(size_t i) const;
  std::vector<int64_t> integers(size_t i) const;
  const std::string& text(size_t i) const;
  DType dtype(size_t i) const;
  /// An integer argument as an axis of a tensor of this rank, negative counted from the end.
  int64_t axis(size_t i, int64_t rank) const;
  /// The dims argument as sorted axes; an absent or empty list means all.
  std::vector<int64_t> axes(size_t i, int64_t rank) const;

  [[noreturn]] void fail(const std::string& message) const;

 private:
  const Op& op_;
  std::span<const Arg> args_;
  Graph* graph_;
};

/// An axis in [0, rank), negative counted from the end; Error{kInvalid} outside.
int64_t normalize_axis(int64_t axis, int64_t rank);

}  // namespace slipway
