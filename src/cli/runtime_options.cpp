// Where a command runs an export: the options that all of them have.
#include "cli/runtime_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "slipway/error.h"

namespace slipway::cli {

void add_runtime_options(CLI::App& app, RuntimeChoice& choice) {
  app.add_option("--device", choice.device,
                 "cpu, cuda, cuda:1, xpu (Intel GPU); default: cpu, for OpenVINO what it finds");
  app.add_option("--session-option", choice.session_options,
                 "KEY=VALUE passed to the runtime as it is; may be repeated")
      ->allow_extra_args(false);
}

RunnerOptions runner_options(const RuntimeChoice& choice) {
  RunnerOptions options;
  options.device = choice.device;
  for (const std::string& text : choice.session_options) {
    const size_t at = text.find('=');
    if (at == std::string::npos || at == 0)
      throw Error(kUsage, fmt::format("[usage] got --session-option {}, need KEY=VALUE", text));
    options.session_options.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  return options;
}

ExportedModel load_export(const std::string& directory, const RuntimeChoice& choice) {
  return ExportedModel::from_pretrained(directory, "", runner_options(choice));
}

}  // namespace slipway::cli
