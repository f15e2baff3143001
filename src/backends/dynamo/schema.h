// torch's serialized ExportedProgram, schema 8, struct by struct with its own names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/dynamo/schema_value.h"

namespace slipway::dynamo::schema {

struct NamedArgument {
  std::string name;
  Argument arg;
  std::optional<int64_t> kind;  ///< 1: by position, 2: by keyword
  void io(auto& io) {
    io("name", name);
    io("arg", arg);
    io("kind", kind);
  }
};

struct Node {
  std::string target;  ///< "torch.ops.aten.add.Tensor", "_operator.mul"
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
  OrderedMap<std::string> metadata;  ///< only "nn_module_stack" is kept by the reader
  std::optional<bool> is_hop_single_tensor_return;
  std::optional<std::string> name;
  void io(auto& io) {
    io("target", target);
    io("inputs", inputs);
    io("outputs", outputs);
    io("metadata", metadata);
    io("is_hop_single_tensor_return", is_hop_single_tensor_return);
    io("name", name);
  }
};

struct Graph {
  std::vector<Argument> inputs, outputs;
  std::vector<Node> nodes;
  OrderedMap<TensorMeta> tensor_values;
  OrderedMap<SymInt> sym_int_values;
  OrderedMap<SymBool> sym_bool_values;
  bool is_single_tensor_return = false;
  OrderedMap<CustomObjArgument> custom_obj_values;
  OrderedMap<SymFloat> sym_float_values;
  void io(auto& io) {
    io("inputs", inputs);
    io("outputs", outputs);
    io("nodes", nodes);
    io("tensor_values", tensor_values);
    io("sym_int_values", sym_int_values);
    io("sym_bool_values", sym_bool_values);
    io.or_default("is_single_tensor_return", is_single_tensor_return);
    io.or_default("custom_obj_values", custom_obj_values);
    io.or_default("sym_float_values", sym_float_values);
  }
};

struct UserInputSpec {
  Argument arg;
  void io(auto& io) { io("arg", arg); }
};
struct ConstantValue {
  std::variant<None, int64_t, double, std::string, bool> value = None{};
  static constexpr const char* kTags[] = {"as_none", "as_int", "as_float", "as_string", "as_bool"};
};
struct InputToConstantInputSpec {
  std::string name;
  ConstantValue value;
  void io(auto& io) {
    io("name", name);
    io("value", value);
  }
};
struct InputToParameterSpec {
  TensorArgument arg;
  std::string parameter_name;
  void io(auto& io) {
    io("arg", arg);
    io("parameter_name", parameter_name);
  }
};
struct InputToBufferSpec {
  TensorArgument arg;
  std::string buffer_name;
  bool persistent = true;
  void io(auto& io) {
    io("arg", arg);
    io("buffer_name", buffer_name);
    io("persistent", persistent);
  }
};
struct InputToTensorConstantSpec {
  TensorArgument arg;
  std::string tensor_constant_name;
  void io(auto& io) {
    io("arg", arg);
    io("tensor_constant_name", tensor_constant_name);
  }
};
struct InputToCustomObjSpec {
  CustomObjArgument arg;
  std::string custom_obj_name;
  void io(auto& io) {
    io("arg", arg);
    io("custom_obj_name", custom_obj_name);
  }
};
struct InputTokenSpec {
  TensorArgument arg;
  void io(auto& io) { io("arg", arg); }
};
struct InputSpec {
  std::variant<UserInputSpec, InputToParameterSpec, InputToBufferSpec, InputToTensorConstantSpec,
               InputToCustomObjSpec, InputTokenSpec, InputToConstantInputSpec>
      value;
  static constexpr const char* kTags[] = {"user_input",      "parameter",  "buffer",
                                          "tensor_constant", "custom_obj", "token",
                                          "constant_input"};
};

struct UserOutputSpec {
  Argument arg;
  void io(auto& io) { io("arg", arg); }
};
struct LossOutputSpec {
  TensorArgument arg;
  void io(auto& io) { io("arg", arg); }
};
struct BufferMutationSpec {
  TensorArgument arg;
  std::string buffer_name;
  void io(auto& io) {
    io("arg", arg);
    io("buffer_name", buffer_name);
  }
};
struct GradientToParameterSpec {
  TensorArgument arg;
  std::string parameter_name;
  void io(auto& io) {
    io("arg", arg);
    io("parameter_name", parameter_name);
  }
};
struct GradientToUserInputSpec {
  TensorArgument arg;
  std::string user_input_name;
  void io(auto& io) {
    io("arg", arg);
    io("user_input_name", user_input_name);
  }
};
struct UserInputMutationSpec {
  TensorArgument arg;
  std::string user_input_name;
  void io(auto& io) {
    io("arg", arg);
    io("user_input_name", user_input_name);
  }
};
struct OutputTokenSpec {
  TensorArgument arg;
  void io(auto& io) { io("arg", arg); }
};
struct ParameterMutationSpec {
  TensorArgument arg;
  std::string parameter_name;
  void io(auto& io) {
    io("arg", arg);
    io("parameter_name", parameter_name);
  }
};
struct OutputSpec {
  std::variant<UserOutputSpec, LossOutputSpec, BufferMutationSpec, GradientToParameterSpec,
               GradientToUserInputSpec, UserInputMutationSpec, OutputTokenSpec,
               ParameterMutationSpec>
      value;
  static constexpr const char* kTags[] = {"user_output",
                                          "loss_output",
                                          "buffer_mutation",
                                          "gradient_to_parameter",
                                          "gradient_to_user_input",
                                          "user_input_mutation",
                                          "token",
                                          "parameter_mutation"};
};

struct GraphSignature {
  std::vector<InputSpec> input_specs;
  std::vector<OutputSpec> output_specs;
  void io(auto& io) {
    io("input_specs", input_specs);
    io("output_specs", output_specs);
  }
};

struct RangeConstraint {
  std::optional<int64_t> min_val, max_val;
  void io(auto& io) {
    io("min_val", min_val);
    io("max_val", max_val);
  }
};

struct ModuleCallSignature {
  std::vector<Argument> inputs, outputs;
  std::string in_spec, out_spec;  ///< tree specs (base/pytree.h)
  std::optional<std::vector<std::string>> forward_arg_names;
  void io(auto& io) {
    io("inputs", inputs);
    io("outputs", outputs);
    io("in_spec", in_spec);
    io("out_spec", out_spec);
    io("forward_arg_names", forward_arg_names);
  }
};
struct ModuleCallEntry {
  std::string fqn;
  std::optional<ModuleCallSignature> signature;
  void io(auto& io) {
    io("fqn", fqn);
    io("signature", signature);
  }
};
struct NamedTupleDef {
  std::vector<std::string> field_names;
  void io(auto& io) { io("field_names", field_names); }
};

struct GraphModule {
  Graph graph;
  GraphSignature signature;
  std::vector<ModuleCallEntry> module_call_graph;  ///< the first is the whole module
  OrderedMap<std::string> metadata;
  OrderedMap<NamedTupleDef> treespec_namedtuple_fields;
  void io(auto& io) {
    io("graph", graph);
    io("signature", signature);
    io("module_call_graph", module_call_graph);
    io.or_default("metadata", metadata);
    io.or_default("treespec_namedtuple_fields", treespec_namedtuple_fields);
  }
};

struct SchemaVersion {
  int64_t major = 8, minor = 20;
  void io(auto& io) {
    io("major", major);
    io("minor", minor);
  }
};

struct ExportedProgram {
  GraphModule graph_module;
  OrderedMap<int64_t> opset_version;
  OrderedMap<RangeConstraint> range_constraints;  ///< by symbol
  SchemaVersion schema_version;
  std::vector<std::string> verifiers;
  std::string torch_version = "<=2.4";
  std::vector<std::string> guards_code;
  void io(auto& io) {
    io("graph_module", graph_module);
    io("opset_version", opset_version);
    io("range_constraints", range_constraints);
    io("schema_version", schema_version);
    io.or_default("verifiers", verifiers);
    io.or_default("torch_version", torch_version);
    io.or_default("guards_code", guards_code);
  }
};

struct PayloadMeta {
  std::string path_name;  ///< below data/weights or data/constants
  bool is_param = false;
  bool use_pickle = false;
  std::optional<TensorMeta> tensor_meta;
  void io(auto& io) {
    io("path_name", path_name);
    io("is_param", is_param);
    io("use_pickle", use_pickle);
    io("tensor_meta", tensor_meta);
  }
};
struct PayloadConfig {
  OrderedMap<PayloadMeta> config;  ///< by fully qualified name
  void io(auto& io) { io("config", config); }
};

/// Reads models/<name>.json. `source` is named in errors. Throws Error{kUnsupported} for a schema
/// of another major version and for kinds of arguments that schema 8.20 does not know,
/// Error{kInvalid} naming the path inside the document for anything else that does not fit.
ExportedProgram read_program(std::string_view text, std::string_view source);
/// Reads model_weights_config.json or model_constants_config.json.
PayloadConfig read_payloads(std::string_view text, std::string_view source);

/// The text that torch writes: json.dumps of the same fields in the same order.
std::string write_program(const ExportedProgram& program);
std::string write_payloads(const PayloadConfig& payloads);

}  // namespace slipway::dynamo::schema
