// A loaded OpenVINO model: its description, and running it.
#include "backends/openvino/runner/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/port_names.h"
#include "backends/openvino/runner/library.h"
#include "backends/openvino/runner/logits.h"
#include "backends/openvino/runner/options.h"
#include "backends/openvino/runner/tensors.h"
#include "runtime/huge_pages.h"
#include "slipway/error.h"

namespace slipway::openvino_runner {
namespace {

constexpr const char* kMmap = "ENABLE_MMAP";
constexpr const char* kPrecision = "INFERENCE_PRECISION_HINT";
constexpr const char* kCachePrecision = "KV_CACHE_PRECISION";

std::string name_of(const ov::Output<const ov::Node>& port) {
  std::string name = main_name(port.get_names());
  return name.empty() ? port.get_node()->get_friendly_name() : name;
}

/// What the file says under rt_info, at this path; empty where it says nothing.
std::string info_text(const ov::Model& model, const std::string& group, const std::string& key) {
  if (!model.has_rt_info(group, key)) return "";
  return model.get_rt_info<std::string>(group, key);
}

/// Throws Error{kUsage} naming what there is.
template <class Map>
size_t find_in(const Map& map, std::string_view name, std::string_view kind,
               const std::string& model) {
  if (const auto at = map.find(name); at != map.end()) return at->second;
  std::vector<std::string> names;
  for (const auto& entry : map) names.push_back(entry.first);
  throw Error(kUsage, fmt::format("[openvino] {} has no {} {}, it has {}", model, kind, name,
                                  fmt::join(names, ", ")));
}

/// What a device computes of what the file asks for: a CPU without float16 would take bfloat16,
/// which is a tenth as exact.
std::string computable(ov::Core& core, const std::string& device, const std::string& precision) {
  if (precision != "f16" || device != "CPU") return precision;
  const auto has = core.get_property(device, ov::device::capabilities);
  return std::ranges::find(has, "FP16") != has.end() ? precision : "f32";
}

/// Properties by themselves, before a model is compiled with them. Throws Error{kUsage} for one
/// that the device does not take, Error{kEnvironment} for a cache that nothing can be written to.
void check_properties(const Options& options) {
  for (const auto& [key, value] : options.properties) {
    if (key == "CACHE_DIR" && !value.empty()) {
      std::error_code error;
      std::filesystem::create_directories(value, error);
      if (error)
        throw Error(kEnvironment, fmt::format("[openvino] cannot make the folder CACHE_DIR {}: {}",
                                              value, error.message()));
    }
    if (options.device.find_first_of(":,") != std::string::npos || options.device == "AUTO")
      continue;  // each device of a list has its own
    try {
      ov::Core core;
      core.set_property(options.device, {{key, value}});
      core.get_property(options.device, ov::supported_properties);  // now it is looked at
    } catch (const std::exception& e) {
      const std::string why = reason(e.what());
      const size_t last = why.rfind("; ");  // before it: that the device cannot be made
      throw Error(kUsage, fmt::format("[openvino] got the session option {}={}: {}", key, value,
                                      last == why.npos ? why : why.substr(last + 2)));
    }
  }
}

}  // namespace

Model::Model(const std::filesystem::path& path, std::string_view options)
    : name_(path.filename().string()) {
  try {
    compile(path, options);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    const auto weights = std::filesystem::path(path).replace_extension(".bin");
    std::error_code ignored;
    if (!std::filesystem::exists(weights, ignored))
      throw Error(kInvalid, fmt::format("[openvino] {} cannot be loaded: its weights {} are "
                                        "missing; move the whole folder, not one file",
                                        path.string(), weights.filename().string()));
    rethrow(e, path.string(), Stage::kLoading);
  }
}

void Model::compile(const std::filesystem::path& path, std::string_view text) {
  Options options = read_options(text);
  // One for each model: what is set here is no matter of others.
  ov::Core core;
  const auto mmap = options.properties.extract(kMmap);
  core.set_property({{kMmap, mmap ? ov::Any(mmap.mapped()) : ov::Any(false)}});
  const std::shared_ptr<ov::Model> model = core.read_model(path.string());
  const std::shared_ptr<ov::Model> before = model->clone();
  keeps_logits_ = add_logits_to_keep(model);
  describe(*model);
  ov::AnyMap cpu, whole = {ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY)};
  if (options.threads > 0) cpu.insert(ov::inference_num_threads(options.threads));
  // The plug-in of the CPU does not obey what the file says, and picks bfloat16 by itself.
  if (const std::string precision = info_text(*model, "runtime_options", kPrecision);
      !precision.empty())
    whole[kPrecision] = computable(core, options.device, precision);
  if (options.device == "CPU") whole.insert(cpu.begin(), cpu.end());
  else if (options.device.rfind("AUTO", 0) == 0 && !cpu.empty())
    whole.insert(ov::device::properties("CPU", cpu));
  check_properties(options);
  for (const auto& [key, value] : options.properties) whole[key] = value;
  const HugePages pages;
  if (!compile_paged(core, *before, options, whole)) {
    compiled_ = core.compile_model(model, options.device, whole);
    ports_ = {compiled_.inputs(), compiled_.outputs()};
  }
  pages.advise();
}

