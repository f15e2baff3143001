// The inputs that generation feeds to each of its graphs.
#pragma once

#include "slipway/decompose.h"

namespace slipway {

enum class CaptureValues {
  kComputed,    ///< what the model itself gives: tokens and caches of a real run
  kShapesOnly,  ///< sizes are right; later tokens, caches and masks of slots hold nothing
};

/// The components of decompose_prefill_decode.
Components capture(const PreTrainedModel& model, const Inputs& inputs,
                   const DecomposeOptions& options, CaptureValues values);

}  // namespace slipway
