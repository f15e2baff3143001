// Getters of a config.json: strict about types and ranges.
#include "checkpoint/config.h"

#include <fmt/format.h>

#include "checkpoint/config_value.h"
#include "slipway/dtype.h"
#include "slipway/error.h"

namespace slipway {

using config_value::Where;

Config Config::from_json(Json json, std::string source) {
  if (!json.is_object())
    throw Error(kInvalid,
                fmt::format("[{}] got {}, need an object of settings", source, describe(json)));
  Config config;
  config.json_ = std::move(json);
  config.source_ = std::move(source);
  return config;
}

Config Config::from_file(const std::filesystem::path& path) {
  return from_json(parse_json_file(path), path.string());
}

const Json* Config::find(std::string_view key) const {
  if (!json_.is_object()) return nullptr;
  // A lookup by string_view would need a newer nlohmann_json.
  const auto it = json_.find(std::string(key));
  return it == json_.end() || it->is_null() ? nullptr : &*it;
}

bool Config::has(std::string_view key) const { return find(key) != nullptr; }

std::string Config::model_type() const { return get_string_or("model_type", ""); }

std::string Config::architecture() const {
  const Json* list = find("architectures");
  if (list == nullptr) return "";
  const Where where{source_, "architectures"};
  if (!list->is_array()) config_value::fail(where, *list, "a list of class names");
  return list->empty() ? "" : config_value::text(where, list->front());
}

std::string Config::dtype() const {
  std::optional<DType> found;
  for (const char* key : {"dtype", "torch_dtype"}) {
    const Json* value = find(key);
    if (value == nullptr) continue;
    const Where where{source_, key};
    const auto dtype = dtype_from_torch_name(config_value::text(where, *value));
    if (!dtype)
      config_value::fail(where, *value, "an element type such as \"float32\" or \"bfloat16\"");
    if (found && *found != *dtype)
      throw Error(kInvalid,
                  fmt::format("[{}] dtype is \"{}\" but torch_dtype is \"{}\"; remove one", source_,
                              torch_name(*found), torch_name(*dtype)));
    found = dtype;
  }
  return std::string(torch_name(found.value_or(DType::kF32)));
}

int64_t Config::get_int(std::string_view key, int64_t min, int64_t max) const {
  const Json* value = find(key);
  if (value == nullptr) config_value::fail_missing({source_, key}, "an integer");
  return config_value::integer({source_, key}, *value, min, max);
}

int64_t Config::get_int_or(std::string_view key, int64_t fallback, int64_t min, int64_t max) const {
  return has(key) ? get_int(key, min, max) : fallback;
}

double Config::get_double(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) config_value::fail_missing({source_, key}, "a number");
  return config_value::number({source_, key}, *value);
}

double Config::get_double_or(std::string_view key, double fallback) const {
  return has(key) ? get_double(key) : fallback;
}

bool Config::get_bool_or(std::string_view key, bool fallback) const {
  const Json* value = find(key);
  return value == nullptr ? fallback : config_value::boolean({source_, key}, *value);
}

std::string Config::get_string(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) config_value::fail_missing({source_, key}, "a text");
  return config_value::text({source_, key}, *value);
}

std::string Config::get_string_or(std::string_view key, std::string_view fallback) const {
  return has(key) ? get_string(key) : std::string(fallback);
}

std::optional<Config> Config::section(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) config_value::fail({source_, key}, *value, "an object of settings");
  return from_json(*value, fmt::format("{}: {}", source_, key));
}

Config Config::text() const { return section("text_config").value_or(*this); }

}  // namespace slipway
