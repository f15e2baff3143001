// A component of tokenizer.json and its place in the file, for messages that name it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace slipway::openvino {

/// A JSON value that outlives this. Reading one of the wrong type throws Error{kInvalid} that says
/// where it is.
class Part {
 public:
  Part(const Json& json, std::string place) : json_(&json), place_(std::move(place)) {}

  /// A member; null where it is missing.
  Part operator[](const char* key) const;
  bool is_null() const { return json_->is_null(); }
  bool is_text() const { return json_->is_string(); }
  bool has(const char* key) const { return json_->is_object() && json_->contains(key); }

  /// The member `type`, or the text itself: "ByteLevel".
  std::string type() const;
  std::string text() const;
  bool flag(bool missing) const;
  int64_t integer() const;
  double number() const;
  /// The elements of a list.
  std::vector<Part> list() const;
  /// The members of an object.
  const Json& object() const;

  const Json& json() const { return *json_; }
  const std::string& place() const { return place_; }

  [[noreturn]] void invalid(std::string_view need) const;
  /// Error{kUnsupported}: what OpenVINO's string ops cannot do.
  [[noreturn]] void unsupported(std::string_view reason) const;

 private:
  const Json* json_;
  std::string place_;
};

}  // namespace slipway::openvino
