// A graph of ATen ops as torch's serialized program.
#include "backends/dynamo/serialize.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/dynamo/arguments.h"
#include "backends/dynamo/lower.h"
#include "backends/dynamo/sizes.h"
#include "backends/dynamo/strides.h"
#include "backends/dynamo/sym_expr.h"
#include "base/pytree.h"

namespace slipway::dynamo {
namespace {

using schema::TensorArgument;

constexpr const char* kTorchVersion = "2.12.0";
constexpr int64_t kOpset = 10;

/// "L__self__,,Class;L__self__model,model,torch.nn.Module" of "model". Classes below the whole
/// model are not known.
std::string module_stack(const std::string& model_class, const std::string& scope) {
  std::string stack = "L__self__,," + model_class, key = "L__self__";
  for (size_t end = 0; end < scope.size();) {
    end = std::min(scope.find('.', end + 1), scope.size());
    std::string flat = scope.substr(0, end);
    std::replace(flat.begin(), flat.end(), '.', '_');
    stack += fmt::format(";{}{},{},torch.nn.Module", key, flat, scope.substr(0, end));
  }
  return stack;
}

class Serializer {
 public:
  Serializer(const Graph& graph, const SerializeOptions& options)
      : source_(graph),
        options_(options),
        updates_(updates_of(graph)),
        module_(result_.program.graph_module),
        out_(module_.graph),
        sizes_(graph, name_inputs(), options.example_sizes, names_, out_) {}

  SerializedProgram run() {
    const std::vector<Node*> order = source_.order();
    for (Node* node : order)
      if (node->kind == NodeKind::kWeight) add_parameter(node);
    for (Node* node : order)
      if (node->kind == NodeKind::kConstant) add_constant(node);
    add_inputs();
    find_writes(order);
    assert_own_bounds();
    for (Node* node : order)
      if (node->kind == NodeKind::kOp) add_node(node);
    copy_updates();
    add_outputs();
    add_call();
    add_frame();
    return std::move(result_);
  }

 private:
  std::vector<std::string> name_inputs() {
    std::vector<std::string> names;
    for (Node* input : source_.inputs()) {
      names.push_back(names_.fresh(input->name));
      value_names_[input->out()] = names.back();
    }
    return names;
  }

  /// Records a value's type under its name.
  void declare(Value value, const std::string& name, const SymShape& strides) {
    value_names_[value] = name;
    strides_[value] = strides;
    out_.tensor_values.emplace_back(name, meta(value.type(), strides));
  }

  schema::TensorMeta meta(const ValueType& type, const SymShape& strides) const {
    schema::TensorMeta meta;
    meta.dtype = schema::to_scalar_type(type.dtype);
    meta.sizes = sizes_.values(type.shape);
    meta.strides = sizes_.values(strides);
    return meta;
  }

  void declare_stored(Node* node, const std::string& name) {
    declare(node->out(), name, contiguous_strides(node->types[0].shape));
    out_.inputs.push_back({TensorArgument{name}});
  }

  void add_parameter(Node* node) {
    const std::string name = names_.fresh("p_" + node->name);
    declare_stored(node, name);
    module_.signature.input_specs.push_back({schema::InputToParameterSpec{{name}, node->name}});
    const std::string file = fmt::format("weight_{}", result_.weight_data.size());
    result_.weight_data.push_back(node->data);
    result_.weights.config.emplace_back(
        node->name, schema::PayloadMeta{file, true, false, out_.tensor_values.back().second});
  }

  void add_constant(Node* node) {
    const std::string number = std::to_string(result_.constant_data.size());
    const std::string name = names_.fresh("c_lifted_tensor_" + number);
    declare_stored(node, name);
    module_.signature.input_specs.push_back(
        {schema::InputToTensorConstantSpec{{name}, "lifted_tensor_" + number}});
    result_.constant_data.push_back(node->data);
    result_.constants.config.emplace_back(
        "lifted_tensor_" + number,
        schema::PayloadMeta{"tensor_" + number, false, false, out_.tensor_values.back().second});
  }

  /// User inputs in the order of the call.
  void add_inputs() {
    std::vector<std::string> leaves = options_.in_leaves;
    if (leaves.empty())
      leaves = input_leaf_names(parse_tree_spec(options_.in_spec, "in_spec"), "in_spec");
    size_t tensors = 0;
    for (const std::string& leaf : leaves) {
      if (const auto at = options_.in_constants.find(leaf); at != options_.in_constants.end()) {
        add_constant_input(leaf, at->second);
        continue;
      }
      const auto at = std::find_if(source_.inputs().begin(), source_.inputs().end(),
                                   [&](const Node* input) { return input->name == leaf; });
      if (at == source_.inputs().end())
        throw Error(kInternal, "[dynamo] the graph has no input " + leaf);
      const std::string name = value_names_.at((*at)->out());
      declare_stored(*at, name);
      module_.signature.input_specs.push_back({schema::UserInputSpec{{TensorArgument{name}}}});
      ++tensors;
    }
    if (tensors != source_.inputs().size())
      throw Error(kInternal, "[dynamo] the call has other inputs than the graph");
  }

