// Random numbers of sampling: a stream for each seed, row and step, the same on every machine.
#pragma once

#include <cstdint>

namespace slipway {

/// SplitMix64 over a state that mixes (seed, row, step). A row's draws therefore depend neither on
/// the other rows of its batch nor on how many numbers an earlier step took.
class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t row, uint64_t step)
      : state_(mix(mix(mix(seed) ^ row) ^ step)) {}

  uint64_t next() { return mix(state_ += kStride); }
  /// In [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  static constexpr uint64_t kStride = 0x9E3779B97F4A7C15;
  static uint64_t mix(uint64_t x) {
    x += kStride;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }

  uint64_t state_;
};

}  // namespace slipway
