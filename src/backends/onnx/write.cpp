// Serializes a graph of ONNX ops.
#include "backends/onnx/write.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/data_file.h"
#include "base/output.h"
#include "ir/leaf_names.h"
#include "lowering/file_names.h"
#include "onnx/onnx-ml.pb.h"

namespace slipway::onnx {
namespace {

namespace pb = ::onnx;

int32_t proto_type(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return pb::TensorProto::DOUBLE;
    case DType::kF32:
      return pb::TensorProto::FLOAT;
    case DType::kF16:
      return pb::TensorProto::FLOAT16;
    case DType::kBF16:
      return pb::TensorProto::BFLOAT16;
    case DType::kF8E4M3:
      return pb::TensorProto::FLOAT8E4M3FN;
    case DType::kF8E5M2:
      return pb::TensorProto::FLOAT8E5M2;
    case DType::kI64:
      return pb::TensorProto::INT64;
    case DType::kI32:
      return pb::TensorProto::INT32;
    case DType::kI16:
      return pb::TensorProto::INT16;
    case DType::kI8:
      return pb::TensorProto::INT8;
    case DType::kU64:
      return pb::TensorProto::UINT64;
    case DType::kU32:
      return pb::TensorProto::UINT32;
    case DType::kU16:
      return pb::TensorProto::UINT16;
    case DType::kU8:
      return pb::TensorProto::UINT8;
    case DType::kBool:
      return pb::TensorProto::BOOL;
  }
  return pb::TensorProto::UNDEFINED;
}

void set_type(pb::ValueInfoProto* info, const std::string& name, const ValueType& type) {
  info->set_name(name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(proto_type(type.dtype));
  auto* shape = tensor->mutable_shape();
  for (Sym s : type.shape) {
    auto* dim = shape->add_dim();
    if (s.is_const()) dim->set_dim_value(s.value());
    else dim->set_dim_param(s.str());
  }
}

void add_initializer(pb::GraphProto* graph, const std::string& name, const Lazy& data,
                     const std::string& data_name, int64_t threshold, DataFile& file) {
  auto* tensor = graph->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(proto_type(data->dtype()));
  for (const int64_t d : data->shape()) tensor->add_dims(d);
  if (data->nbytes() < threshold) {
    const Tensor whole = materialize(*data);
    tensor->set_raw_data(whole.data(), static_cast<size_t>(whole.nbytes()));
    return;
  }
  const DataFile::Place place = file.add(data);
  const auto entry = [&](const char* key, const std::string& value) {
    auto* pair = tensor->add_external_data();
    pair->set_key(key);
    pair->set_value(value);
  };
  entry("location", DataFile::numbered(data_name, place.file));
  entry("offset", std::to_string(place.offset));
  entry("length", std::to_string(place.length));
  tensor->set_data_location(pb::TensorProto::EXTERNAL);
}

void add_attribute(pb::NodeProto* node, const SchemaArg& arg, const Arg& value) {
  if (std::holds_alternative<std::monostate>(value)) return;
  if (arg.has_default && arg.default_value == value) return;
  auto* attribute = node->add_attribute();
  attribute->set_name(arg.name);
  if (const auto* s = std::get_if<Sym>(&value)) {
    attribute->set_type(pb::AttributeProto::INT);
    attribute->set_i(s->value());
  } else if (const auto* list = std::get_if<std::vector<Sym>>(&value)) {
    attribute->set_type(pb::AttributeProto::INTS);
    for (Sym v : *list) attribute->add_ints(v.value());
  } else if (const auto* number = std::get_if<double>(&value)) {
    attribute->set_type(pb::AttributeProto::FLOAT);
    attribute->set_f(static_cast<float>(*number));
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    attribute->set_type(pb::AttributeProto::STRING);
    attribute->set_s(*text);
  } else if (const auto* dtype = std::get_if<DType>(&value)) {
    attribute->set_type(pb::AttributeProto::INT);
    attribute->set_i(proto_type(*dtype));
  } else {
    SLIPWAY_ASSERT(!"an attribute kind that ONNX lacks");
  }
}

void add_node(pb::GraphProto* graph, const Node& node, const lowering::FileNames& names) {
  auto* out = graph->add_node();
  const std::string& op = node.op->name();
  const size_t colon = op.find("::");
  out->set_op_type(op.substr(colon + 2));
  if (const std::string domain = op.substr(0, colon); domain != "onnx") out->set_domain(domain);
  out->set_name(names.of(node));
  std::vector<std::string> inputs;
  for (size_t i = 0; i < node.args.size(); ++i) {
    const SchemaArg& arg = node.op->schema.args[i];
    if (arg.keyword_only) {
      add_attribute(out, arg, node.args[i]);
    } else if (const auto* list = std::get_if<std::vector<Value>>(&node.args[i])) {
      for (Value v : *list) inputs.push_back(names.of(v));
    } else if (const auto* v = std::get_if<Value>(&node.args[i])) {
      inputs.push_back(names.of(*v));
    } else {
      inputs.emplace_back();  // an optional input that is left out
    }
  }
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  for (const std::string& input : inputs) out->add_input(input);
  for (size_t i = 0; i < node.types.size(); ++i)
    out->add_output(names.of(Value(const_cast<Node*>(&node), static_cast<int>(i))));
}

void add_metadata(pb::ModelProto& model, const Graph& graph,
                  const std::map<std::string, ValueRange>& ranges, const WriteOptions& options) {
  std::map<std::string, std::string> entries = options.metadata;
  nlohmann::json range_json = nlohmann::json::object(), dims = nlohmann::json::object();
  for (const Node* input : graph.inputs()) {
    if (const auto at = ranges.find(input->name); at != ranges.end())
      range_json[input_name(graph, input->name)] = {at->second.lo, at->second.hi};
    for (Sym size : input->types[0].shape)
      for (Sym s : size.symbols()) dims[s.name()] = {s.bounds().lo, s.bounds().hi};
  }
  entries["slipway.ranges"] = range_json.dump();
  entries["slipway.dims"] = dims.dump();
  for (const auto& [key, value] : entries) {
    auto* pair = model.add_metadata_props();
    pair->set_key(key);
    pair->set_value(value);
  }
}

pb::ModelProto build(const Graph& graph, const std::map<std::string, ValueRange>& ranges,
                     const std::string& component, const WriteOptions& options, DataFile& file,
                     WriteSummary& summary) {
  pb::ModelProto model;
  model.set_ir_version(ir_version_of(options.opset_version));
  model.set_producer_name("slipway");
  model.set_producer_version(SLIPWAY_VERSION);
  auto* opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(options.opset_version);
  add_metadata(model, graph, ranges, options);
  auto* out = model.mutable_graph();
  out->set_name(options.graph_name);
  const lowering::FileNames names(graph);
  const std::string data_name =
      options.data_file.empty() ? data_file_name(component) : options.data_file;
  for (const Node* input : graph.inputs()) {
    const std::string name = input_name(graph, input->name);
    set_type(out->add_input(), name, input->types[0]);
    if (const auto at = options.input_defaults.find(input->name);
        at != options.input_defaults.end()) {
      constexpr int64_t kInline = std::numeric_limits<int64_t>::max();
      add_initializer(out, name, lazy_constant(at->second), data_name, kInline, file);
      ++summary.initializers;
    }
  }
  for (const Node* node : graph.order()) {
    if (node->kind == NodeKind::kWeight || node->kind == NodeKind::kConstant) {
      add_initializer(out, names.of(const_cast<Node*>(node)->out()), node->data, data_name,
                      options.external_threshold, file);
      ++summary.initializers;
    } else if (node->kind == NodeKind::kOp) {
      add_node(out, *node, names);
      ++summary.nodes;
    }
  }
  // A value that is several outputs, or an input or weight that is one, goes through an Identity.
  std::set<std::string> taken;
  for (const Output& output : graph.outputs()) {
    const std::string name = output_name(graph, output.name);
    set_type(out->add_output(), name, output.value.type());
    if (names.of(output.value) == name && taken.insert(name).second) continue;
    auto* identity = out->add_node();
    identity->set_op_type("Identity");
    identity->set_name("/" + name);
    identity->add_input(names.of(output.value));
    identity->add_output(name);
  }
  summary.data_bytes = file.size();
  for (size_t i = 0; i < file.num_files(); ++i)
    summary.data_files.push_back(DataFile::numbered(data_name, i));
  return model;
}

std::string serialize(const pb::ModelProto& model) {
  std::string bytes;
  if (!model.SerializeToString(&bytes))
    throw Error(
        kUnsupported,
        "[onnx] the graph without its weights is larger than 2 GiB; lower external_threshold");
  return bytes;
}

}  // namespace

int64_t ir_version_of(int64_t opset_version) {
  switch (opset_version) {
    case 18:
      return 8;
    case 19:
    case 20:
      return 9;
    case 21:
    case 22:
      return 10;
    case 23:
      return 11;
    case 24:
      return 12;
    default:
      throw Error(kUnsupported,
                  fmt::format("[onnx] opset_version {} is not in 18..24", opset_version));
  }
}

std::string data_file_name(const std::string& component) { return component + ".onnx.data"; }

WriteSummary write_graph(const Graph& graph, const std::map<std::string, ValueRange>& ranges,
                         const std::filesystem::path& folder, const std::string& component,
                         const WriteOptions& options, DataFile& data) {
  WriteSummary summary;
  const std::string bytes = serialize(build(graph, ranges, component, options, data, summary));
  summary.model_bytes = static_cast<int64_t>(bytes.size());
  OutputFile model(folder / (component + ".onnx"));
  model.append(bytes);
  model.close();
  return summary;
}

WriteSummary write(const Graph& graph, const std::map<std::string, ValueRange>& ranges,
                   const std::filesystem::path& folder, const std::string& component,
                   const WriteOptions& options) {
  DataFile data(options.max_data_bytes);
  const WriteSummary summary = write_graph(graph, ranges, folder, component, options, data);
  if (data.size() > 0)
    data.write(folder /
               (options.data_file.empty() ? data_file_name(component) : options.data_file));
  return summary;
}

WriteSummary measure(const Graph& graph, const std::map<std::string, ValueRange>& ranges,
                     const std::string& component, const WriteOptions& options, DataFile& data) {
  WriteSummary summary;
  summary.model_bytes = static_cast<int64_t>(
      serialize(build(graph, ranges, component, options, data, summary)).size());
  return summary;
}

}  // namespace slipway::onnx
