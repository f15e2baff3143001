// Turns a serialized graph into code.
#include "backends/dynamo/runner/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "backends/dynamo/runner/ops.h"
#include "base/json.h"
#include "slipway/error.h"
#include "torch/headeronly/version.h"

namespace slipway::dynamo_runner {
namespace {

namespace schema = dynamo::schema;
using Kind = Operand::Kind;

constexpr int kMaxDepth = 16;  ///< of graphs in graphs
constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";

/// Shared by a graph and its subgraphs.
struct Unit {
  c10::Device device;
  std::map<std::string, int64_t> missing;  ///< ops by name, and how often they occur
};

class Compiler {
 public:
  Compiler(const schema::Graph& graph, Unit& unit, int depth)
      : graph_(graph), unit_(unit), depth_(depth), values_(code_) {
    if (depth > kMaxDepth)
      throw Error(kInvalid, fmt::format("graphs are nested more than {} deep", kMaxDepth));
  }

  Code compile(const Constants& constants) {
    for (const schema::Argument& input : graph_.inputs) add_input(input, constants);
    for (const schema::Node& node : graph_.nodes) {
      try {
        add_node(node);
      } catch (const Error& e) {
        throw e.with_context(fmt::format("node {}", name_of(node)));
      }
    }
    for (const schema::Argument& output : graph_.outputs)
      for (const Operand& operand : operands_of_output(output)) code_.outputs.push_back(operand);
    mark_last_uses();
    return std::move(code_);
  }

 private:
  static std::string name_of(const schema::Node& node) {
    std::string name = node.name.value_or("");
    if (name.empty() && !node.outputs.empty())
      if (const auto* tensor = node.outputs[0].get<schema::TensorArgument>()) name = tensor->name;
    const std::string op = op_name(node.target);
    return name.empty() ? quote(op) : fmt::format("{} ({})", name, op);
  }

  void add_input(const schema::Argument& input, const Constants& constants) {
    std::string name;
    if (const auto* tensor = input.get<schema::TensorArgument>()) name = tensor->name;
    else if (const auto* size = input.get<schema::SymIntArgument>()) name = named(size->value);
    else if (const auto* real = input.get<schema::SymFloatArgument>()) name = named(real->value);
    else if (const auto* truth = input.get<schema::SymBoolArgument>()) name = named(truth->value);
    if (name.empty()) {
      code_.inputs.push_back(-1);  // a constant: nothing refers to it
    } else if (const auto at = constants.find(name); at != constants.end()) {
      values_.define_constant(name, at->second);
      code_.inputs.push_back(-1);
    } else {
      code_.inputs.push_back(values_.define(name));
    }
  }

  static std::string named(const auto& value) {
    const auto* name = std::get_if<schema::Name>(&value);
    return name != nullptr ? name->value : "";
  }

  /// A string or a device has no value here; the program's own outputs tell what it is.
  std::vector<Operand> operands_of_output(const schema::Argument& output) {
    if (output.get<std::string>() != nullptr) return {values_.constant(c10::IValue())};
    return operands_of(output, values_);
  }

  void add_node(const schema::Node& node) {
    Instruction instruction;
    instruction.name = name_of(node);
    if (const auto number = find_number_op(node.target)) {
      instruction.action = Action::kNumber;
      instruction.number = *number;
      for (const schema::NamedArgument& input : node.inputs)
        for (const Operand& operand : operands_of(input.arg, values_))
          instruction.operands.push_back(operand);
    } else if (node.target.starts_with(kHigherOrder)) {
      if (!add_subgraphs(node, instruction)) return lack(node);
    } else if (const auto action = own_action(node.target)) {
      instruction.action = *action;
      const c10::FunctionSchema* declared = own_schema(*action);
      if (declared == nullptr) return lack(node);
      instruction.op = find_op(node.target);
      add_operands(node, *declared, instruction);
    } else {
      instruction.op = find_op(node.target);
      if (!instruction.op) return lack(node);
      const c10::FunctionSchema& declared = instruction.op->schema();
      for (const c10::Argument& argument : declared.arguments())
        instruction.writes = instruction.writes ||
                             (argument.alias_info() != nullptr && argument.alias_info()->isWrite());
      add_operands(node, declared, instruction);
    }
    add_results(node, instruction);
    code_.instructions.push_back(std::move(instruction));
  }

