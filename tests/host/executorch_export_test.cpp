// Exports to ExecuTorch: configuration, who owns memory, bounds of sizes.
#include "backends/executorch/read.h"
#include "backends/executorch/test_programs.h"
#include "backends/executorch/write.h"
#include "base/test_expect.h"
#include "decoder_util.h"
#include "runtime/repeated_call.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using executorch::MethodOutline;

PreTrainedModel llama(const std::string& task = "text-generation") {
  return PreTrainedModel::from_pretrained(golden::folder("llama-causal-lm"), task);
}

ExecutorchConfig dynamic_config() {
  ExecutorchConfig config;
  config.dynamic = true;
  return config;
}

MethodOutline outline(const ExportedModel& exported, const std::string& component = "model") {
  const golden::Scratch scratch;
  return executorch::read_outline(
             exported.component(component).program.save(scratch.path(), component))
      .method("forward", component);
}

TEST(ExecutorchExport, TheConfigurationHasTheReferencesFields) {
  const auto config = AutoExportConfig::from_dict(
      R"({"export_format": "executorch", "alloc_graph_input": false, "dynamic": true})");
  EXPECT_EQ(config->to_json_string(),
            R"({"alloc_graph_input":false,"alloc_graph_output":true,"alloc_mutable_buffers":true,)"
            R"("backend":"xnnpack","dynamic":true,"dynamic_shapes":null,)"
            R"("export_format":"executorch","prefer_deferred_runtime_asserts_over_guards":false,)"
            R"("strict":false})");
  const ExecutorchConfig fresh;
  EXPECT_EQ(fresh.backend, "xnnpack");
  EXPECT_TRUE(fresh.alloc_graph_input && fresh.alloc_graph_output && fresh.alloc_mutable_buffers);
  EXPECT_THROW(AutoExportConfig::from_dict(R"({"export_format": "executorch", "backend": 1})"),
               Error);
  EXPECT_THROW(AutoExportConfig::from_dict(R"({"export_format": "onnx", "backend": "xnnpack"})"),
               Error);
}

TEST(ExecutorchExport, BackendsThatAreNotBuiltInAreRefused) {
  const PreTrainedModel model = llama();
  for (const char* backend : {"cuda", "mlx", ""}) {
    ExecutorchConfig config;
    config.backend = backend;
    decoders::refused(
        kUnsupported, "'" + config.backend + "' is not built in; available: xnnpack",
        [&] { ExecutorchExporter().export_model(model, model.example_inputs(), config); });
  }
  decoders::refused(kUsage, "ExecutorchExporter needs an ExecutorchConfig", [&] {
    ExecutorchExporter().export_model(model, model.example_inputs(), OnnxConfig());
  });
}

TEST(ExecutorchExport, WritesTheReferencesFiles) {
  const golden::Scratch scratch;
  const PreTrainedModel model = llama();
  ExecutorchExporter()
      .export_for_generation(model, model.example_inputs(), dynamic_config())
      .save_pretrained(scratch.path() / "out");
  for (const char* file :
       {"prefill.pte", "decode.pte", "config.json", "generation_config.json", "export.json"})
    EXPECT_TRUE(fs::exists(scratch.path() / "out" / file)) << file;
  const Json manifest = parse_json_file(scratch.path() / "out" / "export.json");
  EXPECT_EQ(manifest.at("export_format"), "executorch");
  EXPECT_EQ(manifest.at("components").at("decode").at("file"), "decode.pte");
}

