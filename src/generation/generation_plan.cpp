// The settings of one generate() call: every field decided and checked.
#include "generation/generation_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "slipway/error.h"

namespace slipway {
namespace {

constexpr int64_t kDefaultNewTokens = 128;
constexpr int64_t kDefaultTopK = 50;
constexpr int64_t kMostBeams = 1024;

Error wrong(const char* field, const std::string& value, const std::string& need) {
  return Error(kInvalid, fmt::format("[generate] {} is {}, need {}", field, value, need));
}

int64_t integer(const char* field, const std::optional<int64_t>& value, int64_t otherwise,
                int64_t min, int64_t max = int64_t{1} << 40) {
  const int64_t number = value.value_or(otherwise);
  if (number < min || number > max)
    throw wrong(field, std::to_string(number),
                max == int64_t{1} << 40 ? fmt::format("at least {}", min)
                                        : fmt::format("{} to {}", min, max));
  return number;
}

double above_zero(const char* field, const std::optional<double>& value, const char* hint = "") {
  const double number = value.value_or(1);
  if (!(number > 0) || !std::isfinite(number))
    throw wrong(field, fmt::format("{}", number), fmt::format("a number above 0{}", hint));
  return number;
}

void decide_length(GenerationPlan& plan, const GenerationConfig& config,
                   std::optional<int64_t> limit, LengthLimit kind) {
  const bool slots = kind == LengthLimit::kSlots;
  const int64_t prompt = plan.prompt_length;
  if (limit && prompt > *limit)
    throw Error(kInvalid,
                fmt::format("[generate] the prompt has {} tokens, the {} for {}; {}", prompt,
                            slots ? "cache has slots" : "model has positions", *limit,
                            slots ? "shorten the prompt or use a larger max_cache_len"
                                  : "shorten the prompt"));
  if (config.max_new_tokens) {
    plan.max_new_tokens = integer("max_new_tokens", config.max_new_tokens, 0, 1);
  } else if (config.max_length) {
    plan.max_new_tokens = integer("max_length", config.max_length, 0, 1) - prompt;
    if (plan.max_new_tokens < 1)
      throw wrong("max_length", std::to_string(*config.max_length),
                  fmt::format("more than the {} tokens of the prompt; max_new_tokens counts new "
                              "tokens only",
                              prompt));
  } else {
    // The last new token is never fed back, so it needs no position.
    plan.max_new_tokens = kDefaultNewTokens;
    if (limit) plan.max_new_tokens = std::min(kDefaultNewTokens, *limit - prompt + 1);
  }
  if (limit && plan.max_new_tokens - 1 > *limit - prompt)
    throw Error(kInvalid,
                fmt::format("[generate] a prompt of {} tokens and {} new ones need {} {}, the {} "
                            "has {}; set max_new_tokens to at most {}{}",
                            prompt, plan.max_new_tokens, prompt + plan.max_new_tokens - 1,
                            slots ? "slots" : "positions", slots ? "cache" : "model", *limit,
                            *limit - prompt + 1, slots ? " or use a larger max_cache_len" : ""));
  plan.min_length = integer("min_length", config.min_length, 0, 0);
  if (config.min_new_tokens)
    plan.min_length = prompt + integer("min_new_tokens", config.min_new_tokens, 0, 0);
  if (plan.min_length > plan.max_length())
    log::warning_once(
        fmt::format("rows should have at least {} tokens but can have {}: they end there",
                    plan.min_length, plan.max_length()));
}

void decide_ends(GenerationPlan& plan, const GenerationConfig& config) {
  plan.eos = config.eos_token_id.value_or(std::vector<int64_t>{});
  for (const int64_t id : plan.eos) integer("eos_token_id", id, 0, 0);
  plan.pad = plan.eos.empty() ? 0 : plan.eos[0];
  if (config.pad_token_id) plan.pad = integer("pad_token_id", config.pad_token_id, 0, 0);
  plan.stop_strings = config.stop_strings.value_or(std::vector<std::string>{});
  for (const std::string& text : plan.stop_strings)
    if (text.empty()) throw wrong("stop_strings", "an empty text", "texts of at least one byte");
}

void decide_choice(GenerationPlan& plan, const GenerationConfig& config) {
  plan.repetition_penalty = above_zero("repetition_penalty", config.repetition_penalty);
  plan.no_repeat_ngram_size = integer("no_repeat_ngram_size", config.no_repeat_ngram_size, 0, 0);
  plan.do_sample = config.do_sample.value_or(false);
  if (!plan.do_sample) return;
  plan.temperature = above_zero("temperature", config.temperature,
                                "; for the likeliest tokens set do_sample to false");
  plan.top_k = integer("top_k", config.top_k, kDefaultTopK, 0);
  plan.top_p = config.top_p.value_or(1);
  if (!(plan.top_p > 0 && plan.top_p <= 1))
    throw wrong("top_p", fmt::format("{}", plan.top_p), "a number above 0 and up to 1");
  plan.min_p = config.min_p.value_or(0);
  if (!(plan.min_p >= 0 && plan.min_p <= 1))
    throw wrong("min_p", fmt::format("{}", plan.min_p), "a number from 0 to 1");
  plan.seed = config.seed.value_or(0);
}

void decide_beams(GenerationPlan& plan, const GenerationConfig& config) {
  plan.num_beams = integer("num_beams", config.num_beams, 1, 1, kMostBeams);
  plan.num_return_sequences =
      integer("num_return_sequences", config.num_return_sequences, 1, 1, kMostBeams);
  if (plan.num_beams == 1 && !plan.do_sample && plan.num_return_sequences > 1)
    throw wrong("num_return_sequences", std::to_string(plan.num_return_sequences),
                "1 with num_beams 1 and no sampling: all sequences would be equal; set do_sample "
                "or num_beams");
  if (plan.num_beams == 1) return;
  if (plan.num_return_sequences > plan.num_beams)
    throw wrong("num_return_sequences", std::to_string(plan.num_return_sequences),
                fmt::format("at most num_beams, which is {}", plan.num_beams));
  plan.length_penalty = config.length_penalty.value_or(1);
  if (!(std::abs(plan.length_penalty) <= 100))
    throw wrong("length_penalty", fmt::format("{}", plan.length_penalty),
                "a number from -100 to 100");
  plan.early_stopping = config.early_stopping.value_or(EarlyStopping::kFalse);
}

void decide_lookup(GenerationPlan& plan, const GenerationConfig& config) {
  if (!config.prompt_lookup_num_tokens) return;
  plan.lookup_tokens = integer("prompt_lookup_num_tokens", config.prompt_lookup_num_tokens, 0, 1);
  plan.lookup_ngram = integer("max_matching_ngram_size", config.max_matching_ngram_size, 2, 1);
  if (plan.do_sample || plan.num_beams > 1)
    throw wrong("prompt_lookup_num_tokens", std::to_string(plan.lookup_tokens),
                fmt::format("nothing when {} is set: prompt lookup is for greedy decoding",
                            plan.do_sample ? "do_sample" : "num_beams"));
}

}  // namespace

bool GenerationPlan::is_end(int64_t id) const {
  return std::find(eos.begin(), eos.end(), id) != eos.end();
}

GenerationPlan plan_generation(const GenerationConfig& config, int64_t prompt_length,
                               std::optional<int64_t> limit, LengthLimit kind) {
  GenerationPlan plan;
  plan.prompt_length = prompt_length;
  decide_length(plan, config, limit, kind);
  decide_ends(plan, config);
  decide_choice(plan, config);
  decide_beams(plan, config);
  decide_lookup(plan, config);
  return plan;
}

}  // namespace slipway
