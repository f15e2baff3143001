// slipway models, slipway formats: what this build supports.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/cli.h"
#include "models/registry.h"
#include "passes/pass.h"
#include "slipway/configs.h"

namespace slipway::cli {
namespace {

void list_models(bool json) {
  Json list = Json::array();
  for (const models::ModelType* type : models::model_types()) {
    Json tasks = Json::array();
    std::string text;
    for (const models::Head& head : type->heads) {
      std::vector<std::string> names = {std::string(head.task)};
      if (head.task == "text-generation") names.push_back("text-generation-with-past");
      for (const std::string& name : names) {
        tasks.push_back({{"task", name}, {"architecture", std::string(head.architecture)}});
        text += fmt::format("  {:<26} {}\n", name, head.architecture);
      }
    }
    list.push_back({{"model_type", std::string(type->name)}, {"tasks", std::move(tasks)}});
    if (!json) print(fmt::format("{}\n{}", type->name, text));
  }
  if (json) print_json({{"models", std::move(list)}});
}

void list_formats(bool json) {
  if (json) return print_json({{"formats", available_formats()}});
  for (const std::string& name : available_formats()) print(name + "\n");
}

void list_passes(bool json) {
  Json list = Json::array();
  for (const Pass& pass : all_passes()) {
    list.push_back(
        {{"name", std::string(pass.name)}, {"description", std::string(pass.description)}});
    if (!json) print(fmt::format("{:<14} {}\n", pass.name, pass.description));
  }
  if (json) print_json({{"passes", std::move(list)}});
}

}  // namespace

void add_lists(CLI::App& app, Globals& globals) {
  CLI::App* models = app.add_subcommand("models", "List the model types and their tasks");
  models->footer("\nExample:\n  slipway models --json");
  add_globals(*models, globals);
  models->callback([&globals] { list_models(globals.json); });
  CLI::App* formats = app.add_subcommand("formats", "List the formats that can be written");
  formats->footer(
      "\nExamples:\n  slipway formats --json\n  slipway formats --passes\n  "
      "slipway formats --coverage");
  add_globals(*formats, globals);
  const auto passes = std::make_shared<bool>(false);
  formats->add_flag("--passes", *passes,
                    "List the graph passes instead, for `export --disable-pass`");
  const auto coverage = std::make_shared<bool>(false);
  formats
      ->add_flag("--coverage", *coverage, "List every op instead, with what back ends make of it")
      ->excludes("--passes");
  formats->callback([passes, coverage, &globals] {
    (*coverage ? list_coverage : *passes ? list_passes : list_formats)(globals.json);
  });
}

}  // namespace slipway::cli