  /// A number or text that the trace settled.
  void add_constant_input(const std::string& leaf, const schema::ConstantValue& value) {
    schema::Argument argument;
    std::visit([&](const auto& v) { argument.value = v; }, value.value);
    out_.inputs.push_back(std::move(argument));
    module_.signature.input_specs.push_back(
        {schema::InputToConstantInputSpec{names_.fresh(leaf), value}});
  }

  /// Where more was promised than the graph takes.
  void assert_own_bounds() {
    for (Sym s : sizes_.symbols()) {
      const auto at = options_.promised.find(s.name());
      if (at == options_.promised.end()) continue;
      const auto [lo, hi] = s.bounds();
      sizes_.assert_bounds(s, {at->second.lo < lo ? lo : -Sym::kUnbounded,
                               at->second.hi > hi ? hi : Sym::kUnbounded});
    }
  }

  /// Updates that are one index_copy over an input that nothing else reads can write it.
  void find_writes(const std::vector<Node*>& order) {
    std::map<Value, int64_t> readers;
    for (const Node* node : order)
      for (Value v : operands(*node)) ++readers[v];
    for (const Output& output : source_.outputs()) ++readers[output.value];
    for (const Update& update : updates_) {
      const Node* node = update.value.node();
      if (node->kind == NodeKind::kOp && node->op->name() == "aten::index_copy" &&
          node->arguments().value(0) == update.input->out() && readers[update.input->out()] == 1)
        written_.insert(node);
    }
  }

  void add_node(Node* node) {
    const std::string& op = node->op->name();
    std::string name = op.substr(6), overload = "default";
    if (const size_t dot = name.find('.'); dot != name.npos) {
      overload = name.substr(dot + 1);
      name.resize(dot);
    }
    if (written_.contains(node)) name += '_';
    schema::Node out;
    out.target = fmt::format("torch.ops.aten.{}.{}", name, overload);
    out.inputs = named_arguments(*node, value_names_, sizes_);
    out.metadata.emplace_back("nn_module_stack", module_stack(options_.model_class, node->scope));
    out.name = names_.fresh(name);
    if (node->types.size() == 1 && !node->op->schema.variadic_output) {
      declare(node->out(), *out.name,
              strides_of(*node, [&](Value v) -> const SymShape& { return strides_.at(v); }));
      out.outputs = {{TensorArgument{*out.name}}};
    } else {
      add_results(node, out);
    }
    out_.nodes.push_back(std::move(out));
  }

  /// The outputs of a node that has several: a list as one argument, a tuple as one each.
  void add_results(Node* node, schema::Node& out) {
    std::vector<TensorArgument> results;
    for (size_t i = 0; i < node->types.size(); ++i) {
      results.push_back({names_.fresh("getitem")});
      declare(node->out(static_cast<int>(i)), results.back().name,
              contiguous_strides(node->types[i].shape));
    }
    if (node->op->schema.variadic_output) out.outputs = {{std::move(results)}};
    else
      for (TensorArgument& result : results) out.outputs.push_back({std::move(result)});
  }

  void add_call_of(const char* op, std::vector<schema::NamedArgument> inputs, const ValueType& type,
                   std::string* result) {
    schema::Node node;
    node.target = fmt::format("torch.ops.aten.{}.default", op);
    node.inputs = std::move(inputs);
    node.metadata.emplace_back("nn_module_stack", module_stack(options_.model_class, ""));
    node.name = names_.fresh(op);
    node.outputs = {{TensorArgument{*node.name}}};
    out_.tensor_values.emplace_back(*node.name, meta(type, contiguous_strides(type.shape)));
    *result = *node.name;
    out_.nodes.push_back(std::move(node));
  }

