// What a config.json says about each rotary setting, gathered from every spelling.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "checkpoint/config_value.h"

namespace slipway {

inline constexpr std::array<std::string_view, 6> kRopeTypes = {"default", "linear", "dynamic",
                                                               "yarn",    "llama3", "longrope"};

/// The value of each field and the key that stated it. `source` outlives the object.
class RopeStatements {
 public:
  explicit RopeStatements(const std::string& source) : source_(source) {}

  /// Records a value; null says nothing. Throws Error{kInvalid} where another spelling said
  /// something else.
  void state(const std::string& field, Json value, const std::string& key);
  /// Records the fields of a dictionary that stands at `path`; rope_type in today's words. Unknown
  /// fields are a warning; fields of a scaling without its type are Error{kInvalid}.
  void state_dictionary(const Json& dict, const std::string& path);

  bool has(const std::string& field) const { return said_.count(field) != 0; }
  const Json& value(const std::string& field) const { return said_.at(field).first; }
  config_value::Where where(const std::string& field) const {
    return {source_, said_.at(field).second};
  }

 private:
  const std::string& source_;
  std::map<std::string, std::pair<Json, std::string>> said_;
};

}  // namespace slipway
