// Puts an imported program together: inputs, weights, nodes, outputs.
#include "backends/dynamo/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "backends/dynamo/import_nodes.h"
#include "backends/dynamo/import_symbols.h"
#include "base/json.h"
#include "base/log.h"
#include "base/pytree.h"
#include "slipway/error.h"

namespace slipway::dynamo {
namespace {

// Buffers up to this size are constants of the graph, so that what is computed of them folds.
constexpr int64_t kMaxConstantBytes = 1 << 20;

const schema::ModuleCallSignature& call_of(const schema::ExportedProgram& program) {
  const auto& calls = program.graph_module.module_call_graph;
  if (calls.empty() || !calls[0].signature)
    throw Error(kInvalid, "[pt2] the program does not say how it is called (module_call_graph)");
  return *calls[0].signature;
}

/// Leaf names where the tree spec has them, else the file's own names of the values.
std::vector<std::string> call_names(const schema::ExportedProgram& program, size_t count) {
  std::vector<std::string> names;
  try {
    names = input_leaf_names(parse_tree_spec(call_of(program).in_spec, "in_spec"), "in_spec");
  } catch (const Error& error) {
    if (error.kind() != kUnsupported) throw;
    log::debug(fmt::format("input names are those of the graph: {}", error.what()));
    names.assign(count, "");
  }
  if (names.size() != count)
    throw Error(kInvalid, fmt::format("[pt2] the call has {} leaves, the graph takes {} inputs",
                                      names.size(), count));
  return names;
}

/// The sizes of an input when it was traced; 0 where the file does not say.
Shape example_shape(const schema::TensorMeta& meta) {
  Shape shape;
  for (const schema::SymInt& size : meta.sizes) {
    if (const auto* value = std::get_if<int64_t>(&size.value)) {
      shape.push_back(*value);
      continue;
    }
    const auto& hint = std::get<schema::SymExpr>(size.value).hint;
    const auto* value = hint ? std::get_if<int64_t>(&hint->value) : nullptr;
    shape.push_back(value == nullptr ? 0 : *value);
  }
  return shape;
}

class ProgramImporter {
 public:
  explicit ProgramImporter(const ProgramFile& file)
      : file_(file), module_(file.program.graph_module), graph_(*result_.program.graph) {}

  Imported run() {
    refuse_unknown_ops();
    const std::vector<UserInput> inputs = user_inputs();
    const ImportSymbols symbols(file_.program, inputs);
    names_.emplace(module_.graph, symbols);
    for (const schema::InputSpec& spec : module_.signature.input_specs) define_weight(spec);
    for (const UserInput& input : inputs) define_input(input, symbols);
    NodeImporter(graph_, *names_).run(module_.graph.nodes);
    define_outputs(inputs);
    result_.in_spec = call_of(file_.program).in_spec;
    result_.out_spec = call_of(file_.program).out_spec;
    describe();
    return std::move(result_);
  }

 private:
  void refuse_unknown_ops() const {
    const auto unknown = unknown_ops(module_.graph.nodes);
    if (unknown.empty()) return;
    std::vector<std::string> words;
    for (const auto& [op, count] : unknown) words.push_back(fmt::format("{} x{}", op, count));
    throw Error(
        kUnsupported,
        fmt::format("[pt2] {} ops are not known here: {}; docs/coverage.md lists those that are",
                    words.size(), fmt::join(words, ", ")));
  }

