// Serializes a graph of OpenVINO ops.
#include "backends/openvino/write.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "backends/openvino/lower.h"
#include "backends/openvino/xml.h"
#include "base/output.h"
#include "ir/leaf_names.h"
#include "lowering/file_names.h"

namespace slipway::openvino {
namespace {

std::string element_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "boolean";
    default:
      return std::string(short_name(dtype));
  }
}

std::string precision(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "FP64";
    case DType::kF32:
      return "FP32";
    case DType::kF16:
      return "FP16";
    case DType::kBF16:
      return "BF16";
    case DType::kF8E4M3:
      return "F8E4M3";
    case DType::kF8E5M2:
      return "F8E5M2";
    case DType::kI64:
      return "I64";
    case DType::kI32:
      return "I32";
    case DType::kI16:
      return "I16";
    case DType::kI8:
      return "I8";
    case DType::kU64:
      return "U64";
    case DType::kU32:
      return "U32";
    case DType::kU16:
      return "U16";
    case DType::kU8:
      return "U8";
    case DType::kBool:
      return "BOOL";
  }
  return "";
}

/// Names are in a list that commas separate.
std::string listed(const std::string& name) {
  std::string out;
  for (const char c : name) out += c == ',' ? std::string("\\,") : std::string(1, c);
  return out;
}

struct Port {
  int64_t layer, port;
};

bool is_sink(const Node& node) { return node.op != nullptr && node.op->has(kSink); }

/// One document: layers in order, then the edges between them.
class Document {
 public:
  Document(const Graph& graph, const WriteOptions& options, DataFile& data, WriteSummary& summary)
      : graph_(graph), names_(graph), data_(data), summary_(summary) {
    xml_.open("net");
    xml_.attribute("name", options.graph_name);
    xml_.attribute("version", "11");
    for (const Output& output : graph.outputs())
      if (output.value.node()->kind == NodeKind::kOp && !is_sink(*output.value.node()))
        tensor_names_.try_emplace(output.value, output_name(graph, output.name));
    xml_.open("layers");
    for (Node* input : graph.inputs()) add_parameter(*input);
    for (Node* node : graph.order()) {
      if (node->kind == NodeKind::kOp) add_op(*node);
      else if (node->kind != NodeKind::kInput && !is_scalar(*node)) add_constant(*node);
    }
    for (const Output& output : graph.outputs()) {
      Node* node = output.value.node();
      if (is_sink(*node)) continue;
      if (is_scalar(*node) && !places_.contains(output.value)) add_constant(*node);
      add_result(output);
    }
    xml_.close();
    xml_.open("edges");
    for (const auto& [from, to] : edges_) {
      xml_.open("edge");
      xml_.attribute("from-layer", std::to_string(from.layer));
      xml_.attribute("from-port", std::to_string(from.port));
      xml_.attribute("to-layer", std::to_string(to.layer));
      xml_.attribute("to-port", std::to_string(to.port));
      xml_.close();
    }
    xml_.close();
  }

  /// Adds the information about the whole and ends the document.
  const std::string& finish(const std::map<std::string, std::string>& metadata,
                            const std::string& compute) {
    const auto group = [&](const char* name, const std::map<std::string, std::string>& entries) {
      xml_.open(name);
      for (const auto& [key, value] : entries) {
        xml_.open(key);
        xml_.attribute("value", value);
        xml_.close();
      }
      xml_.close();
    };
    xml_.open("rt_info");
    group("runtime_options",
          {{"INFERENCE_PRECISION_HINT", compute}, {"KV_CACHE_PRECISION", compute}});
    group("slipway", metadata);
    xml_.close();
    xml_.close();
    return xml_.text();
  }

 private:
  void begin_layer(const std::string& name, std::string_view type, std::string_view version) {
    xml_.open("layer");
    xml_.attribute("id", std::to_string(next_id_));
    xml_.attribute("name", name);
    xml_.attribute("type", type);
    xml_.attribute("version", version);
  }

  void add_port(int64_t id, const ValueType& type, const std::string& names = "") {
    xml_.open("port");
    xml_.attribute("id", std::to_string(id));
    xml_.attribute("precision", precision(type.dtype));
    if (!names.empty()) xml_.attribute("names", listed(names));
    for (const Sym s : type.shape) xml_.leaf("dim", s.is_const() ? s.str() : "-1");
    xml_.close();
  }

