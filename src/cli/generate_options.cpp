// The options of `slipway generate`.
#include "cli/generate_options.h"
#include "cli/leaves.h"
#include "cli/runtime_options.h"

#include <CLI/CLI.hpp>

#include <charconv>

namespace slipway::cli {
namespace {

constexpr const char* kFooter = R"(
Examples:
  slipway generate out/ --chat "What is gravity?"
  slipway generate out/ --system "Answer in one word." --chat "What is 2 + 2?" --chat "Plus 3?"
  slipway generate out/ --chat-file talk.json --chat "Go on." --save-chat talk.json
  slipway generate out/ --prompt "Once upon a time" --max-new-tokens 40 --stop "The end"
  slipway generate out/ --prompt "One" --prompt "Two" --json         two rows of one batch
  slipway generate out/ --batch-file prompts.txt --batch-size 16 --json > answers.jsonl
  slipway generate out/ --prompt "I" --do-sample --temperature 0.7 --top-p 0.9 --seed 3
  slipway generate out/ --prompt "I" --num-beams 4 --num-return-sequences 2
  slipway generate out/ --inputs ids.safetensors --ignore-eos --json

--prompt is continued as it is; --chat is put into the model's chat template first, and answered
before the next --chat. --chat-file holds the turns before: a JSON list of {"role", "content"}.
A batch file has one prompt a line. Its first line decides: when that begins with {, each line is a
JSON object with "prompt" or "messages". With --json one JSON line answers each line, in the file's
order, and the document of a conversation has "messages" and, in "turns", the result of each --chat;
beside them stands the result of the last. A file given as --inputs holds input_ids and, where rows
are padded (on the left), attention_mask.

Settings have the names and meanings of transformers' GenerationConfig. What is not given comes from
the export's generation_config.json, then config.json. Seeded sampling gives the same tokens in
batches of any size.)";

/// What is a number of 64 bits without a sign; "-1" and what is longer would wrap around.
std::string seed_error(const std::string& text) {
  uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto [read, wrong] = std::from_chars(text.data(), end, seed);
  if (wrong == std::errc() && read == end) return "";
  return "Value " + text + " is no integer from 0 to 18446744073709551615";
}

void add_sources(CLI::App& sub, GenerateCommand& command) {
  sub.add_option("EXPORT", command.directory, "Export directory")->required();
  sub.add_option("--prompt", command.prompts, "Text to continue; repeat for a batch")
      ->allow_extra_args(false);
  sub.add_option("--chat", command.chats, "What to say to a chat model; repeat for further turns")
      ->allow_extra_args(false);
  sub.add_option("--system", command.system, "What the chat model is told first");
  sub.add_option("--chat-file", command.chat_file, "JSON file with the conversation so far");
  sub.add_option("--save-chat", command.save_chat, "Write the conversation with its answers here");
  sub.add_option("--inputs", command.inputs, "Safetensors file with input_ids");
  sub.add_option("--batch-file", command.batch_file, "File of prompts, one a line");
  sub.add_option("--batch-size", command.batch_size, "Rows of the batch file that run together")
      ->needs("--batch-file")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  add_runtime_options(sub, command.runtime);
  const auto stream = sub.add_flag("--stream", command.stream,
                                   "Print text as it comes; what one row of text does anyway");
  sub.add_flag("--no-stream", command.no_stream, "Print text at the end")->excludes(stream);
}

void add_lengths(CLI::App& sub, GenerateCommand& command) {
  const char* group = "Lengths and ends";
  GenerationOptions& settings = command.settings;
  sub.add_option("--max-new-tokens", settings.max_new_tokens, "At most this many a row")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31))
      ->group(group);
  sub.add_option("--min-new-tokens", settings.min_new_tokens, "End tokens are impossible before")
      ->group(group);
  sub.add_option("--eos-token-id", command.eos, "End token; repeat for several")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  sub.add_option("--stop", command.stops, "A row ends when its new text has this; repeatable")
      ->allow_extra_args(false)
      ->group(group);
  sub.add_flag("--ignore-eos", settings.ignore_eos, "Do not stop at end tokens")->group(group);
  sub.add_option("--max-cache-len", settings.max_cache_len, "Slots of a static cache")
      ->group(group);
}

void add_choice(CLI::App& sub, GenerateCommand& command) {
  const char* group = "Choice of tokens";
  GenerationOptions& settings = command.settings;
  const auto sample =
      sub.add_flag("--do-sample", command.do_sample, "Draw tokens by their probabilities");
  sample->group(group);
  sub.add_flag("--greedy", command.greedy, "Take the likeliest token, whatever the export says")
      ->excludes(sample)
      ->group(group);
  sub.add_option("--temperature", settings.temperature, "Divides scores; below 1: less surprising")
      ->group(group);
  sub.add_option("--top-k", settings.top_k, "Only the k likeliest; 0: all")->group(group);
  sub.add_option("--top-p", settings.top_p, "Only the likeliest that make up this probability")
      ->group(group);
  sub.add_option("--min-p", settings.min_p, "Only tokens this likely, relative to the likeliest")
      ->group(group);
  sub.add_option("--seed", settings.seed, "Of the random numbers; 0")
      ->check(CLI::Validator(seed_error, "", "seed"))
      ->group(group);
  sub.add_option("--repetition-penalty", settings.repetition_penalty,
                 "Above 1: tokens that were there are less likely")
      ->group(group);
  sub.add_option("--no-repeat-ngram-size", settings.no_repeat_ngram_size,
                 "No group of this many tokens comes twice")
      ->group(group);
  sub.add_option("--num-return-sequences", settings.num_return_sequences,
                 "Rows for each prompt, when sampling or with beams")
      ->group(group);
}

void add_search(CLI::App& sub, GenerateCommand& command) {
  const char* group = "Beams and guesses";
  GenerationOptions& settings = command.settings;
  sub.add_option("--num-beams", settings.num_beams, "Rows that are followed at once; 1")
      ->group(group);
  sub.add_option("--length-penalty", settings.length_penalty,
                 "Above 0: longer rows score higher; 1")
      ->group(group);
  sub.add_option("--early-stopping", command.early_stopping,
                 "true: end with num-beams finished rows; never: only when none can improve")
      ->check(CLI::IsMember({"true", "false", "never"}))
      ->group(group);
  sub.add_option(
         "--prompt-lookup", settings.prompt_lookup_num_tokens,
         "Check up to this many guesses from earlier text in one step; same tokens as greedy")
      ->group(group);
}

}  // namespace

GenerationOptions GenerateCommand::options() const {
  GenerationOptions all = settings;
  if (!eos.empty()) all.eos_token_id = eos;
  if (!stops.empty()) all.stop_strings = stops;
  if (do_sample || greedy) all.do_sample = do_sample;
  if (early_stopping == "never") all.early_stopping = EarlyStopping::kNever;
  else if (!early_stopping.empty())
    all.early_stopping = early_stopping == "true" ? EarlyStopping::kTrue : EarlyStopping::kFalse;
  return all;
}

void add_generate_options(CLI::App& sub, GenerateCommand& command) {
  sub.footer(kFooter);
  add_sources(sub, command);
  add_lengths(sub, command);
  add_choice(sub, command);
  add_search(sub, command);
}

}  // namespace slipway::cli
