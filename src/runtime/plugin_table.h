// The functions that a runtime plug-in exports, over the classes of its runner.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "runtime/abi.h"
#include "slipway/error.h"

namespace slipway {

/// Nothing is thrown past the table. A `Runner` has
///   kName                        in front of messages
///   Model(path, options)         description(), run(inputs, n, outputs, n)
///   RepeatedCall(shared Model, input names, output names)
///                                set_input, set_output, feed_back, run, take_output, and where
///                                graphs keep states, reset_states, set_state, get_state
///   description()                of the runtime library
///   set_logger(log)
///   rethrow_as_ours()            turns the current exception of the runtime library into an Error,
///                                and throws any other again
template <class Runner>
class PluginTable {
 public:
  static const abi::Runtime* get() { return &kTable; }

 private:
  // The C interface knows these by pointers only.
  struct Session {
    std::shared_ptr<typename Runner::Model> model;
  };
  using Call = typename Runner::RepeatedCall;

  static Session& of(abi::Session* session) { return *reinterpret_cast<Session*>(session); }
  static Call& of(abi::Call* call) { return *reinterpret_cast<Call*>(call); }

  static abi::Result fail(ErrorKind kind, std::string text) {
    static thread_local std::string kept;
    static thread_local abi::Failure failure;
    kept = std::move(text);
    failure = {static_cast<int32_t>(kind), kept.c_str()};
    return &failure;
  }

  /// Runs a function and turns whatever it throws into a Failure.
  template <class Function>
  static abi::Result guarded(Function function) noexcept {
    try {
      try {
        function();
        return nullptr;
      } catch (const Error&) {
        throw;
      } catch (...) {
        Runner::rethrow_as_ours();
      }
    } catch (const Error& e) {
      return fail(e.kind(), e.what());
    } catch (const std::bad_alloc&) {
      return fail(kEnvironment, fmt::format("[{}] out of memory", Runner::kName));
    } catch (const std::exception& e) {
      return fail(kInternal, fmt::format("[{}] {}", Runner::kName, e.what()));
    } catch (...) {
      return fail(kInternal, fmt::format("[{}] unknown exception", Runner::kName));
    }
  }

  static void need(bool condition, const char* what) {
    if (!condition)
      throw Error(kUsage, fmt::format("[{}] got a null pointer for {}", Runner::kName, what));
  }

  static abi::Result describe_runtime(const abi::RuntimeDescription** out) {
    return guarded([&] {
      need(out != nullptr, "the result");
      *out = &Runner::description();
    });
  }

  static abi::Result create_session(const char* path, const char* options, abi::Session** out) {
    return guarded([&] {
      need(path != nullptr && options != nullptr && out != nullptr, "path, options or result");
      *out = reinterpret_cast<abi::Session*>(
          new Session{std::make_shared<typename Runner::Model>(path, options)});
    });
  }

  static void destroy_session(abi::Session* session) { delete reinterpret_cast<Session*>(session); }

  static abi::Result describe_session(abi::Session* session, const abi::SessionDescription** out) {
    return guarded([&] {
      need(session != nullptr && out != nullptr, "session or result");
      *out = &of(session).model->description();
    });
  }

  static abi::Result run(abi::Session* session, const abi::Input* inputs, size_t num_inputs,
                         abi::Output* outputs, size_t num_outputs) {
    return guarded([&] {
      need(session != nullptr, "the session");
      for (size_t i = 0; i < num_inputs; ++i)
        need(inputs[i].name != nullptr && inputs[i].tensor != nullptr, "an input");
      for (size_t i = 0; i < num_outputs; ++i) need(outputs[i].name != nullptr, "an output");
      of(session).model->run(inputs, num_inputs, outputs, num_outputs);
    });
  }

  static abi::Result create_call(abi::Session* session, const char* const* inputs,
                                 size_t num_inputs, const char* const* outputs, size_t num_outputs,
                                 abi::Call** out) {
    return guarded([&] {
      need(session != nullptr && out != nullptr, "session or result");
      for (size_t i = 0; i < num_inputs; ++i) need(inputs[i] != nullptr, "an input");
      for (size_t i = 0; i < num_outputs; ++i) need(outputs[i] != nullptr, "an output");
      *out = reinterpret_cast<abi::Call*>(
          new Call(of(session).model, {inputs, num_inputs}, {outputs, num_outputs}));
    });
  }

  static void destroy_call(abi::Call* call) { delete reinterpret_cast<Call*>(call); }

  static abi::Result set_call_input(abi::Call* call, size_t input, const abi::DLTensor* tensor) {
    return guarded([&] {
      need(call != nullptr && tensor != nullptr, "call or tensor");
      of(call).set_input(input, *tensor);
    });
  }

  static abi::Result set_call_output(abi::Call* call, size_t output, const abi::DLTensor* memory) {
    return guarded([&] {
      need(call != nullptr, "the call");
      of(call).set_output(output, memory);
    });
  }

  static abi::Result feed_back(abi::Call* call, size_t output, size_t input) {
    return guarded([&] {
      need(call != nullptr, "the call");
      of(call).feed_back(output, input);
    });
  }

  static abi::Result run_call(abi::Call* call, int64_t* nanoseconds) {
    return guarded([&] {
      need(call != nullptr && nanoseconds != nullptr, "call or result");
      *nanoseconds += of(call).run();
    });
  }

  static abi::Result call_output(abi::Call* call, size_t output, abi::DLManagedTensor** out) {
    return guarded([&] {
      need(call != nullptr && out != nullptr, "call or result");
      *out = of(call).take_output(output);
    });
  }

  static constexpr bool kHasStates = requires(Call & call) { call.reset_states(); };

  static void need_states() {
    if constexpr (!kHasStates)
      throw Error(kUnsupported,
                  fmt::format("[{}] graphs keep no states in this runtime", Runner::kName));
  }

  static abi::Result reset_states(abi::Call* call) {
    return guarded([&] {
      need(call != nullptr, "the call");
      need_states();
      if constexpr (kHasStates) of(call).reset_states();
    });
  }

  static abi::Result set_state(abi::Call* call, const char* name, const abi::DLTensor* tensor) {
    return guarded([&] {
      need(call != nullptr && name != nullptr && tensor != nullptr, "call, name or tensor");
      need_states();
      if constexpr (kHasStates) of(call).set_state(name, *tensor);
    });
  }

  static abi::Result get_state(abi::Call* call, const char* name, abi::DLManagedTensor** out) {
    return guarded([&] {
      need(call != nullptr && name != nullptr && out != nullptr, "call, name or result");
      need_states();
      if constexpr (kHasStates) *out = of(call).get_state(name);
    });
  }

  static constexpr abi::Runtime kTable{
      .version = abi::kVersion,
      .table_bytes = sizeof(abi::Runtime),
      .set_logger = Runner::set_logger,
      .describe_runtime = describe_runtime,
      .create_session = create_session,
      .destroy_session = destroy_session,
      .describe_session = describe_session,
      .run = run,
      .create_call = create_call,
      .destroy_call = destroy_call,
      .set_call_input = set_call_input,
      .set_call_output = set_call_output,
      .feed_back = feed_back,
      .run_call = run_call,
      .call_output = call_output,
      .reset_states = reset_states,
      .set_state = set_state,
      .get_state = get_state,
  };
};

/// What `slipway_runtime_api` returns.
template <class Runner>
const abi::Runtime* plugin_table() {
  return PluginTable<Runner>::get();
}

}  // namespace slipway
