// A loaded method with memory of its own.
#include "backends/executorch/runner/instance.h"

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/executorch/serialize_program.h"
#include "runtime/huge_pages.h"
#include "slipway/error.h"

namespace slipway::executorch_runner {

using executorch::Port;
using executorch::PortKind;

namespace {

using ETTensor = ::executorch::aten::Tensor;
using TensorImpl = ::executorch::aten::TensorImpl;

/// The runtime refuses null pointers, even for no elements.
std::byte* not_null(std::byte* data) {
  alignas(64) static std::byte empty[64];
  return data != nullptr ? data : empty;
}

/// A tensor over memory, for the length of a call into the runtime.
class Borrowed {
 public:
  Borrowed(DType dtype, const View& view) : sizes_(view.shape.begin(), view.shape.end()) {
    const size_t rank = sizes_.size();
    order_.resize(rank);
    strides_.resize(rank);
    int64_t stride = 1;
    for (size_t i = rank; i-- > 0;) {
      order_[i] = static_cast<uint8_t>(i);
      strides_[i] = static_cast<int32_t>(stride);
      stride *= std::max<int64_t>(view.shape[i], 1);
    }
    impl_.emplace(static_cast<::executorch::aten::ScalarType>(executorch::scalar_type(dtype)),
                  static_cast<ssize_t>(rank), sizes_.data(), not_null(view.data), order_.data(),
                  strides_.data());
  }
  et::EValue value() { return et::EValue(ETTensor(&*impl_)); }

