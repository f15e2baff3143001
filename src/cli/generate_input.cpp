// What `slipway generate` continues: prompts, conversations, files of them.
#include "cli/generate_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/output.h"

namespace slipway::cli {
namespace {

void check_messages(const Json& messages, const std::string& where) {
  if (!messages.is_array() || messages.empty())
    throw Error(kInvalid, fmt::format("[generate] {} is {}, need a list of messages", where,
                                      describe(messages)));
  for (size_t i = 0; i < messages.size(); ++i) {
    const Json& message = messages[i];
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string() ||
        !message.contains("content"))
      throw Error(kInvalid, fmt::format("[generate] message {} of {} is {}, need an object with "
                                        "\"role\" and \"content\"",
                                        i + 1, where, describe(message)));
    const Json& content = message["content"];
    const bool is_call = content.is_null() && message.contains("tool_calls");
    if (!content.is_string() && !is_call)
      throw Error(kInvalid,
                  fmt::format("[generate] the content of message {} of {} is {}, need a text",
                              i + 1, where, describe(content)));
  }
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file.good() && !file.eof())
    throw Error(kInvalid, fmt::format("[generate] cannot read {}", display(path)));
  return text;
}

std::vector<int64_t> ids_of(const Inputs& inputs) { return prompt_ids(inputs).at(0); }

void check_keys(const Json& object) {
  for (const auto& [key, value] : object.items())
    if (key != "prompt" && key != "messages")
      throw Error(kInvalid, fmt::format("[generate] got the key {}, need \"prompt\" or "
                                        "\"messages\" only; settings are flags",
                                        quote(key)));
}

/// The tokens of a JSON line.
std::vector<int64_t> encode_object(const std::string& line, const TextProcessor& processor) {
  const Json object = parse_json(line, "the line");
  const bool has_prompt = object.is_object() && object.contains("prompt");
  const bool has_messages = object.is_object() && object.contains("messages");
  if (has_prompt == has_messages)
    throw Error(kInvalid, "[generate] need an object with either \"prompt\" or \"messages\"");
  check_keys(object);
  if (has_messages) {
    check_messages(object["messages"], "\"messages\"");
    return ids_of(processor.encode_chats({object["messages"].dump()}));
  }
  if (!object["prompt"].is_string())
    throw Error(kInvalid, fmt::format("[generate] \"prompt\" is {}, need a text",
                                      describe(object["prompt"])));
  return ids_of(processor.encode_prompts({object["prompt"].get<std::string>()}));
}

}  // namespace

Chat Chat::from_file(const std::string& path) {
  Chat chat;
  chat.messages_ = parse_json_file(path);
  check_messages(chat.messages_, display(path));
  return chat;
}

void Chat::add(const std::string& role, const std::string& content) {
  Json message = {{"role", role}, {"content", content}};
  try {
    message.dump();
  } catch (const Json::type_error&) {  // what the text is made of is all that can be wrong
    throw Error(kInvalid, fmt::format("[generate] the text of the {}'s turn is not UTF-8", role));
  }
  messages_.push_back(std::move(message));
}

void Chat::set_system(const std::string& content) {
  if (!messages_.empty() && messages_[0]["role"] == "system")
    throw Error(kUsage,
                "[generate] the conversation has a system message already; leave out --system");
  Chat chat;
  chat.add("system", content);
  for (Json& message : messages_) chat.messages_.push_back(std::move(message));
  messages_ = std::move(chat.messages_);
}

void Chat::save(const std::string& path) const { write_file(path, messages_.dump(2) + "\n"); }

std::vector<BatchItem> read_batch_file(const std::string& path, const TextProcessor& processor) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw Error(kInvalid, fmt::format("[generate] {} is no file", display(path)));
  std::string text = read_text(path);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // a byte order mark
  const bool is_json = text.find_first_not_of(" \t\r\n") != std::string::npos &&
                       text[text.find_first_not_of(" \t\r\n")] == '{';
  std::vector<BatchItem> items;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    try {
      items.push_back({number, is_json ? encode_object(line, processor)
                                       : ids_of(processor.encode_prompts({line}))});
      if (items.back().ids.empty()) throw Error(kInvalid, "[generate] the prompt is empty");
    } catch (const Error& wrong) {
      throw wrong.with_context(fmt::format("line {} of {}", number, display(path)));
    }
  }
  if (items.empty())
    throw Error(kInvalid, fmt::format("[generate] {} has no prompts", display(path)));
  return items;
}

Inputs batch_inputs(const std::vector<BatchItem>& items, size_t begin, size_t end, int64_t pad) {
  size_t width = 0;
  for (size_t i = begin; i < end; ++i) width = std::max(width, items[i].ids.size());
  const Shape shape = {static_cast<int64_t>(end - begin), static_cast<int64_t>(width)};
  Tensor ids(DType::kI64, shape), mask(DType::kI64, shape);
  std::ranges::fill(ids.mutable_values<int64_t>(), pad);
  for (size_t i = begin; i < end; ++i) {
    const auto at = static_cast<std::ptrdiff_t>((i - begin + 1) * width - items[i].ids.size());
    std::ranges::copy(items[i].ids, ids.mutable_values<int64_t>().begin() + at);
    std::fill_n(mask.mutable_values<int64_t>().begin() + at, items[i].ids.size(), int64_t{1});
  }
  return {{"input_ids", ids}, {"attention_mask", mask}};
}

std::vector<std::vector<int64_t>> prompt_ids(const Inputs& inputs) {
  const Tensor& ids = inputs.at("input_ids");
  const auto mask = inputs.find("attention_mask");
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(ids.dim(0)));
  const auto width = static_cast<size_t>(ids.dim(1));
  for (size_t i = 0; i < rows.size() * width; ++i)
    if (mask == inputs.end() || mask->second.values<int64_t>()[i] != 0)
      rows[i / width].push_back(ids.values<int64_t>()[i]);
  return rows;
}

}  // namespace slipway::cli
