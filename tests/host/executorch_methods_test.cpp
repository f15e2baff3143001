// Several methods of one .pte file in the ExecuTorch runtime: what their sessions share.
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/test_expect.h"
#include "executorch_util.h"
#include "slipway/model.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
namespace programs = executorch::testing;
using executorch_test::counted;
using executorch_test::floats;

Session open_component(const fs::path& file, const std::string& component) {
  SessionOptions options;
  options.config = {{"component", component}};
  return Session::open("executorch", file, options);
}

/// The two outputs of methods_program() for rows that count up.
void expect_right(const Session& session, int64_t rows, int64_t id) {
  Tensor ids(DType::kI64, {rows});
  for (int64_t& one : ids.mutable_values<int64_t>()) one = id;
  const Tensor x = counted({rows, 8});
  const NamedTensors outputs = session.run({{"x", x}, {"ids", ids}}, {"y", "rows"});
  ASSERT_EQ(outputs[0].second.shape(), (Shape{rows, 3}));
  const float bias[] = {1, -50, 2};
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < 3; ++c) {
      float want = bias[c];
      for (int64_t k = 0; k < 8; ++k)
        want += static_cast<float>(r * 8 + k) * static_cast<float>(c * 8 + k) / 8;
      EXPECT_FLOAT_EQ(floats(outputs[0].second)[static_cast<size_t>(r * 3 + c)],
                      std::max(want, 0.0F));
    }
  EXPECT_EQ(outputs[1].second.values<float>()[0], -static_cast<float>(id * 8 + 1));
}

class ExecutorchMethods : public testing::Test {
 protected:
  fs::path written(int64_t table_rows = 5) const {
    executorch::write(programs::methods_program(table_rows), folder_ / "model.pte");
    return folder_ / "model.pte";
  }
  TestFolder folder_;
};

TEST_F(ExecutorchMethods, EachComponentHasItsOwnSizesAndMetadata) {
  const fs::path file = written();
  const Session prefill = open_component(file, "prefill"), decode = open_component(file, "decode");
  EXPECT_EQ(prefill.metadata().at("slipway.dims"), R"({"batch_size":[1,16]})");
  EXPECT_EQ(decode.metadata().at("slipway.dims"), R"({"batch_size":[1,2]})");
  EXPECT_EQ(decode.metadata().at("slipway.ranges"), R"({"ids":[0,2]})");
  EXPECT_EQ(decode.metadata().at("role"), "decode");
  EXPECT_EQ(decode.metadata().at("architecture"), "Pair");
  for (const int64_t rows : {16, 1, 7}) expect_right(prefill, rows, 4);
  for (const int64_t rows : {2, 1}) expect_right(decode, rows, 3);
  EXPECT_TRUE(contains(
      error_of(kInvalid,
               [&] {
                 decode.run({{"x", counted({3, 8})}, {"ids", Tensor::of<int64_t>({3}, {0, 0, 0})}});
               }),
      "dimension 0 of input x is 3, the program takes at most 2"));
}

TEST_F(ExecutorchMethods, AComponentOrMethodThatIsNotThereIsNamed) {
  const fs::path file = written();
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { open_component(file, "encoder"); }),
                       "model.pte has no method encoder, it has prefill, decode"));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { Session::open("executorch", file); }),
                       "has no method forward, it has prefill, decode"));
  SessionOptions options;
  options.config = {{"component", "decode"}, {"method", "step"}};
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { Session::open("executorch", file, options); }),
                       "has no method step"));
}

int64_t anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (int64_t kilobytes = 0; word == "RssAnon:" && status >> kilobytes) return kilobytes * 1024;
  return 0;
}

TEST_F(ExecutorchMethods, ConstantsAreInMemoryOnce) {
  constexpr int64_t kRows = int64_t{2} << 20;  // 64 MiB
  const fs::path file = written(kRows);
  const int64_t before = anonymous_bytes();
  const Session prefill = open_component(file, "prefill");
  const int64_t one = anonymous_bytes() - before;
  EXPECT_GE(one, kRows * 32);
  const Session decode = open_component(file, "decode");
  EXPECT_LE(anonymous_bytes() - before - one, kRows * 8);
  {
    const Session again = open_component(file, "decode");
    expect_right(again, 2, kRows - 1);
  }
  EXPECT_LE(anonymous_bytes() - before - one, kRows * 8);
  expect_right(prefill, 3, kRows - 1);
  expect_right(decode, 2, 2);
}

TEST_F(ExecutorchMethods, AFileThatWasWrittenToIsReadAnew) {
  executorch::Program program = programs::methods_program();
  const fs::path file = written();
  const Session old = open_component(file, "decode");
  const Lazy other = programs::eighths({5, 8});
  for (executorch::Method& method : program.methods)
    for (executorch::EValue& value : method.values)
      if (auto* tensor = std::get_if<executorch::TensorValue>(&value); tensor && tensor->data)
        tensor->data = other;
  const auto when = fs::last_write_time(file);
  const auto bytes = fs::file_size(file);
  executorch::write(program, folder_ / "other.pte");
  ASSERT_EQ(fs::file_size(folder_ / "other.pte"), bytes);
  // In place: the same inode.
  fs::copy_file(folder_ / "other.pte", file, fs::copy_options::overwrite_existing);
  fs::last_write_time(file, when + std::chrono::seconds(1));
  const Session fresh = open_component(file, "decode");
  const Inputs inputs = {{"x", counted({1, 8})}, {"ids", Tensor::of<int64_t>({1}, {2})}};
  EXPECT_EQ(fresh.run(inputs, {"rows"})[0].second.values<float>()[1], 17.0F / 8);
  EXPECT_EQ(old.run(inputs, {"rows"})[0].second.values<float>()[1], -18);
}

TEST_F(ExecutorchMethods, ThreadsOpenAndRunThem) {
  const fs::path file = written();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) {
        const Session session = open_component(file, i % 2 == 0 ? "prefill" : "decode");
        expect_right(session, 1 + i % 2, i % 3);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace slipway
