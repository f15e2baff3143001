// libFuzzer target: the outline of an OpenVINO IR file.
#include "backends/openvino/read.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return slipway::fuzz::attempt([&] {
    int64_t weights = -1;
    const slipway::ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
    const auto summary = slipway::openvino::read_summary(bytes, "fuzz", weights);
    if (weights < 0) __builtin_trap();
    for (const auto& input : summary.inputs)
      if (input.name.find('\0') != std::string::npos) __builtin_trap();
  });
}