bool Model::compile_paged(ov::Core& core, const ov::Model& model, const Options& options,
                          ov::AnyMap properties) {
  if (options.attention == Attention::kPlain) return false;
  if (options.attention == Attention::kAuto && states_.empty()) return false;
  try {
    const auto fail = [&](const std::string& why) {
      throw Error(kUnsupported,
                  fmt::format("[openvino] attention of {} cannot be paged: {}", name_, why));
    };
    if (options.device != "CPU") fail("that needs the device CPU");
    if (!keeps_logits_) fail("it is no decoder of several tokens");
    const PagedGraph graph = page_attention(model);
    if (graph.windows && options.attention == Attention::kAuto)
      fail("its windows would count without padding");
    // It computes in the precision of its blocks.
    if (!properties.contains(kPrecision)) fail("its file names no precision");
    const auto precision = properties.at(kPrecision).as<std::string>();
    const auto cache = properties.emplace(kCachePrecision, precision).first;
    if (cache->second.as<std::string>() != precision)
      fail(fmt::format("{} is {} and {} {}; give both the same value", kCachePrecision,
                       cache->second.as<std::string>(), kPrecision, precision));
    compiled_ = core.compile_model(graph.model, options.device, properties);
    paged_ = make_plan(compiled_, graph, model);
    return true;
  } catch (const std::exception& e) {
    if (options.attention == Attention::kPaged) throw;
    log_info(fmt::format("{}; it runs plain", e.what()));
    compiled_ = {};
    return false;
  }
}

const char* Model::keep(std::string text) { return strings_.emplace_back(std::move(text)).c_str(); }

void Model::describe_metadata(const ov::Model& model) {
  for (const char* key : {"ranges", "dims", "masks", "states"})
    if (std::string value = info_text(model, "slipway", key); !value.empty())
      metadata_.push_back({keep(fmt::format("slipway.{}", key)), keep(std::move(value))});
  const auto shapes = nlohmann::json::parse(info_text(model, "slipway", "shapes"), nullptr, false);
  if (!shapes.is_object()) return;
  for (const auto& [name, sizes] : shapes.items()) {
    if (!sizes.is_array()) continue;
    std::vector<std::string>& texts = stated_sizes_[name];
    for (const auto& size : sizes) texts.push_back(size.is_string() ? size.get<std::string>() : "");
  }
}

abi::IoDescription Model::describe_io(const std::string& name, const ov::element::Type& type,
                                      const ov::PartialShape& shape) {
  const std::string what = fmt::format("'{}' of {}", name, name_);
  abi::IoDescription io{};
  io.name = keep(name);
  io.dtype = dlpack_type(type, what);
  auto& sizes = sizes_.emplace_back();
  auto& symbols = symbols_.emplace_back();
  const auto stated = stated_sizes_.find(name);
  for (size_t axis = 0; shape.rank().is_static() && axis < shape.size(); ++axis) {
    sizes.push_back(shape[axis].is_static() ? shape[axis].get_length() : -1);
    const bool known = stated != stated_sizes_.end() && stated->second.size() == shape.size();
    symbols.push_back(sizes.back() < 0 && known ? keep(stated->second[axis]) : "");
  }
  io.num_dims = static_cast<int32_t>(sizes.size());
  io.sizes = sizes.data();
  io.symbols = symbols.data();
  return io;
}

