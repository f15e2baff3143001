// Loops over the machine's cores.
#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace slipway {

int num_threads() {
  static const int count = [] {
    if (const char* text = std::getenv("SLIPWAY_NUM_THREADS")) {
      const int wanted = std::atoi(text);
      if (wanted > 0) return std::min(wanted, 256);
    }
    cpu_set_t cpus;
    if (::sched_getaffinity(0, sizeof cpus, &cpus) == 0) return std::max(1, CPU_COUNT(&cpus));
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }();
  return count;
}

void parallel_for(int64_t n, const std::function<void(int64_t)>& body) {
  const auto workers = static_cast<int>(std::min<int64_t>(num_threads(), n));
  if (workers <= 1) {
    for (int64_t i = 0; i < n; ++i) body(i);
    return;
  }
  std::atomic<int64_t> next{0};
  std::exception_ptr error;
  std::mutex mutex;
  const auto work = [&] {
    for (int64_t i; (i = next.fetch_add(1)) < n;) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next.store(n);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int t = 1; t < workers; ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace slipway