  /// The rest of the graph is still read, so that all missing ops are known.
  void lack(const schema::Node& node) {
    ++unit_.missing[op_name(node.target)];
    Instruction ignored;
    add_results(node, ignored);
  }

  void add_operands(const schema::Node& node, const c10::FunctionSchema& declared,
                    Instruction& instruction) {
    size_t used = 0;
    for (const c10::Argument& argument : declared.arguments()) {
      const schema::NamedArgument* given = nullptr;
      for (const schema::NamedArgument& input : node.inputs)
        if (input.name == argument.name()) given = &input;
      if (given != nullptr) {
        ++used;
        instruction.operands.push_back(operand_of(given->arg, argument, unit_.device, values_));
      } else if (const auto& value = argument.default_value()) {
        instruction.operands.push_back(values_.constant(*value));
      } else if (argument.type()->kind() == c10::TypeKind::OptionalType) {
        instruction.operands.push_back(values_.constant(c10::IValue()));
      } else {
        throw Error(kInvalid, fmt::format("argument {} is missing", quote(argument.name())));
      }
    }
    if (used == node.inputs.size()) return;
    for (const schema::NamedArgument& input : node.inputs)
      if (!declared.argumentIndexWithName(input.name))
        throw Error(kUnsupported, fmt::format("this libtorch's op has no argument {}: {}",
                                              quote(input.name), toString(declared)));
    throw Error(kInvalid, "an argument is given twice");
  }

  void add_results(const schema::Node& node, Instruction& instruction) {
    for (const schema::Argument& output : node.outputs) {
      Result result;
      if (const auto* tensors = output.get<std::vector<schema::TensorArgument>>()) {
        // A higher-order op has several results, other ops one that is a list.
        const bool spread = !instruction.subgraphs.empty();
        for (const schema::TensorArgument& tensor : *tensors) {
          if (spread) instruction.results.push_back({false, {values_.define(tensor.name)}});
          else result.slots.push_back(values_.define(tensor.name));
        }
        if (spread) continue;
        result.is_list = true;
      } else {
        result.slots.push_back(define_output(output));
      }
      instruction.results.push_back(std::move(result));
    }
  }

  Slot define_output(const schema::Argument& output) {
    if (const auto* tensor = output.get<schema::TensorArgument>())
      return values_.define(tensor->name);
    if (const auto* optional = output.get<schema::OptionalTensorArgument>()) {
      const auto* tensor = std::get_if<schema::TensorArgument>(&optional->value);
      return tensor != nullptr ? values_.define(tensor->name) : -1;
    }
    std::string name;
    if (const auto* size = output.get<schema::SymIntArgument>()) name = named(size->value);
    else if (const auto* real = output.get<schema::SymFloatArgument>()) name = named(real->value);
    else if (const auto* truth = output.get<schema::SymBoolArgument>()) name = named(truth->value);
    else if (output.get<schema::None>() == nullptr)
      throw Error(kUnsupported, fmt::format("a result is {}", output.tag()));
    return name.empty() ? -1 : values_.define(name);
  }

  /// False for an op that is not known here.
  bool add_subgraphs(const schema::Node& node, Instruction& instruction) {
    const std::string_view op = std::string_view(node.target).substr(kHigherOrder.size());
    std::vector<std::vector<Operand>> groups;  // of the arguments after the last graph
    std::vector<const schema::Argument*> before;
    for (const schema::NamedArgument& input : node.inputs) {
      if (const auto* graph = input.arg.get<schema::GraphArgument>()) {
        Compiler compiler(*graph->graph, unit_, depth_ + 1);
        code_.subgraphs.push_back(compiler.compile({}));
        instruction.subgraphs.push_back(static_cast<int32_t>(code_.subgraphs.size()) - 1);
      } else if (instruction.subgraphs.empty()) {
        before.push_back(&input.arg);
      } else if (input.name.empty()) {
        groups.push_back(operands_of(input.arg, values_));
      }
    }
    size_t graphs = 1;
    if (op == "cond" && before.size() == 1) {
      instruction.action = Action::kCond;
      instruction.operands = operands_of(*before[0], values_);
      graphs = 2;
    } else if (op == "while_loop" && before.empty() && !groups.empty()) {
      instruction.action = Action::kWhile;
      instruction.carried = static_cast<int32_t>(groups[0].size());
      graphs = 2;
    } else if (op == "wrap_with_set_grad_enabled" ||
               (op == "wrap_with_autocast" && before.size() >= 3 && is_false(*before[2]))) {
      instruction.action = Action::kInline;
    } else {
      return false;
    }
    for (const auto& group : groups)
      instruction.operands.insert(instruction.operands.end(), group.begin(), group.end());
    check_subgraphs(instruction, graphs);
    return true;
  }

