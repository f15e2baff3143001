// Building tree specs, and reading and writing their text.
#include "base/pytree.h"

#include <fmt/format.h>

#include "slipway/error.h"

namespace slipway {
namespace {

constexpr int64_t kProtocol = 1;
constexpr const char* kTuple = "builtins.tuple";
constexpr const char* kList = "builtins.list";
constexpr const char* kDict = "builtins.dict";
constexpr const char* kDynamicCache = "transformers.cache_utils:DynamicCache";
constexpr const char* kDynamicLayer = "transformers.cache_utils:DynamicLayer";
constexpr const char* kStaticCache = "transformers.cache_utils:StaticCache";
constexpr const char* kStaticLayer = "transformers.cache_utils:StaticLayer";

constexpr JsonLimits kLimits{.max_bytes = size_t{4} << 20, .max_depth = 128, .max_values = 1 << 20};

TreeSpec keyed(std::string type, std::vector<std::pair<std::string, TreeSpec>> items) {
  TreeSpec spec{std::move(type), Json::array(), {}};
  for (auto& [key, child] : items) {
    spec.context.push_back(key);
    spec.children.push_back(std::move(child));
  }
  return spec;
}

Json object_context(const char* path, Json state) {
  return {{"_t", "obj"}, {"p", path}, {"s", std::move(state)}};
}

Json cache_context(const char* path, Json layers) {
  return object_context(path, {{"layers", std::move(layers)},
                               {"layer_class_to_replicate", nullptr},
                               {"offloading", false}});
}

Json tensor_context(int64_t leaf) { return {{"_t", "tensor"}, {"i", leaf}}; }
Json dtype_context(DType dtype) { return {{"_t", "dtype"}, {"n", torch_name(dtype)}}; }
Json device_context(std::string_view device) { return {{"_t", "device"}, {"s", device}}; }

Json to_json(const TreeSpec& spec) {
  Json children = Json::array();
  for (const TreeSpec& child : spec.children) children.push_back(to_json(child));
  if (spec.is_leaf()) return {{"type", nullptr}, {"context", nullptr}, {"children_spec", children}};
  return {{"type", spec.type}, {"context", python_json(spec.context)}, {"children_spec", children}};
}

class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source) {}

  TreeSpec read(const Json& node) {
    if (!node.is_object()) fail(node, "an object for each node");
    const Json &type = field(node, "type"), &context = field(node, "context"),
               &children = field(node, "children_spec");
    if (!children.is_array()) fail(children, "a list in children_spec");
    if (type.is_null()) {
      if (!context.is_null() || !children.empty())
        fail(node, "no context and no children at a leaf");
      return TreeSpec::leaf();
    }
    if (!type.is_string() || type.get_ref<const std::string&>().empty())
      fail(type, "the name of a class in type");
    // A few classes of torch have a context that is not a text.
    TreeSpec spec{type.get<std::string>(), context, {}};
    if (context.is_string())
      spec.context = parse_json(context.get_ref<const std::string&>(), source_, kLimits);
    for (const Json& child : children) spec.children.push_back(read(child));
    return spec;
  }

  [[noreturn]] void fail(const Json& got, std::string_view need) const {
    throw Error(kInvalid,
                fmt::format("[{}] tree spec: got {}, need {}", source_, describe(got), need));
  }

 private:
  const Json& field(const Json& node, const char* name) const {
    const auto it = node.find(name);
    if (it == node.end()) fail(node, fmt::format("a field {} at each node", name));
    return *it;
  }

  std::string source_;
};

}  // namespace

TreeSpec TreeSpec::tuple(std::vector<TreeSpec> children) {
  return {kTuple, nullptr, std::move(children)};
}
TreeSpec TreeSpec::list(std::vector<TreeSpec> children) {
  return {kList, nullptr, std::move(children)};
}
TreeSpec TreeSpec::dict(std::vector<std::pair<std::string, TreeSpec>> items) {
  return keyed(kDict, std::move(items));
}
TreeSpec TreeSpec::model_output(std::string type,
                                std::vector<std::pair<std::string, TreeSpec>> fields) {
  return keyed(std::move(type), std::move(fields));
}

