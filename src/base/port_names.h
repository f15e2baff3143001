// Which of a port's names callers know it by.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>

namespace slipway {

/// Frameworks leave names of inner values at ports ("__module.lm_head/aten::linear/MatMul"); a
/// leaf's has no such marks, and is shorter. Empty where there is none.
template <class Names>
std::string main_name(const Names& names) {
  const auto rank = [](const std::string& name) {
    return std::tuple(name.find_first_of(":/") != std::string::npos, name.size(), name);
  };
  const auto best = std::ranges::min_element(names, {}, rank);
  return best == names.end() ? std::string() : *best;
}

}  // namespace slipway
