// Checks of calls in .pte files against what kernels and delegates take. Only the reader includes
// this.
#pragma once

#include <string>
#include <vector>

#include "backends/executorch/int_range.h"
#include "backends/executorch/kernel_signatures.h"
#include "backends/executorch/read_parts.h"

namespace slipway::executorch::reading {

/// Follows the instructions of a method in their order and knows what each value is by then, so
/// that the runtime, which aborts on arguments of another kind, is given none. Values, lists and
/// the arguments' numbers are checked before. Throws Error{kInvalid} naming method, instruction and
/// argument.
class CallChecker {
 public:
  using Args = flatbuffers::Vector<int32_t>;

  CallChecker(const File& file, const fb::ExecutionPlan& plan, const MethodOutline& method);

  /// What follows is instruction `index` of chain `chain`.
  void begin(size_t chain, size_t index);
  /// The kernel's inputs and what it writes to; empty where the kernel is not known. For one that
  /// gives a number the values written are that number.
  struct Effect {
    std::vector<int32_t> reads, writes;
  };
  Effect kernel(const std::string& name, const Args& args);
  void delegate(const DelegatePort& delegate, const Args& args);
  void move(int32_t from, int32_t to);
  void jump(int32_t condition) const;
  void free(int32_t id);
  /// After the last instruction.
  void finish() const;

 private:
  struct State {
    ValueKinds kinds = 0;  ///< one, or several where that depends on the run
    DType dtype = DType::kF32;
    const fb::Tensor* tensor = nullptr;  ///< the sizes it has in the file
    bool memory = false;                 ///< of tensors: there is some
    bool constant = false;               ///< of tensors: it is the file's
    bool computed = false;               ///< of numbers: an instruction gave it
    IntRange range{};                    ///< of ints
    int32_t base = 0;
  };

  [[noreturn]] void fail(const std::string& what) const;
  void need(bool condition, const std::string& what) const {
    if (!condition) fail(what);
  }
  const fb::EValue& value(int32_t id) const {
    return *plan_.values()->Get(static_cast<uint32_t>(id));
  }
  const State& state(int32_t id) const { return states_[static_cast<size_t>(id)]; }
  State& state(int32_t id) { return states_[static_cast<size_t>(id)]; }
  State first_state(int32_t id) const;

  /// The items of a list of tensors; null for other values.
  const Args* tensors_of(int32_t id) const;
  void check_kinds(int32_t id, ValueKinds kinds, const std::string& place) const;
  void check_items(int32_t id, const std::string& place) const;
  void check_memory(int32_t id, const std::string& place) const;
  void check_writable(int32_t id, const std::string& place) const;
  void check_outs(const KernelSignature& signature, const std::string& name, const Args& args,
                  Effect& effect) const;
  void check_numbers(const KernelSignature& signature, const std::string& name, const Args& args);
  void check_counts(const KernelSignature& signature, const std::string& name,
                    const Args& args) const;
  void check_size_call(const Args& args);
  void check_sequence(const std::string& name, const Args& args) const;
  void give_number(const KernelSignature& signature, const std::string& name, const Args& args);
  void check_argument(const DelegateArgument& argument, int32_t id, const std::string& place) const;

  const File& file_;
  const fb::ExecutionPlan& plan_;
  const MethodOutline& method_;
  size_t chain_ = 0, instruction_ = 0;
  std::vector<State> states_;
  std::vector<int32_t> axes_;  ///< numbers that must be constants
};

}  // namespace slipway::executorch::reading
