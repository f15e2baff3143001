// Tensors in memory as a store: for rebuilt weights and for tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/weight_store.h"

namespace slipway {

class MemoryStore final : public WeightStore {
 public:
  explicit MemoryStore(const std::map<std::string, Tensor>& tensors,
                       std::string description = "memory")
      : description_(std::move(description)) {
    for (const auto& [name, tensor] : tensors) {
      names_.push_back(name);
      tensors_.emplace(name, lazy_constant(tensor));
    }
  }

  const std::vector<std::string>& names() const override { return names_; }
  Lazy find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : found->second;
  }
  std::string description() const override { return description_; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, Lazy, std::less<>> tensors_;
  std::string description_;
};

}  // namespace slipway
