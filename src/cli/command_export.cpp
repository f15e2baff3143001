// slipway export: a checkpoint becomes an export directory.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>

#include "base/log.h"
#include "base/output.h"
#include "cli/cli.h"
#include "cli/export_options.h"
#include "cli/leaves.h"
#include "cli/memory.h"
#include "export/dry_run.h"
#include "export/layout.h"
#include "slipway/exporter.h"

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

/// Weights up to this size are run once more before success is reported.
constexpr int64_t kValidateBelow = 100'000'000;

constexpr const char* kFooter = R"(
Examples:
  slipway export SmolLM2.gguf out/                          a chat model with its cache, float32
  slipway export all-MiniLM-L6-v2/ out/ --task feature-extraction
  slipway export bert/ out/ --static --batch-size 1 --sequence-length 128
  slipway export llama/ out/ --dynamic-shapes '{"input_ids": {"1": {"name": "seq", "max": 2048}},
      "attention_mask": {"1": "auto"}}'                     JSON, or @FILE
  slipway export llama/ out/ --generation                    two graphs: prefill, and decode of one token
  slipway export llama/ out/ --generation --multi-token-decode --static-cache 2048
                                                            a cache of fixed slots, written in place
  slipway export llama/ out/ --layout genai                 a folder for onnxruntime-genai
  slipway export llama/ out/ --layout openvino-genai        IR with its tokenizer, for OpenVINO GenAI
  slipway export llama/ out/ --format dynamo                a .pt2 that torch.export.load opens
  slipway export llama/ out/ --format openvino              IR: openvino_model.xml and .bin
  slipway export llama/ out/ --format executorch            a .pte for ExecuTorch, with XNNPACK
  slipway export llama/ out/ --format executorch --generation --single-file
                                                            one model.pte: prefill, decode
  slipway export llama/ out/ --layout executorch-llm        a .pte for ExecuTorch's LLM runner
  slipway export traced/model.pt2 out/                      a program that torch.export saved
  slipway export llama/ out/ --dry-run                      inputs, outputs and sizes; writes nothing

CHECKPOINT is a folder with config.json and safetensors, a .gguf file, or a .pt2 file that
torch.export.save wrote, for models without a native file. OUT appears when it is complete: a failure leaves an older export at that place as it was.
For a causal language model `auto` means text-generation-with-past (with --static:
text-generation).)";

Json delegation_json(const Delegation& delegation) {
  Json left = Json::array();
  for (const auto& [what, count] : delegation.left)
    left.push_back({{"op", what.first}, {"reason", what.second}, {"count", count}});
  return {{"delegates", delegation.delegates},
          {"multiplications", delegation.multiplications},
          {"delegated_multiplications", delegation.delegated_multiplications},
          {"delegated", delegation.delegated},
          {"left", std::move(left)}};
}

Json spec_json(const ExportedModel& exported) {
  Json components = Json::object();
  for (const auto& [name, component] : exported.components()) {
    Json& spec = components[name];
    spec = {{"inputs", leaves_json(component.program.inputs())},
            {"outputs", leaves_json(component.program.outputs())}};
    if (const auto delegation = component.program.delegation())
      spec["delegation"] = delegation_json(*delegation);
  }
  return components;
}

void show_dry_run(const ExportedSource& source, bool json) {
  const ExportedModel& exported = source.model;
  const DryRun plan = dry_run(exported);
  if (json) {
    print_json({{"dry_run", true},
                {"task", source.task},
                {"architecture", source.architecture},
                {"components", spec_json(exported)},
                {"model_bytes", plan.model_bytes},
                {"data_bytes", plan.data_bytes},
                {"nodes", plan.nodes},
                {"peak_anonymous_bytes", plan.peak_anonymous_bytes}});
    return;
  }
  print(fmt::format("{}, {}\n", source.architecture, source.task));
  for (const auto& [name, component] : exported.components())
    print(fmt::format("component {}\n  inputs\n{}  outputs\n{}", name,
                      leaves_text(component.program.inputs()),
                      leaves_text(component.program.outputs())));
  print(
      fmt::format("would write {} of graph ({} nodes) and {} of weights, with about {} of "
                  "memory\n",
                  megabytes(plan.model_bytes), plan.nodes, megabytes(plan.data_bytes),
                  megabytes(plan.peak_anonymous_bytes)));
}

