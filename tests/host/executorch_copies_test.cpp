// What a decode step with a static cache copies, counted over whole processes.
#include <cstdlib>
#include <fstream>

#include "backends/executorch/read.h"
#include "decoder_util.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

struct Counts {
  double bytes = 0;    ///< by memcpy and memmove
  int64_t caches = 0;  ///< copies of the size of a cache or larger
};

Counts counts(const std::string& command, int steps, int64_t cache_bytes, const fs::path& scratch) {
  const fs::path to = scratch / "counts";
  const std::string line = "LD_PRELOAD='" SLIPWAY_COPY_COUNTER "' SLIPWAY_COPY_COUNTS='" +
                           to.string() + "' SLIPWAY_COPY_LARGE=" + std::to_string(cache_bytes) +
                           " " + command + " " + std::to_string(steps) + " >'" +
                           (scratch / "printed").string() + "' 2>/dev/null";
  EXPECT_EQ(std::system(line.c_str()), 0) << line;
  Counts counts;
  std::ifstream(to) >> counts.bytes >> counts.caches;
  EXPECT_GT(counts.bytes, 0) << line;
  fs::remove(to);
  return counts;
}

/// What a command copies for each of the steps in which two runs of it differ.
Counts each_step(const std::string& command, int few, int many, int64_t cache_bytes,
                 const fs::path& scratch) {
  const Counts less = counts(command, few, cache_bytes, scratch);
  const Counts more = counts(command, many, cache_bytes, scratch);
  return {(more.bytes - less.bytes) / (many - few), more.caches - less.caches};
}

class ExecutorchCopies : public testing::Test {
 protected:
  void SetUp() override {
    const auto model =
        PreTrainedModel::from_pretrained(golden::folder("llama-causal-lm"), "text-generation");
    DecomposeOptions options;
    options.multi_token_decode = true;
    options.generation_config.cache_implementation = "static";
    options.generation_config.max_cache_len = kSlots;
    for (const bool planned : {true, false}) {
      ExecutorchConfig config;
      config.dynamic = true;
      config.alloc_graph_input = config.alloc_graph_output = config.alloc_mutable_buffers = planned;
      const auto exported = ExecutorchExporter().export_for_generation(
          model, model.example_inputs(), config, options);
      exported.save_pretrained(folder(planned));
    }
    const auto outline = executorch::read_outline(folder(false) / "decode.pte");
    for (const auto& port : outline.method("forward", "decode").inputs)
      if (port.sizes.size() == 4 && port.dtype == DType::kF32) {
        ++caches_;
        cache_bytes_ = port.sizes[1] * kSlots * port.sizes[3] * 4;
      }
    ASSERT_EQ(caches_, 4);
  }

  fs::path folder(bool planned) const { return scratch_.path() / (planned ? "arena" : "caller"); }

  Counts each_step(const std::string& command) const {
    return slipway::each_step(command, kFew, kMany, cache_bytes_, scratch_.path());
  }

  static constexpr int kSlots = 1024, kFew = 4, kMany = 20;
  int64_t cache_bytes_ = 0, caches_ = 0;

 private:
  golden::Scratch scratch_;
};

TEST_F(ExecutorchCopies, NothingOfTheCachesSizeInTheCallersMemory) {
  const Counts step = each_step(SLIPWAY_EXECUTORCH_EXAMPLE " '" +
                                (folder(false) / "decode.pte").string() + "' 5,6,7");
  EXPECT_EQ(step.caches, 0);
  EXPECT_LT(step.bytes, static_cast<double>(cache_bytes_));
}

TEST_F(ExecutorchCopies, NorByOurRunner) {
  const fs::path prompt = folder(false) / "prompt.safetensors";
  write_safetensors(prompt, {{"input_ids", decoders::token_ids(1, 4)}});
  const auto command = [&](bool planned) {
    return SLIPWAY_TOOL " generate '" + folder(planned).string() + "' --inputs '" +
           prompt.string() + "' --ignore-eos --max-cache-len " + std::to_string(kSlots) +
           " --max-new-tokens";
  };
  const Counts step = each_step(command(false));
  EXPECT_EQ(step.caches, 0);
  EXPECT_LT(step.bytes, static_cast<double>(cache_bytes_));
  // With memory in the program each cache is copied into it and out of it: this test sees copies.
  const Counts copied = each_step(command(true));
  EXPECT_GE(copied.caches, (kMany - kFew) * caches_);
  EXPECT_GE(copied.bytes, static_cast<double>(cache_bytes_ * caches_));
}

TEST(ExecutorchCopiesOfSmolLM2, NothingOfTheCachesSizeOver128Tokens) {
  const fs::path source = fs::path(SLIPWAY_SOURCE_DIR) / ".deps" / "models" / "smollm2" /
                          "SmolLM2-135M-Instruct.Q4_1.gguf";
  ASSERT_TRUE(fs::exists(source)) << "run make models";
  const auto model = PreTrainedModel::from_pretrained(source);
  ExecutorchConfig config;
  config.alloc_graph_input = config.alloc_graph_output = config.alloc_mutable_buffers = false;
  constexpr int kSlots = 512, kMany = 132;
  const Dim row("batch_size", 1, 1), tokens("sequence_length", 1, 64),
      slots("cache_length", 1, 512);
  config.dynamic_shapes = DynamicShapes{{"input_ids", {{0, row}, {1, tokens}}},
                                        {"attention_mask", {{0, row}, {2, tokens}, {3, slots}}}};
  DecomposeOptions options;
  options.multi_token_decode = true;
  options.generation_config.cache_implementation = "static";
  options.generation_config.max_cache_len = 256;
  const golden::Scratch scratch;
  ExecutorchExporter()
      .export_for_generation(model, model.example_inputs(), config, options)
      .save_pretrained(scratch.path() / "out");
  const Json golden =
      parse_json_file(fs::path(SLIPWAY_SOURCE_DIR) / "tests/golden/reference/smollm2.json")
          .at("cases")[0];
  std::string prompt;
  for (const Json& id : golden.at("input_ids")) prompt += (prompt.empty() ? "" : ",") + id.dump();
  constexpr int64_t kCacheBytes = 3 * kSlots * 64 * 4;  // keys of one layer
  const Counts step =
      each_step(SLIPWAY_EXECUTORCH_EXAMPLE " '" + (scratch.path() / "out" / "decode.pte").string() +
                    "' " + prompt,
                4, kMany, kCacheBytes, scratch.path());
  EXPECT_EQ(step.caches, 0);
  // All bytes of a step, logits among them, are a small part of the 60 tensors of the cache.
  EXPECT_LT(step.bytes, 60.0 * kCacheBytes / 20);
  std::ifstream printed(scratch.path() / "printed");
  const auto want = golden.at("new_ids").get<std::vector<int64_t>>();
  std::vector<int64_t> made;
  for (int64_t token = 0; printed >> token;) made.push_back(token);
  ASSERT_EQ(made.size(), static_cast<size_t>(kMany));
  made.resize(want.size());
  EXPECT_EQ(made, want);
}

}  // namespace
}  // namespace slipway
