// Runs a flat list of instructions with libtorch.
#include "backends/dynamo/runner/execute.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "backends/dynamo/runner/memory.h"
#include "backends/dynamo/runner/special_ops.h"
#include "slipway/error.h"

namespace slipway::dynamo_runner {
namespace {

using c10::IValue;
using Kind = Operand::Kind;

class Frame {
 public:
  Frame(const Code& code, std::vector<IValue> inputs) : code_(code), slots_(code.num_slots) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (code.inputs[i] >= 0) slots_[code.inputs[i]] = std::move(inputs[i]);
  }

  void run() {
    for (const Instruction& instruction : code_.instructions) {
      current_ = &instruction;
      stack_.clear();
      for (const Operand& operand : instruction.operands) stack_.push_back(load(operand));
      step(instruction);
    }
    current_ = nullptr;
  }

  std::vector<IValue> outputs() {
    std::vector<IValue> values;
    values.reserve(code_.outputs.size());
    for (const Operand& output : code_.outputs) values.push_back(load(output));
    return values;
  }

  const Instruction* current() const { return current_; }

 private:
  IValue load(const Operand& operand) {
    const auto index = static_cast<size_t>(operand.index);
    switch (operand.kind) {
      case Kind::kConstant:
        return code_.constants[index];
      case Kind::kSlot:
        return slots_[index];
      case Kind::kLastUse:
        return std::exchange(slots_[index], IValue());
      default:
        return load_list(operand.kind, code_.lists[index]);
    }
  }

  IValue load_list(Kind kind, const std::vector<Operand>& items) {
    switch (kind) {
      case Kind::kInts: {
        c10::List<int64_t> list;
        list.reserve(items.size());
        for (const Operand& item : items) list.push_back(load(item).toInt());
        return list;
      }
      case Kind::kFloats: {
        c10::List<double> list;
        for (const Operand& item : items) {
          const IValue value = load(item);
          list.push_back(value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble());
        }
        return list;
      }
      case Kind::kBools: {
        c10::List<bool> list;
        for (const Operand& item : items) list.push_back(load(item).toBool());
        return list;
      }
      case Kind::kTensors: {
        c10::List<at::Tensor> list;
        list.reserve(items.size());
        for (const Operand& item : items) list.push_back(load(item).toTensor());
        return list;
      }
      case Kind::kOptionalTensors: {
        c10::List<std::optional<at::Tensor>> list;
        list.reserve(items.size());
        for (const Operand& item : items) list.push_back(load(item).toOptional<at::Tensor>());
        return list;
      }
      case Kind::kFloat: {
        const IValue value = load(items[0]);
        return value.isInt() ? IValue(static_cast<double>(value.toInt())) : value;
      }
      default:
        return number_tensor(load(items[0]));
    }
  }

  void step(const Instruction& instruction) {
    const std::span<const IValue> operands(stack_);
    switch (instruction.action) {
      case Action::kCall:
        if (instruction.writes) check_writable(instruction);
        instruction.op->callBoxed(stack_);
        break;
      case Action::kNumber:
        return give(instruction, apply(instruction.number, operands));
      case Action::kSize:
        return give(instruction, operands[0].toTensor().size(operands[1].toInt()));
      case Action::kStride:
        return give(instruction, operands[0].toTensor().stride(operands[1].toInt()));
      case Action::kNumel:
        return give(instruction, operands[0].toTensor().numel());
      case Action::kStorageOffset:
        return give(instruction, operands[0].toTensor().storage_offset());
      case Action::kAssertMetadata:
        return assert_metadata(operands);
      case Action::kAssertScalar:
        return assert_scalar(operands);
      case Action::kConstrainRange:
        return constrain_range(operands);
      case Action::kGroupedMm:
        return give(instruction, grouped_mm(operands[0].toTensor(), operands[1].toTensor(),
                                            operands[2].toTensor()));
      case Action::kLinear:
        if (is_single_row(operands)) return give(instruction, linear_row(operands));
        instruction.op->callBoxed(stack_);
        break;
      case Action::kCond:
      case Action::kWhile:
      case Action::kInline:
        run_subgraphs(instruction);
        break;
    }
    store_all(instruction);
  }

  /// The one result of an instruction.
  void give(const Instruction& instruction, IValue value) {
    stack_.clear();
    stack_.push_back(std::move(value));
    store_all(instruction);
  }

