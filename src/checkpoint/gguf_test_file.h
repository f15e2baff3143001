// A small writer of GGUF bytes for tests: it writes what it is told, sound or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/gguf.h"

namespace slipway {

class GgufTestFile {
 public:
  explicit GgufTestFile(uint32_t version = 3) : version_(version) {}

  uint64_t alignment = 32;
  /// In place of the true counts and of the tensors' running offsets, where set.
  std::optional<uint64_t> tensor_count, key_count;
  std::string magic = "GGUF";

  template <class T>
  static void put(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static void put_text(std::string& out, std::string_view text) {
    put<uint64_t>(out, text.size());
    out += text;
  }

  /// A key with any type and raw bytes behind it.
  GgufTestFile& raw(std::string_view key, GgufType type, std::string_view bytes) {
    put_text(keys_, key);
    put(keys_, static_cast<uint32_t>(type));
    keys_ += bytes;
    ++keys_count_;
    return *this;
  }
  GgufTestFile& u32(std::string_view key, uint32_t value) {
    return scalar(key, GgufType::kU32, value);
  }
  GgufTestFile& f32(std::string_view key, float value) {
    return scalar(key, GgufType::kF32, value);
  }
  GgufTestFile& boolean(std::string_view key, bool value) {
    return scalar(key, GgufType::kBool, static_cast<uint8_t>(value));
  }
  GgufTestFile& text(std::string_view key, std::string_view value) {
    std::string bytes;
    put_text(bytes, value);
    return raw(key, GgufType::kString, bytes);
  }
  GgufTestFile& texts(std::string_view key, const std::vector<std::string>& values) {
    std::string bytes;
    put(bytes, static_cast<uint32_t>(GgufType::kString));
    put<uint64_t>(bytes, values.size());
    for (const std::string& value : values) put_text(bytes, value);
    return raw(key, GgufType::kArray, bytes);
  }
  template <class T>
  GgufTestFile& array(std::string_view key, GgufType element, const std::vector<T>& values) {
    std::string bytes;
    put(bytes, static_cast<uint32_t>(element));
    put<uint64_t>(bytes, values.size());
    for (const T& value : values) put(bytes, value);
    return raw(key, GgufType::kArray, bytes);
  }
  template <class T>
  GgufTestFile& scalar(std::string_view key, GgufType type, T value) {
    std::string bytes;
    put(bytes, value);
    return raw(key, type, bytes);
  }

  /// `dims` fastest first, as the file has them.
  GgufTestFile& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                       std::string data, std::optional<uint64_t> offset = std::nullopt) {
    put_text(table_, name);
    put(table_, static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) put(table_, dim);
    put(table_, type);
    put<uint64_t>(table_, offset.value_or(data_.size()));
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    data_ += data;
    ++tensors_;
    return *this;
  }
  /// F32 values 0, 1, 2, ... plus `first`.
  GgufTestFile& floats(std::string_view name, const std::vector<uint64_t>& dims,
                       float first = 0.0f) {
    uint64_t n = 1;
    for (const uint64_t dim : dims) n *= dim;
    std::string data;
    for (uint64_t i = 0; i < n; ++i) put(data, first + static_cast<float>(i));
    return tensor(name, dims, 0, std::move(data));
  }

  std::string bytes() const {
    std::string out = magic;
    put(out, version_);
    put(out, tensor_count.value_or(tensors_));
    put(out, key_count.value_or(keys_count_));
    out += keys_ + table_;
    if (tensors_ != 0) out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out + data_;
  }

  std::shared_ptr<const GgufFile> parse() const { return parse(bytes()); }
  static std::shared_ptr<const GgufFile> parse(const std::string& file) {
    const auto owned = std::make_shared<std::string>(file);
    const ByteSpan span(reinterpret_cast<const std::byte*>(owned->data()), owned->size());
    return GgufFile::parse(span, "test.gguf", owned);
  }

 private:
  uint32_t version_;
  uint64_t keys_count_ = 0, tensors_ = 0;
  std::string keys_, table_, data_;
};

/// The kind and message of the Error that `call` throws; "no error" where it throws none.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.what();
  }
  return "no error";
}

/// A llama of one layer: width 4, 2 heads of 2, 1 key-value head, 3 byte-level tokens.
inline GgufTestFile tiny_llama() {
  GgufTestFile f;
  f.text("general.architecture", "llama");
  f.u32("llama.block_count", 1).u32("llama.context_length", 16).u32("llama.embedding_length", 4);
  f.u32("llama.feed_forward_length", 6).u32("llama.attention.head_count", 2);
  f.u32("llama.attention.head_count_kv", 1).u32("llama.rope.dimension_count", 2);
  f.f32("llama.attention.layer_norm_rms_epsilon", 1e-5f).f32("llama.rope.freq_base", 10000.0f);
  f.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
  f.texts("tokenizer.ggml.tokens", {"a", "b", "ab"}).texts("tokenizer.ggml.merges", {"a b"});
  f.floats("token_embd.weight", {4, 3}).floats("output_norm.weight", {4});
  f.floats("blk.0.attn_norm.weight", {4}).floats("blk.0.ffn_norm.weight", {4});
  f.floats("blk.0.attn_q.weight", {4, 4}).floats("blk.0.attn_k.weight", {4, 2});
  f.floats("blk.0.attn_v.weight", {4, 2}).floats("blk.0.attn_output.weight", {4, 4});
  f.floats("blk.0.ffn_gate.weight", {4, 6}).floats("blk.0.ffn_up.weight", {4, 6});
  f.floats("blk.0.ffn_down.weight", {6, 4});
  return f;
}

}  // namespace slipway
