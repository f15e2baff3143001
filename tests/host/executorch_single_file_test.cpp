// Exports to ExecuTorch with all components in one file: files, sizes, sharing, errors.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "backends/executorch/read.h"
#include "base/test_expect.h"
#include "decoder_util.h"
#include "export/dry_run.h"
#include "slipway/generation.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using cases::files_of;
using decoders::refused;

ExecutorchConfig single() {
  ExecutorchConfig config;
  config.dynamic = true;
  config.single_file = true;
  return config;
}

PreTrainedModel model_of(const fs::path& checkpoint) {
  return PreTrainedModel::from_pretrained(checkpoint, "text-generation-with-past");
}
PreTrainedModel llama() { return model_of(golden::folder("llama-causal-lm")); }

ExportedModel exported(const PreTrainedModel& model, const ExecutorchConfig& config = single(),
                       const DecomposeOptions& options = {}) {
  return ExecutorchExporter().export_for_generation(model, model.example_inputs(), config, options);
}

std::vector<std::string> methods_of(const fs::path& file) {
  std::vector<std::string> names;
  for (const auto& method : executorch::read_outline(file).methods) names.push_back(method.name);
  return names;
}

std::vector<int64_t> tokens_of(const ExportedModel& model) {
  GenerationOptions options;
  options.max_new_tokens = 8;
  options.ignore_eos = true;
  return generate(model, {{"input_ids", decoders::token_ids(1, 5)}}, options).new_ids.at(0);
}

TEST(ExecutorchSingleFile, ComponentsAreMethodsThatTheManifestNames) {
  const TestFolder t;
  exported(llama()).save_pretrained(t / "out");
  EXPECT_FALSE(fs::exists(t / "out" / "prefill.pte"));
  EXPECT_FALSE(fs::exists(t / "out" / "decode.pte"));
  EXPECT_EQ(methods_of(t / "out" / "model.pte"), (std::vector<std::string>{"prefill", "decode"}));
  const Json components = parse_json_file(t / "out" / "export.json").at("components");
  for (const char* name : {"prefill", "decode"}) {
    EXPECT_EQ(components.at(name).at("file"), "model.pte");
    EXPECT_EQ(components.at(name).at("method"), name);
    EXPECT_EQ(components.at(name).at("metadata").at("export_config").at("single_file"), true);
  }
  const auto loaded = ExportedModel::from_pretrained(t / "out");
  EXPECT_EQ(loaded.file_of("decode").filename(), "model.pte");
  EXPECT_EQ(loaded.runner("prefill").inputs().at(0).dims.at(1), "sequence_length");
  EXPECT_EQ(loaded.runner("decode").inputs().at(0).dims.at(1), "1");
  // Programs tell about themselves alike before and after.
  const ExportedModel fresh = exported(llama());
  for (const char* name : {"prefill", "decode"}) {
    std::vector<std::string> a, b;
    for (const LeafSpec& leaf : fresh.component(name).program.inputs()) a.push_back(leaf.name);
    for (const LeafSpec& leaf : loaded.component(name).program.inputs()) b.push_back(leaf.name);
    EXPECT_EQ(a, b);
    EXPECT_TRUE(contains(loaded.component(name).program.to_text(), "method " + std::string(name)));
  }
}

TEST(ExecutorchSingleFile, SameExportSameBytesAndCopiesOfIt) {
  const TestFolder t;
  exported(llama()).save_pretrained(t / "a");
  exported(llama()).save_pretrained(t / "b");
  const auto loaded = ExportedModel::from_pretrained(t / "a");
  loaded.save_pretrained(t / "c");
  EXPECT_EQ(files_of(t / "a"), files_of(t / "b"));
  EXPECT_EQ(files_of(t / "a"), files_of(t / "c"));
  EXPECT_EQ(tokens_of(ExportedModel::from_pretrained(t / "c")), tokens_of(loaded));
  // Over an export of other files, and back.
  ExecutorchConfig apart = single();
  apart.single_file = false;
  exported(llama(), apart).save_pretrained(t / "b");
  EXPECT_FALSE(fs::exists(t / "b" / "model.pte"));
  EXPECT_TRUE(fs::exists(t / "b" / "decode.pte"));
  loaded.save_pretrained(t / "b");
  EXPECT_EQ(files_of(t / "a"), files_of(t / "b"));
}

TEST(ExecutorchSingleFile, RunsBeforeItIsSaved) {
  const TestFolder t;
  const ExportedModel fresh = exported(llama());
  ExecutorchConfig apart = single();
  apart.single_file = false;
  EXPECT_EQ(tokens_of(fresh), tokens_of(exported(llama(), apart)));
  EXPECT_TRUE(validate_export(fresh));
  for (const auto& [name, component] : fresh.components())
    EXPECT_TRUE(component.program.delegation()) << name;
  // One of its programs by itself has a file as ever.
  EXPECT_EQ(fresh.component("decode").program.save(t.path(), "step"), t / "step.pte");
  EXPECT_EQ(methods_of(t / "step.pte"), std::vector<std::string>{"forward"});
}

