// Killing the tool at any moment of a re-export: the folder holds the old or the new one, whole.
#include <unistd.h>

#include <chrono>
#include <thread>

#include "case_util.h"

namespace slipway::cases {
namespace {

using Clock = std::chrono::steady_clock;

/// A llama of some 20 MB, so that writing takes a while.
Draft large(uint32_t seed) {
  Draft draft = Draft::golden("llama-causal-lm");
  draft.config["hidden_size"] = 512;
  draft.config["vocab_size"] = 10000;
  draft.config["tie_word_embeddings"] = true;
  draft.tensors.erase("lm_head.weight");
  for (auto& [name, tensor] : draft.tensors) {
    Shape shape = tensor.shape();
    for (int64_t& d : shape) d = d == 32 ? 512 : d == 128 ? 10000 : d;
    if (name.ends_with("q_proj.weight")) shape = {32, 512};
    if (name.ends_with("o_proj.weight")) shape = {512, 32};
    tensor = random_tensor(shape, seed++);
  }
  return draft;
}

std::vector<fs::path> staging_folders(const fs::path& parent) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(parent))
    if (entry.path().filename().string().starts_with(".out.")) found.push_back(entry.path());
  return found;
}

class FaultKill : public testing::Test {
 protected:
  static constexpr int kModels = 2;
  void SetUp() override {
    for (int i = 0; i < kModels; ++i) {
      large(static_cast<uint32_t>(i) * 100 + 1).save(checkpoint(i));
      const auto start = Clock::now();
      const ToolResult result = run_tool(command(i));
      ASSERT_EQ(result.code, 0) << result.err;
      whole_ = Clock::now() - start;
      exports_.push_back(files_of(t_ / "shelf/out"));
    }
    ASSERT_FALSE(exports_[0] == exports_[1]);
  }
  fs::path checkpoint(int i) const { return t_ / ("in" + std::to_string(i)); }
  std::vector<std::string> command(int i) const {
    return {"export", checkpoint(i).string(), (t_ / "shelf/out").string(), "--no-validate"};
  }
  /// Which of the two exports is there; -1 for neither.
  int present() const {
    const auto files = files_of(t_ / "shelf/out");
    for (int i = 0; i < kModels; ++i)
      if (files == exports_[static_cast<size_t>(i)]) return i;
    return -1;
  }

  TestFolder t_;
  std::vector<std::map<std::string, std::string>> exports_;
  Clock::duration whole_{};
};

TEST_F(FaultKill, OldOrNewAtEveryMoment) {
  std::minstd_rand random(11);
  std::uniform_real_distribution<double> part(0.0, 1.1);
  int while_writing = 0, before = present();
  for (int kill = 0; kill < 30; ++kill) {
    SCOPED_TRACE(kill);
    const int wanted = 1 - before;
    Tool tool(command(wanted));
    const auto start = Clock::now();
    // Every other kill waits for the writing to begin, the others come at any time of a run.
    if (kill % 2 == 0)
      while (tool.is_running() && staging_folders(t_ / "shelf").empty()) std::this_thread::yield();
    const double share = part(random) * (kill % 2 == 0 ? 0.4 : 1.0);
    while (Clock::now() - start < whole_ * share && tool.is_running())
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    tool.kill();
    tool.wait();
    const int after = present();
    ASSERT_NE(after, -1) << "neither the old nor the new export";
    const size_t left = staging_folders(t_ / "shelf").size();
    EXPECT_LE(left, 1u) << "what earlier kills left is still there";
    if (left == 1 && after == before) ++while_writing;
    before = after;
  }
  EXPECT_GE(while_writing, 5) << "the kills came too early or too late to prove anything";

  EXPECT_EQ(run_tool(command(0)).code, 0);
  EXPECT_EQ(present(), 0);
  EXPECT_TRUE(staging_folders(t_ / "shelf").empty()) << "stale folders stay";
  const Outputs outputs =
      ExportedModel::from_pretrained(t_ / "shelf/out")({{"input_ids", token_ids(1, 3)}});
  EXPECT_EQ(by_name(outputs).at("logits").shape(), (Shape{1, 3, 10000}));
}

TEST_F(FaultKill, TwoExportsAtOnceDoNotDisturbEachOther) {
  Tool first(command(0)), second(command(1));
  EXPECT_EQ(first.wait().code, 0);
  EXPECT_EQ(second.wait().code, 0);
  EXPECT_NE(present(), -1);
  EXPECT_TRUE(staging_folders(t_ / "shelf").empty());
}

}  // namespace
}  // namespace slipway::cases
