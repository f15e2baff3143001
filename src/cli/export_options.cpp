// From the flags of `slipway export` to a model, example inputs and a configuration.
#include "cli/export_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "export/layout.h"
#include "slipway/torch_program.h"

namespace slipway::cli {
namespace {

constexpr const char* kWithPast = "text-generation-with-past";
constexpr std::string_view kLlmLayout = "executorch-llm";

DType dtype_of(const std::string& name) {
  if (name == "fp32") return DType::kF32;
  if (name == "fp16") return DType::kF16;
  if (name == "bf16") return DType::kBF16;
  throw Error(kUsage, fmt::format("[export] --dtype {} is not one of fp32, fp16, bf16", name));
}

std::string text_or_file(const std::string& given) {
  if (given.empty() || given[0] != '@') return given;
  const auto file = MappedFile::open(given.substr(1));
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

void check_options(const ExportOptions& options) {
  const bool has_shapes = !options.dynamic_shapes.empty();
  if (options.is_static && has_shapes)
    throw Error(kUsage,
                "[export] --static and --dynamic-shapes exclude each other: with "
                "--dynamic-shapes, axes that it does not list are fixed");
  const bool slots_of_llm = options.layout == kLlmLayout && !options.multi_token_decode;
  if (!options.generation && !slots_of_llm && (options.multi_token_decode || options.static_cache))
    throw Error(kUsage,
                "[export] --multi-token-decode and --static-cache shape the graphs of an export "
                "for generation; give --generation too");
  if (options.layout == kLlmLayout && (has_shapes || options.is_static || options.generation))
    throw Error(kUsage, fmt::format("[export] --layout {} sets the sizes and the components; leave "
                                    "--static, --dynamic-shapes and --generation out",
                                    kLlmLayout));
  if (options.is_static && (!options.batch_size || !options.sequence_length))
    throw Error(kUsage,
                "[export] --static needs the sizes: give --batch-size and "
                "--sequence-length");
  if (!options.is_static && !has_shapes && (options.batch_size || options.sequence_length))
    throw Error(kUsage,
                "[export] --batch-size and --sequence-length fix sizes, and every size is "
                "dynamic by default; give --static or --dynamic-shapes too");
}

/// "auto" under --static means text-generation for a causal LM, since a cache of fixed size would
/// serve a single step.
PreTrainedModel open_model(const ExportOptions& options) {
  const ModelOptions model_options{.dtype = dtype_of(options.dtype)};
  PreTrainedModel model =
      PreTrainedModel::from_pretrained(options.checkpoint, options.task, model_options);
  if (!options.is_static || model.task() != kWithPast || options.generation) return model;
  if (options.task == kWithPast)
    throw Error(kUnsupported,
                "[export] text-generation-with-past grows its cache, so its sizes "
                "cannot be static; leave --static out, or export the task "
                "text-generation");
  return PreTrainedModel::from_pretrained(options.checkpoint, "text-generation", model_options);
}

/// Throws Error{kUsage} for flags of one format's files where another is chosen, `chosen` says how.
void check_format_flags(const ExportOptions& options, const std::string& format,
                        const std::string& chosen) {
  struct Flag {
    bool given;
    const char *name, *format, *files;
  };
  const Flag flags[] = {
      {options.opset.has_value(), "--opset", "onnx", "ONNX graphs"},
      {options.stateless, "--stateless", "openvino", "OpenVINO IR"},
      {options.compress_to_fp16, "--compress-to-fp16", "openvino", "OpenVINO IR"},
      {!options.backend.empty(), "--backend", "executorch", "ExecuTorch programs"},
      {options.no_alloc_input, "--no-alloc-graph-input", "executorch", "ExecuTorch programs"},
      {options.no_alloc_output, "--no-alloc-graph-output", "executorch", "ExecuTorch programs"},
      {options.no_alloc_buffers, "--no-alloc-mutable-buffers", "executorch", "ExecuTorch programs"},
      {options.single_file, "--single-file", "executorch", "ExecuTorch programs"}};
  for (const Flag& flag : flags)
    if (flag.given && format != flag.format)
      throw Error(kUsage, fmt::format("[export] {} is about {} and {}; leave one of them out",
                                      flag.name, flag.files, chosen));
}

/// The format to write, once the flags that belong to one have been checked.
std::string checked_format(const ExportOptions& options) {
  const std::string of_layout(layout_format(layout_named(options.layout)));
  const std::string format = options.format.empty() ? of_layout : options.format;
  const std::string chosen =
      options.format.empty() && options.layout != "slipway"
          ? fmt::format("--layout {} is of format {}", options.layout, format)
          : fmt::format("--format is {}", format);
  if (options.layout != "slipway" && format != of_layout)
    throw Error(kUsage, fmt::format("[export] --layout {} holds graphs of format {} and --format "
                                    "is {}; leave one of them out",
                                    options.layout, of_layout, format));
  check_format_flags(options, format, chosen);
  return format;
}

std::unique_ptr<ExportConfig> config_of(const ExportOptions& options) {
  const bool has_shapes = !options.dynamic_shapes.empty();
  const std::string format = checked_format(options);
  Json fields = {{"export_format", format}, {"dynamic", !options.is_static && !has_shapes}};
  if (options.layout == "transformers.js") fields["io_names"] = "transformers.js";
  else if (options.layout != "slipway" && format == "onnx") fields["io_names"] = "optimum";
  if (options.compress_to_fp16) fields["compress_to_fp16"] = true;
  if (options.stateless) fields["stateful"] = false;
  if (options.layout == kLlmLayout) fields["llm_slots"] = options.static_cache.value_or(0);
  if (!options.backend.empty()) fields["backend"] = options.backend;
  if (options.no_alloc_input) fields["alloc_graph_input"] = false;
  if (options.no_alloc_output) fields["alloc_graph_output"] = false;
  if (options.no_alloc_buffers) fields["alloc_mutable_buffers"] = false;
  if (options.single_file) fields["single_file"] = true;
  if (options.opset) fields["opset_version"] = *options.opset;
  std::unique_ptr<ExportConfig> config =
      AutoExportConfig::from_dict(fields.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (has_shapes)
    config->dynamic_shapes = dynamic_shapes_from_json(text_or_file(options.dynamic_shapes));
  config->prefer_deferred_runtime_asserts_over_guards = options.defer_asserts;
  config->disabled_passes = options.disabled_passes;
  return config;
}

ExportedModel export_graphs(const PreTrainedModel& model, const ExportOptions& options) {
  const std::unique_ptr<ExportConfig> config = config_of(options);
  // The example is shorter than the slots of its cache.
  const int64_t longest = std::max<int64_t>(1, options.static_cache.value_or(8 + 2) - 2);
  const Inputs inputs =
      model.example_inputs(options.batch_size.value_or(2),
                           options.sequence_length.value_or(std::min<int64_t>(8, longest)));
  const std::unique_ptr<HfExporter> exporter = AutoHfExporter::from_config(*config);
  if (!options.generation) return exporter->export_model(model, inputs, *config);
  if (options.is_static)
    log::warning(
        "with --static each graph runs at these sizes only, so `slipway generate` cannot use them; "
        "leave it out for generation");
  DecomposeOptions decompose;
  decompose.multi_token_decode = options.multi_token_decode;
  if (options.static_cache) {
    decompose.generation_config.cache_implementation = "static";
    decompose.generation_config.max_cache_len = options.static_cache;
  }
  return exporter->export_for_generation(
      model,
      {{"input_ids", inputs.at("input_ids")}, {"attention_mask", inputs.at("attention_mask")}},
      *config, decompose);
}

/// Flags that choose what a traced program has settled already.
void check_traced_options(const ExportOptions& options) {
  const std::pair<bool, const char*> given[] = {
      {options.task != "auto", "--task"},
      {options.is_static, "--static"},
      {options.batch_size.has_value(), "--batch-size"},
      {options.sequence_length.has_value(), "--sequence-length"},
      {!options.dynamic_shapes.empty(), "--dynamic-shapes"},
      {options.dtype != "fp32", "--dtype"},
      {options.generation, "--generation"},
      {options.allow_python, "--allow-python"},
      {!options.trace.inputs.empty(), "--inputs"},
      {options.defer_asserts, "--prefer-deferred-runtime-asserts-over-guards"},
      {options.layout != "slipway", "--layout"}};
  for (const auto& [is_given, flag] : given)
    if (is_given)
      throw Error(kUsage, fmt::format("[export] {} does not go with a .pt2 file: its inputs, sizes "
                                      "and dtype are those that it was traced with",
                                      flag));
}

ExportedSource export_program(const ExportOptions& options, const std::filesystem::path& path,
                              std::shared_ptr<const TemporaryDirectory> folder) {
  const TorchProgram program = TorchProgram::load(path);
  const std::unique_ptr<ExportConfig> config = config_of(options);
  return {AutoHfExporter::from_config(*config)->export_model(program, *config),
          program.architecture(),
          "traced program",
          std::move(folder),
          [program] { return DynamoExporter().export_model(program, DynamoConfig()); },
          true,
          program.is_quantized()};
}

/// Whether the model type of a checkpoint is one of ours. What is no folder with a config.json may
/// be an id of the hub.
bool has_native_file(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path) && !std::filesystem::exists(path / "config.json"))
    return true;  // an error that opening it explains
  if (!std::filesystem::exists(path)) return false;
  const std::string type = open_checkpoint(path).config.model_type();
  const auto types = models::model_types();
  return std::any_of(types.begin(), types.end(),
                     [&](const models::ModelType* known) { return known->name == type; });
}

ExportedSource export_with_python(const ExportOptions& options) {
  if (options.generation || options.layout != "slipway" || !options.dynamic_shapes.empty())
    throw Error(kUsage,
                fmt::format("[export] {} has no native file, and --generation, --layout and "
                            "--dynamic-shapes do not go with a traced program",
                            options.checkpoint));
  const auto folder = std::make_shared<const TemporaryDirectory>();
  TraceOptions trace = options.trace;
  trace.model = options.checkpoint;
  trace.task = options.task;
  trace.dtype = options.dtype;
  trace.is_static = options.is_static;
  trace.batch_size = options.batch_size.value_or(trace.batch_size);
  trace.sequence_length = options.sequence_length.value_or(trace.sequence_length);
  trace_model(trace, folder->path() / "traced");
  return export_program(options, folder->path() / "traced" / "model.pt2", folder);
}

}  // namespace

ExportedSource export_source(const ExportOptions& options) {
  check_options(options);
  const std::filesystem::path path(options.checkpoint);
  if (path.extension() == ".pt2") {
    check_traced_options(options);
    return export_program(options, path, nullptr);
  }
  if (options.allow_python && !has_native_file(path)) return export_with_python(options);
  const PreTrainedModel model = open_model(options);
  ExportedSource source{export_graphs(model, options), model.architecture(), model.task(), nullptr,
                        nullptr};
  if (options.layout == "slipway")
    source.eager = [model, eager = options]() mutable {
      eager.format = "dynamo";
      eager.opset.reset();
      eager.compress_to_fp16 = eager.stateless = false;
      eager.backend.clear();
      eager.no_alloc_input = eager.no_alloc_output = eager.no_alloc_buffers = false;
      eager.single_file = false;
      eager.disabled_passes.clear();
      return export_graphs(model, eager);
    };
  return source;
}

}  // namespace slipway::cli
