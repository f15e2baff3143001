// Memory that grows: alignment, and what the system does not have.
#include "generation/cache_buffers.h"

#include <gtest/gtest.h>

#include "base/system_memory.h"
#include "base/test_expect.h"

namespace slipway {
namespace {

TEST(Block, GrowsOnly) {
  Block block;
  block.reserve(100, Fill::kZero);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data()) % 64, 0u);
  EXPECT_EQ(block.data()[99], std::byte{0});
  block.reserve(10);
  EXPECT_EQ(block.bytes(), 100u);
}

TEST(Block, RefusesMoreThanTheSystemHas) {
  const auto available = available_memory();
  if (!available) GTEST_SKIP() << "the system does not say what it has";
  for (const Fill fill : {Fill::kNone, Fill::kZero}) {
    Block block;
    const size_t wanted = *available * 4;
    const std::string message = error_of(kEnvironment, [&] { block.reserve(wanted, fill); });
    EXPECT_TRUE(contains(message, "needs " + std::to_string(wanted) + " bytes of memory"));
    EXPECT_TRUE(contains(message, "available"));
    EXPECT_EQ(block.bytes(), 0u);
    EXPECT_NO_THROW(block.reserve(1000, fill));
  }
}

}  // namespace
}  // namespace slipway
