// Loops over the machine's cores.
#pragma once

#include <cstdint>
#include <functional>

namespace slipway {

/// Threads that parallel_for uses: the CPUs this process may run on, or SLIPWAY_NUM_THREADS.
int num_threads();

/// Calls body(i) for every i in [0, n), in order of i per thread, on up to num_threads() threads;
/// returns when all are done. The first exception is rethrown and no further i is started.
void parallel_for(int64_t n, const std::function<void(int64_t)>& body);

}  // namespace slipway
