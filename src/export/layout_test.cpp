// Directories of other tools: their files, what is refused, reading and copying them.
#include "export/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/test_expect.h"
#include "base/test_folder.h"
#include "slipway/exporter.h"
#include "slipway/generation.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;

Files files_below(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[entry.path().lexically_relative(folder).string()] = TestFolder::read(entry.path());
  return files;
}

std::vector<std::string> names(const fs::path& folder) {
  std::vector<std::string> list;
  for (const auto& [name, text] : files_below(folder)) list.push_back(name);
  return list;
}

fs::path golden(const std::string& name) {
  return fs::path(SLIPWAY_SOURCE_DIR) / "tests" / "golden" / "models" / name;
}

struct Case {
  std::string task = "text-generation-with-past";
  IoNames io_names = IoNames::kOptimum;
  DType dtype = DType::kF32;
  bool dynamic = true;
};

ExportedModel exported(const fs::path& checkpoint, const Case& c = {}) {
  const auto model = PreTrainedModel::from_pretrained(checkpoint, c.task, {.dtype = c.dtype});
  OnnxConfig config;
  config.dynamic = c.dynamic;
  config.io_names = c.io_names;
  return OnnxExporter().export_model(model, model.example_inputs(), config);
}

ExportedModel llama(const Case& c = {}) { return exported(golden("llama-causal-lm"), c); }

class LayoutTest : public testing::Test {
 protected:
  /// The export of a golden model as a layout.
  fs::path save(Layout layout, const std::string& name = "out", const Case& c = {}) const {
    llama(c).save_pretrained(folder_ / name, {.layout = layout, .before_commit = {}});
    return folder_ / name;
  }
  /// The golden checkpoint with other settings.
  fs::path checkpoint(const Json& config, const std::string& generation_config) const {
    const fs::path path = folder_ / "checkpoint";
    fs::create_directories(path);
    fs::copy_file(golden("llama-causal-lm") / "model.safetensors", path / "model.safetensors",
                  fs::copy_options::overwrite_existing);
    folder_.write("checkpoint/config.json", config.dump());
    fs::remove(path / "generation_config.json");
    if (!generation_config.empty())
      folder_.write("checkpoint/generation_config.json", generation_config);
    return path;
  }
  Json config() const { return parse_json_file(golden("llama-causal-lm") / "config.json"); }
  Json genai(const fs::path& checkpoint) const {
    exported(checkpoint)
        .save_pretrained(folder_ / "genai", {.layout = Layout::kGenai, .before_commit = {}});
    return parse_json_file(folder_ / "genai" / "genai_config.json");
  }

  TestFolder folder_;
};

TEST_F(LayoutTest, EachHasItsFiles) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(save(Layout::kGenai, "g")),
            (Names{"config.json", "genai_config.json", "generation_config.json", "model.onnx",
                   "model.onnx_data"}));
  EXPECT_EQ(names(save(Layout::kOptimum, "o")),
            (Names{"config.json", "generation_config.json", "model.onnx", "model.onnx_data"}));
  EXPECT_EQ(
      names(save(Layout::kTransformersJs, "j")),
      (Names{"config.json", "generation_config.json", "onnx/model.onnx", "onnx/model.onnx_data"}));
  EXPECT_EQ(names(save(Layout::kTransformersJs, "h", {.dtype = DType::kF16})),
            (Names{"config.json", "generation_config.json", "onnx/model_fp16.onnx",
                   "onnx/model_fp16.onnx_data"}));
}

TEST_F(LayoutTest, EqualExportsGiveEqualBytes) {
  for (const Layout layout : {Layout::kGenai, Layout::kOptimum, Layout::kTransformersJs})
    EXPECT_EQ(files_below(save(layout, "a")), files_below(save(layout, "b")));
}

