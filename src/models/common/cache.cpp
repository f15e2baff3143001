// The keys and values of earlier tokens.
#include "models/common/cache.h"

#include <fmt/format.h>

namespace slipway::models {
namespace {

std::string leaf(size_t layer, std::string_view part) {
  return fmt::format("past_key_values.layers.{}.{}", layer, part);
}

}  // namespace

KvCache::KvCache(ModelBuilder& m, const CacheShape& shape)
    : kind_(m.options().cache), shape_(shape), layers_(static_cast<size_t>(shape.layers)) {
  const SymShape size = {shape.batch, shape.heads, shape.length, shape.head_dim};
  for (size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    if (kind_ == CacheKind::kGrowing || kind_ == CacheKind::kStatic) {
      layer.keys = m.input(leaf(i, "keys"), m.options().dtype, size);
      layer.values = m.input(leaf(i, "values"), m.options().dtype, size);
    }
    if (is_static(kind_)) layer.written = m.input(leaf(i, "cumulative_length"), DType::kI64, {});
  }
}

Value KvCache::updated(Value cache, Value slots, Value current) const {
  if (kind_ == CacheKind::kNone) return current;
  if (kind_ == CacheKind::kGrowing) return cache_append(cache, current);
  if (!cache.defined())
    cache = full(current.graph(), {shape_.batch, shape_.heads, shape_.length, shape_.head_dim}, 0.0,
                 current.dtype());
  return cache_write(cache, slots, current);
}

KvCache::Entry KvCache::update(int64_t index, Value keys, Value values) {
  Layer& layer = layers_.at(static_cast<size_t>(index));
  if (is_static(kind_)) layer.written = arange(keys.graph(), 0, keys.dim(2)) + layer.written;
  layer.keys = updated(layer.keys, layer.written, keys);
  layer.values = updated(layer.values, layer.written, values);
  return {layer.keys, layer.values};
}

void KvCache::write_outputs(ModelBuilder& m) const {
  for (size_t i = 0; i < layers_.size(); ++i) {
    m.output(leaf(i, "keys"), layers_[i].keys);
    m.output(leaf(i, "values"), layers_[i].values);
    // Made from the slots, not from the input: who binds both to one buffer reads it before the
    // write.
    if (is_static(kind_)) m.output(leaf(i, "cumulative_length"), add(amax(layers_[i].written), 1));
  }
}

}  // namespace slipway::models
