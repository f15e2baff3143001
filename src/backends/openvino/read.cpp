// What can be learned from an IR file without loading it in OpenVINO.
#include "backends/openvino/read.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <pugixml.hpp>
#include <string_view>
#include <utility>

#include "base/port_names.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/output.h"

namespace slipway::openvino {
namespace {

constexpr std::pair<std::string_view, DType> kElements[] = {
    {"f64", DType::kF64},   {"f32", DType::kF32},       {"f16", DType::kF16},
    {"bf16", DType::kBF16}, {"f8e4m3", DType::kF8E4M3}, {"f8e5m2", DType::kF8E5M2},
    {"i64", DType::kI64},   {"i32", DType::kI32},       {"i16", DType::kI16},
    {"i8", DType::kI8},     {"u64", DType::kU64},       {"u32", DType::kU32},
    {"u16", DType::kU16},   {"u8", DType::kU8},         {"boolean", DType::kBool},
};

/// A port of a layer: "3:0".
std::string place(std::string_view layer, std::string_view port) {
  return fmt::format("{}:{}", layer, port);
}

class Reader {
 public:
  Reader(ByteSpan bytes, const std::string& where, int64_t& weight_bytes)
      : where_(where), weight_bytes_(weight_bytes) {
    const auto parsed = document_.load_buffer(bytes.data(), bytes.size());
    if (!parsed) fail(fmt::format("{} at byte {}", parsed.description(), parsed.offset));
    net_ = document_.child("net");
    if (!net_ || !net_.child("layers")) fail("it has no element net with layers in it");
    const std::string_view version = net_.attribute("version").value();
    if (version != "10" && version != "11")
      throw Error(kUnsupported, fmt::format("[openvino] {} is IR version {}, need 10 or 11; "
                                            "convert it with OpenVINO 2022.1 or later",
                                            where_, quote(version)));
  }

  FileSummary read() {
    std::from_chars(net_.attribute("version").value(), net_.attribute("version").value() + 2,
                    summary_.ir_version);
    read_information();
    const auto version = summary_.metadata.find("slipway.version");
    const bool ours = version != summary_.metadata.end();
    summary_.producer = ours ? "slipway " + version->second : "OpenVINO";
    for (const auto edge : net_.child("edges").children("edge"))
      sources_[place(edge.attribute("to-layer").value(), edge.attribute("to-port").value())] =
          place(edge.attribute("from-layer").value(), edge.attribute("from-port").value());
    for (const auto layer : net_.child("layers").children("layer")) note_ports(layer);
    for (const auto layer : net_.child("layers").children("layer")) add_layer(layer);
    return std::move(summary_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(kInvalid, fmt::format("[openvino] {} is no OpenVINO IR: {}", where_, what));
  }

  std::string label(const pugi::xml_node& layer) const {
    return fmt::format("layer {} ({})", quote(layer.attribute("name").value()),
                       layer.attribute("type").value());
  }

  int64_t number(const pugi::xml_node& layer, const pugi::xml_node& data, const char* key) const {
    const std::string_view text = data.attribute(key).value();
    int64_t value = -1;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < 0)
      fail(fmt::format("{} of {} is {}, need a number", key, label(layer), quote(text)));
    return value;
  }

  /// Names are a list; a comma in a name has a backslash in front.
  static std::vector<std::string> split_names(std::string_view text) {
    std::vector<std::string> names(text.empty() ? 0 : 1);
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) names.back() += text[++i];
      else if (text[i] == ',') names.emplace_back();
      else names.back() += text[i];
    }
    return names;
  }

  void read_information() {
    for (const auto entry : net_.child("rt_info").child("slipway"))
      summary_.metadata[fmt::format("slipway.{}", entry.name())] = entry.attribute("value").value();
    const auto shapes = summary_.metadata.find("slipway.shapes");
    if (shapes == summary_.metadata.end()) return;
    const Json json = Json::parse(shapes->second, nullptr, false);
    if (!json.is_object()) fail("slipway/shapes is no JSON object");
    for (const auto& [name, sizes] : json.items())
      for (const Json& size : sizes)
        if (size.is_string()) sizes_[name].push_back(size.get<std::string>());
    summary_.metadata.erase(shapes);
  }

  void note_ports(const pugi::xml_node& layer) {
    for (const auto port : layer.child("output").children("port"))
      names_[place(layer.attribute("id").value(), port.attribute("id").value())] = {
          main_name(split_names(port.attribute("names").value())), layer.attribute("name").value()};
  }

