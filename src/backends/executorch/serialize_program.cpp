// Serializes programs.
#include "backends/executorch/serialize_program.h"

#include <fmt/format.h>

#include "program_generated.h"
#include "slipway/error.h"

namespace slipway::executorch {
namespace {

namespace fb = executorch_flatbuffer;
template <class T>
using Offset = flatbuffers::Offset<T>;

constexpr int64_t kSegmentAlignment = 128;
constexpr size_t kHeader = 32;

/// The tree of a flat tuple, as torch's treespec_dumps writes it.
std::string tuple_spec(size_t leaves) {
  constexpr const char* kLeaf = R"({"type": null, "context": null, "children_spec": []})";
  std::string children;
  for (size_t i = 0; i < leaves; ++i) children += (i > 0 ? ", " : "") + std::string(kLeaf);
  return fmt::format(R"({{"type": "builtins.tuple", "context": "null", "children_spec": [{}]}})",
                     children);
}

std::string inputs_spec(size_t leaves) {
  return fmt::format(R"([1, {{"type": "builtins.tuple", "context": "null", "children_spec": )"
                     R"([{}, {{"type": "builtins.dict", "context": "[]", )"
                     R"("children_spec": []}}]}}])",
                     tuple_spec(leaves));
}

class Serializer {
 public:
  Serializer(const Program& program, const Placement& placement)
      : program_(program), placement_(placement) {}

  flatbuffers::FlatBufferBuilder& finish() {
    std::vector<Offset<fb::ExecutionPlan>> plans;
    for (size_t i = 0; i < program_.methods.size(); ++i) plans.push_back(method(i));
    for (const auto& [name, values] : program_.metadata_methods)
      plans.push_back(metadata_method(name, values));
    const SegmentTable& table = placement_.segments;
    std::vector<Offset<fb::DataSegment>> segments;
    for (const Segment& segment : table.segments())
      segments.push_back(fb::CreateDataSegment(builder_, static_cast<uint64_t>(segment.offset),
                                               static_cast<uint64_t>(segment.size)));
    const auto constants = fb::CreateSubsegmentOffsetsDirect(builder_, table.constant_segment(),
                                                             &table.constant_offsets());
    std::vector<Offset<fb::SubsegmentOffsets>> initial;
    if (table.has_initial())
      initial.push_back(fb::CreateSubsegmentOffsetsDirect(builder_, table.initial_segment(),
                                                          &table.initial_offsets()));
    std::vector<Offset<fb::NamedData>> named;
    for (const NamedSegment& entry : table.named())
      named.push_back(fb::CreateNamedDataDirect(builder_, entry.key.c_str(), entry.segment));
    const std::vector<Offset<fb::Buffer>> no_buffers;
    const std::vector<Offset<fb::BackendDelegateInlineData>> no_inline;
    fb::FinishProgramBuffer(
        builder_, fb::CreateProgramDirect(builder_, 0, &plans, &no_buffers, &no_inline, &segments,
                                          constants, initial.empty() ? nullptr : &initial, &named));
    return builder_;
  }

 private:
  Offset<fb::ExecutionPlan> method(size_t index) {
    const Method& method = program_.methods[index];
    const MethodPlan& plan = placement_.plans[index];
    std::vector<Offset<fb::EValue>> values;
    for (size_t i = 0; i < method.values.size(); ++i)
      values.push_back(value(method.values[i], plan.places[i]));
    std::vector<Offset<fb::BackendDelegate>> delegates;
    for (size_t i = 0; i < method.delegates.size(); ++i)
      delegates.push_back(delegate(method.delegates[i], placement_.delegate_blocks[index][i]));
    ops_.clear();
    op_numbers_.clear();
    std::vector<Offset<fb::Instruction>> instructions;
    for (const Instruction& instruction : method.instructions)
      instructions.push_back(
          std::visit([this](const auto& call) { return this->instruction(call); }, instruction));
    return finish_plan(method.name, inputs_spec(method.inputs.size()), values, method.inputs,
                       method.outputs, instructions, delegates, plan.arena_bytes);
  }

  Offset<fb::ExecutionPlan> metadata_method(const std::string& name,
                                            const std::vector<EValue>& numbers) {
    ops_.clear();
    std::vector<Offset<fb::EValue>> values;
    std::vector<ValueId> outputs;
    for (const EValue& number : numbers) {
      outputs.push_back(static_cast<ValueId>(values.size()));
      values.push_back(value(number, std::nullopt));
    }
    return finish_plan(name, "", values, {}, outputs, {}, {}, {0});
  }

