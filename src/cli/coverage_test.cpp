// docs/coverage.md is what the tool prints.
#include <gtest/gtest.h>

#include "cli/test_tool.h"

namespace slipway {
namespace {

TEST(Coverage, TheDocumentIsWhatTheToolPrints) {
  const test::ToolResult result = test::run_tool({"formats", "--coverage"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, TestFolder::read(std::string(SLIPWAY_SOURCE_DIR) + "/docs/coverage.md"))
      << "run `slipway formats --coverage > docs/coverage.md`";
}

TEST(Coverage, EveryOpIsEvaluatedAndLowered) {
  const Json ops = test::run_tool({"formats", "--coverage", "--json"}).json().at("ops");
  EXPECT_GT(ops.size(), 250u);
  for (const Json& op : ops) {
    EXPECT_NE(op.at("evaluate"), "no") << op;
    EXPECT_NE(op.at("onnx"), "no") << op;
  }
}

}  // namespace
}  // namespace slipway
