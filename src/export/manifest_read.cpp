// Reading export.json, whoever wrote it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/log.h"
#include "export/manifest.h"

namespace slipway {
namespace {

constexpr size_t kMaxComponents = 256;
constexpr size_t kMaxRank = 64;

/// A value with the path that leads to it, for messages.
class Node {
 public:
  Node(const Json& value, std::string path) : value_(value), path_(std::move(path)) {}

  const Json& value() const { return value_; }
  const std::string& path() const { return path_; }

  [[noreturn]] void fail(std::string_view need) const {
    throw Error(kInvalid, fmt::format("[{}] got {}, need {}", path_, describe(value_), need));
  }

  Node at(const std::string& key) const { return {value_.at(key), path_ + ": " + shown(key)}; }
  /// Whether the key is there and not null.
  bool has(const std::string& key) const {
    const auto it = object().find(key);
    return it != value_.end() && !it->is_null();
  }
  Node need(const std::string& key, std::string_view what) const {
    if (!has(key))
      throw Error(kInvalid, fmt::format("[{}] {} is absent, need {}", path_, key, what));
    return at(key);
  }

  const Json& object() const {
    if (!value_.is_object()) fail("an object");
    return value_;
  }
  const Json& array() const {
    if (!value_.is_array()) fail("a list");
    return value_;
  }
  std::string text() const {
    if (!value_.is_string()) fail("a text");
    return value_.get<std::string>();
  }
  int64_t integer(int64_t min) const {
    const bool fits = value_.is_number_integer() && (!value_.is_number_unsigned() ||
                                                     value_.get<uint64_t>() <= uint64_t{INT64_MAX});
    if (!fits || value_.get<int64_t>() < min) fail(fmt::format("an integer from {}", min));
    return value_.get<int64_t>();
  }
  std::string plain_name(std::string_view what) const {
    std::string name = text();
    if (!is_plain_file_name(name)) fail(fmt::format("the plain name of {}", what));
    return name;
  }
  std::optional<std::string> optional_text(const std::string& key) const {
    return has(key) ? std::optional(at(key).text()) : std::nullopt;
  }

  /// The members of an object that may be absent, read by `read`.
  template <class Read>
  auto members(const std::string& key, Read read) const {
    std::vector<std::pair<std::string, decltype(read(*this))>> out;
    if (!has(key)) return out;
    const Node node = at(key);
    for (const auto& [name, value] : node.object().items())
      out.emplace_back(name, read(Node(value, node.path_ + ": " + shown(name))));
    return out;
  }

 private:
  static std::string shown(const std::string& key) {
    const std::string text = quote(key);
    return text.substr(1, text.size() - 2);
  }

  const Json& value_;
  std::string path_;
};

ScalarConstant read_scalar(const Node& node) {
  const Json& v = node.value();
  if (v.is_null()) return std::monostate{};
  if (v.is_boolean()) return v.get<bool>();
  if (v.is_number_integer()) return node.integer(INT64_MIN);
  if (v.is_number_float()) return v.get<double>();
  if (v.is_string()) return v.get<std::string>();
  node.fail("null, a text, a number, true or false");
}

TracedKwarg read_kwarg(const Node& node) {
  if (node.has("leaves")) return TracedKwarg::mapping(node.members("leaves", read_kwarg));
  if (node.has("container")) return TracedKwarg::of_class(node.at("container").text());
  const Node shape = node.need("shape", "the shape of a tensor, or leaves, or container");
  if (shape.array().size() > kMaxRank) shape.fail(fmt::format("at most {} dimensions", kMaxRank));
  Shape sizes;
  for (const Json& dim : shape.array()) sizes.push_back(Node(dim, shape.path()).integer(0));
  if (node.has("rank") && node.at("rank").integer(0) != static_cast<int64_t>(sizes.size()))
    node.at("rank").fail(fmt::format("{}, the number of dimensions in shape", sizes.size()));
  return TracedKwarg::tensor(std::move(sizes), node.need("dtype", "the type of a tensor").text());
}

ExportMetadata read_metadata(const Node& node) {
  ExportMetadata m;
  m.architecture = node.optional_text("architecture");
  m.packages = node.members("packages", [](const Node& n) { return n.text(); });
  if (node.has("export_config")) m.export_config = python_json(node.at("export_config").object());
  m.export_dtype = node.optional_text("export_dtype");
  m.export_device = node.optional_text("export_device");
  m.kwargs = node.members("kwargs", read_kwarg);
  m.in_spec = node.optional_text("in_spec");
  m.out_spec = node.optional_text("out_spec");
  m.in_constants = node.members("in_constants", read_scalar);
  if (node.has("out_constants")) {
    const Node list = node.at("out_constants");
    for (const Json& item : list.array()) {
      if (!item.is_array() || item.size() != 2)
        Node(item, list.path()).fail("a pair of a leaf's index and its value");
      m.out_constants.emplace_back(Node(item[0], list.path()).integer(0),
                                   read_scalar(Node(item[1], list.path())));
    }
  }
  return m;
}

Manifest read_root(const Node& root) {
  Manifest manifest;
  if (root.has("schema_version")) manifest.schema_version = root.at("schema_version").integer(1);
  if (manifest.schema_version > kManifestSchema)
    log::warning(
        fmt::format("[{}] was saved with schema {}, newer than {} which is known here: some "
                    "fields may be missed or misread",
                    root.path(), manifest.schema_version, kManifestSchema));
  const Node format = root.need("export_format", "the name of a format");
  manifest.export_format = format.text();
  const auto& known = export_formats();
  if (std::find(known.begin(), known.end(), manifest.export_format) == known.end())
    throw Error(kUnsupported, fmt::format("[{}] got {}, need one of {}", format.path(),
                                          describe(format.value()), fmt::join(known, ", ")));
  const Node components = root.need("components", "the components of the export");
  const size_t count = components.object().size();
  if (count == 0 || count > kMaxComponents)
    components.fail(fmt::format("1 to {} components", kMaxComponents));
  for (const auto& [name, value] : components.object().items()) {
    const Json name_value = name;
    const Node entry = components.at(name);
    ManifestComponent c;
    c.name = Node(name_value, components.path()).plain_name("a component");
    c.file = entry.need("file", "the name of a file").plain_name("a file beside export.json");
    c.metadata = read_metadata(entry.need("metadata", "the metadata of the component"));
    if (manifest.export_format == "executorch" && entry.has("method")) {
      c.method = entry.at("method").text();
      if (c.method.empty()) entry.at("method").fail("the name of a method");
    }
    manifest.components.push_back(std::move(c));
  }
  return manifest;
}

}  // namespace

Manifest parse_manifest(std::string_view text, const std::string& source) {
  const Json json = parse_json(text, source);
  return read_root(Node(json, source));
}

Manifest read_manifest(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kManifestFile;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw Error(kInvalid, fmt::format("[{}] is not an export: it has no {}", directory.string(),
                                      kManifestFile));
  const Json json = parse_json_file(path);
  return read_root(Node(json, path.string()));
}

}  // namespace slipway
