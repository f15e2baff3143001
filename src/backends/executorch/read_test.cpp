// Tests of reading .pte files, whole and broken.
#include "backends/executorch/read.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "backends/executorch/test_programs.h"
#include "backends/executorch/write.h"
#include "base/pytree.h"
#include "base/test_expect.h"
#include "base/test_folder.h"

namespace slipway::executorch {
namespace {

/// The bytes of a file, aligned as read_outline() needs them.
std::vector<std::byte> written(const Program& program, const PlanOptions& options = {}) {
  const TestFolder folder;
  write(program, folder / "a.pte", options);
  const std::string text = TestFolder::read(folder / "a.pte");
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

Outline read(const std::vector<std::byte>& bytes) { return read_outline(bytes, "a.pte"); }

TEST(ExecutorchRead, GivesBackWhatWasWritten) {
  const Outline outline = read(written(testing::add_program()));
  EXPECT_EQ(outline.producer, std::string("slipway ") + SLIPWAY_VERSION);
  const MethodOutline& forward = outline.method("forward", "a.pte");
  EXPECT_EQ(forward.metadata.at("architecture"), "Adder");
  EXPECT_EQ(forward.dims, R"({"batch_size":[1,16]})");
  EXPECT_EQ(forward.ranges, R"({"x":[0,9]})");
  ASSERT_EQ(forward.inputs.size(), 1u);
  EXPECT_EQ(forward.inputs[0].name, "x");
  EXPECT_EQ(forward.inputs[0].dtype, DType::kF32);
  EXPECT_EQ(forward.inputs[0].sizes, (Shape{16, 4}));
  EXPECT_EQ(forward.inputs[0].dims, (std::vector<std::string>{"batch_size", "4"}));
  EXPECT_TRUE(forward.inputs[0].dynamic);
  EXPECT_TRUE(forward.inputs[0].planned);
  EXPECT_FALSE(forward.inputs[0].written);
  EXPECT_EQ(forward.outputs[0].name, "y");
  EXPECT_EQ(forward.op_counts, (std::map<std::string, int64_t>{{"aten::add.out", 1}}));
  EXPECT_EQ(forward.constants, 1);
  EXPECT_EQ(forward.arena_bytes, (std::vector<int64_t>{0, 2 * 16 * 4 * 4}));
  EXPECT_EQ(forward.listing, "  aten::add.out(0, 1, 3, 2, 2)\n");
}

TEST(ExecutorchRead, SeesDelegatesMethodsAndBuffers) {
  const Outline shared = read(written(testing::shared_program()));
  const MethodOutline& forward = shared.method("forward", "a.pte");
  ASSERT_EQ(forward.delegates.size(), 1u);
  EXPECT_EQ(forward.delegates[0].id, "XnnpackBackend");
  EXPECT_EQ(forward.delegates[0].node_counts,
            (std::map<std::string, int64_t>{{"FullyConnected", 1}}));
  ASSERT_EQ(forward.delegates[0].arguments.size(), 2u);
  EXPECT_EQ(forward.delegates[0].arguments[0].dims, (Shape{16, 8}));
  EXPECT_FALSE(forward.delegates[0].arguments[0].output);
  EXPECT_TRUE(forward.delegates[0].arguments[1].output);
  EXPECT_FALSE(forward.delegates[0].breaks_weight_cache);
  EXPECT_FALSE(forward.inputs[0].written);
  EXPECT_EQ(shared.named_data, 3);  // the weight, the bias, the metadata
  EXPECT_TRUE(shared.find("get_eos_ids")->is_metadata());
  EXPECT_EQ(shared.find("get_eos_ids")->outputs[1].constant, "2");
  EXPECT_FALSE(forward.is_metadata());
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { shared.method("decode", "a.pte"); }),
                       "has no method decode, it has forward, look_up, get_eos_ids"));
  const Outline buffers = read(written(testing::buffer_program()));
  const auto& list = buffers.method("forward", "a.pte").buffers;
  ASSERT_EQ(list.size(), 2u);
  EXPECT_FALSE(buffers.methods[0].unnamed_state);
  EXPECT_EQ(list[0].name, "sum_buffer");
  EXPECT_EQ(list[1].dtype, DType::kI64);
  EXPECT_TRUE(list[1].planned);
}

