// The table of functions that the ONNX Runtime plug-in exports; nothing is thrown past it.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "backends/onnx/runner/call.h"
#include "backends/onnx/runner/library.h"
#include "backends/onnx/runner/session.h"
#include "slipway/error.h"

namespace slipway::abi {

struct Session {
  std::shared_ptr<onnx_runner::Model> model;
};

struct Binding {
  onnx_runner::BoundModel bound;
};

struct Call {
  onnx_runner::RepeatedCall repeated;
};

}  // namespace slipway::abi

namespace slipway::onnx_runner {
namespace {

abi::Result fail(ErrorKind kind, std::string text) {
  static thread_local std::string kept;
  static thread_local abi::Failure failure;
  kept = std::move(text);
  failure = {static_cast<int32_t>(kind), kept.c_str()};
  return &failure;
}

/// Runs a call and turns whatever it throws into a Failure.
template <class Call>
abi::Result guarded(Call call) noexcept {
  try {
    call();
    return nullptr;
  } catch (const Error& e) {
    return fail(e.kind(), e.what());
  } catch (const Ort::Exception& e) {
    try {
      rethrow(e, "a tensor", Stage::kRunning);
    } catch (const Error& ours) {
      return fail(ours.kind(), ours.what());
    }
  } catch (const std::bad_alloc&) {
    return fail(kEnvironment, "[onnx] out of memory");
  } catch (const std::exception& e) {
    return fail(kInternal, fmt::format("[onnx] {}", e.what()));
  } catch (...) {
    return fail(kInternal, "[onnx] unknown exception");
  }
}

void need(bool condition, const char* what) {
  if (!condition) throw Error(kUsage, fmt::format("[onnx] got a null pointer for {}", what));
}

abi::Result describe_runtime(const abi::RuntimeDescription** out) {
  return guarded([&] {
    need(out != nullptr, "the result");
    static const auto* names = [] {
      auto* made = new std::vector<const char*>;
      for (const std::string& provider : library().providers) made->push_back(provider.c_str());
      return made;
    }();
    static const abi::RuntimeDescription description{"ONNX Runtime", library().version.c_str(),
                                                     library().path.c_str(), names->size(),
                                                     names->data()};
    *out = &description;
  });
}

abi::Result create_session(const char* path, const char* options, abi::Session** out) {
  return guarded([&] {
    need(path != nullptr && options != nullptr && out != nullptr, "path, options or result");
    *out = new abi::Session{std::make_shared<Model>(path, options)};
  });
}

void destroy_session(abi::Session* session) { delete session; }

abi::Result describe_session(abi::Session* session, const abi::SessionDescription** out) {
  return guarded([&] {
    need(session != nullptr && out != nullptr, "session or result");
    *out = &session->model->description();
  });
}

abi::Result run(abi::Session* session, const abi::Input* inputs, size_t num_inputs,
                abi::Output* outputs, size_t num_outputs) {
  return guarded([&] {
    need(session != nullptr, "the session");
    for (size_t i = 0; i < num_inputs; ++i)
      need(inputs[i].name != nullptr && inputs[i].tensor != nullptr, "an input");
    for (size_t i = 0; i < num_outputs; ++i) need(outputs[i].name != nullptr, "an output");
    session->model->run(inputs, num_inputs, outputs, num_outputs);
  });
}

abi::Result create_binding(abi::Session* session, abi::Binding** out) {
  return guarded([&] {
    need(session != nullptr && out != nullptr, "session or result");
    *out = new abi::Binding{BoundModel(session->model)};
  });
}

void destroy_binding(abi::Binding* binding) { delete binding; }

abi::Result bind_input(abi::Binding* binding, const char* name, const abi::DLTensor* tensor) {
  return guarded([&] {
    need(binding != nullptr && name != nullptr && tensor != nullptr, "binding, name or tensor");
    binding->bound.bind_input(name, *tensor);
  });
}

abi::Result bind_output(abi::Binding* binding, const char* name, const abi::DLTensor* memory) {
  return guarded([&] {
    need(binding != nullptr && name != nullptr, "binding or name");
    binding->bound.bind_output(name, memory);
  });
}

abi::Result run_binding(abi::Binding* binding) {
  return guarded([&] {
    need(binding != nullptr, "the binding");
    binding->bound.run();
  });
}

abi::Result binding_output(abi::Binding* binding, const char* name, abi::DLManagedTensor** out) {
  return guarded([&] {
    need(binding != nullptr && name != nullptr && out != nullptr, "binding, name or result");
    *out = binding->bound.output(name);
  });
}

abi::Result create_call(abi::Session* session, const char* const* inputs, size_t num_inputs,
                        const char* const* outputs, size_t num_outputs, abi::Call** out) {
  return guarded([&] {
    need(session != nullptr && out != nullptr, "session or result");
    for (size_t i = 0; i < num_inputs; ++i) need(inputs[i] != nullptr, "an input");
    for (size_t i = 0; i < num_outputs; ++i) need(outputs[i] != nullptr, "an output");
    *out =
        new abi::Call{RepeatedCall(session->model, {inputs, num_inputs}, {outputs, num_outputs})};
  });
}

void destroy_call(abi::Call* call) { delete call; }

abi::Result set_call_input(abi::Call* call, size_t input, const abi::DLTensor* tensor) {
  return guarded([&] {
    need(call != nullptr && tensor != nullptr, "call or tensor");
    call->repeated.set_input(input, *tensor);
  });
}

abi::Result set_call_output(abi::Call* call, size_t output, const abi::DLTensor* memory) {
  return guarded([&] {
    need(call != nullptr, "the call");
    call->repeated.set_output(output, memory);
  });
}

abi::Result feed_back(abi::Call* call, size_t output, size_t input) {
  return guarded([&] {
    need(call != nullptr, "the call");
    call->repeated.feed_back(output, input);
  });
}

abi::Result run_call(abi::Call* call, int64_t* nanoseconds) {
  return guarded([&] {
    need(call != nullptr && nanoseconds != nullptr, "call or result");
    *nanoseconds += call->repeated.run();
  });
}

abi::Result call_output(abi::Call* call, size_t output, abi::DLManagedTensor** out) {
  return guarded([&] {
    need(call != nullptr && out != nullptr, "call or result");
    *out = call->repeated.take_output(output);
  });
}

constexpr abi::Runtime kRuntime{
    .version = abi::kVersion,
    .table_bytes = sizeof(abi::Runtime),
    .set_logger = set_logger,
    .describe_runtime = describe_runtime,
    .create_session = create_session,
    .destroy_session = destroy_session,
    .describe_session = describe_session,
    .run = run,
    .create_binding = create_binding,
    .destroy_binding = destroy_binding,
    .bind_input = bind_input,
    .bind_output = bind_output,
    .run_binding = run_binding,
    .binding_output = binding_output,
    .create_call = create_call,
    .destroy_call = destroy_call,
    .set_call_input = set_call_input,
    .set_call_output = set_call_output,
    .feed_back = feed_back,
    .run_call = run_call,
    .call_output = call_output,
};

}  // namespace
}  // namespace slipway::onnx_runner

extern "C" __attribute__((visibility("default"))) const slipway::abi::Runtime*
slipway_runtime_api() {
  return &slipway::onnx_runner::kRuntime;
}
