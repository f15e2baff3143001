// A method of a .pte file: its description, and running it.
#include "backends/executorch/runner/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/executorch/runner/options.h"
#include "base/json.h"
#include "slipway/error.h"

namespace slipway::executorch_runner {

using executorch::MethodOutline;
using executorch::Port;
using executorch::PortKind;

namespace {

/// That of the options, of the component, `forward`, or the only method that runs something.
const MethodOutline& choose(const executorch::Outline& outline, const Options& options,
                            const std::string& where) {
  if (!options.method.empty()) return outline.method(options.method, where);
  if (const MethodOutline* named = outline.find(options.component)) return *named;
  if (const MethodOutline* forward = outline.find("forward")) return *forward;
  const std::string wanted = options.component.empty() ? "forward" : options.component;
  const MethodOutline* only = nullptr;
  for (const MethodOutline& method : outline.methods) {
    if (method.is_metadata()) continue;
    if (only != nullptr) return outline.method(wanted, where);  // throws, with their names
    only = &method;
  }
  return only != nullptr ? *only : outline.method(wanted, where);
}

/// Numbers are given as tensors without dimensions.
std::optional<DType> dtype_of(const Port& port) {
  switch (port.kind) {
    case PortKind::kTensor:
      return port.dtype;
    case PortKind::kInt:
      return DType::kI64;
    case PortKind::kBool:
      return DType::kBool;
    case PortKind::kDouble:
      return DType::kF64;
    default:
      return std::nullopt;
  }
}

bool is_number(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// JSON: what bounds the sizes of a file that gives them no names.
std::string highest_sizes(const MethodOutline& method) {
  Json sizes = Json::object();
  for (const auto* ports : {&method.inputs, &method.outputs})
    for (const Port& port : *ports)
      if (port.kind == PortKind::kTensor) sizes[port.name] = port.sizes;
  return sizes.dump();
}

size_t index_of(const std::vector<Port>& ports, std::string_view name, std::string_view what,
                const std::string& where) {
  std::string names;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == name) return i;
    names += (names.empty() ? "" : ", ") + ports[i].name;
  }
  throw Error(kUsage,
              fmt::format("[executorch] {} has no {} {}, it has {}", where, what, name, names));
}

}  // namespace

Model::Model(const std::filesystem::path& path, std::string_view text)
    : name_(path.filename().string()) {
  const Options options = read_options(text);
  use_threads(options.threads);
  outline_ = executorch::read_outline(path);
  for (MethodOutline& method : outline_.methods)
    executorch::name_by_specs(method, options.in_spec, options.out_spec);
  for (MethodOutline& method : outline_.methods)
    for (Port& port : method.outputs)
      if (const auto dtype = dtype_of(port)) port.dtype = *dtype;
  method_ = &choose(outline_, options, name_);
  shapes_.emplace(*method_, name_);
  file_ = ProgramFile::open(path, name_);
  idle_.push_back(std::make_unique<Instance>(file_, *method_, *shapes_, name_));
  describe();
}

const char* Model::keep(std::string text) { return strings_.emplace_back(std::move(text)).c_str(); }

abi::IoDescription Model::describe_port(const Port& port) {
  abi::IoDescription io{};
  io.name = keep(port.name);
  io.dtype = abi::to_dlpack(*dtype_of(port));
  io.num_dims = static_cast<int32_t>(port.dims.size());
  auto& sizes = sizes_.emplace_back();
  auto& symbols = symbols_.emplace_back();
  for (size_t i = 0; i < port.dims.size(); ++i) {
    const bool fixed = !port.dynamic || is_number(port.dims[i]);
    sizes.push_back(fixed ? port.sizes[i] : -1);
    symbols.push_back(keep(fixed || port.dims[i] == "?" ? "" : port.dims[i]));
  }
  io.sizes = sizes.data();
  io.symbols = symbols.data();
  return io;
}

