// What the system has left: asked before memory is taken that it would kill the process for.
#include "base/system_memory.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "slipway/error.h"

namespace slipway {
namespace {

constexpr uint64_t kCheckedFrom = uint64_t{64} << 20;

}  // namespace

std::optional<uint64_t> available_memory(const std::filesystem::path& meminfo) {
  std::ifstream file(meminfo);
  std::string word;
  uint64_t kilobytes = 0;
  while (file >> word)
    if (word == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  return std::nullopt;
}

void check_memory(uint64_t bytes, std::string_view where, std::string_view what) {
  if (bytes < kCheckedFrom) return;
  const std::optional<uint64_t> available = available_memory();
  if (!available || bytes <= *available) return;
  throw Error(kEnvironment,
              fmt::format("[{}] {} needs {} bytes of memory, the system has {} available; use "
                          "fewer rows or tokens",
                          where, what, bytes, *available));
}

}  // namespace slipway
