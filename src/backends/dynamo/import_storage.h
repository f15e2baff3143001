// Turns writes into values: tensors of an imported graph with the storage they view.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace slipway::dynamo {

/// One step from a tensor to a view of it.
struct ViewStep {
  std::function<Value(Value base)> forward;
  /// The base with the view's elements replaced; null where several elements of the view are one
  /// of the base.
  std::function<Value(Value base, Value part)> backward;
  /// The result may also have been a copy (reshape): writing to one side afterwards
  /// would leave the other unknown.
  bool maybe = false;
};

/// The tensors of a graph by name. A tensor is a chain of views of a storage; writing to any tensor
/// of a storage gives the storage a new value, from which the others are made anew when read.
class ImportStorage {
 public:
  void define(const std::string& name, Value value);
  /// `name` is a view of `base`, and has the value `value` now.
  void define_view(const std::string& name, const std::string& base, ViewStep step, Value value);
  /// `name` is the same tensor as `base`.
  void define_alias(const std::string& name, const std::string& base) { tensors_[name] = at(base); }

  /// Throws Error{kInvalid} for a name that was not defined, Error{kUnsupported} for a tensor that
  /// may or may not have been written to through another.
  Value read(const std::string& name);
  /// Replaces the elements of `name` by those of `value`, of the same shape and dtype. `result` is
  /// the name of the op's output, the same tensor. Throws Error{kUnsupported} for a view that
  /// cannot be written to.
  void write(const std::string& name, Value value, const std::string& result);
  /// Whether anything was written to the storage of `name`.
  bool written(const std::string& name) const;

 private:
  struct Storage {
    Value value;
    int64_t version = 0;
  };
  struct Tensor {
    size_t storage = 0;
    std::vector<ViewStep> steps;
    Value value;
    int64_t version = 0;
    bool maybe = false;
  };

  Tensor& at(const std::string& name);

  std::vector<Storage> storages_;
  std::map<std::string, Tensor> tensors_;
};

/// Whether results of the op are views of its first argument, as far as we know.
bool is_view_op(const Op& op);

/// The step of a view op's output `index`, for the op's arguments: its first argument is what is
/// viewed. Null functions for ops that are not views.
ViewStep view_step(const Op& op, const std::vector<Arg>& args, size_t index);

}  // namespace slipway::dynamo
