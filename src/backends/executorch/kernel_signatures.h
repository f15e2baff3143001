// What the runtime's kernels take and give, as values of a .pte file: for checks of files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::executorch {

/// Kinds of values, or-ed together: what may be passed.
enum ValueKind : uint16_t {
  kNoneValue = 1,
  kIntValue = 2,
  kBoolValue = 4,
  kDoubleValue = 8,
  kTensorValue = 16,
  kStringValue = 32,
  kIntListValue = 64,
  kTensorListValue = 128,
  kDoubleListValue = 256,
  kBoolListValue = 512,
  kOptionalTensorListValue = 1024,
};
using ValueKinds = uint16_t;
constexpr ValueKinds kNumberValue = kIntValue | kBoolValue | kDoubleValue;

/// "an int or None"
std::string describe(ValueKinds kinds);

/// What a kernel leaves in the value behind its arguments.
enum class Gives : uint8_t {
  kTensors,  ///< tensors: it writes to values that are tensors before
  kSecond,   ///< nothing: its second argument becomes a view of the first
  kInt,      ///< numbers take the place of the value
  kDouble,
  kBool,
  kElement,     ///< a number of the first argument's element type
  kArithmetic,  ///< an int if all arguments are ints, else a double
  kAny,         ///< a number
};

struct KernelSignature {
  struct Input {
    std::string name;
    ValueKinds kinds = 0;
  };
  std::vector<Input> inputs;
  Gives gives = Gives::kTensors;
  size_t outs = 0;        ///< tensors behind the inputs; 0 for a kernel that writes to its first
  bool out_list = false;  ///< one list of tensors in their place
  int divisor = -1;       ///< the input that must not be the int 0: the processor would trap
};

/// The signature of a kernel that the release's libraries register: "aten::add.out". Null for any
/// other name.
const KernelSignature* find_signature(std::string_view name);

}  // namespace slipway::executorch
