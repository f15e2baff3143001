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
constexpr uint32_t kVersion = 3;
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
  size_t num_states;  ///< what the graph keeps from run to run; names of none of the above
  const IoDescription* states;
};

/// An input of one run, or a state that shall begin so. The memory must stay valid and unchanged
/// until the call returns.
struct Input {
  const char* name;
  const DLTensor* tensor;
};

/// An output of one run, or a state as the run leaves it: written to `memory` where that is given
/// (its shape must be exact), otherwise allocated by the runtime and handed over in `result`,
/// without a copy.
struct Output {
  const char* name;
  const DLTensor* memory;
  DLManagedTensor* result;
};

struct Session;  ///< a loaded model; run() may be called from several threads at once
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
  ///   {"device": "cpu" | "cuda" | "cuda:1" | ...,      by its short name; without, the runtime's
  ///                                                    choice; or
  ///    "providers": ["CUDAExecutionProvider", ...],    providers in order of preference
  ///    "provider_options": {"CUDAExecutionProvider": {"key": "value"}},
  ///    "intra_op_threads": 0, "inter_op_threads": 0,   0: the runtime's default
  ///    "graph_optimization": "none" | "basic" | "extended" | "all",
  ///    "config": {"key": "value"}}                     passed to the runtime as they are
  Result (*create_session)(const char* path, const char* options, Session** out);
  void (*destroy_session)(Session* session);
  Result (*describe_session)(Session* session, const SessionDescription** out);

  /// Outputs of a failed run are left untouched. States begin anew in each run; a state's `memory`
  /// must be null.
  Result (*run)(Session* session, const Input* inputs, size_t num_inputs, Output* outputs,
                size_t num_outputs);

  /// A run whose inputs and outputs are known by their place in these lists, so that repeating it
  /// looks up nothing and makes no value anew that stayed the same. The caller keeps memory that
  /// was set alive until it is set anew or the call is destroyed; an input and an output may be
  /// the same memory when the graph can update it in place. States are the call's own and live
  /// from run to run. A session outlives its calls.
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

  /// All states become what they were at first.
  Result (*reset_states)(Call* call);
  /// The elements are copied.
  Result (*set_state)(Call* call, const char* name, const DLTensor* tensor);
  Result (*get_state)(Call* call, const char* name, DLManagedTensor** out);
};

using EntryPoint = const Runtime* (*)();

}  // namespace slipway::abi
