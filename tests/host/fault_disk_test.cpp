// PC-47: full disks, size limits, read-only folders and files in the way.
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "case_util.h"

namespace slipway::cases {
namespace {

std::vector<std::string> export_command(const fs::path& out) {
  return {"export", golden::folder("llama-causal-lm").string(), out.string(), "--no-validate"};
}

/// An older good export at out/, of another model.
std::map<std::string, std::string> older_export(const TestFolder& t) {
  export_checkpoint(golden::folder("bert-base")).save_pretrained(t / "out");
  return files_of(t.path());
}

void limit_file_size(rlim_t bytes) {
  const rlimit limit = {bytes, bytes};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(125);
}

TEST(FaultDisk, AFileSizeLimitLeavesTheOlderExport) {
  const TestFolder t;
  const auto before = older_export(t);
  // In the weights, in the graph, and at the first byte.
  for (const rlim_t bytes : {rlim_t{100000}, rlim_t{2000}, rlim_t{0}}) {
    SCOPED_TRACE(bytes);
    // The reports of the tool are files too, and fit.
    const std::string out = (t / "out").string();
    const ToolResult result =
        run_tool({"export", golden::folder("llama-causal-lm").string(), out, "--no-validate"}, [&] {
          if (bytes != 0) limit_file_size(bytes);
          else limit_file_size(600);
        });
    EXPECT_EQ(result.code, 5);
    EXPECT_TRUE(contains(result.err, "File too large"));
    EXPECT_TRUE(contains(result.err, t.path().string()));
    EXPECT_TRUE(files_of(t.path()) == before) << "the older export or its folder changed";
  }
}

TEST(FaultDisk, AFileSizeLimitLeavesNothingWhereNothingWas) {
  const TestFolder t;
  const ToolResult result = run_tool(export_command(t / "out"), [] { limit_file_size(100000); });
  EXPECT_EQ(result.code, 5);
  EXPECT_TRUE(fs::is_empty(t.path()));
}

/// Root may write everywhere; without this it is bound by the mode of a folder like anyone.
void drop_override() {
  constexpr int kDacOverride = 1;
  ::prctl(PR_CAPBSET_DROP, kDacOverride, 0, 0, 0);
}

class ReadOnly {
 public:
  explicit ReadOnly(fs::path folder) : folder_(std::move(folder)) {
    fs::permissions(folder_, fs::perms::owner_write, fs::perm_options::remove);
  }
  ~ReadOnly() { fs::permissions(folder_, fs::perms::owner_write, fs::perm_options::add); }

 private:
  fs::path folder_;
};

TEST(FaultDisk, AReadOnlyParentIsNamedWithTheReason) {
  const TestFolder t;
  t.write("shelf/keep", "x");
  export_checkpoint(golden::folder("bert-base")).save_pretrained(t / "shelf/out");
  const auto before = files_of(t.path());
  const ReadOnly guard(t / "shelf");
  for (const char* out : {"shelf/out", "shelf/fresh", "shelf/deep/fresh"}) {
    const ToolResult result = run_tool(export_command(t / out), drop_override);
    EXPECT_EQ(result.code, 5) << out;
    EXPECT_TRUE(contains(result.err, "Permission denied"));
    EXPECT_TRUE(contains(result.err, (t / "shelf").string()));
  }
  EXPECT_TRUE(files_of(t.path()) == before);
}

TEST(FaultDisk, AFullDiskIsNamedWithTheReason) {
  const TestFolder t;
  fs::create_directories(t / "disk");
  const std::string disk = (t / "disk").string();
  const ToolResult result = run_tool(export_command(t / "disk/out"), [&] {
    // A disk of 64 kB that only the tool sees.
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", disk.c_str(), "tmpfs", 0, "size=64k") != 0)
      ::_exit(124);
  });
  if (result.code == 124) GTEST_SKIP() << "mounting a small disk needs root";
  EXPECT_EQ(result.code, 5);
  EXPECT_TRUE(contains(result.err, "No space left on device"));
  EXPECT_TRUE(contains(result.err, disk));
}

TEST(FaultDisk, FilesInTheWayAreNamed) {
  const TestFolder t;
  t.write("file", "mine");
  const ToolResult itself = run_tool(export_command(t / "file"));
  EXPECT_EQ(itself.code, 3);
  EXPECT_TRUE(contains(itself.err, (t / "file").string() + " is a file, need a folder"));
  const ToolResult parent = run_tool(export_command(t / "file/out"));
  EXPECT_EQ(parent.code, 5);
  EXPECT_TRUE(contains(parent.err, "Not a directory"));
  EXPECT_EQ(files_of(t.path()), (std::map<std::string, std::string>{{"file", "mine"}}));
}

TEST(FaultDisk, OutputsOfARunAppearWholeOrNotAtAll) {
  const TestFolder t;
  export_checkpoint(golden::folder("llama-causal-lm")).save_pretrained(t / "out");
  write_safetensors(t / "in", {{"input_ids", token_ids(2, 16)}});
  t.write("result", "older");
  const ToolResult result = run_tool({"run", (t / "out").string(), "--inputs", (t / "in").string(),
                                      "--outputs", (t / "result").string()},
                                     [] { limit_file_size(5000); });
  EXPECT_EQ(result.code, 5);
  EXPECT_TRUE(contains(result.err, "File too large"));
  EXPECT_EQ(TestFolder::read(t / "result"), "older");
}

}  // namespace
}  // namespace slipway::cases
