// slipway generate: text, conversations or ids, continued.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/output.h"
#include "checkpoint/safetensors.h"
#include "cli/cli.h"
#include "cli/generate_input.h"
#include "cli/generate_options.h"
#include "cli/generate_output.h"
#include "cli/leaves.h"
#include "cli/runtime_options.h"
#include "export/decoder_of.h"
#include "export/layout.h"

namespace slipway::cli {
namespace {

/// One run of the command: reads everything that can be wrong before it loads the model.
class GenerateTool {
 public:
  GenerateTool(const GenerateCommand& command, bool json)
      : command_(command), json_(json), options_(command.options()) {
    check_sources();
    list_export(command.directory);  // says what is wrong with the folder
    processor_ = find_processor();
    check_stops();
    if (processor_) options_.text_of = processor_->text_of();
    options_.first_step_top = json && command.batch_file.empty() ? 5 : 0;
  }

  void run() {
    if (!command_.batch_file.empty()) return run_batches();
    if (is_chat()) return run_chat();
    const Inputs inputs = command_.inputs.empty() ? processor_->encode_prompts(command_.prompts)
                                                  : read_safetensors(command_.inputs);
    if (command_.inputs.empty()) check_prompts(inputs);
    const ExportedModel exported = load();
    const bool one_row =
        !command_.inputs.empty() ? is_one_row(inputs) : command_.prompts.size() == 1;
    const Generated made = generate_rows(exported, inputs, one_row);
    if (!json_) return;
    Json result = result_json(made, processor_);
    result["load_seconds"] = load_seconds_;
    if (command_.inputs.empty()) result["input_ids"] = prompt_ids(inputs);
    print_json(result);
  }

 private:
  bool is_chat() const { return !command_.chats.empty() || !command_.chat_file.empty(); }
  static bool is_one_row(const Inputs& inputs) {
    const auto ids = inputs.find("input_ids");
    return ids != inputs.end() && ids->second.rank() == 2 && ids->second.dim(0) == 1;
  }

  void check_sources() const {
    const int ways = int{!command_.prompts.empty()} + int{is_chat()} +
                     int{!command_.inputs.empty()} + int{!command_.batch_file.empty()};
    if (ways == 0)
      throw Error(kUsage,
                  "[generate] there is nothing to continue: give --prompt, --chat, "
                  "--chat-file, --inputs or --batch-file");
    if (ways > 1)
      throw Error(kUsage,
                  "[generate] give one of --prompt, --chat (with --chat-file), --inputs and "
                  "--batch-file");
    if (!is_chat() && !(command_.system.empty() && command_.save_chat.empty()))
      throw Error(kUsage, "[generate] --system and --save-chat go with --chat or --chat-file");
    if (command_.stream && json_)
      throw Error(kUsage,
                  "[generate] --stream prints text, --json prints one document at the end; "
                  "give one of them");
    if (command_.stream && (command_.prompts.size() > 1 || !command_.batch_file.empty()))
      throw Error(kUsage,
                  "[generate] --stream prints the text of one row, there are several; leave "
                  "it out");
  }

  /// Of an export without a tokenizer: nothing, when only ids are asked for.
  std::optional<TextProcessor> find_processor() const {
    std::error_code error;
    if (!command_.inputs.empty() &&
        !std::filesystem::exists(std::filesystem::path(command_.directory) / "tokenizer.json",
                                 error))
      return std::nullopt;
    return TextProcessor::from_pretrained(command_.directory);
  }

  void check_stops() const {
    const auto stops = options_.merged(GenerationConfig::from_pretrained(command_.directory))
                           .stop_strings.value_or(std::vector<std::string>{});
    if (!stops.empty() && !processor_)
      throw Error(kUsage, fmt::format("[generate] there are stop strings (from {}), which need "
                                      "tokenizer.json, and {} has none; add it or do without them",
                                      command_.stops.empty() ? "generation_config.json" : "--stop",
                                      display(command_.directory)));
    for (const std::string& stop : command_.stops) check_utf8(stop);
  }

  /// Throws the tokenizer's error for a text that is not UTF-8.
  void check_utf8(const std::string& stop) const {
    try {
      processor_->encode_prompts({stop});
    } catch (const Error& error) {
      throw error.with_context("--stop");
    }
  }

  /// A prompt of no tokens by its number, where there are others.
  static void check_prompts(const Inputs& inputs) {
    const auto rows = prompt_ids(inputs);
    for (size_t i = 0; rows.size() > 1 && i < rows.size(); ++i)
      if (rows[i].empty())
        throw Error(kInvalid, fmt::format("[generate] prompt {} of {} is empty, need at least one "
                                          "token",
                                          i + 1, rows.size()));
  }