/// With each setting of the two flags: whose memory inputs and outputs are, and the same numbers.
TEST(ExecutorchExport, TheFlagsSayWhoOwnsInputsAndOutputs) {
  const PreTrainedModel model = llama();
  const Inputs inputs = read_safetensors(golden::folder("llama-causal-lm") / "inputs.safetensors");
  const auto want = read_safetensors(golden::folder("llama-causal-lm") / "outputs.safetensors");
  std::map<std::pair<bool, bool>, int64_t> arena;
  for (const bool input : {true, false})
    for (const bool output : {true, false}) {
      ExecutorchConfig config = dynamic_config();
      config.alloc_graph_input = input;
      config.alloc_graph_output = output;
      const ExportedModel exported = ExecutorchExporter().export_model(model, inputs, config);
      const MethodOutline method = outline(exported);
      for (const auto& port : method.inputs) EXPECT_EQ(port.planned, input) << port.name;
      for (const auto& port : method.outputs) EXPECT_EQ(port.planned, output) << port.name;
      arena[{input, output}] = method.arena_total();
      const auto got = golden::by_name(exported(inputs));
      EXPECT_LE(
          golden::max_difference(
              got.at("logits"), want.at("logits"),
              [&](int64_t at) {
                const auto& mask = inputs.at("attention_mask");
                return mask.values<int64_t>()[static_cast<size_t>(at / want.at("logits").dim(2))] !=
                       0;
              }),
          decoders::kTolerance);
    }
  EXPECT_LE((arena[{false, true}]), (arena[{true, true}]));  // ids share others' memory
  EXPECT_LT((arena[{true, false}]), (arena[{true, true}]));
  EXPECT_LT((arena[{false, false}]), (arena[{false, true}]));
}

/// A batch of 1 to 1 is a number to the delegates: a reshape with one free size stays inside, so
/// what writes to the caches is all that comes between them.
TEST(ExecutorchExport, OneRowNeedsOneDelegateALayer) {
  const auto delegates = [](int64_t rows) {
    ExecutorchConfig config;
    const Dim row("batch_size", 1, rows), tokens("sequence_length", 1, 16),
        slots("cache_length", 1, 32);
    config.dynamic_shapes = DynamicShapes{{"input_ids", {{0, row}, {1, tokens}}},
                                          {"attention_mask", {{0, row}, {2, tokens}, {3, slots}}}};
    DecomposeOptions options;
    options.multi_token_decode = true;
    options.generation_config.cache_implementation = "static";
    options.generation_config.max_cache_len = 32;
    const PreTrainedModel model = llama();
    return outline(ExecutorchExporter().export_for_generation(model, model.example_inputs(), config,
                                                              options),
                   "decode")
        .delegates.size();
  };
  constexpr size_t kLayers = 2;
  EXPECT_EQ(delegates(1), kLayers + 1);
  EXPECT_GT(delegates(4), 2 * kLayers + 1);
}

TEST(ExecutorchExport, TellsWhatWasDelegated) {
  const PreTrainedModel model = llama();
  const ExportedModel fresh =
      ExecutorchExporter().export_model(model, model.example_inputs(), dynamic_config());
  const auto delegation = fresh.component("model").program.delegation();
  ASSERT_TRUE(delegation);
  EXPECT_EQ(delegation->delegates, static_cast<int64_t>(outline(fresh).delegates.size()));
  EXPECT_GT(delegation->multiplications, 0);
  EXPECT_EQ(delegation->share(), 1.0);
  int64_t ops = 0, counted = 0;
  for (const auto& [op, count] : delegation->delegated) ops += count;
  for (const auto& [what, count] : delegation->left) ops += count;
  for (const auto& [op, count] : fresh.component("model").program.op_counts()) counted += count;
  EXPECT_EQ(ops, counted);
  // A file no longer tells, and other formats have no delegates.
  const golden::Scratch scratch;
  fresh.save_pretrained(scratch.path() / "out");
  EXPECT_FALSE(ExportedModel::from_pretrained(scratch.path() / "out")
                   .component("model")
                   .program.delegation());
  EXPECT_FALSE(OnnxExporter()
                   .export_model(model, model.example_inputs(), OnnxConfig())
                   .component("model")
                   .program.delegation());
}

