// One object per lazy expression.
#include "checkpoint/expr_intern.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace slipway {

Lazy interned(const LazyTensor& source, std::string what, const std::function<Lazy()>& make) {
  static std::mutex mutex;
  static auto& table =
      *new std::map<std::pair<const LazyTensor*, std::string>, std::weak_ptr<const LazyTensor>>;
  static size_t purge_at = 1024;
  const std::lock_guard lock(mutex);
  if (table.size() >= purge_at) {
    std::erase_if(table, [](const auto& entry) { return entry.second.expired(); });
    purge_at = std::max<size_t>(1024, 2 * table.size());
  }
  // A live expression keeps its source alive, so the address is that source's.
  std::weak_ptr<const LazyTensor>& entry = table[{&source, std::move(what)}];
  if (Lazy live = entry.lock()) return live;
  Lazy made = make();
  entry = made;
  return made;
}

}  // namespace slipway
