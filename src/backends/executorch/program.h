// What a .pte file holds: methods over numbered values, constants and delegates, as plain structs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backends/executorch/xnnpack_graph.h"
#include "base/lazy.h"
#include "ir/arg.h"
#include "ir/program.h"

namespace slipway::executorch {

/// The number of a value in its method.
using ValueId = int32_t;

/// Where a tensor's elements lie.
enum class Storage : uint8_t {
  kConstant,  ///< in the file: `data`
  kPlanned,   ///< in the arena, while it is used; inputs and outputs may be the caller's instead
  kBuffer,    ///< in the arena for as long as the method is loaded: a mutable buffer. It begins as
              ///< `data`, or undefined (zero in runtimes that clear their arenas)
};

/// A contiguous tensor. Its sizes may be lower at run time than the file says, never its rank.
struct TensorValue {
  DType dtype = DType::kF32;
  SymShape shape{};  ///< numbers, or expressions over symbols with upper bounds
  Storage storage = Storage::kPlanned;
  Lazy data{};  ///< of a constant: required; of a buffer: where it begins as something
  /// Set where the tensor is another name for the memory of an earlier value: the result of
  /// executorch_prim::et_view, or of an op that writes to its argument. Memory and lifetime are
  /// planned once for all names. Inputs and outputs are no views: their memory may be the caller's.
  std::optional<ValueId> view_of{};
  std::string name{};  ///< of a buffer: its path in the model. Methods whose buffers have one name
                       ///< share them where the runtime shares its arenas
};

/// Numbers that kernels take. Lists of integers, tensors and optional tensors name values, so an
/// element may be computed while the method runs; an optional tensor may be a None.
struct NoneValue {
  bool operator==(const NoneValue&) const = default;
};
struct IntListValue {
  std::vector<ValueId> items;  ///< integers
  bool operator==(const IntListValue&) const = default;
};
struct DoubleListValue {
  std::vector<double> items;
  bool operator==(const DoubleListValue&) const = default;
};
struct BoolListValue {
  std::vector<bool> items;
  bool operator==(const BoolListValue&) const = default;
};
struct TensorListValue {
  std::vector<ValueId> items;
  bool operator==(const TensorListValue&) const = default;
};
struct OptionalTensorListValue {
  std::vector<ValueId> items;
  bool operator==(const OptionalTensorListValue&) const = default;
};
using EValue =
    std::variant<NoneValue, int64_t, bool, double, std::string, IntListValue, DoubleListValue,
                 BoolListValue, TensorListValue, OptionalTensorListValue, TensorValue>;

/// A kernel out of the registry. Arguments are values in the order of the kernel's schema, defaults
/// and None included; the out tensors follow, and then the results: the out tensors once more, or
/// the number that a kernel without out tensors gives (aten::sym_size.int).
struct KernelCall {
  std::string op;        ///< "aten::add"
  std::string overload;  ///< "out"; may be empty
  std::vector<ValueId> args;
};
/// Arguments are the delegate's inputs, then its outputs.
struct DelegateCall {
  int32_t delegate = 0;
  std::vector<ValueId> args;
};
struct MoveCall {
  ValueId from = 0, to = 0;
};
/// Goes on at instruction `destination` when the condition (a bool, or a tensor of bools with a
/// false among them) is false.
struct JumpFalseCall {
  ValueId condition = 0;
  int32_t destination = 0;
};
struct FreeCall {
  ValueId value = 0;
};
using Instruction = std::variant<KernelCall, DelegateCall, MoveCall, JumpFalseCall, FreeCall>;

/// A part of a method that a back end of the runtime compiles when the method is loaded.
struct Delegate {
  std::string id = "XnnpackBackend";
  xnnpack::Graph graph{};
  std::map<std::string, std::string> compile_specs{};
};

/// An entry point. Values are used by number; a value may be named by any instruction.
struct Method {
  explicit Method(std::string method_name) : name(std::move(method_name)) {}

  std::string name;
  std::vector<EValue> values;
  std::vector<ValueId> inputs, outputs;
  std::vector<std::string> input_names, output_names;  ///< leaf names, one for each
  std::vector<Delegate> delegates;
  std::vector<Instruction> instructions;
  /// As those of the program, which hold for all methods; these win.
  std::map<std::string, std::string> metadata;
  std::map<std::string, ValueRange> value_ranges;

  /// Adds a value and returns its number.
  ValueId add(EValue value);
  /// The number of a value that is equal and no tensor, string or list, added where there is none:
  /// numbers that no instruction writes. None and small integers are many in a method.
  ValueId constant(const EValue& value);
  /// A list of integers that are known now.
  ValueId int_list(const std::vector<int64_t>& items);
  /// Asserts that the value is a tensor.
  const TensorValue& tensor(ValueId id) const;

 private:
  std::map<std::string, ValueId> constants_;  ///< of constant(), by kind and number
};

/// A whole file. One Lazy object is stored once over all methods, buffers and delegates.
struct Program {
  std::vector<Method> methods;
  /// Methods without inputs that give numbers about the model: {"get_max_seq_len", {2048}}. One
  /// output for each element.
  std::map<std::string, std::vector<EValue>> metadata_methods;
  /// Text for readers of our own, by name: stored as named data, not seen by the runtime.
  std::map<std::string, std::string> metadata;
  /// Ids an embedding can look up, by input.
  std::map<std::string, ValueRange> value_ranges;
};

/// The highest sizes of a tensor. Throws Error{kInvalid} when a symbol has no upper bound; `where`
/// is the tensor's place.
Shape upper_bound(const SymShape& shape, const std::string& where);
/// True when some size may be lower at run time.
bool is_dynamic(const SymShape& shape);

/// Checks what readers and runtimes rely on: numbers of values are in range, arguments of
/// instructions exist, constants have data that fits, views are of earlier tensors with as much
/// memory, names are unique. Throws Error{kInternal} naming method and value.
void verify(const Program& program);

}  // namespace slipway::executorch
