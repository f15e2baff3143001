// Hand-made programs in the ExecuTorch runtime: the writer's files through the plug-in.
#include <gtest/gtest.h>

#include <thread>

#include "executorch_util.h"
#include "base/json.h"
#include "base/test_expect.h"
#include "runtime/model_runner.h"
#include "runtime/repeated_call.h"

namespace slipway {
namespace {

using executorch_test::counted;
using executorch_test::floats;
using executorch_test::kCallerOwns;
using ExecutorchRuntime = executorch_test::Programs;
namespace programs = executorch::testing;

TEST_F(ExecutorchRuntime, DescribesTheMethod) {
  const Session session = open(programs::add_program());
  EXPECT_EQ(session.runtime(), "ExecuTorch 1.5.1");
  ASSERT_EQ(session.inputs().size(), 1u);
  EXPECT_EQ(session.inputs()[0].name, "x");
  EXPECT_EQ(session.inputs()[0].dims_text(), "[batch_size, 4]");
  EXPECT_EQ(session.outputs()[0].dims_text(), "[batch_size, 4]");
  EXPECT_EQ(session.metadata().at("slipway.dims"), R"({"batch_size":[1,16]})");
  EXPECT_EQ(session.metadata().at("slipway.ranges"), R"({"x":[0,9]})");
}

TEST_F(ExecutorchRuntime, RunsAtEverySizeInsideTheBounds) {
  for (const auto& options : {executorch::PlanOptions{}, kCallerOwns}) {
    const Session session = open(programs::add_program(), options);
    for (const int64_t rows : {3, 16, 1, 7}) {
      const Tensor x = counted({rows, 4}), y = session.run({{"x", x}})[0].second;
      ASSERT_EQ(y.shape(), x.shape());
      for (int64_t i = 0; i < y.numel(); ++i)
        EXPECT_EQ(floats(y)[static_cast<size_t>(i)],
                  static_cast<float>(i) + static_cast<float>(i % 4) / 8);
    }
  }
}

TEST_F(ExecutorchRuntime, ComputesSizesWhileItRuns) {
  for (const auto& options : {executorch::PlanOptions{}, kCallerOwns}) {
    const Session session = open(programs::flatten_program(), options);
    for (const int64_t rows : {2, 16, 5}) {
      const Tensor x = counted({rows, 4}), y = session.run({{"x", x}})[0].second;
      ASSERT_EQ(y.shape(), Shape{rows * 3});
      for (int64_t i = 0; i < rows * 3; ++i) {
        float want = 0;
        for (int64_t k = 0; k < 4; ++k)
          want += static_cast<float>(i / 3 * 4 + k) * static_cast<float>(k * 3 + i % 3) / 8 * 2;
        EXPECT_FLOAT_EQ(floats(y)[static_cast<size_t>(i)], want);
      }
    }
  }
}

TEST_F(ExecutorchRuntime, OpensTheMethodThatIsAskedFor) {
  const Session session = open(programs::shared_program(), {}, "look_up");
  EXPECT_EQ(session.inputs()[0].name, "ids");
  EXPECT_EQ(session.metadata().at("get_max_seq_len"), "128");
  EXPECT_EQ(session.metadata().at("get_eos_ids"), "1, 2");
  const Tensor rows = session.run({{"ids", Tensor::of<int64_t>({2}, {2, 0})}})[0].second;
  EXPECT_EQ(floats(rows), floats([] {
              Tensor t(DType::kF32, {2, 8});
              for (int i = 0; i < 8; ++i)
                t.mutable_values<float>()[static_cast<size_t>(i)] = static_cast<float>(16 + i) / 8;
              for (int i = 0; i < 8; ++i)
                t.mutable_values<float>()[static_cast<size_t>(8 + i)] = static_cast<float>(i) / 8;
              return t;
            }()));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { open(programs::shared_program(), {}, "decode"); }),
                       "has no method decode, it has forward, look_up"));
}

