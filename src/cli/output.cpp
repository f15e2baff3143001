// Standard output: plain text and JSON.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/cli.h"
#include "slipway/error.h"

namespace slipway::cli {

void print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return;
  const int reason = errno;
  std::clearerr(stdout);
  if (reason == EPIPE) throw OutputClosed{};
  throw Error(kEnvironment,
              fmt::format("[output] cannot write to standard output: {}", std::strerror(reason)));
}

void print_json(const Json& json) {
  print(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string megabytes(int64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace slipway::cli
