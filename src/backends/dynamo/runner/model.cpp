// A loaded .pt2 file: its description, and running it.
#include "backends/dynamo/runner/model.h"

#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/dynamo/program_file.h"
#include "backends/dynamo/runner/compile.h"
#include "backends/dynamo/runner/enums.h"
#include "backends/dynamo/runner/execute.h"
#include "backends/dynamo/runner/library.h"
#include "backends/dynamo/runner/memory.h"
#include "backends/dynamo/runner/options.h"
#include "backends/dynamo/runner/weights.h"
#include "base/json.h"
#include "slipway/error.h"

namespace slipway::dynamo_runner {
namespace {

namespace schema = dynamo::schema;
using dynamo::Port;

constexpr size_t kNone = static_cast<size_t>(-1);

/// Nothing is recorded for gradients while one of these lives.
struct Inference {
  c10::NoGradGuard no_grad;
  c10::impl::ExcludeDispatchKeyGuard exclude{c10::autograd_dispatch_keyset_with_ADInplaceOrView};
};

std::string value_of_input(const schema::Graph& graph, size_t position) {
  return graph.inputs[position].get<schema::TensorArgument>()->name;
}

std::vector<std::string> names_of(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return names;
}

}  // namespace

Model::Model(const std::filesystem::path& path, std::string_view text)
    : name_(path.filename().string()), device_(c10::DeviceType::CPU) {
  const Options options = read_options(text);
  device_ = find_device(options.device);
  threads_ = options.threads;
  const auto file = dynamo::ProgramFile::open(path);
  const schema::Graph& graph = file.program.graph_module.graph;
  const std::set<std::string> written = written_inputs(graph);
  contract_ = dynamo::read_contract(file.program, written, name_);

  std::set<std::string> state;
  for (const auto& [name, position] : contract_.weights)
    if (contract_.mutations.contains(name) || written.contains(value_of_input(graph, position)))
      state.insert(name);
  keeps_state_ = !state.empty();
  const Inference inference;
  const Weights weights(file, state);
  Constants constants;
  for (const auto& [name, position] : contract_.weights) {
    at::Tensor tensor = weights.load(name);
    if (!device_.is_cpu()) tensor = tensor.to(device_);
    if (const auto at = contract_.mutations.find(name); at != contract_.mutations.end())
      mutations_.emplace_back(tensor, at->second);
    constants.emplace(value_of_input(graph, position), std::move(tensor));
  }
  code_ = compile(graph, constants, device_, name_);

  updated_as_.assign(contract_.inputs.size(), kNone);
  shown_input_.assign(contract_.outputs.size(), kNone);
  for (const auto& [input, output] : contract_.updates) {
    updated_as_[input] = output;
    if (contract_.outputs[output].position == dynamo::kNoPosition) shown_input_[output] = input;
  }
  for (const Port& input : contract_.inputs) written_.push_back(written.contains(input.value));
  describe_limits(*file.archive);
  describe();
}

abi::IoDescription Model::describe_port(const Port& port) {
  abi::IoDescription io{};
  io.name = strings_.emplace_back(port.name).c_str();
  io.dtype = abi::to_dlpack(port.dtype);
  io.num_dims = static_cast<int32_t>(port.dims.size());
  auto& sizes = sizes_.emplace_back();
  auto& symbols = symbols_.emplace_back();
  for (const auto& dim : port.dims) {
    const bool fixed = dim && dim->is_const();
    sizes.push_back(fixed ? dim->value() : -1);
    symbols.push_back(strings_.emplace_back(fixed || !dim ? "" : dim->str()).c_str());
  }
  io.sizes = sizes.data();
  io.symbols = symbols.data();
  return io;
}

void Model::describe_limits(const dynamo::Archive& archive) {
  const auto add = [this](const char* key, std::string text) {
    metadata_.push_back({key, strings_.emplace_back(std::move(text)).c_str()});
  };
  constexpr const char* kRanges = "extra/slipway.ranges";
  if (archive.find(kRanges) != nullptr) add("slipway.ranges", std::string(archive.text(kRanges)));
  Json dims = Json::object();
  for (const auto& [symbol, range] : contract_.ranges) {
    // As bind_sizes() has it: that a traced size was at least 2 does not keep 0 and 1 out.
    const int64_t min = range.min_val && *range.min_val > 2 ? *range.min_val : 0;
    if (min > 0 || range.max_val)
      dims[symbol] = {Json(min), range.max_val ? Json(*range.max_val) : Json()};
  }
  add("slipway.dims", dims.dump());
}

void Model::describe() {
  for (const Port& port : contract_.inputs) {
    input_indices_.emplace(port.name, inputs_.size());
    inputs_.push_back(describe_port(port));
  }
  for (const Port& port : contract_.outputs) {
    output_indices_.emplace(port.name, outputs_.size());
    outputs_.push_back(describe_port(port));
  }
  description_ = {inputs_.size(),   inputs_.data(),   0, nullptr, outputs_.size(), outputs_.data(),
                  metadata_.size(), metadata_.data(), 0, nullptr};
}

size_t Model::input_index(std::string_view name) const {
  if (const auto at = input_indices_.find(std::string(name)); at != input_indices_.end())
    return at->second;
  throw Error(kUsage, fmt::format("[dynamo] {} has no input {}, it has {}", name_, name,
                                  fmt::join(names_of(contract_.inputs), ", ")));
}

size_t Model::output_index(std::string_view name) const {
  if (const auto at = output_indices_.find(std::string(name)); at != output_indices_.end())
    return at->second;
  throw Error(kUsage, fmt::format("[dynamo] {} has no output {}, it has {}", name_, name,
                                  fmt::join(names_of(contract_.outputs), ", ")));
}

at::Tensor Model::take_input(size_t index, const abi::DLTensor& given,
                             std::span<const Wanted> outputs) const {
  const std::string& name = contract_.inputs[index].name;
  if (!written_[index]) {
    at::Tensor tensor = wrap(given, Memory::kCaller, name);
    return device_.is_cpu() ? tensor : tensor.to(device_);
  }
  const bool in_place =
      device_.is_cpu() && std::any_of(outputs.begin(), outputs.end(), [&](const Wanted& output) {
        return output.output == updated_as_[index] && output.memory != nullptr &&
               address(*output.memory) == address(given);
      });
  at::Tensor tensor = wrap(given, Memory::kWritable, name);
  if (in_place) return tensor;
  return device_.is_cpu() ? tensor.clone() : tensor.to(device_);
}

std::vector<c10::IValue> Model::take_inputs(std::span<const abi::DLTensor* const> inputs,
                                            std::span<const Wanted> outputs) const {
  std::vector<std::vector<int64_t>> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = contract_.inputs[i];
    if (inputs[i] == nullptr)
      throw Error(kInvalid, fmt::format("[dynamo] {} needs the input {}", name_, port.name));
    const std::optional<DType> dtype = abi::from_dlpack(inputs[i]->dtype);
    if (dtype != port.dtype)
      throw Error(kInvalid, fmt::format("[dynamo] {}: {} is {}, need {}", name_, port.name,
                                        dtype ? torch_name(*dtype) : "of an unknown type",
                                        torch_name(port.dtype)));
    shapes.emplace_back(inputs[i]->shape, inputs[i]->shape + inputs[i]->ndim);
  }
  dynamo::bind_sizes(contract_, shapes, name_);
  std::vector<c10::IValue> values(code_.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = contract_.inputs[i];
    at::Tensor tensor = take_input(i, *inputs[i], outputs);
    if (port.is_number) {
      const c10::Scalar number = tensor.item();
      values[port.position] = number.isFloatingPoint() ? c10::IValue(number.toDouble())
                              : number.isBoolean()     ? c10::IValue(number.toBool())
                                                       : c10::IValue(number.toLong());
    } else {
      values[port.position] = std::move(tensor);
    }
  }
  return values;
}

