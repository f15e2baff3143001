// Exports for generation: components, names, sizes, shared weights, and the decomposition by
// itself.
#include <fstream>
#include <set>

#include "backends/onnx/read.h"
#include "base/json.h"
#include "base/test_expect.h"
#include "export/manifest.h"
#include "golden_util.h"
#include "slipway/generation.h"

namespace slipway::golden {
namespace {

constexpr double kTolerance = 1e-4;  // float32 sums in another order
constexpr int64_t kSlots = 32;
const char* const kDecoders[] = {"llama-causal-lm", "mistral-causal-lm", "qwen2-causal-lm",
                                 "qwen3-causal-lm"};

PreTrainedModel decoder(const std::string& name) {
  return AutoModelForCausalLM::from_pretrained(folder(name));
}

DecomposeOptions options_of(const std::string& mode) {
  DecomposeOptions options;
  options.multi_token_decode = mode.ends_with("multi_token");
  if (mode.starts_with("static")) {
    options.generation_config.cache_implementation = "static";
    options.generation_config.max_cache_len = kSlots;
  }
  return options;
}

/// The example that the reference's components were captured with.
Inputs example() {
  Tensor ids(DType::kI64, {2, 9}), mask(DType::kI64, {2, 9});
  for (int64_t i = 0; i < 18; ++i) {
    ids.mutable_values<int64_t>()[static_cast<size_t>(i)] = 5 + 7 * i % 90;
    mask.mutable_values<int64_t>()[static_cast<size_t>(i)] = i < 3 ? 0 : 1;
  }
  return {{"input_ids", ids}, {"attention_mask", mask}};
}

OnnxConfig dynamic_config() {
  OnnxConfig config;
  config.dynamic = true;
  return config;
}

bool is_window(const std::string& leaf) { return leaf.ends_with("_sliding_window_tensor"); }

/// Names, dtypes and ranks of leaves, as "name dtype rank".
std::set<std::string> signature(const std::vector<LeafSpec>& leaves) {
  std::set<std::string> lines;
  for (const LeafSpec& leaf : leaves)
    if (!leaf.optional)
      lines.insert(leaf.name + " " + std::string(torch_name(leaf.dtype)) + " " +
                   std::to_string(leaf.dims.size()));
  return lines;
}

std::set<std::string> signature(const Json& leaves) {
  std::set<std::string> lines;
  for (const auto& [name, leaf] : leaves.items())
    if (!is_window(name))
      lines.insert(name + " " + leaf["dtype"].get<std::string>() + " " +
                   std::to_string(leaf["shape"].size()));
  return lines;
}

class Modes : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Modes, HaveTheReferencesInputsAndOutputs) {
  const auto [name, mode] = GetParam();
  const std::string golden = std::string(mode) == "multi_token" ? "dynamic" : mode;
  const Json reference = parse_json_file(folder(name) / "components.json").at(golden);
  const ExportedModel exported = OnnxExporter().export_for_generation(
      decoder(name), example(), dynamic_config(), options_of(mode));
  ASSERT_EQ(exported.components().size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const auto& [component, part] = exported.components()[i];
    EXPECT_EQ(component, reference["order"][i]);
    const Json& want = reference["components"][component];
    EXPECT_EQ(signature(part.program.inputs()), signature(want["graph_inputs"])) << component;
    if (want.contains("outputs")) {
      EXPECT_EQ(signature(part.program.outputs()), signature(want["outputs"])) << component;
    }
  }
}

TEST_P(Modes, KeepEverySizeButTheStepsFree) {
  const auto [name, mode] = GetParam();
  const ExportedModel exported = OnnxExporter().export_for_generation(
      decoder(name), example(), dynamic_config(), options_of(mode));
  const bool one_token = !options_of(mode).multi_token_decode;
  const bool fixed_slots = std::string(mode).starts_with("static");
  for (const auto& [component, part] : exported.components())
    for (const LeafSpec& leaf : part.program.inputs()) {
      if (leaf.dims.empty()) continue;
      EXPECT_EQ(leaf.dims[0], "batch_size") << leaf.name;
      if (leaf.name == "input_ids") {
        EXPECT_EQ(leaf.dims[1], component == "decode" && one_token ? "1" : "sequence_length");
      }
      if (leaf.name.ends_with(".keys")) {
        EXPECT_EQ(leaf.dims[2], fixed_slots ? "cache_length" : "past_sequence_length");
      }
      if (leaf.name.starts_with("attention_mask") && leaf.dims.size() == 4) {
        EXPECT_EQ(leaf.dims[3], "cache_length");
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Decoders, Modes,
                         ::testing::Combine(::testing::ValuesIn(kDecoders),
                                            ::testing::Values("dynamic", "multi_token", "static",
                                                              "static_multi_token")));

class Steps : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

/// The logits of the last position, by the model run in plain C++.
std::vector<float> last_logits(const Submodel& submodel) {
  for (const auto& [name, tensor] : submodel.model(submodel.inputs))
    if (name == "logits") {
      const auto values = tensor.values<float>();
      return {values.end() - tensor.dim(2), values.end()};
    }
  ADD_FAILURE() << "no logits";
  return {};
}

TEST_P(Steps, AreThoseOfTheReferencesGeneration) {
  const auto [name, mode] = GetParam();
  const Json generated = parse_json_file(folder(name) / "generate.json");
  const Inputs golden = read_safetensors(folder(name) / "generate.safetensors");
  const DecomposeOptions options = options_of(mode);
  const Components components = decompose_for_generation(
      decoder(name),
      {{"input_ids", golden.at("input_ids")}, {"attention_mask", golden.at("attention_mask")}},
      options);
  ASSERT_EQ(components.size(), 2u);
  EXPECT_EQ(components[0].first, "prefill");
  EXPECT_EQ(components[1].first, "decode");
  const Tensor& want = golden.at("logits");
  const int64_t tokens = options.multi_token_decode ? 2 : 1;
  const Tensor& fed = components[1].second.inputs.at("input_ids");
  ASSERT_EQ(fed.shape(), (Shape{1, tokens}));
  for (int64_t i = 0; i < tokens; ++i)
    EXPECT_EQ(fed.values<int64_t>()[static_cast<size_t>(i)],
              generated["new_tokens"][static_cast<size_t>(i)]);
  // The prompt gives the logits of the first new token, the step those after what it was fed.
  const std::vector<std::pair<size_t, int64_t>> rows = {{0, 0}, {1, tokens}};
  for (const auto& [component, row] : rows) {
    const std::vector<float> got = last_logits(components[component].second);
    ASSERT_EQ(static_cast<int64_t>(got.size()), want.dim(1));
    double worst = 0;
    for (size_t i = 0; i < got.size(); ++i)
      worst = std::max<double>(
          worst,
          std::abs(got[i] - want.values<float>()[static_cast<size_t>(row) * got.size() + i]));
    EXPECT_LE(worst, kTolerance) << components[component].first;
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, Steps,
                         ::testing::Combine(::testing::ValuesIn(kDecoders),
                                            ::testing::Values("dynamic", "multi_token", "static",
                                                              "static_multi_token")));

int64_t size_of(const std::filesystem::path& path) {
  return static_cast<int64_t>(std::filesystem::file_size(path));
}

TEST(GenerationExport, StoresWeightsOnceForAllComponents) {
  const Scratch scratch;
  for (const char* mode : {"dynamic", "static_multi_token"}) {
    export_case("qwen2-causal-lm", "text-generation").save_pretrained(scratch.path() / "one");
    OnnxExporter()
        .export_for_generation(decoder("qwen2-causal-lm"), example(), dynamic_config(),
                               options_of(mode))
        .save_pretrained(scratch.path() / "two");
    EXPECT_EQ(size_of(scratch.path() / "two" / "prefill.onnx.data"),
              size_of(scratch.path() / "one" / "model.onnx.data"));
    EXPECT_EQ(size_of(scratch.path() / "two" / "decode.onnx.data"), 0);
    const ExportedModel loaded = ExportedModel::from_pretrained(scratch.path() / "two");
    loaded.save_pretrained(scratch.path() / "again");
    EXPECT_TRUE(validate_export(ExportedModel::from_pretrained(scratch.path() / "again")));
  }
}

TEST(GenerationExport, RecordsTheCallsOfTheReference) {
  for (const std::string name : {"llama-causal-lm", "qwen3-causal-lm"}) {
    const Scratch scratch;
    OnnxExporter()
        .export_for_generation(decoder(name), example(), dynamic_config(),
                               options_of("static_multi_token"))
        .save_pretrained(scratch.path() / "out");
    const Manifest ours = read_manifest(scratch.path() / "out");
    std::ifstream file(std::filesystem::path(SLIPWAY_SOURCE_DIR) / "tests/golden/export_json" /
                       (name + "-static.json"));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Manifest theirs = parse_manifest(text, name);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(ours.components[i].metadata.in_spec, theirs.components[i].metadata.in_spec);
      EXPECT_EQ(ours.components[i].metadata.out_spec, theirs.components[i].metadata.out_spec);
      EXPECT_EQ(ours.components[i].metadata.kwargs, theirs.components[i].metadata.kwargs);
    }
  }
}

TEST(GenerationExport, FreezesAtTheCapturedSizesWhenStatic) {
  const ExportedModel exported = OnnxExporter().export_for_generation(
      decoder("llama-causal-lm"), example(), OnnxConfig(), options_of("static_multi_token"));
  for (const LeafSpec& leaf : exported.component("decode").program.inputs()) {
    if (leaf.name == "input_ids") {
      EXPECT_EQ(leaf.dims, (std::vector<std::string>{"2", "2"}));
    }
    if (leaf.name == "attention_mask") {
      EXPECT_EQ(leaf.dims, (std::vector<std::string>{"2", "1", "2", "32"}));
    }
    EXPECT_NE(leaf.name, "logits_to_keep");
  }
}

TEST(GenerationExport, TakesAConfigurationPerComponent) {
  auto old = std::make_shared<OnnxConfig>(dynamic_config());
  old->opset_version = 18;
  auto recent = std::make_shared<OnnxConfig>(dynamic_config());
  recent->opset_version = 23;
  const auto model = decoder("llama-causal-lm");
  const ExportedModel exported = OnnxExporter().export_for_generation(
      model, example(), ComponentConfigs{{"prefill", recent}, {"decode", old}});
  const Scratch scratch;
  exported.save_pretrained(scratch.path() / "out");
  EXPECT_EQ(onnx::read_summary(scratch.path() / "out" / "prefill.onnx").opsets.at(""), 23);
  EXPECT_EQ(onnx::read_summary(scratch.path() / "out" / "decode.onnx").opsets.at(""), 18);
  EXPECT_TRUE(contains(error_of(kUsage,
                                [&] {
                                  OnnxExporter().export_for_generation(
                                      model, example(), ComponentConfigs{{"prefill", recent}});
                                }),
                       "no configuration for decode; the components are prefill, decode"));
}

TEST(GenerationExport, ExportsWhatIsLeftOfADecomposition) {
  Components components =
      decompose_for_generation(decoder("llama-causal-lm"), example(), options_of("static"));
  components.erase(components.begin());
  const auto config = std::make_shared<OnnxConfig>(dynamic_config());
  const ExportedModel exported = OnnxExporter().export_components(components, {{"decode", config}});
  ASSERT_EQ(exported.components().size(), 1u);
  EXPECT_EQ(exported.components()[0].first, "decode");
  const Inputs& inputs = components[0].second.inputs;
  const auto eager = by_name(components[0].second.model(inputs, Evaluator::kPlain));
  const auto ran = by_name(exported(inputs));
  for (const auto& [leaf, want] : eager) {
    if (want.dtype() != DType::kF32) continue;
    EXPECT_LE(max_difference(ran.at(leaf), want, [](int64_t) { return true; }), kTolerance) << leaf;
  }
}

TEST(GenerationExport, RefusesToWritePastTheSlots) {
  const Components components =
      decompose_for_generation(decoder("llama-causal-lm"), example(), options_of("static"));
  const ExportedModel exported = OnnxExporter().export_for_generation(
      decoder("llama-causal-lm"), example(), dynamic_config(), options_of("static"));
  for (const auto& [name, part] : components) {
    const int64_t tokens = part.inputs.at("input_ids").dim(1);
    const auto run = [&, &component = name, &inputs = part.inputs](int64_t next) {
      Inputs changed = inputs;
      Tensor counter(DType::kI64, {});
      counter.mutable_values<int64_t>()[0] = next;
      changed["past_key_values.layers.1.cumulative_length"] = counter;
      return exported.runner(component)(changed);
    };
    run(kSlots - tokens);
    for (const int64_t next : {kSlots - tokens + 1, kSlots + 5, int64_t{-1}})
      EXPECT_TRUE(
          contains(error_of(kInvalid, [&] { run(next); }),
                   "past_key_values.layers.1.cumulative_length is " + std::to_string(next)));
  }
}

TEST(GenerationExport, FixedSlotsBoundTheLengthThatNobodyGives) {
  OnnxConfig config;
  config.dynamic_shapes = DynamicShapes{{"input_ids", {{0, Dim::AUTO()}, {1, Dim::AUTO()}}}};
  const Scratch scratch;
  OnnxExporter()
      .export_for_generation(decoder("llama-causal-lm"), example(), config,
                             options_of("static_multi_token"))
      .save_pretrained(scratch.path() / "out");
  GenerationOptions options;
  options.ignore_eos = true;
  const Generated made = generate(ExportedModel::from_pretrained(scratch.path() / "out"),
                                  {{"input_ids", example().at("input_ids")}}, options);
  EXPECT_EQ(made.lengths, std::vector<int64_t>(2, kSlots - 9 + 1));
}

TEST(GenerationExport, CostsNoMemoryForSlots) {
  DecomposeOptions options = options_of("static");
  options.generation_config.max_cache_len = int64_t{1} << 40;
  const ExportedModel exported = OnnxExporter().export_for_generation(
      decoder("llama-causal-lm"), example(), dynamic_config(), options);
  EXPECT_EQ(exported.components().size(), 2u);
}

TEST(GenerationExport, RefusesNegativeCountsOfLogits) {
  const ExportedModel exported = export_case("llama-causal-lm", "text-generation");
  Tensor count(DType::kI64, {});
  count.mutable_values<int64_t>()[0] = -1;
  EXPECT_TRUE(contains(
      error_of(kInvalid,
               [&] {
                 exported({{"input_ids", example().at("input_ids")}, {"logits_to_keep", count}});
               }),
      "logits_to_keep"));
}

TEST(GenerationExport, SendsItsSettingsAlong) {
  const Scratch scratch;
  DecomposeOptions options = options_of("static");
  options.generation_config.eos_token_id = std::vector<int64_t>{7, 5};
  options.generation_config.early_stopping = EarlyStopping::kNever;
  OnnxExporter()
      .export_for_generation(decoder("llama-causal-lm"), example(), dynamic_config(), options)
      .save_pretrained(scratch.path() / "out");
  const Json json = parse_json_file(scratch.path() / "out" / "generation_config.json");
  EXPECT_EQ(json["cache_implementation"], "static");
  EXPECT_EQ(json["max_cache_len"], kSlots);
  EXPECT_EQ(json["eos_token_id"], Json({7, 5}));
  EXPECT_EQ(json["early_stopping"], "never");
  const Json own = parse_json_file(folder("llama-causal-lm") / "generation_config.json");
  for (const auto& [key, value] : own.items()) EXPECT_TRUE(json.contains(key)) << key;
}

TEST(GenerationExport, RefusesWhatItCannotTakeApart) {
  const auto refuse = [](ErrorKind kind, const std::string& what, const PreTrainedModel& model,
                         const Inputs& inputs, const GenerationConfig& config) {
    DecomposeOptions options;
    options.generation_config = config;
    EXPECT_TRUE(contains(error_of(kind,
                                  [&] {
                                    OnnxExporter().export_for_generation(model, inputs,
                                                                         dynamic_config(), options);
                                  }),
                         what));
  };
  const auto llama = decoder("llama-causal-lm");
  const auto bert = PreTrainedModel::from_pretrained(folder("bert-base"));
  EXPECT_FALSE(is_multimodal(llama));
  refuse(kUnsupported, "does not generate", bert, example(), {});
  refuse(kInvalid, "input_ids", llama, {}, {});
  refuse(kInvalid, "at least one token", llama, {{"input_ids", Tensor(DType::kI64, {1, 0})}}, {});
  refuse(
      kInvalid, "attention_mask has shape [2, 8], input_ids [2, 9]", llama,
      {{"input_ids", example().at("input_ids")}, {"attention_mask", Tensor(DType::kI64, {2, 8})}},
      {});
  Inputs right = example();
  right["attention_mask"] = right["attention_mask"].clone();
  right["attention_mask"].mutable_values<int64_t>()[17] = 0;
  refuse(kInvalid, "padded on the left", llama, right, {});
  GenerationConfig config;
  config.cache_implementation = "static";
  refuse(kInvalid, "needs max_cache_len", llama, example(), config);
  config.max_cache_len = 9;
  refuse(kInvalid, "max_cache_len is 9, the example's prompt and its new tokens need 10", llama,
         example(), config);
  config.cache_implementation = "quantized";
  refuse(kUnsupported, "'quantized' is not supported", llama, example(), config);
  config.cache_implementation.reset();
  refuse(kInvalid, "set it to 'static'", llama, example(), config);
}

}  // namespace
}  // namespace slipway::golden
