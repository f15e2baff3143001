// The names under which graphs have the keys and values of their layers.
#include "generation/cache_names.h"

#include <fmt/format.h>

#include <charconv>

namespace slipway {
namespace {

bool take(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string CacheName::leaf() const {
  constexpr const char* kParts[] = {"keys", "values", "cumulative_length"};
  return fmt::format("past_key_values.layers.{}.{}", layer, kParts[static_cast<int>(part)]);
}

std::optional<CacheName> parse_cache_name(std::string_view leaf) {
  const bool dotted = take(leaf, "past_key_values.layers.");
  if (!dotted && !take(leaf, "past_key_values.") && !take(leaf, "present.")) return std::nullopt;
  CacheName name;
  const auto parsed = std::from_chars(leaf.data(), leaf.data() + leaf.size(), name.layer);
  if (parsed.ec != std::errc() || name.layer < 0) return std::nullopt;
  leaf.remove_prefix(static_cast<size_t>(parsed.ptr - leaf.data()));
  if (leaf == (dotted ? ".keys" : ".key")) name.part = CachePart::kKeys;
  else if (leaf == (dotted ? ".values" : ".value")) name.part = CachePart::kValues;
  else if (dotted && leaf == ".cumulative_length") name.part = CachePart::kCounter;
  else return std::nullopt;
  return name;
}

}  // namespace slipway
