// The tensors of a checkpoint by name, whatever file format holds them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/lazy.h"

namespace slipway {

/// A checkpoint's tensors under the names that Hugging Face uses, mapped read-only. Lazy tensors
/// stay valid while the store or any of them lives. Immutable and thread-safe.
class WeightStore {
 public:
  virtual ~WeightStore() = default;

  /// Every name, sorted. Tensors that only serve others (scales of quantized weights) are left out.
  virtual const std::vector<std::string>& names() const = 0;

  /// The logical value of a tensor: quantized weights are dequantized as they are read (to f32),
  /// everything else has its stored dtype. The same object for the same name each time; null when
  /// there is no such tensor.
  virtual Lazy find(std::string_view name) const = 0;

  /// What holds the tensors, for messages: "model.safetensors", "SmolLM2.Q4_1.gguf".
  virtual std::string description() const = 0;
};

}  // namespace slipway
