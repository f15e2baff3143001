// Where a command runs an export: the options that all of them have.
#pragma once

#include <string>
#include <vector>

#include "slipway/exported_model.h"

namespace CLI {
class App;
}

namespace slipway::cli {

struct RuntimeChoice {
  std::string device;
  std::vector<std::string> session_options;  ///< KEY=VALUE
};

void add_runtime_options(CLI::App& app, RuntimeChoice& choice);
/// Throws Error{kUsage} for an option that is no KEY=VALUE.
RunnerOptions runner_options(const RuntimeChoice& choice);
/// The export of a command: its directory, loaded there.
ExportedModel load_export(const std::string& directory, const RuntimeChoice& choice);

}  // namespace slipway::cli
