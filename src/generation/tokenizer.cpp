// The tokenizer over the Rust library.
#include "generation/tokenizer.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "base/mapped_file.h"
#include "generation/tokenizer_handles.h"
#include "slipway/error.h"

namespace slipway {
namespace {

[[noreturn]] void fail() { throw Error(kInvalid, "[tokenizer] " + text::last_error()); }

uint32_t checked_id(int64_t id) {
  if (id < 0 || id > std::numeric_limits<uint32_t>::max()) {
    throw Error(kInvalid,
                fmt::format("[tokenizer] got the token id {}, need one from 0 to 2^32 - 1", id));
  }
  return static_cast<uint32_t>(id);
}

slipway_side to_c(Side side) { return side == Side::kLeft ? SLIPWAY_LEFT : SLIPWAY_RIGHT; }

slipway_encode_options to_c(const EncodeOptions& options, const TokenizerConfig& config) {
  slipway_encode_options out{};
  out.add_special_tokens = options.add_special_tokens;
  if (options.max_length) {
    if (*options.max_length < 1) {
      throw Error(kInvalid, fmt::format("[tokenizer] max_length is {}, need at least 1",
                                        *options.max_length));
    }
    out.max_length = static_cast<size_t>(*options.max_length);
  }
  out.truncation = to_c(options.truncation_side.value_or(config.truncation_side));
  return out;
}

text::EncodingsHandle encode_rows(const slipway_tokenizer* handle,
                                  std::span<const slipway_str> texts, const slipway_str* pairs,
                                  const slipway_encode_options& options) {
  text::EncodingsHandle rows(
      slipway_tokenizer_encode(handle, texts.data(), pairs, texts.size(), &options));
  if (!rows) fail();
  return rows;
}

Encoding to_encoding(const slipway_encoding& row) {
  return {{row.ids, row.ids + row.size},
          {row.type_ids, row.type_ids + row.size},
          {row.attention_mask, row.attention_mask + row.size}};
}

}  // namespace

Tokenizer Tokenizer::from_json(std::string_view tokenizer_json, TokenizerConfig config,
                               const std::string& source) {
  text::TokenizerHandle handle(
      slipway_tokenizer_new(text::view(tokenizer_json), text::view(config.added_tokens.dump())));
  if (!handle) {
    throw Error(kInvalid, fmt::format("[tokenizer] {} is not a tokenizer that can be read: {}",
                                      source, text::last_error()));
  }
  return Tokenizer(std::shared_ptr<const slipway_tokenizer>(
                       handle.release(),
                       [](const slipway_tokenizer* h) {
                         slipway_tokenizer_free(const_cast<slipway_tokenizer*>(h));
                       }),
                   std::move(config));
}

Tokenizer Tokenizer::from_directory(const std::filesystem::path& directory) {
  const auto path = directory / "tokenizer.json";
  if (!std::filesystem::exists(path)) {
    throw Error(kInvalid,
                fmt::format("[tokenizer] {} has no tokenizer.json, which text needs; copy it "
                            "from the model's checkpoint or give token ids instead",
                            directory.string()));
  }
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  return from_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                   TokenizerConfig::from_directory(directory), path.string());
}

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const slipway_str row = text::view(text);
  const auto rows = encode_rows(handle_.get(), {&row, 1}, nullptr, to_c(options, config_));
  return to_encoding(slipway_encodings_get(rows.get(), 0));
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                const EncodeOptions& options) const {
  const slipway_str row = text::view(first), pair = text::view(second);
  const auto rows = encode_rows(handle_.get(), {&row, 1}, &pair, to_c(options, config_));
  return to_encoding(slipway_encodings_get(rows.get(), 0));
}

EncodedBatch Tokenizer::encode_batch(std::span<const std::string> texts,
                                     const BatchOptions& options) const {
  std::vector<slipway_str> views;
  for (const std::string& text : texts) views.push_back(text::view(text));
  slipway_encode_options c_options = to_c(options, config_);
  c_options.padding = to_c(options.padding_side.value_or(config_.padding_side));
  const auto pad = options.pad_id ? options.pad_id : pad_id();
  c_options.pad_id = pad ? checked_id(*pad) : 0;
  const auto rows = encode_rows(handle_.get(), views, nullptr, c_options);

  const auto batch = static_cast<int64_t>(texts.size());
  const size_t length = texts.empty() ? 0 : slipway_encodings_get(rows.get(), 0).size;
  const Shape shape = {batch, static_cast<int64_t>(length)};
  EncodedBatch out{Tensor(DType::kI64, shape), Tensor(DType::kI64, shape),
                   Tensor(DType::kI64, shape)};
  for (size_t i = 0; i < texts.size(); ++i) {
    const slipway_encoding row = slipway_encodings_get(rows.get(), i);
    SLIPWAY_ASSERT(row.size == length);
    if (!pad && std::find(row.attention_mask, row.attention_mask + length, 0u) !=
                    row.attention_mask + length) {
      throw Error(kInvalid,
                  "[tokenizer] the texts differ in length and the tokenizer has no pad "
                  "token; give pad_id or encode them one by one");
    }
    auto copy = [&](const uint32_t* from, Tensor& to) {
      std::copy_n(from, length, to.mutable_values<int64_t>().data() + i * length);
    };
    copy(row.ids, out.input_ids);
    copy(row.type_ids, out.token_type_ids);
    copy(row.attention_mask, out.attention_mask);
  }
  return out;
}

std::string Tokenizer::decode(std::span<const int64_t> ids, SpecialTokens special) const {
  std::vector<uint32_t> checked;
  checked.reserve(ids.size());
  for (int64_t id : ids) checked.push_back(checked_id(id));
  slipway_bytes bytes{};
  if (!slipway_tokenizer_decode(handle_.get(), checked.data(), checked.size(),
                                special == SpecialTokens::kSkip, &bytes)) {
    fail();
  }
  return text::take(bytes);
}

TextStream Tokenizer::stream(SpecialTokens special) const {
  slipway_stream* stream = slipway_stream_new(handle_.get(), special == SpecialTokens::kSkip);
  if (!stream) fail();
  return TextStream(std::shared_ptr<slipway_stream>(stream, slipway_stream_free));
}

std::string TextStream::push(int64_t id) {
  slipway_bytes bytes{};
  if (!slipway_stream_push(stream_.get(), checked_id(id), &bytes)) fail();
  return text::take(bytes);
}

std::string TextStream::finish() {
  slipway_bytes bytes{};
  if (!slipway_stream_finish(stream_.get(), &bytes)) fail();
  return text::take(bytes);
}

std::optional<int64_t> Tokenizer::token_to_id(std::string_view token) const {
  uint32_t id = 0;
  if (!slipway_tokenizer_token_to_id(handle_.get(), text::view(token), &id)) return std::nullopt;
  return id;
}

std::optional<std::string> Tokenizer::id_to_token(int64_t id) const {
  slipway_bytes bytes{};
  if (!slipway_tokenizer_id_to_token(handle_.get(), checked_id(id), &bytes)) return std::nullopt;
  return text::take(bytes);
}

std::optional<int64_t> Tokenizer::special_id(const std::string& name) const {
  const auto token = config_.special_tokens.find(name);
  if (token == config_.special_tokens.end()) return std::nullopt;
  return token_to_id(token->second);
}

int64_t Tokenizer::vocab_size() const {
  return static_cast<int64_t>(slipway_tokenizer_vocab_size(handle_.get()));
}

int64_t Tokenizer::max_id() const { return slipway_tokenizer_max_id(handle_.get()); }

}  // namespace slipway
