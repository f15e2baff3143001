// torch's serialized enumerations and our dtypes as c10's.
#pragma once

#include <string_view>

#include "backends/dynamo/runner/torch.h"
#include "backends/dynamo/schema_value.h"

namespace slipway::dynamo_runner {

/// The numbers in a file are not c10's. Each throws Error{kInvalid} for a number that schema 8.20
/// does not have.
c10::ScalarType scalar_type(dynamo::schema::ScalarType serialized);
c10::MemoryFormat memory_format(dynamo::schema::MemoryFormat serialized);
c10::Layout layout(dynamo::schema::Layout serialized);

c10::ScalarType scalar_type(DType dtype);
/// Throws Error{kUnsupported} naming `what` for types that no tensor of ours has (complex, ...).
DType dtype_of(c10::ScalarType type, std::string_view what);

}  // namespace slipway::dynamo_runner
