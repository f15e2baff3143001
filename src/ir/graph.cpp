// The graph: making nodes, ordering them, replacing and dropping.
#include "ir/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace slipway {
namespace {

/// Fits an argument to the schema's type: integers to numbers where the schema wants a float, one
/// integer to a list. Throws through Args::fail's form when it cannot.
Arg fit(const Op& op, const SchemaArg& want, Arg arg) {
  const auto fail = [&]() -> Arg {
    throw Error(kInvalid,
                fmt::format("[ir] {}: argument '{}' has the wrong kind", op.name(), want.name));
  };
  if (std::holds_alternative<std::monostate>(arg)) {
    if (want.optional || want.type == ArgType::kOther) return arg;
    throw Error(kInvalid, fmt::format("[ir] {}: argument '{}' is missing", op.name(), want.name));
  }
  switch (want.type) {
    case ArgType::kTensor:
      return std::holds_alternative<Value>(arg) ? arg : fail();
    case ArgType::kTensorList: {
      const auto* list = std::get_if<std::vector<Value>>(&arg);
      if (list == nullptr) return fail();
      for (const Value v : *list)
        if (!v.defined() && !want.optional_items) return fail();
      return arg;
    }
    case ArgType::kInt:
      return std::holds_alternative<Sym>(arg) ? arg : fail();
    case ArgType::kIntList:
      if (const auto* s = std::get_if<Sym>(&arg)) return std::vector<Sym>{*s};
      return std::holds_alternative<std::vector<Sym>>(arg) ? arg : fail();
    case ArgType::kFloat:
      if (const auto* s = std::get_if<Sym>(&arg); s != nullptr && s->is_const())
        return static_cast<double>(s->value());
      return std::holds_alternative<double>(arg) ? arg : fail();
    case ArgType::kFloatList:
      if (const auto* s = std::get_if<std::vector<Sym>>(&arg)) {
        std::vector<double> numbers;
        for (Sym v : *s) {
          if (!v.is_const()) return fail();
          numbers.push_back(static_cast<double>(v.value()));
        }
        return numbers;
      }
      return std::holds_alternative<std::vector<double>>(arg) ? arg : fail();
    case ArgType::kBool:
      return std::holds_alternative<bool>(arg) ? arg : fail();
    case ArgType::kScalar:
      return std::holds_alternative<double>(arg) || std::holds_alternative<Sym>(arg) ||
                     std::holds_alternative<bool>(arg)
                 ? arg
                 : fail();
    case ArgType::kDType:
      return std::holds_alternative<DType>(arg) ? arg : fail();
    case ArgType::kString:
      return std::holds_alternative<std::string>(arg) ? arg : fail();
    case ArgType::kOther:
      return arg;
  }
  return fail();
}

/// In an untyped graph a word may stand for an argument of any kind (Pattern::ignored).
std::vector<Arg> bind(const Op& op, const std::vector<OpArg>& given, Typing typing) {
  const auto& schema = op.schema.args;
  std::vector<Arg> args(schema.size());
  std::vector<bool> set(schema.size(), false);
  size_t position = 0;
  for (const OpArg& arg : given) {
    const int at = arg.name.empty() ? static_cast<int>(position++) : op.schema.find(arg.name);
    if (at < 0 || static_cast<size_t>(at) >= schema.size())
      throw Error(kInvalid, fmt::format("[ir] {} takes {} arguments and has no '{}'", op.name(),
                                        schema.size(), arg.name));
    const auto i = static_cast<size_t>(at);
    if (set[i])
      throw Error(kInvalid, fmt::format("[ir] {}: '{}' is given twice", op.name(), schema[i].name));
    const bool wild =
        typing == Typing::kUntyped && std::holds_alternative<std::string>(arg.value);
    args[i] = wild ? arg.value : fit(op, schema[i], arg.value);
    set[i] = true;
  }
  for (size_t i = 0; i < schema.size(); ++i)
    if (!set[i])
      args[i] = schema[i].has_default ? schema[i].default_value : fit(op, schema[i], Arg());
  return args;
}

}  // namespace

Graph& Value::graph() const { return *node_->graph; }
const ValueType& Value::type() const {
  SLIPWAY_ASSERT(static_cast<size_t>(index_) < node_->types.size());  // a pattern has no types
  return node_->types[static_cast<size_t>(index_)];
}
Sym Value::dim(int64_t i) const { return shape()[static_cast<size_t>(normalize_axis(i, rank()))]; }
bool operator<(Value a, Value b) {
  if (a.node_ != b.node_) return a.node_->id < b.node_->id;
  return a.index_ < b.index_;
}

std::string to_string(const ValueType& type) {
  return std::string(short_name(type.dtype)) + shape_string(type.shape);
}

Node* Graph::add_node(NodeKind kind) {
  nodes_.push_back(std::make_unique<Node>());
  Node* node = nodes_.back().get();
  node->graph = this;
  node->id = next_id_++;
  node->kind = kind;
  node->scope = scope_;
  return node;
}

Value Graph::add_input(const std::string& name, ValueType type) {
  for (const Node* input : inputs_)
    if (input->name == name)
      throw Error(kInvalid, fmt::format("[ir] there are two inputs named '{}'", name));
  Node* node = add_node(NodeKind::kInput);
  node->name = name;
  if (typing_ == Typing::kInferred) node->types = {std::move(type)};
  inputs_.push_back(node);
  return node->out();
}

Value Graph::add_weight(const std::string& name, Lazy data) {
  SLIPWAY_ASSERT(data != nullptr);
  if (const auto at = weight_of_.find(data.get()); at != weight_of_.end()) return at->second->out();
  const SymShape shape(data->shape().begin(), data->shape().end());
  Node* node = add_weight(name, ValueType{data->dtype(), shape}).node();
  weight_of_[data.get()] = node;
  node->data = std::move(data);
  return node->out();
}

