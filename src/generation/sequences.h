// The rows of a batch while they grow: their ids, and whether and why they ended.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generation/generation_plan.h"
#include "slipway/tensor.h"

namespace slipway {

/// The text of ids, special tokens included.
using TextOf = std::function<std::string(std::span<const int64_t> ids)>;

/// A batch of prompts, int64 [batch, length], padded on the left.
struct Prompt {
  Tensor ids, mask;
  std::vector<int64_t> padding;  ///< of each row

  /// Checks them. Ids may be of any integer dtype, the mask of integers or bool, or undefined: no
  /// padding. Throws Error{kInvalid} for an empty prompt, a mask of another shape, a mask that is
  /// not zeros and then ones in a row.
  static Prompt checked(const Tensor& input_ids, const Tensor& attention_mask);

  int64_t batch() const { return ids.dim(0); }
  int64_t length() const { return ids.dim(1); }
  std::span<const int64_t> row(int64_t index) const;
};

/// Tells whether the newest token ended a row.
class Stopping {
 public:
  /// Throws Error{kUsage} when there are stop strings but no way to get text.
  Stopping(const GenerationPlan& plan, TextOf text_of);

  /// `made`: the new ids of a row, not empty. Stop strings are looked for in the text of the last
  /// of them; one may begin and end inside of tokens.
  std::optional<FinishReason> reason(std::span<const int64_t> made) const;

 private:
  GenerationPlan plan_;
  TextOf text_of_;
  size_t window_ = 0;  ///< tokens whose text is looked at
};

/// One row: the prompt with its padding, and what was made.
struct Sequence {
  std::vector<int64_t> ids;
  int64_t padding = 0;
  int64_t prompt_length = 0;
  std::optional<FinishReason> ended;

  std::span<const int64_t> made() const {
    return std::span(ids).subspan(static_cast<size_t>(prompt_length));
  }
};

/// Each prompt `copies` times, in order.
std::vector<Sequence> sequences_of(const Prompt& prompt, int64_t copies);

/// int64 [rows, 1] from one id a row; and ones of a shape, for the mask of new tokens.
Tensor column_of(std::span<const int64_t> ids);
Tensor ones(Shape shape);

}  // namespace slipway
