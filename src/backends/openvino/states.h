// Which inputs and outputs of a graph are one state, kept inside it as a variable.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace slipway::openvino {

/// A cache's leaf that is an input and an output.
struct State {
  Node* input;
  Value update;             ///< what the output of the same name is
  std::string variable_id;  ///< "past_key_values.0.keypresent.0.key"
  DType stored;             ///< int64 is stored as int32: the CPU plug-in has no other
  SymShape shape;           ///< of the variable: 0 where it begins empty and grows

  /// An axis that grows: it is empty first.
  bool grows(size_t axis) const { return shape[axis].is_const(0); }
};

/// The states of a graph, in the order of its inputs. A leaf is state where its path has a dot
/// (past_key_values.layers.0.keys), a scalar only beside tensors of the same layer. What comes back
/// as it went in is none.
std::vector<State> find_states(const Graph& graph);

/// What all attention of a graph of composites has in common: "causal" where it hides nothing but
/// later tokens and the padding of the input attention_mask, so that a runtime needs no mask to
/// know what a token sees; "sliding_window" where some layers hide early tokens too; else empty.
std::string attention_kind(const Graph& graph);

}  // namespace slipway::openvino