  Offset<fb::ExecutionPlan> finish_plan(const std::string& name, const std::string& in_spec,
                                        const std::vector<Offset<fb::EValue>>& values,
                                        const std::vector<ValueId>& inputs,
                                        const std::vector<ValueId>& outputs,
                                        const std::vector<Offset<fb::Instruction>>& instructions,
                                        const std::vector<Offset<fb::BackendDelegate>>& delegates,
                                        const std::vector<int64_t>& arenas) {
    const auto containers = fb::CreateContainerMetadataDirect(
        builder_, in_spec.c_str(), fmt::format("[1, {}]", tuple_spec(outputs.size())).c_str());
    const std::vector<int32_t> none;
    const std::vector<Offset<fb::Chain>> chains{
        fb::CreateChainDirect(builder_, &none, &none, &instructions)};
    return fb::CreateExecutionPlanDirect(builder_, name.c_str(), containers, &values, &inputs,
                                         &outputs, &chains, &ops_, &delegates, &arenas);
  }

  Offset<fb::BackendDelegate> delegate(const Delegate& delegate, size_t block) {
    const auto data = fb::CreateBackendDelegateDataReference(
        builder_, fb::DataLocation::SEGMENT, placement_.segments.block_segment(block));
    std::vector<Offset<fb::CompileSpec>> specs;
    for (const auto& [key, text] : delegate.compile_specs) {
      const std::vector<uint8_t> bytes(text.begin(), text.end());
      specs.push_back(fb::CreateCompileSpecDirect(builder_, key.c_str(), &bytes));
    }
    return fb::CreateBackendDelegateDirect(builder_, delegate.id.c_str(), data, &specs);
  }

  Offset<fb::EValue> value(const EValue& value, const std::optional<Place>& place) {
    return std::visit([&](const auto& v) { return this->value_of(v, place); }, value);
  }

  template <class T>
  Offset<fb::EValue> evalue(fb::KernelTypes kind, Offset<T> table) {
    return fb::CreateEValue(builder_, kind, table.Union());
  }
  Offset<fb::EValue> value_of(NoneValue, const std::optional<Place>&) {
    return evalue(fb::KernelTypes::Null, fb::CreateNull(builder_));
  }
  Offset<fb::EValue> value_of(int64_t v, const std::optional<Place>&) {
    return evalue(fb::KernelTypes::Int, fb::CreateInt(builder_, v));
  }
  Offset<fb::EValue> value_of(bool v, const std::optional<Place>&) {
    return evalue(fb::KernelTypes::Bool, fb::CreateBool(builder_, v));
  }
  Offset<fb::EValue> value_of(double v, const std::optional<Place>&) {
    return evalue(fb::KernelTypes::Double, fb::CreateDouble(builder_, v));
  }
  Offset<fb::EValue> value_of(const std::string& v, const std::optional<Place>&) {
    return evalue(fb::KernelTypes::String, fb::CreateStringDirect(builder_, v.c_str()));
  }
  Offset<fb::EValue> value_of(const IntListValue& v, const std::optional<Place>&) {
    const std::vector<int64_t> items(v.items.begin(), v.items.end());
    return evalue(fb::KernelTypes::IntList, fb::CreateIntListDirect(builder_, &items));
  }
  Offset<fb::EValue> value_of(const DoubleListValue& v, const std::optional<Place>&) {
    return evalue(fb::KernelTypes::DoubleList, fb::CreateDoubleListDirect(builder_, &v.items));
  }
  Offset<fb::EValue> value_of(const BoolListValue& v, const std::optional<Place>&) {
    const std::vector<uint8_t> items(v.items.begin(), v.items.end());
    return evalue(fb::KernelTypes::BoolList, fb::CreateBoolListDirect(builder_, &items));
  }
  Offset<fb::EValue> value_of(const TensorListValue& v, const std::optional<Place>&) {
    return evalue(fb::KernelTypes::TensorList, fb::CreateTensorListDirect(builder_, &v.items));
  }
  Offset<fb::EValue> value_of(const OptionalTensorListValue& v, const std::optional<Place>&) {
    return evalue(fb::KernelTypes::OptionalTensorList,
                  fb::CreateOptionalTensorListDirect(builder_, &v.items));
  }
  Offset<fb::EValue> value_of(const TensorValue& v, const std::optional<Place>& place);

