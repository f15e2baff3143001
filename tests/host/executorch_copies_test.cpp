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

  /// What a command copies for each of the steps in which two runs of it differ.
  Counts each_step(const std::string& command) const {
    const Counts few = counts(command, kFew), many = counts(command, kMany);
    return {(many.bytes - few.bytes) / (kMany - kFew), many.caches - few.caches};
  }

  static constexpr int kSlots = 1024, kFew = 4, kMany = 20;
  int64_t cache_bytes_ = 0, caches_ = 0;

 private:
  Counts counts(const std::string& command, int steps) const {
    const fs::path to = scratch_.path() / "counts";
    const std::string line = "LD_PRELOAD='" SLIPWAY_COPY_COUNTER "' SLIPWAY_COPY_COUNTS='" +
                             to.string() + "' SLIPWAY_COPY_LARGE=" + std::to_string(cache_bytes_) +
                             " " + command + " " + std::to_string(steps) + " >/dev/null 2>&1";
    EXPECT_EQ(std::system(line.c_str()), 0) << line;
    Counts counts;
    std::ifstream(to) >> counts.bytes >> counts.caches;
    EXPECT_GT(counts.bytes, 0) << line;
    fs::remove(to);
    return counts;
  }

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

}  // namespace
}  // namespace slipway
