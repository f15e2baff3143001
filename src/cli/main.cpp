// The command line: parsing, logging, and what an error becomes.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/log.h"
#include "cli/cli.h"
#include "slipway/error.h"

namespace slipway::cli {
namespace {

constexpr const char* kDescription =
    "Exports Hugging Face models to ONNX, PyTorch, OpenVINO and ExecuTorch without Python, and runs"
    " what it wrote.";
constexpr const char* kFooter = R"(
Typical use:
  slipway export smollm2.gguf exported/          write an ONNX export
  slipway generate exported/ --chat "Hello!"     talk to it
  slipway inspect exported/                      see its inputs and outputs
`slipway COMMAND --help` shows the options of a command, with examples.

Exit codes: 0 done, 2 wrong use, 3 bad input, 4 not supported, 5 environment (disk, memory, missing
runtime), 1 a fault of slipway.)";

void apply(const Globals& globals) {
  log::Level level = log::Level::kWarning;
  if (globals.quiet || globals.log_level == "quiet") level = log::Level::kQuiet;
  else if (globals.verbose > 1 || globals.log_level == "debug") level = log::Level::kDebug;
  else if (globals.verbose == 1 || globals.log_level == "info") level = log::Level::kInfo;
  log::set_level(level);
}

int report(bool json, ErrorKind kind, const std::string& message) {
  if (json) {
    try {
      print_json({{"error", {{"kind", to_string(kind)}, {"message", message}}}});
    } catch (...) {  // the exit code still tells
    }
  } else {
    fmt::print(stderr, "slipway: {}\n", message);
  }
  return exit_code(kind);
}

/// Needed before parsing, for errors of parsing.
bool asks_for_json(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--json") == 0) return true;
  return false;
}

int parse(CLI::App& app, int argc, char** argv, bool json) {
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::Success& help) {  // --help, --version
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::string command = "slipway";
    for (const CLI::App* sub : app.get_subcommands()) command += " " + sub->get_name();
    return report(json, kUsage, fmt::format("[usage] {}; see `{} --help`", error.what(), command));
  }
}

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe becomes an error of the write
  std::signal(SIGXFSZ, SIG_IGN);  // so does a limit on file sizes
  const bool json = asks_for_json(argc, argv);
  try {
    Globals globals;
    CLI::App app(kDescription, "slipway");
    app.footer(kFooter);
    app.set_version_flag("--version", "slipway " SLIPWAY_VERSION);
    app.require_subcommand(1);
    app.parse_complete_callback([&] { apply(globals); });
    add_globals(app, globals);
    add_export(app, globals);
    add_trace(app, globals);
    add_run(app, globals);
    add_generate(app, globals);
    add_bench(app, globals);
    add_embed(app, globals);
    add_inspect(app, globals);
    add_lists(app, globals);
    return parse(app, argc, argv, json);
  } catch (const OutputClosed&) {
    return 0;
  } catch (const Error& error) {
    return report(json, error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    return report(json, kEnvironment, "[memory] the system has no more memory for this process");
  } catch (const std::exception& error) {
    return report(json, kInternal, fmt::format("[internal] {}; please report this", error.what()));
  }
}

}  // namespace

void add_globals(CLI::App& app, Globals& globals) {
  app.add_flag("--json", globals.json, "Print one JSON document on standard output, errors too")
      ->group("Everywhere");
  app.add_option("--log-level", globals.log_level, "Messages on standard error")
      ->check(CLI::IsMember({"quiet", "warning", "info", "debug"}))
      ->group("Everywhere");
  app.add_flag("-v,--verbose", globals.verbose, "As --log-level info; twice: debug")
      ->group("Everywhere");
  app.add_flag("-q,--quiet", globals.quiet, "As --log-level quiet; no progress bars")
      ->group("Everywhere");
}

}  // namespace slipway::cli

int main(int argc, char** argv) { return slipway::cli::main(argc, argv); }
