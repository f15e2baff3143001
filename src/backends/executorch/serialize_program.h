// The flatbuffer of a .pte file with its extended header.
#pragma once

#include <string>
#include <vector>

#include "backends/executorch/plan.h"
#include "backends/executorch/program.h"
#include "backends/executorch/segments.h"

namespace slipway::executorch {

/// Where the data of a program lie: by method, the block of each delegate's bytes.
struct Placement {
  const std::vector<MethodPlan>& plans;
  const SegmentTable& segments;
  const std::vector<std::vector<size_t>>& delegate_blocks;
};

/// The first segment's place behind a program of that many bytes.
int64_t segment_base(size_t program_bytes);

/// Serializes a program (identifier ET12, header eh00) whose first segment lies at `base`; base 0
/// gives the size that is needed to know it.
std::string serialize(const Program& program, const Placement& placement, int64_t base);

/// ScalarType of the schema. Throws Error{kUnsupported} for a dtype that tensors cannot have.
int8_t scalar_type(DType dtype);

}  // namespace slipway::executorch
