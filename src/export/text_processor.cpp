// The tokenizer and chat template of an export behind the public API.
#include "generation/chat_template.h"
#include "generation/tokenizer.h"
#include "slipway/generation.h"

namespace slipway {

struct TextProcessor::Impl {
  Tokenizer tokenizer;
  std::optional<ChatTemplate> chat_template;
  std::filesystem::path directory;
  std::optional<int64_t> pad_id;
};

namespace {

Inputs prompt_inputs(const TextProcessor::Impl& impl, const std::vector<std::string>& texts,
                     bool add_special_tokens) {
  BatchOptions options;
  options.add_special_tokens = add_special_tokens;
  options.padding_side = Side::kLeft;
  options.pad_id = impl.pad_id;
  EncodedBatch batch = impl.tokenizer.encode_batch(texts, options);
  return {{"input_ids", std::move(batch.input_ids)},
          {"attention_mask", std::move(batch.attention_mask)}};
}

}  // namespace

TextProcessor TextProcessor::from_pretrained(const std::filesystem::path& directory) {
  auto impl = std::make_shared<Impl>(Impl{Tokenizer::from_directory(directory),
                                          ChatTemplate::find(directory), directory, std::nullopt});
  // Masked positions need some id that the model knows: any of these is one.
  const GenerationConfig settings = GenerationConfig::from_pretrained(directory);
  impl->pad_id = impl->tokenizer.pad_id();
  if (!impl->pad_id) impl->pad_id = settings.pad_token_id;
  if (!impl->pad_id && settings.eos_token_id) impl->pad_id = settings.eos_token_id->front();
  if (!impl->pad_id) impl->pad_id = impl->tokenizer.eos_id();
  return TextProcessor(std::move(impl));
}

Inputs TextProcessor::encode_prompts(const std::vector<std::string>& prompts) const {
  return prompt_inputs(*impl_, prompts, true);
}

Inputs TextProcessor::encode_chats(const std::vector<std::string>& conversations) const {
  if (!impl_->chat_template)
    ChatTemplate::from_directory(impl_->directory);  // says what is missing
  std::vector<std::string> texts;
  for (const std::string& conversation : conversations) {
    ChatOptions options;
    options.add_generation_prompt = true;
    texts.push_back(
        impl_->chat_template->apply(parse_json(conversation, "the conversation"), options));
  }
  return prompt_inputs(*impl_, texts, false);
}

Inputs TextProcessor::encode_texts(const std::vector<std::string>& texts,
                                   std::optional<int64_t> max_length) const {
  BatchOptions options;
  options.padding_side = Side::kRight;
  options.max_length = max_length ? max_length : impl_->tokenizer.config().max_length;
  options.pad_id = impl_->pad_id;
  EncodedBatch batch = impl_->tokenizer.encode_batch(texts, options);
  return {{"input_ids", std::move(batch.input_ids)},
          {"attention_mask", std::move(batch.attention_mask)},
          {"token_type_ids", std::move(batch.token_type_ids)}};
}

std::string TextProcessor::decode(const std::vector<int64_t>& ids) const {
  return impl_->tokenizer.decode(ids, SpecialTokens::kSkip);
}

std::function<std::string(std::optional<int64_t>)> TextProcessor::stream() const {
  auto stream = std::make_shared<TextStream>(impl_->tokenizer.stream(SpecialTokens::kSkip));
  return [stream](std::optional<int64_t> id) { return id ? stream->push(*id) : stream->finish(); };
}

std::function<std::string(std::span<const int64_t>)> TextProcessor::text_of() const {
  return [impl = impl_](std::span<const int64_t> ids) {
    return impl->tokenizer.decode(ids, SpecialTokens::kKeep);
  };
}

}  // namespace slipway