  std::vector<UserInput> user_inputs() {
    std::vector<const schema::Argument*> arguments;  // null: a constant argument
    std::vector<const schema::ConstantValue*> constants;
    for (const schema::InputSpec& spec : module_.signature.input_specs) {
      const auto* user = std::get_if<schema::UserInputSpec>(&spec.value);
      const auto* constant = std::get_if<schema::InputToConstantInputSpec>(&spec.value);
      if (user == nullptr && constant == nullptr) continue;
      arguments.push_back(user == nullptr ? nullptr : &user->arg);
      constants.push_back(constant == nullptr ? nullptr : &constant->value);
    }
    const std::vector<std::string> names = call_names(file_.program, arguments.size());
    for (size_t i = 0; i < names.size(); ++i) {
      result_.in_leaves.push_back(names[i].empty() ? fmt::format("argument_{}", i) : names[i]);
      if (constants[i] != nullptr)
        result_.in_constants.emplace_back(result_.in_leaves[i], *constants[i]);
    }
    std::map<std::string, const schema::TensorMeta*> metas;
    for (const auto& [name, meta] : module_.graph.tensor_values) metas.emplace(name, &meta);
    std::vector<UserInput> inputs;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] == nullptr || arguments[i]->get<schema::None>() != nullptr) continue;
      const auto* tensor = arguments[i]->get<schema::TensorArgument>();
      if (tensor == nullptr) {
        if (arguments[i]->get<schema::SymIntArgument>() == nullptr) {
          throw Error(kUnsupported, fmt::format("[pt2] input {} is {}; need tensors only",
                                                quote(names[i]), arguments[i]->tag()));
        }
        throw Error(kUnsupported,
                    fmt::format("[pt2] input {} is a number; need tensors only", quote(names[i])));
      }
      const auto meta = metas.find(tensor->name);
      if (meta == metas.end())
        throw Error(kInvalid, fmt::format("[pt2] the file says nothing about the input {}",
                                          quote(tensor->name)));
      if (names[i].empty()) result_.in_leaves[i] = tensor->name;
      inputs.push_back({result_.in_leaves[i], tensor->name, meta->second});
    }
    return inputs;
  }

  void define_input(const UserInput& input, const ImportSymbols& symbols) {
    const auto dtype = schema::to_dtype(input.meta->dtype);
    if (!dtype)
      throw Error(kUnsupported, fmt::format("[pt2] input {} has dtype {}", quote(input.name),
                                            schema::to_string(input.meta->dtype)));
    result_.example_shapes.push_back(example_shape(*input.meta));
    names_->tensors.define(input.value_name,
                           graph_.add_input(input.name, {*dtype, symbols.shape(*input.meta)}));
  }

  void define_weight(const schema::InputSpec& spec) {
    if (const auto* p = std::get_if<schema::InputToParameterSpec>(&spec.value))
      define_stored(p->arg.name, p->parameter_name, WeightKind::kParameter);
    else if (const auto* b = std::get_if<schema::InputToBufferSpec>(&spec.value))
      define_stored(b->arg.name, b->buffer_name, WeightKind::kConstant);
    else if (const auto* c = std::get_if<schema::InputToTensorConstantSpec>(&spec.value))
      define_stored(c->arg.name, c->tensor_constant_name, WeightKind::kConstant);
    else if (const auto* o = std::get_if<schema::InputToCustomObjSpec>(&spec.value))
      throw Error(kUnsupported, fmt::format("[pt2] the program uses the custom object {} of class "
                                            "{}; need tensors only",
                                            quote(o->custom_obj_name), quote(o->arg.class_fqn)));
    else if (std::holds_alternative<schema::InputTokenSpec>(spec.value))
      throw Error(kUnsupported, "[pt2] the program orders effects by tokens; need pure functions");
  }

  enum class WeightKind { kParameter, kConstant };

  void define_stored(const std::string& value_name, const std::string& name, WeightKind kind) {
    const StoredTensor tensor = file_.stored(name);
    if (verified_.insert(tensor.storage.offset).second) file_.archive->verify(tensor.storage);
    // Names of one stored range are one weight.
    const auto key = std::tuple(tensor.storage.offset, tensor.offset, tensor.dtype, tensor.shape,
                                tensor.strides);
    Lazy& lazy = lazies_[key];
    if (lazy == nullptr) lazy = stored_tensor(file_, tensor);
    const bool small = lazy->nbytes() <= kMaxConstantBytes;
    if (kind == WeightKind::kParameter && is_floating(tensor.dtype) && !dtype_)
      dtype_ = tensor.dtype;
    names_->tensors.define(value_name, kind == WeightKind::kConstant && small
                                           ? graph_.constant(materialize(*lazy))
                                           : graph_.add_weight(name, lazy));
    weights_.emplace(value_name, name);
  }

  std::vector<std::string> leaf_names_of(const std::string& out_spec, size_t count) const {
    std::vector<std::string> names;
    try {
      names = leaf_names(parse_tree_spec(out_spec, "out_spec"), "out_spec");
    } catch (const Error& error) {
      if (error.kind() != kUnsupported) throw;
      for (size_t i = 0; i < count; ++i) names.push_back(fmt::format("output_{}", i));
    }
    if (names.size() != count)
      throw Error(kInvalid, fmt::format("[pt2] the call returns {} leaves, the graph {}",
                                        names.size(), count));
    return names;
  }

  void define_outputs(const std::vector<UserInput>& inputs) {
    std::vector<const schema::Argument*> outputs;
    std::map<std::string, std::string> mutated;  // value name of an input -> of its new value
    for (const schema::OutputSpec& spec : module_.signature.output_specs) {
      if (const auto* user = std::get_if<schema::UserOutputSpec>(&spec.value)) {
        outputs.push_back(&user->arg);
      } else if (const auto* input = std::get_if<schema::UserInputMutationSpec>(&spec.value)) {
        mutated.emplace(input->user_input_name, input->arg.name);
      } else if (const auto* buffer = std::get_if<schema::BufferMutationSpec>(&spec.value)) {
        refuse_state(buffer->buffer_name);
      } else {
        throw Error(kUnsupported,
                    "[pt2] the program was exported for training (it returns a loss "
                    "or gradients); export it in eval mode");
      }
    }
    for (const auto& [value_name, name] : weights_)
      if (names_->tensors.written(value_name)) refuse_state(name);
    const std::vector<std::string> names =
        leaf_names_of(call_of(file_.program).out_spec, outputs.size());
    result_.out_leaves = names;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto* tensor = outputs[i]->get<schema::TensorArgument>();
      if (tensor == nullptr) {
        result_.out_constants.emplace_back(static_cast<int64_t>(i), *outputs[i]);
        continue;
      }
      graph_.add_output(names[i], names_->tensors.read(tensor->name));
    }
    for (const UserInput& input : inputs) {
      const auto at = mutated.find(input.value_name);
      const bool returned = std::find(names.begin(), names.end(), input.name) != names.end();
      if (at != mutated.end()) {
        if (!returned) graph_.add_output(input.name, names_->tensors.read(at->second));
      } else if (names_->tensors.written(input.value_name) && !returned) {
        graph_.add_output(input.name, names_->tensors.read(input.value_name));
      }
    }
  }

  [[noreturn]] static void refuse_state(const std::string& buffer) {
    throw Error(kUnsupported,
                fmt::format("[pt2] the program changes its buffer {}: state inside a module is not "
                            "supported, pass it as an input and return it",
                            quote(buffer, 120)));
  }

  void describe() {
    result_.program.dtype = dtype_.value_or(DType::kF32);
    result_.program.output_class = parse_tree_spec(result_.out_spec, "out_spec").type;
    result_.program.architecture = "ExportedProgram";
    for (const schema::Node& node : module_.graph.nodes)
      for (const auto& [key, text] : node.metadata) {
        // "key,path,module.Class;...": the first entry is the whole model.
        const std::string first = text.substr(0, text.find(';'));
        if (key != "nn_module_stack" || first.find(",,") == first.npos) continue;
        result_.program.architecture = first.substr(first.find_last_of(".,") + 1);
        return;
      }
  }

  const ProgramFile& file_;
  const schema::GraphModule& module_;
  Imported result_;
  Graph& graph_;
  std::optional<ImportNames> names_;
  std::map<std::tuple<int64_t, int64_t, DType, Shape, std::vector<int64_t>>, Lazy> lazies_;
  std::set<int64_t> verified_;                  // places in the archive
  std::map<std::string, std::string> weights_;  // value name -> name in the file
  std::optional<DType> dtype_;
};

}  // namespace

Imported import_program(const ProgramFile& file) { return ProgramImporter(file).run(); }

}  // namespace slipway::dynamo
