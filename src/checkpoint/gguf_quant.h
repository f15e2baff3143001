// The tensor encodings of GGUF and their exact decoding to float32.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/lazy.h"
#include "checkpoint/gguf.h"

namespace slipway {

/// Decodes `count` blocks that lie one after the other to count * block floats.
using GgufDecoder = void (*)(const std::byte* blocks, int64_t count, float* out);

/// One ggml type.
struct GgufEncoding {
  uint32_t type = 0;
  std::string_view name;         ///< "Q4_K"
  int64_t block = 1;             ///< elements of a block
  int64_t bytes = 0;             ///< stored bytes of a block
  GgufDecoder decode = nullptr;  ///< null where the encoding is known but not supported
};

/// The row of a ggml type; null for a number that no release of the format has used.
const GgufEncoding* gguf_encoding(uint32_t type);

/// "F32, F16, Q4_0, ...": the encodings that can be decoded.
std::string gguf_supported_encodings();

/// A tensor of the file as float32, decoded while it is read: bit for bit what the float32
/// arithmetic of the format's Python package gives. `file` owns `tensor`. Throws
/// Error{kUnsupported} naming the tensor and the encoding where it cannot be decoded.
Lazy gguf_tensor(std::shared_ptr<const GgufFile> file, const GgufTensor& tensor);

namespace gguf_blocks {
void decode_f32(const std::byte* blocks, int64_t count, float* out);
void decode_f16(const std::byte* blocks, int64_t count, float* out);
void decode_bf16(const std::byte* blocks, int64_t count, float* out);
void decode_q4_0(const std::byte* blocks, int64_t count, float* out);
void decode_q4_1(const std::byte* blocks, int64_t count, float* out);
void decode_q5_0(const std::byte* blocks, int64_t count, float* out);
void decode_q5_1(const std::byte* blocks, int64_t count, float* out);
void decode_q8_0(const std::byte* blocks, int64_t count, float* out);
void decode_q2_k(const std::byte* blocks, int64_t count, float* out);
void decode_q3_k(const std::byte* blocks, int64_t count, float* out);
void decode_q4_k(const std::byte* blocks, int64_t count, float* out);
void decode_q5_k(const std::byte* blocks, int64_t count, float* out);
void decode_q6_k(const std::byte* blocks, int64_t count, float* out);
}  // namespace gguf_blocks

}  // namespace slipway
