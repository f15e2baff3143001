// Static caches as inputs of one call.
#include "runtime/static_cache.h"

#include <fmt/format.h>

namespace slipway {
namespace {

constexpr std::string_view kCounter = ".cumulative_length";

/// The slots of the layer whose leaves begin with `prefix`, where the call's inputs tell.
std::optional<int64_t> slots_of(const Leaves& given, const std::string& prefix) {
  const auto keys = given.find(prefix + ".keys");
  if (keys != given.end() && keys->second.rank() == 4) return keys->second.dim(2);
  std::optional<int64_t> slots;
  for (const auto& [leaf, tensor] : given)
    if (leaf.starts_with("attention_mask") && tensor.rank() == 4)
      slots = std::min(slots.value_or(tensor.dim(3)), tensor.dim(3));
  return slots;
}

}  // namespace

void check_slots(const std::vector<IoSpec>& specs, const Leaves& given, const TokenLayout& layout,
                 std::string_view where) {
  for (const IoSpec& spec : specs) {
    const std::string_view leaf = spec.name;
    if (!leaf.starts_with("past_key_values.") || !leaf.ends_with(kCounter)) continue;
    const auto counter = given.find(spec.name);
    if (counter == given.end() || counter->second.numel() != 1 ||
        counter->second.dtype() != DType::kI64)
      continue;
    const int64_t next = counter->second.values<int64_t>()[0];
    const auto slots = slots_of(given, spec.name.substr(0, leaf.size() - kCounter.size()));
    if (next >= 0 && (!slots || (layout.tokens <= *slots && next <= *slots - layout.tokens)))
      continue;
    throw Error(kInvalid,
                fmt::format("[{}] {} is {} and there are {} new tokens, the cache has slots 0 to "
                            "{}; use a longer cache or start again",
                            where, spec.name, next, layout.tokens,
                            slots ? std::to_string(*slots - 1) : "its end"));
  }
}

}  // namespace slipway
