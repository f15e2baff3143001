// What `slipway generate` continues: prompts, conversations, files of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "slipway/generation.h"

namespace slipway::cli {

/// A conversation: a list of {"role", "content"} objects.
class Chat {
 public:
  /// Reads the list of a JSON file. Throws Error{kInvalid} naming the file and the message where
  /// one is not an object with a role and a content.
  static Chat from_file(const std::string& path);

  /// Throws Error{kInvalid} for text that is not UTF-8.
  void add(const std::string& role, const std::string& content);
  /// What stands before everything else. Throws Error{kUsage} when there is one already.
  void set_system(const std::string& content);
  bool wants_answer() const {
    return !messages_.empty() && messages_.back()["role"] != "assistant";
  }
  const Json& messages() const { return messages_; }
  /// Writes the list as from_file reads it.
  void save(const std::string& path) const;

 private:
  Json messages_ = Json::array();
};

/// One line of a batch file and its tokens.
struct BatchItem {
  int64_t line = 0;
  std::vector<int64_t> ids;
};

/// Reads a file with one prompt a line, or, when its first character is {, with one JSON object a
/// line: {"prompt": text} or {"messages": conversation}, without other keys. A byte order mark is
/// skipped. Empty lines are left out. Every line is
/// read and made into tokens; Error{kInvalid} names the first line that cannot be.
std::vector<BatchItem> read_batch_file(const std::string& path, const TextProcessor& processor);

/// Rows of one batch, padded on the left with `pad`.
Inputs batch_inputs(const std::vector<BatchItem>& items, size_t begin, size_t end, int64_t pad);

/// The ids of each row without its padding.
std::vector<std::vector<int64_t>> prompt_ids(const Inputs& inputs);

}  // namespace slipway::cli
