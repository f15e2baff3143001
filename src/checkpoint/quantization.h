// Which quantization scheme a checkpoint has, and refusal of those not known here.
#pragma once

#include <memory>

#include "checkpoint/config.h"
#include "checkpoint/weight_store.h"

namespace slipway {

/// Throws Error{kUnsupported} for a scheme that the config names and Slipway does not know. Call it
/// before opening weights, so that what is wrong with packed files is said under the scheme's name.
void check_quantization(const Config& config);

/// Looks at quantization_config and at the stored names and types, and gives a store of plain
/// weights: the same one when nothing is quantized, one that dequantizes FP8 weights otherwise.
/// Throws Error{kUnsupported} naming any other scheme (gptq, awq, bitsandbytes, ...) and the way
/// out, also when only packed tensors show it, and Error{kInvalid} when scales are missing.
std::shared_ptr<const WeightStore> open_quantization(std::shared_ptr<const WeightStore> stored,
                                                     const Config& config);

}  // namespace slipway
