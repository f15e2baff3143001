// Places of a method's tensors in its arenas, reused over their lifetimes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/executorch/program.h"

namespace slipway::executorch {

/// The flags of ExecuTorch's MemoryPlanningPass.
struct PlanOptions {
  /// Inputs have memory in the arena, into which the runtime copies. Otherwise it uses the
  /// caller's.
  bool alloc_graph_input = true;
  /// Outputs have memory in the arena. Otherwise the caller gives it before a call.
  bool alloc_graph_output = true;
  /// Mutable buffers have memory in the arena. Otherwise the caller gives it, by the buffer's name.
  bool alloc_mutable_buffers = true;

  bool operator==(const PlanOptions&) const = default;
};

/// Arenas by number, as files count them: 0 is none.
constexpr uint32_t kActivations = 1, kBuffers = 2;

struct Place {
  uint32_t arena = 0;
  int64_t offset = 0;
  bool operator==(const Place&) const = default;
};

struct MethodPlan {
  std::vector<std::optional<Place>> places;  ///< by value; none where the arenas have no memory
  std::vector<int64_t> arena_bytes;          ///< by arena
};

/// A tensor's memory from instruction `first` to `last`, both included.
struct Lifetime {
  int64_t first, last, bytes;
};

struct Packing {
  std::vector<int64_t> offsets;  ///< one a lifetime
  int64_t bytes = 0;
};

/// Offsets at which lifetimes that overlap do not share memory: largest first, each in the smallest
/// gap that holds it. Multiples of 16. Deterministic.
Packing pack(const std::vector<Lifetime>& lifetimes);

/// Plans every method. Sizes are upper bounds, aligned to 16. Buffers of one name lie at one place
/// in all methods. Throws Error{kUnsupported} for a buffer that begins with data when
/// alloc_mutable_buffers is off: files keep such data for planned buffers only.
std::vector<MethodPlan> plan(const Program& program, const PlanOptions& options);

}  // namespace slipway::executorch