TEST_F(LayoutTest, GenaiConfigStatesTheDecoder) {
  const fs::path out = save(Layout::kGenai);
  const Json json = parse_json_file(out / "genai_config.json");
  const Json& model = json["model"];
  EXPECT_EQ(model["type"], "llama");
  EXPECT_EQ(model["context_length"], 64);
  EXPECT_EQ(model["vocab_size"], 128);
  EXPECT_EQ(model["eos_token_id"], 2);
  EXPECT_EQ(model["bos_token_id"], 1);
  EXPECT_EQ(model["pad_token_id"], 0);
  const Json& decoder = model["decoder"];
  EXPECT_EQ(decoder["filename"], "model.onnx");
  EXPECT_EQ(decoder["head_size"], 8);
  EXPECT_EQ(decoder["num_attention_heads"], 4);
  EXPECT_EQ(decoder["num_key_value_heads"], 2);
  EXPECT_EQ(decoder["num_hidden_layers"], 2);
  EXPECT_EQ(decoder["inputs"],
            Json::parse(R"({"input_ids": "input_ids", "attention_mask": "attention_mask",
                            "position_ids": "position_ids",
                            "past_key_names": "past_key_values.%d.key",
                            "past_value_names": "past_key_values.%d.value"})"));
  EXPECT_EQ(json["search"]["past_present_share_buffer"], false);
  EXPECT_EQ(json["search"]["max_length"], 64);
}

TEST_F(LayoutTest, GenaiSearchComesFromGenerationConfig) {
  Json plain = config();
  plain["model_type"] = "llama";
  const Json json = genai(checkpoint(
      plain, R"({"eos_token_id": [2, 7], "pad_token_id": -1, "do_sample": true, "temperature": 0.6,
                 "top_k": 20, "top_p": 0.95, "max_length": 100000, "early_stopping": "never",
                 "repetition_penalty": null})"));
  EXPECT_EQ(json["model"]["eos_token_id"], Json::parse("[2, 7]"));
  EXPECT_EQ(json["model"]["pad_token_id"], 2);  // -1 is none: the first end token
  const Json& search = json["search"];
  EXPECT_EQ(search["do_sample"], true);
  EXPECT_EQ(search["temperature"], 0.6);
  EXPECT_EQ(search["top_k"], 20);
  EXPECT_EQ(search["top_p"], 0.95);
  EXPECT_EQ(search["max_length"], 64);  // not beyond the context
  EXPECT_EQ(search["early_stopping"], false);
  EXPECT_EQ(search["repetition_penalty"], 1.0);
}

TEST_F(LayoutTest, GenaiNeedsWhatItCannotGuess) {
  Json endless = config();
  endless.erase("eos_token_id");
  const auto message = [&](const fs::path& path) {
    return error_of(kInvalid, [&] { genai(path); });
  };
  EXPECT_TRUE(contains(message(checkpoint(endless, "")), "has an eos_token_id"));
  EXPECT_TRUE(contains(message(checkpoint(config(), R"({"top_k": -1})")),
                       "generation_config.json: top_k is the number -1, need an integer from 0"));
  EXPECT_TRUE(contains(message(checkpoint(config(), R"({"do_sample": 1})")),
                       "do_sample is the number 1, need true or false"));
  EXPECT_TRUE(contains(message(checkpoint(config(), R"({"eos_token_id": [99999999999]})")),
                       "eos_token_id is"));
  EXPECT_FALSE(fs::exists(folder_ / "genai"));
}

TEST_F(LayoutTest, GenerationConfigIsMadeWhereTheCheckpointHasNone) {
  const fs::path source = checkpoint(config(), "");
  exported(source).save_pretrained(folder_ / "out",
                                   {.layout = Layout::kOptimum, .before_commit = {}});
  const Json made = parse_json_file(folder_ / "out" / "generation_config.json");
  EXPECT_EQ(made["eos_token_id"], 2);
  EXPECT_EQ(made["bos_token_id"], 1);
}

TEST_F(LayoutTest, TransformersJsConfigNamesTheFiles) {
  const Json json =
      parse_json_file(save(Layout::kTransformersJs, "out", {.dtype = DType::kF16}) / "config.json");
  EXPECT_EQ(
      json["transformers.js_config"],
      Json::parse(R"({"dtype": "fp16", "use_external_data_format": {"model_fp16.onnx": 1}})"));
  EXPECT_EQ(json["model_type"], "llama");
}

