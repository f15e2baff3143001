// Names of values in a serialized graph: Python identifiers, each once.
#pragma once

#include <map>
#include <set>
#include <string>

namespace slipway::dynamo {

class Names {
 public:
  /// The wanted name where it is free and means nothing else in Python, else with a number behind
  /// it. Characters that identifiers cannot have become underscores.
  std::string fresh(const std::string& wanted);

 private:
  std::set<std::string> taken_;
  std::map<std::string, int64_t> next_;
};

}  // namespace slipway::dynamo
