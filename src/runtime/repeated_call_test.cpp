// Calls that are repeated by place, and inputs that have a default.
#include "runtime/repeated_call.h"

#include "base/test_expect.h"
#include "runtime/model_runner.h"
#include "runtime/test_models.h"

namespace slipway {
namespace {

using test::Graph;
using test::kFloat;
using test::kInt64;
using test::TempDir;

/// y = x + step; "step" is 1 unless it is given.
Graph counter() {
  return Graph()
      .input("x", kInt64, {"n"})
      .input("step", kInt64, {})
      .constant<int64_t>("step", {}, {1})
      .output("y", kInt64, {"n"})
      .node("Add", {"x", "step"}, "y");
}

Tensor pair(int64_t a, int64_t b) { return Tensor::of<int64_t>({2}, {a, b}); }

TEST(RepeatedCall, KeepsWhatIsNotSetAgain) {
  const TempDir dir;
  const Session session = Session::open("onnx", counter().save(dir / "m.onnx"));
  RepeatedCall call(session, {"x"}, {"y"});
  EXPECT_TRUE(contains(error_of(kUsage, [&] { call.run(); }), "x was not set"));
  Tensor x = pair(4, 5), y = pair(0, 0);
  call.set_input(0, x);
  call.set_output(0, y);
  call.run();
  EXPECT_EQ(y.values<int64_t>()[1], 6);
  x.mutable_values<int64_t>()[1] = 70;  // the same memory
  call.run();
  EXPECT_EQ(y.values<int64_t>()[1], 71);
  EXPECT_GT(call.runtime_seconds(), 0);
  call.clear_output(0);
  call.run();
  const Tensor made = call.take_output(0);
  EXPECT_EQ(made.values<int64_t>()[0], 5);
  EXPECT_NE(made.data(), y.data());
  EXPECT_TRUE(contains(error_of(kUsage, [&] { call.take_output(0); }), "was not run"));
}

TEST(RepeatedCall, FeedsAnOutputBack) {
  const TempDir dir;
  const Session session = Session::open("onnx", counter().save(dir / "m.onnx"));
  RepeatedCall call(session, {"x"}, {"y"});
  Tensor memory[] = {pair(0, 10), pair(0, 0)};
  call.set_input(0, memory[0]);
  for (int step = 0; step < 5; ++step) {
    call.set_output(0, memory[(step + 1) % 2]);
    call.run();
    call.feed_back(0, 0);
  }
  EXPECT_EQ(memory[1].values<int64_t>()[0], 5);
  EXPECT_EQ(memory[1].values<int64_t>()[1], 15);
  error_of(kUsage, [&] { call.feed_back(0, 0); });
}

TEST(RepeatedCall, UpdatesInPlace) {
  const TempDir dir;
  const Session session = Session::open("onnx", counter().save(dir / "m.onnx"));
  RepeatedCall call(session, {"x", "step"}, {"y"});
  Tensor both = pair(1, 2), step = Tensor::of<int64_t>({}, {3});
  call.set_input(0, both);
  call.set_input(1, step);
  call.set_output(0, both);
  for (int i = 0; i < 4; ++i) call.run();
  EXPECT_EQ(both.values<int64_t>()[0], 13);
}

TEST(RepeatedCall, RefusesWhatTheGraphLacks) {
  const TempDir dir;
  const Session session = Session::open("onnx", counter().save(dir / "m.onnx"));
  const Tensor x = pair(1, 2), floats(DType::kF32, {2});
  RepeatedCall call(session, {"z"}, {"y"});
  call.set_input(0, x);
  error_of(kInvalid, [&] { call.run(); });
  error_of(kUsage, [&] { call.set_input(1, x); });
  error_of(kUsage, [&] { call.set_output(1, x); });
  RepeatedCall typed(session, {"x"}, {"y"});
  typed.set_input(0, floats);
  error_of(kInvalid, [&] { typed.run(); });
  typed.set_input(0, x);
  typed.run();  // a failure leaves it usable
  EXPECT_EQ(typed.take_output(0).values<int64_t>()[0], 2);
}

TEST(OptionalInput, IsDescribedAndMayBeLeftOut) {
  const TempDir dir;
  const Session session = Session::open("onnx", counter().save(dir / "m.onnx"));
  ASSERT_EQ(session.inputs().size(), 2u);
  EXPECT_FALSE(session.inputs()[0].optional);
  EXPECT_EQ(session.inputs()[1].name, "step");
  EXPECT_TRUE(session.inputs()[1].optional);
  const ModelRunner runner(session);
  EXPECT_EQ(runner.run({{"x", pair(1, 2)}})[0].second.values<int64_t>()[1], 3);
  const Tensor five = Tensor::of<int32_t>({}, {5});
  EXPECT_EQ(runner.run({{"x", pair(1, 2)}, {"step", five}})[0].second.values<int64_t>()[1], 7);
  const std::string error = error_of(kInvalid, [&] { runner.run({{"step", five}}); });
  EXPECT_TRUE(contains(error, "needs the inputs x,"));
}

/// A static cache that is no longer than the model's positions, with a symbolic length.
TEST(StaticCacheInputs, AreNotTakenForAGrowingCache) {
  const TempDir dir;
  const std::string past = "past_key_values.layers.0.";
  const ModelRunner runner(Session::open(
      "onnx", Graph()
                  .input("input_ids", kInt64, {"batch_size", "1"})
                  .input("input." + past + "keys", kFloat, {"batch_size", "1", "slots", "2"})
                  .input("input." + past + "cumulative_length", kInt64, {})
                  .output("y", kFloat, {"batch_size", "1", "slots", "2"})
                  .node("Identity", {"input." + past + "keys"}, "y")
                  .save(dir / "m.onnx")));
  const Tensor ids(DType::kI64, {1, 1}), cache(DType::kF32, {1, 1, 6, 2}), zero(DType::kI64, {});
  EXPECT_TRUE(contains(error_of(kInvalid,
                                [&] {
                                  runner.run({{"input_ids", ids}});
                                }),
                       "needs the inputs past_key_values.layers.0.keys"));
  runner.run({{"input_ids", ids}, {past + "keys", cache}, {past + "cumulative_length", zero}});
}

}  // namespace
}  // namespace slipway
