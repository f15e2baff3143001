// slipway generate: text, or ids, continued greedily.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <optional>

#include "base/log.h"
#include "checkpoint/safetensors.h"
#include "cli/cli.h"
#include "cli/leaves.h"
#include "slipway/generation.h"

namespace slipway::cli {
namespace {

constexpr const char* kFooter = R"(
Examples:
  slipway generate out/ --chat "What is gravity?"
  slipway generate out/ --system "Answer in one word." --chat "What is 2 + 2?"
  slipway generate out/ --prompt "Once upon a time" --max-new-tokens 40
  slipway generate out/ --prompt "One" --prompt "Two" --json         two rows of one batch
  slipway generate out/ --inputs ids.safetensors --ignore-eos --json

--prompt is continued as it is; --chat is put into the model's chat template first. A file given as
--inputs holds input_ids and, where rows are padded (on the left), attention_mask. How many tokens
and where to stop come from generation_config.json and config.json unless they are given here.)";

struct GenerateCommand {
  std::string directory, inputs, system, device = "cpu";
  std::vector<std::string> prompts, chats;
  std::optional<int64_t> max_new_tokens;
  bool ignore_eos = false;
};

/// Of an export without a tokenizer: nothing, when only ids are asked for.
std::optional<TextProcessor> find_processor(const GenerateCommand& command) {
  const std::filesystem::path tokenizer =
      std::filesystem::path(command.directory) / "tokenizer.json";
  std::error_code error;
  if (!command.inputs.empty() && !std::filesystem::exists(tokenizer, error)) return std::nullopt;
  return TextProcessor::from_pretrained(command.directory);
}

Inputs read_inputs(const GenerateCommand& command, const std::optional<TextProcessor>& processor) {
  const int ways =
      int{!command.prompts.empty()} + int{!command.chats.empty()} + int{!command.inputs.empty()};
  if (ways != 1) throw Error(kUsage, "[generate] give one of --prompt, --chat and --inputs");
  if (!command.inputs.empty()) return read_safetensors(command.inputs);
  if (!command.prompts.empty()) return processor->encode_prompts(command.prompts);
  std::vector<std::string> conversations;
  for (const std::string& text : command.chats) {
    Json messages = Json::array();
    if (!command.system.empty())
      messages.push_back({{"role", "system"}, {"content", command.system}});
    messages.push_back({{"role", "user"}, {"content", text}});
    try {
      conversations.push_back(messages.dump());
    } catch (const Json::type_error&) {  // what the text is made of is all that can be wrong
      throw Error(kInvalid, "[generate] the text of --chat or --system is not UTF-8");
    }
  }
  return processor->encode_chats(conversations);
}

/// The ids of each row without its padding.
Json prompt_ids(const Inputs& inputs) {
  const Tensor& ids = inputs.at("input_ids");
  const auto mask = inputs.find("attention_mask");
  Json rows = Json::array();
  const auto width = static_cast<size_t>(ids.dim(1));
  for (size_t row = 0; row < static_cast<size_t>(ids.dim(0)); ++row) {
    Json list = Json::array();
    for (size_t i = row * width; i < (row + 1) * width; ++i)
      if (mask == inputs.end() || mask->second.values<int64_t>()[i] != 0)
        list.push_back(ids.values<int64_t>()[i]);
    rows.push_back(std::move(list));
  }
  return rows;
}

std::vector<int64_t> real_ids(const Generated& made, size_t row) {
  const auto& ids = made.new_ids[row];
  return {ids.begin(), ids.begin() + made.lengths[row]};
}

Json result_json(const Generated& made, const std::optional<TextProcessor>& processor) {
  Json texts = Json::array(), reasons = Json::array(), top = Json::array();
  for (size_t row = 0; row < made.new_ids.size(); ++row) {
    texts.push_back(processor ? Json(processor->decode(real_ids(made, row))) : Json());
    reasons.push_back(made.reached_eos[row] ? "eos" : "length");
  }
  for (const auto& row : made.first_step_top) {
    Json pairs = Json::array();
    for (const TokenLogit& token : row) pairs.push_back(Json::array({token.id, token.logit}));
    top.push_back(std::move(pairs));
  }
  return {{"new_ids", made.new_ids},
          {"text", std::move(texts)},
          {"lengths", made.lengths},
          {"finish_reasons", std::move(reasons)},
          {"first_step_top5", std::move(top)},
          {"prefill_seconds", made.prefill_seconds},
          {"decode_seconds", made.decode_seconds},
          {"tokens_per_second", made.tokens_per_second}};
}

void print_texts(const Generated& made, const std::optional<TextProcessor>& processor) {
  for (size_t row = 0; row < made.new_ids.size(); ++row) {
    if (made.new_ids.size() > 1) print(fmt::format("--- {}\n", row));
    if (processor) print(processor->decode(real_ids(made, row)) + "\n");
    else print(Json(made.new_ids[row]).dump() + "\n");
  }
}

void generate_text(const GenerateCommand& command, bool json) {
  const auto start = std::chrono::steady_clock::now();
  if (command.prompts.empty() && command.chats.empty() && command.inputs.empty())
    throw Error(kUsage,
                "[generate] there is nothing to continue: give --prompt, --chat or "
                "--inputs");
  const std::optional<TextProcessor> processor = find_processor(command);
  const Inputs inputs = read_inputs(command, processor);
  const ExportedModel exported = load_export(command.directory, command.device);
  const std::chrono::duration<double> loading = std::chrono::steady_clock::now() - start;

  GenerationOptions options;
  options.max_new_tokens = command.max_new_tokens;
  options.ignore_eos = command.ignore_eos;
  options.first_step_top = json ? 5 : 0;
  const auto ids = inputs.find("input_ids");
  const bool streams = !json && processor && ids != inputs.end() && ids->second.rank() == 2 &&
                       ids->second.dim(0) == 1;
  std::function<std::string(std::optional<int64_t>)> text;
  if (streams) {
    text = processor->stream();
    options.on_token = [&text](int64_t, int64_t id) {
      const std::string piece = text(id);
      if (!piece.empty()) print(piece);
      return true;
    };
  }
  const Generated made = generate(exported, inputs, options);
  if (json) {
    Json result = result_json(made, processor);
    result["load_seconds"] = loading.count();
    if (command.inputs.empty()) result["input_ids"] = prompt_ids(inputs);
    return print_json(result);
  }
  if (streams) print(text(std::nullopt) + "\n");
  else print_texts(made, processor);
  log::info(fmt::format("loaded in {:.2f} s, first token after {:.2f} s, then {:.1f} tokens/s",
                        loading.count(), made.prefill_seconds, made.tokens_per_second));
}

}  // namespace

void add_generate(CLI::App& app, Globals& globals) {
  CLI::App* sub = app.add_subcommand("generate", "Continue text with an exported language model");
  sub->footer(kFooter);
  const auto command = std::make_shared<GenerateCommand>();
  sub->add_option("EXPORT", command->directory, "Export directory")->required();
  sub->add_option("--prompt", command->prompts, "Text to continue; repeat for a batch")
      ->allow_extra_args(false);
  sub->add_option("--chat", command->chats, "What to say to a chat model; repeat for a batch")
      ->allow_extra_args(false);
  sub->add_option("--system", command->system, "What the chat model is told first")
      ->needs("--chat");
  sub->add_option("--inputs", command->inputs, "Safetensors file with input_ids");
  sub->add_option("--max-new-tokens", command->max_new_tokens, "At most this many a row")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  sub->add_flag("--ignore-eos", command->ignore_eos, "Do not stop at end tokens");
  sub->add_option("--device", command->device, "cpu, cuda, cuda:1")->capture_default_str();
  add_globals(*sub, globals);
  sub->callback([command, &globals] { generate_text(*command, globals.json); });
}

}  // namespace slipway::cli
