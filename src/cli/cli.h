// What the commands share: the global options, output, and how a command is registered.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace CLI {
class App;
}

namespace slipway::cli {

/// Options that every command takes.
struct Globals {
  bool json = false;
  std::string log_level;  ///< "quiet", "warning", "info", "debug"; empty: not given
  int verbose = 0;
  bool quiet = false;
};

/// Adds the global options to a command, so that they may stand before or after its name.
void add_globals(CLI::App& app, Globals& globals);

/// Each command adds a subcommand whose callback does the work and throws Error.
void add_export(CLI::App& app, Globals& globals);
void add_trace(CLI::App& app, Globals& globals);
void add_run(CLI::App& app, Globals& globals);
void add_generate(CLI::App& app, Globals& globals);
void add_bench(CLI::App& app, Globals& globals);
void add_embed(CLI::App& app, Globals& globals);
void add_inspect(CLI::App& app, Globals& globals);
void add_lists(CLI::App& app, Globals& globals);  ///< models, formats

/// The matrix of ops and back ends, as Markdown or JSON.
void list_coverage(bool json);

/// Writes to standard output. Throws OutputClosed when nobody reads it any more, and
/// Error{kEnvironment} when it cannot be written.
void print(std::string_view text);
/// A JSON document on one line. Bytes that are no UTF-8 are replaced.
void print_json(const Json& json);
/// What is thrown when the reader of standard output went away: not a failure of ours.
struct OutputClosed {};

/// "1.5 MB".
std::string megabytes(int64_t bytes);

}  // namespace slipway::cli
