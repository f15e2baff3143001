// A tensor that lies as it is in a mapped file.
#pragma once

#include <memory>

#include "base/lazy.h"
#include "base/mapped_file.h"

namespace slipway {

/// The elements from byte `begin` of the file, which may be unaligned. Keeps the map alive. Throws
/// Error{kInvalid} when they do not lie inside the file.
Lazy mapped_tensor(std::shared_ptr<const MappedFile> file, DType dtype, Shape shape, int64_t begin);

}  // namespace slipway
