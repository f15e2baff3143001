// What can be wrong with the files: companions, links, hostile bytes, missing libraries.
#include <gtest/gtest.h>

#include "runtime/plugin.h"
#include "runtime/session.h"
#include "runtime/test_models.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

std::string error_of(const fs::path& path, ErrorKind kind) {
  try {
    Session::open("onnx", path);
  } catch (const Error& e) {
    EXPECT_EQ(to_string(e.kind()), std::string(to_string(kind))) << e.what();
    return e.what();
  }
  return "no error";
}

float first_of_y(const fs::path& path) {
  const Session session = Session::open("onnx", path);
  return session.run({{"x", Tensor(DType::kF32, {1, 4})}})[0].second.values<float>()[3];
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

// PC-44: only the model file was copied.
TEST(Companions, MissingOneIsNamed) {
  const TempDir dir;
  const fs::path model = test::save_external_model(dir.path());
  fs::create_directory(dir / "alone");
  fs::copy_file(model, dir / "alone/renamed.onnx");
  const std::string text = error_of(dir / "alone/renamed.onnx", kInvalid);
  EXPECT_TRUE(contains(text, "renamed.onnx keeps weights in its companion file model.onnx.data"))
      << text;
}

// PC-44: move and rename the folder, load from another working folder.
TEST(Companions, FolderMoves) {
  const TempDir dir;
  fs::create_directory(dir / "a");
  test::save_external_model(dir / "a");
  EXPECT_EQ(first_of_y(dir / "a/model.onnx"), 4.0f);
  fs::rename(dir / "a", dir / "b ü");
  EXPECT_EQ(first_of_y(dir / "b ü/model.onnx"), 4.0f);
  const fs::path before = fs::current_path();
  fs::current_path(dir / "b ü");
  EXPECT_EQ(first_of_y("model.onnx"), 4.0f);
  fs::current_path(before);
}

// PC-44: caches made of links: both files, the weights only, the model only.
TEST(Companions, LinksAreFollowed) {
  const TempDir dir;
  for (const char* name : {"real", "both", "weights", "model"}) fs::create_directory(dir / name);
  test::save_external_model(dir / "real");
  fs::create_symlink("../real/model.onnx", dir / "both/model.onnx");
  fs::create_symlink("../real/model.onnx.data", dir / "both/model.onnx.data");
  fs::copy_file(dir / "real/model.onnx", dir / "weights/model.onnx");
  fs::create_symlink("../real/model.onnx.data", dir / "weights/model.onnx.data");
  fs::create_symlink("../real/model.onnx", dir / "model/model.onnx");
  for (const char* name : {"both", "weights", "model"})
    EXPECT_EQ(first_of_y(dir / (std::string(name) + "/model.onnx")), 4.0f) << name;
}

TEST(Companions, ShortOrOutsideIsRefused) {
  const TempDir dir;
  const fs::path model = test::save_external_model(dir.path());
  fs::resize_file(dir / "model.onnx.data", 12);
  const std::string text = error_of(model, kInvalid);
  EXPECT_TRUE(contains(text, "model.onnx.data has 12 bytes, model.onnx needs 16")) << text;
  for (const char* location : {"../secret", "/etc/passwd", "a/../../b"}) {
    const fs::path hostile = test::Graph()
                                 .input("x", test::kFloat, {"4"})
                                 .output("y", test::kFloat, {"4"})
                                 .external("w", 4, location)
                                 .node("Add", {"x", "w"}, "y")
                                 .save(dir / "hostile.onnx");
    EXPECT_TRUE(contains(error_of(hostile, kInvalid), location));
  }
}

TEST(Hostile, CutsAndGarbage) {
  const TempDir dir;
  const std::string whole = test::decoder().bytes();
  const auto open = [&](const std::string& bytes) {
    test::write(dir / "m.onnx", bytes);
    try {
      Session::open("onnx", dir / "m.onnx");
    } catch (const Error& e) {
      EXPECT_NE(e.kind(), kInternal) << e.what();
      EXPECT_TRUE(contains(e.what(), "m.onnx")) << e.what();
      return false;
    }
    return true;
  };
  EXPECT_TRUE(open(whole));
  EXPECT_FALSE(open(""));
  EXPECT_FALSE(open(std::string(300, 'g')));
  EXPECT_FALSE(open(std::string(4096, '\xff')));
  int refused = 0;
  for (size_t cut = 0; cut + 1 < whole.size(); cut += 13) refused += !open(whole.substr(0, cut));
  EXPECT_GT(refused, 30);
  for (size_t at = 0; at < whole.size(); at += 17) {  // a changed byte may be harmless
    std::string changed = whole;
    changed[at] = static_cast<char>(~changed[at]);
    open(changed);
  }
}

TEST(Hostile, UnknownOperatorAndVersion) {
  const TempDir dir;
  const fs::path path = test::Graph()
                            .input("x", test::kFloat, {"4"})
                            .output("y", test::kFloat, {"4"})
                            .node("NoSuchOp", {"x"}, "y")
                            .save(dir / "m.onnx");
  EXPECT_TRUE(contains(error_of(path, kUnsupported), "NoSuchOp"));
  EXPECT_TRUE(contains(error_of(dir / "absent.onnx", kInvalid), "absent.onnx is not a file"));
  EXPECT_TRUE(contains(error_of(dir.path(), kInvalid), "is not a file"));
}

/// Opens a model in a process of its own, with one environment variable set, and exits with the
/// code of its error; the message goes to standard error.
[[noreturn]] void open_alone(const char* variable, const std::string& value, const fs::path& path) {
  setenv(variable, value.c_str(), 1);
  try {
    Session::open("onnx", path);
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::exit(exit_code(e.kind()));
  }
  std::exit(0);
}

class MissingLibraryDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  TempDir dir_;
};

