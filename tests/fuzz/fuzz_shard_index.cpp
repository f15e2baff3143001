// Any text as a shard index: refused with an Error, or plain file names only.
#include "checkpoint/sharded.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return slipway::fuzz::attempt([&] {
    const auto index = slipway::parse_shard_index(slipway::fuzz::text(data, size), "fuzz");
    for (const auto& [tensor, shard] : index)
      if (shard.empty() || shard == ".." || shard.find('/') != std::string::npos) std::abort();
  });
}
