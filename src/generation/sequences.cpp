// The rows of a batch while they grow: their ids, and whether and why they ended.
#include "generation/sequences.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/input_values.h"
#include "slipway/error.h"

namespace slipway {
namespace {

constexpr const char* kWhere = "generate";
// Tokens before the longest stop string: special ones have no text, characters are cut, and
// tokenizers write the first word of a text differently.
constexpr size_t kMoreTokens = 16;

int64_t padding_of(std::span<const int64_t> mask, int64_t row) {
  const auto first = std::find(mask.begin(), mask.end(), 1);
  if (first == mask.end() || std::find(first, mask.end(), 0) != mask.end())
    throw Error(
        kInvalid,
        fmt::format("[{}] attention_mask has a 0 {} in row {}: prompts must be padded on the "
                    "left and not be empty",
                    kWhere, first == mask.end() ? "everywhere" : "after a 1", row));
  return first - mask.begin();
}

}  // namespace

Prompt Prompt::checked(const Tensor& input_ids, const Tensor& attention_mask) {
  Prompt prompt;
  prompt.ids = convert_input(input_ids, DType::kI64, kWhere, "input_ids");
  if (prompt.ids.rank() != 2)
    throw Error(kInvalid, fmt::format("[{}] input_ids has shape {}, need [batch, sequence]", kWhere,
                                      shape_string(prompt.ids.shape())));
  if (prompt.ids.numel() == 0)
    throw Error(kInvalid, fmt::format("[{}] input_ids has shape {}, need at least one token a row; "
                                      "the prompt is empty",
                                      kWhere, shape_string(prompt.ids.shape())));
  if (attention_mask.defined()) {
    check_mask(attention_mask, kWhere, "attention_mask");
    prompt.mask = convert_input(attention_mask, DType::kI64, kWhere, "attention_mask");
  } else {
    prompt.mask = ones(prompt.ids.shape());
  }
  if (prompt.mask.shape() != prompt.ids.shape())
    throw Error(
        kInvalid,
        fmt::format("[{}] attention_mask has shape {}, input_ids {}; they must be equal", kWhere,
                    shape_string(prompt.mask.shape()), shape_string(prompt.ids.shape())));
  const auto width = static_cast<size_t>(prompt.length());
  for (int64_t row = 0; row < prompt.batch(); ++row)
    prompt.padding.push_back(padding_of(
        prompt.mask.values<int64_t>().subspan(static_cast<size_t>(row) * width, width), row));
  return prompt;
}

std::span<const int64_t> Prompt::row(int64_t index) const {
  const auto width = static_cast<size_t>(length());
  return ids.values<int64_t>().subspan(static_cast<size_t>(index) * width, width);
}

Stopping::Stopping(const GenerationPlan& plan, TextOf text_of)
    : plan_(plan), text_of_(std::move(text_of)) {
  if (!plan_.stop_strings.empty() && !text_of_)
    throw Error(kUsage, fmt::format("[{}] there are stop strings, but no way to get the text of "
                                    "tokens; give the options a text_of",
                                    kWhere));
  for (const std::string& text : plan_.stop_strings)
    window_ = std::max(window_, text.size() + kMoreTokens);
}

std::optional<FinishReason> Stopping::reason(std::span<const int64_t> made) const {
  if (plan_.is_end(made.back())) return FinishReason::kEos;
  if (!plan_.stop_strings.empty()) {
    const std::string text = text_of_(made.last(std::min(window_, made.size())));
    for (const std::string& stop : plan_.stop_strings)
      if (text.find(stop) != std::string::npos) return FinishReason::kStop;
  }
  if (std::ssize(made) >= plan_.max_new_tokens) return FinishReason::kLength;
  return std::nullopt;
}

std::vector<Sequence> sequences_of(const Prompt& prompt, int64_t copies) {
  std::vector<Sequence> rows;
  for (int64_t row = 0; row < prompt.batch(); ++row) {
    const auto ids = prompt.row(row);
    for (int64_t copy = 0; copy < copies; ++copy)
      rows.push_back({{ids.begin(), ids.end()},
                      prompt.padding[static_cast<size_t>(row)],
                      prompt.length(),
                      std::nullopt});
  }
  return rows;
}

Tensor column_of(std::span<const int64_t> ids) {
  return Tensor::copy_of<int64_t>({std::ssize(ids), 1}, ids);
}

Tensor ones(Shape shape) {
  Tensor tensor(DType::kI64, std::move(shape));
  std::ranges::fill(tensor.mutable_values<int64_t>(), int64_t{1});
  return tensor;
}

}  // namespace slipway
