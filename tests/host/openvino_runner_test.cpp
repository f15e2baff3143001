// OpenVINO's runner: faults, devices, states of calls, threads, what a saved export may overwrite.
#include <fmt/format.h>

#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "base/test_expect.h"
#include "base/test_folder.h"
#include "case_util.h"
#include "decoder_util.h"
#include "runtime/repeated_call.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

/// The kind and message of the Error that `call` throws.
template <class Call>
std::pair<ErrorKind, std::string> failure(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return {e.kind(), e.what()};
  }
  ADD_FAILURE() << "no error was thrown";
  return {kInternal, ""};
}

ExportedModel on_device(const fs::path& out, const std::string& device) {
  RunnerOptions options;
  options.device = device;
  return ExportedModel::from_pretrained(out, "", options);
}

fs::path save_llama(const fs::path& out, const std::string& format = "openvino") {
  golden::export_case("llama-causal-lm", "text-generation-with-past", {}, format)
      .save_pretrained(out);
  return out;
}

Inputs three_tokens() { return {{"input_ids", cases::token_ids(2, 3)}}; }

TEST(OpenVINORunner, NamesWeightsThatAreMissingOrCut) {
  const TestFolder t;
  const fs::path out = save_llama(t / "out"), weights = out / "openvino_model.bin";
  const auto load = [&] { ExportedModel::from_pretrained(out); };
  const auto size = fs::file_size(weights);
  fs::resize_file(weights, size - 1);
  EXPECT_TRUE(contains(error_of(kInvalid, load), "openvino_model.bin has"));
  EXPECT_TRUE(contains(error_of(kInvalid, load), "it was cut"));
  fs::remove(weights);
  EXPECT_TRUE(contains(error_of(kInvalid, load), "openvino_model.bin, which is missing"));
  // The runner by itself, too.
  EXPECT_TRUE(
      contains(error_of(kInvalid, [&] { Session::open("openvino", out / "openvino_model.xml"); }),
               "its weights openvino_model.bin are missing"));
}

// Opening a pipe would wait for ever.
TEST(OpenVINORunner, RefusesPipes) {
  for (const char* file : {"openvino_model.bin", "openvino_model.xml", "config.json"}) {
    const TestFolder t;
    const fs::path out = save_llama(t / "out");
    fs::remove(out / file);
    ASSERT_EQ(::mkfifo((out / file).c_str(), 0600), 0);
    const std::string error = error_of(kInvalid, [&] { ExportedModel::from_pretrained(out); });
    EXPECT_TRUE(contains(error, file));
    EXPECT_TRUE(contains(error, "not a regular file"));
  }
}

// A CPU without float16 would compute in bfloat16, which is a tenth as exact.
TEST(OpenVINORunner, ComputesFloat16ModelsNoWorseThanTheirWeights) {
  const TestFolder t;
  const auto config = golden::config_of("openvino");
  const auto model = PreTrainedModel::from_pretrained(
      golden::folder("llama-causal-lm"), "text-generation", ModelOptions{.dtype = DType::kF16});
  OpenVINOExporter()
      .export_model(model, model.example_inputs(), *config)
      .save_pretrained(t / "out");
  const auto inputs = read_safetensors(golden::folder("llama-causal-lm") / "inputs.safetensors");
  const auto want = read_safetensors(golden::folder("llama-causal-lm") / "outputs.safetensors");
  const Tensor got = ExportedModel::from_pretrained(t / "out")(inputs)[0].second;
  EXPECT_LE(decoders::difference_where(got, want.at("logits"), inputs.at("attention_mask")), 0.01);
}

TEST(OpenVINORunner, RefusesEveryDamageToTheGraph) {
  const TestFolder t;
  const fs::path out = save_llama(t / "out"), graph = out / "openvino_model.xml";
  const std::string text = cases::contents_of(graph);
  const auto rewritten = [&](const std::string& changed) {
    std::ofstream(graph, std::ios::binary | std::ios::trunc) << changed;
    return failure([&] { ExportedModel::from_pretrained(out); });
  };
  for (const size_t length : {size_t{0}, size_t{20}, text.size() / 2, text.size() - 10}) {
    const auto [kind, message] = rewritten(text.substr(0, length));
    EXPECT_EQ(kind, kInvalid) << length;
    EXPECT_TRUE(contains(message, "openvino_model.xml")) << message;
  }
  const auto replaced = [&](const std::string& what, const std::string& by) {
    std::string changed = text;
    changed.replace(changed.find(what), what.size(), by);
    return rewritten(changed);
  };
  EXPECT_EQ(replaced("version=\"11\"", "version=\"99\"").first, kUnsupported);
  EXPECT_EQ(replaced("offset=\"0\"", "offset=\"-1\"").first, kInvalid);
  EXPECT_EQ(replaced("offset=\"0\"", "offset=\"9223372036854775807\"").first, kInvalid);
  EXPECT_EQ(replaced("offset=\"0\"", "offset=\"900000000\"").first, kInvalid);
  EXPECT_EQ(replaced("type=\"MatMul\"", "type=\"NoSuchOp\"").first, kInvalid);
  EXPECT_EQ(replaced("element_type=\"i64\"", "element_type=\"u1\"").first, kUnsupported);
}

