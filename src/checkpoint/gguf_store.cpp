// The tensors of a GGUF file as a weight store under Hugging Face names.
#include "checkpoint/gguf_store.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "base/json.h"
#include "checkpoint/expr.h"
#include "checkpoint/gguf_names.h"
#include "checkpoint/gguf_quant.h"
#include "checkpoint/names.h"

namespace slipway {
namespace {

/// The converter stores rows i and i + half of a head next to each other; this reads them apart.
Lazy unpair_rows(const GgufFile& file, const GgufTensor& tensor, Lazy x, int64_t heads) {
  const int64_t rows = x->shape().empty() ? 0 : x->shape()[0];
  if (rows == 0 || rows % (2 * heads) != 0)
    throw Error(kInvalid,
                fmt::format("[gguf] {}: tensor {}: got shape {}, need rows that {} heads "
                            "of an even size share",
                            file.where(), quote(tensor.name), shape_string(x->shape()), heads));
  const int64_t size = rows / heads, half = size / 2;
  std::vector<int64_t> order(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t head = row / size, within = row % size;
    order[static_cast<size_t>(row)] = head * size + within % half * 2 + within / half;
  }
  return lazy_permute_rows(std::move(x), std::move(order));
}

bool has_leaf(std::string_view name, std::string_view leaf) {
  return name.find(fmt::format(".{}.", leaf)) != std::string_view::npos;
}

class GgufStore final : public WeightStore {
 public:
  explicit GgufStore(std::shared_ptr<const GgufFile> file)
      : description_(std::filesystem::path(file->where()).filename().string()) {
    const GgufArchitecture& architecture = gguf_architecture(*file);
    const int64_t layers = gguf_layers(*file);
    constexpr int64_t kMaxHeads = 1 << 16;
    const auto heads =
        file->metadata().get_int(gguf_key(*file, "attention.head_count"), 1, kMaxHeads);
    const auto kv_heads = file->metadata()
                              .find_int(gguf_key(*file, "attention.head_count_kv"), 1, kMaxHeads)
                              .value_or(heads);
    std::vector<std::string> unknown;
    for (const GgufTensor& tensor : file->tensors()) {
      if (gguf_is_rotary_table(tensor.name)) continue;
      const auto name = gguf_tensor_name(architecture, tensor.name, layers);
      if (!name) {
        unknown.push_back(tensor.name);
        continue;
      }
      Lazy lazy = gguf_tensor(file, tensor);
      if (architecture.paired_rotary_rows && has_leaf(tensor.name, "attn_q"))
        lazy = unpair_rows(*file, tensor, std::move(lazy), heads);
      if (architecture.paired_rotary_rows && has_leaf(tensor.name, "attn_k"))
        lazy = unpair_rows(*file, tensor, std::move(lazy), kv_heads);
      tensors_.emplace(*name, std::move(lazy));
    }
    if (!unknown.empty())
      throw Error(kInvalid, fmt::format("[gguf] {}: {} tensors have no place in a {} of {} layers: "
                                        "{}",
                                        file->where(), unknown.size(), architecture.name, layers,
                                        list_names(unknown)));
    for (const auto& [name, lazy] : tensors_) names_.push_back(name);
  }

  const std::vector<std::string>& names() const override { return names_; }
  Lazy find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : found->second;
  }
  std::string description() const override { return description_; }

 private:
  std::string description_;
  std::vector<std::string> names_;
  std::map<std::string, Lazy, std::less<>> tensors_;
};

}  // namespace

std::shared_ptr<const WeightStore> gguf_weights(std::shared_ptr<const GgufFile> file) {
  return std::make_shared<GgufStore>(std::move(file));
}

}  // namespace slipway