  void store_all(const Instruction& instruction) {
    if (stack_.size() < instruction.results.size())
      throw Error(kInvalid, fmt::format("gave {} results, need {}", stack_.size(),
                                        instruction.results.size()));
    for (size_t i = 0; i < instruction.results.size(); ++i) {
      const Result& result = instruction.results[i];
      if (result.is_list) store_list(result, stack_[i]);
      else if (result.slots[0] >= 0) slots_[result.slots[0]] = std::move(stack_[i]);
    }
  }

  void store_list(const Result& result, const IValue& value) {
    if (!value.isTensorList())
      throw Error(kInvalid, fmt::format("gave {}, need a list of tensors", value.tagKind()));
    const c10::List<at::Tensor> list = value.toTensorList();
    if (list.size() != result.slots.size())
      throw Error(kInvalid, fmt::format("gave {} tensors, the graph was made for {}", list.size(),
                                        result.slots.size()));
    for (size_t i = 0; i < list.size(); ++i)
      if (result.slots[i] >= 0) slots_[result.slots[i]] = list.get(i);
  }

  void check_writable(const Instruction& instruction) const {
    const auto& arguments = instruction.op->schema().arguments();
    const auto check = [](const at::Tensor& tensor) {
      const Memory memory = memory_of(tensor);
      if (memory == Memory::kMapped || memory == Memory::kCaller)
        throw Error(kUnsupported,
                    "writes in place to a weight or an input in a way that was not "
                    "seen when the file was loaded");
    };
    for (size_t i = 0; i < arguments.size(); ++i) {
      const auto* alias = arguments[i].alias_info();
      if (alias == nullptr || !alias->isWrite()) continue;
      if (stack_[i].isTensor()) check(stack_[i].toTensor());
      else if (stack_[i].isTensorList())
        for (const at::Tensor& tensor : stack_[i].toTensorVector()) check(tensor);
    }
  }

  std::vector<IValue> call(int32_t subgraph, std::vector<IValue> inputs) const {
    Frame frame(code_.subgraphs[static_cast<size_t>(subgraph)], std::move(inputs));
    try {
      frame.run();
    } catch (const Error& e) {
      throw e.with_context(frame.current()->name);
    }
    return frame.outputs();
  }

  static bool is_true(const IValue& value) {
    if (value.isTensor()) return value.toTensor().item().toBool();
    return value.isBool() ? value.toBool() : value.toInt() != 0;
  }

  void run_subgraphs(const Instruction& instruction) {
    std::vector<IValue> values(stack_.begin(), stack_.end());
    if (instruction.action == Action::kCond) {
      const bool taken = is_true(values[0]);
      values.erase(values.begin());
      values = call(instruction.subgraphs[taken ? 0 : 1], std::move(values));
    } else if (instruction.action == Action::kInline) {
      values = call(instruction.subgraphs[0], std::move(values));
    } else {
      while (is_true(call(instruction.subgraphs[0], values).at(0))) {
        std::vector<IValue> next = call(instruction.subgraphs[1], values);
        std::move(next.begin(), next.end(), values.begin());
      }
      values.resize(static_cast<size_t>(instruction.carried));
    }
    stack_.assign(std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
  }

  const Code& code_;
  std::vector<IValue> slots_;
  torch::jit::Stack stack_;
  const Instruction* current_ = nullptr;
};

}  // namespace

std::vector<IValue> execute(const Code& code, std::vector<IValue> inputs, std::string_view where) {
  Frame frame(code, std::move(inputs));
  const auto at = [&] {
    return fmt::format("[dynamo] {}, node {}", where,
                       frame.current() != nullptr ? frame.current()->name : "output");
  };
  try {
    frame.run();
    return frame.outputs();
  } catch (const Error& e) {
    throw Error(e.kind(), fmt::format("{}: {}", at(), e.what()));
  } catch (const c10::OutOfMemoryError& e) {
    throw Error(kEnvironment, fmt::format("{}: {}", at(), e.what_without_backtrace()));
  } catch (const c10::NotImplementedError& e) {
    throw Error(kUnsupported, fmt::format("{}: {}", at(), e.what_without_backtrace()));
  } catch (const c10::Error& e) {
    const bool memory =
        std::string_view(e.what_without_backtrace()).find("allocate memory") != std::string::npos;
    throw Error(memory ? kEnvironment : kInvalid,
                fmt::format("{}: {}", at(), e.what_without_backtrace()));
  } catch (const std::bad_alloc&) {
    throw Error(kEnvironment, fmt::format("{}: out of memory", at()));
  } catch (const std::exception& e) {
    throw Error(kInvalid, fmt::format("{}: {}", at(), e.what()));
  }
}

}  // namespace slipway::dynamo_runner