void Model::describe(const ov::Model& model) {
  describe_metadata(model);
  for (const auto& variable : model.get_variables()) {
    const ov::op::util::VariableInfo& info = variable->get_info();
    state_names_.insert(info.variable_id);
    states_.push_back(describe_io(info.variable_id, info.data_type, info.data_shape));
  }
  // logits_to_keep is the last one.
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const auto port = model.input(i);
    const std::string name = name_of(port);
    for (const std::string& other : port.get_names()) input_numbers_.emplace(other, i);
    input_numbers_.emplace(name, i);
    auto& list = keeps_logits_ && name == kLogitsToKeep ? optional_inputs_ : inputs_;
    list.push_back(describe_io(name, port.get_element_type(), port.get_partial_shape()));
  }
  for (size_t i = 0; i < model.outputs().size(); ++i) {
    const auto port = model.output(i);
    const std::string name = name_of(port);
    for (const std::string& other : port.get_names()) output_numbers_.emplace(other, i);
    output_numbers_.emplace(name, i);
    outputs_.push_back(describe_io(name, port.get_element_type(), port.get_partial_shape()));
  }
  description_ = {inputs_.size(),          inputs_.data(),   optional_inputs_.size(),
                  optional_inputs_.data(), outputs_.size(),  outputs_.data(),
                  metadata_.size(),        metadata_.data(), states_.size(),
                  states_.data()};
}

size_t Model::input(std::string_view name) const {
  return find_in(input_numbers_, name, "input", name_);
}

size_t Model::output(std::string_view name) const {
  return find_in(output_numbers_, name, "output", name_);
}

std::unique_ptr<Request> Model::new_request() const {
  if (paged_)
    return std::make_unique<PagedRequest>(compiled_.create_infer_request(), *paged_, name_);
  auto request = std::make_unique<PlainRequest>(compiled_.create_infer_request(), ports_, name_);
  if (keeps_logits_) {
    ov::Tensor all(ov::element::i64, ov::Shape{});
    *all.data<int64_t>() = 0;
    request->set_input(input(kLogitsToKeep), all);
  }
  return request;
}

void Model::run(const abi::Input* inputs, size_t num_inputs, abi::Output* outputs,
                size_t num_outputs) const {
  // A request is used again after a run that succeeded.
  std::unique_ptr<Request> request;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) request = std::move(idle_.back()), idle_.pop_back();
  }
  if (!request) request = new_request();
  try {
    if (!states_.empty()) request->reset_states();
    bool keep_given = false;
    for (size_t i = 0; i < num_inputs; ++i) {
      const std::string_view name = inputs[i].name;
      keep_given = keep_given || name == kLogitsToKeep;
      const ov::Tensor value = wrap_tensor(*inputs[i].tensor, name);
      if (has_state(name)) request->set_state(name, value);
      else request->set_input(input(name), value);
    }
    // All of them: what an earlier run was given must not be written to again.
    for (size_t i = 0; i < outputs_.size(); ++i) request->set_output(i, {});
    for (size_t i = 0; i < num_outputs; ++i)
      if (outputs[i].memory != nullptr)
        request->set_output(output(outputs[i].name),
                            wrap_tensor(*outputs[i].memory, outputs[i].name));
    request->infer();
    take_outputs(*request, outputs, num_outputs);
    // The caller's memory is forgotten with the request.
    if (keeps_logits_ && keep_given) return;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    rethrow(e, name_, Stage::kRunning);
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(request));
}

void Model::take_outputs(Request& request, abi::Output* outputs, size_t num_outputs) const {
  // Either all outputs are handed over or none.
  using Handed = std::unique_ptr<abi::DLManagedTensor, void (*)(abi::DLManagedTensor*)>;
  std::vector<Handed> handed;
  const auto self = std::const_pointer_cast<Model>(shared_from_this());
  for (size_t i = 0; i < num_outputs; ++i) {
    const char* name = outputs[i].name;
    ov::Tensor value;
    if (has_state(name)) value = request.copy_state(name);
    else if (outputs[i].memory == nullptr) value = request.output(output(name));
    handed.emplace_back(value ? hand_over(std::move(value), self, name) : nullptr,
                        [](abi::DLManagedTensor* tensor) { tensor->deleter(tensor); });
  }
  for (size_t i = 0; i < num_outputs; ++i) outputs[i].result = handed[i].release();
}

}  // namespace slipway::openvino_runner
