// The names under which graphs have the keys and values of their layers.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace slipway {

enum class CachePart { kKeys, kValues, kCounter };

/// One tensor of a decoder's cache.
struct CacheName {
  int64_t layer = 0;
  CachePart part = CachePart::kKeys;

  /// "past_key_values.layers.0.keys".
  std::string leaf() const;
  auto operator<=>(const CacheName&) const = default;  // NOLINT(modernize-use-nullptr): its zero
};

/// Reads leaf names: past_key_values.layers.N.{keys,values,cumulative_length}, and
/// {past_key_values,present}.N.{key,value}. Nothing for all others.
std::optional<CacheName> parse_cache_name(std::string_view leaf);

}  // namespace slipway
