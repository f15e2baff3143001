// The rotary settings of a config.json: every spelling that releases have used, read into one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "checkpoint/config.h"
#include "checkpoint/config_value.h"
#include "checkpoint/rope_statements.h"
#include "slipway/error.h"

namespace slipway {
namespace {

/// Each is compared with the others; a model has two or three.
constexpr size_t kMaxLayerTypes = 64;

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Whether a dictionary holds settings per layer type rather than settings.
bool is_layered(const Json* dict) {
  return dict != nullptr &&
         std::any_of(dict->begin(), dict->end(), [](const Json& v) { return v.is_object(); });
}

/// The fields of one type, read from statements into RopeParameters.
class Reader {
 public:
  Reader(const RopeStatements& said, const Config& config, const std::string& path)
      : said_(said), config_(config), path_(path) {}

  bool has(const std::string& field) const { return said_.has(field); }

  double number(const std::string& field) const {
    if (!has(field)) missing(field, "a number");
    return config_value::number(said_.where(field), said_.value(field));
  }
  double positive(const std::string& field) const {
    const double v = number(field);
    if (v <= 0) config_value::fail(said_.where(field), said_.value(field), "a number above 0");
    return v;
  }
  /// Zero means unset, as in the reference.
  std::optional<double> nonzero(const std::string& field) const {
    if (!has(field)) return std::nullopt;
    const double v = number(field);
    return v == 0 ? std::nullopt : std::optional<double>(v);
  }
  std::vector<double> positives(const std::string& field) const {
    if (!has(field)) missing(field, "a list of numbers");
    auto list = config_value::numbers(said_.where(field), said_.value(field));
    for (const double v : list)
      if (v <= 0) config_value::fail(said_.where(field), Json(v), "numbers above 0");
    return list;
  }
  bool boolean_or(const std::string& field, bool fallback) const {
    return has(field) ? config_value::boolean(said_.where(field), said_.value(field)) : fallback;
  }
  int64_t original_length() const {
    const std::string field = "original_max_position_embeddings";
    if (!has(field)) return config_.get_int("max_position_embeddings", 1);
    return config_value::integer(said_.where(field), said_.value(field), 1, int64_t{1} << 40);
  }
  /// A factor that is not stated is how much longer the model has become.
  double factor_or_ratio(int64_t original) const {
    if (has("factor")) return positive("factor");
    return static_cast<double>(config_.get_int("max_position_embeddings", 1)) /
           static_cast<double>(original);
  }
  std::optional<double> attention_factor() const {
    if (!has("attention_factor")) return std::nullopt;
    return positive("attention_factor");
  }
  [[noreturn]] void fail(const std::string& field, const std::string& need) const {
    config_value::fail(said_.where(field), said_.value(field), need);
  }

 private:
  [[noreturn]] void missing(const std::string& field, const std::string& need) const {
    config_value::fail_missing({config_.source(), path_ + "." + field}, need);
  }