Value Graph::add_weight(const std::string& name, ValueType type) {
  Node* node = add_node(NodeKind::kWeight);
  node->name = name;
  node->types = {std::move(type)};
  return node->out();
}

Value Graph::constant(Tensor tensor) {
  Node* node = add_node(NodeKind::kConstant);
  const SymShape shape(tensor.shape().begin(), tensor.shape().end());
  node->types = {ValueType{tensor.dtype(), shape}};
  node->data = lazy_constant(std::move(tensor));
  return node->out();
}

Value Graph::constant(ValueType type, std::string digest) {
  Node* node = add_node(NodeKind::kConstant);
  node->name = std::move(digest);
  node->types = {std::move(type)};
  return node->out();
}

std::vector<Value> Graph::emit_all(const Op& op, const std::vector<OpArg>& args) {
  std::vector<Arg> bound = bind(op, args, typing_);
  std::vector<ValueType> types;
  if (typing_ == Typing::kInferred) {
    SLIPWAY_ASSERT(op.row.infer != nullptr);  // such ops are emitted with emit_as
    types = op.row.infer(Args(op, bound));
    SLIPWAY_ASSERT(op.schema.variadic_output ||
                   types.size() == static_cast<size_t>(op.schema.num_outputs));
    for (const ValueType& type : types)
      for (const Sym size : type.shape)
        if (size.bounds().hi < 0)
          throw Error(kInvalid, fmt::format("[ir] {} gives {}, which has a negative size",
                                            op.name(), to_string(type)));
  }
  const size_t num_outputs = typing_ == Typing::kInferred
                                 ? types.size()
                                 : static_cast<size_t>(std::max(op.schema.num_outputs, 1));
  return add_op(op, std::move(bound), std::move(types), num_outputs);
}

std::vector<Value> Graph::emit_as(const Op& op, const std::vector<OpArg>& args,
                                  std::vector<ValueType> types) {
  SLIPWAY_ASSERT(typing_ == Typing::kInferred && !types.empty());
  const size_t num_outputs = types.size();
  return add_op(op, bind(op, args, typing_), std::move(types), num_outputs);
}

std::vector<Value> Graph::add_op(const Op& op, std::vector<Arg> args, std::vector<ValueType> types,
                                 size_t num_outputs) {
  Node* node = add_node(NodeKind::kOp);
  node->op = &op;
  node->args = std::move(args);
  node->types = std::move(types);
  std::vector<Value> outs;
  for (size_t i = 0; i < num_outputs; ++i) outs.push_back(node->out(static_cast<int>(i)));
  return outs;
}

Value Graph::emit(const Op& op, const std::vector<OpArg>& args) { return emit_all(op, args).at(0); }

Value Graph::emit(std::string_view op, std::initializer_list<OpArg> args) {
  return emit(get_op(op), std::vector<OpArg>(args));
}

void Graph::add_output(std::string name, Value value) {
  SLIPWAY_ASSERT(value.defined() && &value.graph() == this);
  outputs_.push_back({std::move(name), value});
}

std::vector<Value> operands(const Node& node) {
  std::vector<Value> result;
  for (const Arg& arg : node.args) {
    if (const auto* v = std::get_if<Value>(&arg)) result.push_back(*v);
    if (const auto* list = std::get_if<std::vector<Value>>(&arg))
      for (Value v : *list)
        if (v.defined()) result.push_back(v);
  }
  return result;
}

std::vector<Node*> Graph::order() const {
  std::vector<Node*> sorted;
  std::set<const Node*> seen;
  // An explicit stack: graphs are deeper than the call stack allows.
  struct Frame {
    Node* node;
    std::vector<Value> operands;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  const auto visit = [&](Node* node) {
    if (seen.insert(node).second) stack.push_back({node, operands(*node), 0});
  };
  for (const Output& output : outputs_) {
    visit(output.value.node());
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.operands.size()) {
        visit(top.operands[top.next++].node());
      } else {
        sorted.push_back(top.node);
        stack.pop_back();
      }
    }
  }
  return sorted;
}

std::vector<Node*> Graph::weights() const {
  std::vector<Node*> result;
  for (Node* node : order())
    if (node->kind == NodeKind::kWeight) result.push_back(node);
  return result;
}

void Graph::replace_all_uses(Value from, Value to) {
  SLIPWAY_ASSERT(&from.graph() == this && &to.graph() == this);
  for (const auto& node : nodes_) {
    for (Arg& arg : node->args) {
      if (auto* v = std::get_if<Value>(&arg); v != nullptr && *v == from) *v = to;
      if (auto* list = std::get_if<std::vector<Value>>(&arg))
        std::replace(list->begin(), list->end(), from, to);
    }
  }
  for (Output& output : outputs_)
    if (output.value == from) output.value = to;
}

int64_t Graph::drop_dead() {
  const std::vector<Node*> live_order = order();
  const std::set<const Node*> live(live_order.begin(), live_order.end());
  const auto before = nodes_.size();
  for (auto at = weight_of_.begin(); at != weight_of_.end();)
    at = live.count(at->second) != 0 ? std::next(at) : weight_of_.erase(at);
  std::erase_if(nodes_, [&](const std::unique_ptr<Node>& n) {
    return n->kind != NodeKind::kInput && live.count(n.get()) == 0;
  });
  return static_cast<int64_t>(before - nodes_.size());
}

void Graph::erase_input(Node* input) {
  for (const Node* node : order()) SLIPWAY_ASSERT(node != input);
  std::erase(inputs_, input);
  std::erase_if(nodes_, [&](const std::unique_ptr<Node>& n) { return n.get() == input; });
}

}  // namespace slipway
