// Fuzzes the GGUF reader: the container, the configuration, the tokenizer and decoding.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "checkpoint/config.h"
#include "checkpoint/gguf.h"
#include "checkpoint/gguf_config.h"
#include "checkpoint/gguf_quant.h"
#include "checkpoint/gguf_store.h"
#include "checkpoint/gguf_tokenizer.h"
#include "fuzz.h"

namespace {

void read_ends(const slipway::LazyTensor& tensor) {
  std::vector<std::byte> out(1024 * sizeof(float) + 1);
  const int64_t count = std::min<int64_t>(tensor.numel(), 1000);
  tensor.read(0, count, out.data());
  tensor.read(tensor.numel() - count, count, out.data() + 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy of exactly this size, so that a read beyond it is seen.
  const auto bytes = std::make_shared<std::vector<uint8_t>>(data, data + size);
  const slipway::ByteSpan span(reinterpret_cast<const std::byte*>(bytes->data()), bytes->size());
  std::shared_ptr<const slipway::GgufFile> file;
  slipway::fuzz::attempt([&] { file = slipway::GgufFile::parse(span, "input", bytes); });
  if (file == nullptr) return 0;
  for (const slipway::GgufTensor& tensor : file->tensors())
    slipway::fuzz::attempt([&] { read_ends(*slipway::gguf_tensor(file, tensor)); });
  slipway::fuzz::attempt([&] {
    slipway::Config::from_json(slipway::gguf_config(*file), "input");
    slipway::gguf_generation_config(*file).dump();
  });
  slipway::fuzz::attempt([&] { slipway::gguf_tokenizer_files(*file); });
  slipway::fuzz::attempt([&] {
    const auto store = slipway::gguf_weights(file);
    for (const auto& name : store->names()) read_ends(*store->find(name));
  });
  return 0;
}