at::Tensor Model::result_of(size_t output, const std::vector<c10::IValue>& inputs,
                            const std::vector<c10::IValue>& outputs) const {
  const Port& port = contract_.outputs[output];
  const c10::IValue& value = shown_input_[output] != kNone
                                 ? inputs[contract_.inputs[shown_input_[output]].position]
                                 : outputs.at(port.position);
  if (value.isTensor() && value.toTensor().defined()) return value.toTensor();
  if (value.isInt() || value.isDouble() || value.isBool()) return number_tensor(value);
  throw Error(kInvalid,
              fmt::format("[dynamo] {}: the program gave no value for {}", name_, port.name));
}

void Model::run(std::span<const abi::DLTensor* const> inputs, std::span<Wanted> outputs) const {
  const Inference inference;
  use_threads(threads_);
  std::unique_lock<std::mutex> lock(state_mutex_, std::defer_lock);
  if (keeps_state_) lock.lock();
  std::vector<c10::IValue> values = take_inputs(inputs, outputs);
  // Inputs that are shown afterwards outlive the run; the others go with their last reader.
  std::vector<c10::IValue> shown(values.size());
  for (const size_t input : shown_input_)
    if (input != kNone) {
      const size_t position = contract_.inputs[input].position;
      shown[position] = values[position];
    }
  const std::vector<c10::IValue> results = execute(code_, std::move(values), name_);
  for (Wanted& wanted : outputs) {
    const std::string& name = contract_.outputs[wanted.output].name;
    wanted.result = result_of(wanted.output, shown, results);
    if (wanted.memory != nullptr) check_fits(*wanted.memory, wanted.result, name);
    // What the state or the caller's memory is now, not what it becomes below or after the run.
    const Memory memory = memory_of(wanted.result);
    const bool changes = memory == Memory::kCaller || memory == Memory::kState ||
                         (memory == Memory::kWritable && wanted.memory == nullptr);
    if (changes) wanted.result = wanted.result.clone();
  }
  for (const Wanted& wanted : outputs)
    if (wanted.memory != nullptr)
      copy_into(*wanted.memory, wanted.result, contract_.outputs[wanted.output].name);
  for (const auto& [state, output] : mutations_) state.copy_(results.at(output).toTensor());
}

void Model::run(const abi::Input* inputs, size_t num_inputs, abi::Output* outputs,
                size_t num_outputs) const {
  std::vector<const abi::DLTensor*> given(contract_.inputs.size(), nullptr);
  for (size_t i = 0; i < num_inputs; ++i) given[input_index(inputs[i].name)] = inputs[i].tensor;
  std::vector<Wanted> wanted(num_outputs);
  for (size_t i = 0; i < num_outputs; ++i)
    wanted[i] = {output_index(outputs[i].name), outputs[i].memory, {}};
  run(given, wanted);
  // Either all outputs are handed over or none.
  using Handed = std::unique_ptr<abi::DLManagedTensor, void (*)(abi::DLManagedTensor*)>;
  std::vector<Handed> handed;
  for (size_t i = 0; i < num_outputs; ++i)
    handed.emplace_back(wanted[i].memory != nullptr
                            ? nullptr
                            : hand_over(std::move(wanted[i].result), outputs[i].name),
                        [](abi::DLManagedTensor* tensor) { tensor->deleter(tensor); });
  for (size_t i = 0; i < num_outputs; ++i) outputs[i].result = handed[i].release();
}

}  // namespace slipway::dynamo_runner
