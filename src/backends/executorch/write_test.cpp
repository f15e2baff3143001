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
      {"add", testing::add_program},       {"flatten", testing::flatten_program},
      {"buffer", testing::buffer_program}, {"shared", testing::shared_program},
      {"branch", testing::branch_program}, {"scale", testing::scale_program}};
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

}  // namespace
}  // namespace slipway::executorch
