// Fuzzes the reader of .pte files: header, program, delegates, metadata.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "backends/executorch/read.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > (1u << 20)) return 0;
  std::vector<std::byte> bytes(size);  // aligned as a mapped file is
  if (size > 0) std::memcpy(bytes.data(), data, size);
  slipway::fuzz::attempt([&] { slipway::executorch::read_outline(bytes, "fuzz.pte"); });
  return 0;
}
