// A run of a session that is repeated with the same names, at little cost of our own.
#include "runtime/repeated_call.h"

#include "runtime/plugin.h"

namespace slipway {
namespace {

std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> result;
  for (const std::string& name : names) result.push_back(name.c_str());
  return result;
}

abi::DLTensor describe(DType dtype, std::span<const int64_t> shape, const void* data) {
  abi::DLTensor dl{};
  dl.data = const_cast<void*>(data);
  dl.device = {abi::kDLCPU, 0};
  dl.ndim = static_cast<int32_t>(shape.size());
  dl.dtype = abi::to_dlpack(dtype);
  dl.shape = const_cast<int64_t*>(shape.data());
  return dl;
}

}  // namespace

RepeatedCall::RepeatedCall(const Session& session, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs)
    : api_(&session.plugin_->api()), session_(session.handle_) {
  const auto in = pointers(inputs), out = pointers(outputs);
  abi::Call* handle = nullptr;
  throw_on_failure(
      api_->create_call(session_.get(), in.data(), in.size(), out.data(), out.size(), &handle));
  handle_ = std::shared_ptr<abi::Call>(handle, [destroy = api_->destroy_call](abi::Call* call) {
    if (!runtimes_ended()) destroy(call);
  });
}

void RepeatedCall::set_input(size_t input, const Tensor& tensor) {
  set_input(input, tensor.dtype(), tensor.shape(), tensor.data());
}

void RepeatedCall::set_output(size_t output, const Tensor& memory) {
  set_output(output, memory.dtype(), memory.shape(), const_cast<std::byte*>(memory.data()));
}

void RepeatedCall::set_input(size_t input, DType dtype, std::span<const int64_t> shape,
                             const void* data) {
  const abi::DLTensor dl = describe(dtype, shape, data);
  throw_on_failure(api_->set_call_input(handle_.get(), input, &dl));
}

void RepeatedCall::set_output(size_t output, DType dtype, std::span<const int64_t> shape,
                              void* data) {
  const abi::DLTensor dl = describe(dtype, shape, data);
  throw_on_failure(api_->set_call_output(handle_.get(), output, &dl));
}

void RepeatedCall::clear_output(size_t output) {
  throw_on_failure(api_->set_call_output(handle_.get(), output, nullptr));
}

void RepeatedCall::feed_back(size_t output, size_t input) {
  throw_on_failure(api_->feed_back(handle_.get(), output, input));
}

void RepeatedCall::run() { throw_on_failure(api_->run_call(handle_.get(), &nanoseconds_)); }

Tensor RepeatedCall::take_output(size_t output) {
  abi::DLManagedTensor* managed = nullptr;
  throw_on_failure(api_->call_output(handle_.get(), output, &managed));
  return detail::take(managed);
}

void RepeatedCall::reset_states() { throw_on_failure(api_->reset_states(handle_.get())); }

void RepeatedCall::set_state(const std::string& name, const Tensor& tensor) {
  const abi::DLTensor dl = detail::view(tensor);
  throw_on_failure(api_->set_state(handle_.get(), name.c_str(), &dl));
}

Tensor RepeatedCall::get_state(const std::string& name) const {
  abi::DLManagedTensor* managed = nullptr;
  throw_on_failure(api_->get_state(handle_.get(), name.c_str(), &managed));
  return detail::take(managed);
}

}  // namespace slipway
