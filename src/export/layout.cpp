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

constexpr std::array<std::pair<Layout, std::string_view>, 4> kNames = {{
    {Layout::kSlipway, "slipway"},
    {Layout::kGenai, "genai"},
    {Layout::kOptimum, "optimum"},
    {Layout::kTransformersJs, "transformers.js"},
}};

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
std::string js_config(const ExportedModel::Impl& exported, const LayoutPlan& plan, size_t files) {
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

}  // namespace

std::string_view layout_name(Layout layout) {
  for (const auto& [value, name] : kNames)
    if (value == layout) return name;
  SLIPWAY_ASSERT(!"a layout without a name");
}

Layout layout_named(std::string_view wanted) {
  std::vector<std::string_view> names;
  for (const auto& [value, name] : kNames) {
    if (name == wanted) return value;
    names.push_back(name);
  }
  throw Error(kUsage, fmt::format("[layout] got {}, need one of {}", quote(wanted),
                                  fmt::join(names, ", ")));
}

Json generation_config_of(const ExportedModel::Impl& exported) {
  for (const CompanionFile& file : exported.companions) {
    if (file.name != "generation_config.json") continue;
    if (const auto* path = std::get_if<fs::path>(&file.source)) return parse_json_file(*path);
    return parse_json(std::get<std::string>(file.source), file.name);
  }
  return nullptr;
}

LayoutPlan plan_layout(const ExportedModel::Impl& exported, Layout layout) {
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
  onnx_program(program);  // no other format has such tools
  check_graph(program.fresh->graph(), layout);
  LayoutPlan plan{.folder = "", .stem = "model"};
  if (layout != Layout::kTransformersJs) return plan;
  plan.folder = "onnx";
  if (js_dtype(component.metadata) == "fp16") plan.stem = "model_fp16";
  plan.max_data_bytes = kMaxJsFile;
  return plan;
}

void write_layout(const ExportedModel::Impl& exported, Layout layout, const fs::path& folder) {
  const LayoutPlan plan = plan_layout(exported, layout);
  const Program::Impl& program = exported.components[0].second.program.impl();
  const OnnxProgram& fresh = onnx_program(program);
  onnx::WriteOptions options = fresh.options();
  options.data_file = plan.data_file();
  options.max_data_bytes = plan.max_data_bytes;
  fs::create_directories(folder / plan.folder);
  const onnx::WriteSummary written =
      onnx::write(fresh.graph(), fresh.ranges(), folder / plan.folder, plan.stem, options);
  std::string config = exported.config;
  if (layout == Layout::kTransformersJs) {
    if (written.data_files.size() > kMaxJsFiles)
      throw Error(kUnsupported, fmt::format("[layout] the weights need {} files, transformers.js "
                                            "takes at most {}",
                                            written.data_files.size(), kMaxJsFiles));
    config = js_config(exported, plan, written.data_files.size());
  }
  write_text(folder / "config.json", config);
  if (layout == Layout::kGenai)
    write_text(folder / kGenaiConfig, genai_config(exported, plan.graph_file()));
  const bool decoder = std::ranges::any_of(fresh.graph().inputs(),
                                           [](const Node* input) { return is_cache(input->name); });
  if (decoder && generation_config_of(exported).is_null())
    write_text(folder / "generation_config.json",
               generation_config_from(parse_json(config, "config.json")).dump(2) + "\n");
}

}  // namespace slipway
