// The leaf names of what graphs keep inside, from the names of their variables.
#pragma once

#include <map>
#include <string>

namespace slipway {

/// Our files say it in the metadata `slipway.states`. Otherwise the names follow from how variables
/// are called: "input.Xoutput.X" is X, and "past_key_values.0.keypresent.0.key" the keys of layer
/// 0. A variable that is called otherwise keeps its name.
std::string state_leaf(const std::map<std::string, std::string>& metadata,
                       const std::string& variable);

}  // namespace slipway
