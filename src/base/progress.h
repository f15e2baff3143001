// Progress bars on long work.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace slipway {

/// A bar on standard error for work of known size; prints nothing when standard error is not a
/// terminal or messages are off. Thread-safe. Ends its line when destroyed.
class Progress {
 public:
  /// `total` in bytes when `unit` is "B" (shown as MB), otherwise a count.
  Progress(std::string what, int64_t total, std::string unit = "B");
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(int64_t done);

 private:
  void draw(int64_t done);

  std::string what_, unit_;
  int64_t total_;
  std::atomic<int64_t> done_{0};
  std::atomic<int> shown_{-1};
  std::mutex mutex_;
  bool visible_;
};

}  // namespace slipway