TEST_F(LayoutTest, RefusesGraphsThatTheToolCannotRead) {
  const auto message = [&](ErrorKind kind, Layout layout, const Case& c) {
    const ExportedModel model = llama(c);
    const std::string text = error_of(kind, [&] {
      model.save_pretrained(folder_ / "no", {.layout = layout, .before_commit = {}});
    });
    EXPECT_FALSE(fs::exists(folder_ / "no"));
    return text;
  };
  EXPECT_TRUE(contains(message(kUsage, Layout::kOptimum, {.io_names = IoNames::kTransformers}),
                       "needs those of io_names \"optimum\""));
  EXPECT_TRUE(
      contains(message(kUnsupported, Layout::kOptimum, {.task = "text-generation"}),
               "optimum needs one for a decoder; export the task text-generation-with-past"));
  EXPECT_TRUE(contains(message(kUnsupported, Layout::kGenai, {.task = "feature-extraction"}),
                       "takes no growing cache"));
  EXPECT_TRUE(contains(message(kUnsupported, Layout::kTransformersJs, {.dtype = DType::kBF16}),
                       "transformers.js has no files of dtype bfloat16"));
  EXPECT_TRUE(contains(message(kUnsupported, Layout::kTransformersJs, {.dynamic = false}),
                       "transformers.js needs [batch_size, number, symbol, number]"));
  EXPECT_TRUE(contains(message(kUsage, Layout::kGenai, {.io_names = IoNames::kTransformersJs}),
                       "needs num_logits_to_keep, which genai does not give"));
  EXPECT_TRUE(contains(error_of(kUsage, [] { layout_named("ollama"); }),
                       "need one of slipway, genai, optimum, transformers.js"));
}

TEST_F(LayoutTest, EncodersHaveTheLayoutsOfOptimumAndTransformersJs) {
  const ExportedModel model = exported(golden("bert-base"), {.task = "feature-extraction"});
  model.save_pretrained(folder_ / "o", {.layout = Layout::kOptimum, .before_commit = {}});
  EXPECT_EQ(names(folder_ / "o"),
            (std::vector<std::string>{"config.json", "model.onnx", "model.onnx_data"}));
  model.save_pretrained(folder_ / "j", {.layout = Layout::kTransformersJs, .before_commit = {}});
  EXPECT_TRUE(fs::exists(folder_ / "j" / "onnx" / "model.onnx_data"));
}

TEST_F(LayoutTest, LoadAsOneComponentAndGenerate) {
  const Json expected = parse_json_file(golden("llama-causal-lm") / "generate.json");
  Tensor ids(DType::kI64, {1, 9});
  for (int64_t i = 0; i < 9; ++i)
    ids.mutable_values<int64_t>()[static_cast<size_t>(i)] =
        expected["prompt"]["input_ids"][0][static_cast<size_t>(i)];
  for (const Layout layout : {Layout::kGenai, Layout::kOptimum, Layout::kTransformersJs}) {
    const ExportedModel model = ExportedModel::from_pretrained(save(layout, "out"));
    ASSERT_EQ(model.components().size(), 1u);
    EXPECT_EQ(model.components()[0].first, "model");
    EXPECT_EQ(model.component("model").metadata.architecture, "LlamaForCausalLM");
    EXPECT_EQ(list_export(folder_ / "out").layout, layout);
    EXPECT_TRUE(validate_export(model));
    GenerationOptions options;
    options.max_new_tokens = 12;
    const Generated made = generate(model, {{"input_ids", ids}}, options);
    EXPECT_EQ(Json(made.new_ids[0]), expected["new_tokens"]) << layout_name(layout);
    fs::remove_all(folder_ / "out");
  }
}

TEST_F(LayoutTest, ComponentsOfAGenerationAreRefused) {
  const auto model = PreTrainedModel::from_pretrained(golden("llama-causal-lm"));
  OnnxConfig config;
  config.dynamic = true;
  config.io_names = IoNames::kOptimum;
  const Inputs example = model.example_inputs();
  const ExportedModel two = OnnxExporter().export_for_generation(
      model,
      {{"input_ids", example.at("input_ids")}, {"attention_mask", example.at("attention_mask")}},
      config, {});
  EXPECT_TRUE(contains(error_of(kUnsupported,
                                [&] {
                                  two.save_pretrained(folder_ / "no", {.layout = Layout::kGenai,
                                                                       .before_commit = {}});
                                }),
                       "the export has 2 components, genai needs the one that takes"));
}

