// Reads and checks one method of a .pte file.
#include <algorithm>

#include "backends/executorch/read_parts.h"
#include "base/json.h"
#include "base/pytree.h"

namespace slipway::executorch::reading {
namespace {

constexpr size_t kMaxDims = 16;  // of the runtime

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
    for (uint32_t i = 0; plan_.delegates() && i < plan_.delegates()->size(); ++i) read_delegate(i);
    read_instructions(file_, plan_, method_);
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
    // The runtime looks tensors up while it makes the list.
    const auto before = [&](int64_t item) { return item < static_cast<int64_t>(id); };
    const auto wrong = [&] {
      fail(fmt::format("list {} has an element of another kind, or of a later place", id));
    };
    if (const auto* list = entry.val_as_IntList()) {
      need(list->items(), fmt::format("list {} is missing", id));
      file_.need_aligned(list->items());
      for (const int64_t item : *list->items())
        if (kind(item) != fb::KernelTypes::Int) wrong();
    } else if (const auto* tensors = entry.val_as_TensorList()) {
      need(tensors->items(), fmt::format("list {} is missing", id));
      for (const int32_t item : *tensors->items())
        if (kind(item) != fb::KernelTypes::Tensor || !before(item)) wrong();
    } else if (const auto* some = entry.val_as_OptionalTensorList()) {
      need(some->items(), fmt::format("list {} is missing", id));
      for (const int32_t item : *some->items())
        if (item != -1 &&
            ((kind(item) != fb::KernelTypes::Tensor && kind(item) != fb::KernelTypes::Null) ||
             !before(item)))
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
        read_xnnpack(bytes, where, [this](std::string_view key) { return file_.named(key); }));
  }

  const File& file_;
  const fb::ExecutionPlan& plan_;
  MethodOutline method_;
  std::vector<Port> tensors_;  ///< by value
};

}  // namespace

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

MethodOutline read_method(const File& file, const fb::ExecutionPlan& plan) {
  return MethodReader(file, plan).run();
}

}  // namespace slipway::executorch::reading
