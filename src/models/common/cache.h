// The keys and values of earlier tokens, as inputs and outputs of a graph.
#pragma once

#include "models/model.h"

namespace slipway::models {

/// The cache of a decoder: one pair of keys and values a layer, [batch, heads, length, head_dim],
/// named past_key_values.layers.N.keys and .values.
class KvCache {
 public:
  struct Entry {
    Value keys, values;
  };

  /// Declares the inputs of the cache kind that is exported, for `layers` layers.
  KvCache(ModelBuilder& m, int64_t layers, Sym batch, Sym past, int64_t heads, int64_t head_dim);

  /// Everything seen up to now for one layer, the current keys and values included. Call once a
  /// layer.
  Entry update(int64_t layer, Value keys, Value values);

  /// Adds the outputs.
  void write_outputs(ModelBuilder& m) const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace slipway::models