void Model::describe() {
  for (const Port& port : method_->inputs)
    if (port.kind == PortKind::kTensor) inputs_.push_back(describe_port(port));
  for (const Port& port : method_->outputs)
    if (dtype_of(port)) outputs_.push_back(describe_port(port));
  for (const executorch::BufferPort& buffer : method_->buffers) {
    Port port{.name = buffer.name, .dtype = buffer.dtype, .sizes = buffer.sizes};
    for (const int64_t size : buffer.sizes) port.dims.push_back(std::to_string(size));
    states_.push_back(describe_port(port));
  }
  const auto add = [this](const std::string& key, const std::string& value) {
    metadata_.push_back({keep(key), keep(value)});
  };
  for (const auto& [key, value] : method_->metadata) add(key, value);
  if (!method_->ranges.empty()) add("slipway.ranges", method_->ranges);
  if (!method_->dims.empty()) add("slipway.dims", method_->dims);
  if (!method_->named) add("slipway.sizes", highest_sizes(*method_));
  for (const MethodOutline& method : outline_.methods) {
    if (!method.is_metadata()) continue;
    std::string text;
    for (const Port& port : method.outputs) text += (text.empty() ? "" : ", ") + port.constant;
    add(method.name, text);
  }
  description_ = {inputs_.size(),   inputs_.data(),   0,
                  nullptr,          outputs_.size(),  outputs_.data(),
                  metadata_.size(), metadata_.data(), states_.size(),
                  states_.data()};
}

size_t Model::input_index(std::string_view name) const {
  return index_of(method_->inputs, name, "input", name_);
}

size_t Model::output_index(std::string_view name) const {
  return index_of(method_->outputs, name, "output", name_);
}

bool Model::is_state(std::string_view name) const {
  return std::any_of(method_->buffers.begin(), method_->buffers.end(),
                     [&](const auto& buffer) { return buffer.name == name; });
}

std::unique_ptr<Instance> Model::new_instance() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Instance> instance = std::move(idle_.back());
      idle_.pop_back();
      instance->reset_buffers();
      return instance;
    }
  }
  return std::make_unique<Instance>(file_, *method_, *shapes_, name_);
}

void Model::run(const abi::Input* inputs, size_t num_inputs, abi::Output* outputs,
                size_t num_outputs) const {
  std::unique_ptr<Instance> instance = new_instance();
  std::vector<View> views(method_->inputs.size());
  std::vector<bool> given(views.size());
  for (size_t i = 0; i < num_inputs; ++i) {
    if (is_state(inputs[i].name)) {
      instance->set_buffer(inputs[i].name, *inputs[i].tensor);
      continue;
    }
    const size_t at = input_index(inputs[i].name);
    views[at] = View(*inputs[i].tensor, method_->inputs[at].dtype, inputs[i].name);
    given[at] = true;
  }
  for (size_t i = 0; i < views.size(); ++i)
    if (method_->inputs[i].kind == PortKind::kTensor && !given[i])
      throw Error(kInvalid, fmt::format("[executorch] {} needs the input {}", name_,
                                        method_->inputs[i].name));
  std::vector<Wanted> wanted;
  std::vector<size_t> places;
  for (size_t i = 0; i < num_outputs; ++i) {
    if (is_state(outputs[i].name)) continue;
    Wanted one{.output = output_index(outputs[i].name)};
    if (outputs[i].memory != nullptr)
      one.memory = View(*outputs[i].memory, method_->outputs[one.output].dtype, outputs[i].name);
    wanted.push_back(std::move(one));
    places.push_back(i);
  }
  instance->run(views, wanted);
  for (size_t i = 0; i < num_outputs; ++i)
    if (is_state(outputs[i].name)) outputs[i].result = instance->get_buffer(outputs[i].name);
  for (size_t i = 0; i < places.size(); ++i) outputs[places[i]].result = wanted[i].result.release();
  if (method_->unnamed_state) return;  // it cannot begin anew
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(instance));
}

}  // namespace slipway::executorch_runner