  Offset<fb::Instruction> instruction(const KernelCall& call) {
    const auto [at, added] =
        op_numbers_.try_emplace({call.op, call.overload}, static_cast<int32_t>(ops_.size()));
    if (added)
      ops_.push_back(fb::CreateOperatorDirect(builder_, call.op.c_str(), call.overload.c_str()));
    return instruction(fb::InstructionArguments::KernelCall,
                       fb::CreateKernelCallDirect(builder_, at->second, &call.args));
  }
  Offset<fb::Instruction> instruction(const DelegateCall& call) {
    return instruction(fb::InstructionArguments::DelegateCall,
                       fb::CreateDelegateCallDirect(builder_, call.delegate, &call.args));
  }
  Offset<fb::Instruction> instruction(const MoveCall& call) {
    return instruction(fb::InstructionArguments::MoveCall,
                       fb::CreateMoveCall(builder_, call.from, call.to));
  }
  Offset<fb::Instruction> instruction(const JumpFalseCall& call) {
    return instruction(fb::InstructionArguments::JumpFalseCall,
                       fb::CreateJumpFalseCall(builder_, call.condition, call.destination));
  }
  Offset<fb::Instruction> instruction(const FreeCall& call) {
    return instruction(fb::InstructionArguments::FreeCall,
                       fb::CreateFreeCall(builder_, call.value));
  }
  template <class T>
  Offset<fb::Instruction> instruction(fb::InstructionArguments kind, Offset<T> table) {
    return fb::CreateInstruction(builder_, kind, table.Union());
  }

  const Program& program_;
  const Placement& placement_;
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<Offset<fb::Operator>> ops_;  ///< of the method being written
  std::map<std::pair<std::string, std::string>, int32_t> op_numbers_;
};

Offset<fb::EValue> Serializer::value_of(const TensorValue& v, const std::optional<Place>& place) {
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  for (const int64_t size : upper_bound(v.shape, "[executorch] a tensor")) {
    dim_order.push_back(static_cast<uint8_t>(sizes.size()));
    sizes.push_back(static_cast<int32_t>(size));
  }
  Offset<fb::AllocationDetails> allocation;
  if (place)
    allocation = fb::CreateAllocationDetails(
        builder_, place->arena, static_cast<uint32_t>(place->offset & 0xffffffff),
        static_cast<uint32_t>(static_cast<uint64_t>(place->offset) >> 32));
  uint32_t data = 0;
  if (v.data)
    data = v.storage == Storage::kConstant ? placement_.segments.constant(v.data)
                                           : placement_.segments.initial(v.data);
  Offset<fb::ExtraTensorInfo> extra;
  if (v.storage == Storage::kBuffer)
    extra = fb::CreateExtraTensorInfoDirect(builder_, 0, v.name.c_str());
  const auto dynamism = is_dynamic(v.shape) ? fb::TensorShapeDynamism::DYNAMIC_BOUND
                                            : fb::TensorShapeDynamism::STATIC;
  return evalue(
      fb::KernelTypes::Tensor,
      fb::CreateTensorDirect(builder_, static_cast<fb::ScalarType>(scalar_type(v.dtype)), 0, &sizes,
                             &dim_order, false, data, allocation, 0, dynamism, extra));
}

void put(std::string& text, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
}

}  // namespace

int8_t scalar_type(DType dtype) {
  using T = fb::ScalarType;
  const auto number = [](T type) { return static_cast<int8_t>(type); };
  switch (dtype) {
    case DType::kF64:
      return number(T::DOUBLE);
    case DType::kF32:
      return number(T::FLOAT);
    case DType::kF16:
      return number(T::HALF);
    case DType::kBF16:
      return number(T::BFLOAT16);
    case DType::kF8E4M3:
      return number(T::FLOAT8E4M3FN);
    case DType::kF8E5M2:
      return number(T::FLOAT8E5M2);
    case DType::kI64:
      return number(T::LONG);
    case DType::kI32:
      return number(T::INT);
    case DType::kI16:
      return number(T::SHORT);
    case DType::kI8:
      return number(T::CHAR);
    case DType::kU64:
      return number(T::UINT64);
    case DType::kU32:
      return number(T::UINT32);
    case DType::kU16:
      return number(T::UINT16);
    case DType::kU8:
      return number(T::BYTE);
    case DType::kBool:
      return number(T::BOOL);
  }
  SLIPWAY_ASSERT(!"a dtype without a scalar type");
  return 0;
}

int64_t segment_base(size_t program_bytes) {
  return (static_cast<int64_t>(program_bytes) + kSegmentAlignment - 1) / kSegmentAlignment *
         kSegmentAlignment;
}

std::string serialize(const Program& program, const Placement& placement, int64_t base) {
  Serializer serializer(program, placement);
  auto& builder = serializer.finish();
  const std::string_view body(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                              builder.GetSize());
  // The header stands between the identifier and the rest, so the root lies that much further.
  const uint32_t root = flatbuffers::ReadScalar<uint32_t>(body.data());
  std::string text;
  text.reserve(body.size() + kHeader);
  put(text, root + kHeader, 4);
  text += body.substr(4, 4);
  text += "eh00";
  put(text, kHeader, 4);
  put(text, body.size() + kHeader, 8);
  put(text, static_cast<uint64_t>(base), 8);
  put(text, static_cast<uint64_t>(placement.segments.size()), 8);
  text += body.substr(8);
  return text;
}

}  // namespace slipway::executorch
