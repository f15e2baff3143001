// JSON text as Python's json.dumps writes it, byte for byte.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/json.h"
#include "slipway/error.h"

namespace slipway {
namespace {

/// The code point at `i`, which moves past it. The parser let only valid UTF-8 in.
uint32_t next_code_point(std::string_view s, size_t& i) {
  const auto lead = static_cast<unsigned char>(s[i++]);
  if (lead < 0x80) return lead;
  const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
  uint32_t code = lead & (0x3fu >> more);
  for (int k = 0; k < more; ++k) {
    SLIPWAY_ASSERT(i < s.size());
    code = code << 6 | (static_cast<unsigned char>(s[i++]) & 0x3fu);
  }
  return code;
}

void append_string(std::string& out, std::string_view s) {
  out += '"';
  for (size_t i = 0; i < s.size();) {
    const uint32_t c = next_code_point(s, i);
    switch (c) {
      case '"':
        out += "\\\"";
        continue;
      case '\\':
        out += "\\\\";
        continue;
      case '\n':
        out += "\\n";
        continue;
      case '\r':
        out += "\\r";
        continue;
      case '\t':
        out += "\\t";
        continue;
      case '\b':
        out += "\\b";
        continue;
      case '\f':
        out += "\\f";
        continue;
      default:
        break;
    }
    if (c >= 0x20 && c < 0x7f) {
      out += static_cast<char>(c);
    } else if (c >= 0x10000) {
      const uint32_t rest = c - 0x10000;
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
    } else {
      out += fmt::format("\\u{:04x}", c);
    }
  }
  out += '"';
}

/// The shortest digits that read back equal, in repr()'s layout: an exponent below 1e-4 and from
/// 1e16 on, and always a point or an exponent.
std::string float_repr(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "Infinity" : "-Infinity";
  const double size = std::fabs(v);
  const bool exponent = v != 0 && (size < 1e-4 || size >= 1e16);
  char buffer[400];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), v,
                    exponent ? std::chars_format::scientific : std::chars_format::fixed);
  SLIPWAY_ASSERT(end.ec == std::errc());
  std::string text(buffer, end.ptr);
  if (!exponent && text.find('.') == std::string::npos) text += ".0";
  return text;
}

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void write(const Json& v, int level) {
    switch (v.type()) {
      case Json::value_t::null:
        out += "null";
        return;
      case Json::value_t::boolean:
        out += v.get<bool>() ? "true" : "false";
        return;
      case Json::value_t::number_integer:
        out += std::to_string(v.get<int64_t>());
        return;
      case Json::value_t::number_unsigned:
        out += std::to_string(v.get<uint64_t>());
        return;
      case Json::value_t::number_float:
        out += float_repr(v.get<double>());
        return;
      case Json::value_t::string:
        append_string(out, v.get_ref<const std::string&>());
        return;
      case Json::value_t::array:
        write_items(v, level, '[', ']');
        return;
      case Json::value_t::object:
        write_items(v, level, '{', '}');
        return;
      default:
        SLIPWAY_ASSERT(!"a binary value in JSON");
    }
  }

  std::string out;

 private:
  void write_items(const Json& v, int level, char open, char close) {
    out += open;
    bool first = true;
    for (auto it = v.begin(); it != v.end(); ++it) {
      if (!first) out += indent_ < 0 ? ", " : ",";
      first = false;
      new_line(level + 1);
      if (v.is_object()) {
        append_string(out, it.key());
        out += ": ";
      }
      write(*it, level + 1);
    }
    if (!first) new_line(level);
    out += close;
  }

  void new_line(int level) {
    if (indent_ < 0) return;
    out += '\n';
    out.append(static_cast<size_t>(level * indent_), ' ');
  }

  int indent_;
};

}  // namespace

std::string python_json(const Json& value) {
  Writer writer(-1);
  writer.write(value, 0);
  return std::move(writer.out);
}

std::string python_json_indented(const Json& value) {
  Writer writer(2);
  writer.write(value, 0);
  return std::move(writer.out);
}

}  // namespace slipway