  /// The other updates, when everything has read the old values. What may share memory with an
  /// input is copied first, before the first of them is written.
  void copy_updates() {
    std::vector<std::string> values;
    for (const Update& update : updates_) {
      const Node* node = update.value.node();
      values.push_back(value_names_.at(update.value));
      const bool shares = node->kind != NodeKind::kOp || node->op->has(kView);
      if (!written_.contains(node) && shares)
        add_call_of("clone", {{"self", {TensorArgument{values.back()}}, 1}}, update.value.type(),
                    &values.back());
    }
    for (size_t i = 0; i < updates_.size(); ++i) {
      const Update& update = updates_[i];
      std::string result = values[i];
      if (!written_.contains(update.value.node()))
        add_call_of("copy_",
                    {{"self", {TensorArgument{value_names_.at(update.input->out())}}, 1},
                     {"src", {TensorArgument{values[i]}}, 1}},
                    update.value.type(), &result);
      updated_[update.input->name] = result;
    }
  }

  void add_outputs() {
    std::vector<std::string> leaves = options_.out_leaves;
    if (leaves.empty())
      leaves = leaf_names(parse_tree_spec(options_.out_spec, "out_spec"), "out_spec");
    size_t returned = 0;
    for (size_t i = 0; i < leaves.size(); ++i) {
      const auto constant = options_.out_constants.find(static_cast<int64_t>(i));
      returned += constant == options_.out_constants.end() ? 1 : 0;
      add_output(constant == options_.out_constants.end() ? tensor_output(leaves[i])
                                                          : constant->second);
    }
    for (const Output& output : source_.outputs())  // inputs that are written to
      if (std::find(leaves.begin(), leaves.end(), output.name) == leaves.end() &&
          updated_.contains(output.name))
        ++returned;
    if (returned != source_.outputs().size())
      throw Error(kInternal, "[dynamo] the call returns other outputs than the graph");
  }

  schema::Argument tensor_output(const std::string& leaf) {
    const auto at = std::find_if(source_.outputs().begin(), source_.outputs().end(),
                                 [&](const Output& output) { return output.name == leaf; });
    if (at == source_.outputs().end())
      throw Error(kInternal, "[dynamo] the graph has no output " + leaf);
    std::string name = value_names_.at(at->value);
    if (const auto updated = updated_.find(leaf); updated != updated_.end()) name = updated->second;
    else if (at->value.node()->kind != NodeKind::kOp)
      add_call_of("clone", {{"self", {TensorArgument{name}}, 1}}, at->value.type(), &name);
    return {TensorArgument{name}};
  }

  void add_output(schema::Argument argument) {
    out_.outputs.push_back(argument);
    module_.signature.output_specs.push_back({schema::UserOutputSpec{std::move(argument)}});
  }

  /// The call of the whole module.
  void add_call() {
    schema::ModuleCallSignature call;
    call.in_spec = options_.in_spec;
    call.out_spec = options_.out_spec;
    const TreeSpec spec = parse_tree_spec(options_.in_spec, "in_spec");
    call.forward_arg_names.emplace();
    for (size_t i = 0; i < spec.children.at(0).children.size(); ++i) {
      const bool leaf = spec.children[0].children[i].is_leaf() && i < options_.in_leaves.size();
      call.forward_arg_names->push_back(leaf ? options_.in_leaves[i] : fmt::format("arg_{}", i));
    }
    for (const Json& name : spec.children.at(1).context)
      call.forward_arg_names->push_back(name.get<std::string>());
    module_.module_call_graph.push_back({"", std::move(call)});
  }

  /// Versions, ranges, and the sizes that follow from others.
  void add_frame() {
    schema::ExportedProgram& program = result_.program;
    program.opset_version = {{"aten", kOpset}};
    program.verifiers = {"TRAINING"};
    program.torch_version = kTorchVersion;
    for (Sym s : sizes_.symbols()) {
      const auto promised = options_.promised.find(s.name());
      const auto [lo, hi] = promised == options_.promised.end() ? s.bounds() : promised->second;
      program.range_constraints.emplace_back(
          symbol_name(s.name()),
          schema::RangeConstraint{lo, hi == Sym::kUnbounded ? std::nullopt : std::optional(hi)});
    }
    program.guards_code = guards_code(source_, parse_tree_spec(options_.in_spec, "in_spec"));
  }

  const Graph& source_;
  const SerializeOptions& options_;
  std::vector<Update> updates_;
  SerializedProgram result_;
  schema::GraphModule& module_;
  schema::Graph& out_;
  Names names_;
  std::map<Value, std::string> value_names_;
  std::map<Value, SymShape> strides_;
  std::set<const Node*> written_;               ///< index_copy nodes that write their input
  std::map<std::string, std::string> updated_;  ///< results of updates, by the input's leaf name
  Sizes sizes_;
};

}  // namespace

SerializedProgram serialize(const Graph& graph, const SerializeOptions& options) {
  return Serializer(graph, options).run();
}

}  // namespace slipway::dynamo
