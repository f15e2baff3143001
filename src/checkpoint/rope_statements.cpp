// Gathering rotary settings from the spellings of a config.json.
#include "checkpoint/rope_statements.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "slipway/error.h"

namespace slipway {
namespace {

using config_value::Where;

/// Fields that say how frequencies are scaled: without a type beside them they mean nothing.
constexpr std::array kScalingFields = {"factor",       "attention_factor", "beta_fast",
                                       "beta_slow",    "mscale",           "mscale_all_dim",
                                       "truncate",     "low_freq_factor",  "high_freq_factor",
                                       "short_factor", "long_factor"};
/// Fields of any type; the mrope ones are read by the models that have several position axes.
constexpr std::array kOtherFields = {"rope_theta", "partial_rotary_factor",
                                     "original_max_position_embeddings", "mrope_section",
                                     "mrope_interleaved"};

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Today's name of a type: "su" was longrope, "mrope" is the default on several axes.
std::string current_type(const Where& where, const Json& value) {
  const std::string& word = config_value::text(where, value);
  if (word == "su") return "longrope";
  return word == "mrope" ? "default" : word;
}

}  // namespace

void RopeStatements::state(const std::string& field, Json value, const std::string& key) {
  if (value.is_null()) return;
  const auto [it, added] = said_.emplace(field, std::make_pair(value, key));
  if (added || it->second.first == value) return;
  throw Error(kInvalid,
              fmt::format("[{}] {} is {} but {} is {}; remove one of the two spellings", source_,
                          it->second.second, describe(it->second.first), key, describe(value)));
}

void RopeStatements::state_dictionary(const Json& dict, const std::string& path) {
  bool typed = false, scaled = false;
  for (const auto& [key, value] : dict.items()) {
    const std::string full = path + "." + key;
    if (value.is_null()) continue;
    if (key == "rope_type" || key == "type") {
      state("rope_type", current_type({source_, full}, value), full);
      typed = true;
    } else if (contains(kScalingFields, key) || contains(kOtherFields, key)) {
      scaled = scaled || contains(kScalingFields, key);
      state(key, value, full);
    } else {
      log::warning_once(
          fmt::format("[{}] {} is not a rotary setting that is known here; it is ignored", source_,
                      quote(full)));
    }
  }
  if (scaled && !typed)
    config_value::fail_missing({source_, path + ".rope_type"},
                               fmt::format("one of {}", fmt::join(kRopeTypes, ", ")));
}

}  // namespace slipway