TEST(ExecutorchRead, WhatIsSaidOfOneMethodWins) {
  const std::vector<std::byte> bytes = written(testing::methods_program());
  const Outline outline = read(bytes);
  EXPECT_EQ(outline.named_data, 3);  // the weight, the bias, the metadata
  for (const auto& [name, most] : {std::pair{"prefill", "16"}, {"decode", "2"}}) {
    const MethodOutline& method = outline.method(name, "a.pte");
    EXPECT_EQ(method.dims, fmt::format(R"({{"batch_size":[1,{}]}})", most));
    EXPECT_EQ(method.ranges, fmt::format(R"({{"ids":[0,{}]}})", most));
    EXPECT_EQ(method.metadata,
              (std::map<std::string, std::string>{{"architecture", "Pair"}, {"role", name}}));
  }
  const auto broken = [&](std::string_view was, std::string_view is) {
    std::vector<std::byte> copy = bytes;
    const std::string_view text(reinterpret_cast<const char*>(copy.data()), copy.size());
    EXPECT_EQ(was.size(), is.size());
    const size_t at = text.find(was);
    EXPECT_NE(at, text.npos);
    std::memcpy(copy.data() + at, is.data(), is.size());
    return error_of(kInvalid, [&] { read(copy); });
  };
  EXPECT_TRUE(
      contains(broken(R"({"batch_size":[1,2]})", R"(["batch_size",1,2  ])"), "no object dims"));
  EXPECT_TRUE(contains(broken(R"({"ids":[0,2]})", R"(["ids",0,2  ])"), "no object ranges"));
  EXPECT_TRUE(contains(broken(R"({"role":"decode"})", R"({"role":12345678})"), "no text"));
}

TEST(ExecutorchRead, SummariesAreOfOneMethodOrOfAll) {
  const TestFolder folder;
  write(testing::methods_program(), folder / "a.pte");
  const FileSummary decode = read_summary(folder / "a.pte", "decode");
  EXPECT_EQ(decode.metadata.at("role"), "decode");
  EXPECT_EQ(decode.op_counts.at("xnn::FullyConnected"), 1);
  EXPECT_FALSE(contains(decode.listing, "method prefill"));
  const FileSummary all = read_summary(folder / "a.pte");
  EXPECT_EQ(all.metadata.at("role"), "prefill");
  EXPECT_EQ(all.op_counts.at("xnn::FullyConnected"), 2);
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { read_summary(folder / "a.pte", "encode"); }),
                       "has no method encode, it has prefill, decode"));
}

TEST(ExecutorchRead, FlagsMoveMemoryToTheCaller) {
  const PlanOptions none{.alloc_graph_input = false, .alloc_graph_output = false};
  const Outline outline = read(written(testing::add_program(), none));
  EXPECT_FALSE(outline.methods[0].inputs[0].planned);
  EXPECT_FALSE(outline.methods[0].outputs[0].planned);
  EXPECT_EQ(outline.methods[0].arena_bytes, (std::vector<int64_t>{0, 0}));
  const std::string refused = error_of(
      kUnsupported, [] { measure(testing::buffer_program(), {.alloc_mutable_buffers = false}); });
  EXPECT_TRUE(contains(refused, "buffer sum_buffer begins with data"));
}

TEST(ExecutorchRead, AWeightOfTwoMethodsIsStoredOnce) {
  const WriteSummary summary = measure(testing::shared_program());
  EXPECT_EQ(summary.weight_bytes, 3 * 8 * 4 + 3 * 4);
  const std::vector<std::byte> bytes = written(testing::shared_program());
  const float last[] = {22.0f / 8, 23.0f / 8};
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string_view pattern(reinterpret_cast<const char*>(last), sizeof(last));
  const size_t at = text.find(pattern);
  ASSERT_NE(at, text.npos);
  EXPECT_EQ(text.find(pattern, at + 1), text.npos);
}

TEST(ExecutorchRead, DelegatesKeepOnlyDataThatArePacked) {
  const Outline outline = read(written(testing::scale_program()));
  const MethodOutline& forward = outline.method("forward", "a.pte");
  EXPECT_FALSE(forward.delegates[0].breaks_weight_cache);
  ASSERT_EQ(forward.delegates[0].arguments.size(), 4u);  // x, s, t, y
  for (const DelegateArgument& argument : forward.delegates[0].arguments)
    EXPECT_EQ(argument.output, argument.place == 3);
  EXPECT_EQ(forward.constants, 2);
  EXPECT_EQ(outline.named_data, 2);  // the filter, the metadata
}

