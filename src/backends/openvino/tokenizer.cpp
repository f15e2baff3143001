// tokenizer.json as graphs of OpenVINO.
#include "backends/openvino/tokenizer.h"

#include <map>

#include "backends/openvino/tokenizer_decoder.h"
#include "backends/openvino/tokenizer_model.h"
#include "backends/openvino/tokenizer_steps.h"

namespace slipway::openvino {
namespace {

/// The release of the extension whose ops are written.
constexpr const char* kExtensionVersion = "2026.4.1.0";

std::map<std::string, std::string> info_of(const Part& tokenizer, const Templates& templates,
                                           const TokenizerOptions& options) {
  std::map<std::string, std::string> info = {
      {"openvino_tokenizers_version", kExtensionVersion},
      {"slipway_version", SLIPWAY_VERSION},
      {"processed_post_processor_template", templates.json()},
  };
  const auto put = [&](const char* key, std::optional<int64_t> id) {
    if (id) info[key] = std::to_string(*id);
  };
  put("bos_token_id", options.bos_id);
  put("eos_token_id", options.eos_id);
  put("pad_token_id", options.pad_id);
  if (!options.chat_template.empty()) info["chat_template"] = options.chat_template;
  const Part processor = tokenizer["post_processor"];
  if (!processor.is_null()) info["original_post_processor_template"] = processor.json().dump();
  return info;
}

}  // namespace

void write_tokenizer(const Json& json, const TokenizerOptions& options,
                     const std::filesystem::path& folder) {
  const Part tokenizer(json, "");
  const Part model = tokenizer["model"], normalizer = tokenizer["normalizer"];
  const Part pre_tokenizer = tokenizer["pre_tokenizer"];
  const Vocabulary vocabulary = Vocabulary::from(model);
  const std::vector<AddedToken> added = added_tokens(tokenizer, options.added_tokens, vocabulary);
  const Templates templates = Templates::from(tokenizer["post_processor"]);

  StringGraph forward("tokenizer");
  Pieces pieces(forward, forward.parameter("string_input", {Element::kString, {-1}}));
  add_first_metaspace(pieces, pre_tokenizer, normalizer, added);
  add_normalizer(pieces, normalizer, added);
  const Alphabet alphabet = add_pre_tokenizer(pieces, pre_tokenizer);
  add_post(forward, add_model(pieces, model, vocabulary, added, alphabet), templates, options.post);

  StringGraph backward("detokenizer");
  add_detokenizer(backward, tokenizer, vocabulary, added);

  const auto info = info_of(tokenizer, templates, options);
  forward.write(folder / "openvino_tokenizer", info);
  backward.write(folder / "openvino_detokenizer", info);
}

}  // namespace slipway::openvino
