// Evaluates graphs in plain C++: arguments, and the walk over the nodes.
#include "ir/eval.h"

#include <fmt/format.h>

namespace slipway {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 28;

using Values = std::map<std::pair<const Node*, int>, Array>;
using Dims = std::map<std::string, int64_t>;

}  // namespace

const Array& EvalArgs::array(size_t i) const {
  const Value v = args().value(i);
  return values_.at({v.node(), v.index()});
}

std::vector<const Array*> EvalArgs::arrays(size_t i) const {
  std::vector<const Array*> found;
  for (const Value v : args().values(i))
    found.push_back(v.defined() ? &values_.at({v.node(), v.index()}) : nullptr);
  return found;
}

int64_t EvalArgs::integer(size_t i) const { return args().sym(i).evaluate(dims_); }

std::vector<int64_t> EvalArgs::integers(size_t i) const {
  std::vector<int64_t> result;
  for (const Sym s : args().syms(i)) result.push_back(s.evaluate(dims_));
  return result;
}

double EvalArgs::number(size_t i) const {
  if (const auto* s = std::get_if<Sym>(&args()[i])) return static_cast<double>(s->evaluate(dims_));
  return args().number(i);
}

Shape EvalArgs::out_shape(size_t i) const {
  Shape shape;
  for (const Sym s : node_.types[i].shape) shape.push_back(s.evaluate(dims_));
  if (numel(shape) > kMaxElements)
    throw Error(kUnsupported, fmt::format("[eval] {} gives {}, more than {} elements",
                                          node_.op->name(), shape_string(shape), kMaxElements));
  return shape;
}

namespace {

/// Binds the symbols that are sizes by themselves and checks every other size against them.
Dims bind_dims(const std::vector<std::pair<const Node*, const Tensor*>>& given, Dims dims) {
  for (const auto& [node, tensor] : given) {
    const ValueType& type = node->types[0];
    if (tensor->dtype() != type.dtype || tensor->shape().size() != type.shape.size())
      throw Error(kInvalid, fmt::format("[eval] input '{}' is {}{}, need {}", node->name,
                                        short_name(tensor->dtype()), shape_string(tensor->shape()),
                                        to_string(type)));
    for (size_t i = 0; i < type.shape.size(); ++i)
      if (type.shape[i].is_symbol()) dims.emplace(type.shape[i].name(), tensor->shape()[i]);
  }
  for (const auto& [node, tensor] : given) {
    const SymShape& shape = node->types[0].shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t got = tensor->shape()[i], need = shape[i].evaluate(dims);
      const Sym::Bounds range = shape[i].bounds();
      if (got != need || got < range.lo || got > range.hi)
        throw Error(kInvalid,
                    fmt::format("[eval] input '{}' has size {} in dimension {}, need {}{}",
                                node->name, got, i, shape[i].str(),
                                got != need ? fmt::format(" = {}", need)
                                            : fmt::format(" in {}..{}", range.lo, range.hi)));
    }
  }
  return dims;
}

class Evaluator {
 public:
  explicit Evaluator(Dims dims) : dims_(std::move(dims)) {}

  void set(const Node* node, Array array) {
    values_.insert_or_assign(std::pair{node, 0}, std::move(array));
  }
  const Array& get(Value v) const { return values_.at({v.node(), v.index()}); }

  void run(const Node& node) {
    std::vector<Array> outs;
    if (node.op->row.eval != nullptr) outs = node.op->row.eval(EvalArgs(node, values_, dims_));
    else if (node.op->row.body != nullptr) outs = run_body(node);
    else
      throw Error(kUnsupported,
                  fmt::format("[eval] {} has neither an evaluation nor a body", node.op->name()));
    SLIPWAY_ASSERT(outs.size() == node.types.size());
    const EvalArgs args(node, values_, dims_);
    for (size_t i = 0; i < outs.size(); ++i) {
      const Shape need = args.out_shape(i);
      if (outs[i].shape != need)
        throw Error(kInvalid, fmt::format("[eval] {} gave {}, its type is {} = {}", node.op->name(),
                                          shape_string(outs[i].shape), to_string(node.types[i]),
                                          shape_string(need)));
      SLIPWAY_ASSERT(numel(need) == static_cast<int64_t>(outs[i].values.size()));
      outs[i].dtype = node.types[i].dtype;
      outs[i].round();
      values_.insert_or_assign(std::pair{&node, static_cast<int>(i)}, std::move(outs[i]));
    }
  }

 private:
  /// The body written into a graph of its own, where every size is a number.
  std::vector<Array> run_body(const Node& node) {
    Graph graph;
    Evaluator inner(dims_);
    const auto input = [&](Value v) {
      const Array& array = get(v);
      const Value in = graph.add_input(std::to_string(graph.inputs().size()),
                                       {array.dtype, {array.shape.begin(), array.shape.end()}});
      inner.set(in.node(), array);
      return in;
    };
    std::vector<Arg> args;
    for (Arg arg : node.args) {
      if (auto* v = std::get_if<Value>(&arg)) *v = input(*v);
      if (auto* list = std::get_if<std::vector<Value>>(&arg))
        for (Value& v : *list)
          if (v.defined()) v = input(v);
      if (auto* s = std::get_if<Sym>(&arg)) *s = s->evaluate(dims_);
      if (auto* list = std::get_if<std::vector<Sym>>(&arg))
        for (Sym& s : *list) s = s.evaluate(dims_);
      args.push_back(std::move(arg));
    }
    const std::vector<Value> results = node.op->row.body(Args(*node.op, args, &graph));
    for (const Value v : results) graph.add_output("", v);
    inner.run(graph);
    std::vector<Array> outs;
    for (const Value v : results) outs.push_back(inner.get(v));
    return outs;
  }

 public:
  void run(const Graph& graph) {
    for (const Node* node : graph.order()) {
      if (node->kind == NodeKind::kOp) run(*node);
      else if (node->data != nullptr) set(node, Array::from_tensor(materialize(*node->data)));
    }
  }

 private:
  Values values_;
  Dims dims_;
};

}  // namespace

std::map<std::string, Tensor> evaluate(const Graph& graph,
                                       const std::map<std::string, Tensor>& inputs,
                                       const std::map<std::string, int64_t>& dims) {
  std::vector<const Node*> wanted(graph.inputs().begin(), graph.inputs().end());
  for (const Node* node : graph.order())
    if (node->kind != NodeKind::kOp && node->kind != NodeKind::kInput && node->data == nullptr)
      wanted.push_back(node);
  std::vector<std::pair<const Node*, const Tensor*>> given;
  for (const Node* node : wanted) {
    const auto at = inputs.find(node->name);
    if (at == inputs.end())
      throw Error(kInvalid, fmt::format("[eval] no tensor for '{}'", node->name));
    given.emplace_back(node, &at->second);
  }
  Evaluator evaluator(bind_dims(given, dims));
  for (const auto& [node, tensor] : given) evaluator.set(node, Array::from_tensor(*tensor));
  evaluator.run(graph);
  std::map<std::string, Tensor> outputs;
  for (const Output& output : graph.outputs())
    outputs[output.name] = evaluator.get(output.value).to_tensor();
  return outputs;
}

}  // namespace slipway
