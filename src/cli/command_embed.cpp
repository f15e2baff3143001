// slipway embed: sentences become vectors.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/leaves.h"
#include "cli/runtime_options.h"
#include "export/layout.h"
#include "slipway/generation.h"

namespace slipway::cli {
namespace {

constexpr const char* kFooter = R"(
Examples:
  slipway embed out/ --text "A cat sits on the mat." --text "Stocks fell." --normalize --json
  slipway embed out/ --text "hello" --pooling cls --no-normalize

Without --pooling and --normalize the export's sentence-transformers files decide; without those,
the mean over the tokens, not normalized.)";

struct EmbedCommand {
  std::string directory;
  RuntimeChoice runtime;
  std::vector<std::string> texts;
  EmbedOptions options;
};

void embed_texts(const EmbedCommand& command, bool json) {
  list_export(command.directory);  // says what is wrong with the folder
  const TextProcessor processor = TextProcessor::from_pretrained(command.directory);
  const ExportedModel exported = load_export(command.directory, command.runtime);
  const Tensor rows = embed(exported, processor, command.texts, command.options);
  const auto width = static_cast<size_t>(rows.dim(1));
  Json list = Json::array();
  for (size_t row = 0; row < command.texts.size(); ++row) {
    const auto values = rows.values<float>().subspan(row * width, width);
    if (json) {
      list.push_back(std::vector<float>(values.begin(), values.end()));
      continue;
    }
    std::string line;
    for (const float value : values) line += fmt::format("{}{}", line.empty() ? "" : " ", value);
    print(line + "\n");
  }
  if (json) print_json({{"embeddings", std::move(list)}});
}

}  // namespace

void add_embed(CLI::App& app, Globals& globals) {
  CLI::App* sub = app.add_subcommand("embed", "Turn sentences into vectors, one a line");
  sub->footer(kFooter);
  const auto command = std::make_shared<EmbedCommand>();
  sub->add_option("EXPORT", command->directory, "Export directory")->required();
  sub->add_option("--text", command->texts, "A sentence; repeat for more")
      ->required()
      ->allow_extra_args(false);
  sub->add_option("--pooling", command->options.pooling, "How token vectors become one")
      ->check(CLI::IsMember({"mean", "cls"}));
  sub->add_flag_function(
      "--normalize,!--no-normalize",
      [command](int64_t times) { command->options.normalize = times > 0; }, "Vectors of length 1");
  add_runtime_options(*sub, command->runtime);
  add_globals(*sub, globals);
  sub->callback([command, &globals] { embed_texts(*command, globals.json); });
}

}  // namespace slipway::cli