TEST_F(ExecutorchRuntime, BranchesOnAFlag) {
  const Session session = open(programs::branch_program());
  const Tensor x = counted({4}, 1);
  EXPECT_EQ(floats(session.run({{"flag", Tensor::of<bool>({}, {true})}, {"x", x}})[0].second),
            (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(floats(session.run({{"flag", Tensor::of<bool>({}, {false})}, {"x", x}})[0].second),
            (std::vector<float>{1, 4, 9, 16}));
}

TEST_F(ExecutorchRuntime, BuffersAreStatesOfACall) {
  const Session session = open(programs::buffer_program());
  ASSERT_EQ(session.inputs().size(), 3u);
  EXPECT_EQ(session.inputs()[1].name, "sum_buffer");
  EXPECT_TRUE(session.inputs()[1].state);
  RepeatedCall one(session, {"x"}, {"sum", "count"}), other(session, {"x"}, {"sum", "count"});
  const Tensor ones = Tensor::of<float>({4}, {1, 1, 1, 1});
  one.set_input(0, ones), other.set_input(0, ones);
  for (int step = 1; step <= 3; ++step) {
    one.run();
    EXPECT_EQ(one.take_output(0).values<float>()[1], static_cast<float>(step) + 0.125f);
    EXPECT_EQ(one.take_output(1).values<int64_t>()[0], step);
  }
  other.run();  // begins anew
  EXPECT_EQ(other.take_output(1).values<int64_t>()[0], 1);
  EXPECT_EQ(one.get_state("count_buffer").values<int64_t>()[0], 3);
  one.set_state("count_buffer", Tensor::of<int64_t>({1}, {40}));
  one.run();
  EXPECT_EQ(one.take_output(1).values<int64_t>()[0], 41);
  one.reset_states();
  one.run();
  EXPECT_EQ(one.take_output(0).values<float>()[1], 1.125f);
  EXPECT_EQ(one.take_output(1).values<int64_t>()[0], 1);
  for (int round = 0; round < 2; ++round)  // and in every plain run
    EXPECT_EQ(session.run({{"x", ones}}, {"count"})[0].second.values<int64_t>()[0], 1);
}

TEST_F(ExecutorchRuntime, WritesIntoTheCallersMemory) {
  for (const auto& options : {executorch::PlanOptions{}, kCallerOwns}) {
    const Session session = open(programs::buffer_program(), options);
    RepeatedCall call(session, {"x"}, {"sum"});
    Tensor x = Tensor::of<float>({4}, {1, 2, 3, 4}), sum(DType::kF32, {4});
    call.set_input(0, x);
    call.set_output(0, sum);
    call.run();
    EXPECT_EQ(floats(sum), (std::vector<float>{1, 2.125, 3.25, 4.375}));
    x.mutable_values<float>()[0] = 10;  // the same memory, other contents
    call.run();
    EXPECT_EQ(sum.values<float>()[0], 11);
    call.feed_back(0, 0);  // what was the output is the input now
    Tensor next(DType::kF32, {4});
    call.set_output(0, next);
    call.run();
    EXPECT_EQ(next.values<float>()[0], 22);
  }
}

/// x += x * w, in the caller's memory: value x is the output too.
executorch::Program in_place_program() {
  executorch::Method m("forward");
  const auto x = m.add(programs::planned({4})), w = m.add(programs::stored(programs::eighths({4})));
  const auto product = m.add(programs::planned({4}));
  const auto alpha = m.constant(int64_t{1}), blocking = m.constant(false);
  const auto sum = m.add(programs::planned({4}));
  m.instructions = {executorch::KernelCall{"aten::mul", "out", {x, w, product, product}},
                    executorch::KernelCall{"aten::add", "out", {x, product, alpha, sum, sum}},
                    executorch::KernelCall{"aten::copy_", "", {x, sum, blocking, x}}};
  m.inputs = {x}, m.input_names = {"cache"};
  m.outputs = {x}, m.output_names = {"cache"};
  executorch::Program p;
  p.methods.push_back(std::move(m));
  return p;
}

TEST_F(ExecutorchRuntime, UpdatesAnInputInPlaceOnlyWhenItIsTheOutput) {
  for (const auto& options : {executorch::PlanOptions{}, kCallerOwns}) {
    const Session session = open(in_place_program(), options);
    RepeatedCall call(session, {"cache"}, {"cache"});
    Tensor cache = Tensor::of<float>({4}, {8, 8, 8, 8});
    call.set_input(0, cache);
    call.run();  // nobody gave the output this memory
    EXPECT_EQ(floats(cache), (std::vector<float>{8, 8, 8, 8}));
    EXPECT_EQ(floats(call.take_output(0)), (std::vector<float>{8, 9, 10, 11}));
    call.set_output(0, cache);
    call.run();
    EXPECT_EQ(floats(cache), (std::vector<float>{8, 9, 10, 11}));
    Tensor apart(DType::kF32, {4});
    call.set_output(0, apart);
    call.run();
    EXPECT_EQ(cache.values<float>()[1], 9);
    EXPECT_EQ(apart.values<float>()[1], 10.125f);
  }
}

/// A program of ExecuTorch's own exporter (tests/golden/executorch/generate.py): a delegate that
/// reads static data, a buffer, and a cache that is updated in place.
TEST_F(ExecutorchRuntime, RunsProgramsOfOthers) {
  const std::filesystem::path golden =
      std::filesystem::path(SLIPWAY_SOURCE_DIR) / "tests/golden/executorch";
  const Session session = Session::open("executorch", golden / "foreign.pte");
  ASSERT_EQ(session.inputs().size(), 2u);
  EXPECT_EQ(session.inputs()[0].name, "x");
  EXPECT_EQ(session.inputs()[0].dims_text(), "[?, ?]");
  EXPECT_EQ(session.inputs()[1].dims_text(), "[2, 3]");
  RepeatedCall call(session, {"x", "cache"}, {"cache", "y", "calls"});
  float calls = 0;
  for (const Json& run : parse_json_file(golden / "foreign.json")) {
    const int64_t rows = run["rows"].get<int64_t>();
    Tensor x = counted({rows, 4}), cache(DType::kF32, {2, 3});
    for (float& value : x.mutable_values<float>()) value /= 8;
    call.set_input(0, x);
    call.set_input(1, cache);
    call.clear_output(0);
    call.run();
    const auto near = [](const Tensor& got, const Json& want) {
      ASSERT_EQ(got.numel(), static_cast<int64_t>(want.size()));
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_NEAR(got.values<float>()[i], want[i].get<float>(), 1e-6);
    };
    near(call.take_output(0), run["cache"]);
    EXPECT_EQ(floats(cache), std::vector<float>(6)) << "a cache that was not given as an output";
    const Tensor y = call.take_output(1);
    EXPECT_EQ(y.shape(), (Shape{rows, 3}));
    near(y, run["y"]);
    EXPECT_EQ(call.take_output(2).values<float>()[0], ++calls);
    call.set_output(0, cache);
    call.run();
    near(cache, run["cache"]);
    EXPECT_EQ(call.take_output(2).values<float>()[0], ++calls);
  }
  const std::map<std::string, Tensor> inputs{{"x", counted({1, 4})},
                                             {"cache", Tensor(DType::kF32, {2, 3})}};
  for (int round = 0; round < 2; ++round)  // its buffer has no name, and begins anew all the same
    EXPECT_EQ(session.run(inputs, {"calls"})[0].second.values<float>()[0], 1);
  call.reset_states();
  call.set_input(0, inputs.at("x"));
  call.set_input(1, inputs.at("cache"));
  call.clear_output(0);
  call.run();
  EXPECT_EQ(call.take_output(2).values<float>()[0], 1);
}

TEST_F(ExecutorchRuntime, RefusesInputsBeforeItRuns) {
  const Session session = open(programs::shared_program());
  const auto refused = [&](Shape shape) {
    return error_of(kInvalid, [&] { session.run({{"x", Tensor(DType::kF32, std::move(shape))}}); });
  };
  EXPECT_TRUE(
      contains(refused({17, 8}), "dimension 0 of input x is 17, the program takes at most 16"));
  EXPECT_TRUE(contains(refused({8, 16}), "dimension 1 of input x is 16, need 8"));
  EXPECT_TRUE(contains(refused({128}), "input x is [128], need 2 dimensions"));
  EXPECT_TRUE(contains(refused({0, 8}), "batch_size is 0 (dimension 0 of input x), need 1 to 16"));
  EXPECT_TRUE(contains(error_of(kInvalid,
                                [&] {
                                  session.run({{"x", Tensor(DType::kF64, {1, 8})}});
                                }),
                       "x is float64, need float32"));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { session.run({}); }), "needs the input x"));
  EXPECT_TRUE(contains(error_of(kUsage,
                                [&] {
                                  session.run({{"y", Tensor(DType::kF32, {1, 8})}});
                                }),
                       "has no input y, it has x"));
  RepeatedCall call(session, {"x"}, {"y"});
  call.set_input(0, Tensor(DType::kF32, {2, 8}));
  call.set_output(0, Tensor(DType::kF32, {3, 3}));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { call.run(); }),
                       "the output y is [2, 3], the memory given for it is [3, 3]"));
}

