// What the system has left: asked before memory is taken that it would kill the process for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace slipway {

/// MemAvailable of a file like /proc/meminfo, in bytes; nothing where it cannot be read.
std::optional<uint64_t> available_memory(const std::filesystem::path& meminfo = "/proc/meminfo");

/// Throws Error{kEnvironment} naming both numbers when `bytes` are more than the system has
/// available. Amounts below 64 MiB are not looked up. `where` is the error's place, `what` the use:
/// "the cache".
void check_memory(uint64_t bytes, std::string_view where, std::string_view what);

}  // namespace slipway