  void add_outputs(const Node& node, int64_t first) {
    xml_.open("output");
    for (size_t i = 0; i < node.types.size(); ++i) {
      const Value value(const_cast<Node*>(&node), static_cast<int>(i));
      const int64_t port = first + static_cast<int64_t>(i);
      places_[value] = {next_id_, port};
      const auto named = tensor_names_.find(value);
      add_port(port, node.types[i], named == tensor_names_.end() ? "" : named->second);
    }
    xml_.close();
  }

  void add_inputs(const std::vector<Value>& reads) {
    if (reads.empty()) return;
    xml_.open("input");
    for (size_t i = 0; i < reads.size(); ++i) {
      add_port(static_cast<int64_t>(i), reads[i].type());
      edges_.push_back({places_.at(reads[i]), {next_id_, static_cast<int64_t>(i)}});
    }
    xml_.close();
  }

  void end_layer() {
    xml_.close();
    ++next_id_;
  }

  void add_parameter(const Node& node) {
    const std::string name = input_name(graph_, node.name);
    tensor_names_[Value(const_cast<Node*>(&node), 0)] = name;
    begin_layer(name, "Parameter", "opset1");
    xml_.open("data");
    std::string shape;
    for (const Sym s : node.types[0].shape)
      shape += (shape.empty() ? "" : ",") + (s.is_const() ? s.str() : "?");
    xml_.attribute("shape", shape);
    xml_.attribute("element_type", element_type(node.types[0].dtype));
    xml_.close();
    add_outputs(node, 0);
    end_layer();
  }

  /// A number. Each reader has a layer of it, as OpenVINO's own front ends write them: the CPU
  /// plug-in cannot compile attention where other ops of it read the same one.
  static bool is_scalar(const Node& node) {
    return node.kind == NodeKind::kConstant && node.data->numel() == 1;
  }

  void add_constant(const Node& node) {
    add_constant(node, names_.of(Value(const_cast<Node*>(&node), 0)));
  }

  void add_constant(const Node& node, const std::string& name) {
    begin_layer(name, "Const", "opset1");
    // An empty one has no place of its own.
    const DataFile::Place place =
        node.data->nbytes() > 0 ? data_.add(node.data) : DataFile::Place{0, 0, 0};
    std::string shape;
    for (const int64_t d : node.data->shape())
      shape += (shape.empty() ? "" : ", ") + std::to_string(d);
    xml_.open("data");
    xml_.attribute("element_type", element_type(node.data->dtype()));
    xml_.attribute("shape", shape);
    xml_.attribute("offset", std::to_string(place.offset));
    xml_.attribute("size", std::to_string(place.length));
    xml_.close();
    add_outputs(node, 0);
    end_layer();
    ++summary_.constants;
  }

  static std::string attribute_text(const Arg& value) {
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    if (const auto* s = std::get_if<Sym>(&value)) return std::to_string(s->value());
    if (const auto* number = std::get_if<double>(&value))
      return fmt::format("{}", static_cast<float>(*number));
    if (const auto* dtype = std::get_if<DType>(&value)) return element_type(*dtype);
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    std::string list;
    for (const Sym s : std::get<std::vector<Sym>>(value))
      list += (list.empty() ? "" : ", ") + std::to_string(s.value());
    return list;
  }

  /// A weight that is stored narrower than it is computed in: plug-ins may keep it so.
  static bool is_decompression(const Node& node) {
    if (node.op->name() != "ov::Convert") return false;
    const Value from = node.arguments().value(0);
    return from.node()->kind == NodeKind::kWeight && from.is_floating() &&
           is_floating(node.types[0].dtype);
  }

  void add_op(const Node& node) {
    const std::string& op = node.op->name();
    const std::vector<Value> reads = operands(node);
    for (size_t i = 0; i < reads.size(); ++i)
      if (is_scalar(*reads[i].node()))
        add_constant(*reads[i].node(), fmt::format("{}/{}", names_.of(node), i));
    begin_layer(names_.of(node), op.substr(op.find("::") + 2), opset_of(op));
    bool any = false;
    for (size_t i = 0; i < node.args.size(); ++i) {
      const SchemaArg& arg = node.op->schema.args[i];
      if (!arg.keyword_only) continue;
      if (!any) xml_.open("data");
      any = true;
      // The one attribute whose name is no word.
      xml_.attribute(arg.name == "exclude_pad" ? "exclude-pad" : arg.name,
                     attribute_text(node.args[i]));
    }
    if (any) xml_.close();
    if (is_decompression(node)) {
      xml_.open("rt_info");
      xml_.open("attribute");
      xml_.attribute("name", "decompression");
      xml_.attribute("version", "0");
      xml_.close();
      xml_.close();
    }
    add_inputs(reads);
    add_outputs(node, static_cast<int64_t>(reads.size()));
    end_layer();
    ++summary_.nodes;
  }

