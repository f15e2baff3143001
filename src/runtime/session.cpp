// A model loaded by a runtime: what it takes, what it gives, and running it.
#include "runtime/session.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/parallel.h"
#include "runtime/plugin.h"

namespace slipway {

namespace detail {

abi::DLTensor view(const Tensor& tensor) {
  abi::DLTensor dl{};
  dl.data = const_cast<std::byte*>(tensor.data());
  dl.device = {abi::kDLCPU, 0};
  dl.ndim = static_cast<int32_t>(tensor.rank());
  dl.dtype = abi::to_dlpack(tensor.dtype());
  dl.shape = const_cast<int64_t*>(tensor.shape().data());
  return dl;
}

Tensor take(abi::DLManagedTensor* managed) {
  SLIPWAY_ASSERT(managed != nullptr);
  const std::shared_ptr<void> owner(managed, [](void* p) {
    auto* self = static_cast<abi::DLManagedTensor*>(p);
    if (!runtimes_ended()) self->deleter(self);
  });
  const abi::DLTensor& dl = managed->dl_tensor;
  const std::optional<DType> dtype = abi::from_dlpack(dl.dtype);
  SLIPWAY_ASSERT(dtype && dl.device.device_type == abi::kDLCPU && dl.strides == nullptr);
  auto* data = dl.data != nullptr ? static_cast<std::byte*>(dl.data) + dl.byte_offset : nullptr;
  return Tensor::wrap(*dtype, Shape(dl.shape, dl.shape + dl.ndim), data, owner);
}

}  // namespace detail

namespace {

using detail::take;
using detail::view;

std::string options_json(const SessionOptions& options) {
  nlohmann::json json = nlohmann::json::object();
  if (!options.providers.empty()) json["providers"] = options.providers;
  else if (!options.device.empty()) json["device"] = options.device;
  if (!options.provider_options.empty()) json["provider_options"] = options.provider_options;
  json["intra_op_threads"] =
      options.intra_op_threads > 0 ? options.intra_op_threads : num_threads();
  json["inter_op_threads"] = options.inter_op_threads;
  constexpr const char* kLevels[] = {"none", "basic", "extended", "all"};
  json["graph_optimization"] = kLevels[static_cast<int>(options.graph_optimization)];
  if (!options.config.empty()) json["config"] = options.config;
  return json.dump();
}

/// The reference's exporter writes some fixed sizes as symbols named "2" or "8".
DimSpec dim_spec(int64_t size, const std::string& symbol) {
  int64_t number = 0;
  const char* end = symbol.data() + symbol.size();
  const auto parsed = std::from_chars(symbol.data(), end, number);
  const bool is_number = !symbol.empty() && parsed.ec == std::errc() && parsed.ptr == end;
  if (size < 0 && is_number && number >= 0) return {number, ""};
  return {size < 0 ? -1 : size, symbol};
}

std::vector<IoSpec> specs(const abi::IoDescription* ios, size_t count) {
  std::vector<IoSpec> result;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<DType> dtype = abi::from_dlpack(ios[i].dtype);
    SLIPWAY_ASSERT(dtype.has_value());
    IoSpec spec{ios[i].name, *dtype, {}, false, false};
    for (int32_t d = 0; d < ios[i].num_dims; ++d)
      spec.dims.push_back(dim_spec(ios[i].sizes[d], ios[i].symbols[d]));
    result.push_back(std::move(spec));
  }
  return result;
}

}  // namespace

std::string DimSpec::text() const {
  if (is_fixed()) return std::to_string(size);
  return symbol.empty() ? "?" : symbol;
}

std::string IoSpec::dims_text() const {
  std::string text;
  for (const DimSpec& dim : dims) text += (text.empty() ? "" : ", ") + dim.text();
  return "[" + text + "]";
}

Session Session::open(std::string_view format, const std::filesystem::path& path,
                      const SessionOptions& options) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error || !std::filesystem::is_regular_file(absolute, error))
    throw Error(kInvalid, fmt::format("[runtime] {} is not a file", path.string()));
  Session session;
  session.plugin_ = &Plugin::load(format);
  session.path_ = absolute;
  const abi::Runtime& api = session.plugin_->api();
  abi::Session* handle = nullptr;
  throw_on_failure(api.create_session(absolute.c_str(), options_json(options).c_str(), &handle));
  session.plugin_->mark_end();
  session.handle_ =
      std::shared_ptr<abi::Session>(handle, [destroy = api.destroy_session](abi::Session* opened) {
        if (!runtimes_ended()) destroy(opened);
      });
  const abi::SessionDescription* description = nullptr;
  throw_on_failure(api.describe_session(handle, &description));
  session.inputs_ = specs(description->inputs, description->num_inputs);
  for (IoSpec& spec : specs(description->optional_inputs, description->num_optional_inputs)) {
    spec.optional = true;
    session.inputs_.push_back(std::move(spec));
  }
  for (IoSpec& spec : specs(description->states, description->num_states)) {
    spec.optional = spec.state = true;
    session.inputs_.push_back(std::move(spec));
  }
  session.outputs_ = specs(description->outputs, description->num_outputs);
  for (size_t i = 0; i < description->num_metadata; ++i)
    session.metadata_[description->metadata[i].key] = description->metadata[i].value;
  return session;
}

std::string Session::runtime() const {
  return fmt::format("{} {}", plugin_->runtime().name, plugin_->runtime().version);
}

NamedTensors Session::run(const std::map<std::string, Tensor>& inputs,
                          const std::vector<std::string>& wanted) const {
  return run_into(inputs, {}, wanted);
}

NamedTensors Session::run_into(const std::map<std::string, Tensor>& inputs,
                               const std::map<std::string, Tensor>& memory,
                               const std::vector<std::string>& wanted) const {
  std::vector<std::string> names = wanted;
  if (names.empty())
    for (const IoSpec& output : outputs_) names.push_back(output.name);
  // Reserved: the arrays below point into these.
  std::vector<abi::DLTensor> views;
  views.reserve(inputs.size() + names.size());
  std::vector<abi::Input> in;
  for (const auto& [name, tensor] : inputs) {
    if (!tensor.defined())
      throw Error(kUsage, fmt::format("[runtime] the input {} is an undefined tensor", name));
    in.push_back({name.c_str(), &views.emplace_back(view(tensor))});
  }
  std::vector<abi::Output> out;
  for (const std::string& name : names) {
    const auto at = memory.find(name);
    out.push_back({name.c_str(),
                   at == memory.end() ? nullptr : &views.emplace_back(view(at->second)), nullptr});
  }
  throw_on_failure(plugin_->api().run(handle_.get(), in.data(), in.size(), out.data(), out.size()));
  std::vector<Tensor> taken;  // every result has its owner before anything else can fail
  taken.reserve(out.size());
  for (const abi::Output& output : out)
    taken.push_back(output.memory != nullptr ? memory.at(output.name) : take(output.result));
  NamedTensors results;
  for (size_t i = 0; i < names.size(); ++i) results.emplace_back(names[i], std::move(taken[i]));
  return results;
}

}  // namespace slipway