/// A vocabulary that makes the weights large beside the graphs, as real ones are.
fs::path wide_checkpoint(const fs::path& folder) {
  cases::Draft draft = cases::Draft::golden("llama-causal-lm");
  constexpr int64_t kVocabulary = 30'000;
  draft.config["vocab_size"] = kVocabulary;
  for (auto& [name, tensor] : draft.tensors)
    if (name.ends_with("embed_tokens.weight") || name.ends_with("lm_head.weight"))
      tensor = cases::random_tensor({kVocabulary, tensor.dim(1)}, 1);
  return draft.save(folder);
}

TEST(ExecutorchSingleFile, WeightsAreStoredOnce) {
  for (const bool multi : {false, true})
    for (const bool fixed : {false, true}) {
      const TestFolder t;
      const PreTrainedModel model = model_of(wide_checkpoint(t / "in"));
      DecomposeOptions options;
      options.multi_token_decode = multi;
      if (fixed) {
        options.generation_config.cache_implementation = "static";
        options.generation_config.max_cache_len = 32;
      }
      const ExportedModel both = exported(model, single(), options);
      both.save_pretrained(t / "out");
      int64_t unique = 0;
      for (const auto& [name, tensor] : read_safetensors(t / "in" / "model.safetensors"))
        unique += tensor.nbytes();
      const auto bytes = static_cast<int64_t>(fs::file_size(t / "out" / "model.pte"));
      EXPECT_GE(bytes, unique);
      EXPECT_LE(static_cast<double>(bytes), static_cast<double>(unique) * 1.03);
      const DryRun plan = dry_run(both);
      EXPECT_EQ(plan.model_bytes + plan.data_bytes, bytes);
      EXPECT_GE(plan.data_bytes, unique);
      EXPECT_LE(static_cast<double>(plan.data_bytes), static_cast<double>(unique) * 1.001);
      ExecutorchConfig apart = single();
      apart.single_file = false;
      EXPECT_EQ(plan.nodes, dry_run(exported(model, apart, options)).nodes);
    }
}

TEST(ExecutorchSingleFile, EachMethodHasItsOwnBoundsAndMemory) {
  const auto model =
      PreTrainedModel::from_pretrained(golden::folder("llama-causal-lm"), "text-generation");
  const auto bounded = [](int64_t rows) {
    auto config = std::make_shared<ExecutorchConfig>(single());
    const Dim batch("batch_size", 1, rows), length("sequence_length", 1, 8);
    config->dynamic_shapes = DynamicShapes{{"input_ids", {{0, batch}, {1, length}}},
                                           {"attention_mask", {{0, batch}, {1, length}}}};
    return config;
  };
  const Inputs inputs = {{"input_ids", decoders::token_ids(1, 4)},
                         {"attention_mask", decoders::ones(1, 4)}};
  const ExportedModel made = ExecutorchExporter().export_components(
      {{"wide", Submodel{model, inputs}}, {"narrow", Submodel{model, inputs}}},
      {{"wide", bounded(6)}, {"narrow", bounded(2)}});
  const auto run = [&](const char* name, int64_t rows) {
    return made.runner(name)({{"input_ids", decoders::token_ids(rows, 4)}}).at(0).second;
  };
  EXPECT_EQ(run("wide", 6).dim(0), 6);
  refused(kInvalid, "batch_size", [&] { run("narrow", 3); });
  EXPECT_TRUE(cases::same_bits(run("wide", 2), run("narrow", 2)));
  const TestFolder t;
  made.save_pretrained(t / "out");
  const auto outline = executorch::read_outline(t / "out" / "model.pte");
  EXPECT_GT(outline.method("wide", "").arena_total(), outline.method("narrow", "").arena_total());
  // Apart they plan as much.
  for (const char* name : {"wide", "narrow"}) {
    const fs::path file = made.component(name).program.save(t.path(), name);
    EXPECT_EQ(executorch::read_outline(file).method("forward", "").arena_total(),
              outline.method(name, "").arena_total());
  }
}

