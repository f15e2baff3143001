// Finding and rendering of chat templates.
#include "generation/chat_template.h"

#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "generation/tokenizer_config.h"
#include "generation/tokenizer_handles.h"
#include "slipway/error.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using Sources = std::map<std::string, std::string>;

std::string read_text(const fs::path& path) {
  const auto file = MappedFile::open(path);
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

/// A template is a text or a list of {name, template}.
Sources sources_from_json(const Json& value, const std::string& source) {
  if (value.is_null()) return {};
  if (value.is_string()) return {{"default", value.get<std::string>()}};
  Sources out;
  auto add = [&](const Json& name, const Json& text) {
    if (!name.is_string() || !text.is_string()) {
      throw Error(kInvalid, fmt::format("[chat] {}: a named chat template has {} as name and {} as "
                                        "template, need two texts",
                                        source, describe(name), describe(text)));
    }
    out[name.get<std::string>()] = text.get<std::string>();
  };
  if (value.is_object()) {
    for (const auto& [name, text] : value.items()) add(name, text);
  } else if (value.is_array()) {
    for (const Json& row : value) {
      const bool object = row.is_object();
      add(object ? row.value("name", Json()) : Json(),
          object ? row.value("template", Json()) : Json());
    }
  } else {
    throw Error(kInvalid, fmt::format("[chat] {}: `chat_template` is {}, need a text or a list",
                                      source, describe(value)));
  }
  return out;
}

Sources find_sources(const fs::path& directory, const TokenizerConfig& config) {
  Sources out;
  const fs::path jinja = directory / "chat_template.jinja", json = directory / "chat_template.json";
  const fs::path more = directory / "additional_chat_templates";
  if (fs::exists(jinja)) out["default"] = read_text(jinja);
  if (fs::is_directory(more)) {
    for (const auto& entry : fs::directory_iterator(more)) {
      if (entry.path().extension() == ".jinja") {
        out[entry.path().stem().string()] = read_text(entry.path());
      }
    }
  }
  if (out.empty() && fs::exists(json)) {
    const Json file = parse_json_file(json);
    if (!file.is_object()) {
      throw Error(kInvalid,
                  fmt::format("[chat] {} holds {}, need an object", json.string(), describe(file)));
    }
    out = sources_from_json(file.value("chat_template", Json()), json.string());
  }
  if (out.empty()) {
    out = sources_from_json(config.chat_template, (directory / "tokenizer_config.json").string());
  }
  return out;
}

/// The reference's reading of a conversation: keys that are null count as missing, and a message's
/// reasoning is found under each of the names that templates read.
Json normalized(const Json& messages) {
  if (!messages.is_array() || messages.empty()) {
    throw Error(kInvalid, fmt::format("[chat] the conversation is {}, need a list of messages",
                                      messages.is_array() ? "empty" : describe(messages)));
  }
  Json out = Json::array();
  for (const Json& message : messages) {
    if (!message.is_object()) {
      throw Error(kInvalid, fmt::format("[chat] a message is {}, need an object with `role` and "
                                        "`content`",
                                        describe(message)));
    }
    Json copy = Json::object();
    for (const auto& [key, value] : message.items()) {
      if (!value.is_null()) copy[key] = value;
    }
    for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
      if (!copy.contains(name)) continue;
      const Json reasoning = copy[name];
      if (!copy.contains("thinking")) copy["thinking"] = reasoning;
      copy["reasoning_content"] = reasoning;
      break;
    }
    out.push_back(std::move(copy));
  }
  return out;
}

Json list_or_null(const Json& value, std::string_view name) {
  if (value.is_null()) return value;
  bool objects = value.is_array();
  if (objects) {
    for (const Json& item : value) objects = objects && item.is_object();
  }
  if (!objects) {
    throw Error(kInvalid,
                fmt::format("[chat] `{}` is {}, need a list of objects", name, describe(value)));
  }
  return value;
}

}  // namespace

ChatTemplate ChatTemplate::from_source(std::string source,
                                       std::map<std::string, std::string> special_tokens) {
  ChatTemplate out;
  out.sources_["default"] = std::move(source);
  out.special_tokens_ = std::move(special_tokens);
  return out;
}

std::optional<ChatTemplate> ChatTemplate::find(const fs::path& directory) {
  TokenizerConfig config = TokenizerConfig::from_directory(directory);
  ChatTemplate out;
  out.sources_ = find_sources(directory, config);
  if (out.sources_.empty()) return std::nullopt;
  out.special_tokens_ = std::move(config.special_tokens);
  return out;
}

ChatTemplate ChatTemplate::from_directory(const fs::path& directory) {
  auto found = find(directory);
  if (found) return *std::move(found);
  throw Error(kInvalid,
              fmt::format("[chat] {} has no chat template (chat_template.jinja, "
                          "chat_template.json, or `chat_template` in tokenizer_config.json); "
                          "the model may not be a chat model: give it a plain prompt",
                          directory.string()));
}

const std::string& ChatTemplate::choose(const ChatOptions& options) const {
  std::vector<std::string> wanted = {options.name};
  if (options.name.empty()) {
    wanted = {"default"};
    if (!options.tools.is_null()) wanted = {"tool_use", "default"};
  }
  for (const std::string& name : wanted) {
    const auto found = sources_.find(name);
    if (found != sources_.end()) return found->second;
  }
  std::vector<std::string> names;
  for (const auto& [name, source] : sources_) names.push_back(name);
  throw Error(kInvalid, fmt::format("[chat] there is no chat template named {}; there are: {}",
                                    fmt::join(wanted, " or "), fmt::join(names, ", ")));
}

std::string ChatTemplate::apply(const Json& messages, const ChatOptions& options) const {
  const std::string& source = choose(options);
  Json variables = Json::object();
  for (const auto& [name, token] : special_tokens_) variables[name] = token;
  if (!options.variables.is_object()) {
    throw Error(kInvalid, fmt::format("[chat] the template's variables are {}, need an object",
                                      describe(options.variables)));
  }
  for (const auto& [name, value] : options.variables.items()) variables[name] = value;
  variables["messages"] = normalized(messages);
  variables["tools"] = list_or_null(options.tools, "tools");
  variables["documents"] = list_or_null(options.documents, "documents");
  variables["add_generation_prompt"] = options.add_generation_prompt;

  std::string text;
  try {
    text = variables.dump();
  } catch (const Json::exception&) {
    throw Error(kInvalid, "[chat] the conversation is not UTF-8");
  }
  text::TemplateHandle handle(slipway_template_new(text::view(source)));
  if (!handle)
    throw Error(kInvalid, "[chat] the chat template is not valid: " + text::last_error());
  slipway_bytes bytes{};
  if (!slipway_template_render(handle.get(), text::view(text), &bytes)) {
    throw Error(kInvalid, "[chat] the chat template failed: " + text::last_error());
  }
  return text::take(bytes);
}

}  // namespace slipway
