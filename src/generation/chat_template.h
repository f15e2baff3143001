// Chat templates: conversations to the text that a model was trained on.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/json.h"

namespace slipway {

struct ChatOptions {
  /// Ends the text with the opening of the assistant's turn.
  bool add_generation_prompt = false;
  /// A list of tool schemas, or null.
  Json tools;
  /// A list of documents, or null.
  Json documents;
  /// One of several named templates; by default "tool_use" with tools, else "default".
  std::string name;
  /// More variables for the template (`enable_thinking`); they win over special tokens.
  Json variables = Json::object();
};

/// The chat template of a checkpoint or an export, immutable.
class ChatTemplate {
 public:
  /// Looks for chat_template.jinja (with additional_chat_templates/*.jinja), chat_template.json and
  /// the `chat_template` of tokenizer_config.json, in this order; nullopt when there is none.
  /// Throws Error{kInvalid} for files that are malformed.
  static std::optional<ChatTemplate> find(const std::filesystem::path& directory);
  /// As find; Error{kInvalid} when there is none.
  static ChatTemplate from_directory(const std::filesystem::path& directory);
  /// `special_tokens` are variables of the template.
  static ChatTemplate from_source(std::string source,
                                  std::map<std::string, std::string> special_tokens = {});

  /// The text of a conversation: a list of objects with `role`, `content` and whatever else the
  /// template reads. Encode it without adding special tokens. Throws Error{kInvalid} when the
  /// template is not valid or refuses the conversation, with its reason.
  std::string apply(const Json& messages, const ChatOptions& options = {}) const;

  /// Templates by name; one without a name is "default".
  const std::map<std::string, std::string>& sources() const { return sources_; }

 private:
  const std::string& choose(const ChatOptions& options) const;

  std::map<std::string, std::string> sources_;
  std::map<std::string, std::string> special_tokens_;
};

}  // namespace slipway
