// Tokenizer files rebuilt from GGUF metadata.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf.h"

namespace slipway {

/// tokenizer.json, tokenizer_config.json, special_tokens_map.json, and chat_template.jinja where
/// the file has a template, sorted by name; nothing where the file has no tokenizer. They encode
/// and decode as transformers does with the same file, except that control and user-defined tokens
/// always keep the text and the id that the file gives them. Throws Error{kUnsupported} for a
/// tokenizer.ggml.model or .pre that is not known, Error{kInvalid} for a broken vocabulary.
std::vector<CompanionFile> gguf_tokenizer_files(const GgufFile& file);

/// How byte-level text is split before merging, in the words of tokenizer.json, for a value of
/// tokenizer.ggml.pre. Throws Error{kUnsupported} naming `where` and the value.
Json gguf_pre_tokenizer(std::string_view pre, std::string_view where);

}  // namespace slipway
