// Writing the directories that other tools load.
#include "export/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/output.h"
#include "export/onnx_program.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

struct LayoutRow {
  Layout layout;
  std::string_view name, format;
};

constexpr std::array<LayoutRow, 6> kLayouts = {{
    {Layout::kSlipway, "slipway", "onnx"},
    {Layout::kGenai, "genai", "onnx"},
    {Layout::kOptimum, "optimum", "onnx"},
    {Layout::kTransformersJs, "transformers.js", "onnx"},
    {Layout::kOpenvinoGenai, "openvino-genai", "openvino"},
    {Layout::kExecutorchLlm, "executorch-llm", "executorch"},
}};

const LayoutRow& row_of(Layout layout) {
  for (const LayoutRow& row : kLayouts)
    if (row.layout == layout) return row;
  SLIPWAY_ASSERT(!"a layout without a row");
}

/// Where an ONNX layout wants the graph of an export.
struct OnnxPlan {
  std::string folder;  ///< below the export's directory; empty: the directory itself
  std::string stem;    ///< of the graph: "model", "model_fp16"
  int64_t max_data_bytes = INT64_MAX;  ///< of each data file

  std::string graph_file() const { return stem + ".onnx"; }
  std::string data_file() const { return graph_file() + "_data"; }
};

/// What a JavaScript engine holds in one buffer.
constexpr int64_t kMaxJsFile = 2'000'000'000;
constexpr size_t kMaxJsFiles = 100;  // transformers.js refuses more

bool is_cache(const std::string& leaf) {
  return leaf.starts_with("past_key_values.") || leaf.starts_with("present.");
}

/// The sizes of a cache as readers make an empty one: they name the batch and count the rest.
void check_cache(const Node& input, std::string_view layout) {
  const SymShape& shape = input.types[0].shape;
  const bool fits = shape.size() == 4 && shape[0].str() == "batch_size" && shape[1].is_const() &&
                    !shape[2].is_const() && shape[3].is_const();
  if (fits) return;
  std::vector<std::string> sizes;
  for (Sym s : shape) sizes.push_back(s.str());
  throw Error(kUnsupported,
              fmt::format("[layout] the input {} is [{}], {} needs [batch_size, number, symbol, "
                          "number]; export with every size dynamic",
                          input.name, fmt::join(sizes, ", "), layout));
}

void check_graph(const Graph& graph, Layout layout) {
  const std::string_view name = layout_name(layout);
  bool cached = false, returns_cache = false;
  for (const Node* input : graph.inputs()) {
    if (input->name.starts_with("past_key_values.layers."))
      throw Error(kUsage, fmt::format("[layout] the caches have the names of transformers, {} "
                                      "needs those of io_names \"optimum\"; export with it",
                                      name));
    if (input->name == "num_logits_to_keep" && layout != Layout::kTransformersJs)
      throw Error(kUsage, fmt::format("[layout] the graph needs num_logits_to_keep, which {} does "
                                      "not give; export with io_names \"optimum\"",
                                      name));
    if (!is_cache(input->name)) continue;
    cached = true;
    check_cache(*input, name);
  }
  for (const Output& output : graph.outputs())
    returns_cache = returns_cache || is_cache(output.name);
  if (!cached && (returns_cache || layout == Layout::kGenai))
    throw Error(kUnsupported,
                fmt::format("[layout] the graph takes no growing cache, {} needs one{}; export "
                            "the task text-generation-with-past",
                            name, returns_cache ? " for a decoder" : ""));
}

void write_text(const fs::path& path, std::string_view text) {
  OutputFile out(path);
  out.append(text);
  out.close();
}

std::string js_dtype(const ExportMetadata& metadata) {
  const std::string dtype = metadata.export_dtype.value_or("float32");
  if (dtype == "float32") return "fp32";
  if (dtype == "float16") return "fp16";
  throw Error(kUnsupported, fmt::format("[layout] transformers.js has no files of dtype {}; use "
                                        "fp32 or fp16",
                                        dtype));
}

/// config.json with what transformers.js needs to find the files.
std::string js_config(const ExportedModel::Impl& exported, const OnnxPlan& plan, size_t files) {
  Json config = parse_json(exported.config, "config.json");
  // Where WebAssembly runs it, the library would ask for 8-bit weights if nothing were said.
  Json& ours = config["transformers.js_config"];
  ours = {{"dtype", js_dtype(exported.components[0].second.metadata)}};
  if (files > 0) ours["use_external_data_format"] = {{plan.graph_file(), files}};
  return config.dump(2) + "\n";
}

/// The settings of generation for checkpoints that have no such file: what config.json says.
Json generation_config_from(const Json& config) {
  Json made = {{"_from_model_config", true}};
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    if (config.contains(key) && !config[key].is_null()) made[key] = config[key];
  return made;
}

