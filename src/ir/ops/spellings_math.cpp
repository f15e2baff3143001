// Spellings: products, logic, selection and other names of arithmetic.
#include "ir/ops/bodies.h"
#include "ir/ops/families.h"

namespace slipway::ops {
namespace {

/// The same arguments under another name.
template <const char* kOp>
Values renamed(const Args& a) {
  std::vector<OpArg> args;
  for (size_t i = 0; i < a.size(); ++i)
    args.push_back(named(a.op().schema.args[i].name, OpArg(a[i])));
  return {a.graph().emit(get_op(kOp), args)};
}

/// On bool the bitwise op is the logical one.
template <const char* kBits, const char* kLogic>
Values bits(const Args& a) {
  if (a.type(0).dtype != DType::kBool || a.type(1).dtype != DType::kBool) return renamed<kBits>(a);
  return renamed<kLogic>(a);
}

constexpr char kAnd[] = "aten::logical_and", kOr[] = "aten::logical_or";
constexpr char kXor[] = "aten::logical_xor";
constexpr char kAdd[] = "aten::add.Tensor", kSub[] = "aten::sub.Tensor";
constexpr char kMul[] = "aten::mul.Tensor", kMulScalar[] = "aten::mul.Scalar";
constexpr char kDiv[] = "aten::div.Tensor", kDivScalar[] = "aten::div.Scalar";
constexpr char kNeg[] = "aten::neg", kAbs[] = "aten::abs", kClamp[] = "aten::clamp";
constexpr char kMin[] = "aten::minimum", kMax[] = "aten::maximum";
constexpr char kNe[] = "aten::ne.Tensor", kGt[] = "aten::gt.Tensor";
constexpr char kGe[] = "aten::ge.Tensor", kLt[] = "aten::lt.Tensor", kLe[] = "aten::le.Tensor";
constexpr char kBitAnd[] = "aten::bitwise_and.Tensor", kBitOr[] = "aten::bitwise_or.Tensor";
constexpr char kBitXor[] = "aten::bitwise_xor.Tensor";
constexpr char kBitAndScalar[] = "aten::bitwise_and.Scalar";
constexpr char kBitOrScalar[] = "aten::bitwise_or.Scalar";

/// beta self + alpha (a b); a factor of 1 is left out.
Values plus_product(const Args& a) {
  const auto scaled = [&](Value x, size_t factor) {
    return a.number(factor) == 1.0 ? x : emit(a, kMulScalar, x, a[factor]);
  };
  const Value product = scaled(matmul(a.value(1), a.value(2)), 4);
  if (a.number(3) == 0.0) return {product};
  return {scaled(a.value(0), 3) + product};
}

Values product(const Args& a) { return {matmul(a.value(0), a.value(1))}; }

/// A number beside a tensor: of the tensor's dtype unless its own category is higher.
Value beside(const Args& a, size_t number_at, DType tensor) {
  return number(a, number_at, promote_scalar(tensor, a[number_at]));
}

DType of_number(const Arg& number) {
  if (std::holds_alternative<bool>(number)) return DType::kBool;
  return std::holds_alternative<Sym>(number) ? DType::kI64 : DType::kF32;
}

const OpRow kRows[] = {
    spelling("aten::square(Tensor self) -> Tensor",
             [](const Args& a) -> Values {
               return {emit(a, "aten::pow.Tensor_Scalar", a.value(0), Sym(2))};
             }),
    spelling("aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, "
             "Scalar alpha=1) -> Tensor",
             plus_product),
    spelling("aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
             "Scalar alpha=1) -> Tensor",
             plus_product),
    spelling("aten::bmm(Tensor self, Tensor mat2) -> Tensor", product),
    spelling("aten::mm(Tensor self, Tensor mat2) -> Tensor", product),
    spelling("aten::mv(Tensor self, Tensor vec) -> Tensor", product),
    spelling("aten::dot(Tensor self, Tensor tensor) -> Tensor", product),
    spelling("aten::outer(Tensor self, Tensor vec2) -> Tensor",
             [](const Args& a) -> Values { return {unsqueeze(a.value(0), 1) * a.value(1)}; }),
    spelling("aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
             [](const Args& a) -> Values {
               return {emit(a, kSub, a.value(1), a.value(0), named("alpha", OpArg(a[2])))};
             }),
    spelling("aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> "
             "Tensor",
             [](const Args& a) -> Values {
               return {
                   emit(a, kAdd, a.value(0), a.value(1) * a.value(2), named("alpha", OpArg(a[3])))};
             }),
    spelling("aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> "
             "Tensor",
             [](const Args& a) -> Values {
               return {
                   emit(a, kAdd, a.value(0), a.value(1) / a.value(2), named("alpha", OpArg(a[3])))};
             }),
    spelling("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
             [](const Args& a) -> Values {
               return {a.value(0) + emit(a, kMulScalar, a.value(1) - a.value(0), a[2])};
             }),
    spelling("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
             [](const Args& a) -> Values {
               const DType d = promote_scalar(a.type(1).dtype, a[0]);
               return {pow(number(a, size_t{0}, d), a.value(1))};
             }),
    spelling("aten::max.other(Tensor self, Tensor other) -> Tensor", renamed<kMax>),
    spelling("aten::min.other(Tensor self, Tensor other) -> Tensor", renamed<kMin>),
    spelling("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
             [](const Args& a) -> Values {
               return {where(a.value(0), a.value(1), beside(a, 2, a.type(1).dtype))};
             }),
    spelling("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
             [](const Args& a) -> Values {
               return {where(a.value(0), beside(a, 1, a.type(2).dtype), a.value(2))};
             }),
    spelling("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
             [](const Args& a) -> Values {
               const DType d = promote(of_number(a[1]), of_number(a[2]));
               return {where(a.value(0), number(a, size_t{1}, d), number(a, size_t{2}, d))};
             }),
    spelling("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
             [](const Args& a) -> Values {
               if (!a.type(2).shape.empty()) a.fail("the value must have no dimensions");
               return {where(a.value(1), to(a.value(2), a.type(0).dtype), a.value(0))};
             }),
    spelling("aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor", (bits<kBitAnd, kAnd>)),
    spelling("aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor", (bits<kBitOr, kOr>)),
    spelling("aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor", (bits<kBitXor, kXor>)),
    spelling("aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor", renamed<kBitAndScalar>),
    spelling("aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor", renamed<kBitOrScalar>),
    spelling("aten::negative(Tensor self) -> Tensor", renamed<kNeg>),
    spelling("aten::absolute(Tensor self) -> Tensor", renamed<kAbs>),
    spelling("aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
             renamed<kClamp>),
    spelling("aten::subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
             renamed<kSub>),
    spelling("aten::multiply.Tensor(Tensor self, Tensor other) -> Tensor", renamed<kMul>),
    spelling("aten::multiply.Scalar(Tensor self, Scalar other) -> Tensor", renamed<kMulScalar>),
    spelling("aten::divide.Tensor(Tensor self, Tensor other) -> Tensor", renamed<kDiv>),
    spelling("aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor", renamed<kDiv>),
    spelling("aten::divide.Scalar(Tensor self, Scalar other) -> Tensor", renamed<kDivScalar>),
    spelling("aten::not_equal.Tensor(Tensor self, Tensor other) -> Tensor", renamed<kNe>),
    spelling("aten::greater.Tensor(Tensor self, Tensor other) -> Tensor", renamed<kGt>),
    spelling("aten::greater_equal.Tensor(Tensor self, Tensor other) -> Tensor", renamed<kGe>),
    spelling("aten::less.Tensor(Tensor self, Tensor other) -> Tensor", renamed<kLt>),
    spelling("aten::less_equal.Tensor(Tensor self, Tensor other) -> Tensor", renamed<kLe>),
    spelling("aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
             [](const Args& a) -> Values {
               return {emit(a, "aten::mean.dim", a.value(0), none(), false,
                            named("dtype", OpArg(a[1])))};
             }),
    spelling("aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
             [](const Args& a) -> Values {
               return {emit(a, "aten::sum.dim_IntList", a.value(0), none(), false,
                            named("dtype", OpArg(a[1])))};
             }),
};

}  // namespace

std::span<const OpRow> spellings_math() { return kRows; }

}  // namespace slipway::ops
