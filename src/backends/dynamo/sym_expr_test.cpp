// sympy's expressions in both spellings, and back.
#include "backends/dynamo/sym_expr.h"

#include <gtest/gtest.h>

#include "base/test_expect.h"

namespace slipway::dynamo {
namespace {

Sym symbol(const std::string& name) { return Sym::symbol(name, 1); }
Sym parse(std::string_view text) { return parse_sym_expr(text, symbol); }

TEST(SymExpr, ReadsReprAndStr) {
  const Sym s = symbol("s0"), t = symbol("s1");
  EXPECT_EQ(parse("Symbol('s0', positive=True, integer=True)"), s);
  EXPECT_EQ(parse("Mul(Integer(2), Symbol('s0', positive=True, integer=True))"), s * 2);
  EXPECT_EQ(parse("Add(Symbol(\"s0\"), Integer(-3))"), s - 3);
  EXPECT_EQ(parse("2*s0 + Max(s1, 5)//2 - 1"), s * 2 + floordiv(max(t, 5), 2) - 1);
  EXPECT_EQ(parse("-(s0 - 4) % 3"), mod(Sym(0) - (s - 4), 3));
  EXPECT_EQ(parse("s0**2"), s * s);
  EXPECT_EQ(parse("Pow(Symbol('s0'), Integer(2))"), s * s);
  EXPECT_EQ(parse("FloorDiv(s0, 2)"), floordiv(s, 2));
  EXPECT_EQ(parse("CleanDiv(s0, 2)"), floordiv(s, 2));
  EXPECT_EQ(parse("PythonMod(s0, 3)"), mod(s, 3));
  EXPECT_EQ(parse("ModularIndexing(s0, 2, 3)"), mod(floordiv(s, 2), 3));
  EXPECT_EQ(parse("Min(s0, s1, 7)"), min(min(s, t), 7));
}

TEST(SymExpr, WritesWhatItReads) {
  const Sym s = symbol("s0"), t = symbol("s1");
  for (const Sym e : {s, Sym(-7), s * 2 + t * s - 5, floordiv(s + t, 4), mod(s, 8), max(s, t),
                      min(s * 3, t), floordiv(s * s + 1, t + 2)})
    EXPECT_EQ(parse(sym_expr(e)), e) << sym_expr(e);
  EXPECT_EQ(sym_expr(s * 2), "Mul(Integer(2), Symbol('s0', positive=True, integer=True))");
}

TEST(SymExpr, RefusesWhatIsNoSize) {
  const auto refusal = [](ErrorKind kind, const std::string& text) {
    return error_of(kind, [&] { parse(text); });
  };
  EXPECT_TRUE(contains(refusal(kInvalid, "s0 +"), "need a number, a name"));
  EXPECT_TRUE(contains(refusal(kInvalid, "s0 s1"), "need an operator"));
  EXPECT_TRUE(contains(refusal(kInvalid, "99999999999999999999"), "64 bits"));
  EXPECT_TRUE(contains(refusal(kInvalid, "s0 // 0"), "zero"));
  EXPECT_TRUE(contains(refusal(kInvalid, "Symbol(s0)"), "in quotes"));
  EXPECT_TRUE(contains(refusal(kInvalid, "FloorDiv(s0)"), "two arguments"));
  EXPECT_TRUE(contains(refusal(kUnsupported, "0.5*s0"), "not whole"));
  EXPECT_TRUE(contains(refusal(kUnsupported, "s0**s1"), "a power of"));
  EXPECT_TRUE(contains(refusal(kUnsupported, "__import__(1)"), "__import__"));
  EXPECT_THROW(parse(std::string(5000, '(')), Error);
  EXPECT_THROW(parse(std::string(5000, '-') + "1"), Error);
  EXPECT_THROW(parse(std::string(100000, '1')), Error);
}

}  // namespace
}  // namespace slipway::dynamo
