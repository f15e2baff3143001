// How much memory the process has used for itself, file pages not counted.
#include "cli/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/system_memory.h"

namespace slipway::cli {
namespace {

/// The sum of these lines of /proc/self/status.
int64_t status_bytes(std::initializer_list<std::string_view> names) {
  std::ifstream status("/proc/self/status");
  int64_t total = 0;
  std::string word;
  while (status >> word)
    if (std::find(names.begin(), names.end(), word) != names.end()) {
      int64_t kilobytes = 0;
      if (status >> kilobytes) total += kilobytes * 1024;
    }
  return total;
}

/// Anonymous pages in memory, and those that were swapped out.
int64_t anonymous_bytes() { return status_bytes({"RssAnon:", "VmSwap:"}); }

}  // namespace

void stay_within_memory() {
  const std::optional<uint64_t> available = available_memory();
  const int64_t used = status_bytes({"VmData:"});
  struct rlimit limit {};
  if (!available || used == 0 || ::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(used) + *available);
  ::setrlimit(RLIMIT_DATA, &limit);  // where it cannot be set all is as without it
}

MemoryWatch::MemoryWatch() {
  sample();
  thread_ = std::thread([this] {
    while (!stop_) {
      sample();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
}

MemoryWatch::~MemoryWatch() {
  stop_ = true;
  thread_.join();
}

int64_t MemoryWatch::peak() {
  sample();
  return peak_;
}

void MemoryWatch::sample() {
  const int64_t now = anonymous_bytes();
  int64_t seen = peak_;
  while (now > seen && !peak_.compare_exchange_weak(seen, now)) {
  }
}

}  // namespace slipway::cli
