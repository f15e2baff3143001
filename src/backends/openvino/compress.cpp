// Storing weights as float16.
#include "backends/openvino/compress.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/parallel.h"
#include "checkpoint/expr.h"

namespace slipway::openvino {
namespace {

constexpr int64_t kPiece = int64_t{1} << 20;
/// From here on a float32 is rounded to infinity.
constexpr float kBeyond = 65520.0F;

bool fits(const LazyTensor& weight) {
  const int64_t granule = std::max<int64_t>(1, weight.granularity());
  const int64_t step = std::max(granule, kPiece / granule * granule);
  std::atomic<bool> all = true;
  parallel_for((weight.numel() + step - 1) / step, [&](int64_t i) {
    if (!all.load(std::memory_order_relaxed)) return;
    const int64_t count = std::min(step, weight.numel() - i * step);
    thread_local std::vector<float> values;
    values.resize(static_cast<size_t>(count));
    weight.read(i * step, count, reinterpret_cast<std::byte*>(values.data()));
    for (const float v : values)
      if (std::isfinite(v) && std::fabs(v) >= kBeyond) {
        all.store(false, std::memory_order_relaxed);
        return;
      }
  });
  return all;
}

}  // namespace

std::vector<std::string> compress_to_fp16(Graph& graph) {
  std::vector<std::string> beyond;
  for (Node* weight : graph.weights()) {
    if (weight->types[0].dtype != DType::kF32) continue;
    if (!fits(*weight->data)) {
      beyond.push_back(weight->name);
      continue;
    }
    const ScopeGuard scope(graph, weight->scope);
    const Value stored = graph.add_weight(weight->name, lazy_cast(weight->data, DType::kF16));
    graph.replace_all_uses(
        weight->out(), graph.emit("ov::Convert", {stored, named("destination_type", DType::kF32)}));
  }
  graph.drop_dead();
  return beyond;
}

}  // namespace slipway::openvino
