// What a program takes and gives, by name: its inputs, outputs, and the sizes that it accepts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/dynamo/schema.h"
#include "ir/sym.h"
#include "slipway/dtype.h"

namespace slipway::dynamo {

/// A tensor or a number that the caller gives or gets; a number is a tensor of no dimensions.
struct Port {
  std::string name;  ///< "input_ids", "input.past_key_values.layers.0.keys"
  DType dtype = DType::kF32;
  /// Over the file's symbols; nothing for an expression that ours cannot say (a float's part).
  std::vector<std::optional<Sym>> dims;
  bool is_number = false;
  std::string value;    ///< the graph's name for it
  size_t position = 0;  ///< among the graph's inputs or outputs
};

/// "[batch_size, 2, ?]".
std::string dims_text(const Port& port);

/// An output that the graph has no output for: an input that was updated in place.
inline constexpr size_t kNoPosition = static_cast<size_t>(-1);

struct Contract {
  std::vector<Port> inputs, outputs;
  std::map<std::string, size_t> weights;    ///< graph input by the weight's name in the archive
  std::map<std::string, size_t> mutations;  ///< graph output by the buffer's or parameter's name
  /// Of an input that the program updates: the output that shows its new value.
  std::map<size_t, size_t> updates;
  std::map<std::string, schema::RangeConstraint> ranges;  ///< by symbol
};

/// Names come from the program's tree specs, and from the graph where those name a class that is
/// not known. `written` are the graph inputs that nodes write to. Throws Error{kInvalid} for a
/// signature that does not fit its graph, Error{kUnsupported} for tokens and custom objects.
Contract read_contract(const schema::ExportedProgram& program, const std::set<std::string>& written,
                       std::string_view where);

/// Checks the sizes of all inputs and gives the values of the symbols. `shapes` are in the order of
/// `contract.inputs`. Throws Error{kInvalid} naming the input, the axis, the bound and the size.
std::map<std::string, int64_t> bind_sizes(const Contract& contract,
                                          const std::vector<std::vector<int64_t>>& shapes,
                                          std::string_view where);

}  // namespace slipway::dynamo
