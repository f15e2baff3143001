// Files that appear whole or not at all, and what is said when the system refuses (PC-47, PC-50).
#include "base/output.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include "base/test_folder.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

/// The message of the error that `action` throws, which must be of this kind.
std::string error_of(ErrorKind kind, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    EXPECT_EQ(to_string(e.kind()), std::string(to_string(kind))) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

void export_to(const fs::path& path, const std::string& contents) {
  StagedDirectory staged(path);
  OutputFile file(staged.path() / "model.bin");
  file.append(contents);
  file.close();
  staged.commit();
}

/// A small file system mounted for one test; `reason` says why there is none.
class SmallDisk {
 public:
  SmallDisk(const fs::path& at, const char* options, unsigned long flags = 0) : at_(at) {
    fs::create_directories(at);
    mounted_ = ::mount("none", at.c_str(), "tmpfs", flags, options) == 0;
    if (!mounted_) reason = std::string("cannot mount a tmpfs here: ") + std::strerror(errno);
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(at_.c_str(), MNT_DETACH);
  }
  std::string reason;

 private:
  fs::path at_;
  bool mounted_;
};

TEST(OutputFile, WritesAtOffsetsAndAppends) {
  TestFolder t;
  OutputFile file(t / "f");
  file.reserve(1 << 20);
  file.append("abc");
  file.append("def");
  const char x[] = {'X', 'Y'};
  file.write_at(8, std::as_bytes(std::span(x)));
  EXPECT_EQ(file.appended(), 6);
  file.close();
  EXPECT_EQ(TestFolder::read(t / "f"), std::string("abcdef\0\0XY", 10));
}

TEST(OutputFile, SizeLimitIsAnErrorNotASignal) {
  TestFolder t;
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const struct rlimit small { 1000, before.rlim_max };
  const std::string big(1001, 'x');
  OutputFile file(t / "limited.bin");
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string text = error_of(kEnvironment, [&] { file.append(big); });
  const std::string reserve = error_of(kEnvironment, [&] { file.reserve(1001); });
  file.append(big.substr(1));
  ::setrlimit(RLIMIT_FSIZE, &before);
  for (const std::string& message : {text, reserve}) {
    expect_contains(message, "limited.bin");
    expect_contains(message, std::strerror(EFBIG));
  }
}

TEST(OutputFile, NamesPathAndReasonOfEachRefusal) {
  TestFolder t;
  t.write("file", "x");
  const std::string folder = error_of(kEnvironment, [&] { OutputFile f(t.path()); });
  expect_contains(folder, display(t.path()));
  expect_contains(folder, std::strerror(EISDIR));
  expect_contains(error_of(kEnvironment, [&] { OutputFile f(t / "file" / "below"); }),
                  std::strerror(ENOTDIR));
  expect_contains(error_of(kEnvironment, [&] { OutputFile("/dev/full").append("x"); }),
                  std::strerror(ENOSPC));
}

TEST(OutputFile, APipeOrDeviceIsNotReplaced) {
  TestFolder t;
  const fs::path pipe = t / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_contains(error_of(kInvalid, [&] { write_file(pipe, "x"); }), display(pipe));
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST(OutputFile, FullDisk) {
  TestFolder t;
  const SmallDisk disk(t / "disk", "size=1m");
  if (!disk.reason.empty()) GTEST_SKIP() << disk.reason;
  export_to(t / "disk/out", "the older export");
  const std::string block(300 << 10, 'x');
  const std::string text = error_of(kEnvironment, [&] {
    StagedDirectory staged(t / "disk/out");
    OutputFile file(staged.path() / "model.bin");
    for (int i = 0; i < 8; ++i) file.append(block);
  });
  expect_contains(text, "model.bin");
  expect_contains(text, std::strerror(ENOSPC));
  expect_contains(error_of(kEnvironment, [&] { OutputFile(t / "disk/r").reserve(8 << 20); }),
                  std::strerror(ENOSPC));
  EXPECT_EQ(TestFolder::read(t / "disk/out/model.bin"), "the older export");
  fs::remove(t / "disk/r");
  EXPECT_EQ(std::distance(fs::directory_iterator(t / "disk"), {}), 1) << "staging was left behind";
}

TEST(StagedDirectory, ReadOnlyDisk) {
  TestFolder t;
  const SmallDisk disk(t / "disk", "size=1m", MS_RDONLY);
  if (!disk.reason.empty()) GTEST_SKIP() << disk.reason;
  for (const fs::path& path : {t / "disk/out", t / "disk/a/b/out"}) {
    const std::string text = error_of(kEnvironment, [&] { StagedDirectory staged(path); });
    expect_contains(text, display(t / "disk"));
    expect_contains(text, std::strerror(EROFS));
  }
}

TEST(StagedDirectory, ReadOnlyFolder) {
  TestFolder t;
  fs::create_directory(t / "locked");
  ::chmod((t / "locked").c_str(), 0555);
  ::chmod(t.path().c_str(), 0755);
  const bool root = ::geteuid() == 0;  // root may write anywhere: be nobody for a moment
  ASSERT_EQ(root ? ::seteuid(65534) : 0, 0);
  const std::string text =
      error_of(kEnvironment, [&] { StagedDirectory staged(t / "locked/out"); });
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
  expect_contains(text, display(t / "locked"));
  expect_contains(text, std::strerror(EACCES));
}

TEST(StagedDirectory, MountPointIsNamed) {
  TestFolder t;
  const SmallDisk disk(t / "disk", "size=1m");
  if (!disk.reason.empty()) GTEST_SKIP() << disk.reason;
  expect_contains(error_of(kEnvironment, [&] { StagedDirectory staged(t / "disk"); }),
                  "mount point");
}

TEST(StagedDirectory, FinalPathThatIsAFile) {
  TestFolder t;
  t.write("out", "mine");
  expect_contains(error_of(kInvalid, [&] { StagedDirectory staged(t / "out"); }), "is a file");
  error_of(kEnvironment, [&] { StagedDirectory staged(t / "out/below"); });
  EXPECT_EQ(TestFolder::read(t / "out"), "mine");
}

TEST(StagedDirectory, FinalPathThatBecomesAFile) {
  TestFolder t;
  StagedDirectory staged(t / "out");
  t.write("out", "mine");
  error_of(kInvalid, [&] { staged.commit(); });
  EXPECT_EQ(TestFolder::read(t / "out"), "mine");
}

TEST(StagedDirectory, AppearsWholeAndOnlyAtCommit) {
  TestFolder t;
  {
    StagedDirectory staged(t / "a/b/out");
    t.write(fs::relative(staged.path(), t.path()) / "x", "1");
    EXPECT_FALSE(fs::exists(t / "a/b/out"));
    EXPECT_EQ(staged.path().parent_path(), fs::canonical(t / "a/b"));
    EXPECT_EQ(staged.path().filename().string().rfind(".out.slipway-", 0), 0u);
  }
  EXPECT_TRUE(fs::is_empty(t / "a/b")) << "an abandoned export leaves nothing";
  export_to(t / "a/b/out/", "2");
  EXPECT_EQ(TestFolder::read(t / "a/b/out/model.bin"), "2");
  EXPECT_EQ(std::distance(fs::directory_iterator(t / "a/b"), {}), 1);
}

TEST(StagedDirectory, KeepsWhatItDoesNotWrite) {
  TestFolder t;
  t.write("out/model.bin", "old");
  t.write("out/export.json", "old");
  t.write("out/README.md", "mine");
  t.write("out/sub/deep/mine", "mine");
  t.write("out/sub/theirs", "old");
  fs::create_symlink("README.md", t / "out/link");
  fs::create_symlink("/nowhere", t / "out/dangling");
  ::chmod((t / "out").c_str(), 0750);
  const auto inode = [&] {
    struct stat s {};
    ::stat((t / "out/README.md").c_str(), &s);
    return s.st_ino;
  };
  const ino_t before = inode();
  {
    StagedDirectory staged(t / "out");
    OutputFile(staged.path() / "model.bin").append("new");
    fs::create_directory(staged.path() / "sub");
    OutputFile(staged.path() / "sub/new").append("new");
    staged.commit(std::vector<std::string>{"export.json", "sub/theirs"});
  }
  EXPECT_EQ(TestFolder::read(t / "out/model.bin"), "new");
  EXPECT_EQ(TestFolder::read(t / "out/sub/new"), "new");
  EXPECT_EQ(TestFolder::read(t / "out/README.md"), "mine");
  EXPECT_EQ(TestFolder::read(t / "out/sub/deep/mine"), "mine");
  EXPECT_EQ(fs::read_symlink(t / "out/link"), "README.md");
  EXPECT_EQ(fs::read_symlink(t / "out/dangling"), "/nowhere");
  EXPECT_FALSE(fs::exists(t / "out/export.json"));
  EXPECT_FALSE(fs::exists(t / "out/sub/theirs"));
  EXPECT_EQ(inode(), before) << "kept files are links, not copies";
  EXPECT_EQ(static_cast<int>(fs::status(t / "out").permissions()), 0750);
  EXPECT_EQ(std::distance(fs::directory_iterator(t.path()), {}), 1);
}

TEST(StagedDirectory, OldFilesCanBeReadUntilAndAfterTheSwap) {
  TestFolder t;
  t.write("out/model.bin", "old weights");
  std::ifstream old(t / "out/model.bin");
  export_to(t / "out", "new");
  std::string text;
  std::getline(old, text);
  EXPECT_EQ(text, "old weights");
}

TEST(StagedDirectory, FollowsLinksOfTheFinalPath) {
  TestFolder t;
  fs::create_directories(t / "store/real");
  fs::create_directory(t / "elsewhere");
  fs::create_symlink("../store/real", t / "elsewhere/link");
  export_to(t / "elsewhere/link", "1");
  EXPECT_TRUE(fs::is_symlink(t / "elsewhere/link"));
  EXPECT_EQ(TestFolder::read(t / "store/real/model.bin"), "1");
  fs::create_symlink("../store/fresh", t / "elsewhere/dangling");
  export_to(t / "elsewhere/dangling", "2");
  EXPECT_EQ(TestFolder::read(t / "store/fresh/model.bin"), "2");
  fs::create_symlink("loop", t / "loop");
  error_of(kEnvironment, [&] { export_to(t / "loop", "3"); });
}

TEST(StagedDirectory, NamesWithSpacesAccentsAndChinese) {
  TestFolder t;
  for (const std::string& name : {std::string("a b"), std::string("modèle é"), std::string("模型"),
                                  std::string(255, 'n'), std::string("owner/name")}) {
    export_to(t / name, name);
    export_to(t / name, name + "2");
    EXPECT_EQ(TestFolder::read(t / name / "model.bin"), name + "2");
  }
}

TEST(WriteFile, ReplacesWholeFilesAndFollowsLinks) {
  TestFolder t;
  write_file(t / "a", "1");
  fs::create_symlink("a", t / "link");
  write_file(t / "link", "2");
  EXPECT_TRUE(fs::is_symlink(t / "link"));
  EXPECT_EQ(TestFolder::read(t / "a"), "2");
  error_of(kInvalid, [&] { write_file(t.path(), "3"); });
  EXPECT_EQ(std::distance(fs::directory_iterator(t.path()), {}), 2);
}

TEST(Display, KeepsUtf8AndEscapesTheRest) {
  EXPECT_EQ(display("a é 模"), "a é 模");
  EXPECT_EQ(display(std::string("x\n\x1b\xff\xc3")), "x\\x0a\\x1b\\xff\\xc3");
}

}  // namespace
}  // namespace slipway
