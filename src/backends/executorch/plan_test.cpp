// Tests of memory planning.
#include "backends/executorch/plan.h"

#include <gtest/gtest.h>

#include "backends/executorch/test_programs.h"
#include "base/json.h"
#include "base/test_expect.h"

namespace slipway::executorch {
namespace {

int64_t aligned(int64_t bytes) { return (bytes + 15) / 16 * 16; }

/// No two lifetimes that overlap share a byte.
void expect_apart(const std::vector<Lifetime>& lives, const Packing& packing) {
  for (size_t i = 0; i < lives.size(); ++i) {
    EXPECT_EQ(packing.offsets[i] % 16, 0);
    EXPECT_LE(packing.offsets[i] + aligned(lives[i].bytes), packing.bytes);
    for (size_t j = 0; j < i; ++j) {
      if (lives[i].last < lives[j].first || lives[j].last < lives[i].first) continue;
      EXPECT_TRUE(packing.offsets[i] + lives[i].bytes <= packing.offsets[j] ||
                  packing.offsets[j] + lives[j].bytes <= packing.offsets[i])
          << i << " and " << j;
    }
  }
}

/// The most bytes that are alive at one time: no plan is smaller.
int64_t most_alive(const std::vector<Lifetime>& lives) {
  int64_t most = 0;
  for (const Lifetime& at : lives) {
    int64_t alive = 0;
    for (const Lifetime& life : lives)
      if (life.first <= at.first && at.first <= life.last) alive += aligned(life.bytes);
    most = std::max(most, alive);
  }
  return most;
}

TEST(ExecutorchPlan, PacksAsTightlyAsTheReference) {
  const Json rows =
      parse_json_file(std::string(SLIPWAY_SOURCE_DIR) + "/tests/golden/executorch/plans.json");
  ASSERT_GT(rows.size(), 5u);
  for (const Json& row : rows) {
    std::vector<Lifetime> lives;
    for (const Json& life : row["lifetimes"])
      lives.push_back({life[0].get<int64_t>(), life[1].get<int64_t>(), life[2].get<int64_t>()});
    const Packing packing = pack(lives);
    expect_apart(lives, packing);
    const auto reference = row["reference"].get<int64_t>();
    EXPECT_LE(packing.bytes * 10, reference * 11) << row["name"] << " " << packing.bytes;
    EXPECT_GE(packing.bytes, most_alive(lives));
  }
}

TEST(ExecutorchPlan, ReusesMemoryThatIsFree) {
  // In time: |a a b b|, c beside both.
  const std::vector<Lifetime> lives{{0, 1, 64}, {2, 3, 64}, {0, 3, 32}};
  const Packing packing = pack(lives);
  EXPECT_EQ(packing.bytes, 96);
  EXPECT_EQ(packing.offsets, (std::vector<int64_t>{0, 0, 64}));
  // The end of one is not the beginning of the next: a kernel reads and writes at once.
  EXPECT_EQ(pack({{0, 2, 64}, {2, 3, 64}}).bytes, 128);
  EXPECT_EQ(pack({}).bytes, 0);
}

TEST(ExecutorchPlan, FlagsDecideWhatTheArenaHolds) {
  const Program p = testing::add_program();  // value 0: x, 1: w, 2: y
  const auto both = plan(p, {});
  EXPECT_TRUE(both[0].places[0] && both[0].places[2]);
  EXPECT_FALSE(both[0].places[1]);
  EXPECT_EQ(both[0].arena_bytes, (std::vector<int64_t>{0, 512}));
  const auto no_input = plan(p, {.alloc_graph_input = false});
  EXPECT_FALSE(no_input[0].places[0]);
  EXPECT_TRUE(no_input[0].places[2]);
  const auto no_output = plan(p, {.alloc_graph_output = false});
  EXPECT_TRUE(no_output[0].places[0]);
  EXPECT_FALSE(no_output[0].places[2]);
}

TEST(ExecutorchPlan, ViewsLieWhereTheirTensorLies) {
  const Program p = testing::flatten_program();
  const auto plans = plan(p, {});
  for (size_t i = 0; i < p.methods[0].values.size(); ++i) {
    const auto* tensor = std::get_if<TensorValue>(&p.methods[0].values[i]);
    if (!tensor || !tensor->view_of) continue;
    EXPECT_EQ(plans[0].places[i], plans[0].places[static_cast<size_t>(*tensor->view_of)]);
  }
}

TEST(ExecutorchPlan, BuffersOfOneNameAreShared) {
  Program p = testing::buffer_program();
  p.methods.push_back(p.methods[0]);
  p.methods[1].name = "again";
  const auto plans = plan(p, {});
  EXPECT_EQ(plans[0].places[1], (Place{kBuffers, 0}));
  EXPECT_EQ(plans[0].places[2], (Place{kBuffers, 16}));
  EXPECT_EQ(plans[1].places, plans[0].places);
  EXPECT_EQ(plans[0].arena_bytes.at(kBuffers), 32);
  std::get<TensorValue>(p.methods[1].values[1]).shape = {8};
  EXPECT_TRUE(
      contains(error_of(kInternal, [&] { plan(p, {}); }), "buffer sum_buffer has two sizes"));
}

TEST(ExecutorchPlan, LoopsKeepWhatTheyUse) {
  // 0: a = x + x; 1: b = a + a; 2: unless flag go to 1. a is read in every round.
  Method m("forward");
  const ValueId x = m.add(testing::planned({4})), a = m.add(testing::planned({4}));
  const ValueId b = m.add(testing::planned({4})), alpha = m.constant(int64_t{1});
  const ValueId flag = m.constant(false);
  m.instructions = {KernelCall{"aten::add", "out", {x, x, alpha, a, a}},
                    KernelCall{"aten::add", "out", {a, a, alpha, b, b}}, JumpFalseCall{flag, 1}};
  m.inputs = {x}, m.input_names = {"x"};
  m.outputs = {b}, m.output_names = {"b"};
  Program p;
  p.methods.push_back(m);
  const auto plans = plan(p, {});
  EXPECT_NE(plans[0].places[static_cast<size_t>(a)], plans[0].places[static_cast<size_t>(b)]);
}

TEST(ExecutorchPlan, RefusesMoreThanAProcessCanHave) {
  for (const int64_t size : {(int64_t{1} << 31) - 1, int64_t{1} << 24}) {
    Method m("forward");
    const ValueId x = m.add(testing::planned({size, size}));
    m.inputs = {x}, m.input_names = {"x"};
    m.outputs = {x}, m.output_names = {"y"};
    Program p;
    p.methods.push_back(m);
    const std::string error = error_of(kUnsupported, [&] { plan(p, {}); });
    EXPECT_TRUE(contains(error, "takes too much memory"));
    EXPECT_TRUE(contains(error, "dynamic_shapes"));
  }
}

TEST(ExecutorchPlan, NeedsUpperBounds) {
  Method m("forward");
  const ValueId x = m.add(testing::planned({Sym::symbol("sequence_length")}));
  m.inputs = {x}, m.input_names = {"x"};
  m.outputs = {x}, m.output_names = {"y"};
  Program p;
  p.methods.push_back(m);
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { plan(p, {}); }),
                       "got the size sequence_length without an upper bound"));
}

}  // namespace
}  // namespace slipway::executorch
