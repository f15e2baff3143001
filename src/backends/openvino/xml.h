// An XML document being written: elements, attributes, indentation, escapes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slipway::openvino {

/// Text that parses to what was given. Elements must be closed in order; asserts that.
class Xml {
 public:
  Xml() : text_("<?xml version=\"1.0\"?>\n") {}

  /// Begins an element. Its name must be one of XML's; attribute values are escaped.
  void open(std::string_view name) { begin(name); }
  void attribute(std::string_view name, std::string_view value);
  /// Ends the innermost element: "/>" where nothing is in it.
  void close();
  /// An element with nothing but a text in it.
  void leaf(std::string_view name, std::string_view text);

  const std::string& text() const { return text_; }

 private:
  void begin(std::string_view name);
  void indent(size_t depth);

  std::string text_;
  std::vector<std::string> open_;
  bool in_tag_ = false;  ///< the innermost start tag still takes attributes
};

}  // namespace slipway::openvino
