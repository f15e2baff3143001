// A graph as a flat list of instructions over slots, made once at load.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/dynamo/runner/numbers.h"
#include "backends/dynamo/runner/torch.h"

namespace slipway::dynamo_runner {

/// A place for a value of one run; -1 for a value that nobody reads.
using Slot = int32_t;

/// Where an instruction takes a value from.
struct Operand {
  enum class Kind : uint8_t {
    kConstant,  ///< Code::constants[index]
    kSlot,      ///< a slot that is read again later
    kLastUse,   ///< a slot that is emptied by this
    kInts,      ///< Code::lists[index], as a list of that type
    kFloats,
    kBools,
    kTensors,
    kOptionalTensors,
    kNumberTensor,  ///< the number of the one operand in Code::lists[index], as a tensor
    kFloat,         ///< the same as a float
  };
  Kind kind = Kind::kConstant;
  int32_t index = 0;
};

/// What an instruction does.
enum class Action : uint8_t {
  kCall,    ///< the op, boxed
  kNumber,  ///< arithmetic on numbers
  kSize,    ///< sym_size, with operands tensor and dimension
  kStride,
  kNumel,
  kStorageOffset,
  kAssertMetadata,  ///< _assert_tensor_metadata: tensor, sizes, strides, dtype
  kAssertScalar,    ///< _assert_scalar: number, message
  kConstrainRange,  ///< sym_constrain_range: number, min, max
  kGroupedMm,       ///< transformers::grouped_mm_fallback: input, weight, offsets
  kLinear,          ///< aten::linear: input, weight, bias
  kCond,            ///< condition, then the operands of both subgraphs
  kWhile,           ///< operands of both subgraphs; `carried` of them change
  kInline,          ///< operands of the one subgraph
};

/// Where results go: a list of slots when the op returns a list.
struct Result {
  bool is_list = false;
  std::vector<Slot> slots;
};

struct Code;

struct Instruction {
  Action action = Action::kCall;
  NumberOp number{};
  bool writes = false;  ///< an operand is changed in place
  std::optional<c10::OperatorHandle> op;
  std::vector<Operand> operands;
  std::vector<Result> results;
  std::vector<int32_t> subgraphs;  ///< Code::subgraphs
  int32_t carried = 0;             ///< of a loop
  std::string name;                ///< "linear_3 (aten::linear)", for messages
};

struct Code {
  std::vector<Instruction> instructions;
  std::vector<c10::IValue> constants;
  std::vector<std::vector<Operand>> lists;
  std::vector<Code> subgraphs;
  std::vector<Slot> inputs;  ///< of each graph input; -1: a constant, or never read
  std::vector<Operand> outputs;
  int32_t num_slots = 0;
};

}  // namespace slipway::dynamo_runner
