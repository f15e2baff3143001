// Kills at any moment: the final path holds one whole export, old or new, and nothing is left over.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "base/output.h"
#include "base/output_paths.h"
#include "base/test_folder.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

constexpr int kFiles = 4;

[[noreturn]] void export_for_ever(const fs::path& out, int first) {
  for (int round = first;; ++round) {
    StagedDirectory staged(out);
    for (int i = 0; i < kFiles; ++i) {
      OutputFile file(staged.path() / std::to_string(i));
      file.append(std::to_string(round) + std::string(5000, '.'));
      file.close();
    }
    staged.commit(std::vector<std::string>{"stale"});
  }
}

int hidden_entries(const fs::path& folder) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string()[0] == '.') ++count;
  return count;
}

TEST(StagedKill, OldOrNewAtEveryMoment) {
  TestFolder t;
  t.write("out/mine/README", "keep me");
  for (int i = 0; i < kFiles; ++i)
    t.write("out/" + std::to_string(i), "0" + std::string(5000, '.'));
  std::mt19937 random(7);
  // Grows where the machine is too slow for the first exports to finish in it.
  int longest = 3000;
  int changed = 0;
  std::string last = TestFolder::read(t / "out/0");
  for (int kill = 0; kill < 300; ++kill) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) export_for_ever(t / "out", kill * 100000 + 1);
    ::usleep(static_cast<useconds_t>(std::uniform_int_distribution<int>(0, longest)(random)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string first = TestFolder::read(t / "out/0");
    ASSERT_EQ(first.size() > 5000, true) << "kill " << kill << ": " << first;
    for (int i = 1; i < kFiles; ++i)
      ASSERT_EQ(TestFolder::read(t / "out" / std::to_string(i)), first) << "kill " << kill;
    ASSERT_EQ(TestFolder::read(t / "out/mine/README"), "keep me") << "kill " << kill;
    if (first != last) ++changed;
    last = first;
    if (kill % 20 == 19 && changed * 4 < kill) longest = std::min(longest * 2, 200000);
  }
  EXPECT_GT(changed, 20) << "the kills came too early to prove anything";
  { const StagedDirectory cleaner(t / "out"); }
  EXPECT_EQ(hidden_entries(t.path()), 0) << "folders of killed processes stay behind";
}

/// A process number that is free now.
pid_t dead_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(StagedKill, FoldersOfLivingProcessesStay) {
  TestFolder t;
  const std::string dead = std::to_string(dead_process());
  const std::string alive = std::to_string(::getppid());
  for (const std::string& name : {".out.slipway-" + alive + "-0", ".other.slipway-" + dead + "-0",
                                  std::string(".out.slipway-x-0"), ".out.slipway-" + dead + "-0-",
                                  ".out.slipway-" + dead + "-0"})
    t.write(name + "/file", "x");
  const StagedDirectory first(t / "out"), second(t / "out");
  EXPECT_TRUE(fs::exists(first.path())) << "another export of this process";
  EXPECT_TRUE(fs::exists(t / (".out.slipway-" + alive + "-0")));
  EXPECT_TRUE(fs::exists(t / (".other.slipway-" + dead + "-0")));
  EXPECT_TRUE(fs::exists(t / ".out.slipway-x-0"));
  EXPECT_TRUE(fs::exists(t / (".out.slipway-" + dead + "-0-")));
  EXPECT_FALSE(fs::exists(t / (".out.slipway-" + dead + "-0")));
}

TEST(StagedKill, TwoRenamesReplaceAndRecover) {
  TestFolder t;
  const std::string dead = std::to_string(dead_process());
  t.write("out/f", "old");
  t.write("staging/f", "new");
  const fs::path aside = replace_in_two_renames(t / "staging", t / "out");
  EXPECT_EQ(TestFolder::read(t / "out/f"), "new");
  EXPECT_EQ(TestFolder::read(aside / "f"), "old");

  // Killed between the renames: the old folder comes back, the half-made one goes.
  fs::rename(t / "out", t / (".out.slipway-" + dead + "-3"));
  fs::rename(aside, t / (".out.slipway-" + dead + "-3.old"));
  testing::internal::CaptureStderr();
  clean_stale(t / "out");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("put back"), std::string::npos);
  EXPECT_EQ(TestFolder::read(t / "out/f"), "old");
  EXPECT_EQ(hidden_entries(t.path()), 0);

  // The second rename fails: the old folder is put back at once.
  EXPECT_THROW(replace_in_two_renames(t / "absent", t / "out"), Error);
  EXPECT_EQ(TestFolder::read(t / "out/f"), "old");
}

}  // namespace
}  // namespace slipway
