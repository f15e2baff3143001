// What every fuzz target does with its input: an Error is an answer, anything else is a finding.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "slipway/error.h"

namespace slipway::fuzz {

inline std::string_view text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Runs `read`; Error{kInternal} and every other exception abort, which libFuzzer reports.
template <class Read>
int attempt(Read read) {
  try {
    read();
  } catch (const Error& e) {
    if (e.kind() == kInternal) {
      std::fprintf(stderr, "%s\n", e.what());
      std::abort();
    }
  }
  return 0;
}

}  // namespace slipway::fuzz
