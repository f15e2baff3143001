// Reading of tokenizer_config.json and special_tokens_map.json.
#include "generation/tokenizer_config.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>
#include <vector>

#include "slipway/error.h"

namespace slipway {
namespace {

constexpr std::array<std::string_view, 7> kStandardTokens = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
/// Files write "no limit" as 1e30; no model takes inputs as long as this.
constexpr double kNoLimit = 1e12;

[[noreturn]] void refuse(const std::string& source, std::string_view key, const Json& got,
                         std::string_view need) {
  throw Error(kInvalid,
              fmt::format("[tokenizer] {}: `{}` is {}, need {}", source, key, describe(got), need));
}

/// A token is written as its text or as an object with `content` and flags.
std::string token_text(const Json& token, const std::string& source, std::string_view key) {
  if (token.is_string()) return token.get<std::string>();
  if (token.is_object()) {
    auto content = token.find("content");
    if (content != token.end() && content->is_string()) return content->get<std::string>();
  }
  refuse(source, key, token, "a text or an object with a text `content`");
}

/// A row for the Rust library: the flags that the object states, nothing else.
Json token_row(const Json& token, const std::string& source, std::string_view key) {
  Json row = {{"content", token_text(token, source, key)}};
  if (!token.is_object()) return row;
  for (std::string_view flag : {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
    auto value = token.find(flag);
    if (value == token.end()) continue;
    if (!value->is_boolean()) refuse(source, flag, *value, "true or false");
    row[std::string(flag)] = *value;
  }
  return row;
}

Side side(const Json& config, const std::string& source, std::string_view key) {
  auto value = config.find(key);
  if (value == config.end() || value->is_null() || *value == "right") return Side::kRight;
  if (*value == "left") return Side::kLeft;
  refuse(source, key, *value, "\"left\" or \"right\"");
}

class Reader {
 public:
  Reader(TokenizerConfig& out, const std::string& source) : out_(out), source_(source) {}

  /// `added_tokens_decoder`: token objects by their ids, added in the order of the ids.
  void read_added_tokens(const Json& decoder) {
    if (!decoder.is_object()) refuse(source_, "added_tokens_decoder", decoder, "an object");
    std::vector<std::pair<int64_t, Json>> rows;
    for (const auto& [id, token] : decoder.items()) {
      const bool digits =
          !id.empty() && id.size() <= 9 &&
          std::all_of(id.begin(), id.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (!digits) refuse(source_, "added_tokens_decoder", Json(id), "token ids as keys");
      Json row = token_row(token, source_, "added_tokens_decoder");
      row["id"] = std::stoll(id);
      rows.emplace_back(std::stoll(id), std::move(row));
    }
    std::sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.first < b.first; });
    for (auto& row : rows) out_.added_tokens.push_back(std::move(row.second));
  }

  /// The named tokens of one file; a later file's replace an earlier one's.
  void read_special_tokens(const Json& file) {
    for (const auto& [key, value] : file.items()) {
      const bool standard =
          std::find(kStandardTokens.begin(), kStandardTokens.end(), key) != kStandardTokens.end();
      const bool own = key.ends_with("_token") && (value.is_string() || value.is_object());
      if (value.is_null() || !(standard || own)) continue;
      set_special(key, value);
    }
    for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
      auto list = file.find(key);
      if (list == file.end() || list->is_null()) continue;
      if (!list->is_array() && !list->is_object())
        refuse(source_, key, *list, "a list or an object");
      for (const auto& [name, token] : list->items()) {
        if (list->is_object()) {
          set_special(name, token);
        } else {
          extra_.push_back(token_row(token, source_, key));
        }
      }
    }
  }

  void finish() {
    auto add = [&](Json row) {
      row["special"] = true;
      out_.added_tokens.push_back(std::move(row));
    };
    for (auto& [name, row] : named_) add(std::move(row));
    for (Json& row : extra_) add(std::move(row));
  }

 private:
  void set_special(const std::string& name, const Json& token) {
    Json row = token_row(token, source_, name);
    out_.special_tokens[name] = row["content"].get<std::string>();
    auto same =
        std::find_if(named_.begin(), named_.end(), [&](auto& n) { return n.first == name; });
    if (same != named_.end()) {
      same->second = std::move(row);
    } else {
      named_.emplace_back(name, std::move(row));
    }
  }

  TokenizerConfig& out_;
  const std::string& source_;
  std::vector<std::pair<std::string, Json>> named_;
  std::vector<Json> extra_;
};

}  // namespace

TokenizerConfig TokenizerConfig::from_json(const Json& config, const Json& special_tokens_map,
                                           const std::string& source) {
  if (!config.is_object()) refuse(source, "the file", config, "an object");
  TokenizerConfig out;
  Reader reader(out, source);
  reader.read_special_tokens(config);
  auto decoder = config.find("added_tokens_decoder");
  if (decoder != config.end() && !decoder->is_null()) {
    reader.read_added_tokens(*decoder);
  } else if (!special_tokens_map.is_null()) {
    if (!special_tokens_map.is_object()) {
      refuse(source, "special_tokens_map.json", special_tokens_map, "an object");
    }
    reader.read_special_tokens(special_tokens_map);
  }
  reader.finish();
  out.padding_side = side(config, source, "padding_side");
  out.truncation_side = side(config, source, "truncation_side");
  auto limit = config.find("model_max_length");
  if (limit != config.end() && !limit->is_null()) {
    if (!limit->is_number() || limit->get<double>() < 1) {
      refuse(source, "model_max_length", *limit, "a positive number");
    }
    if (limit->get<double>() < kNoLimit) out.max_length = limit->get<int64_t>();
  }
  auto chat = config.find("chat_template");
  if (chat != config.end()) out.chat_template = *chat;
  return out;
}

TokenizerConfig TokenizerConfig::from_directory(const std::filesystem::path& directory) {
  auto read = [&](const char* name, const Json& missing) {
    const auto path = directory / name;
    return std::filesystem::exists(path) ? parse_json_file(path) : missing;
  };
  return from_json(read("tokenizer_config.json", Json::object()),
                   read("special_tokens_map.json", Json()),
                   (directory / "tokenizer_config.json").string());
}

}  // namespace slipway
