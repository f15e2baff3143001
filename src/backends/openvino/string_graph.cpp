// Graphs of string ops as IR.
#include "backends/openvino/string_graph.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "backends/openvino/xml.h"
#include "base/output.h"
#include "slipway/error.h"

namespace slipway::openvino {
namespace {

struct ElementNames {
  Element element;
  const char *type, *precision;
};

constexpr std::array<ElementNames, 6> kElements = {{
    {Element::kBool, "boolean", "BOOL"},
    {Element::kU8, "u8", "U8"},
    {Element::kI32, "i32", "I32"},
    {Element::kI64, "i64", "I64"},
    {Element::kF32, "f32", "FP32"},
    {Element::kString, "string", "STRING"},
}};

const ElementNames& names_of(Element element) {
  for (const ElementNames& names : kElements)
    if (names.element == element) return names;
  SLIPWAY_ASSERT(!"an element without a name");
}

template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::string shape_text(const std::vector<int64_t>& dims) {
  std::string text;
  for (const int64_t dim : dims)
    text += (text.empty() ? "" : ",") + (dim < 0 ? "?" : std::to_string(dim));
  return text;
}

void write_port(Xml& xml, size_t id, const PortType& type, const std::string& tensor_name) {
  xml.open("port");
  xml.attribute("id", std::to_string(id));
  xml.attribute("precision", names_of(type.element).precision);
  if (!tensor_name.empty()) xml.attribute("names", tensor_name);
  for (const int64_t dim : type.dims) xml.leaf("dim", std::to_string(dim));
  xml.close();
}

}  // namespace

Port StringGraph::parameter(const std::string& name, PortType type) {
  const Attributes attributes = {{"shape", shape_text(type.dims)},
                                 {"element_type", names_of(type.element).type}};
  layers_.push_back({"Parameter", "opset1", attributes, {}, {std::move(type)}, name});
  return {layers_.size() - 1, 0};
}

Port StringGraph::constant(PortType type, std::string_view bytes) {
  constexpr size_t kAlignment = 8;
  if (!bytes.empty()) data_.resize((data_.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');
  const Attributes attributes = {{"element_type", names_of(type.element).type},
                                 {"shape", shape_text(type.dims)},
                                 {"offset", std::to_string(bytes.empty() ? 0 : data_.size())},
                                 {"size", std::to_string(bytes.size())}};
  data_ += bytes;
  layers_.push_back({"Const", "opset1", attributes, {}, {std::move(type)}, ""});
  return {layers_.size() - 1, 0};
}

Port StringGraph::scalar(int32_t value) {
  return constant({Element::kI32, {}}, bytes_of(std::span<const int32_t>(&value, 1)));
}

Port StringGraph::scalar64(int64_t value) {
  return constant({Element::kI64, {}}, bytes_of(std::span<const int64_t>(&value, 1)));
}

Port StringGraph::flag(bool value) {
  return constant({Element::kBool, {}}, std::string_view(value ? "\1" : "\0", 1));
}

Port StringGraph::integers(std::span<const int32_t> values) {
  return constant({Element::kI32, {static_cast<int64_t>(values.size())}}, bytes_of(values));
}

Port StringGraph::floats(std::span<const float> values) {
  return constant({Element::kF32, {static_cast<int64_t>(values.size())}}, bytes_of(values));
}

Port StringGraph::text(std::string_view bytes) {
  return constant({Element::kU8, {static_cast<int64_t>(bytes.size())}}, bytes);
}

Ports StringGraph::texts(std::span<const std::string> list) {
  std::vector<int32_t> begins, ends;
  std::string bytes;
  for (const std::string& item : list) {
    begins.push_back(static_cast<int32_t>(bytes.size()));
    bytes += item;
    if (bytes.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
      throw Error(kUnsupported, "[tokenizer] the vocabulary is longer than 2 GiB");
    ends.push_back(static_cast<int32_t>(bytes.size()));
  }
  return {integers(begins), integers(ends), text(bytes)};
}

Ports StringGraph::add(std::string_view type, std::string_view set, const Attributes& attributes,
                       const Ports& inputs, const std::vector<PortType>& outputs) {
  layers_.push_back({std::string(type), std::string(set), attributes, inputs, outputs, ""});
  Ports ports;
  for (size_t i = 0; i < outputs.size(); ++i) ports.push_back({layers_.size() - 1, i});
  return ports;
}

void StringGraph::result(Port from, const std::string& name) {
  SLIPWAY_ASSERT(from.port == 0 && layers_[from.layer].tensor_name.empty());
  layers_[from.layer].tensor_name = name;
  Layer layer{"Result", "opset1", {}, {from}, {}, name};
  layer.is_result = true;
  layers_.push_back(std::move(layer));
}

std::string StringGraph::document(const std::map<std::string, std::string>& info) const {
  Xml xml;
  xml.open("net");
  xml.attribute("name", name_);
  xml.attribute("version", "11");
  xml.open("layers");
  for (size_t id = 0; id < layers_.size(); ++id) {
    const Layer& layer = layers_[id];
    xml.open("layer");
    xml.attribute("id", std::to_string(id));
    xml.attribute("name", fmt::format("{}_{}", layer.type, id));
    xml.attribute("type", layer.type);
    xml.attribute("version", layer.set);
    if (layer.is_result) xml.attribute("output_names", layer.tensor_name);
    if (!layer.attributes.empty()) {
      xml.open("data");
      for (const auto& [key, value] : layer.attributes) xml.attribute(key, value);
      xml.close();
    }
    if (!layer.inputs.empty()) {
      xml.open("input");
      for (size_t i = 0; i < layer.inputs.size(); ++i)
        write_port(xml, i, type(layer.inputs[i]), "");
      xml.close();
    }
    if (!layer.outputs.empty()) {
      xml.open("output");
      for (size_t i = 0; i < layer.outputs.size(); ++i)
        write_port(xml, layer.inputs.size() + i, layer.outputs[i],
                   i == 0 ? layer.tensor_name : std::string());
      xml.close();
    }
    xml.close();
  }
  xml.close();
  xml.open("edges");
  for (size_t id = 0; id < layers_.size(); ++id)
    for (size_t i = 0; i < layers_[id].inputs.size(); ++i) {
      const Port from = layers_[id].inputs[i];
      xml.open("edge");
      xml.attribute("from-layer", std::to_string(from.layer));
      xml.attribute("from-port", std::to_string(layers_[from.layer].inputs.size() + from.port));
      xml.attribute("to-layer", std::to_string(id));
      xml.attribute("to-port", std::to_string(i));
      xml.close();
    }
  xml.close();
  xml.open("rt_info");
  for (const auto& [key, value] : info) {
    xml.open(key);
    xml.attribute("value", value);
    xml.close();
  }
  xml.close();
  xml.close();
  return xml.text();
}

void StringGraph::write(const std::filesystem::path& stem,
                        const std::map<std::string, std::string>& info) const {
  OutputFile model(stem.string() + ".xml"), data(stem.string() + ".bin");
  model.append(document(info));
  model.close();
  data.append(data_);
  data.close();
}

}  // namespace slipway::openvino
