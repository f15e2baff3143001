// What a program takes and gives, by name: its inputs, outputs, and the sizes that it accepts.
#include "backends/dynamo/contract.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/dynamo/sym_expr.h"
#include "base/json.h"
#include "base/pytree.h"
#include "slipway/error.h"

namespace slipway::dynamo {
namespace {

/// The graph's name of a value, "" for a constant.
std::string value_name(const schema::Argument& argument) {
  const auto named = [](const auto& value) {
    const auto* name = std::get_if<schema::Name>(&value);
    return name != nullptr ? name->value : std::string();
  };
  if (const auto* tensor = argument.get<schema::TensorArgument>()) return tensor->name;
  if (const auto* size = argument.get<schema::SymIntArgument>()) return named(size->value);
  if (const auto* real = argument.get<schema::SymFloatArgument>()) return named(real->value);
  if (const auto* truth = argument.get<schema::SymBoolArgument>()) return named(truth->value);
  return "";
}

class Reader {
 public:
  Reader(const schema::ExportedProgram& program, const std::set<std::string>& written,
         std::string_view where)
      : program_(program),
        graph_(program.graph_module.graph),
        signature_(program.graph_module.signature),
        written_(written),
        where_(where) {}

  Contract read() {
    if (graph_.inputs.size() != signature_.input_specs.size() ||
        graph_.outputs.size() != signature_.output_specs.size())
      fail(fmt::format("the graph has {} inputs and {} outputs, its signature {} and {}",
                       graph_.inputs.size(), graph_.outputs.size(), signature_.input_specs.size(),
                       signature_.output_specs.size()));
    for (const auto& [symbol, range] : program_.range_constraints)
      contract_.ranges.emplace(plain_name(symbol), range);
    read_inputs();
    read_outputs();
    add_updated_inputs();
    tell_apart();
    return std::move(contract_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(kInvalid, fmt::format("[dynamo] {}: {}", where_, problem));
  }

  std::optional<Sym> size_of(const schema::SymInt& size) const {
    if (const auto* number = std::get_if<int64_t>(&size.value)) return *number;
    try {
      return parse_sym_expr(std::get<schema::SymExpr>(size.value).expr_str,
                            [](const std::string& name) { return Sym::symbol(plain_name(name)); });
    } catch (const Error& e) {
      if (e.kind() == kUnsupported) return std::nullopt;
      throw;
    }
  }

  /// Dtype and sizes of a value; nullopt for one that is not a tensor or a number.
  std::optional<Port> port_of(const schema::Argument& argument, size_t position) const {
    Port port;
    port.value = value_name(argument);
    port.position = position;
    if (argument.get<schema::TensorArgument>() != nullptr) {
      const auto meta = std::find_if(graph_.tensor_values.begin(), graph_.tensor_values.end(),
                                     [&](const auto& row) { return row.first == port.value; });
      if (meta == graph_.tensor_values.end())
        fail(fmt::format("nothing says what tensor {} is", quote(port.value)));
      const auto dtype = schema::to_dtype(meta->second.dtype);
      if (!dtype)
        throw Error(kUnsupported,
                    fmt::format("[dynamo] {}: {} has the type {}, which the runner does not pass",
                                where_, quote(port.value), schema::to_string(meta->second.dtype)));
      port.dtype = *dtype;
      for (const schema::SymInt& size : meta->second.sizes) port.dims.push_back(size_of(size));
      return port;
    }
    port.is_number = true;
    if (argument.get<schema::SymIntArgument>() != nullptr || argument.get<int64_t>() != nullptr)
      port.dtype = DType::kI64;
    else if (argument.get<schema::SymFloatArgument>() != nullptr ||
             argument.get<double>() != nullptr)
      port.dtype = DType::kF64;
    else if (argument.get<schema::SymBoolArgument>() != nullptr || argument.get<bool>() != nullptr)
      port.dtype = DType::kBool;
    else return std::nullopt;
    return port;
  }

  /// The leaves of the call's arguments, by the arguments' own names.
  std::vector<std::string> input_names(const std::vector<std::string>& fallback) const {
    const auto& calls = program_.graph_module.module_call_graph;
    if (calls.empty() || !calls[0].signature) return fallback;
    const schema::ModuleCallSignature& call = *calls[0].signature;
    try {
      TreeSpec spec = parse_tree_spec(call.in_spec, where_);
      if (spec.type != "builtins.tuple" || spec.children.size() != 2) return fallback;
      std::vector<std::string> names;
      const std::vector<TreeSpec>& positional = spec.children[0].children;
      for (size_t i = 0; i < positional.size(); ++i) {
        if (!call.forward_arg_names || i >= call.forward_arg_names->size()) return fallback;
        const TreeSpec one = TreeSpec::dict({{(*call.forward_arg_names)[i], positional[i]}});
        for (std::string& name : leaf_names(one, where_)) names.push_back(std::move(name));
      }
      if (spec.children[1].num_leaves() != 0)
        for (std::string& name : leaf_names(spec.children[1], where_))
          names.push_back(std::move(name));
      return names.size() == fallback.size() ? names : fallback;
    } catch (const Error& e) {
      if (e.kind() == kUnsupported) return fallback;  // a class whose fields are not known here
      throw;
    }
  }

  std::vector<std::string> output_names(const std::vector<std::string>& fallback) const {
    const auto& calls = program_.graph_module.module_call_graph;
    if (calls.empty() || !calls[0].signature) return fallback;
    try {
      const auto names = leaf_names(parse_tree_spec(calls[0].signature->out_spec, where_), where_);
      return names.size() == fallback.size() ? names : fallback;
    } catch (const Error& e) {
      if (e.kind() == kUnsupported) return fallback;
      throw;
    }
  }

  void read_inputs() {
    std::vector<std::optional<Port>> leaves;
    std::vector<std::string> own_names;
    for (size_t i = 0; i < signature_.input_specs.size(); ++i) {
      const auto& spec = signature_.input_specs[i].value;
      if (const auto* user = std::get_if<schema::UserInputSpec>(&spec)) {
        std::optional<Port> port = port_of(user->arg, i);
        if (port && port->value.empty()) port.reset();  // a constant of the trace
        if (port && port->value != value_name(graph_.inputs[i]))
          fail(fmt::format("input {} is {} in the signature, {} in the graph", i,
                           quote(port->value), quote(value_name(graph_.inputs[i]))));
        own_names.push_back(port ? port->value : fmt::format("input_{}", i));
        leaves.push_back(std::move(port));
      } else if (std::get_if<schema::InputToConstantInputSpec>(&spec) != nullptr) {
        own_names.push_back(fmt::format("input_{}", i));
        leaves.emplace_back();
      } else if (const auto* parameter = std::get_if<schema::InputToParameterSpec>(&spec)) {
        add_weight(parameter->parameter_name, parameter->arg.name, i);
      } else if (const auto* buffer = std::get_if<schema::InputToBufferSpec>(&spec)) {
        add_weight(buffer->buffer_name, buffer->arg.name, i);
      } else if (const auto* constant = std::get_if<schema::InputToTensorConstantSpec>(&spec)) {
        add_weight(constant->tensor_constant_name, constant->arg.name, i);
      } else {
        throw Error(kUnsupported,
                    fmt::format("[dynamo] {}: input {} is a token or a custom object, which the "
                                "runner does not take",
                                where_, i));
      }
    }
    const std::vector<std::string> names = input_names(own_names);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i]) continue;
      leaves[i]->name = names[i];
      contract_.inputs.push_back(std::move(*leaves[i]));
    }
  }

