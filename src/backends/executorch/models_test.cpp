// Programs of the golden models lower to kernels, with each kind of cache. With
// SLIPWAY_EXECUTORCH_MODELS=FOLDER they are written there for tests/interop/executorch_models.py,
// with SLIPWAY_EXECUTORCH_PROGRAMS=FOLDER also those of FOLDER/NAME/model.pt2.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/dynamo/import.h"
#include "backends/executorch/emit.h"
#include "backends/executorch/lower.h"
#include "backends/executorch/partition.h"
#include "backends/executorch/write.h"
#include "checkpoint/safetensors.h"
#include "lowering/upper_bounds.h"
#include "models/registry.h"
#include "passes/pipeline.h"

namespace slipway::executorch {
namespace {

namespace fs = std::filesystem;

void optimize(Graph& graph, const std::vector<std::string_view>& names) {
  PassContext context;
  Pipeline().repeat(names).run(graph, context);
}

/// Four times the sizes of example inputs, at least 16: tests run at others, too.
void set_bounds(Graph& graph, const std::map<std::string, Tensor>& inputs) {
  std::map<std::string, int64_t> bounds;
  for (const Sym symbol : lowering::unbounded_symbols(graph)) bounds[symbol.name()] = 16;
  for (const Node* input : graph.inputs()) {
    const auto at = inputs.find(input->name);
    if (at == inputs.end()) continue;
    const SymShape& shape = input->types[0].shape;
    for (size_t axis = 0; axis < shape.size() && axis < at->second.shape().size(); ++axis)
      if (shape[axis].is_symbol() && bounds.contains(shape[axis].name())) {
        int64_t& bound = bounds[shape[axis].name()];
        bound = std::max(bound, 4 * at->second.shape()[axis]);
      }
  }
  lowering::set_upper_bounds(graph, bounds);
}

Program program_of(ExportedProgram source, const std::map<std::string, Tensor>& inputs) {
  optimize(*source.graph, {"canonicalize", "fold", "cse"});
  set_bounds(*source.graph, inputs);
  const auto windows = source.mask_windows;
  const auto graph = lower(source);
  optimize(*graph, {"cse"});
  Program program;
  Delegation report;
  const std::vector<Partition> parts = partition(*graph, &report);
  program.methods.push_back(emit(*graph, "forward", parts));
  program.metadata["report"] = report.to_text();
  for (const auto& [mask, window] : windows)
    program.metadata["window " + mask] = std::to_string(window.value_or(0));
  return program;
}

/// The program, the names of its inputs and outputs in order, and the windows of its masks.
void write_program(const Program& program, const fs::path& folder, const std::string& stem) {
  write(program, folder / (stem + ".pte"));
  std::ofstream names(folder / (stem + ".names"));
  for (const std::string& name : program.methods[0].input_names) names << "input " << name << "\n";
  for (const std::string& name : program.methods[0].output_names)
    names << "output " << name << "\n";
  for (const auto& [key, value] : program.metadata)
    if (key.starts_with("window ")) names << key << " " << value << "\n";
  std::ofstream(folder / (stem + ".report")) << program.metadata.at("report");
}

fs::path golden_models() { return fs::path(SLIPWAY_SOURCE_DIR) / "tests" / "golden" / "models"; }

TEST(ExecutorchModels, NativeOnesLowerWithEachCache) {
  const char* folder = std::getenv("SLIPWAY_EXECUTORCH_MODELS");
  int lowered = 0;
  for (const auto& entry : fs::directory_iterator(golden_models())) {
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename().string();
    const auto inputs = read_safetensors(entry.path() / "inputs.safetensors");
    const Checkpoint checkpoint = open_checkpoint(entry.path());
    models::ResolvedTask task =
        models::resolve_task(models::find_model(checkpoint.config), checkpoint.config, "auto");
    std::vector<std::pair<models::CacheKind, const char*>> kinds = {
        {models::CacheKind::kNone, ".plain"}};
    if (task.cache != models::CacheKind::kNone)
      kinds = {{models::CacheKind::kNone, ".plain"},
               {models::CacheKind::kGrowing, ".growing"},
               {models::CacheKind::kStatic, ".static"}};
    for (const auto& [kind, suffix] : kinds) {
      models::BuildOptions options;
      options.cache = kind;
      const Program program = program_of(models::build_program(checkpoint, task, options), inputs);
      EXPECT_GT(measure(program).file_bytes, 0);
      if (folder != nullptr) write_program(program, folder, name + suffix);
      ++lowered;
    }
  }
  EXPECT_GE(lowered, 17);
}

/// Programs that do not lower, with the reason; all others must.
const std::map<std::string, const char*> kRefused = {
    {"yolos-object-detection", "bicubic resizing has no kernel"},
    {"idefics3-image-text-to-text", "a mask picks elements: their number depends on values"},
    {"qwen2_audio-multimodal-lm", "a mask picks elements: their number depends on values"},
    {"smolvlm-image-text-to-text", "a mask picks elements: their number depends on values"},
};

TEST(ExecutorchModels, TracedOnesLower) {
  const char* programs = std::getenv("SLIPWAY_EXECUTORCH_PROGRAMS");
  const char* folder = std::getenv("SLIPWAY_EXECUTORCH_MODELS");
  if (programs == nullptr || folder == nullptr)
    GTEST_SKIP() << "they lie outside the core; tests/interop runs this with both folders";
  for (const auto& entry : fs::directory_iterator(programs)) {
    if (!fs::exists(entry.path() / "model.pt2")) continue;
    const bool refused = kRefused.contains(entry.path().filename().string());
    try {
      const auto file = dynamo::ProgramFile::open(entry.path() / "model.pt2");
      ExportedProgram source = dynamo::import_program(file).program;
      optimize(*source.graph, {"expand_spellings", "canonicalize", "fold", "cse"});
      optimize(*source.graph, {"raise", "canonicalize", "fold", "cse"});
      const Program program =
          program_of(std::move(source), read_safetensors(entry.path() / "inputs.safetensors"));
      write_program(program, folder, entry.path().filename().string() + ".traced");
      EXPECT_FALSE(refused) << entry.path().filename() << " lowers, take it off the list";
    } catch (const Error& error) {
      if (!refused) ADD_FAILURE() << entry.path().filename() << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace slipway::executorch
