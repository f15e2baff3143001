// The one exception type of Slipway and the kinds of mistakes it tells apart.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace slipway {

/// Who has to act on an error. The command line maps each kind to an exit code.
enum class ErrorKind {
  kUsage,        ///< The call or command line is malformed (exit code 2).
  kInvalid,      ///< An input - a file, a tensor, a configuration - is wrong (exit code 3).
  kUnsupported,  ///< The input is valid but asks for something that is not supported (exit code 4).
  kEnvironment,  ///< The machine: a missing runtime, a full disk, a read-only folder (exit code 5).
  kInternal,     ///< A fault of Slipway itself (exit code 1).
};

using enum ErrorKind;

/// The name of a kind as `--json` prints it: "usage", "invalid", "unsupported", "environment",
/// "internal".
const char* to_string(ErrorKind kind);

/// The process exit code that belongs to a kind.
int exit_code(ErrorKind kind);

/// Thrown for every failure. The message says where, what was got, what is needed and what to do:
/// "[where] got X, need Y; do Z".
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const { return kind_; }

  /// The same error with `where` put in front: layers add what they know on the way up.
  Error with_context(std::string_view where) const;

 private:
  ErrorKind kind_;
};

namespace detail {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}  // namespace detail

}  // namespace slipway

/// Checks an invariant of Slipway itself, in every build; a failure is Error{kInternal}.
#define SLIPWAY_ASSERT(condition) \
  ((condition) ? (void)0 : ::slipway::detail::assertion_failed(#condition, __FILE__, __LINE__))