/// Native graphs have no buffers: their caches are inputs. So the flag is shown on a program with
/// one, which is the caller's (here the runner's) memory when the flag is off, and starts as zeros.
TEST(ExecutorchExport, TheFlagSaysWhoOwnsBuffers) {
  executorch::Program program;
  executorch::Method method("forward");
  const auto x = method.add(executorch::testing::planned({4}));
  const auto sum = method.add(executorch::TensorValue{.dtype = DType::kF32,
                                                      .shape = {4},
                                                      .storage = executorch::Storage::kBuffer,
                                                      .name = "sum_buffer"});
  const auto next = method.add(executorch::testing::planned({4}));
  const auto alpha = method.constant(int64_t{1}), blocking = method.constant(false);
  method.instructions = {executorch::KernelCall{"aten::add", "out", {sum, x, alpha, next, next}},
                         executorch::KernelCall{"aten::copy_", "", {sum, next, blocking, sum}}};
  method.inputs = {x}, method.input_names = {"x"};
  method.outputs = {next}, method.output_names = {"sum"};
  program.methods.push_back(std::move(method));
  int64_t arena[2] = {};
  for (const bool planned : {true, false}) {
    const golden::Scratch scratch;
    const fs::path file = scratch.path() / "model.pte";
    executorch::write(program, file, {.alloc_mutable_buffers = planned});
    const auto outline = executorch::read_outline(file).method("forward", "forward");
    ASSERT_EQ(outline.buffers.size(), 1u);
    EXPECT_EQ(outline.buffers[0].planned, planned);
    arena[planned ? 1 : 0] = outline.arena_total();
    const Session session = Session::open("executorch", file);
    RepeatedCall call(session, {"x"}, {"sum"});
    const Tensor ones = Tensor::of<float>({4}, {1, 2, 3, 4});
    call.set_input(0, ones);
    for (int step = 1; step <= 3; ++step) {
      call.run();
      EXPECT_EQ(call.take_output(0).values<float>()[3], 4.0f * static_cast<float>(step));
    }
    EXPECT_EQ(call.get_state("sum_buffer").values<float>()[0], 3);
  }
  EXPECT_EQ(arena[1] - arena[0], 16);
}

/// Greedy decoding, where a model's end of sequence is never chosen.
std::vector<int64_t> decode(DecoderState& state, const Json& golden,
                            const std::vector<int64_t>& ends, const void* first_cache) {
  auto feed = golden.at("prompt").at("input_ids")[0].get<std::vector<int64_t>>();
  std::vector<int64_t> tokens;
  while (tokens.size() < golden.at("new_tokens").size()) {
    const auto count = std::ssize(feed);
    Tensor logits =
        state.forward(Tensor::copy_of<int64_t>({1, count}, feed), decoders::ones(1, count), 1)
            .clone();
    const auto row = logits.mutable_values<float>();
    for (const int64_t id : ends) row[static_cast<size_t>(id)] = -1e30f;
    tokens.push_back(std::ranges::max_element(row) - row.begin());
    feed = {tokens.back()};
    if (first_cache != nullptr) {
      EXPECT_EQ(state.cache().at(0).second.data(), first_cache);
    }
  }
  return tokens;
}

class ExecutorchInPlace : public testing::TestWithParam<const char*> {};

TEST_P(ExecutorchInPlace, DecodesAtTheSameAddressesWithAllFlagsOff) {
  const fs::path folder = golden::folder(GetParam());
  const auto model = PreTrainedModel::from_pretrained(folder, "text-generation-with-past");
  ExecutorchConfig config = dynamic_config();
  config.alloc_graph_input = config.alloc_graph_output = config.alloc_mutable_buffers = false;
  DecomposeOptions options;
  options.multi_token_decode = true;
  options.generation_config.cache_implementation = "static";
  options.generation_config.max_cache_len = 32;
  const decoders::Fixture made(
      ExecutorchExporter().export_for_generation(model, model.example_inputs(), config, options));
  const MethodOutline method = outline(made.exported(), "decode");
  for (const auto& port : method.inputs) EXPECT_FALSE(port.planned) << port.name;
  // Each output of the cache is its input: one value of the method, one memory of the caller.
  for (const auto& port : method.outputs) {
    const auto input = std::ranges::find(method.inputs, port.value, &executorch::Port::value);
    EXPECT_EQ(input != method.inputs.end(), port.name.starts_with("past_key_values")) << port.name;
  }
  const Json golden = parse_json_file(folder / "generate.json");
  const auto ends =
      GenerationConfig::from_pretrained(folder).eos_token_id.value_or(std::vector<int64_t>{});
  const auto state = made.state();
  const auto addresses = [&] {
    std::vector<const void*> list;
    for (const auto& [name, tensor] : state->cache()) list.push_back(tensor.data());
    return list;
  };
  EXPECT_EQ(decode(*state, golden, ends, nullptr), golden.at("new_tokens"));
  const auto first = addresses();
  ASSERT_FALSE(first.empty());
  state->reset();
  EXPECT_EQ(decode(*state, golden, ends, first[0]), golden.at("new_tokens"));
  EXPECT_EQ(addresses(), first);
}