  const RopeStatements& said_;
  const Config& config_;
  const std::string& path_;
};

void read_type(RopeParameters& p, const Reader& read) {
  if (p.rope_type == "linear" || p.rope_type == "dynamic") {
    p.factor = read.positive("factor");
  } else if (p.rope_type == "yarn") {
    p.original_max_position_embeddings = read.original_length();
    p.factor = read.factor_or_ratio(*p.original_max_position_embeddings);
    p.attention_factor = read.attention_factor();
    p.beta_fast = read.nonzero("beta_fast").value_or(p.beta_fast);
    p.beta_slow = read.nonzero("beta_slow").value_or(p.beta_slow);
    if (p.beta_fast < 0) read.fail("beta_fast", "a number above 0");
    if (p.beta_slow < 0) read.fail("beta_slow", "a number above 0");
    p.mscale = read.nonzero("mscale");
    p.mscale_all_dim = read.nonzero("mscale_all_dim");
    p.truncate = read.boolean_or("truncate", true);
    if (p.rope_theta <= 1) read.fail("rope_theta", "a number above 1 for rope_type yarn");
  } else if (p.rope_type == "llama3") {
    p.original_max_position_embeddings = read.original_length();
    p.factor = read.positive("factor");
    p.low_freq_factor = read.positive("low_freq_factor");
    p.high_freq_factor = read.positive("high_freq_factor");
    if (p.high_freq_factor <= p.low_freq_factor)
      read.fail("high_freq_factor",
                fmt::format("more than low_freq_factor = {}", p.low_freq_factor));
  } else if (p.rope_type == "longrope") {
    p.original_max_position_embeddings = read.original_length();
    p.factor = read.factor_or_ratio(*p.original_max_position_embeddings);
    p.attention_factor = read.attention_factor();
    p.short_factor = read.positives("short_factor");
    p.long_factor = read.positives("long_factor");
  }
}

}  // namespace

RopeParameters Config::rope(std::string_view layer_type,
                            std::optional<double> default_theta) const {
  const std::array<std::string, 2> spellings = {"rope_parameters", "rope_scaling"};
  std::vector<std::string> layered;  // the layer types that have settings of their own
  for (const std::string& key : spellings) {
    const Json* dict = find(key);
    if (dict == nullptr) continue;
    if (!dict->is_object())
      config_value::fail({source_, key}, *dict, "an object of rotary settings");
    if (!is_layered(dict)) continue;
    for (const auto& [name, entry] : dict->items()) {
      if (entry.is_null()) continue;
      if (!entry.is_object())
        config_value::fail({source_, key + "." + name}, entry,
                           "an object, as the other layer types beside it");
      if (name.empty())
        throw Error(kInvalid,
                    fmt::format("[{}] {}: got the empty name, need a layer type", source_, key));
      if (!contains(layered, name)) layered.push_back(name);
      if (layered.size() > kMaxLayerTypes)
        config_value::fail({source_, key}, *dict,
                           fmt::format("at most {} layer types", kMaxLayerTypes));
    }
  }

  if (layer_type.empty() && !layered.empty()) {
    // One set is asked for: settings per layer type serve where they agree, or where all layers of
    // the model are of one type.
    const std::vector<std::string> types = layer_types({});
    const bool uniform = !types.empty() && std::count(types.begin(), types.end(), types[0]) ==
                                               static_cast<std::ptrdiff_t>(types.size());
    if (uniform && contains(layered, types[0])) return rope(types[0], default_theta);
    const RopeParameters first = rope(layered[0], default_theta);
    for (const std::string& name : layered)
      if (rope(name, default_theta) != first)
        throw Error(
            kInvalid,
            fmt::format("[{}] rotary settings of {} and {} differ, need one set for all layers "
                        "of this model; state them flat in rope_parameters",
                        source_, quote(layered[0]), quote(name)));
    return first;
  }

  RopeStatements said(source_);
  std::string path = "rope_parameters";  // where a missing field belongs
  bool own_entry = false;
  for (const std::string& key : spellings) {
    const Json* dict = find(key);
    if (dict == nullptr) continue;
    path = key;
    if (is_layered(dict)) {
      path += "." + std::string(layer_type);
      const auto it = dict->find(std::string(layer_type));
      if (it == dict->end() || it->is_null())
        throw Error(kInvalid,
                    fmt::format("[{}] {} has no settings for layer type {}; it has {}", source_,
                                key, quote(layer_type), fmt::join(layered, ", ")));
      dict = &*it;
      own_entry = true;
    }
    said.state_dictionary(*dict, path);
  }
  for (const char* key : {"rope_theta", "partial_rotary_factor"}) {
    // A layer type's own value stands beside the value of the other types.
    const Json* value = find(key);
    if (value != nullptr && !(own_entry && said.has(key))) said.state(key, *value, key);
  }

  RopeParameters p;
  if (said.has("rope_type")) p.rope_type = said.value("rope_type").get<std::string>();
  // Before it was called longrope, "yarn" was also written for settings that list their factors.
  if (p.rope_type == "yarn" && said.has("short_factor") && said.has("long_factor"))
    p.rope_type = "longrope";
  if (!contains(kRopeTypes, p.rope_type))
    throw Error(kUnsupported, fmt::format("[{}] {}: got the unknown rope type {}, need one of {}",
                                          source_, said.where("rope_type").key, quote(p.rope_type),
                                          fmt::join(kRopeTypes, ", ")));
  if (contains(std::array{"yarn", "llama3", "longrope"}, p.rope_type))
    if (const Json* value = find("original_max_position_embeddings"))
      said.state("original_max_position_embeddings", *value, "original_max_position_embeddings");

  const Reader read(said, *this, path);
  if (said.has("rope_theta")) {
    p.rope_theta = read.positive("rope_theta");
  } else if (default_theta) {
    p.rope_theta = *default_theta;
  } else {
    throw Error(kInvalid,
                fmt::format("[{}] no rotary base: rope_parameters.rope_theta and rope_theta "
                            "are both absent; state one",
                            source_));
  }
  if (said.has("partial_rotary_factor")) {
    p.partial_rotary_factor = read.positive("partial_rotary_factor");
    if (p.partial_rotary_factor > 1) read.fail("partial_rotary_factor", "a number from 0 to 1");
  }
  read_type(p, read);
  return p;
}

}  // namespace slipway
