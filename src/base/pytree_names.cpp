// The dotted names of a tree spec's leaves.
#include <fmt/format.h>

#include "base/pytree.h"
#include "slipway/error.h"

namespace slipway {
namespace {

// A name is a path of field names; what is longer is not an export's but an attempt to use memory.
constexpr size_t kMaxName = 512;
constexpr size_t kMaxLeaves = 1 << 16;

class Namer {
 public:
  explicit Namer(std::string_view source) : source_(source) {}

  void visit(const TreeSpec& spec, const std::string& prefix) {
    if (spec.is_leaf()) return add(prefix.empty() ? "output" : prefix);
    if (spec.context.is_object() && spec.context.contains("_t")) return visit_object(spec, prefix);
    const bool sequence = spec.context.is_null();
    if (!sequence && !spec.context.is_array())
      throw Error(kUnsupported,
                  fmt::format("[{}] tree spec: the fields of class {} are not known here", source_,
                              quote(spec.type)));
    if (!sequence && spec.context.size() != spec.children.size())
      fail(fmt::format("{} has {} keys for {} children", quote(spec.type), spec.context.size(),
                       spec.children.size()));
    for (size_t i = 0; i < spec.children.size(); ++i)
      visit(spec.children[i],
            join(prefix, sequence ? std::to_string(i) : key_text(spec.context[i])));
  }

  std::vector<std::string> take() { return std::move(names_); }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(kInvalid, fmt::format("[{}] tree spec: {}", source_, problem));
  }

 private:
  void add(std::string name) {
    if (names_.size() >= kMaxLeaves) fail(fmt::format("more than {} leaves", kMaxLeaves));
    names_.push_back(std::move(name));
  }

  std::string join(const std::string& prefix, const std::string& name) const {
    std::string path = prefix.empty() ? name : prefix + "." + name;
    if (path.size() > kMaxName)
      fail(fmt::format("a name of {} bytes, need at most {}", path.size(), kMaxName));
    return path;
  }

  std::string key_text(const Json& key) const {
    if (key.is_string()) return key.get<std::string>();
    if (key.is_number_integer()) return python_json(key);
    fail("got " + describe(key) + " as a key, need a text");
  }

  /// A cache: its context is the object with its tensors replaced by their leaf's index.
  void visit_object(const TreeSpec& spec, const std::string& prefix) {
    std::vector<std::string> names(spec.children.size());
    for (const TreeSpec& child : spec.children)
      if (!child.is_leaf()) fail(quote(spec.type) + " has a child that is not a leaf");
    walk(spec.context, prefix, names);
    for (std::string& name : names) {
      if (name.empty()) fail(quote(spec.type) + " has a leaf that its context does not place");
      add(std::move(name));
    }
  }

  void walk(const Json& value, const std::string& path, std::vector<std::string>& names) const {
    if (value.is_array()) {
      for (size_t i = 0; i < value.size(); ++i)
        walk(value[i], join(path, std::to_string(i)), names);
      return;
    }
    if (!value.is_object()) return;
    const auto tag = value.find("_t");
    if (tag == value.end()) {
      for (const auto& [key, item] : value.items()) walk(item, join(path, key), names);
    } else if (*tag == "tensor" || *tag == "sym") {
      place(value, path, names);
    } else if (*tag == "obj") {
      // The object itself adds nothing to the path, its attributes do.
      for (const auto& [key, item] : part(value, "s", Json::value_t::object).items())
        walk(item, join(path, key), names);
    } else if (*tag == "map") {
      for (const auto& [key, item] : part(value, "v", Json::value_t::object).items())
        walk(item, join(path, key), names);
    } else if (*tag == "seq") {
      walk(part(value, "v", Json::value_t::array), path, names);
    } else if (*tag == "items") {
      for (const Json& pair : part(value, "v", Json::value_t::array)) {
        if (!pair.is_array() || pair.size() != 2) fail("an item is not a pair of key and value");
        walk(pair[1], join(path, key_text(pair[0])), names);
      }
    }
    // Other tags (dtype, device, size, ...) hold no tensors.
  }

  const Json& part(const Json& value, const char* key, Json::value_t type) const {
    const auto it = value.find(key);
    if (it == value.end() || it->type() != type)
      fail(fmt::format("an object's context lacks its part {}", quote(key)));
    return *it;
  }

  void place(const Json& value, const std::string& path, std::vector<std::string>& names) const {
    const auto it = value.find("i");
    // A negative index becomes a huge one.
    const bool valid =
        it != value.end() && it->is_number_integer() && it->get<uint64_t>() < names.size();
    if (!valid)
      fail(fmt::format("{} refers to a leaf that does not exist, there are {}", quote(path),
                       names.size()));
    std::string& name = names[it->get<size_t>()];
    if (!name.empty()) fail(fmt::format("{} and {} are the same leaf", quote(name), quote(path)));
    name = path.empty() ? "output" : path;
  }

  std::string_view source_;
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> leaf_names(const TreeSpec& spec, std::string_view source) {
  Namer namer(source);
  namer.visit(spec, "");
  return namer.take();
}

std::vector<std::string> input_leaf_names(const TreeSpec& in_spec, std::string_view source) {
  Namer namer(source);
  if (in_spec.type != "builtins.tuple" || in_spec.children.size() != 2)
    namer.fail("the arguments of a call are a pair of positional and keyword arguments");
  if (in_spec.children[0].num_leaves() != 0)
    throw Error(
        kUnsupported,
        fmt::format("[{}] the call has positional arguments, need keyword arguments only", source));
  namer.visit(in_spec.children[1], "");
  return namer.take();
}

}  // namespace slipway