 private:
  std::vector<int32_t> sizes_, strides_;
  std::vector<uint8_t> order_;
  std::optional<TensorImpl> impl_;
};

size_t bytes_of(const ETTensor& tensor) { return tensor.nbytes(); }

Shape shape_of(const ETTensor& tensor) {
  return Shape(tensor.sizes().begin(), tensor.sizes().end());
}

}  // namespace

Instance::Instance(std::shared_ptr<const ProgramFile> file, const executorch::MethodOutline& method,
                   const Shapes& shapes, const std::string& where)
    : file_(std::move(file)), outline_(method), shapes_(shapes), where_(where) {
  for (size_t i = 1; i < method.arena_bytes.size(); ++i) {
    arenas_.emplace_back(static_cast<size_t>(method.arena_bytes[i]));
    arena_spans_.emplace_back(reinterpret_cast<uint8_t*>(not_null(arenas_.back().data())),
                              arenas_.back().bytes());
  }
  planned_.emplace(et::Span<et::Span<uint8_t>>(arena_spans_.data(), arena_spans_.size()));
  manager_.emplace(&method_allocator_, &*planned_, &temp_allocator_);
  load(method.name);
  inputs_.resize(method.inputs.size());
  outputs_.resize(method.outputs.size());
  find_buffers();
  set_constant_inputs();
}

void Instance::load(const std::string& name) {
  // Packed weights are shared by all methods that are loaded.
  bool share = true;
  for (const auto& delegate : outline_.delegates) share = share && !delegate.breaks_weight_cache;
  constexpr int kOneWorkspaceForMethod = 1;
  const bool set = xnnpack_options_.set_option("weight_cache_enabled", share) == et::Error::Ok &&
                   xnnpack_options_.set_option("workspace_sharing_mode", kOneWorkspaceForMethod) ==
                       et::Error::Ok &&
                   options_.set_options("XnnpackBackend", xnnpack_options_.view()) == et::Error::Ok;
  SLIPWAY_ASSERT(set);
  clear_errors();
  const HugePages pages;
  const std::string what = fmt::format("{} cannot load the method {}", where_, name);
  auto method = guarded(what, [&] {
    return file_->program().load_method(name.c_str(), &*manager_, nullptr, nullptr, &options_);
  });
  check(method.error(), what, Stage::kLoading);
  method_.emplace(std::move(method.get()));
  pages.advise();
}

void Instance::find_buffers() {
  for (const executorch::BufferPort& port : outline_.buffers) {
    auto found = method_->get_attribute(port.name);
    if (!found.ok()) continue;  // a second value of that name
    ETTensor tensor = found.get();
    if (!port.planned) {
      loose_buffers_.emplace_back(bytes_of(tensor));
      check(et::internal::set_tensor_data(tensor, not_null(loose_buffers_.back().data()),
                                          bytes_of(tensor)),
            where_, Stage::kLoading);
    }
    auto* data = static_cast<std::byte*>(tensor.mutable_data_ptr());
    Buffer buffer{port.name, port.dtype, port.sizes, {data, bytes_of(tensor)}, {}};
    if (port.initial) buffer.initial.assign(buffer.memory.begin(), buffer.memory.end());
    buffers_.push_back(std::move(buffer));
  }
}

void Instance::set_constant_inputs() {
  for (size_t i = 0; i < outline_.inputs.size(); ++i) {
    const Port& port = outline_.inputs[i];
    et::EValue value;
    if (port.kind == PortKind::kInt)
      value = et::EValue(static_cast<int64_t>(std::stoll(port.constant)));
    else if (port.kind == PortKind::kBool) value = et::EValue(port.constant == "true");
    else if (port.kind == PortKind::kDouble) value = et::EValue(std::stod(port.constant));
    else if (port.kind != PortKind::kNone) continue;
    check(method_->set_input(value, i), where_, Stage::kLoading);
  }
}

int64_t Instance::most_bytes(const Port& port) const {
  return numel(port.sizes) * itemsize(port.dtype);
}

std::optional<size_t> Instance::input_of(size_t output) const {
  const Port& port = outline_.outputs[output];
  if (port.kind != PortKind::kTensor || port.planned) return std::nullopt;
  for (size_t i = 0; i < outline_.inputs.size(); ++i)
    if (outline_.inputs[i].value == port.value) return i;
  return std::nullopt;
}

bool Instance::updates_in_place(size_t input, const View& view,
                                std::span<const Wanted> outputs) const {
  return std::any_of(outputs.begin(), outputs.end(), [&](const Wanted& wanted) {
    return wanted.memory && wanted.memory->data == view.data && input_of(wanted.output) == input;
  });
}

void Instance::set_input(size_t input, const View& view, std::span<const Wanted> outputs) {
  const Port& port = outline_.inputs[input];
  Slot& slot = inputs_[input];
  View used = view;
  const bool copy = !port.planned && port.written && !updates_in_place(input, view, outputs);
  if (copy) {
    const auto bytes = static_cast<size_t>(most_bytes(port));
    if (slot.scratch.bytes() < bytes) slot.scratch = Pages(bytes);
    used.data = slot.scratch.data();
    const auto given = static_cast<size_t>(numel(view.shape) * itemsize(port.dtype));
    if (given > 0) std::memcpy(used.data, view.data, given);
  }
  // The arena needs its copy in every run; other memory is known already.
  if (slot.set && !port.planned && slot.view == used) return;
  Borrowed tensor(port.dtype, used);
  check(method_->set_input(tensor.value(), input),
        fmt::format("{} cannot take the input {}", where_, port.name), Stage::kRunning);
  slot.view = std::move(used);
  slot.set = true;
}

void Instance::set_outputs(std::span<const Wanted> outputs) {
  for (size_t i = 0; i < outline_.outputs.size(); ++i) {
    const Port& port = outline_.outputs[i];
    if (port.kind != PortKind::kTensor || port.planned || input_of(i)) continue;
    const auto first = std::find_if(outline_.outputs.begin(), outline_.outputs.end(),
                                    [&](const Port& other) { return other.value == port.value; });
    if (first - outline_.outputs.begin() < static_cast<std::ptrdiff_t>(i)) continue;
    // What may turn out larger than the caller's memory is written aside first.
    const auto most = static_cast<size_t>(most_bytes(port));
    std::byte* data = nullptr;
    for (const Wanted& wanted : outputs)
      if (wanted.output == i && wanted.memory &&
          static_cast<size_t>(numel(wanted.memory->shape) * itemsize(port.dtype)) >= most)
        data = not_null(wanted.memory->data);
    Slot& slot = outputs_[i];
    if (data == nullptr) {
      if (slot.scratch.bytes() < most) slot.scratch = Pages(most);
      data = not_null(slot.scratch.data());
    }
    if (slot.set && slot.view.data == data) continue;
    check(method_->set_output_data_ptr(data, std::max<size_t>(most, 1), i),
          fmt::format("{} cannot write the output {} there", where_, port.name), Stage::kRunning);
    slot.view.data = data;
    slot.set = true;
  }
}

void Instance::check_shapes(std::span<const std::optional<Shape>> known,
                            std::span<const Wanted> outputs) const {
  for (const Wanted& wanted : outputs) {
    const auto& shape = known[wanted.output];
    if (!wanted.memory || !shape || wanted.memory->shape == *shape) continue;
    throw Error(kInvalid, fmt::format("[executorch] {}: the output {} is {}, the memory given for "
                                      "it is {}",
                                      where_, outline_.outputs[wanted.output].name,
                                      shape_string(*shape), shape_string(wanted.memory->shape)));
  }
}

void Instance::run(std::span<const View> inputs, std::span<Wanted> outputs) {
  if (stopped_)
    throw Error(kInvalid, fmt::format("[executorch] {}: a run of it was stopped half way, need a "
                                      "new one; open it again",
                                      where_));
  std::vector<Shape> shapes;
  for (const View& view : inputs) shapes.push_back(view.shape);
  const auto known = shapes_.bind(shapes);
  check_shapes(known, outputs);
  clear_errors();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (outline_.inputs[i].kind == PortKind::kTensor) set_input(i, inputs[i], outputs);
  set_outputs(outputs);
  fresh_ = false;
  const std::string what = fmt::format("{} cannot run {}", where_, outline_.name);
  stopped_ = true;
  const et::Error result = guarded(what, [&] { return method_->execute(); });
  stopped_ = false;
  check(result, what, Stage::kRunning);
  for (Wanted& wanted : outputs) take_output(wanted);
}

void Instance::take_output(Wanted& wanted) {
  const Port& port = outline_.outputs[wanted.output];
  const et::EValue& value = method_->get_output(wanted.output);
  Shape shape;
  std::byte number[8] = {};
  const std::byte* data = number;
  if (port.kind == PortKind::kTensor) {
    if (!value.isTensor())
      throw Error(kInvalid, fmt::format("[executorch] {}: the program gave no tensor for {}",
                                        where_, port.name));
    const ETTensor& tensor = value.toTensor();
    shape = shape_of(tensor);
    data = static_cast<const std::byte*>(tensor.const_data_ptr());
  } else if (value.isInt()) {
    const int64_t v = value.toInt();
    std::memcpy(number, &v, sizeof(v));
  } else if (value.isDouble()) {
    const double v = value.toDouble();
    std::memcpy(number, &v, sizeof(v));
  } else if (value.isBool()) {
    const bool v = value.toBool();
    std::memcpy(number, &v, sizeof(v));
  }
  const auto bytes = static_cast<size_t>(numel(shape) * itemsize(port.dtype));
  Slot& slot = outputs_[wanted.output];
  if (wanted.memory) {
    if (wanted.memory->shape != shape)
      throw Error(kInvalid, fmt::format("[executorch] {}: the output {} is {}, the memory given "
                                        "for it is {}",
                                        where_, port.name, shape_string(shape),
                                        shape_string(wanted.memory->shape)));
    if (bytes > 0 && wanted.memory->data != data) std::memmove(wanted.memory->data, data, bytes);
  } else if (slot.set && slot.scratch.data() != nullptr && data == slot.scratch.data()) {
    slot.set = false;
    wanted.result.reset(hand_over(port.dtype, std::move(shape), std::exchange(slot.scratch, {})));
  } else {
    wanted.result.reset(hand_over(port.dtype, std::move(shape), data));
  }
}

void Instance::reset_buffers() {
  if (fresh_) return;
  for (const Buffer& buffer : buffers_) {
    if (buffer.initial.empty()) std::memset(buffer.memory.data(), 0, buffer.memory.size());
    else std::memcpy(buffer.memory.data(), buffer.initial.data(), buffer.initial.size());
  }
  fresh_ = true;
}

const Instance::Buffer& Instance::buffer(std::string_view name) const {
  for (const Buffer& buffer : buffers_)
    if (buffer.name == name) return buffer;
  throw Error(kUsage, fmt::format("[executorch] {} has no state {}", where_, name));
}

void Instance::set_buffer(std::string_view name, const abi::DLTensor& tensor) {
  const Buffer& to = buffer(name);
  const View view(tensor, to.dtype, name);
  if (view.shape != to.shape)
    throw Error(kInvalid, fmt::format("[executorch] the state {} is {}, need {}", name,
                                      shape_string(view.shape), shape_string(to.shape)));
  fresh_ = false;
  if (!to.memory.empty()) std::memcpy(to.memory.data(), view.data, to.memory.size());
}

abi::DLManagedTensor* Instance::get_buffer(std::string_view name) const {
  const Buffer& from = buffer(name);
  return hand_over(from.dtype, from.shape, from.memory.data());
}

}  // namespace slipway::executorch_runner
