// tokenizer.json as graphs of OpenVINO: openvino_tokenizer and openvino_detokenizer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "backends/openvino/tokenizer_post.h"
#include "base/json.h"

namespace slipway::openvino {

struct TokenizerOptions {
  /// Tokens that other files add or change: rows with `content` and flags.
  Json added_tokens = Json::array();
  PostOptions post;
  std::optional<int64_t> bos_id, eos_id, pad_id;
  std::string chat_template;
};

/// Writes `folder/openvino_tokenizer.xml`, `openvino_detokenizer.xml` and their `.bin` files: the
/// ids and texts of the library `tokenizers` with the same tokenizer.json, by ops of the extension
/// openvino_tokenizers. Throws Error{kUnsupported} naming the component that these ops cannot
/// express, before anything is written; Error{kInvalid} for a malformed file.
void write_tokenizer(const Json& tokenizer, const TokenizerOptions& options,
                     const std::filesystem::path& folder);

}  // namespace slipway::openvino
