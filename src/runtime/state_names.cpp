// The leaf names of what graphs keep inside, from the names of their variables.
#include "runtime/state_names.h"

#include <string_view>

#include "base/json.h"

namespace slipway {
namespace {

/// Its leaf in "input.Xoutput.X", or nothing.
std::string from_pair(std::string_view variable) {
  constexpr std::string_view kInput = "input.", kOutput = "output.";
  if (!variable.starts_with(kInput)) return "";
  const std::string_view rest = variable.substr(kInput.size());
  if (rest.size() <= kOutput.size() || (rest.size() - kOutput.size()) % 2 != 0) return "";
  const size_t length = (rest.size() - kOutput.size()) / 2;
  const std::string_view leaf = rest.substr(0, length);
  const bool fits = rest.substr(length, kOutput.size()) == kOutput &&
                    rest.substr(length + kOutput.size()) == leaf;
  return fits ? std::string(leaf) : "";
}

/// "past_key_values.0.key" of "past_key_values.0.keypresent.0.key".
std::string from_present(std::string_view variable) {
  constexpr std::string_view kPast = "past_key_values.", kPresent = "present.";
  const size_t at = variable.find(kPresent);
  if (!variable.starts_with(kPast) || at == std::string_view::npos) return "";
  const std::string_view leaf = variable.substr(0, at);
  const bool fits = variable.substr(at + kPresent.size()) == leaf.substr(kPast.size());
  return fits ? std::string(leaf) : "";
}

}  // namespace

std::string state_leaf(const std::map<std::string, std::string>& metadata,
                       const std::string& variable) {
  if (const auto at = metadata.find("slipway.states"); at != metadata.end()) {
    const Json states = Json::parse(at->second, nullptr, false);
    if (states.is_object())
      for (const auto& [leaf, name] : states.items())
        if (name == variable) return leaf;
  }
  if (std::string leaf = from_pair(variable); !leaf.empty()) return leaf;
  if (std::string leaf = from_present(variable); !leaf.empty()) return leaf;
  return variable;
}

}  // namespace slipway