TEST(OpenVINORunner, ListsTheDevicesThatThereAre) {
  const TestFolder t;
  const fs::path out = save_llama(t / "out");
  for (const char* device : {"tpu", "xpu:7", "HETERO:GPU.9,CPU"}) {
    const auto [kind, message] = failure([&] { on_device(out, device); });
    EXPECT_EQ(kind, kEnvironment) << device;
    EXPECT_TRUE(contains(message, fmt::format("there is no device '{}'", device))) << message;
    EXPECT_TRUE(contains(message, "it has CPU")) << message;
  }
  for (const char* device : {"", "cpu", "CPU", "cpu:0", "auto", "HETERO:CPU"})
    EXPECT_EQ(on_device(out, device)(three_tokens()).size(), 1u) << device;
}

TEST(OpenVINORunner, TakesPropertiesAndACacheOfCompiledModels) {
  const TestFolder t;
  const fs::path out = save_llama(t / "out");
  RunnerOptions options;
  options.session_options = {{"CACHE_DIR", (t / "cache").string()}};
  const auto first = ExportedModel::from_pretrained(out, "", options)(three_tokens());
  ASSERT_TRUE(fs::exists(t / "cache"));
  EXPECT_FALSE(fs::is_empty(t / "cache"));
  const auto again = ExportedModel::from_pretrained(out, "", options)(three_tokens());
  EXPECT_TRUE(cases::same_bits(first[0].second, again[0].second));
  const auto refused = [&](const char* key, const char* value) {
    options.session_options = {{key, value}};
    return failure([&] { ExportedModel::from_pretrained(out, "", options); });
  };
  for (const auto& [key, value] :
       {std::pair{"NO_SUCH_PROPERTY", "1"}, std::pair{"INFERENCE_PRECISION_HINT", "f11"}}) {
    const auto [kind, message] = refused(key, value);
    EXPECT_EQ(kind, kUsage);
    EXPECT_TRUE(contains(message, fmt::format("the session option {}={}: ", key, value)));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  t.write("file", "");
  EXPECT_EQ(refused("CACHE_DIR", (t / "file" / "cache").c_str()).first, kEnvironment);
}

// A mapped file that is written to ends the process: the runner has read it.
TEST(OpenVINORunner, RunsOnWhenItsFilesAreOverwritten) {
  const TestFolder t;
  const fs::path out = save_llama(t / "out");
  const auto exported = ExportedModel::from_pretrained(out);
  const Outputs before = exported(three_tokens());
  for (const char* file : {"openvino_model.bin", "openvino_model.xml"}) {
    fs::resize_file(out / file, 0);  // in place, as OpenVINO's own save_model does
    EXPECT_TRUE(cases::same_bits(exported(three_tokens())[0].second, before[0].second));
  }
  save_llama(out);
  EXPECT_TRUE(cases::same_bits(exported(three_tokens())[0].second, before[0].second));
}

TEST(OpenVINORunner, CachesCanBeGivenAndAskedFor) {
  const TestFolder t;
  const auto exported = ExportedModel::from_pretrained(save_llama(t / "out"));
  const Runner& runner = exported.runners()[0].second;
  const std::vector<std::string> wanted = {
      "past_key_values.layers.0.keys", "logits", "past_key_values.layers.0.values",
      "past_key_values.layers.1.keys", "past_key_values.layers.1.values"};
  const auto whole = runner({{"input_ids", cases::token_ids(2, 5)}}, wanted);
  Inputs rest = {{"input_ids", decoders::columns(cases::token_ids(2, 5), 3, 5)}};
  for (const auto& [leaf, value] :
       runner({{"input_ids", decoders::columns(cases::token_ids(2, 5), 0, 3)}}, wanted))
    if (leaf != "logits") rest[leaf] = value;
  const auto pieces = golden::by_name(runner(rest, wanted));
  EXPECT_EQ(whole[0].second.shape(), (Shape{2, 2, 5, 8}));
  EXPECT_LE(
      golden::max_difference(pieces.at(wanted[0]), whole[0].second, [](int64_t) { return true; }),
      1e-5);
  EXPECT_LE(golden::max_difference(pieces.at("logits"), decoders::columns(whole[1].second, 3, 5),
                                   [](int64_t) { return true; }),
            1e-4);
  // A run leaves nothing behind for the next.
  EXPECT_TRUE(
      cases::same_bits(runner({{"input_ids", cases::token_ids(2, 5)}})[0].second, whole[1].second));
  EXPECT_TRUE(contains(error_of(kUsage, [&] { runner(rest, {"past_key_values.layers.9.keys"}); }),
                       "no output"));
}

// A request is used again: what one run gave away, another that wants less must not write to.
class Results : public testing::TestWithParam<const char*> {};

TEST_P(Results, StayAsTheyWere) {
  const auto exported = golden::export_case("bert-base", "auto", {}, GetParam());
  const Runner& runner = exported.runners()[0].second;
  const Outputs first = runner({{"input_ids", cases::token_ids(2, 5)}});
  ASSERT_EQ(first.size(), 2u);
  std::vector<Tensor> kept;
  for (const auto& [name, value] : first) kept.push_back(value.clone());
  for (const auto& [name, value] : first) {
    runner({{"input_ids", cases::token_ids(1, 4)}}, {name});
    runner({{"input_ids", cases::token_ids(2, 5)}, {"token_type_ids", decoders::ones(2, 5)}},
           {name});
  }
  for (size_t i = 0; i < kept.size(); ++i)
    EXPECT_TRUE(cases::same_bits(first[i].second, kept[i])) << first[i].first;
}

INSTANTIATE_TEST_SUITE_P(Runners, Results,
                         testing::Values("onnx", "dynamo", "openvino", "executorch"),
                         [](const auto& made) { return std::string(made.param); });

using ResultsDeathTest = Results;

// Static objects that are older than a runtime's libraries are destroyed after these have ended.
TEST_P(ResultsDeathTest, MayOutliveTheirRuntime) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto outlive = [] {
    static std::vector<std::pair<ExportedModel, Outputs>> kept;
    auto exported = golden::export_case("bert-base", "auto", {}, GetParam());
    Outputs made = exported({{"input_ids", cases::token_ids(2, 5)}});
    kept.emplace_back(std::move(exported), std::move(made));
    std::exit(0);
  };
  EXPECT_EXIT(outlive(), testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(Runners, ResultsDeathTest,
                         testing::Values("onnx", "dynamo", "openvino", "executorch"),
                         [](const auto& made) { return std::string(made.param); });

TEST(OpenVINORunner, ThreadsHaveRequestsOfTheirOwn) {
  const TestFolder t;
  const auto exported = ExportedModel::from_pretrained(save_llama(t / "out"));
  const auto run = [&](int64_t seed) {
    return exported({{"input_ids", cases::token_ids(1 + seed % 3, 1 + seed % 7)}})[0].second;
  };
  std::vector<Tensor> want;
  for (int64_t seed = 0; seed < 8; ++seed) want.push_back(run(seed));
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (int64_t seed = 0; seed < 8; ++seed)
    threads.emplace_back([&, seed] {
      for (int round = 0; round < 40; ++round)
        wrong[static_cast<size_t>(seed)] +=
            cases::same_bits(run(seed), want[static_cast<size_t>(seed)]) ? 0 : 1;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

TEST(OpenVINORunner, StatesOfCallsAreTheirOwn) {
  const TestFolder t;
  const Session session = Session::open("openvino", save_llama(t / "out") / "openvino_model.xml");
  const std::string state = "past_key_values.0.keypresent.0.key";
  const auto call = [&] {
    return RepeatedCall(session, {"input_ids", "attention_mask", "position_ids", "beam_idx"},
                        {"logits"});
  };
  RepeatedCall first = call(), second = call();
  const Tensor ids = cases::token_ids(1, 4), mask = decoders::ones(1, 4);
  const Tensor positions = Tensor::of<int64_t>({1, 4}, {0, 1, 2, 3});
  const Tensor rows = Tensor::of<int32_t>({1}, {0});
  size_t at = 0;
  for (const Tensor& input : {ids, mask, positions, rows}) first.set_input(at++, input);
  first.run();
  EXPECT_EQ(first.get_state(state).shape(), (Shape{1, 2, 4, 8}));
  second.set_state(state, first.get_state(state));
  EXPECT_TRUE(cases::same_bits(second.get_state(state), first.get_state(state)));
  first.reset_states();
  EXPECT_EQ(second.get_state(state).dim(2), 4);
  EXPECT_TRUE(contains(error_of(kUsage, [&] { first.get_state("other"); }), "no state other"));
}

// IR has no input that may be left out, so the runner adds it.
TEST(OpenVINORunner, GivesTheLogitsOfTheLastTokensOnly) {
  const TestFolder t;
  const auto exported = ExportedModel::from_pretrained(save_llama(t / "out"));
  const Runner& runner = exported.runners()[0].second;
  const Tensor all = runner(three_tokens())[0].second;
  for (const int64_t keep : {1, 2, 3}) {
    Inputs inputs = three_tokens();
    inputs["logits_to_keep"] = Tensor::of<int64_t>({}, {keep});
    const Tensor kept = runner(inputs)[0].second;
    ASSERT_EQ(kept.shape(), (Shape{2, keep, all.dim(2)}));
    EXPECT_LE(golden::max_difference(kept, decoders::columns(all, 3 - keep, 3),
                                     [](int64_t) { return true; }),
              1e-5);
  }
  EXPECT_EQ(runner(three_tokens())[0].second.shape(), all.shape());
}

}  // namespace
}  // namespace slipway
