// How much memory the process has used for itself, file pages not counted.
#include "cli/memory.h"

#include <chrono>
#include <fstream>
#include <string>

namespace slipway::cli {
namespace {

/// Anonymous pages in memory, and those that were swapped out.
int64_t anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  int64_t total = 0;
  std::string word;
  while (status >> word)
    if (word == "RssAnon:" || word == "VmSwap:") {
      int64_t kilobytes = 0;
      if (status >> kilobytes) total += kilobytes * 1024;
    }
  return total;
}

}  // namespace

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
