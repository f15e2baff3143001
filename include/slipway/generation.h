// Text in and out of exports: tokenizers, generation, sentence embeddings.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "slipway/exported_model.h"
#include "slipway/generation_config.h"

namespace slipway {

/// The tokenizer and chat template that travel with an export. Cheap to copy, immutable, safe to
/// use from several threads. Texts are UTF-8: Error{kInvalid} says at which byte one is not.
class TextProcessor {
 public:
  struct Impl;

  /// Reads them from an export's directory (or a checkpoint's). Throws Error{kInvalid} when
  /// tokenizer.json is missing or malformed.
  static TextProcessor from_pretrained(const std::filesystem::path& directory);

  /// input_ids and attention_mask of prompts for a decoder, with the special tokens that the
  /// tokenizer adds. Rows are padded on the left.
  Inputs encode_prompts(const std::vector<std::string>& prompts) const;
  /// The same for conversations: each a JSON list of {"role", "content"}, written by the chat
  /// template with the opening of the assistant's turn. Throws Error{kInvalid} without a template.
  Inputs encode_chats(const std::vector<std::string>& conversations) const;
  /// input_ids, attention_mask and token_type_ids of texts for an encoder, padded on the right and
  /// cut after max_length tokens.
  Inputs encode_texts(const std::vector<std::string>& texts,
                      std::optional<int64_t> max_length = std::nullopt) const;

  /// The text of ids, without special tokens.
  std::string decode(const std::vector<int64_t>& ids) const;
  /// A function that turns ids that come one by one into text; an empty optional ends the text.
  std::function<std::string(std::optional<int64_t>)> stream() const;
  /// A function that gives the text of ids with special tokens: what stop strings are looked for
  /// in.
  std::function<std::string(std::span<const int64_t>)> text_of() const;

 private:
  explicit TextProcessor(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Settings, and what one call wants beside them. Settings that are left out come from the export's
/// generation_config.json, then config.json, then GenerationConfig's defaults. A longest length
/// from a file is cut to what the model has positions for and the cache has slots. One that is
/// given here and goes beyond slots or a table of positions is Error{kInvalid}; rotary models have
/// no such table and go on, with a warning.
struct GenerationOptions : GenerationConfig {
  bool ignore_eos = false;  ///< rows go on after end tokens
  /// How many of the highest logits of the first step to report.
  int64_t first_step_top = 0;
  /// Called for every new token; false ends generation. Not with beams.
  std::function<bool(int64_t row, int64_t id)> on_token;
  /// TextProcessor::text_of(), for stop strings.
  std::function<std::string(std::span<const int64_t>)> text_of;
  /// The number of the first prompt in the random streams of sampling, which depend on the seed,
  /// the prompt (the sequence of it) and the step: parts of a list give the same as the whole list.
  int64_t first_prompt = 0;
};

struct TokenLogit {
  int64_t id;
  float logit;
};

/// Rows are num_return_sequences for each prompt, in order; with beams the best comes first.
struct Generated {
  /// A row per sequence, filled up with the padding token to the longest.
  std::vector<std::vector<int64_t>> new_ids;
  std::vector<int64_t> lengths;  ///< of each row before padding
  /// Why each row ended; an end token, or the token that completed a stop string, is in new_ids.
  std::vector<FinishReason> finish_reasons;
  /// Of beams: a row's log-probability divided by its length to the power of length_penalty.
  std::vector<float> scores;
  std::vector<std::vector<TokenLogit>> first_step_top;  ///< of each prompt
  double prefill_seconds = 0;                           ///< to the first token
  double decode_seconds = 0;                            ///< of the tokens after it
  double tokens_per_second = 0;  ///< of one row in this time; 0 for a single token
  int64_t forward_calls = 0;     ///< of the model: one for the prompt, then one a step
};

/// Continues prompts. `inputs` holds input_ids [batch, sequence], padded on the left, and
/// attention_mask where there is padding; without it every token counts. The export has one
/// component "model", or "prefill" and "decode". One without a cache input works, slowly: it runs
/// the whole sequence again for each token. Throws Error{kInvalid} naming the setting, or for an
/// empty prompt, right padding or too many tokens; Error{kUnsupported} for an export that is no
/// decoder.
Generated generate(const ExportedModel& exported, const Inputs& inputs,
                   const GenerationOptions& options = {});

/// What is left out comes from modules.json and the files it names, where the export has them;
/// else mean pooling without normalization.
struct EmbedOptions {
  std::optional<std::string> pooling;  ///< "mean" or "cls"
  std::optional<bool> normalize;       ///< to length 1
};

/// One vector a text, float32 [texts, width], from the output last_hidden_state. Throws
/// Error{kUnsupported} for an export without that output.
Tensor embed(const ExportedModel& exported, const TextProcessor& processor,
             const std::vector<std::string>& texts, const EmbedOptions& options = {});

}  // namespace slipway