TreeSpec TreeSpec::dynamic_cache(int64_t layers, DType dtype, std::string_view device) {
  Json list = Json::array();
  for (int64_t i = 0; i < layers; ++i)
    list.push_back(object_context(kDynamicLayer, {{"keys", tensor_context(2 * i)},
                                                  {"values", tensor_context(2 * i + 1)},
                                                  {"is_initialized", true},
                                                  {"dtype", dtype_context(dtype)},
                                                  {"device", device_context(device)}}));
  return {kDynamicCache, cache_context(kDynamicCache, std::move(list)),
          std::vector<TreeSpec>(static_cast<size_t>(2 * layers))};
}

TreeSpec TreeSpec::empty_dynamic_cache(int64_t layers) {
  Json list = Json::array();
  for (int64_t i = 0; i < layers; ++i)
    list.push_back(object_context(
        kDynamicLayer, {{"keys", nullptr}, {"values", nullptr}, {"is_initialized", false}}));
  return {kDynamicCache, cache_context(kDynamicCache, std::move(list)), {}};
}

TreeSpec TreeSpec::static_cache(const StaticCacheShape& shape, DType dtype,
                                std::string_view device) {
  Json list = Json::array();
  for (int64_t i = 0; i < shape.layers; ++i)
    list.push_back(object_context(kStaticLayer, {{"keys", tensor_context(3 * i)},
                                                 {"values", tensor_context(3 * i + 1)},
                                                 {"is_initialized", true},
                                                 {"max_cache_len", shape.slots},
                                                 {"cumulative_length", tensor_context(3 * i + 2)},
                                                 {"dtype", dtype_context(dtype)},
                                                 {"device", device_context(device)},
                                                 {"batch_size", shape.batch},
                                                 {"num_heads", shape.heads},
                                                 {"v_head_dim", shape.head_dim},
                                                 {"k_head_dim", shape.head_dim}}));
  return {kStaticCache, cache_context(kStaticCache, std::move(list)),
          std::vector<TreeSpec>(static_cast<size_t>(3 * shape.layers))};
}

TreeSpec TreeSpec::empty_static_cache(const StaticCacheShape& shape) {
  Json list = Json::array();
  for (int64_t i = 0; i < shape.layers; ++i)
    list.push_back(object_context(kStaticLayer, {{"keys", nullptr},
                                                 {"values", nullptr},
                                                 {"is_initialized", false},
                                                 {"max_cache_len", shape.slots},
                                                 {"cumulative_length", tensor_context(i)}}));
  return {kStaticCache, cache_context(kStaticCache, std::move(list)),
          std::vector<TreeSpec>(static_cast<size_t>(shape.layers))};
}

TreeSpec TreeSpec::keyword_call(std::vector<std::pair<std::string, TreeSpec>> kwargs) {
  return tuple({tuple({}), dict(std::move(kwargs))});
}

int64_t TreeSpec::num_leaves() const {
  if (is_leaf()) return 1;
  int64_t n = 0;
  for (const TreeSpec& child : children) n += child.num_leaves();
  return n;
}

std::string dump_tree_spec(const TreeSpec& spec) {
  return python_json(Json::array({kProtocol, to_json(spec)}));
}

TreeSpec parse_tree_spec(std::string_view text, std::string_view source) {
  const Json json = parse_json(text, source, kLimits);
  Reader reader(source);
  if (!json.is_array() || json.size() != 2) reader.fail(json, "a list of a protocol and a tree");
  if (json[0] != kProtocol) {
    if (!json[0].is_number_integer()) reader.fail(json[0], "the number of a protocol");
    throw Error(kUnsupported, fmt::format("[{}] tree spec of protocol {}, need protocol {}", source,
                                          python_json(json[0]), kProtocol));
  }
  return reader.read(json[1]);
}

}  // namespace slipway