TEST_F(ExecutorchRuntime, NamesWhatTheRuntimeLacks) {
  executorch::Program program = programs::add_program();
  std::get<executorch::KernelCall>(program.methods[0].instructions[0]).op = "aten::fft_rfft";
  const std::string text = error_of(kUnsupported, [&] { open(program); });
  EXPECT_TRUE(contains(text, "model.pte cannot load the method forward"));
  EXPECT_TRUE(contains(text, "aten::fft_rfft.out"));
}

/// forward(x: f32[batch_size, 4]) -> 0, 1, ... as many as x has rows, less 1, times 2^31.
executorch::Program sequence_program() {
  using executorch::KernelCall;
  executorch::Method m("forward");
  const Sym rows = programs::batch();
  const auto x = m.add(programs::planned({rows, 4})), y = m.add(programs::planned({rows}));
  const auto zero = m.constant(int64_t{0}), one = m.constant(int64_t{1});
  const auto many = m.constant(int64_t{1} << 31);
  const auto count = m.add(int64_t{0}), less = m.add(int64_t{0}), end = m.add(int64_t{0});
  m.instructions = {KernelCall{"aten::sym_size", "int", {x, zero, count}},
                    KernelCall{"executorch_prim::sub", "Scalar", {count, one, less}},
                    KernelCall{"executorch_prim::mul", "Scalar", {less, many, end}},
                    KernelCall{"aten::arange", "start_out", {zero, end, one, y, y}}};
  m.inputs = {x}, m.input_names = {"x"};
  m.outputs = {y}, m.output_names = {"y"};
  executorch::Program p;
  p.methods.push_back(std::move(m));
  return p;
}

