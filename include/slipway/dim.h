// Dimensions of exported graphs: named ranges for dynamic shapes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace slipway {

/// A symbolic size of an input, as torch.export.Dim.
struct Dim {
  std::string name;  ///< an identifier; empty in AUTO
  /// Inclusive bounds; where one is not given the model's own holds.
  std::optional<int64_t> min, max;

  Dim() = default;
  explicit Dim(std::string dim_name, std::optional<int64_t> dim_min = std::nullopt,
               std::optional<int64_t> dim_max = std::nullopt)
      : name(std::move(dim_name)), min(dim_min), max(dim_max) {}

  /// Symbolic under the model's own name and bounds (torch.export.Dim.AUTO).
  static Dim AUTO() { return {}; }
  bool is_auto() const { return name.empty(); }
};

/// Per input (leaf name) and axis; axes that are not listed keep the example's size. An input that
/// is left out follows the inputs that are named where they share a size.
using DynamicShapes = std::map<std::string, std::map<int64_t, Dim>>;

/// Reads {"input_ids": {"0": "batch", "1": {"name": "seq", "min": 1, "max": 2048}}, ...}; the value
/// "auto" is Dim::AUTO(), null a fixed size. Throws Error{kUsage} saying what is wrong.
DynamicShapes dynamic_shapes_from_json(const std::string& text);

}  // namespace slipway