OnnxPlan plan_onnx(const ExportedModel::Impl& exported, Layout layout) {
  OnnxPlan plan{.folder = "", .stem = "model"};
  if (layout != Layout::kTransformersJs) return plan;
  plan.folder = "onnx";
  if (js_dtype(exported.components[0].second.metadata) == "fp16") plan.stem = "model_fp16";
  plan.max_data_bytes = kMaxJsFile;
  return plan;
}

/// Writes the graph, and gives config.json for it.
std::string write_onnx(const ExportedModel::Impl& exported, Layout layout, const fs::path& folder) {
  const OnnxPlan plan = plan_onnx(exported, layout);
  const OnnxProgram& fresh = onnx_program(exported.components[0].second.program.impl());
  onnx::WriteOptions options = fresh.options();
  options.data_file = plan.data_file();
  options.max_data_bytes = plan.max_data_bytes;
  fs::create_directories(folder / plan.folder);
  const onnx::WriteSummary written =
      onnx::write(fresh.graph(), fresh.ranges(), folder / plan.folder, plan.stem, options);
  if (layout == Layout::kGenai)
    write_text(folder / kGenaiConfig, genai_config(exported, plan.graph_file()));
  if (layout != Layout::kTransformersJs) return exported.config;
  if (written.data_files.size() > kMaxJsFiles)
    throw Error(kUnsupported, fmt::format("[layout] the weights need {} files, transformers.js "
                                          "takes at most {}",
                                          written.data_files.size(), kMaxJsFiles));
  return js_config(exported, plan, written.data_files.size());
}

}  // namespace

std::string_view layout_name(Layout layout) { return row_of(layout).name; }
std::string_view layout_format(Layout layout) { return row_of(layout).format; }

Layout layout_named(std::string_view wanted) {
  std::vector<std::string_view> names;
  for (const LayoutRow& row : kLayouts) {
    if (row.name == wanted) return row.layout;
    names.push_back(row.name);
  }
  throw Error(kUsage, fmt::format("[layout] got {}, need one of {}", quote(wanted),
                                  fmt::join(names, ", ")));
}

Json generation_config_of(const std::vector<CompanionFile>& companions) {
  for (const CompanionFile& file : companions) {
    if (file.name != "generation_config.json") continue;
    if (const auto* path = std::get_if<fs::path>(&file.source)) return parse_json_file(*path);
    return parse_json(std::get<std::string>(file.source), file.name);
  }
  return nullptr;
}

void check_layout(const ExportedModel::Impl& exported, Layout layout) {
  if (exported.components.size() != 1)
    throw Error(kUnsupported,
                fmt::format("[layout] the export has {} components, {} needs the one that takes "
                            "any number of tokens; export without components for generation",
                            exported.components.size(), layout_name(layout)));
  const ExportedComponent& component = exported.components[0].second;
  const Program::Impl& program = component.program.impl();
  if (program.file)
    throw Error(kUsage,
                "[layout] a loaded export is saved as it is; export the checkpoint "
                "again for another layout");
  const std::string_view format = layout_format(layout);
  if (exported.format != format)
    throw Error(kUsage,
                fmt::format("[layout] {} holds graphs of format {}, the export is of format {}; "
                            "export with format {}",
                            layout_name(layout), format, exported.format, format));
  if (layout == Layout::kOpenvinoGenai) return check_openvino_layout(exported);
  if (layout == Layout::kExecutorchLlm) {
    if (program.fresh->layout() == layout) return;
    throw Error(kUsage,
                "[layout] executorch-llm needs the cache inside the program; export with "
                "llm_slots");
  }
  check_graph(program.fresh->graph(), layout);
  plan_onnx(exported, layout);
}

void write_layout(const ExportedModel::Impl& exported, Layout layout, const fs::path& folder) {
  check_layout(exported, layout);
  const FreshProgram& fresh = *exported.components[0].second.program.impl().fresh;
  std::string config = exported.config;
  if (layout == Layout::kOpenvinoGenai) {
    SharedWeights own;
    fresh.write(folder, "model", own);
    write_openvino_tokenizer(folder, fresh.graph());
  } else if (layout == Layout::kExecutorchLlm) {
    SharedWeights own;
    fresh.write(folder, "model", own);
  } else {
    config = write_onnx(exported, layout, folder);
  }
  write_text(folder / "config.json", config);
  const bool decoder = std::ranges::any_of(fresh.graph().inputs(), [](const Node* input) {
    return is_cache(input->name) || input->name == "beam_idx" || input->name == "cache_position";
  });
  if (decoder && generation_config_of(exported.companions).is_null())
    write_text(folder / "generation_config.json",
               generation_config_from(parse_json(config, "config.json")).dump(2) + "\n");
}

}  // namespace slipway