  void add_result(const Output& output) {
    const std::string name = output_name(graph_, output.name);
    const Value value = output.value;
    Port from = places_.at(value);
    const auto named = tensor_names_.find(value);
    // A value that is several outputs, or an input or weight that is one, has a tensor of its own.
    if (named == tensor_names_.end() || named->second != name) from = add_copy(value, name);
    begin_layer("Result_" + name, "Result", "opset1");
    xml_.attribute("output_names", listed(name));
    xml_.open("input");
    add_port(0, value.type());
    edges_.push_back({from, {next_id_, 0}});
    xml_.close();
    end_layer();
  }

  Port add_copy(Value value, const std::string& name) {
    begin_layer("Copy_" + name, "Convert", "opset1");
    xml_.open("data");
    xml_.attribute("destination_type", element_type(value.dtype()));
    xml_.close();
    add_inputs({value});
    xml_.open("output");
    add_port(1, value.type(), name);
    xml_.close();
    end_layer();
    return {next_id_ - 1, 1};
  }

  const Graph& graph_;
  lowering::FileNames names_;
  DataFile& data_;
  WriteSummary& summary_;
  Xml xml_;
  int64_t next_id_ = 0;
  std::map<Value, Port> places_;
  std::map<Value, std::string> tensor_names_;
  std::vector<std::pair<Port, Port>> edges_;
};

std::map<std::string, std::string> metadata_of(const Graph& graph,
                                               const std::map<std::string, ValueRange>& ranges,
                                               const WriteOptions& options) {
  std::map<std::string, std::string> entries = options.metadata;
  nlohmann::json range_json = nlohmann::json::object(), dims = nlohmann::json::object();
  nlohmann::json shapes = nlohmann::json::object();
  for (const Node* input : graph.inputs()) {
    const std::string name = input_name(graph, input->name);
    if (const auto at = ranges.find(input->name); at != ranges.end())
      range_json[name] = {at->second.lo, at->second.hi};
    for (const Sym size : input->types[0].shape) {
      shapes[name].push_back(size.str());
      for (const Sym s : size.symbols()) dims[s.name()] = {s.bounds().lo, s.bounds().hi};
    }
  }
  for (const Output& output : graph.outputs())
    if (!is_sink(*output.value.node()))
      for (const Sym size : output.value.shape())
        shapes[output_name(graph, output.name)].push_back(size.str());
  for (const auto& [id, shape] : options.variables)
    for (const Sym size : shape) shapes[id].push_back(size.str());
  entries["version"] = SLIPWAY_VERSION;
  entries["ranges"] = range_json.dump();
  entries["dims"] = dims.dump();
  entries["shapes"] = shapes.dump();
  return entries;
}

std::string document(const Graph& graph, const std::map<std::string, ValueRange>& ranges,
                     const WriteOptions& options, DataFile& data, WriteSummary& summary) {
  Document document(graph, options, data, summary);
  std::string text = document.finish(metadata_of(graph, ranges, options), options.precision);
  summary.model_bytes = static_cast<int64_t>(text.size());
  summary.data_bytes = data.size();
  return text;
}

}  // namespace

WriteSummary write(const Graph& graph, const std::map<std::string, ValueRange>& ranges,
                   const std::filesystem::path& folder, const std::string& component,
                   const WriteOptions& options) {
  WriteSummary summary;
  DataFile data;
  const std::string text = document(graph, ranges, options, data, summary);
  const std::filesystem::path stem = folder / ("openvino_" + component);
  OutputFile model(stem.string() + ".xml");
  model.append(text);
  model.close();
  if (data.size() > 0) data.write(stem.string() + ".bin");
  else OutputFile(stem.string() + ".bin").close();  // readers want it
  return summary;
}

WriteSummary measure(const Graph& graph, const std::map<std::string, ValueRange>& ranges,
                     const WriteOptions& options) {
  WriteSummary summary;
  DataFile data;
  document(graph, ranges, options, data, summary);
  return summary;
}

}  // namespace slipway::openvino