/// What libtorch makes of the same source, where its plug-in is there.
std::optional<ExportedModel> eager_model(const ExportedSource& source) {
  if (source.model.export_format() == "dynamo" || !source.eager) return std::nullopt;
  try {
    ExportedModel eager = source.eager();
    for (const auto& [name, runner] : eager.runners()) runner.inputs();  // opens it
    return eager;
  } catch (const Error& error) {
    if (error.kind() != kEnvironment && error.kind() != kUnsupported) throw;
    log::info(fmt::format("not compared with libtorch: {}", error.what()));
    return std::nullopt;
  }
}

/// Runs what was written. Returns whether that happened: without a runtime that can it is skipped,
/// unless it was asked for.
bool validate(const ExportOptions& options, const ExportedSource& source, const fs::path& folder) {
  const int64_t weight_bytes = dry_run(source.model).data_bytes;
  if (!options.validate.value_or(weight_bytes < kValidateBelow)) return false;
  std::optional<ExportedModel> written;
  try {
    written.emplace(ExportedModel::from_pretrained(folder));
    for (const auto& [name, runner] : written->runners()) runner.inputs();  // opens it
  } catch (const Error& error) {
    // No runtime, or one without kernels for this dtype: the export is good, it was not run.
    const bool lacks = error.kind() == kEnvironment || error.kind() == kUnsupported;
    if (!lacks || options.validate) throw;
    const std::string note = fmt::format("not validated: {}", error.what());
    error.kind() == kEnvironment ? log::info(note) : log::warning(note);
    return false;
  }
  const std::optional<ExportedModel> eager = eager_model(source);
  return validate_export(*written, {.eager = eager ? &*eager : nullptr,
                                    .made_up_inputs_may_not_suit = source.is_program,
                                    .rounds_to_steps = source.is_quantized});
}

Json files_json(const fs::path& folder) {
  std::map<std::string, int64_t> sizes;
  const auto add = [&](const fs::path& below) {
    std::error_code error;
    for (fs::directory_iterator it(folder / below, error), end; !error && it != end; ++it)
      if (it->is_regular_file())
        sizes[display(below / it->path().filename())] = static_cast<int64_t>(it->file_size());
  };
  add("");
  add("onnx");
  return Json(sizes);
}

void export_checkpoint(const ExportOptions& options, bool json) {
  const auto start = std::chrono::steady_clock::now();
  MemoryWatch memory;
  const ExportedSource source = export_source(options);
  const ExportedModel& exported = source.model;
  if (options.dry_run) return show_dry_run(source, json);
  if (options.out.empty())
    throw Error(kUsage, "[export] OUT is missing: say where to write; see `slipway export --help`");
  bool validated = false;
  exported.save_pretrained(options.out, {.layout = layout_named(options.layout),
                                         .before_commit = [&](const fs::path& folder) {
                                           validated = validate(options, source, folder);
                                         }});
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  const int64_t peak = memory.peak();
  const Json files = files_json(options.out);
  if (json) {
    print_json({{"out", display(options.out)},
                {"format", exported.export_format()},
                {"layout", options.layout},
                {"architecture", source.architecture},
                {"task", source.task},
                {"components", spec_json(exported)},
                {"files", files},
                {"seconds", spent.count()},
                {"peak_anonymous_bytes", peak},
                {"validated", validated}});
    return;
  }
  std::string names;
  for (const auto& [file, bytes] : files.items())
    if (file.ends_with(".onnx") || file.ends_with(".pt2") || file.ends_with(".pte") ||
        (file.starts_with("openvino_") && (file.ends_with(".xml") || file.ends_with(".bin"))) ||
        file.find(".onnx.data") != file.npos || file.find(".onnx_data") != file.npos)
      names +=
          fmt::format("{}{} {}", names.empty() ? "" : " + ", file, megabytes(bytes.get<int64_t>()));
  print(fmt::format("{} ({}) -> {}: {}; {:.2f} s, {} of memory{}\n", source.architecture,
                    source.task, display(options.out), names, spent.count(), megabytes(peak),
                    validated ? ", validated" : ""));
}

}  // namespace