  void add_weight(const std::string& name, const std::string& value, size_t position) {
    if (value != value_name(graph_.inputs[position]))
      fail(fmt::format("input {} is {} in the signature, {} in the graph", position, quote(value),
                       quote(value_name(graph_.inputs[position]))));
    if (!contract_.weights.emplace(name, position).second)
      fail(fmt::format("two inputs are the weight {}", quote(name)));
  }

  void read_outputs() {
    std::vector<std::optional<Port>> leaves;
    std::vector<std::string> own_names;
    for (size_t i = 0; i < signature_.output_specs.size(); ++i) {
      const auto& spec = signature_.output_specs[i].value;
      if (std::get_if<schema::UserOutputSpec>(&spec) != nullptr) {
        leaves.push_back(port_of(graph_.outputs[i], i));
        own_names.push_back(fmt::format("output_{}", leaves.size() - 1));
      } else if (const auto* loss = std::get_if<schema::LossOutputSpec>(&spec)) {
        leaves.push_back(port_of(graph_.outputs[i], i));
        own_names.push_back(loss->arg.name);
      } else if (const auto* buffer = std::get_if<schema::BufferMutationSpec>(&spec)) {
        contract_.mutations.emplace(buffer->buffer_name, i);
      } else if (const auto* parameter = std::get_if<schema::ParameterMutationSpec>(&spec)) {
        contract_.mutations.emplace(parameter->parameter_name, i);
      } else if (const auto* user = std::get_if<schema::UserInputMutationSpec>(&spec)) {
        mutated_.emplace(user->user_input_name, i);
      } else {
        throw Error(kUnsupported,
                    fmt::format("[dynamo] {}: output {} is a gradient or a token; export the "
                                "program for inference",
                                where_, i));
      }
    }
    for (const auto& [name, position] : contract_.mutations)
      if (!contract_.weights.contains(name))
        fail(fmt::format("it updates {}, which is not one of its inputs", quote(name)));
    const std::vector<std::string> names = output_names(own_names);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i]) continue;
      leaves[i]->name = names[i];
      contract_.outputs.push_back(std::move(*leaves[i]));
    }
  }

  /// Each input that is updated, by its signature or by its nodes, has an output of its name.
  void add_updated_inputs() {
    for (size_t i = 0; i < contract_.inputs.size(); ++i) {
      const Port& input = contract_.inputs[i];
      const auto declared = mutated_.find(input.value);
      if (declared == mutated_.end() && !written_.contains(input.value)) continue;
      size_t output = 0;
      while (output < contract_.outputs.size() && contract_.outputs[output].name != input.name)
        ++output;
      if (output == contract_.outputs.size()) {
        contract_.outputs.push_back(input);
        contract_.outputs.back().position =
            declared != mutated_.end() ? declared->second : kNoPosition;
      }
      contract_.updates.emplace(i, output);
    }
  }

  void tell_apart() {
    std::set<std::string> taken;
    for (const Port& input : contract_.inputs)
      if (!taken.insert(input.name).second) fail(quote(input.name) + " names two inputs");
    std::set<std::string> both, given;
    for (const Port& output : contract_.outputs) {
      if (!given.insert(output.name).second) fail(quote(output.name) + " names two outputs");
      if (taken.contains(output.name)) both.insert(output.name);
    }
    for (Port& input : contract_.inputs)
      if (both.contains(input.name)) input.name = "input." + input.name;
    for (Port& output : contract_.outputs)
      if (both.contains(output.name)) output.name = "output." + output.name;
  }

  const schema::ExportedProgram& program_;
  const schema::Graph& graph_;
  const schema::GraphSignature& signature_;
  const std::set<std::string>& written_;
  std::string_view where_;
  Contract contract_;
  std::map<std::string, size_t> mutated_;  ///< graph output by the input's value
};

}  // namespace

