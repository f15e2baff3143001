// Any bytes as a safetensors file: refused with an Error, or every tensor lies inside the file.
#include "checkpoint/safetensors.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return slipway::fuzz::attempt([&] {
    const auto bytes = std::as_bytes(std::span(data, size));
    int64_t total = 0;
    for (const slipway::SafetensorsEntry& e : slipway::parse_safetensors(bytes, "fuzz")) {
      const int64_t needed = slipway::numel(e.shape) * slipway::itemsize(e.dtype);
      if (needed != e.nbytes || e.begin < 8 || e.nbytes > static_cast<int64_t>(size) - e.begin)
        std::abort();
      total += e.nbytes;
    }
    if (total > static_cast<int64_t>(size)) std::abort();
  });
}
