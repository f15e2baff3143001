// The C interface between the host and a runtime plug-in: plain structs and function pointers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/dlpack.h"

// A plug-in is a shared library that exports one symbol, `slipway_runtime_api`, of type
// `const slipway::abi::Runtime* (*)()`. No exception and no C++ type crosses this boundary, all
// strings are UTF-8 and end with a zero byte. A plug-in is never unloaded.

namespace slipway::abi {

/// Raised whenever a struct below changes in place. New functions are appended to Runtime without
/// raising it; `table_bytes` tells which exist.
constexpr uint32_t kVersion = 2;
constexpr const char* kEntryPoint = "slipway_runtime_api";

/// Why a call failed. `kind` is a slipway::ErrorKind; the text stays valid until the calling
/// thread's next call into the plug-in.
struct Failure {
  int32_t kind;
  const char* text;
};
/// Null means success.
using Result = const Failure*;

/// What the runtime library behind the plug-in is. Lives as long as the process.
struct RuntimeDescription {
  const char* name;
  const char* version;
  const char* library;  ///< the file it was loaded from
  size_t num_providers;
  const char* const* providers;  ///< best first
};

/// One input or output. A dimension of size -1 is symbolic; symbols[i] is its name or expression,
/// or "" where the graph gives none. num_dims is 0 for a scalar and for an unstated shape.
struct IoDescription {
  const char* name;
  DLDataType dtype;
  int32_t num_dims;
  const int64_t* sizes;
  const char* const* symbols;
};

struct KeyValue {
  const char* key;
  const char* value;
};

/// Lives as long as its session.
struct SessionDescription {
  size_t num_inputs;
  const IoDescription* inputs;
  size_t num_optional_inputs;  ///< inputs with a default in the graph; they may be left out
  const IoDescription* optional_inputs;
  size_t num_outputs;
  const IoDescription* outputs;
  size_t num_metadata;
  const KeyValue* metadata;
};

/// An input of one run. The memory must stay valid and unchanged until the call returns.
struct Input {
  const char* name;
  const DLTensor* tensor;
};

/// An output of one run: written to `memory` where that is given (its shape must be exact),
/// otherwise allocated by the runtime and handed over in `result`, without a copy.
struct Output {
  const char* name;
  const DLTensor* memory;
  DLManagedTensor* result;
};

struct Session;  ///< a loaded model; run() may be called from several threads at once
struct Binding;  ///< inputs and outputs bound to fixed memory; one thread at a time
struct Call;     ///< a run that is repeated with the same names; one thread at a time

enum LogLevel : int32_t { kLogDebug = 0, kLogInfo = 1, kLogWarning = 2 };

struct Runtime {
  uint32_t version;      ///< kVersion
  uint32_t table_bytes;  ///< sizeof(Runtime) of the plug-in

  /// Where the runtime's own messages go; process-wide, called from any thread.
  void (*set_logger)(void (*log)(int32_t level, const char* text));

  /// Loads the runtime library if that has not happened yet.
  Result (*describe_runtime)(const RuntimeDescription** out);

  /// Opens a model by path. `options` is JSON text:
  ///   {"device": "cpu" | "cuda" | "cuda:1" | ...,      the provider by its short name, or
  ///    "providers": ["CUDAExecutionProvider", ...],    providers in order of preference
  ///    "provider_options": {"CUDAExecutionProvider": {"key": "value"}},
  ///    "intra_op_threads": 0, "inter_op_threads": 0,   0: the runtime's default
  ///    "graph_optimization": "none" | "basic" | "extended" | "all",
  ///    "config": {"key": "value"}}                     passed to the runtime as they are
  Result (*create_session)(const char* path, const char* options, Session** out);
  void (*destroy_session)(Session* session);
  Result (*describe_session)(Session* session, const SessionDescription** out);

  /// Outputs of a failed run are left untouched.
  Result (*run)(Session* session, const Input* inputs, size_t num_inputs, Output* outputs,
                size_t num_outputs);

  /// Binds memory once for many runs. The caller keeps bound memory alive until it is rebound or
  /// the binding is destroyed; an input and an output may be bound to the same memory when the
  /// graph can update it in place. A session outlives its bindings.
  Result (*create_binding)(Session* session, Binding** out);
  void (*destroy_binding)(Binding* binding);
  Result (*bind_input)(Binding* binding, const char* name, const DLTensor* tensor);
  /// `memory` null: the runtime allocates the output anew in each run.
  Result (*bind_output)(Binding* binding, const char* name, const DLTensor* memory);
  Result (*run_binding)(Binding* binding);
  /// The value of an output after run_binding, handed over; it shares bound memory.
  Result (*binding_output)(Binding* binding, const char* name, DLManagedTensor** out);

  /// A run whose inputs and outputs are known by their place in these lists, so that repeating it
  /// looks up nothing and makes no value anew that stayed the same. Memory as for bindings.
  Result (*create_call)(Session* session, const char* const* inputs, size_t num_inputs,
                        const char* const* outputs, size_t num_outputs, Call** out);
  void (*destroy_call)(Call* call);
  Result (*set_call_input)(Call* call, size_t input, const DLTensor* tensor);
  /// `memory` null: the runtime allocates the output in each run.
  Result (*set_call_output)(Call* call, size_t output, const DLTensor* memory);
  /// The memory that an output was set to becomes an input, and the output needs to be set again.
  Result (*feed_back)(Call* call, size_t output, size_t input);
  /// Needs all inputs set. Adds the time spent inside the runtime to `nanoseconds`.
  Result (*run_call)(Call* call, int64_t* nanoseconds);
  /// The value of an output that the runtime allocated, handed over.
  Result (*call_output)(Call* call, size_t output, DLManagedTensor** out);
};

using EntryPoint = const Runtime* (*)();

}  // namespace slipway::abi
