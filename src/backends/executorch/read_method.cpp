// Reads and checks one method of a .pte file.
#include <algorithm>
#include <set>

#include "backends/executorch/read_parts.h"
#include "base/json.h"
#include "base/pytree.h"

namespace slipway::executorch::reading {
namespace {

constexpr size_t kMaxDims = 16;  // of the runtime

std::optional<DType> dtype_of(fb::ScalarType type) {
  using T = fb::ScalarType;
  switch (type) {
    case T::DOUBLE:
      return DType::kF64;
    case T::FLOAT:
      return DType::kF32;
    case T::HALF:
      return DType::kF16;
    case T::BFLOAT16:
      return DType::kBF16;
    case T::FLOAT8E4M3FN:
      return DType::kF8E4M3;
    case T::FLOAT8E5M2:
      return DType::kF8E5M2;
    case T::LONG:
      return DType::kI64;
    case T::INT:
      return DType::kI32;
    case T::SHORT:
      return DType::kI16;
    case T::CHAR:
      return DType::kI8;
    case T::UINT64:
      return DType::kU64;
    case T::UINT32:
      return DType::kU32;
    case T::UINT16:
      return DType::kU16;
    case T::BYTE:
      return DType::kU8;
    case T::BOOL:
      return DType::kBool;
    default:
      return std::nullopt;
  }
}

class MethodReader {
 public:
  MethodReader(const File& file, const fb::ExecutionPlan& plan) : file_(file), plan_(plan) {}