  ExportedModel load() {
    const auto start = std::chrono::steady_clock::now();
    ExportedModel exported = load_export(command_.directory, command_.runtime);
    decoder_graphs_of(exported);  // opens what generation needs, so that loading is timed apart
    load_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return exported;
  }

  /// Whether the settings, those of the export's files included, give one row of tokens in order.
  bool can_stream() const {
    const GenerationConfig all =
        options_.merged(GenerationConfig::from_pretrained(command_.directory));
    return all.num_beams.value_or(1) == 1 && all.num_return_sequences.value_or(1) == 1;
  }

  /// Generates; prints the texts unless JSON is asked for.
  Generated generate_rows(const ExportedModel& exported, const Inputs& inputs, bool one_row) {
    GenerationOptions options = options_;
    std::optional<TextPrinter> printer;
    const bool wanted =
        command_.stream || (!json_ && !command_.no_stream && one_row && can_stream());
    if (wanted && processor_) {
      printer.emplace(*processor_);
      options.on_token = [&printer](int64_t, int64_t id) {
        printer->push(id);
        return true;
      };
    }
    Generated made = generate(exported, inputs, options);
    if (printer) printer->finish();
    else if (!json_)
      print_rows(made, processor_, [&](size_t row) {
        return made.new_ids.size() > 1 ? std::to_string(row) : std::string();
      });
    log::info(fmt::format("loaded in {:.2f} s, first token after {:.2f} s, then {:.1f} tokens/s",
                          load_seconds_, made.prefill_seconds, made.tokens_per_second));
    return made;
  }

  /// Turn by turn; the first of several sequences is the answer that the next turn builds on.
  void run_chat() {
    Chat chat = command_.chat_file.empty() ? Chat() : Chat::from_file(command_.chat_file);
    if (!command_.system.empty()) chat.set_system(command_.system);
    if (command_.chats.empty() && !chat.wants_answer())
      throw Error(kUsage,
                  "[generate] the conversation's last turn is the assistant's; say something "
                  "with --chat");
    std::vector<std::string> turns = command_.chats;
    if (turns.empty()) turns.emplace_back();
    std::optional<ExportedModel> exported;
    if (!command_.save_chat.empty()) check_writable(command_.save_chat);
    Json result, answers = Json::array();
    for (size_t i = 0; i < turns.size(); ++i) {
      if (!command_.chats.empty()) chat.add("user", turns[i]);
      const Inputs inputs = processor_->encode_chats({chat.messages().dump()});
      if (!exported) exported.emplace(load());
      const Generated made = generate_rows(*exported, inputs, true);
      chat.add("assistant", processor_->decode(real_ids(made, 0)));
      if (!json_) continue;
      result = result_json(made, processor_);
      result["input_ids"] = prompt_ids(inputs);
      answers.push_back(result);
    }
    if (!command_.save_chat.empty()) chat.save(command_.save_chat);
    if (!json_) return;
    result["load_seconds"] = load_seconds_;
    result["messages"] = chat.messages();
    result["turns"] = std::move(answers);
    print_json(result);
  }

  void run_batches() {
    const std::vector<BatchItem> items = read_batch_file(command_.batch_file, *processor_);
    const GenerationConfig files = GenerationConfig::from_pretrained(command_.directory);
    const auto ends = options_.eos_token_id ? options_.eos_token_id : files.eos_token_id;
    const int64_t pad = files.pad_token_id.value_or(ends && !ends->empty() ? ends->front() : 0);
    const ExportedModel exported = load();
    const auto size = static_cast<size_t>(command_.batch_size);
    for (size_t begin = 0; begin < items.size(); begin += size) {
      const size_t end = std::min(begin + size, items.size());
      GenerationOptions options = options_;
      options.first_prompt = static_cast<int64_t>(begin);
      const Generated made = generate(exported, batch_inputs(items, begin, end, pad), options);
      const size_t copies = made.new_ids.size() / (end - begin);
      if (!json_) {
        print_rows(made, processor_, [&](size_t row) {
          return fmt::format("line {}", items[begin + row / copies].line);
        });
        continue;
      }
      for (size_t i = begin; i < end; ++i) {
        Json line = {{"line", items[i].line}, {"input_ids", items[i].ids}};
        line.update(rows_json(made, (i - begin) * copies, (i - begin + 1) * copies, processor_));
        print_json(line);
      }
    }
  }

  const GenerateCommand& command_;
  bool json_;
  GenerationOptions options_;
  std::optional<TextProcessor> processor_;
  double load_seconds_ = 0;
};

}  // namespace

void add_generate(CLI::App& app, Globals& globals) {
  CLI::App* sub = app.add_subcommand("generate", "Continue text with an exported language model");
  const auto command = std::make_shared<GenerateCommand>();
  add_generate_options(*sub, *command);
  add_globals(*sub, globals);
  sub->callback([command, &globals] { GenerateTool(*command, globals.json).run(); });
}

}  // namespace slipway::cli
