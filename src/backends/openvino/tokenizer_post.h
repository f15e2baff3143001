// What comes behind a tokenizer's model: truncation, special tokens around the text, padding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/openvino/string_graph.h"
#include "backends/openvino/tokenizer_part.h"

namespace slipway::openvino {

/// A part of what a text becomes: special tokens, or the text's own ids.
struct TemplateItem {
  std::vector<int32_t> ids;  ///< empty: the text
  int32_t type_id = 0;
  bool second = false;  ///< the second text of a pair
};
using Template = std::vector<TemplateItem>;

/// What the post-processor makes of one text and of a pair.
struct Templates {
  Template single, pair;

  /// From `post_processor`; null adds nothing. Throws Error{kUnsupported} for one that OpenVINO's
  /// ops have no counterpart of.
  static Templates from(const Part& post_processor);
  /// Both as OpenVINO GenAI reads them: ids with -1 and -2 for the texts.
  std::string json() const;
};

enum class End { kRight, kLeft };

struct PostOptions {
  std::optional<int64_t> max_length;  ///< of the model, special tokens included
  End truncation = End::kRight, padding = End::kRight;
  int64_t pad_id = 0;
  bool type_ids = false;  ///< whether the model takes token_type_ids
};

/// Adds truncation (off until a caller switches it on), the template and padding to the longest
/// row, and the results input_ids, attention_mask and perhaps token_type_ids, int64 [rows, tokens].
/// Their shape is the one that OpenVINO GenAI rewrites to give callers these options.
void add_post(StringGraph& graph, Ports ids, const Templates& templates,
              const PostOptions& options);

}  // namespace slipway::openvino
