// Parsing JSON with limits and with errors that say where.
#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "base/mapped_file.h"
#include "slipway/error.h"

namespace slipway {
namespace {

/// Builds the document from nlohmann's events. Its own builder searches an object's keys one by one
/// for each new key, which a hostile file turns into minutes.
class Builder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() { return add(Json(nullptr)) != nullptr; }
  bool boolean(bool v) { return add(Json(v)) != nullptr; }
  bool number_integer(number_integer_t v) { return add(Json(v)) != nullptr; }
  bool number_unsigned(number_unsigned_t v) { return add(Json(v)) != nullptr; }
  bool number_float(number_float_t v, const string_t&) { return add(Json(v)) != nullptr; }
  bool string(string_t& v) { return add(Json(std::move(v))) != nullptr; }
  bool binary(binary_t&) { return false; }
  bool start_object(size_t) { return open(Json::object()); }
  bool start_array(size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(string_t& name) {
    if (!open_.back().keys.insert(name).second) return refuse("the key " + quote(name) + " twice");
    open_.back().next_key = std::move(name);
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& e) {
    const std::string what = e.what();
    // "...parse error at line 1, column 2: REASON; last read: 'TOKEN'; expected ...": the token is
    // the file's own text, so it is shown through quote().
    const size_t reason = what.find(": ");
    problem_ = quote(reason == std::string::npos ? what : what.substr(reason + 2), 160);
    position_ = position;
    return false;
  }

  Json take() { return std::move(root_); }
  const std::string& problem() const { return problem_; }
  /// Where the parser itself stopped; npos when a limit did.
  size_t position() const { return position_; }

 private:
  struct Frame {
    Json* value;
    std::unordered_set<std::string> keys;
    std::string next_key;
  };

  bool refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  Json* add(Json value) {
    if (++values_ > limits_.max_values) {
      refuse(fmt::format("more than {} values", limits_.max_values));
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Frame& parent = open_.back();
    if (parent.value->is_array()) {
      auto& items = parent.value->get_ref<Json::array_t&>();
      items.push_back(std::move(value));
      return &items.back();
    }
    // An ordered object is a vector of pairs; key() has ruled out a second equal key.
    auto& members =
        static_cast<Json::object_t::Container&>(parent.value->get_ref<Json::object_t&>());
    members.emplace_back(std::move(parent.next_key), std::move(value));
    return &members.back().second;
  }

  bool open(Json container) {
    if (open_.size() >= limits_.max_depth)
      return refuse(fmt::format("more than {} levels of nesting", limits_.max_depth));
    Json* added = add(std::move(container));
    if (added == nullptr) return false;
    open_.push_back({added, {}, {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  const JsonLimits& limits_;
  Json root_;
  std::vector<Frame> open_;
  size_t values_ = 0;
  std::string problem_;
  size_t position_ = std::string::npos;
};

std::string line_and_column(std::string_view text, size_t position) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  const size_t column =
      newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return fmt::format("line {}, column {}", line + 1, column);
}

}  // namespace

Json parse_json(std::string_view text, std::string_view source, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes)
    throw Error(kInvalid, fmt::format("[{}] got {} bytes, need a JSON file of at most {}", source,
                                      text.size(), limits.max_bytes));
  Builder builder(limits);
  // The iterators tell how far the parser had read when a limit stopped it.
  if (Json::sax_parse(text.begin(), text.end(), &builder)) return builder.take();
  const bool syntax = builder.position() != std::string::npos;
  throw Error(
      kInvalid,
      syntax ? fmt::format("[{}] {}: not valid JSON: {}; need a complete JSON document", source,
                           line_and_column(text, builder.position()), builder.problem())
             : fmt::format("[{}] got {}, which a file of this kind must not have", source,
                           builder.problem()));
}

Json parse_json_file(const std::filesystem::path& path, const JsonLimits& limits) {
  const auto file = MappedFile::open(path);
  const ByteSpan bytes = file->bytes();
  return parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string(),
                    limits);
}

std::string quote(std::string_view text, size_t max) {
  std::string out = "\"";
  for (const char c : text.substr(0, max)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else out += c;
  }
  if (text.size() > max) {
    // Do not leave half of a UTF-8 sequence at the cut.
    while (out.size() > 1 && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80)
      out.pop_back();
    if (out.size() > 1 && (static_cast<unsigned char>(out.back()) & 0x80) != 0) out.pop_back();
    out += "...";
  }
  return out + "\"";
}

std::string describe(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case Json::value_t::string:
      return "the text " + quote(value.get_ref<const std::string&>());
    case Json::value_t::array:
      return fmt::format("a list of {}", value.size());
    case Json::value_t::object:
      return fmt::format("an object of {} keys", value.size());
    default:
      return "the number " + python_json(value);
  }
}

}  // namespace slipway
