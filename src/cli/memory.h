// How much memory the process has used for itself, file pages not counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace slipway::cli {

/// Limits the data of this process to what the system has available now: memory beyond it, the
/// runtime's too, is refused, which is an error, instead of given until the kernel kills a process.
void stay_within_memory();

/// Samples the anonymous memory of this process from its making on, every few milliseconds: the
/// kernel keeps the highest total only, in which mapped weights count.
class MemoryWatch {
 public:
  MemoryWatch();
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  /// The highest sample so far, in bytes; 0 where the system does not tell.
  int64_t peak();

 private:
  void sample();

  std::atomic<int64_t> peak_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace slipway::cli
