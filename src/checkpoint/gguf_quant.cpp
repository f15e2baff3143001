// The table of GGUF encodings, and tensors that decode while they are read.
#include "checkpoint/gguf_quant.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/json.h"

namespace slipway {
namespace {

constexpr int64_t kMaxBlock = 256;

using namespace gguf_blocks;
constexpr std::array<GgufEncoding, 34> kEncodings = {{
    {0, "F32", 1, 4, decode_f32},        {1, "F16", 1, 2, decode_f16},
    {2, "Q4_0", 32, 18, decode_q4_0},    {3, "Q4_1", 32, 20, decode_q4_1},
    {6, "Q5_0", 32, 22, decode_q5_0},    {7, "Q5_1", 32, 24, decode_q5_1},
    {8, "Q8_0", 32, 34, decode_q8_0},    {9, "Q8_1", 32, 40, nullptr},
    {10, "Q2_K", 256, 84, decode_q2_k},  {11, "Q3_K", 256, 110, decode_q3_k},
    {12, "Q4_K", 256, 144, decode_q4_k}, {13, "Q5_K", 256, 176, decode_q5_k},
    {14, "Q6_K", 256, 210, decode_q6_k}, {15, "Q8_K", 256, 292, nullptr},
    {16, "IQ2_XXS", 256, 66, nullptr},   {17, "IQ2_XS", 256, 74, nullptr},
    {18, "IQ3_XXS", 256, 98, nullptr},   {19, "IQ1_S", 256, 50, nullptr},
    {20, "IQ4_NL", 32, 18, nullptr},     {21, "IQ3_S", 256, 110, nullptr},
    {22, "IQ2_S", 256, 82, nullptr},     {23, "IQ4_XS", 256, 136, nullptr},
    {24, "I8", 1, 1, nullptr},           {25, "I16", 1, 2, nullptr},
    {26, "I32", 1, 4, nullptr},          {27, "I64", 1, 8, nullptr},
    {28, "F64", 1, 8, nullptr},          {29, "IQ1_M", 256, 56, nullptr},
    {30, "BF16", 1, 2, decode_bf16},     {34, "TQ1_0", 256, 54, nullptr},
    {35, "TQ2_0", 256, 66, nullptr},     {39, "MXFP4", 32, 17, nullptr},
    {40, "NVFP4", 64, 36, nullptr},      {41, "Q1_0", 128, 18, nullptr},
}};

class EncodedTensor final : public LazyTensor {
 public:
  EncodedTensor(std::shared_ptr<const GgufFile> file, const GgufTensor& tensor,
                const GgufEncoding& encoding)
      : LazyTensor(DType::kF32, tensor.shape),
        file_(std::move(file)),
        bytes_(tensor.bytes),
        encoding_(encoding) {
    SLIPWAY_ASSERT(encoding.block <= kMaxBlock);
    SLIPWAY_ASSERT(numel() / encoding.block * encoding.bytes ==
                   static_cast<int64_t>(bytes_.size()));
  }

  int64_t granularity() const override { return encoding_.block; }

  std::optional<ByteSpan> view() const override {
    if (encoding_.type != 0) return std::nullopt;
    return bytes_;
  }

  void read(int64_t begin, int64_t count, std::byte* out) const override {
    SLIPWAY_ASSERT(begin >= 0 && count >= 0 && begin <= numel() - count);
    const int64_t block = encoding_.block;
    while (count > 0) {
      const int64_t skip = begin % block;
      const bool in_place = reinterpret_cast<uintptr_t>(out) % alignof(float) == 0;
      int64_t n = count / block * block;
      if (skip == 0 && n > 0 && in_place) {
        decode(begin, n / block, reinterpret_cast<float*>(out));
      } else {
        n = read_part(begin, count, out);
      }
      begin += n;
      count -= n;
      out += n * static_cast<int64_t>(sizeof(float));
    }
  }

 private:
  void decode(int64_t begin, int64_t blocks, float* out) const {
    encoding_.decode(bytes_.data() + begin / encoding_.block * encoding_.bytes, blocks, out);
  }

  /// Through a buffer: a part of one block, or as many as fit it where `out` is unaligned.
  int64_t read_part(int64_t begin, int64_t count, std::byte* out) const {
    const int64_t block = encoding_.block, skip = begin % block;
    const int64_t n = std::min(count, kMaxBlock / block * block - skip);
    float buffer[kMaxBlock];
    decode(begin, (skip + n + block - 1) / block, buffer);
    std::memcpy(out, buffer + skip, static_cast<size_t>(n) * sizeof(float));
    return n;
  }

  std::shared_ptr<const GgufFile> file_;
  ByteSpan bytes_;
  const GgufEncoding& encoding_;
};

}  // namespace

const GgufEncoding* gguf_encoding(uint32_t type) {
  const auto at =
      std::lower_bound(kEncodings.begin(), kEncodings.end(), type,
                       [](const GgufEncoding& e, uint32_t wanted) { return e.type < wanted; });
  return at != kEncodings.end() && at->type == type ? &*at : nullptr;
}

std::string gguf_supported_encodings() {
  std::string out;
  for (const GgufEncoding& encoding : kEncodings)
    if (encoding.decode != nullptr)
      out += fmt::format("{}{}", out.empty() ? "" : ", ", encoding.name);
  return out;
}

Lazy gguf_tensor(std::shared_ptr<const GgufFile> file, const GgufTensor& tensor) {
  const GgufEncoding* encoding = gguf_encoding(tensor.type);
  SLIPWAY_ASSERT(encoding != nullptr);
  if (encoding->decode == nullptr)
    throw Error(
        kUnsupported,
        fmt::format("[gguf] {}: tensor {} is stored as {}, which is not supported; "
                    "supported: {}",
                    file->where(), quote(tensor.name), encoding->name, gguf_supported_encodings()));
  return std::make_shared<EncodedTensor>(std::move(file), tensor, *encoding);
}

}  // namespace slipway
