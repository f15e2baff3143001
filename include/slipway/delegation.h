// What a delegate of the runtime computes of a program, and why not the rest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace slipway {

/// The split of one graph between XNNPACK and the runtime's kernels, in ops as
/// Program::op_counts() names them ("et::mul.out"). Owns its data.
struct Delegation {
  int64_t delegates = 0;                     ///< parts of the graph, each one call
  std::map<std::string, int64_t> delegated;  ///< ops inside them and their counts
  /// (op, reason) of the ops outside and their counts.
  std::map<std::pair<std::string, std::string>, int64_t> left;
  /// Multiplications of the graph's products (linear, matmul, convolution) with every size at its
  /// upper bound, and those of them inside delegates.
  int64_t multiplications = 0, delegated_multiplications = 0;

  /// Of the multiplications, those inside delegates: 0 to 1; 1 where there are none.
  double share() const;
  /// Some lines for people.
  std::string to_text() const;
};

}  // namespace slipway
