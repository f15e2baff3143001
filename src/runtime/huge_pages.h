// Huge pages under the weights of a session.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace slipway {

/// Asks the kernel for huge pages under large anonymous memory that appears while this object
/// lives. A step of decoding reads every weight once, and with pages of 4 KiB much of that time
/// goes into page tables. Advice only: contents, addresses and success of anything do not depend on
/// it, and memory that other threads take meanwhile may be advised too. Does nothing where the
/// system has no such pages.
class HugePages {
 public:
  HugePages();
  /// Advises what is new since construction.
  void advise() const;

 private:
  using Range = std::pair<uintptr_t, uintptr_t>;
  static std::vector<Range> anonymous_memory();

  std::vector<Range> before_;
};

}  // namespace slipway
