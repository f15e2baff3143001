// Tests of checks of calls in .pte files: one broken program each.
#include "backends/executorch/kernel_signatures.h"

#include "backends/executorch/check_test.h"

namespace slipway::executorch {
namespace {

using testing::said_of;

KernelCall& call(Method& m, size_t i) { return std::get<KernelCall>(m.instructions[i]); }

TEST(ExecutorchCheckCalls, ArgumentsAreOfTheKindsOfTheSchema) {
  const auto with = [](size_t argument, EValue value) {
    return said_of(testing::add_program(), [&](Method& m) {
      call(m, 0).args[argument] = m.add(std::move(value));
      if (argument == 3) call(m, 0).args[4] = call(m, 0).args[3];
    });
  };
  EXPECT_EQ(with(2, 2.5), "");  // a Scalar
  EXPECT_TRUE(
      contains(with(2, NoneValue{}),
               "method \"forward\" instruction 0: argument 2 (alpha) of aten::add.out is "
               "value 4, None, need a float or a bool or an int; the file is broken, export "
               "it again"));
  EXPECT_TRUE(contains(with(0, int64_t{1}),
                       "argument 0 (self) of aten::add.out is value 4, an "
                       "int, need a tensor"));
  EXPECT_TRUE(contains(with(1, std::string("w")), "argument 1 (other)"));
  EXPECT_TRUE(contains(with(3, TensorListValue{}), "argument 3 (out) of aten::add.out"));
}

TEST(ExecutorchCheckCalls, AsManyAsTheSchemaSays) {
  const auto with = [](const std::function<void(std::vector<ValueId>&)>& change) {
    return said_of(testing::add_program(), [&](Method& m) { change(call(m, 0).args); });
  };
  EXPECT_TRUE(contains(with([](auto& args) { args.resize(2); }), "with 2 arguments, need 3"));
  EXPECT_TRUE(contains(with([](auto& args) { args.push_back(0); }), "with 6 arguments, need 5"));
  EXPECT_TRUE(contains(with([](auto& args) { args[4] = 0; }), "is not what it writes to"));
  EXPECT_EQ(with([](auto& args) { args.pop_back(); }), "");
}

TEST(ExecutorchCheckCalls, ConstantsAreNotWritten) {
  EXPECT_TRUE(contains(said_of(testing::add_program(),
                               [](Method& m) { call(m, 0).args[3] = call(m, 0).args[4] = 1; }),
                       "argument 3 (out) of aten::add.out is the constant 1"));
}

TEST(ExecutorchCheckCalls, DimensionsAreThere) {
  for (const auto& [axis, fits] : {std::pair<int64_t, bool>{1, true}, {2, false}, {-1, false}}) {
    const std::string text = said_of(testing::flatten_program(), [axis = axis](Method& m) {
      call(m, 2).args[1] = m.constant(axis);
    });
    if (fits) EXPECT_EQ(text, "");
    else EXPECT_TRUE(contains(text, "argument 1 (dim) of aten::sym_size.int is"));
  }
  EXPECT_TRUE(contains(said_of(testing::flatten_program(),
                               [](Method& m) {  // the number of rows as a dimension
                                 const ValueId one = m.add(int64_t{1});
                                 call(m, 3).args[2] = one;
                                 call(m, 2).args[1] = one;
                               }),
                       "which is computed"));
}

TEST(ExecutorchCheckCalls, NothingIsDividedByZero) {
  EXPECT_TRUE(contains(said_of(testing::flatten_program(),
                               [](Method& m) {
                                 call(m, 3).op = "executorch_prim::floordiv";
                                 call(m, 3).args[1] = m.constant(int64_t{0});
                               }),
                       "executorch_prim::floordiv.Scalar divides by 0"));
}

TEST(ExecutorchCheckCalls, NumbersAreWhatKernelsMakeOfThem) {
  const auto with = [](const char* op, std::vector<ValueId> inputs) {
    return said_of(testing::flatten_program(), [&](Method& m) {
      KernelCall& product = call(m, 3);
      inputs.push_back(product.args[2]);
      product.op = op, product.args = inputs;
    });
  };
  EXPECT_EQ(with("executorch_prim::add", {7, 6}), "");
  EXPECT_TRUE(contains(with("executorch_prim::truediv", {7, 6}),
                       "an item of argument 1 (size) of executorch_prim::et_view.default is value "
                       "8, a float, need an int"));
  EXPECT_TRUE(contains(with("executorch_prim::eq", {7, 6}), "a bool, need an int"));
}

TEST(ExecutorchCheckCalls, StridesAreNotZero) {
  const auto with = [](int64_t stride) {
    return said_of(testing::add_program(), [&](Method& m) {
      const ValueId image = m.add(testing::stored(testing::eighths({1, 2, 4, 4})));
      const ValueId out = m.add(testing::planned({1, 2, 2, 2})), none = m.constant(NoneValue{});
      const ValueId two = m.int_list({2, 2}), strides = m.int_list({2, stride});
      const ValueId zero = m.int_list({0, 0}), flag = m.constant(false);
      m.instructions.emplace_back(KernelCall{
          "aten::avg_pool2d", "out", {image, two, strides, zero, flag, flag, none, out, out}});
    });
  };
  EXPECT_EQ(with(2), "");
  EXPECT_TRUE(contains(with(0), "argument 2 (stride) of aten::avg_pool2d.out is 0, need 1"));
  EXPECT_TRUE(contains(with(int64_t{1} << 32), "(stride)"));
}

TEST(ExecutorchCheckCalls, IndicesAreIntegers) {
  Program program = testing::shared_program();
  std::swap(program.methods[0], program.methods[1]);
  EXPECT_EQ(said_of(program, [](Method&) {}), "");
  EXPECT_TRUE(contains(said_of(program,
                               [](Method& m) {
                                 m.values[static_cast<size_t>(m.inputs[0])] =
                                     testing::planned({testing::batch()});
                               }),
                       "argument 1 (indices) of aten::embedding.out is f32, need i64 or i32"));
}

TEST(ExecutorchCheckCalls, SequencesHaveALength) {
  const auto from = [](EValue end) {
    return said_of(testing::add_program(), [&](Method& m) {
      const ValueId out = m.add(testing::planned({testing::batch()}));
      const ValueId start = m.constant(int64_t{0}), step = m.constant(int64_t{1});
      m.instructions.emplace_back(
          KernelCall{"aten::arange", "start_out", {start, m.add(end), step, out, out}});
    });
  };
  EXPECT_EQ(from(int64_t{3}), "");
  EXPECT_EQ(from(2.5), "");
  EXPECT_TRUE(contains(from(int64_t{-1}), "aten::arange.start_out goes from 0 to -1"));
  EXPECT_TRUE(contains(from(int64_t{1} << 33), "goes from 0 to 8589934592"));
  EXPECT_TRUE(contains(from(int64_t{1} << 50), "argument 1 of aten::arange.start_out is"));
}

TEST(ExecutorchCheckCalls, DelegatesGetTheTensorsOfTheirGraph) {
  const auto with = [](TensorValue x) {
    return said_of(testing::shared_program(),
                   [&](Method& m) { m.values[static_cast<size_t>(m.inputs[0])] = x; });
  };
  EXPECT_TRUE(contains(with(testing::planned({testing::batch(), 8}, DType::kF16)),
                       "argument 0 of a delegate is f16, the delegate's graph says f32"));
  EXPECT_TRUE(contains(with(testing::planned({testing::batch(), 9})),
                       "whose sizes are not [16, 8], which the delegate's graph says"));
  EXPECT_TRUE(contains(with(testing::planned({testing::batch() * 8})), "whose sizes are not"));
}

TEST(ExecutorchCheckCalls, MovesAndFreesFitTheirValues) {
  const auto with = [](Instruction instruction) {
    return said_of(testing::add_program(),
                   [&](Method& m) { m.instructions.push_back(instruction); });
  };
  EXPECT_EQ(with(MoveCall{0, 2}), "");
  EXPECT_TRUE(contains(with(MoveCall{3, 2}), "value 3, an int, is moved to value 2, a tensor"));
  EXPECT_TRUE(contains(with(MoveCall{1, 2}), "of another type or rank"));
  EXPECT_TRUE(contains(with(FreeCall{0}), "value 0 is freed"));
  EXPECT_TRUE(contains(with(JumpFalseCall{3, 0}), "the condition of a jump is value 3, an int"));
}

TEST(ExecutorchCheckCalls, EveryKernelHasASignature) {
  const KernelSignature* copy = find_signature("aten::copy_");
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->outs, 0u);
  EXPECT_EQ(find_signature("aten::split_copy.Tensor_out")->out_list, true);
  EXPECT_EQ(find_signature("aten::native_layer_norm.out")->outs, 3u);
  EXPECT_EQ(find_signature("quantized_decomposed::embedding_byte.out")->inputs[2].kinds,
            kTensorValue | kNoneValue);
  EXPECT_EQ(find_signature("aten::index.Tensor_out")->inputs[1].kinds, kOptionalTensorListValue);
  EXPECT_EQ(find_signature("executorch_prim::mod.int")->divisor, 1);
  EXPECT_EQ(find_signature("aten::fft_rfft.out"), nullptr);
}

}  // namespace
}  // namespace slipway::executorch
