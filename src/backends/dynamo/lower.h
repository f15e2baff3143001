// Lowering: from ATen and composite ops to ATen ops alone, as torch's own programs hold them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/program.h"

namespace slipway::dynamo {

/// Makes a program's graph one of ATen ops only, in place: composites become their bodies,
/// attention without a soft-cap becomes aten::scaled_dot_product_attention, products of groups
/// become aten::_grouped_mm, and every view becomes a reshape, because torch's memory may lie in
/// another order than the sizes say. Error{kUnsupported} lists the ops that are left without an
/// ATen form, with counts.
void lower(ExportedProgram& program);

/// An input that the program updates in place: torch writes the caller's memory.
struct Update {
  Node* input;
  Value value;  ///< what it holds afterwards
};

/// The inputs that are outputs of the same name and type: slots of a static cache and their
/// counts. Memory that grows is another type and no update.
std::vector<Update> updates_of(const Graph& graph);

}  // namespace slipway::dynamo