  static bool is_false(const schema::Argument& argument) {
    const bool* value = argument.get<bool>();
    return value != nullptr && !*value;
  }

  void check_subgraphs(const Instruction& instruction, size_t graphs) const {
    const size_t operands =
        instruction.operands.size() - (instruction.action == Action::kCond ? 1 : 0);
    if (instruction.subgraphs.size() != graphs)
      throw Error(kInvalid,
                  fmt::format("it has {} graphs, need {}", instruction.subgraphs.size(), graphs));
    for (const int32_t index : instruction.subgraphs)
      if (const size_t takes = code_.subgraphs[static_cast<size_t>(index)].inputs.size();
          takes != operands)
        throw Error(kInvalid, fmt::format("a graph takes {} values, got {}", takes, operands));
    if (instruction.action != Action::kWhile) return;
    const Code& condition = code_.subgraphs[static_cast<size_t>(instruction.subgraphs[0])];
    const Code& body = code_.subgraphs[static_cast<size_t>(instruction.subgraphs[1])];
    if (condition.outputs.size() != 1 ||
        body.outputs.size() != static_cast<size_t>(instruction.carried))
      throw Error(kInvalid, "a loop's condition gives one value, its body those that it carries");
  }

  /// A value goes with its last reader; one that has none is not kept at all.
  void mark_last_uses() {
    std::vector<bool> read(static_cast<size_t>(code_.num_slots), false);
    const auto use = [&](Operand& operand) {
      if (operand.kind != Kind::kSlot || read[static_cast<size_t>(operand.index)]) return;
      read[static_cast<size_t>(operand.index)] = true;
      operand.kind = Kind::kLastUse;
    };
    const auto use_all = [&](std::vector<Operand>& operands) {
      for (auto operand = operands.rbegin(); operand != operands.rend(); ++operand) {
        if (operand->kind == Kind::kSlot) use(*operand);
        else if (operand->kind > Kind::kLastUse) {
          auto& items = code_.lists[static_cast<size_t>(operand->index)];
          for (auto item = items.rbegin(); item != items.rend(); ++item) use(*item);
        }
      }
    };
    use_all(code_.outputs);
    for (auto at = code_.instructions.rbegin(); at != code_.instructions.rend(); ++at) {
      for (Result& result : at->results)
        for (Slot& slot : result.slots)
          if (slot >= 0 && !read[static_cast<size_t>(slot)]) slot = -1;
      use_all(at->operands);
    }
    for (Slot& slot : code_.inputs)
      if (slot >= 0 && !read[static_cast<size_t>(slot)]) slot = -1;
  }

  const schema::Graph& graph_;
  Unit& unit_;
  int depth_;
  Code code_;
  Values values_;
};

}  // namespace

Code compile(const schema::Graph& graph, const Constants& constants, c10::Device device,
             std::string_view where) {
  Unit unit{device, {}};
  try {
    Code code = Compiler(graph, unit, 0).compile(constants);
    if (unit.missing.empty()) return code;
  } catch (const Error& e) {
    throw e.with_context(fmt::format("[dynamo] {}", where));
  } catch (const c10::Error& e) {
    throw Error(kInvalid, fmt::format("[dynamo] {}: {}", where, e.what_without_backtrace()));
  }
  std::vector<std::string> rows;
  for (const auto& [op, count] : unit.missing) rows.push_back(fmt::format("{} x{}", op, count));
  throw Error(kUnsupported, fmt::format("[dynamo] {} needs {} ops that libtorch {} or the runner "
                                        "does not have: {}",
                                        where, rows.size(), TORCH_VERSION, fmt::join(rows, ", ")));
}

}  // namespace slipway::dynamo_runner
