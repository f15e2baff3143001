// Canonical forms, bounds and rules of symbolic integers.
#include "ir/sym.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace slipway {
namespace {

const Sym a = Sym::symbol("a", 0, 9), b = Sym::symbol("b", 1, 8), s = Sym::symbol("s", 1);

TEST(Sym, SumsAndProductsHaveOneForm) {
  EXPECT_EQ(a + b, b + a);
  EXPECT_EQ(a + a, 2 * a);
  EXPECT_EQ(a - a, Sym(0));
  EXPECT_EQ((a + 1) * (a - 1), a * a - 1);
  EXPECT_EQ((a + b) * s, b * s + s * a);
  EXPECT_EQ(a * 0, Sym(0));
  EXPECT_EQ((2 * a * s + 1).str(), "2*a*s + 1");
  EXPECT_EQ((a - b).str(), "a - b");
  EXPECT_EQ((1 - a * s).str(), "-a*s + 1");
  EXPECT_EQ((s + a + 3).str(), "a + s + 3");
}

TEST(Sym, OneSymbolIsItsNameAndItsBounds) {
  EXPECT_EQ(Sym::symbol("a", 0, 9), a);
  EXPECT_FALSE(Sym::symbol("a", 0, 8) == a);
  EXPECT_FALSE(Sym::symbol("a", 0, 8) + 1 == a + 1);
  EXPECT_THROW(Sym::symbol("a", 3, 2), Error);
  EXPECT_THROW(Sym::symbol("a b"), Error);
  EXPECT_THROW(Sym::symbol("1a"), Error);
  EXPECT_THROW(Sym::symbol(""), Error);
}

TEST(Sym, QuotientsAndRemainders) {
  EXPECT_EQ(floordiv(-7, 2), Sym(-4));
  EXPECT_EQ(mod(-7, 2), Sym(1));
  EXPECT_EQ(mod(7, -2), Sym(-1));
  EXPECT_EQ(floordiv(6 * a + 4 * s, 2), 3 * a + 2 * s);
  EXPECT_EQ(mod(6 * a + 4 * s, 2), Sym(0));
  EXPECT_EQ(floordiv(b * s * 4, b * 2), 2 * s);
  EXPECT_EQ(floordiv(a, 10), Sym(0));
  EXPECT_EQ(mod(a, 10), a);
  EXPECT_EQ(floordiv(a, 9).str(), "a // 9");
  EXPECT_EQ(mod(s + 1, 4).str(), "(s + 1) % 4");
  EXPECT_EQ((2 * floordiv(s, 4)).str(), "2*(s // 4)");
  // a may be 0: nothing is cancelled.
  EXPECT_EQ(floordiv(a * s, a).str(), "(a*s) // a");
  EXPECT_THROW(floordiv(s, 0), Error);
  EXPECT_THROW(mod(s, 0), Error);
}

TEST(Sym, Extrema) {
  EXPECT_EQ(min(s, 1), Sym(1));
  EXPECT_EQ(max(s, 0), s);
  EXPECT_EQ(max(a + s, a), a + s);
  EXPECT_EQ(min(a, 9), a);
  EXPECT_EQ(min(s, 4).str(), "min(4, s)");
  EXPECT_EQ(min(s, 4), min(4, s));
  EXPECT_EQ(max(s - 4, 0).str(), "max(0, s - 4)");
}

TEST(Sym, BoundsAreSound) {
  const auto expect = [](Sym x, int64_t lo, int64_t hi) {
    EXPECT_EQ(x.bounds(), (Sym::Bounds{lo, hi})) << x.str();
  };
  expect(a + b, 1, 17);
  expect(a - b, -8, 8);
  expect(a * b, 0, 72);
  expect(-2 * a + 3, -15, 3);
  expect(s + a, 1, Sym::kUnbounded);
  expect(-1 * s, -Sym::kUnbounded, -1);
  expect(floordiv(b, floordiv(b, 4)), 0, 8);  // nothing where b < 4
  expect(floordiv(a, 2), 0, 4);
  expect(mod(s, 4), 0, 3);
  expect(min(s, 4), 1, 4);
  expect(max(a, 4), 4, 9);
  EXPECT_TRUE(known_le(a, b + 8));
  EXPECT_FALSE(known_le(a, b + 7));
  EXPECT_TRUE(known_ne(a, s + 9));
  EXPECT_FALSE(known_ne(a, s));
}

TEST(Sym, OverflowIsAnError) {
  const Sym most = Sym::kUnbounded, least = -1 * most - 1;
  EXPECT_THROW(most + 1, Error);
  EXPECT_THROW(most * 2, Error);
  EXPECT_THROW(least - 1, Error);
  EXPECT_THROW((most * s) * 2, Error);
  EXPECT_THROW(most * s + s, Error);
  EXPECT_THROW(floordiv(least, -1), Error);
  EXPECT_EQ(mod(least, -1), Sym(0));
  EXPECT_THROW(floordiv(least * s, -1), Error);
  EXPECT_THROW((most * s).evaluate({{"s", 2}}), Error);
}

TEST(Sym, SizesOfExpressionsAreLimited) {
  Sym sum = 0;
  EXPECT_THROW(
      {
        for (int i = 0; i < 2000; ++i) sum = sum + Sym::symbol("n" + std::to_string(i));
      },
      Error);
}

TEST(Sym, SubstitutionAndValues) {
  const Sym x = a * s + floordiv(s, 4) - min(a, b);
  EXPECT_EQ(x.evaluate({{"a", 3}, {"b", 2}, {"s", 9}}), 27);
  EXPECT_EQ(x.substitute({{"s", 4 * b}}), 4 * a * b + b - min(a, b));
  EXPECT_THROW(x.evaluate({{"a", 3}, {"s", 9}}), Error);
  ASSERT_EQ(x.symbols().size(), 3u);
  EXPECT_EQ(x.symbols()[2], s);
  EXPECT_EQ(numel({b, 2, s}), 2 * b * s);
  EXPECT_EQ(shape_string({b, s + 1}), "[b, s + 1]");
}

std::optional<Sym> lookup(std::string_view name) {
  for (const Sym x : {a, b, s})
    if (x.name() == name) return x;
  return std::nullopt;
}

TEST(Sym, ReadsWhatItPrints) {
  EXPECT_EQ(parse_sym("2*a*s - (b // 3) + max(a, min(b, 4)) % 5", lookup),
            2 * a * s - floordiv(b, 3) + mod(max(a, min(b, 4)), 5));
  EXPECT_EQ(parse_sym("-a*b", lookup), -1 * a * b);
  EXPECT_EQ(parse_sym("a - -2", lookup), a + 2);
  for (const char* bad :
       {"", "a +", "a b", "(a", "a)", "c", "1x", "a // 0", "max(a)", "99999999999999999999"})
    EXPECT_THROW(parse_sym(bad, lookup), Error) << bad;
}

struct Random {
  std::mt19937 generator{5};
  int64_t below(int64_t n) { return static_cast<int64_t>(generator() % static_cast<unsigned>(n)); }