TEST_F(LayoutTest, LoadedOnesAreCopiedAsTheyAre) {
  for (const Layout layout : {Layout::kGenai, Layout::kTransformersJs}) {
    const fs::path out = save(layout, "out");
    const ExportedModel model = ExportedModel::from_pretrained(out);
    model.save_pretrained(folder_ / "copy");
    EXPECT_EQ(files_below(folder_ / "copy"), files_below(out));
    EXPECT_TRUE(contains(error_of(kUsage,
                                  [&] {
                                    model.save_pretrained(
                                        folder_ / "other",
                                        {.layout = Layout::kOptimum, .before_commit = {}});
                                  }),
                         "a loaded export is saved as it is"));
    fs::remove_all(folder_ / "copy");
    fs::remove_all(out);
  }
}

TEST_F(LayoutTest, AnExportReplacesOneOfAnotherLayout) {
  const Layout all[] = {Layout::kSlipway, Layout::kGenai, Layout::kOptimum,
                        Layout::kTransformersJs};
  for (const Layout before : all)
    for (const Layout after : all) {
      save(after, "alone");
      save(before, "out");
      folder_.write("out/README.md", "mine");
      save(after, "out");
      EXPECT_EQ(TestFolder::read(folder_ / "out" / "README.md"), "mine");
      fs::remove(folder_ / "out" / "README.md");
      EXPECT_EQ(files_below(folder_ / "out"), files_below(folder_ / "alone"))
          << layout_name(before) << " then " << layout_name(after);
      fs::remove_all(folder_ / "out");
      fs::remove_all(folder_ / "alone");
    }
}

TEST_F(LayoutTest, GraphsOfOthersAndOfCheckpointsStay) {
  // Another tool's model.onnx, which is no model of ours.
  folder_.write("out/onnx/model.onnx", "not ours");
  save(Layout::kSlipway, "out");
  EXPECT_EQ(TestFolder::read(folder_ / "out" / "onnx" / "model.onnx"), "not ours");
}

TEST_F(LayoutTest, RefusesFoldersThatAreNoExport) {
  const auto message = [&](const std::string& name) {
    return error_of(kInvalid, [&] { list_export(folder_ / name); });
  };
  fs::create_directories(folder_ / "empty");
  EXPECT_TRUE(contains(message("empty"), "is not an export: it has no export.json"));
  EXPECT_TRUE(contains(message("nowhere"), "nowhere] does not exist"));
  folder_.write("file", "x");
  EXPECT_TRUE(contains(message("file"), "file] is not a folder"));
  folder_.write("absent/genai_config.json", R"({"model": {"decoder": {"filename": "m.onnx"}}})");
  EXPECT_TRUE(contains(message("absent"), "names the graph m.onnx, which is missing"));
  folder_.write("typed/genai_config.json", R"({"model": {"decoder": {"filename": 3}}})");
  EXPECT_TRUE(contains(message("typed"), "model.decoder.filename is no text"));
  folder_.write("bare/genai_config.json", "[]");
  EXPECT_TRUE(contains(message("bare"), "model.decoder.filename is no text"));
  folder_.write("secret.onnx", "x");
  for (const std::string path : {"../secret.onnx", "/etc/passwd", "", "a/../../secret.onnx"}) {
    folder_.write("out/genai_config.json",
                  Json({{"model", {{"decoder", {{"filename", path}}}}}}).dump());
    EXPECT_TRUE(contains(message("out"), "need a file inside the folder")) << path;
  }
}

TEST_F(LayoutTest, TheDtypeOfConfigJsonChoosesAmongGraphs) {
  folder_.write("out/onnx/model_quantized.onnx", "x");
  EXPECT_EQ(list_export(folder_ / "out").manifest.components[0].file, "onnx/model_quantized.onnx");
  folder_.write("out/onnx/model.onnx", "x");
  EXPECT_EQ(list_export(folder_ / "out").manifest.components[0].file, "onnx/model.onnx");
  folder_.write("out/config.json", R"({"transformers.js_config": {"dtype": "q8"}})");
  EXPECT_EQ(list_export(folder_ / "out").manifest.components[0].file, "onnx/model_quantized.onnx");
  folder_.write("out/model.onnx", "x");
  EXPECT_EQ(list_export(folder_ / "out").manifest.components[0].file, "model.onnx");
}

}  // namespace
}  // namespace slipway
