// Operators that compute with sizes.
#pragma once

#include <string_view>

#include "backends/dynamo/import_args.h"

namespace slipway::dynamo {

/// Whether a node's target is one: "_operator.mul", "torch.ops.aten.sym_size.int".
bool is_size_op(std::string_view target);

/// Defines the node's size as an expression. Comparisons are conditions that torch has checked, and
/// are noted as such. Throws Error{kInvalid} for arguments that are not sizes.
void import_size_op(const schema::Node& node, ImportNames& names);

}  // namespace slipway::dynamo