  MethodOutline run() {
    need(plan_.name() && plan_.name()->size() > 0, "it has no name");
    method_.name = plan_.name()->str();
    need(plan_.values() && plan_.inputs() && plan_.outputs() && plan_.chains(),
         "values, inputs, outputs or chains are missing");
    read_arenas();
    tensors_.resize(plan_.values()->size());
    for (uint32_t i = 0; i < plan_.values()->size(); ++i) read_value(i);
    for (uint32_t i = 0; i < plan_.values()->size(); ++i) check_list(i);
    for (const int32_t id : *plan_.inputs()) method_.inputs.push_back(port(id));
    for (const int32_t id : *plan_.outputs()) method_.outputs.push_back(port(id));
    delegate_args_.assign(plan_.delegates() ? plan_.delegates()->size() : 0, std::nullopt);
    for (const auto* chain : *plan_.chains()) read_chain(chain);
    for (uint32_t i = 0; i < delegate_args_.size(); ++i) read_delegate(i);
    for (const auto* call : delegate_calls_) note_outputs(*call);
    for (Port& input : method_.inputs) input.written = written_.contains(input.value);
    return std::move(method_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    file_.fail(fmt::format("method {}: {}", quote(method_.name), what));
  }
  void need(bool condition, std::string_view what) const {
    if (!condition) fail(std::string(what));
  }
  const fb::EValue& value(int64_t id) const {
    need(id >= 0 && static_cast<uint64_t>(id) < plan_.values()->size(),
         fmt::format("there is no value {}", id));
    return *plan_.values()->Get(static_cast<uint32_t>(id));
  }

  void read_arenas() {
    need(plan_.non_const_buffer_sizes() != nullptr, "the sizes of its arenas are missing");
    file_.need_aligned(plan_.non_const_buffer_sizes());
    for (const int64_t bytes : *plan_.non_const_buffer_sizes()) {
      need(bytes >= 0, "an arena has a negative size");
      method_.arena_bytes.push_back(bytes);
    }
    if (const auto* devices = plan_.non_const_buffer_device())
      for (const auto* entry : *devices)
        need(entry && entry->device_type() == fb::DeviceType::CPU,
             "an arena is not in main memory");
  }

  void read_value(uint32_t id) {
    const auto* entry = plan_.values()->Get(id);
    need(entry && (entry->val() || entry->val_type() == fb::KernelTypes::Null) &&
             entry->val_type() != fb::KernelTypes::NONE &&
             entry->val_type() <= fb::KernelTypes::MAX,
         fmt::format("value {} is missing", id));
    if (const auto* tensor = entry->val_as_Tensor()) read_tensor(id, *tensor);
    if (const auto* text = entry->val_as_String())
      need(text->string_val() != nullptr, fmt::format("value {} has no text", id));
  }

  void read_tensor(uint32_t id, const fb::Tensor& tensor) {
    const auto bad = [&](const char* what) { fail(fmt::format("tensor {} {}", id, what)); };
    Port& port = tensors_[id];
    const std::optional<DType> dtype = dtype_of(tensor.scalar_type());
    if (!dtype)
      throw Error(kUnsupported,
                  fmt::format("[executorch] {}: tensor {} has the scalar type {}, need one of "
                              "numbers or booleans",
                              file_.where, id, static_cast<int>(tensor.scalar_type())));
    port.dtype = *dtype;
    if (!tensor.sizes() || !tensor.dim_order()) bad("has no sizes or dim order");
    if (tensor.sizes()->size() > kMaxDims || tensor.dim_order()->size() != tensor.sizes()->size())
      bad("has a rank that no runtime takes");
    if (tensor.storage_offset() != 0) bad("has a storage offset");
    for (const int32_t size : *tensor.sizes()) {
      if (size < 0) bad("has a negative size");
      port.sizes.push_back(size);
    }
    int64_t bytes = itemsize(*dtype);
    for (const int64_t size : port.sizes)
      if (__builtin_mul_overflow(bytes, size, &bytes)) bad("is larger than any memory");
    if (tensor.shape_dynamism() == fb::TensorShapeDynamism::DYNAMIC_UNBOUND)
      throw Error(kUnsupported, fmt::format("[executorch] {}: tensor {} has no upper bound, which "
                                            "the runtime does not run; export it with bounds",
                                            file_.where, id));
    port.dynamic = tensor.shape_dynamism() == fb::TensorShapeDynamism::DYNAMIC_BOUND;
    for (size_t i = 0; i < port.sizes.size(); ++i) {
      port.dims.push_back(port.dynamic ? "?" : std::to_string(port.sizes[i]));
    }
    read_storage(id, tensor, static_cast<uint64_t>(bytes));
  }

  void read_storage(uint32_t id, const fb::Tensor& tensor, uint64_t bytes) {
    const auto* place = tensor.allocation_info();
    const auto* extra = tensor.extra_tensor_info();
    const uint32_t data = tensor.data_buffer_idx();
    if (extra && extra->location() == fb::TensorDataLocation::EXTERNAL)
      throw Error(kUnsupported,
                  fmt::format("[executorch] {}: tensor {} lies in another file (.ptd), "
                              "need a program with its weights inside",
                              file_.where, id));
    if (place) {
      const uint64_t offset = tensor.allocation_info()->memory_offset_low() |
                              static_cast<uint64_t>(place->memory_offset_high()) << 32;
      const uint32_t arena = place->memory_id();
      need(arena > 0 && arena < method_.arena_bytes.size(),
           fmt::format("tensor {} lies in arena {}, which is not there", id, arena));
      const auto size = static_cast<uint64_t>(method_.arena_bytes[arena]);
      need(offset <= size && bytes <= size - offset,
           fmt::format("tensor {} lies outside its arena", id));
      if (data > 0) {
        const auto* lists = file_.program.mutable_data_segments();
        need(lists && lists->size() > 0, fmt::format("tensor {} has no initial data", id));
        file_.check_data(lists->Get(0), data, bytes);
      }
    } else if (data > 0) {
      read_constant(id, data, bytes);
    }
    tensors_[id].planned = place || data > 0;
    if (extra && extra->fully_qualified_name() && extra->fully_qualified_name()->size() > 0 &&
        (place || data == 0))
      method_.buffers.push_back({extra->fully_qualified_name()->str(), tensors_[id].dtype,
                                 tensors_[id].sizes, place != nullptr, data > 0});
  }

  void read_constant(uint32_t id, uint32_t data, uint64_t bytes) {
    ++method_.constants;
    const auto* inline_data = file_.program.constant_buffer();
    if (!inline_data || inline_data->size() == 0)
      return file_.check_data(file_.program.constant_segment(), data, bytes);
    need(data < inline_data->size() && inline_data->Get(data)->storage() &&
             inline_data->Get(data)->storage()->size() >= bytes,
         fmt::format("constant {} has no data", id));
  }

  /// Elements of lists are values of the right kind.
  void check_list(uint32_t id) const {
    const fb::EValue& entry = value(id);
    const auto kind = [&](int64_t item) { return value(item).val_type(); };
    const auto wrong = [&] { fail(fmt::format("list {} has an element of another kind", id)); };
    if (const auto* list = entry.val_as_IntList()) {
      need(list->items(), fmt::format("list {} is missing", id));
      file_.need_aligned(list->items());
      for (const int64_t item : *list->items())
        if (kind(item) != fb::KernelTypes::Int) wrong();
    } else if (const auto* tensors = entry.val_as_TensorList()) {
      need(tensors->items(), fmt::format("list {} is missing", id));
      for (const int32_t item : *tensors->items())
        if (kind(item) != fb::KernelTypes::Tensor) wrong();
    } else if (const auto* some = entry.val_as_OptionalTensorList()) {
      need(some->items(), fmt::format("list {} is missing", id));
      for (const int32_t item : *some->items())
        if (item != -1 && kind(item) != fb::KernelTypes::Tensor &&
            kind(item) != fb::KernelTypes::Null)
          wrong();
    } else if (const auto* reals = entry.val_as_DoubleList()) {
      need(reals->items(), fmt::format("list {} is missing", id));
      file_.need_aligned(reals->items());
    } else if (const auto* flags = entry.val_as_BoolList()) {
      need(flags->items(), fmt::format("list {} is missing", id));
    }
  }

  Port port(int32_t id) const {
    const fb::EValue& entry = value(id);
    Port port;
    port.value = id;
    switch (entry.val_type()) {
      case fb::KernelTypes::Tensor: {
        const auto& order = *entry.val_as_Tensor()->dim_order();
        for (uint32_t i = 0; i < order.size(); ++i)
          if (order[i] != i)
            throw Error(kUnsupported,
                        fmt::format("[executorch] {}: an input or output of {} is not row-major",
                                    file_.where, method_.name));
        port = tensors_[static_cast<size_t>(id)];
        port.value = id;
        break;
      }
      case fb::KernelTypes::Null:
        port.kind = PortKind::kNone;
        break;
      case fb::KernelTypes::Int:
        port.kind = PortKind::kInt;
        port.constant = std::to_string(entry.val_as_Int()->int_val());
        break;
      case fb::KernelTypes::Bool:
        port.kind = PortKind::kBool;
        port.constant = entry.val_as_Bool()->bool_val() ? "true" : "false";
        break;
      case fb::KernelTypes::Double:
        port.kind = PortKind::kDouble;
        port.constant = fmt::format("{}", entry.val_as_Double()->double_val());
        break;
      case fb::KernelTypes::String:
        port.kind = PortKind::kString;
        port.constant = entry.val_as_String()->string_val()->str();
        break;
      default:
        port.kind = PortKind::kOther;
    }
    return port;
  }

  void read_chain(const fb::Chain* chain) {
    need(chain && chain->instructions(), "a chain has no instructions");
    const auto& instructions = *chain->instructions();
    for (const auto* instruction : instructions) {
      need(instruction && instruction->instr_args(), "an instruction is missing");
      if (const auto* call = instruction->instr_args_as_KernelCall()) {
        read_kernel_call(*call);
      } else if (const auto* run = instruction->instr_args_as_DelegateCall()) {
        read_delegate_call(*run);
      } else if (const auto* move = instruction->instr_args_as_MoveCall()) {
        value(move->move_from()), value(move->move_to());
        line(fmt::format("{} = {}", move->move_to(), move->move_from()));
      } else if (const auto* jump = instruction->instr_args_as_JumpFalseCall()) {
        value(jump->cond_value_index());
        need(jump->destination_instruction() >= 0 &&
                 static_cast<uint32_t>(jump->destination_instruction()) <= instructions.size(),
             "a jump leaves the method");
        line(fmt::format("unless {} go to {}", jump->cond_value_index(),
                         jump->destination_instruction()));
      } else if (const auto* free = instruction->instr_args_as_FreeCall()) {
        value(free->value_index());
        line(fmt::format("free {}", free->value_index()));
      } else {
        throw Error(kUnsupported,
                    fmt::format("[executorch] {} has an instruction of kind {}, which "
                                "this version does not know",
                                file_.where, static_cast<int>(instruction->instr_args_type())));
      }
    }
  }

  std::string arguments(const flatbuffers::Vector<int32_t>* args) const {
    need(args != nullptr, "an instruction has no arguments");
    std::string text;
    for (const int32_t id : *args) {
      value(id);
      text += fmt::format("{}{}", text.empty() ? "" : ", ", id);
    }
    return text;
  }

  void read_kernel_call(const fb::KernelCall& call) {
    const auto* ops = plan_.operators();
    need(ops && call.op_index() >= 0 && static_cast<uint32_t>(call.op_index()) < ops->size(),
         fmt::format("there is no op {}", call.op_index()));
    const auto* op = ops->Get(static_cast<uint32_t>(call.op_index()));
    need(op && op->name(), "an op has no name");
    std::string name = op->name()->str();
    if (op->overload() && op->overload()->size() > 0) name += "." + op->overload()->str();
    ++method_.op_counts[name];
    // The last argument is the result, which is the tensor that was written.
    if (call.args() && call.args()->size() > 0)
      written_.insert(call.args()->Get(call.args()->size() - 1));
    line(fmt::format("{}({})", name, arguments(call.args())));
  }

  void read_delegate_call(const fb::DelegateCall& call) {
    const int32_t index = call.delegate_index();
    need(index >= 0 && static_cast<size_t>(index) < delegate_args_.size(),
         fmt::format("there is no delegate {}", index));
    line(fmt::format("delegate {}({})", index, arguments(call.args())));
    auto& count = delegate_args_[static_cast<size_t>(index)];
    need(!count || *count == call.args()->size(),
         fmt::format("delegate {} is called in two ways", index));
    count = call.args()->size();
    delegate_calls_.push_back(&call);
    for (const int32_t id : *call.args())
      need(value(id).val_type() == fb::KernelTypes::Tensor || id_is_list(id),
           fmt::format("delegate {} takes a value that is no tensor", index));
  }
  /// ExecuTorch gives delegates lists of tensors where a submodule takes one.
  bool id_is_list(int32_t id) const { return value(id).val_type() == fb::KernelTypes::TensorList; }

  void read_delegate(uint32_t index) {
    const auto* delegate = plan_.delegates()->Get(index);
    need(delegate && delegate->id() && delegate->processed(), "a delegate has no data");
    ByteSpan bytes;
    const auto& at = *delegate->processed();
    if (at.location() == fb::DataLocation::SEGMENT) {
      bytes = file_.segment(at.index());
    } else {
      const auto* list = file_.program.backend_delegate_data();
      need(list && at.index() < list->size() && list->Get(at.index())->data(),
           fmt::format("the data of delegate {} are missing", index));
      const auto* data = list->Get(at.index())->data();
      bytes = std::as_bytes(std::span<const uint8_t>(data->data(), data->size()));
    }
    if (const auto* specs = delegate->compile_specs())
      for (const auto* spec : *specs)
        need(spec && spec->key() && spec->value(), "a compile spec is incomplete");
    if (delegate->id()->string_view() != "XnnpackBackend") {
      method_.delegates.push_back({.id = delegate->id()->str()});
      return;
    }
    const std::string where =
        fmt::format("{}: method {} delegate {}", file_.where, method_.name, index);
    method_.delegates.push_back(
        read_xnnpack(bytes, where, delegate_args_[index].value_or(0),
                     [this](std::string_view key) { return file_.named(key); }));
  }

  void note_outputs(const fb::DelegateCall& call) {
    const auto& delegate = method_.delegates[static_cast<size_t>(call.delegate_index())];
    const auto& args = *call.args();
    if (delegate.id != "XnnpackBackend") return written_.insert(args.begin(), args.end()), void();
    for (const uint32_t place : delegate.outputs)
      if (place < args.size()) written_.insert(args[place]);
  }

  void line(const std::string& text) { method_.listing += "  " + text + "\n"; }

  const File& file_;
  const fb::ExecutionPlan& plan_;
  MethodOutline method_;
  std::vector<Port> tensors_;  ///< by value
  std::vector<std::optional<size_t>> delegate_args_;
  std::vector<const fb::DelegateCall*> delegate_calls_;
  std::set<int32_t> written_;  ///< values that an instruction may write to
};

}  // namespace

MethodOutline read_method(const File& file, const fb::ExecutionPlan& plan) {
  return MethodReader(file, plan).run();
}

}  // namespace slipway::executorch::reading