TEST(ExecutorchRead, ConstantsThatNothingUsesStayOut) {
  Program program = testing::shared_program();
  Method& forward = program.methods[0];
  forward.add(testing::stored(testing::eighths({1000})));
  EXPECT_EQ(measure(program).weight_bytes, 3 * 8 * 4 + 3 * 4);
  EXPECT_EQ(read(written(program)).method("forward", "a.pte").constants, 0);
}

TEST(ExecutorchRead, NamesFilesOfOthersByTreeSpecs) {
  Outline outline = read_outline(std::filesystem::path(SLIPWAY_SOURCE_DIR) /
                                 "tests/golden/executorch/foreign.pte");
  MethodOutline& forward = outline.methods[0];
  const auto names = [](const std::vector<Port>& ports) {
    std::vector<std::string> list;
    for (const Port& port : ports) list.push_back(port.name);
    return list;
  };
  EXPECT_EQ(names(forward.inputs), (std::vector<std::string>{"x", "cache"}));
  EXPECT_EQ(names(forward.outputs), (std::vector<std::string>{"cache", "y", "calls"}));
  EXPECT_TRUE(forward.inputs[1].written);
  EXPECT_FALSE(forward.inputs[0].written);
  EXPECT_TRUE(forward.unnamed_state);
  const auto spec = [](const char* name) {
    return dump_tree_spec(
        TreeSpec::keyword_call({{name, TreeSpec::leaf()}, {"b", TreeSpec::leaf()}}));
  };
  const auto leaf = TreeSpec::leaf();
  name_by_specs(forward, spec("a"), dump_tree_spec(TreeSpec::dict({{"p", leaf}, {"q", leaf}})));
  EXPECT_EQ(names(forward.inputs), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(names(forward.outputs), (std::vector<std::string>{"b", "p", "q"}));
  // One name for two outputs: whose it is cannot be known.
  name_by_specs(forward, spec("a"), dump_tree_spec(TreeSpec::dict({{"x", leaf}})));
  EXPECT_EQ(names(forward.outputs), (std::vector<std::string>{"b", "p", "q"}));
  name_by_specs(forward, "nonsense", "{}");
  EXPECT_EQ(names(forward.inputs), (std::vector<std::string>{"a", "b"}));
}

TEST(ExecutorchRead, EmptyListsLieAnywhere) {
  for (size_t length = 0; length < 16; ++length) {
    Program program = testing::add_program();
    program.methods[0].add(std::string(length, 'x'));
    program.methods[0].add(IntListValue{});
    program.methods[0].add(DoubleListValue{});
    EXPECT_EQ(read(written(program)).methods.size(), 1u) << length;
  }
}

TEST(ExecutorchRead, RefusesCutFiles) {
  for (const auto& make : {testing::shared_program, testing::buffer_program}) {
    const std::vector<std::byte> bytes = written(make());
    for (size_t size = 0; size < bytes.size(); ++size) {
      const std::vector<std::byte> cut(bytes.begin(),
                                       bytes.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_THROW(read(cut), Error) << size;
    }
  }
  const std::vector<std::byte> bytes = written(testing::shared_program());
  const std::vector<std::byte> cut(bytes.begin(), bytes.end() - 1);
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { read(cut); }), "the file is cut"));
}

TEST(ExecutorchRead, RefusesOtherVersions) {
  std::vector<std::byte> bytes = written(testing::add_program());
  std::memcpy(bytes.data() + 4, "ET13", 4);
  EXPECT_TRUE(contains(error_of(kUnsupported, [&] { read(bytes); }),
                       "a.pte has the schema version ET13, need ET12"));
  std::memcpy(bytes.data() + 4, "TFL3", 4);
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { read(bytes); }), "it is no .pte file"));
}

/// Whatever the bytes are, reading them ends in an outline or in an Error.
TEST(ExecutorchRead, SurvivesFlippedBytes) {
  std::mt19937 random(7);
  size_t refused = 0, rounds = 0;
  for (const auto& make : {testing::shared_program, testing::buffer_program,
                           testing::flatten_program, testing::branch_program}) {
    const std::vector<std::byte> bytes = written(make());
    for (int round = 0; round < 2000; ++round, ++rounds) {
      std::vector<std::byte> changed = bytes;
      for (unsigned flips = random() % 4 + 1; flips > 0; --flips)
        changed[random() % changed.size()] = static_cast<std::byte>(random());
      try {
        read(changed);
      } catch (const Error& e) {
        ++refused;
        EXPECT_NE(e.kind(), kInternal) << e.what();
      }
    }
  }
  EXPECT_GT(refused, rounds / 10);
}

}  // namespace
}  // namespace slipway::executorch
