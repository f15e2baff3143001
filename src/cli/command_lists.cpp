// slipway models, slipway formats: what this build supports.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/cli.h"
#include "models/registry.h"
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

}  // namespace

void add_lists(CLI::App& app, Globals& globals) {
  CLI::App* models = app.add_subcommand("models", "List the model types and their tasks");
  models->footer("\nExample:\n  slipway models --json");
  add_globals(*models, globals);
  models->callback([&globals] { list_models(globals.json); });
  CLI::App* formats = app.add_subcommand("formats", "List the formats that can be written");
  formats->footer("\nExample:\n  slipway formats --json");
  add_globals(*formats, globals);
  formats->callback([&globals] { list_formats(globals.json); });
}

}  // namespace slipway::cli