/// examples/executorch_decode.cpp, which links nothing of ours, finds the method by its name.
TEST(ExecutorchSingleFile, ExecutorchsOwnInterfaceRunsAMethod) {
  const fs::path source = golden::folder("llama-causal-lm");
  ExecutorchConfig config = single();
  config.alloc_graph_input = config.alloc_graph_output = config.alloc_mutable_buffers = false;
  DecomposeOptions options;
  options.multi_token_decode = true;
  options.generation_config.cache_implementation = "static";
  options.generation_config.max_cache_len = 32;
  const TestFolder t;
  exported(model_of(source), config, options).save_pretrained(t / "out");
  const Json golden = parse_json_file(source / "generate.json");
  std::string command =
      fmt::format("{} '{}' ", SLIPWAY_EXECUTORCH_EXAMPLE, (t / "out" / "model.pte").string());
  for (const Json& id : golden.at("prompt").at("input_ids")[0])
    command += fmt::format("{}{}", command.ends_with(' ') ? "" : ",", id.get<int64_t>());
  command += fmt::format(" {} ", golden.at("new_tokens").size());
  const auto run = [](const std::string& line) {
    const std::unique_ptr<FILE, int (*)(FILE*)> output(::popen(line.c_str(), "r"), ::pclose);
    std::vector<int64_t> tokens;
    for (long long token = 0; std::fscanf(output.get(), "%lld", &token) == 1;)
      tokens.push_back(token);
    return tokens;
  };
  EXPECT_EQ(run(command + "decode 2>/dev/null"), golden.at("new_tokens"));
  EXPECT_TRUE(run(command + "2>/dev/null").empty());  // there is no forward
}

TEST(ExecutorchSingleFile, OneComponentIsOneFileAnyway) {
  const TestFolder t;
  const PreTrainedModel model = llama();
  ExecutorchConfig apart = single();
  apart.single_file = false;
  for (const auto& [folder, config] : {std::pair{"single", single()}, {"plain", apart}})
    ExecutorchExporter()
        .export_model(model, model.example_inputs(), config)
        .save_pretrained(t / folder);
  EXPECT_EQ(methods_of(t / "single" / "model.pte"), std::vector<std::string>{"forward"});
  EXPECT_EQ(cases::contents_of(t / "single" / "model.pte"),
            cases::contents_of(t / "plain" / "model.pte"));
  EXPECT_FALSE(contains(TestFolder::read(t / "single" / "export.json"), "\"method\""));
}

TEST(ExecutorchSingleFile, SettingsOfOneFileMustAgree) {
  const PreTrainedModel model = llama();
  const auto export_with = [&](const std::function<void(ExecutorchConfig&)>& change) {
    auto prefill = std::make_shared<ExecutorchConfig>(single());
    auto decode = std::make_shared<ExecutorchConfig>(single());
    change(*decode);
    return ExecutorchExporter().export_for_generation(
        model, model.example_inputs(), ComponentConfigs{{"prefill", prefill}, {"decode", decode}});
  };
  refused(kUsage, "single_file is off for decode and on for the other components",
          [&] { export_with([](ExecutorchConfig& c) { c.single_file = false; }); });
  refused(kUsage, "prefill and decode have two settings of alloc_graph_input",
          [&] { export_with([](ExecutorchConfig& c) { c.alloc_graph_output = false; }); });
  EXPECT_NO_THROW(export_with([](ExecutorchConfig& c) { c.strict = true; }));
}

TEST(ExecutorchSingleFile, TheConfigurationIsRecordedWhereItIsSet) {
  const auto config =
      AutoExportConfig::from_dict(R"({"export_format": "executorch", "single_file": true})");
  EXPECT_TRUE(contains(config->to_json_string(), R"("single_file":true)"));
  EXPECT_FALSE(contains(ExecutorchConfig().to_json_string(), "single_file"));
  refused(kUsage, "'single_file' must be true or false", [] {
    AutoExportConfig::from_dict(R"({"export_format": "executorch", "single_file": 1})");
  });
  for (const char* format : {"onnx", "dynamo", "openvino"})
    refused(kUsage, "unknown field 'single_file'", [&] {
      AutoExportConfig::from_dict(
          fmt::format(R"({{"export_format": "{}", "single_file": true}})", format));
    });
}

/// What a directory does whose manifest was changed.
TEST(ExecutorchSingleFile, MethodsThatAreMissingAreNamed) {
  const TestFolder t;
  exported(llama()).save_pretrained(t / "out");
  const Json manifest = parse_json_file(t / "out" / "export.json");
  const auto changed = [&](const Json& method, ErrorKind kind, const std::string& message) {
    Json json = manifest;
    Json& entry = json["components"]["decode"];
    method.is_null() ? static_cast<void>(entry.erase("method"))
                     : static_cast<void>(entry["method"] = method);
    t.write("out/export.json", json.dump());
    refused(kind, message, [&] {
      const auto loaded = ExportedModel::from_pretrained(t / "out");
      loaded.runner("decode").inputs();
    });
  };
  changed("step", kInvalid, "model.pte has no method step, it has prefill, decode");
  changed("", kInvalid, "decode: method] got the text");
  changed(3, kInvalid, "decode: method] got the number 3");
  Json json = manifest;
  // Where the manifest says nothing, the component's name does.
  json["components"]["decode"].erase("method");
  t.write("out/export.json", json.dump());
  EXPECT_EQ(tokens_of(ExportedModel::from_pretrained(t / "out")), tokens_of(exported(llama())));
  const auto loaded = ExportedModel::from_pretrained(t / "out");
  refused(kUsage, "there is no component 'encoder'; there are prefill, decode",
          [&] { loaded.runner("encoder"); });
}

}  // namespace
}  // namespace slipway
