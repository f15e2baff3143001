// The keys and values of earlier tokens, as inputs and outputs of a graph.
#pragma once

#include "models/model.h"

namespace slipway::models {

/// The sizes of a decoder's cache.
struct CacheShape {
  int64_t layers;
  Sym batch;
  Sym length;  ///< cached tokens of a growing cache, slots of a static one; unused without cache
  int64_t heads, head_dim;
};

/// The cache of a decoder: one pair of keys and values a layer, [batch, heads, length, head_dim],
/// named past_key_values.layers.N.keys and .values. A static one also has an int64 scalar a layer,
/// .cumulative_length: the next free slot.
class KvCache {
 public:
  struct Entry {
    Value keys, values;
  };

  /// Declares the inputs of the cache kind that is exported.
  KvCache(ModelBuilder& m, const CacheShape& shape);

  /// Everything seen up to now for one layer, the current keys and values included: all slots of a
  /// static cache. Call once a layer.
  Entry update(int64_t layer, Value keys, Value values);

  /// Adds the outputs.
  void write_outputs(ModelBuilder& m) const;

 private:
  struct Layer {
    Value keys, values;  ///< undefined where the graph has no past
    Value written;       ///< of a static cache: the next free slot, then the slots written
  };

  Value updated(Value cache, Value slots, Value current) const;

  CacheKind kind_;
  CacheShape shape_;
  std::vector<Layer> layers_;
};

}  // namespace slipway::models