INSTANTIATE_TEST_SUITE_P(Models, ExecutorchInPlace,
                         testing::Values("llama-causal-lm", "mistral-causal-lm", "qwen2-causal-lm",
                                         "qwen3-causal-lm"),
                         [](const auto& made) { return golden::case_label(made.param, "onnx"); });

Inputs ids_of(int64_t rows, int64_t length) {
  return {{"input_ids", decoders::token_ids(rows, length)},
          {"attention_mask", decoders::ones(rows, length)}};
}

TEST(ExecutorchExport, DefaultBoundsAreChosenPrintedAndKept) {
  const auto model = PreTrainedModel::from_pretrained(golden::folder("bert-base"));
  testing::internal::CaptureStderr();
  const auto exported = ExecutorchExporter().export_model(model, ids_of(2, 6), dynamic_config());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(said,
                       "memory is planned for batch_size <= 8; give other bounds in "
                       "dynamic_shapes"));
  EXPECT_NO_THROW(exported(ids_of(8, 6)));
  decoders::refused(kInvalid, "batch_size", [&] { exported(ids_of(9, 6)); });
}

TEST(ExecutorchExport, BoundsOfDynamicShapesAreObeyed) {
  const PreTrainedModel model = llama();
  ExecutorchConfig config;
  const Dim rows("rows", 1, 3), length("length", 1, 12);
  config.dynamic_shapes = DynamicShapes{{"input_ids", {{0, rows}, {1, length}}},
                                        {"attention_mask", {{0, rows}, {1, length}}}};
  testing::internal::CaptureStderr();
  const auto exported = ExecutorchExporter().export_model(model, ids_of(2, 6), config);
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("memory is planned for"),
            std::string::npos);
  const MethodOutline method = outline(exported);
  EXPECT_EQ(method.inputs.at(0).sizes, (Shape{3, 12}));
  for (const auto& [r, n] : {std::pair<int64_t, int64_t>{3, 12}, {1, 1}, {2, 5}})
    EXPECT_EQ(golden::by_name(exported(ids_of(r, n))).at("logits").dim(1), n);
  decoders::refused(kInvalid, "rows", [&] { exported(ids_of(4, 5)); });
  decoders::refused(kInvalid, "length", [&] { exported(ids_of(2, 13)); });
  // As many elements as 3 x 12, other dimensions.
  decoders::refused(kInvalid, "length", [&] { exported(ids_of(2, 18)); });
  decoders::refused(kInvalid, "attention_mask", [&] {
    exported({{"input_ids", decoders::token_ids(2, 6)}, {"attention_mask", decoders::ones(3, 4)}});
  });
  decoders::refused(kInvalid, "input_ids", [&] {
    exported({{"input_ids", Tensor(DType::kI64, {12})}, {"attention_mask", decoders::ones(2, 6)}});
  });
  const golden::Scratch scratch;
  exported.save_pretrained(scratch.path() / "out");
  const auto loaded = ExportedModel::from_pretrained(scratch.path() / "out");
  decoders::refused(kInvalid, "length", [&] { loaded(ids_of(2, 13)); });
}

}  // namespace
}  // namespace slipway