void add_export(CLI::App& app, Globals& globals) {
  CLI::App* command = app.add_subcommand(
      "export", "Write a checkpoint as an ONNX, PyTorch, OpenVINO or ExecuTorch export");
  command->footer(kFooter);
  const auto options = std::make_shared<ExportOptions>();
  command->add_option("CHECKPOINT", options->checkpoint, "Checkpoint folder, .gguf or .pt2 file")
      ->required();
  command->add_option("OUT", options->out, "Folder to write; not needed with --dry-run");
  command->add_option("--format", options->format,
                      "Format; `slipway formats` lists them; default: that of --layout, or onnx");
  command->add_option("--task", options->task, "What the export is for")
      ->check(CLI::IsMember({"auto", "feature-extraction", "text-generation",
                             "text-generation-with-past", "fill-mask", "text-classification",
                             "token-classification", "question-answering"}))
      ->capture_default_str();
  command->add_option("--layout", options->layout, "Whose directory to write")
      ->check(CLI::IsMember(
          {"slipway", "genai", "optimum", "transformers.js", "openvino-genai", "executorch-llm"}))
      ->capture_default_str();
  command->add_flag("--static", options->is_static, "Fix every size; needs the two below");
  command->add_option("--batch-size", options->batch_size, "Rows")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  command->add_option("--sequence-length", options->sequence_length, "Tokens a row")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  command->add_option("--dynamic-shapes", options->dynamic_shapes,
                      "Sizes that stay free, by input and axis, as JSON or @FILE");
  command->add_flag("--prefer-deferred-runtime-asserts-over-guards", options->defer_asserts,
                    "Check bounds that go beyond the model's at run time, do not refuse them");
  command->add_option("--dtype", options->dtype, "Of weights and computation")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->capture_default_str();
  command->add_option("--opset", options->opset, "ONNX opset, 18 to 24; default 20");
  command->add_flag("--compress-to-fp16", options->compress_to_fp16,
                    "OpenVINO: store float32 weights as float16 where their values fit");
  command->add_flag("--stateless", options->stateless,
                    "OpenVINO: caches as inputs and outputs, not as variables");
  command->add_option("--backend", options->backend,
                      "ExecuTorch: what computes the parts of a graph that it can: xnnpack");
  command->add_flag("--no-alloc-graph-input", options->no_alloc_input,
                    "ExecuTorch: inputs are used where the caller has them, not copied");
  command->add_flag("--no-alloc-graph-output", options->no_alloc_output,
                    "ExecuTorch: the caller gives outputs their memory");
  command->add_flag("--no-alloc-mutable-buffers", options->no_alloc_buffers,
                    "ExecuTorch: the caller gives mutable buffers their memory");
  command->add_flag("--single-file", options->single_file,
                    "ExecuTorch: components are methods of one model.pte that share their weights");
  command->add_option("--disable-pass", options->disabled_passes,
                      "Leave out an optimization; `slipway formats --passes` lists them");
  command->add_flag("--generation", options->generation,
                    "Write the graphs that generation runs: prefill and decode");
  command->add_flag("--multi-token-decode", options->multi_token_decode,
                    "Let decode take any number of tokens; needs --generation");
  command
      ->add_option("--static-cache", options->static_cache,
                   "Slots of a cache that does not grow; needs --generation or executorch-llm")
      ->check(CLI::Range(int64_t{3}, int64_t{1} << 31));
  command->add_flag("--allow-python", options->allow_python,
                    "Trace model types that have no native file with your PyTorch");
  add_trace_options(*command, options->trace);
  command->add_flag("--dry-run", options->dry_run, "Show what would be written");
  command->add_flag_function(
      "--validate,!--no-validate", [options](int64_t times) { options->validate = times > 0; },
      "Run what was written; default: below 100 MB of weights");
  add_globals(*command, globals);
  command->callback([options, &globals] { export_checkpoint(*options, globals.json); });
}

}  // namespace slipway::cli
