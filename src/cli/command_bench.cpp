// slipway bench: how fast an exported decoder reads prompts and makes tokens.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>

#include "base/system_memory.h"
#include "cli/cli.h"
#include "cli/leaves.h"
#include "cli/memory.h"
#include "cli/runtime_options.h"
#include "slipway/generation_session.h"

namespace slipway::cli {
namespace {

constexpr const char* kFooter = R"(
Examples:
  slipway bench out/
  slipway bench out/ --session-option session.intra_op.allow_spinning=1
  slipway bench out/ --prompt-length 512 --new-tokens 256 --batch-size 4 --json

The prompt is made of random ids, equal in every run; then comes the id of the highest logit, again
and again. One run warms up, the medians of the others are printed. The time outside the runtime is
what a step of one token takes beyond the runtime's own call.)";

struct BenchCommand {
  std::string directory;
  RuntimeChoice runtime;
  int64_t prompt_length = 128, new_tokens = 128, batch_size = 1, repeat = 3;
  std::optional<int64_t> max_cache_len;
  int threads = 0;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Measured {
  double prompt = 0;   ///< seconds to the logits of the prompt
  double decode = 0;   ///< seconds of the steps, with the choice of tokens
  double outside = 0;  ///< of a step outside the runtime and the choice, the median
};

Tensor random_ids(int64_t rows, int64_t length, int64_t vocabulary) {
  // The ids, their mask, and what the session keeps of both.
  check_memory(static_cast<uint64_t>(rows) * static_cast<uint64_t>(length) * 4 * sizeof(int64_t),
               "bench", "the prompt");
  Tensor ids(DType::kI64, {rows, length});
  std::minstd_rand random(1);
  for (int64_t& id : ids.mutable_values<int64_t>())
    id = static_cast<int64_t>(random()) % vocabulary;
  return ids;
}

void choose(const Tensor& logits, Tensor& ids) {
  const auto values = logits.values<float>();
  const auto vocabulary = static_cast<std::ptrdiff_t>(logits.dim(2));
  auto row = values.begin();
  for (int64_t& id : ids.mutable_values<int64_t>()) {
    id = std::max_element(row, row + vocabulary) - row;
    row += vocabulary;
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Measured measure(GenerationSession& session, const Tensor& prompt, int64_t new_tokens) {
  session.reset();
  Measured measured;
  auto start = Clock::now();
  Tensor logits = session.forward(prompt);
  measured.prompt = seconds_since(start);
  Tensor ids(DType::kI64, {prompt.dim(0), 1});
  std::vector<double> outside;
  start = Clock::now();
  for (int64_t i = 1; i < new_tokens; ++i) {
    choose(logits, ids);
    const double runtime = session.runtime_seconds();
    const auto step = Clock::now();
    logits = session.forward(ids);
    const double whole = seconds_since(step);
    outside.push_back(whole - (session.runtime_seconds() - runtime));
  }
  measured.decode = seconds_since(start);
  measured.outside = median(std::move(outside));
  return measured;
}

void bench(const BenchCommand& command, bool json) {
  // The drivers of other devices map far more than they use.
  if (command.runtime.device.empty() || command.runtime.device == "cpu") stay_within_memory();
  MemoryWatch memory;
  const auto start = Clock::now();
  RunnerOptions options = runner_options(command.runtime);
  options.intra_op_threads = command.threads;
  const auto exported = ExportedModel::from_pretrained(command.directory, "", options);
  GenerationSessionOptions session_options;
  session_options.max_cache_len = command.max_cache_len;
  GenerationSession session(exported, session_options);
  const double load = seconds_since(start);

  const int64_t vocabulary = session.forward(Tensor(DType::kI64, {1, 1})).dim(2);
  const Tensor prompt = random_ids(command.batch_size, command.prompt_length, vocabulary);
  measure(session, prompt, command.new_tokens);
  std::vector<double> prompts, decodes, outsides;
  for (int64_t i = 0; i < command.repeat; ++i) {
    const Measured measured = measure(session, prompt, command.new_tokens);
    prompts.push_back(measured.prompt);
    decodes.push_back(measured.decode);
    outsides.push_back(measured.outside);
  }
  const auto steps = static_cast<double>(command.new_tokens - 1);
  const auto rows = static_cast<double>(command.batch_size);
  const double prompt_rate = rows * static_cast<double>(command.prompt_length) / median(prompts);
  const double decode_rate = rows * steps / median(decodes);
  const double outside = median(outsides);
  if (json)
    return print_json({{"load_seconds", load},
                       {"prompt_seconds", median(prompts)},
                       {"prompt_tokens_per_second", prompt_rate},
                       {"decode_tokens_per_second", decode_rate},
                       {"step_seconds", median(decodes) / steps},
                       {"step_seconds_outside_runtime", outside},
                       {"peak_memory_bytes", memory.peak()}});
  print(fmt::format("prompt of {} tokens, {} new ones, batch of {}; median of {} runs\n",
                    command.prompt_length, command.new_tokens, command.batch_size, command.repeat));
  print(fmt::format("  loading             {:9.2f} s\n", load));
  print(fmt::format("  prompt              {:9.1f} tokens/s\n", prompt_rate));
  print(fmt::format("  decoding            {:9.1f} tokens/s\n", decode_rate));
  print(fmt::format("  outside the runtime {:9.1f} us a step\n", outside * 1e6));
  print(fmt::format("  anonymous memory    {:>9}\n", megabytes(memory.peak())));
}

}  // namespace

void add_bench(CLI::App& app, Globals& globals) {
  CLI::App* sub = app.add_subcommand("bench", "Measure the speed of an exported language model");
  sub->footer(kFooter);
  const auto command = std::make_shared<BenchCommand>();
  const CLI::Range counts(int64_t{1}, int64_t{1} << 31);
  constexpr int64_t kMostTokens = 1 << 20;
  sub->add_option("EXPORT", command->directory, "Export directory")->required();
  sub->add_option("--prompt-length", command->prompt_length, "Tokens of the prompt")
      ->check(CLI::Range(int64_t{1}, kMostTokens))
      ->capture_default_str();
  sub->add_option("--new-tokens", command->new_tokens, "Tokens to make")
      ->check(CLI::Range(int64_t{2}, kMostTokens))
      ->capture_default_str();
  sub->add_option("--batch-size", command->batch_size, "Rows")
      ->check(CLI::Range(int64_t{1}, int64_t{4096}))
      ->capture_default_str();
  sub->add_option("--repeat", command->repeat, "Runs that are measured")
      ->check(counts)
      ->capture_default_str();
  sub->add_option("--max-cache-len", command->max_cache_len, "Slots of a static cache")
      ->check(counts);
  sub->add_option("--threads", command->threads, "Threads of the runtime; 0: all CPUs")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  add_runtime_options(*sub, command->runtime);
  add_globals(*sub, globals);
  sub->callback([command, &globals] { bench(*command, globals.json); });
}

}  // namespace slipway::cli
