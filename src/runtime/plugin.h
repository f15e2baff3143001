// Finds and opens the plug-in library of a runtime.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/abi.h"

namespace slipway {

/// A runtime plug-in. Opened once a process and never closed, so references stay valid.
class Plugin {
 public:
  /// The plug-in of an export format ("onnx"): libslipway_runtime_<format>.so, looked for in the
  /// environment variable SLIPWAY_RUNTIME_DIR (nowhere else when it is set), in ../lib relative to
  /// the executable, in the folder of this library, and in the build tree. Throws
  /// Error{kEnvironment} that says where it looked and how to get it. Thread-safe.
  static const Plugin& load(std::string_view format);

  const abi::Runtime& api() const { return *api_; }
  const std::filesystem::path& path() const { return path_; }

  /// The runtime library behind the plug-in, loaded by this call where it is not yet. Throws
  /// Error{kEnvironment} when it is missing.
  const abi::RuntimeDescription& runtime() const;

  /// To be called when the plug-in has opened a session, and with it all libraries that it needs.
  void mark_end() const;

 private:
  const abi::Runtime* api_ = nullptr;
  std::filesystem::path path_;
  mutable std::once_flag marked_;
};

/// Whether the process ends and runtimes may have ended already. What a static object of the caller
/// has of them, made before they were loaded, is then left alone: their own statics are gone.
bool runtimes_ended();

/// Throws the failure of a call into a plug-in, with the plug-in's kind and text.
void throw_on_failure(abi::Result result);

}  // namespace slipway
