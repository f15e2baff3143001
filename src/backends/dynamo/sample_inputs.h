// The example inputs of a program, as torch.load reads them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/dynamo/schema.h"
#include "base/pytree.h"
#include "slipway/tensor.h"

namespace slipway::dynamo {

/// One leaf of the example call. Without a tensor it is zeros, which take no room in the file.
struct SampleLeaf {
  DType dtype = DType::kF32;
  Shape shape;
  Tensor tensor;
  std::optional<schema::ConstantValue> constant;  ///< a leaf that is no tensor
};

/// Examples of at most this many elements keep their values; larger ones are zeros.
inline constexpr int64_t kLargestSample = int64_t{1} << 20;

/// data/sample_inputs/<name>.pt: what torch.load gives back as (args, kwargs), nested as `in_spec`
/// says, caches of transformers included. `leaves` are those of the spec in order. Throws
/// Error{kUnsupported} naming a class that is neither a plain container nor described by its
/// context.
std::string sample_inputs(const TreeSpec& in_spec, const std::vector<SampleLeaf>& leaves);

}  // namespace slipway::dynamo
