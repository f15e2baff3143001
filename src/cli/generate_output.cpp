// What `slipway generate` prints: texts, JSON, and text as it comes.
#include "cli/generate_output.h"

#include <fmt/format.h>

#include "cli/cli.h"

namespace slipway::cli {
namespace {

const char* name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEos:
      return "eos";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCaller:
      return "caller";
  }
  return "";
}

}  // namespace

std::vector<int64_t> real_ids(const Generated& made, size_t row) {
  const auto& ids = made.new_ids[row];
  return {ids.begin(), ids.begin() + made.lengths[row]};
}

Json rows_json(const Generated& made, size_t begin, size_t end,
               const std::optional<TextProcessor>& processor) {
  Json ids = Json::array(), texts = Json::array(), lengths = Json::array(), reasons = Json::array(),
       scores = Json::array();
  for (size_t row = begin; row < end; ++row) {
    ids.push_back(made.new_ids[row]);
    texts.push_back(processor ? Json(processor->decode(real_ids(made, row))) : Json());
    lengths.push_back(made.lengths[row]);
    reasons.push_back(name_of(made.finish_reasons[row]));
    if (!made.scores.empty()) scores.push_back(made.scores[row]);
  }
  Json json = {{"new_ids", std::move(ids)},
               {"text", std::move(texts)},
               {"lengths", std::move(lengths)},
               {"finish_reasons", std::move(reasons)}};
  if (!made.scores.empty()) json["scores"] = std::move(scores);
  json["prefill_seconds"] = made.prefill_seconds;
  json["decode_seconds"] = made.decode_seconds;
  json["tokens_per_second"] = made.tokens_per_second;
  json["forward_calls"] = made.forward_calls;
  return json;
}

Json result_json(const Generated& made, const std::optional<TextProcessor>& processor) {
  Json json = rows_json(made, 0, made.new_ids.size(), processor);
  json["first_step_top5"] = Json::array();
  for (const auto& row : made.first_step_top) {
    Json pairs = Json::array();
    for (const TokenLogit& token : row) pairs.push_back(Json::array({token.id, token.logit}));
    json["first_step_top5"].push_back(std::move(pairs));
  }
  return json;
}

void print_rows(const Generated& made, const std::optional<TextProcessor>& processor,
                const std::function<std::string(size_t row)>& title) {
  for (size_t row = 0; row < made.new_ids.size(); ++row) {
    if (const std::string text = title(row); !text.empty()) print(fmt::format("--- {}\n", text));
    if (processor) print(processor->decode(real_ids(made, row)) + "\n");
    else print(Json(real_ids(made, row)).dump() + "\n");
  }
}

void TextPrinter::push(int64_t id) {
  const std::string piece = text_(id);
  if (!piece.empty()) print(piece);
}

void TextPrinter::finish() { print(text_(std::nullopt) + "\n"); }

}  // namespace slipway::cli
