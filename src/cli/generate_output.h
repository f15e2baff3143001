// What `slipway generate` prints: texts, JSON, and text as it comes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "slipway/generation.h"

namespace slipway::cli {

/// The new ids of a row up to its end.
std::vector<int64_t> real_ids(const Generated& made, size_t row);

/// new_ids, text, lengths, finish_reasons ("eos", "stop", "length", "caller"), scores of beams and
/// timings of rows [begin, end). Texts are null without a processor.
Json rows_json(const Generated& made, size_t begin, size_t end,
               const std::optional<TextProcessor>& processor);
/// The same for all rows, with the first step's highest logits.
Json result_json(const Generated& made, const std::optional<TextProcessor>& processor);

/// The rows' texts, or their ids without a processor; `title` of each row stands before it unless
/// it is empty.
void print_rows(const Generated& made, const std::optional<TextProcessor>& processor,
                const std::function<std::string(size_t row)>& title);

/// Prints one row's text as its tokens come.
class TextPrinter {
 public:
  explicit TextPrinter(const TextProcessor& processor) : text_(processor.stream()) {}
  void push(int64_t id);
  void finish();

 private:
  std::function<std::string(std::optional<int64_t>)> text_;
};

}  // namespace slipway::cli
