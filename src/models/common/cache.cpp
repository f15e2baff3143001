// The keys and values of earlier tokens.
#include "models/common/cache.h"

#include <fmt/format.h>

namespace slipway::models {
namespace {

std::string leaf(int64_t layer, std::string_view part) {
  return fmt::format("past_key_values.layers.{}.{}", layer, part);
}

}  // namespace

KvCache::KvCache(ModelBuilder& m, int64_t layers, Sym batch, Sym past, int64_t heads,
                 int64_t head_dim)
    : entries_(static_cast<size_t>(layers)) {
  if (m.options().cache == CacheKind::kNone) return;
  const SymShape shape = {batch, heads, past, head_dim};
  for (int64_t i = 0; i < layers; ++i) {
    Entry& entry = entries_[static_cast<size_t>(i)];
    entry.keys = m.input(leaf(i, "keys"), m.options().dtype, shape);
    entry.values = m.input(leaf(i, "values"), m.options().dtype, shape);
  }
}

KvCache::Entry KvCache::update(int64_t layer, Value keys, Value values) {
  Entry& entry = entries_.at(static_cast<size_t>(layer));
  entry.keys = entry.keys.defined() ? cache_append(entry.keys, keys) : keys;
  entry.values = entry.values.defined() ? cache_append(entry.values, values) : values;
  return entry;
}

void KvCache::write_outputs(ModelBuilder& m) const {
  for (size_t i = 0; i < entries_.size(); ++i) {
    m.output(leaf(static_cast<int64_t>(i), "keys"), entries_[i].keys);
    m.output(leaf(static_cast<int64_t>(i), "values"), entries_[i].values);
  }
}

}  // namespace slipway::models
