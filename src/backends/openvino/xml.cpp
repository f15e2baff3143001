// An XML document being written: elements, attributes, indentation, escapes.
#include "backends/openvino/xml.h"

#include <fmt/format.h>

#include "slipway/error.h"

namespace slipway::openvino {
namespace {

/// Line breaks and tabs as references: parsers turn bare ones in attributes into spaces. Other
/// control characters have no place in XML 1.0 and become U+FFFD.
void append_escaped(std::string& out, std::string_view value) {
  for (const char c : value) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
      case '\t':
      case '\r':
        out += fmt::format("&#{};", static_cast<int>(c));
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) out += "\xEF\xBF\xBD";
        else out += c;
    }
  }
}

}  // namespace

void Xml::indent(size_t depth) { text_.append(depth, '\t'); }

void Xml::begin(std::string_view name) {
  if (in_tag_) text_ += ">\n";
  indent(open_.size());
  text_ += '<';
  text_ += name;
  open_.emplace_back(name);
  in_tag_ = true;
}

void Xml::attribute(std::string_view name, std::string_view value) {
  SLIPWAY_ASSERT(in_tag_);
  text_ += ' ';
  text_ += name;
  text_ += "=\"";
  append_escaped(text_, value);
  text_ += '"';
}

void Xml::close() {
  SLIPWAY_ASSERT(!open_.empty());
  const std::string name = std::move(open_.back());
  open_.pop_back();
  if (in_tag_) {
    text_ += " />\n";
    in_tag_ = false;
    return;
  }
  indent(open_.size());
  text_ += "</" + name + ">\n";
}

void Xml::leaf(std::string_view name, std::string_view text) {
  if (in_tag_) text_ += ">\n";
  in_tag_ = false;
  indent(open_.size());
  text_ += fmt::format("<{}>", name);
  append_escaped(text_, text);
  text_ += fmt::format("</{}>\n", name);
}

}  // namespace slipway::openvino