std::string dims_text(const Port& port) {
  std::string text;
  for (const auto& dim : port.dims) text += (text.empty() ? "" : ", ") + (dim ? dim->str() : "?");
  return "[" + text + "]";
}

Contract read_contract(const schema::ExportedProgram& program, const std::set<std::string>& written,
                       std::string_view where) {
  return Reader(program, written, where).read();
}

std::map<std::string, int64_t> bind_sizes(const Contract& contract,
                                          const std::vector<std::vector<int64_t>>& shapes,
                                          std::string_view where) {
  std::map<std::string, int64_t> known;
  std::map<std::string, std::string> from;
  const auto fail = [&](const Port& input, size_t axis, const std::string& problem) {
    throw Error(kInvalid, fmt::format("[dynamo] {}: dimension {} of {} is {}", where, axis,
                                      input.name, problem));
  };
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Port& input = contract.inputs[i];
    if (shapes[i].size() != input.dims.size())
      throw Error(kInvalid,
                  fmt::format("[dynamo] {}: {} has {} dimensions, need {}: {}", where, input.name,
                              shapes[i].size(), input.dims.size(), dims_text(input)));
    for (size_t axis = 0; axis < shapes[i].size(); ++axis) {
      if (!input.dims[axis]) continue;
      const Sym dim = *input.dims[axis];
      const int64_t size = shapes[i][axis];
      if (dim.is_const() && dim.value() != size)
        fail(input, axis, fmt::format("{}, need {}", size, dim.value()));
      if (!dim.is_symbol()) continue;
      const auto [at, fresh] = known.emplace(dim.name(), size);
      if (fresh) from[dim.name()] = fmt::format("dimension {} of {}", axis, input.name);
      else if (at->second != size)
        fail(input, axis,
             fmt::format("{}, but {} is {}; the program needs them equal ({})", size,
                         from[dim.name()], at->second, dim.name()));
      const auto range = contract.ranges.find(dim.name());
      if (range == contract.ranges.end()) continue;
      // As in the reference: that a traced size was at least 2 does not keep 0 and 1 out.
      const auto& [min, max] = range->second;
      if (min && *min > 2 && size < *min)
        fail(input, axis, fmt::format("{}, the program takes at least {}", size, *min));
      if (max && size > *max)
        fail(input, axis, fmt::format("{}, the program takes at most {}", size, *max));
    }
  }
  for (size_t i = 0; i < shapes.size(); ++i)
    for (size_t axis = 0; axis < shapes[i].size(); ++axis) {
      if (!contract.inputs[i].dims[axis]) continue;
      const Sym dim = *contract.inputs[i].dims[axis];
      if (dim.is_const() || dim.is_symbol()) continue;
      const std::vector<Sym> symbols = dim.symbols();
      if (!std::all_of(symbols.begin(), symbols.end(),
                       [&](Sym s) { return known.contains(s.name()); }))
        continue;
      if (const int64_t need = dim.evaluate(known); need != shapes[i][axis])
        fail(contract.inputs[i], axis,
             fmt::format("{}, need {} = {}", shapes[i][axis], dim.str(), need));
    }
  return known;
}

}  // namespace slipway::dynamo
