// Reads the JSON of a serialized program into its structs.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "backends/dynamo/schema.h"
#include "base/json.h"
#include "slipway/error.h"

namespace slipway::dynamo::schema {
namespace {

// A graph of a hundred thousand nodes has documents of this size.
constexpr JsonLimits kLimits{
    .max_bytes = size_t{512} << 20, .max_depth = 192, .max_values = size_t{1} << 26};
constexpr int64_t kMajor = 8, kMinor = 20;

template <class T>
concept Struct = requires(T t, int& io) {
  &T::template io<int>;
};
template <class T>
concept Union = requires {
  T::kTags;
};

class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source) {}

  void read(const Json& json, int64_t& out) const {
    if (json.is_number_unsigned() &&
        json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      fail(json, "an integer of 64 bits");
    if (!json.is_number_integer()) fail(json, "an integer");
    out = json.get<int64_t>();
  }
  void read(const Json& json, bool& out) const {
    if (!json.is_boolean()) fail(json, "true or false");
    out = json.get<bool>();
  }
  void read(const Json& json, double& out) const {
    if (json.is_string()) {
      const auto& text = json.get_ref<const std::string&>();
      constexpr double kInf = std::numeric_limits<double>::infinity();
      if (text != "Infinity" && text != "-Infinity" && text != "NaN") fail(json, "a number");
      out = text == "NaN" ? std::nan("") : (text[0] == '-' ? -kInf : kInf);
      return;
    }
    if (!json.is_number()) fail(json, "a number");
    out = json.get<double>();
  }
  void read(const Json& json, std::string& out) const {
    if (!json.is_string()) fail(json, "a text");
    out = json.get_ref<const std::string&>();
  }
  void read(const Json& json, None&) const {
    if (!json.is_boolean()) fail(json, "true");
  }
  void read(const Json& json, ScalarType& out) const { read(json, out.value); }
  void read(const Json& json, MemoryFormat& out) const { read(json, out.value); }
  void read(const Json& json, Layout& out) const { read(json, out.value); }
  void read(const Json& json, Name& out) const { read(json, out.value); }
  void read(const Json& json, Operator& out) const { read(json, out.value); }

  template <class T>
  void read(const Json& json, std::vector<T>& out) const {
    if (!json.is_array()) fail(json, "a list");
    out.reserve(json.size());
    for (size_t i = 0; i < json.size(); ++i) {
      T item{};
      in(fmt::format("[{}]", i), [&] { read(json[i], item); });
      out.push_back(std::move(item));
    }
  }
  template <class T>
  void read(const Json& json, OrderedMap<T>& out) const {
    if (!json.is_object()) fail(json, "an object");
    out.reserve(json.size());
    for (const auto& [key, value] : json.items()) {
      T item{};
      in(quote(key), [&, &field = value] { read(field, item); });
      out.emplace_back(key, std::move(item));
    }
  }
  template <class T>
  void read(const Json& json, std::optional<T>& out) const {
    if (json.is_null()) return;
    read(json, out.emplace());
  }
  void read(const Json& json, std::shared_ptr<Graph>& out) const {
    out = std::make_shared<Graph>();
    read(json, *out);
  }

  template <Union T>
  void read(const Json& json, T& out) const {
    const Json* value = nullptr;
    std::string tag;
    if (json.is_object())
      // Writers of an earlier torch name every alternative, all but one as null.
      for (const auto& [key, item] : json.items())
        if (!item.is_null()) {
          if (value != nullptr) fail(json, "one alternative");
          value = &item;
          tag = key;
        }
    if (value == nullptr) fail(json, "an object with one alternative");
    for (size_t i = 0; i < std::size(T::kTags); ++i)
      if (tag == T::kTags[i]) {
        in(tag, [&] { read_alternative(i, *value, out.value); });
        return;
      }
    throw Error(kUnsupported, fmt::format("[pt2] {}{}: {} is unknown to schema {}.{}", source_,
                                          path(), quote(tag), kMajor, kMinor));
  }

  template <Struct T>
  void read(const Json& json, T& out) const {
    if (!json.is_object()) fail(json, "an object");
    Fields fields{*this, json};
    out.io(fields);
  }

  [[noreturn]] void fail(const Json& got, std::string_view need) const {
    throw Error(kInvalid,
                fmt::format("[pt2] {}{}: got {}, need {}", source_, path(), describe(got), need));
  }

 private:
  struct Fields {
    const Reader& reader;
    const Json& json;

    template <class T>
    void operator()(const char* key, T& field) {
      const auto at = json.find(key);
      if (at != json.end()) reader.in(key, [&] { reader.read(*at, field); });
      else if constexpr (!requires {
                           field.emplace();
                           field.has_value();
                         })
        reader.fail(json, fmt::format("a field {}", key));
    }
    void operator()(const char* key, OrderedMap<std::string>& field) {
      if (std::string_view(key) == "metadata") read_metadata(field);
      else operator()<OrderedMap<std::string>>(key, field);
    }
    template <class T>
    void or_default(const char* key, T& field) {
      const auto at = json.find(key);
      if (at != json.end() && !at->is_null()) reader.in(key, [&] { reader.read(*at, field); });
    }
    /// Stack traces are most of a document; they are not kept.
    void read_metadata(OrderedMap<std::string>& field) {
      const auto at = json.find("metadata");
      if (at == json.end() || !at->is_object()) return;
      const auto stack = at->find("nn_module_stack");
      if (stack != at->end() && stack->is_string())
        field.emplace_back("nn_module_stack", stack->get<std::string>());
    }
  };

  template <class... Ts>
  void read_alternative(size_t index, const Json& json, std::variant<Ts...>& out) const {
    size_t i = 0;
    const auto one = [&]<class T>(std::type_identity<T>) {
      if (i++ != index) return;
      T item{};
      read(json, item);
      out = std::move(item);
    };
    (one(std::type_identity<Ts>{}), ...);
  }

  /// Runs `body` with one more part in the path that errors name.
  template <class F>
  void in(std::string part, F&& body) const {
    path_.push_back(std::move(part));
    body();
    path_.pop_back();
  }

  std::string path() const {
    std::string text;
    for (const std::string& part : path_) {
      if (part[0] != '[') text += text.empty() ? ": " : ".";
      text += part;
    }
    return text;
  }

  std::string_view source_;
  mutable std::vector<std::string> path_;
};

}  // namespace

ExportedProgram read_program(std::string_view text, std::string_view source) {
  const Json json = parse_json(text, source, kLimits);
  const Reader reader(source);
  if (!json.is_object() || !json.contains("schema_version"))
    reader.fail(json, "an object with a schema_version: a program that torch.export.save wrote");
  SchemaVersion version;
  reader.read(json.at("schema_version"), version);
  if (version.major != kMajor)
    throw Error(kUnsupported,
                fmt::format("[pt2] {} has schema {}.{}, this reader knows {}.x (written by torch "
                            "2.6 and later): load it with the torch that wrote it and save it "
                            "with one of those",
                            source, version.major, version.minor, kMajor));
  ExportedProgram program;
  reader.read(json, program);
  return program;
}

PayloadConfig read_payloads(std::string_view text, std::string_view source) {
  const Json json = parse_json(text, source, kLimits);
  PayloadConfig payloads;
  Reader(source).read(json, payloads);
  return payloads;
}

}  // namespace slipway::dynamo::schema
