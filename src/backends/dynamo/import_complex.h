// Complex tensors of imported programs, as pairs of real numbers.
#pragma once

#include "backends/dynamo/import_args.h"

namespace slipway::dynamo {

/// Whether a node takes or gives complex tensors, as far as the file says.
bool is_complex(const schema::Node& node, const ImportNames& names);

/// Whether complex tensors may go through this op: it is one of those below.
bool has_complex_form(const std::string& target);

/// Emits such a node with every complex tensor [...] as a real one [..., 2] of real and imaginary
/// parts. Throws Error{kUnsupported} for an op that has no such form.
void import_complex(const schema::Node& node, ImportNames& names);

}  // namespace slipway::dynamo
