// Sessions and bindings of the ONNX plug-in: tensors without copies, options, threads.
#include "runtime/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/model_runner.h"
#include "runtime/plugin.h"
#include "runtime/repeated_call.h"
#include "runtime/test_models.h"

namespace slipway {
namespace {

using test::Graph;
using test::kFloat;
using test::TempDir;

std::pair<ErrorKind, std::string> failure(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return {e.kind(), e.what()};
  }
  return {kInternal, "no error"};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

Graph identity() {
  return Graph()
      .input("x", kFloat, {"n", "2"})
      .output("y", kFloat, {"n", "2"})
      .metadata("k", "v")
      .node("Identity", {"x"}, "y");
}

TEST(Session, NumbersAsSymbolsAreSizes) {
  const TempDir dir;
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(identity().bytes()));
  model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_param("2");
  test::write(dir / "m.onnx", model.SerializeAsString());
  const Session session = Session::open("onnx", dir / "m.onnx");
  ASSERT_EQ(session.inputs()[0].dims.size(), 2u);
  EXPECT_FALSE(session.inputs()[0].dims[0].is_fixed());
  EXPECT_EQ(session.inputs()[0].dims[1].size, 2);
}

TEST(Session, DescribesAndRuns) {
  const TempDir dir;
  const Session session = Session::open("onnx", identity().save(dir / "é 模型.onnx"));
  EXPECT_EQ(session.runtime().rfind("ONNX Runtime 1.", 0), 0u) << session.runtime();
  ASSERT_EQ(session.inputs().size(), 1u);
  EXPECT_EQ(session.inputs()[0].name, "x");
  EXPECT_EQ(session.inputs()[0].dtype, DType::kF32);
  EXPECT_EQ(session.inputs()[0].dims_text(), "[n, 2]");
  EXPECT_EQ(session.metadata().at("k"), "v");
  const auto results = session.run({{"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})}});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].first, "y");
  EXPECT_EQ(results[0].second.shape(), (Shape{2, 2}));
  EXPECT_EQ(results[0].second.values<float>()[3], 4.0f);
}

TEST(Session, ResultsOutliveIt) {
  const TempDir dir;
  Tensor kept;
  {
    const Session session = Session::open("onnx", identity().save(dir / "m.onnx"));
    kept = session.run({{"x", Tensor::of<float>({1, 2}, {5, 6})}})[0].second;
  }
  EXPECT_EQ(kept.values<float>()[1], 6.0f);
}

TEST(Session, EmptyTensorsAndCallersMemory) {
  const TempDir dir;
  const Session session = Session::open("onnx", identity().save(dir / "m.onnx"));
  const auto empty = session.run({{"x", Tensor(DType::kF32, {0, 2})}});
  EXPECT_EQ(empty[0].second.shape(), (Shape{0, 2}));
  const Tensor memory(DType::kF32, {1, 2});
  const auto into = session.run_into({{"x", Tensor::of<float>({1, 2}, {7, 8})}}, {{"y", memory}});
  EXPECT_EQ(into[0].second.data(), memory.data());
  EXPECT_EQ(memory.values<float>()[0], 7.0f);
  const auto wrong = failure([&] {
    session.run_into({{"x", Tensor(DType::kF32, {1, 2})}}, {{"y", Tensor(DType::kF32, {3, 2})}});
  });
  EXPECT_EQ(wrong.first, kInvalid) << wrong.second;
}

TEST(Session, WrongNamesAndTypesAreErrors) {
  const TempDir dir;
  const Session session = Session::open("onnx", identity().save(dir / "m.onnx"));
  EXPECT_EQ(failure([&] { session.run({{"z", Tensor(DType::kF32, {1, 2})}}); }).first, kInvalid);
  EXPECT_EQ(failure([&] { session.run({{"x", Tensor(DType::kI64, {1, 2})}}); }).first, kInvalid);
  EXPECT_EQ(failure([&] { session.run({{"x", Tensor()}}); }).first, kUsage);
  EXPECT_EQ(failure([&] {
              session.run({{"x", Tensor(DType::kF32, {1, 2})}}, {"z"});
            }).first,
            kInvalid);
}

TEST(Session, OptionsAreChecked) {
  const TempDir dir;
  const auto path = identity().save(dir / "m.onnx");
  SessionOptions options;
  options.device = "quantum";
  const auto provider = failure([&] { Session::open("onnx", path, options); });
  EXPECT_EQ(provider.first, kEnvironment);
  EXPECT_TRUE(contains(provider.second, "'quantum'")) << provider.second;
  EXPECT_TRUE(contains(provider.second, "CPUExecutionProvider")) << provider.second;

  options = {};
  options.providers = {"NoSuchExecutionProvider"};
  EXPECT_EQ(failure([&] { Session::open("onnx", path, options); }).first, kEnvironment);
  options = {};
  options.device = "cpu:x";
  EXPECT_EQ(failure([&] { Session::open("onnx", path, options); }).first, kUsage);

  options = {};
  options.providers = {"CPUExecutionProvider"};
  options.intra_op_threads = 1;
  options.inter_op_threads = 1;
  options.graph_optimization = GraphOptimization::kNone;
  options.config = {{"session.intra_op.allow_spinning", "0"}};
  EXPECT_EQ(Session::open("onnx", path, options).inputs().size(), 1u);

  abi::Session* raw = nullptr;
  const abi::Runtime& api = Plugin::load("onnx").api();
  for (const char* text : {"", "[]", R"({"unknown": 1})", R"({"intra_op_threads": -1})",
                           R"({"device": 3})", R"({"device": "cpu", "providers": ["cpu"]})",
                           R"({"graph_optimization": "most"})", R"({"provider_options": []})"}) {
    const abi::Result result = api.create_session(path.c_str(), text, &raw);
    ASSERT_NE(result, nullptr) << text;
    EXPECT_EQ(result->kind, static_cast<int32_t>(kUsage)) << text << ": " << result->text;
  }
  EXPECT_NE(api.create_session(nullptr, "{}", &raw), nullptr);
}

TEST(Session, StringsAreUnsupported) {
  const TempDir dir;
  const auto path = Graph()
                        .input("x", onnx::TensorProto::STRING, {"n"})
                        .output("y", onnx::TensorProto::STRING, {"n"})
                        .node("Identity", {"x"}, "y")
                        .save(dir / "m.onnx");
  const auto error = failure([&] { Session::open("onnx", path); });
  EXPECT_EQ(error.first, kUnsupported);
  EXPECT_TRUE(contains(error.second, "'x' of m.onnx")) << error.second;
}

// A cache of 4 slots, written in place: input and output are one buffer over many runs.
TEST(RepeatedCall, UpdatesOneBufferInPlace) {
  const TempDir dir;
  const auto path = Graph()
                        .input("input.cache", kFloat, {"4"})
                        .input("slot", test::kInt64, {"1", "1"})
                        .input("value", kFloat, {"1"})
                        .output("output.cache", kFloat, {"4"})
                        .output("sum", kFloat, {"1"})
                        .node("ScatterND", {"input.cache", "slot", "value"}, "output.cache")
                        .node("ReduceSum", {"output.cache"}, "sum", {{"keepdims", 1}})
                        .save(dir / "m.onnx");
  // The call keeps the session alive.
  RepeatedCall call(Session::open("onnx", path), {"input.cache", "slot", "value"},
                    {"output.cache", "sum"});
  Tensor cache(DType::kF32, {4}), slot(DType::kI64, {1, 1}), value(DType::kF32, {1});
  call.set_input(0, cache);
  call.set_input(1, slot);
  call.set_input(2, value);
  call.set_output(0, cache);
  for (int i = 0; i < 4; ++i) {
    slot.mutable_values<int64_t>()[0] = i;
    value.mutable_values<float>()[0] = static_cast<float>(i + 1);
    call.run();
    EXPECT_EQ(cache.values<float>()[static_cast<size_t>(i)], static_cast<float>(i + 1));
  }
  EXPECT_EQ(call.take_output(1).values<float>()[0], 10.0f);
  EXPECT_EQ(failure([&] { call.take_output(0); }).first, kUsage);
  EXPECT_EQ(failure([&] { call.reset_states(); }).first, kUnsupported);
}

// PC-49: 8 threads, 200 calls each, different lengths, one model, bit-equal to a serial run.
TEST(Concurrency, ManyThreadsShareOneModel) {
  const TempDir dir;
  const ModelRunner runner(Session::open("onnx", test::decoder().save(dir / "m.onnx")));
  const auto call = [&runner](int seed) {
    const int64_t batch = 1 + seed % 3, length = 1 + seed % 11;
    Tensor ids(DType::kI64, {batch, length});
    for (size_t i = 0; i < static_cast<size_t>(ids.numel()); ++i)
      ids.mutable_values<int64_t>()[i] = (seed * 5 + static_cast<int>(i) * 3) % 8;
    std::string bytes;
    for (const auto& [name, t] : runner.run({{"input_ids", ids}}))
      bytes +=
          name + shape_string(t.shape()) +
          std::string(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.nbytes()));
    return bytes;
  };
  std::vector<std::string> serial;
  for (int seed = 0; seed < 200; ++seed) serial.push_back(call(seed));
  std::atomic<int> different{0}, calls{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i, ++calls) {
        const int seed = (i * 7 + t * 13) % 200;
        if (call(seed) != serial[static_cast<size_t>(seed)]) ++different;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls, 1600);
  EXPECT_EQ(different, 0);
}

}  // namespace
}  // namespace slipway