  FileValue value(const pugi::xml_node& layer, std::string name, std::string_view element,
                  std::vector<std::string> dims) const {
    FileValue value{std::move(name), DType::kF32, std::move(dims), false};
    const auto* known =
        std::ranges::find(kElements, element, &std::pair<std::string_view, DType>::first);
    if (known == std::end(kElements))
      throw Error(kUnsupported, fmt::format("[openvino] {}: {} has elements of type {}, which no "
                                            "tensor here has",
                                            where_, label(layer), quote(element)));
    value.dtype = known->second;
    if (const auto at = sizes_.find(value.name);
        at != sizes_.end() && at->second.size() == value.dims.size())
      value.dims = at->second;
    return value;
  }

  void add_parameter(const pugi::xml_node& layer) {
    const auto data = layer.child("data");
    std::vector<std::string> dims;
    const std::string_view shape = data.attribute("shape").value();
    for (size_t begin = 0; begin < shape.size();) {
      const size_t end = std::min(shape.find(',', begin), shape.size());
      const std::string_view size = shape.substr(begin, end - begin);
      const bool fixed = size.find_first_not_of("0123456789") == size.npos;
      dims.emplace_back(fixed ? size : "?");
      begin = end + 1;
    }
    std::string name = names_[place(layer.attribute("id").value(), "0")].first;
    if (name.empty()) name = layer.attribute("name").value();
    summary_.inputs.push_back(
        value(layer, std::move(name), data.attribute("element_type").value(), std::move(dims)));
  }

  void add_result(const pugi::xml_node& layer) {
    const auto port = layer.child("input").child("port");
    std::vector<std::string> dims;
    for (const auto dim : port.children("dim")) {
      const std::string_view size = dim.child_value();
      dims.emplace_back(size == "-1" ? "?" : size);
    }
    std::string name = main_name(split_names(layer.attribute("output_names").value()));
    const auto source = sources_.find(place(layer.attribute("id").value(), "0"));
    if (source == sources_.end()) fail(fmt::format("nothing leads to {}", label(layer)));
    if (name.empty()) name = names_[source->second].first;
    if (name.empty()) name = layer.attribute("name").value();
    std::string element = port.attribute("precision").value();
    for (char& c : element) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (element.starts_with("fp")) element.erase(1, 1);  // FP32 is f32
    if (element == "bool") element = "boolean";
    summary_.outputs.push_back(value(layer, std::move(name), element, std::move(dims)));
  }

  void add_constant(const pugi::xml_node& layer) {
    const auto data = layer.child("data");
    const int64_t offset = number(layer, data, "offset"), size = number(layer, data, "size");
    int64_t end = 0;
    if (__builtin_add_overflow(offset, size, &end))
      fail(fmt::format("{} ends beyond what a file holds", label(layer)));
    weight_bytes_ = std::max(weight_bytes_, end);
    ++summary_.initializers;
  }

  void add_layer(const pugi::xml_node& layer) {
    const std::string_view type = layer.attribute("type").value();
    if (type.empty() || layer.attribute("id").empty()) fail("a layer has no type or no id");
    if (type == "Parameter") return add_parameter(layer);
    if (type == "Result") return add_result(layer);
    if (type == "Const") return add_constant(layer);
    ++summary_.op_counts[fmt::format("ov::{}", type)];
    std::vector<std::string> reads;
    for (const auto port : layer.child("input").children("port")) {
      const auto source =
          sources_.find(place(layer.attribute("id").value(), port.attribute("id").value()));
      if (source == sources_.end()) fail(fmt::format("an input of {} is missing", label(layer)));
      reads.push_back(names_[source->second].second);
    }
    summary_.listing += fmt::format("{} = ov::{}({})\n", layer.attribute("name").value(), type,
                                    fmt::join(reads, ", "));
  }

  const std::string& where_;
  int64_t& weight_bytes_;
  pugi::xml_document document_;
  pugi::xml_node net_;
  FileSummary summary_;
  std::map<std::string, std::string> sources_;                        ///< of each input port
  std::map<std::string, std::pair<std::string, std::string>> names_;  ///< of a port, its layer
  std::map<std::string, std::vector<std::string>> sizes_;             ///< as our writer stated them
};

}  // namespace

FileSummary read_summary(ByteSpan bytes, const std::string& where, int64_t& weight_bytes) {
  weight_bytes = 0;
  return Reader(bytes, where, weight_bytes).read();
}

FileSummary read_summary(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  int64_t need = 0;
  FileSummary summary = read_summary(file->bytes(), display(path), need);
  if (need == 0) return summary;
  const auto weights = std::filesystem::path(path).replace_extension(".bin");
  summary.external_files.insert(weights.filename().string());
  std::error_code missing;  // which callers look for, as for every file beside a graph
  const auto have = std::filesystem::file_size(weights, missing);
  if (!missing && std::filesystem::is_regular_file(weights, missing) &&
      have < static_cast<uint64_t>(need))
    throw Error(kInvalid,
                fmt::format("[openvino] {} has {} bytes, {} needs {}; it was cut, copy it "
                            "again",
                            display(weights), have, path.filename().string(), need));
  return summary;
}

}  // namespace slipway::openvino
