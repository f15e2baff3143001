// Imports ops on complex tensors, which our graphs hold as pairs (real, imaginary) along one more
// last axis.
#pragma once

#include "backends/dynamo/import_args.h"
#include "ir/graph.h"

namespace slipway::dynamo {

/// Whether the file says that a tensor which the node reads or gives is complex.
bool touches_complex(const schema::Node& node, const ImportNames& names);

/// Whether an op is defined by complex numbers alone and so has no row of its own.
bool is_complex_op(const std::string& target);

/// Emits the node on pairs and defines its output. Throws Error{kUnsupported} for ops other than
/// polar, the views between complex and real, products, sums, copies and views along other axes.
void import_complex(const schema::Node& node, Graph& graph, ImportNames& names);

}  // namespace slipway::dynamo
