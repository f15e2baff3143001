// What the system has left, and who is refused.
#include "base/system_memory.h"

#include <gtest/gtest.h>

#include "base/test_expect.h"
#include "base/test_folder.h"

namespace slipway {
namespace {

TEST(SystemMemory, ReadsTheAvailableBytes) {
  const TestFolder folder;
  const auto file = folder.write("meminfo", "MemTotal: 900 kB\nMemAvailable:     300 kB\n");
  EXPECT_EQ(available_memory(file), 300u * 1024);
  EXPECT_EQ(available_memory(folder.write("old", "MemTotal: 900 kB\n")), std::nullopt);
  EXPECT_EQ(available_memory(folder / "absent"), std::nullopt);
}

TEST(SystemMemory, RefusesWhatTheSystemDoesNotHave) {
  if (!available_memory()) GTEST_SKIP() << "the system does not say what it has";
  const std::string message =
      error_of(kEnvironment, [] { check_memory(uint64_t{1} << 60, "decoder", "the cache"); });
  EXPECT_TRUE(contains(message, "[decoder] the cache needs 1152921504606846976 bytes of memory"));
  EXPECT_TRUE(contains(message, " available"));
  EXPECT_NO_THROW(check_memory(1 << 20, "decoder", "the cache"));
}

}  // namespace
}  // namespace slipway
