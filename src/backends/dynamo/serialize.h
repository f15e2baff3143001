// A graph of ATen ops as torch's serialized program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/dynamo/schema.h"
#include "ir/graph.h"

namespace slipway::dynamo {

struct SerializeOptions {
  /// The structure of the call and of what it returns, as torch.utils._pytree.treespec_dumps writes
  /// it. Their leaves are the graph's inputs and outputs by name.
  std::string in_spec, out_spec;
  /// Names of the leaves where the specs do not tell them: calls by position, unknown classes.
  std::vector<std::string> in_leaves, out_leaves;
  /// Leaves of the call that are no tensors, by name; of what it returns, by number.
  std::map<std::string, schema::ConstantValue> in_constants;
  std::map<int64_t, schema::Argument> out_constants;
  /// The class that nn_module_stack gives for the whole model: "transformers.LlamaForCausalLM".
  std::string model_class = "torch.nn.Module";
  /// Values of symbols in the example call, as hints for compilers.
  std::map<std::string, int64_t> example_sizes;
  /// Symbols that callers were promised wider than the graph takes: the range that is recorded. The
  /// graph checks its own bounds at run time.
  std::map<std::string, Sym::Bounds> promised;
};

/// A program in torch's schema, and the tensors that it names.
struct SerializedProgram {
  schema::ExportedProgram program;
  schema::PayloadConfig weights, constants;
  std::vector<Lazy> weight_data;    ///< weight_0, weight_1, ...
  std::vector<Lazy> constant_data;  ///< tensor_0, ...
};

/// Serializes a lowered graph (lower.h). Weights become parameters under their checkpoint names, a
/// tied one once. Inputs of updates_of() are written in place. Throws Error{kInternal} when the
/// specs and the graph do not fit, Error{kUnsupported} for sizes that no input has.
SerializedProgram serialize(const Graph& graph, const SerializeOptions& options);

}  // namespace slipway::dynamo
