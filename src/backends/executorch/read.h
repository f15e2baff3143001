// What a .pte file holds, read without the runtime and checked before the runtime sees it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_summary.h"
#include "base/lazy.h"
#include "slipway/tensor.h"

namespace slipway::executorch {

/// Kinds of values that are no tensors, by the schema's names.
enum class PortKind : uint8_t { kTensor, kNone, kInt, kBool, kDouble, kString, kOther };

/// An input or output of a method.
struct Port {
  std::string name;
  PortKind kind = PortKind::kTensor;
  std::string constant{};  ///< of a number or string that the file states: as text
  int32_t value = 0;       ///< its number in the method: an output may be an input
  // Of tensors.
  DType dtype = DType::kF32;
  Shape sizes{};                    ///< the highest
  std::vector<std::string> dims{};  ///< numbers, expressions, or "?"
  bool dynamic = false;             ///< sizes may be lower at run time
  bool planned = false;             ///< the arena or the file holds it
  bool written = false;             ///< of an input: an instruction writes to it
};

/// A mutable buffer.
struct BufferPort {
  std::string name;
  DType dtype = DType::kF32;
  Shape sizes;
  bool planned = false;
  bool initial = false;  ///< the file says what it begins as
};

/// An input or output of an XNNPACK delegate, as its graph declares it.
struct DelegateArgument {
  uint32_t place = 0;  ///< among the arguments of a call
  bool output = false;
  std::optional<DType> dtype{};  ///< null: no tensor of a program has it
  Shape dims{};                  ///< the highest, in the order of memory
};

struct DelegatePort {
  std::string id;                                ///< "XnnpackBackend"
  std::map<std::string, int64_t> node_counts{};  ///< of XNNPACK: "FullyConnected"
  std::map<std::string, int64_t> data_counts{};  ///< of XNNPACK: types of static data: "qcint8"
  /// Of XNNPACK: it does not work with the runtime's cache of packed weights: static data are read
  /// while it runs, not only packed when it is loaded, or have 16 bits.
  bool breaks_weight_cache = false;
  uint32_t externals = 0;                     ///< of XNNPACK: the least arguments of a call
  std::vector<DelegateArgument> arguments{};  ///< of XNNPACK
};

struct MethodOutline {
  std::string name;
  std::vector<Port> inputs, outputs;
  std::vector<BufferPort> buffers;  ///< those with names, in the order of values
  /// Something in the arena without a name lives from run to run: ExecuTorch's exporter names no
  /// buffers unless it is asked to.
  bool unnamed_state = false;
  std::vector<DelegatePort> delegates;
  std::vector<int64_t> arena_bytes;          ///< by arena; 0 is none
  std::map<std::string, int64_t> op_counts;  ///< "aten::add.out"
  int64_t constants = 0;
  std::string listing;  ///< a line an instruction
  bool named = false;   ///< Slipway wrote the file: names and sizes are in it
  std::map<std::string, std::string> metadata;
  /// JSON objects of [min, max]: of ids by input, of symbols. Empty where the file states none.
  std::string ranges, dims;

  /// It takes nothing and runs nothing: it states facts about the model.
  bool is_metadata() const { return inputs.empty() && op_counts.empty() && delegates.empty(); }
  int64_t arena_total() const;
};

/// A whole file.
struct Outline {
  std::vector<MethodOutline> methods;
  std::string producer;  ///< "slipway 0.1.0", or empty
  int64_t file_bytes = 0, program_bytes = 0;
  int64_t segments = 0, named_data = 0;

  /// Null where there is none of that name.
  const MethodOutline* find(const std::string& name) const;
  /// Throws Error{kInvalid} that lists the methods that there are.
  const MethodOutline& method(const std::string& name, const std::string& where) const;
};

/// Reads a file. Every offset, number and size in it is checked, its delegates' graphs included.
/// Throws Error{kInvalid} naming the path for a file that is cut, is no .pte file or contradicts
/// itself, Error{kUnsupported} for a schema version from the future and for what no runtime of this
/// version runs.
Outline read_outline(const std::filesystem::path& path);
/// The same over bytes, aligned to 16; `where` is for messages.
Outline read_outline(ByteSpan bytes, const std::string& where);

/// Names inputs and outputs after the leaves of tree specs, as far as these say: the in_spec of a
/// keyword call names all inputs, the out_spec the last outputs. An output that is an input updated
/// in place has the input's name; what comes later under a name that is taken keeps its number.
/// Does nothing for files of Slipway, and for specs that are not understood.
void name_by_specs(MethodOutline& method, std::string_view in_spec, std::string_view out_spec);

/// The outline as other formats give it: of the method that is named; without a name inputs and
/// outputs of `forward`, or else of the first method that runs something, and the ops of all of
/// them. Methods that state facts are in the metadata. Throws as read_outline(), and as
/// Outline::method() for a name that there is not.
FileSummary read_summary(const std::filesystem::path& path, const std::string& method = {});

}  // namespace slipway::executorch