/// The kernel asserts that a length fits 32 bits.
TEST_F(ExecutorchRuntime, AnAssertOfAKernelIsAnError) {
  const Session session = open(sequence_program());
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(contains(error_of(kInvalid,
                                  [&] {
                                    session.run({{"x", counted({2, 4})}});
                                  }),
                         "numel should be non-negative"));
    EXPECT_EQ(session.run({{"x", counted({1, 4})}})[0].second.numel(), 0);
  }
  RepeatedCall call(session, {"x"}, {"y"});
  call.set_input(0, counted({2, 4}));
  error_of(kInvalid, [&] { call.run(); });
  call.set_input(0, counted({1, 4}));
  call.run();
  EXPECT_EQ(call.take_output(0).numel(), 0);
}

TEST_F(ExecutorchRuntime, RefusesCutFilesAndDevices) {
  executorch::write(programs::add_program(), folder_ / "a.pte");
  const std::string whole = TestFolder::read(folder_ / "a.pte");
  folder_.write("cut.pte", whole.substr(0, whole.size() - 8));
  EXPECT_TRUE(contains(
      error_of(kInvalid, [&] { Session::open("executorch", folder_ / "cut.pte"); }), "is cut"));
  SessionOptions options;
  options.device = "cuda";
  EXPECT_TRUE(contains(
      error_of(kEnvironment, [&] { Session::open("executorch", folder_ / "a.pte", options); }),
      "need cpu"));
}

TEST_F(ExecutorchRuntime, RunsInSeveralThreads) {
  const Session session = open(programs::shared_program());
  const Tensor x = counted({16, 8});
  const std::vector<float> want = floats(session.run({{"x", x}})[0].second);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) wrong += floats(session.run({{"x", x}})[0].second) != want;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace slipway
