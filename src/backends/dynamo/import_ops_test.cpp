// Every op of the reference's traces is known to the importer.
#include <gtest/gtest.h>

#include <filesystem>

#include "backends/dynamo/import_nodes.h"
#include "backends/dynamo/import_storage.h"
#include "base/json.h"

namespace slipway::dynamo {
namespace {

schema::Node call(const std::string& target) {
  schema::Node node;
  node.target = target;
  return node;
}

TEST(ImportOps, AllOfTheTracesAreKnown) {
  const Json counts = parse_json_file(std::filesystem::path(SLIPWAY_SOURCE_DIR) /
                                      "tests/golden/pt2/trace_ops.json");
  ASSERT_GT(counts.size(), 150u);
  std::vector<schema::Node> nodes;
  for (const auto& [op, count] : counts.items()) {
    EXPECT_GT(count.get<int64_t>(), 0) << op;
    nodes.push_back(call(op));
  }
  EXPECT_EQ(unknown_ops(nodes), (std::map<std::string, int64_t>()));
}

/// "aten::view(Tensor(a) self, ...": a write to the result must reach the argument.
TEST(ImportOps, EveryOpThatGivesAViewIsKnownAsOne) {
  size_t views = 0;
  for (const Op* op : all_ops()) {
    const std::string_view schema = op->row.schema;
    if (schema.find("(Tensor(a") == schema.npos) continue;
    EXPECT_TRUE(is_view_op(*op)) << schema << ": add it to import_storage.cpp";
    ++views;
  }
  EXPECT_GT(views, 30u);
}

TEST(ImportOps, OthersAreCounted) {
  const std::vector<schema::Node> nodes = {call("torch.ops.aten.add.Tensor"),
                                           call("torch.ops.mine.op.default"),
                                           call("torch.ops.aten.no_such.default"),
                                           call("torch.ops.mine.op.default"),
                                           call("torch.ops.aten.__ior__.Tensor"),
                                           call("torch.ops.aten.__irshift__.Tensor"),
                                           call("my.function")};
  const std::map<std::string, int64_t> want = {{"torch.ops.aten.no_such.default", 1},
                                               {"torch.ops.aten.__irshift__.Tensor", 1},
                                               {"torch.ops.mine.op.default", 2},
                                               {"my.function", 1}};
  EXPECT_EQ(unknown_ops(nodes), want);
}

}  // namespace
}  // namespace slipway::dynamo