  /// An expression, and its value computed beside it.
  std::pair<Sym, int64_t> expression(int depth, const std::map<std::string, int64_t>& values) {
    if (depth == 0 || below(5) == 0) {
      if (below(3) == 0) {
        const int64_t v = below(9) - 4;
        return {v, v};
      }
      const Sym x = below(3) == 0 ? a : below(2) == 0 ? b : s;
      return {x, values.at(x.name())};
    }
    const auto [x, p] = expression(depth - 1, values);
    auto [y, q] = expression(depth - 1, values);
    const auto floor = [](int64_t n, int64_t d) {
      return static_cast<int64_t>(std::floor(static_cast<double>(n) / static_cast<double>(d)));
    };
    switch (below(7)) {
      case 0:
        return {x - y, p - q};
      case 1:
        return {x * y, p * q};
      case 2:
        return {min(x, y), std::min(p, q)};
      case 3:
        return {max(x, y), std::max(p, q)};
      case 4:
      case 5: {
        const int64_t d = below(2) == 0 ? 1 + below(6) : -1 - below(6);
        if (below(2) == 0) return {floordiv(x, d), floor(p, d)};
        return {mod(x, d), p - d * floor(p, d)};
      }
      default:
        return {x + y, p + q};
    }
  }
};

TEST(Sym, RandomExpressionsKeepTheirValueBoundsAndText) {
  Random random;
  for (int round = 0; round < 3000; ++round) {
    const std::map<std::string, int64_t> values = {
        {"a", random.below(10)}, {"b", 1 + random.below(8)}, {"s", 1 + random.below(20)}};
    const auto [x, value] = random.expression(4, values);
    ASSERT_EQ(x.evaluate(values), value) << x.str();
    ASSERT_EQ(parse_sym(x.str(), lookup), x) << x.str();
    const Sym::Bounds range = x.bounds();
    ASSERT_LE(range.lo, value) << x.str();
    ASSERT_GE(range.hi, value) << x.str();
    std::map<std::string, Sym> numbers(values.begin(), values.end());
    ASSERT_EQ(x.substitute(numbers), Sym(value)) << x.str();
  }
}

TEST(Sym, DivisionByExpressionsKeepsItsValue) {
  Random random;
  for (int round = 0; round < 2000; ++round) {
    const std::map<std::string, int64_t> values = {
        {"a", random.below(10)}, {"b", 1 + random.below(8)}, {"s", 1 + random.below(20)}};
    const auto [x, p] = random.expression(3, values);
    const auto [y, q] = random.expression(2, values);
    if (q == 0 || y.is_const(0)) continue;
    const Sym quotient = floordiv(x, y), rest = mod(x, y);
    EXPECT_EQ((quotient * y + rest).evaluate(values), p) << x.str() << " by " << y.str();
    const int64_t r = rest.evaluate(values);
    EXPECT_TRUE(q > 0 ? r >= 0 && r < q : r <= 0 && r > q) << x.str() << " by " << y.str();
    EXPECT_EQ(parse_sym(quotient.str(), lookup), quotient) << quotient.str();
    EXPECT_EQ(parse_sym(rest.str(), lookup), rest) << rest.str();
  }
}

TEST(Sym, DividesSumsAndQuotients) {
  const Sym n = Sym::symbol("n", 1), m = Sym::symbol("m", 1), z = Sym::symbol("z", 0);
  EXPECT_EQ(floordiv(n * m * 32 + m * 32, n * m + m), Sym(32));
  EXPECT_EQ(floordiv(n * 2 + 2, n + 1), Sym(2));
  EXPECT_EQ(floordiv(n * 2 + 3, n + 1).str(), "(2*n + 3) // (n + 1)");
  EXPECT_NE(floordiv(z * 2, z), Sym(2));  // z may be 0
}

// What a sequence is padded to, so that it is a number of chunks, and a chunk's size out of both.
TEST(Sym, KnowsTheSizeOfAChunk) {
  const Sym n = Sym::symbol("n", 1), z = Sym::symbol("z", 0);
  const auto padded = [](Sym x) { return x + mod(4 - mod(x, 4), 4); };
  EXPECT_EQ(padded(n).str(), "(-n) % 4 + n");
  EXPECT_EQ(mod(padded(n), 4), Sym(0));
  EXPECT_EQ(mod(padded(n) + 3, 2), Sym(1));
  EXPECT_EQ(mod(n + mod(n, 6), 4).str(), "(n % 6 + n) % 4");  // 6 is no multiple of 4
  const Sym chunks = floordiv(padded(n), 4);
  EXPECT_EQ(floordiv(padded(n), chunks), Sym(4));
  EXPECT_EQ(floordiv(padded(n) * 32, chunks), Sym(128));
  EXPECT_EQ(floordiv(padded(n) * n * 64, chunks * n * 16), Sym(16));
  EXPECT_EQ(floordiv(padded(n) * n, chunks * 4), n);
  EXPECT_NE(floordiv(padded(z), floordiv(padded(z), 4)), Sym(4));  // no chunk where z is 0
  EXPECT_NE(floordiv(n, floordiv(n, 4)), Sym(4));
}

}  // namespace
}  // namespace slipway
