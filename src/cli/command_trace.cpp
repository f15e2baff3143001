// slipway trace: a model without a native file becomes a .pt2 program, by the user's PyTorch.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "base/mapped_file.h"
#include "base/output.h"
#include "cli/cli.h"
#include "cli/tracer.h"
#include "export/impl.h"
#include "slipway/torch_program.h"

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFooter = R"(
Examples:
  slipway trace google/gemma-3-270m traced/                 a folder: model.pt2, config.json, tokenizer
  slipway trace vit/ vit.pt2 --python .venv/bin/python      the program alone
  slipway trace t5-small/ traced/ --inputs example.safetensors
  slipway export traced/model.pt2 out/                      then, to any format

MODEL is a checkpoint folder or the hub's id of one. The work is done by torch and transformers in
the interpreter that --python names (python3 where it is not given); export itself needs neither.
No code and no pickled weights of the checkpoint are read.)";

/// Moves a finished file into place, also from another file system.
void move_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return;
  const auto file = MappedFile::open(from);
  write_file(to, [&](OutputFile& out) { out.append(file->bytes()); });
}

void trace(const TraceOptions& options, const std::string& out, bool json) {
  const auto start = std::chrono::steady_clock::now();
  const bool is_file = fs::path(out).extension() == ".pt2";
  fs::path written = fs::path(out) / "model.pt2";
  if (is_file) {
    written = out;
    check_writable(written);
    const TemporaryDirectory folder;
    trace_model(options, folder.path());
    move_file(folder.path() / "model.pt2", written);
  } else {
    StagedDirectory staged(out);
    trace_model(options, staged.path());  // throws where it leaves no program
    staged.commit();
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  const auto bytes = static_cast<int64_t>(fs::file_size(written));
  if (json) print_json({{"out", display(written)}, {"bytes", bytes}, {"seconds", spent.count()}});
  else
    print(fmt::format("{} -> {}: {}; {:.1f} s\n", options.model, display(written), megabytes(bytes),
                      spent.count()));
}

}  // namespace

void add_trace_options(CLI::App& command, TraceOptions& options) {
  command.add_option("--python", options.python, "Interpreter that has torch and transformers")
      ->envname("SLIPWAY_PYTHON")
      ->capture_default_str();
  command.add_option("--inputs", options.inputs,
                     "Keyword arguments to trace with, as safetensors; default: made up");
}

void add_trace(CLI::App& app, Globals& globals) {
  CLI::App* command =
      app.add_subcommand("trace", "Trace a model with PyTorch where there is no native file");
  command->footer(kFooter);
  const auto options = std::make_shared<TraceOptions>();
  const auto out = std::make_shared<std::string>();
  command->add_option("MODEL", options->model, "Checkpoint folder, or id of the hub")->required();
  command->add_option("OUT", *out, "Folder, or .pt2 file")->required();
  add_trace_options(*command, *options);
  command->add_option("--task", options->task, "What the program is for; auto: config.json says")
      ->capture_default_str();
  command->add_option("--dtype", options->dtype, "Of weights and computation")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->capture_default_str();
  command->add_flag("--static", options->is_static, "Fix every size to the example's");
  command->add_option("--batch-size", options->batch_size, "Rows of the example")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->capture_default_str();
  command->add_option("--sequence-length", options->sequence_length, "Tokens of the example")
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 20))
      ->capture_default_str();
  add_globals(*command, globals);
  command->callback([options, out, &globals] { trace(*options, *out, globals.json); });
}

}  // namespace slipway::cli
