// A delegation in words.
#include "slipway/delegation.h"

#include <fmt/format.h>

namespace slipway {

double Delegation::share() const {
  if (multiplications == 0) return 1.0;
  return static_cast<double>(delegated_multiplications) / static_cast<double>(multiplications);
}

std::string Delegation::to_text() const {
  std::string text = fmt::format("XNNPACK: {} delegates, {:.2f} % of the multiplications\n",
                                 delegates, 100 * share());
  for (const auto& [op, count] : delegated) text += fmt::format("  {} x{}\n", op, count);
  text += "not delegated:\n";
  for (const auto& [what, count] : left)
    text += fmt::format("  {} x{}: {}\n", what.first, count, what.second);
  return text;
}

}  // namespace slipway