TEST_F(MissingLibraryDeathTest, Runtime) {
  const fs::path model = test::save_external_model(dir_.path());
  EXPECT_EXIT(open_alone("SLIPWAY_ONNXRUNTIME", "/nowhere", model), testing::ExitedWithCode(5),
              "cannot open ONNX Runtime .SLIPWAY_ONNXRUNTIME=/nowhere: no such library.*make deps");
  EXPECT_EXIT(open_alone("SLIPWAY_ONNXRUNTIME", dir_.path(), model), testing::ExitedWithCode(5),
              "no such library");
  test::write(dir_ / "libonnxruntime.so.1", "not a library");
  EXPECT_EXIT(open_alone("SLIPWAY_ONNXRUNTIME", dir_.path(), model), testing::ExitedWithCode(5),
              "cannot open ONNX Runtime");
  const std::string real = Plugin::load("onnx").runtime().library;
  EXPECT_EXIT(open_alone("SLIPWAY_ONNXRUNTIME", fs::path(real).parent_path(), model),
              testing::ExitedWithCode(0), "");
}

TEST_F(MissingLibraryDeathTest, Plugin) {
  const fs::path model = test::save_external_model(dir_.path());
  EXPECT_EXIT(open_alone("SLIPWAY_RUNTIME_DIR", "/nowhere", model), testing::ExitedWithCode(5),
              "no plug-in libslipway_runtime_onnx.so to run onnx files in /nowhere; build it");
  test::write(dir_ / "libslipway_runtime_onnx.so", "not a library");
  EXPECT_EXIT(open_alone("SLIPWAY_RUNTIME_DIR", dir_.path(), model), testing::ExitedWithCode(5),
              "cannot open .*libslipway_runtime_onnx.so");
}

TEST(Plugins, NamesAreChecked) {
  for (const char* name : {"", "../x", "a/b", "Onnx"}) EXPECT_THROW(Plugin::load(name), Error);
  try {
    Plugin::load("nosuchformat");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kEnvironment);
  }
}

}  // namespace
}  // namespace slipway
