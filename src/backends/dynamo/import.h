// From a .pt2 file to our program: the second front end.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backends/dynamo/program_file.h"
#include "ir/program.h"

namespace slipway::dynamo {

/// A program with what the file says about the call that was traced.
struct Imported {
  ExportedProgram program;
  /// torch.utils._pytree texts of the call and of what it returns.
  std::string in_spec, out_spec;
  /// Names of the leaves of both, in order: of tensors those of the program's inputs and outputs.
  std::vector<std::string> in_leaves, out_leaves;
  /// Sizes of the inputs in the traced call, in the order of the program's inputs.
  std::vector<Shape> example_shapes;
  /// Arguments that were numbers or texts: constants of the graph, by leaf name.
  std::vector<std::pair<std::string, schema::ConstantValue>> in_constants;
  /// Leaves of what the call returns that are no tensors: (leaf index, argument).
  std::vector<std::pair<int64_t, schema::Argument>> out_constants;
};

/// Makes a functional graph of a program that torch.export saved.
///
/// In-place ops become values: what is written through a view reaches the tensor it views and every
/// other view of it. An input that the program writes to is an output of the same name. Operators
/// that compute with sizes become expressions of symbols; checks of metadata and of sizes are left
/// out. A bound of 2 on a size is torch's specialization of 0 and 1, not the program's, and is read
/// as 1. Sizes have the names that the models' own graphs give them (batch_size, sequence_length)
/// where an input's name tells, and inputs of one role have one size: attention_mask has the rows
/// of input_ids.
///
/// Throws Error{kUnsupported} listing every op that has no row, with counts, and for programs whose
/// state is in buffers that they change, data-dependent sizes, custom objects, and loops;
/// Error{kInvalid} for a graph that refers to what it does not have or that does not fit together.
Imported import_program(const ProgramFile& file);

}  // namespace slipway::dynamo
