// slipway run: one call of an export, tensors in and out of safetensors files.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/output.h"
#include "checkpoint/safetensors.h"
#include "cli/cli.h"
#include "cli/leaves.h"
#include "cli/runtime_options.h"
#include "export/layout.h"

namespace slipway::cli {
namespace {

constexpr const char* kFooter = R"(
Examples:
  slipway run out/ --inputs in.safetensors --outputs result.safetensors
  slipway run out/ --component decode --inputs in.safetensors --outputs result.safetensors

Tensors have the names that `slipway inspect EXPORT` lists. attention_mask, position_ids,
token_type_ids and the cache may be left out: nothing masked, positions from the mask, zeros, and
empty.)";

struct RunCommand {
  std::string directory, inputs, outputs, component;
  RuntimeChoice runtime;
};

const Runner& chosen_runner(const ExportedModel& exported, const std::string& component) {
  if (!component.empty()) return exported.runner(component);
  if (exported.runners().size() == 1) return exported.runners()[0].second;
  std::vector<std::string> names;
  for (const auto& [name, runner] : exported.runners()) names.push_back(name);
  throw Error(kUsage, fmt::format("[run] the export has the components {}; choose one with "
                                  "--component",
                                  fmt::join(names, ", ")));
}

void run_export(const RunCommand& command, bool json) {
  std::error_code error;
  if (std::filesystem::equivalent(command.inputs, command.outputs, error))
    throw Error(kUsage,
                fmt::format("[run] --inputs and --outputs are the same file {}; name another one",
                            command.outputs));
  list_export(command.directory);  // says what is wrong with the folder
  const Inputs inputs = read_safetensors(command.inputs);
  const ExportedModel exported = load_export(command.directory, command.runtime);
  const Runner& runner = chosen_runner(exported, command.component);
  check_writable(command.outputs);  // before the work that would be lost
  const Outputs outputs = runner(inputs);
  write_safetensors(command.outputs, {outputs.begin(), outputs.end()});
  if (json) {
    Json list = Json::array();
    for (const auto& [name, tensor] : outputs)
      list.push_back({{"name", name},
                      {"dtype", std::string(torch_name(tensor.dtype()))},
                      {"shape", tensor.shape()}});
    print_json(
        {{"outputs", list}, {"file", display(command.outputs)}, {"runtime", runner.runtime()}});
    return;
  }
  std::vector<LeafSpec> leaves;
  for (const auto& [name, tensor] : outputs) {
    leaves.push_back({name, tensor.dtype(), {}});
    for (const int64_t size : tensor.shape()) leaves.back().dims.push_back(std::to_string(size));
  }
  print(fmt::format("{} with {}\n{}", display(command.outputs), runner.runtime(),
                    leaves_text(leaves)));
}

}  // namespace

void add_run(CLI::App& app, Globals& globals) {
  CLI::App* sub = app.add_subcommand("run", "Run an export once on tensors from a file");
  sub->footer(kFooter);
  const auto command = std::make_shared<RunCommand>();
  sub->add_option("EXPORT", command->directory, "Export directory")->required();
  sub->add_option("--inputs", command->inputs, "Safetensors file to read")->required();
  sub->add_option("--outputs", command->outputs, "Safetensors file to write")->required();
  sub->add_option("--component", command->component, "Which graph, where there are several");
  add_runtime_options(*sub, command->runtime);
  add_globals(*sub, globals);
  sub->callback([command, &globals] { run_export(*command, globals.json); });
}

}  // namespace slipway::cli
