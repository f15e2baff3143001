// Tests of writing .pte files.
#include "backends/executorch/write.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "backends/executorch/test_programs.h"
#include "base/test_expect.h"
#include "base/test_folder.h"

namespace slipway::executorch {
namespace {

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Also where SLIPWAY_PTE_OUT says, for the Python runtime (tests/interop/executorch_programs.py).
TEST(ExecutorchWrite, SameProgramSameBytes) {
  const TestFolder folder;
  const char* keep = std::getenv("SLIPWAY_PTE_OUT");
  const std::pair<const char*, Program (*)()> programs[] = {
      {"add", testing::add_program},
      {"flatten", testing::flatten_program},
      {"buffer", testing::buffer_program},
      {"shared", testing::shared_program},
      {"branch", testing::branch_program},
      {"scale", testing::scale_program},
      {"methods", [] { return testing::methods_program(); }}};
  for (const auto& [name, make] : programs) {
    const WriteSummary summary = write(make(), folder / "a.pte");
    write(make(), folder / "b.pte");
    const std::string bytes = file_text(folder / "a.pte");
    EXPECT_EQ(bytes, file_text(folder / "b.pte")) << name;
    EXPECT_EQ(static_cast<int64_t>(bytes.size()), summary.file_bytes) << name;
    EXPECT_EQ(bytes.substr(4, 8), "ET12eh00") << name;
    EXPECT_EQ(measure(make()).file_bytes, summary.file_bytes) << name;
    if (keep) write(make(), std::filesystem::path(keep) / (std::string(name) + ".pte"));
  }
}

/// How often a tensor's bytes are in a text.
int64_t count_of(const Lazy& data, const std::string& text) {
  const Tensor whole = materialize(*data);
  const std::string bytes(reinterpret_cast<const char*>(whole.data()),
                          static_cast<size_t>(whole.nbytes()));
  int64_t count = 0;
  for (size_t at = text.find(bytes); at != text.npos; at = text.find(bytes, at + 1)) ++count;
  return count;
}

TEST(ExecutorchWrite, MethodsShareConstantsAndPackedWeights) {
  const TestFolder folder;
  const WriteSummary both = write(testing::methods_program(), folder / "both.pte");
  const std::string text = file_text(folder / "both.pte");
  EXPECT_EQ(count_of(testing::eighths({3, 8}), text), 1);
  EXPECT_EQ(count_of(testing::negative_rows(5), text), 1);
  EXPECT_EQ(both.weight_bytes, 4 * (3 * 8 + 3 + 5 * 8));
  EXPECT_EQ(both.kernel_calls, 2);
  EXPECT_EQ(both.delegate_calls, 2);
  for (const size_t kept : {0, 1}) {
    Program one = testing::methods_program();
    one.methods = {one.methods[kept]};
    const WriteSummary alone = write(one, folder / "one.pte");
    EXPECT_EQ(alone.weight_bytes, both.weight_bytes);
    // Memory is planned for each as if it were alone.
    const std::string& name = one.methods[0].name;
    EXPECT_EQ(alone.arena_bytes.at(name), both.arena_bytes.at(name));
  }
  EXPECT_GT(both.arena_bytes.at("prefill"), both.arena_bytes.at("decode"));
}

}  // namespace
}  // namespace slipway::executorch
