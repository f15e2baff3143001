// Error kinds: names, exit codes, context, failed assertions.
#include "slipway/error.h"

#include <fmt/format.h>

namespace slipway {

const char* to_string(ErrorKind kind) {
  switch (kind) {
    case kUsage:
      return "usage";
    case kInvalid:
      return "invalid";
    case kUnsupported:
      return "unsupported";
    case kEnvironment:
      return "environment";
    case kInternal:
      return "internal";
  }
  return "internal";
}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case kUsage:
      return 2;
    case kInvalid:
      return 3;
    case kUnsupported:
      return 4;
    case kEnvironment:
      return 5;
    case kInternal:
      return 1;
  }
  return 1;
}

Error Error::with_context(std::string_view where) const {
  return Error(kind_, fmt::format("{}: {}", where, what()));
}

void detail::assertion_failed(const char* condition, const char* file, int line) {
  throw Error(kInternal, fmt::format("[internal] {}:{}: {} does not hold; please report this", file,
                                     line, condition));
}

}  // namespace slipway
