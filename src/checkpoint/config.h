// The normalized config.json: one reading of the spellings that releases have used.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace slipway {

/// How rotary position frequencies are made (the field names of `rope_parameters`).
struct RopeParameters {
  std::string rope_type = "default";  ///< default, linear, dynamic, yarn, llama3, longrope
  double rope_theta = 10000.0;
  double partial_rotary_factor = 1.0;
  double factor = 1.0;  ///< linear, dynamic, yarn, llama3, longrope
  /// Always set for yarn, llama3 and longrope: max_position_embeddings where no spelling states it.
  std::optional<int64_t> original_max_position_embeddings;
  std::optional<double> attention_factor;                ///< yarn, longrope
  double beta_fast = 32.0, beta_slow = 1.0;              ///< yarn
  std::optional<double> mscale, mscale_all_dim;          ///< yarn
  bool truncate = true;                                  ///< yarn
  double low_freq_factor = 1.0, high_freq_factor = 4.0;  ///< llama3
  std::vector<double> short_factor, long_factor;         ///< longrope

  bool operator==(const RopeParameters&) const = default;
};

/// A config.json, or a nested section of one. Getters name the file, the key, what was got and
/// what is needed in their errors (Error{kInvalid}). A null value counts as absent.
class Config {
 public:
  Config() = default;
  /// `source` is used in messages only.
  static Config from_json(Json json, std::string source);
  static Config from_file(const std::filesystem::path& path);

  const Json& json() const { return json_; }
  const std::string& source() const { return source_; }

  /// Empty when the file states none.
  std::string model_type() const;
  /// The first of `architectures`, or empty.
  std::string architecture() const;
  /// `dtype` or the older `torch_dtype` (one of torch_name's words); "float32" when absent.
  std::string dtype() const;

  bool has(std::string_view key) const;
  /// Integers are checked to be integral and in [min, max].
  int64_t get_int(std::string_view key, int64_t min = 0, int64_t max = int64_t{1} << 40) const;
  int64_t get_int_or(std::string_view key, int64_t fallback, int64_t min = 0,
                     int64_t max = int64_t{1} << 40) const;
  double get_double(std::string_view key) const;
  double get_double_or(std::string_view key, double fallback) const;
  bool get_bool_or(std::string_view key, bool fallback) const;
  std::string get_string(std::string_view key) const;
  std::string get_string_or(std::string_view key, std::string_view fallback) const;

  /// A nested object such as text_config, or nullopt.
  std::optional<Config> section(std::string_view key) const;
  /// The section that describes the text decoder: text_config, or this config where it has none.
  Config text() const;

  /// The normalized rotary settings of one layer type ("" where the model has one set for all).
  /// Reads rope_parameters (flat or per layer type), rope_theta, rope_scaling (with `type` or
  /// `rope_type`) and partial_rotary_factor. Both an old and a new spelling with different values,
  /// an unknown type, or a missing field of a type is an error naming the keys. `default_theta` is
  /// the model's own documented default, used only where no spelling states a theta. The older
  /// names "su" (longrope) and "mrope" (default; its sections are the model's to read) are known.
  RopeParameters rope(std::string_view layer_type, std::optional<double> default_theta) const;

  // The four below read text_config's value where the key is absent here; two values that differ
  // are an error.

  /// head_dim, or hidden_size / num_attention_heads where it is absent or null (checked to divide).
  int64_t head_dim() const;
  /// num_key_value_heads, or num_attention_heads where it is absent or null. Checked to divide
  /// num_attention_heads.
  int64_t num_key_value_heads() const;
  /// layer_types in today's words, checked to have num_hidden_layers entries; `derived` where
  /// absent or null. An unknown word is Error{kUnsupported}.
  std::vector<std::string> layer_types(const std::vector<std::string>& derived) const;
  /// quantization_config's quant_method: "gptq", "fp8", ...; empty where the config has none.
  std::string quant_method() const;

 private:
  /// The value of a key, null where it is absent or null.
  const Json* find(std::string_view key) const;
  /// find(), here or in text_config; throws where both have the key with different values.
  const Json* find_shared(std::string_view key) const;

  Json json_;
  std::string source_;
};

}  // namespace slipway
