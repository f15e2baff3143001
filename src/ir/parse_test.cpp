// Reading and writing graphs as text.
#include "ir/parse.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace slipway {
namespace {

std::string message_of(const std::string& text) {
  try {
    parse_graph(text);
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), kInternal) << error.what();
    return error.what();
  }
  return "";
}

const char* const kAll = R"(dims: batch in 1..8, past in ..64, s in 1..
graph(%ids: i64[batch, s], %"odd name": f32[2, past]; %w.weight: f32[128, 32]) {
  %0: f32[batch, s, 32] = aten::embedding(%w.weight, %ids)
  %1: f32[] = constant 1.5
  %2: f32[batch, s, 32] = aten::add.Tensor(%0, %1, alpha=2)
  %3: f32[batch, s, 32] = aten::gelu(%2, approximate="tanh")
  %4: f16[batch, s, 32] = aten::_to_copy(%3, dtype=f16)
  %5: f32[batch, 1, 32] = aten::mean.dim(%4, [1], true, dtype=f32)
  %6: i64[3] = constant [1, -2, 3]
  %7: f32[batch, s, 64] = aten::cat([%3, %2], -1)
  %8: f32[batch, min(4, s), 64] = aten::slice.Tensor(%7, 1, None, 4)
  %9: f32[64] = constant #0123456789abcdef
  %10: f32[batch, 2*s] = aten::full([batch, 2*s], inf)
  return a=%4, b=%5, "c d"=%6, e=%8, f=%9, g=%10, h=%"odd name", ids=%ids
}
)";

TEST(GraphText, RoundTripsToTheSameText) {
  const auto graph = parse_graph(kAll);
  EXPECT_EQ(print(*graph), kAll);
  EXPECT_TRUE(equal(*graph, *parse_graph(print(*graph))));
  verify(*graph);
}

TEST(GraphText, OrderOfEmissionDoesNotShow) {
  Graph a, b;
  const ValueType type{DType::kF32, {4}};
  const Value xa = a.add_input("x", type), xb = b.add_input("x", type);
  const Value sa = sin(xa), ca = cos(xa);
  a.add_output("y", sa + ca);
  const Value cb = cos(xb), sb = sin(xb);
  b.add_output("y", sb + cb);
  EXPECT_EQ(print(a), print(b));
  EXPECT_TRUE(equal(a, b));
}

TEST(GraphText, ConstantsOfEveryDtypeKeepTheirBytes) {
  std::mt19937_64 random(7);
  for (int code = 0; code <= static_cast<int>(DType::kBool); ++code) {
    const auto dtype = static_cast<DType>(code);
    for (int round = 0; round < 50; ++round) {
      Tensor tensor(dtype, {2, 3});
      for (int64_t i = 0; i < tensor.nbytes(); ++i)
        tensor.mutable_data()[i] =
            std::byte(dtype == DType::kBool ? random() & 1 : random() & 0xff);
      Graph graph;
      graph.add_output("c", graph.constant(tensor));
      const std::string text = print(graph);
      const auto again = parse_graph(text);
      EXPECT_EQ(print(*again), text);
      if (text.find("nan") == std::string::npos) {
        EXPECT_EQ(first_difference(graph, *again).value_or("equal"), "equal") << text;
      }
    }
  }
}

TEST(GraphText, LargeConstantsAreKnownByTheirDigest) {
  Graph a, b;
  Tensor tensor(DType::kF32, {17});
  a.add_output("c", a.constant(tensor));
  tensor.mutable_values<float>()[16] = 1;
  b.add_output("c", b.constant(tensor.clone()));
  const auto again = parse_graph(print(b));
  EXPECT_EQ(print(*again), print(b));
  EXPECT_TRUE(equal(*again, b));
  Graph zeros;
  zeros.add_output("c", zeros.constant(Tensor(DType::kF32, {17})));
  EXPECT_FALSE(equal(*again, zeros));
}

TEST(GraphText, DifferencesAreNamed) {
  const auto difference = [](const char* a, const char* b) {
    return first_difference(*parse_graph(a), *parse_graph(b)).value_or("equal");
  };
  const char* const base = "graph(%x: f32[2]) { %0 = aten::mul.Scalar(%x, 2.0) return y=%0 }";
  EXPECT_EQ(difference(base, base), "equal");
  EXPECT_EQ(difference(base, "graph(%x: f32[2]) { %0 = aten::mul.Scalar(%x, 3.0) return y=%0 }"),
            "node 1 (aten::mul.Scalar): argument 'other' differs");
  EXPECT_EQ(difference(base, "graph(%x: f32[3]) { %0 = aten::mul.Scalar(%x, 2.0) return y=%0 }"),
            "node 0 (%x): types f32[2] and f32[3]");
  EXPECT_EQ(difference(base, "graph(%x: f32[2]) { %0 = aten::mul.Scalar(%x, 2.0) return z=%0 }"),
            "output 0: 'y' and 'z'");
  EXPECT_EQ(difference(base, "graph(%x: f32[2]) { return y=%x }"), "2 and 1 nodes");
  EXPECT_EQ(
      difference("graph() { %0: f32[] = constant 0.0 }", "graph() { %0: f32[] = constant -0.0 }")
          .substr(0, 31),
      "node 0 (a constant): constants ");
}

TEST(GraphText, TypesAndReturnMayBeLeftOut) {
  const auto graph = parse_graph("graph(%x: f32[2]) { %y = aten::neg(%x) %z = aten::exp(%y) }");
  EXPECT_EQ(print(*graph),
            "graph(%x: f32[2]) {\n  %0: f32[2] = aten::neg(%x)\n  %1: f32[2] = aten::exp(%0)\n"
            "  return out=%1\n}\n");
}

TEST(GraphText, ErrorsSayWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "line 1 column 1: need 'graph'"},
      {"graph(%x f32[2]) {}", "line 1 column 10: need ':'"},
      {"graph(%x: f33[2]) {}", "'f33' is no dtype"},
      {"graph(%x: f32[-2]) {}", "a size of -2"},
      {"graph(%x: f32[2],\n %x: f32[2]) {}", "line 2 column 2"},
      {"graph(%x: f32[2]) { return y=%z }", "%z is not defined"},
      {"graph(%x: f32[2]) {\n  %0: f32[3] = aten::neg(%x) }", "%0 is f32[2], the text says f32[3]"},
      {"graph(%x: f32[2]) { %0 = aten::nope(%x) }", "there is no op 'aten::nope'"},
      {"graph(%x: f32[2]) { %0 = aten::neg(%x, %x) }", "need a keyword argument of aten::neg"},
      {"graph(%x: f32[2]) { %0 = aten::neg(2) }", "argument 'self' has the wrong kind"},
      {"graph(%x: f32[2]) { %0, %1 = aten::neg(%x) }", "1 results, need 2"},
      {"graph(%x: f32[2]) { %x = aten::neg(%x) }", "%x is defined twice"},
      {"graph(%x: f32[2]) { %0 = aten::add.Tensor(%x, alpha=1, %x) }", "need a keyword argument"},
      {"graph(%x: f32[2]) { %0 = aten::cat([%x, None]) }", "argument 'tensors' has the wrong kind"},
      {"graph() { %0: f32[2] = constant [1] }", "got 1 elements, need 2"},
      {"graph() { %0: f32[1] = constant [1, 2] }", "more than 1 elements"},
      {"graph() { %0: i8[] = constant 128 }", "'128' is no i8"},
      {"graph() { %0: f32[17] = constant [1] }", "at most 16 elements"},
      {"graph() { %0: f32[] = constant #12 }", "need 16 hexadecimal digits"},
      {"graph() { %0 = constant 1 }", "a constant needs a type"},
      {"dims: a in 5..2 graph() {}", "has min 5 above max 2"},
      {"dims: nan in 1..2 graph() {}", "'nan' cannot name a dimension"},
      {"dims: a in 1..2, a in 1..2 graph() {}", "dimension 'a' is given twice"},
      {"graph(%x: f32[a // 0]) {}", "division of a size by zero"},
      {"graph(%x: f32[9223372036854775807 + 1]) {}", "overflows 64 bits"},
      {"graph(%x: f32[2]) { return y=%x } graph", "need the end of the text"},
      {"graph(%x: f32[2]) { return \"y\\q\"=%x }", "need one of the escapes"},
  };
  for (const auto& [text, part] : cases)
    EXPECT_NE(message_of(text).find(part), std::string::npos) << text << "\n" << message_of(text);
}

TEST(GraphText, HostileTextIsAnErrorNotACrash) {
  EXPECT_NE(message_of("graph(%x: f32[" + std::string(100000, '(') + "]) {}"), "");
  EXPECT_NE(message_of("graph(%x: f32[" + std::string(100000, '-') + "1]) {}"), "");
  std::string sizes;
  for (int i = 0; i < 65; ++i) sizes += i != 0 ? ", 1" : "1";
  EXPECT_NE(message_of("graph(%x: f32[" + sizes + "]) {}").find("64 dimensions"),
            std::string::npos);
  // Every op doubles the text of the size.
  std::string doubling = "graph(%x0: f32[s]) {\n";
  for (int i = 0; i < 60; ++i)
    doubling += "%y" + std::to_string(i) + " = aten::slice.Tensor(%x" + std::to_string(i) +
                ", 0, 0, t + " + std::to_string(i) + ") %x" + std::to_string(i + 1) +
                " = aten::cat([%x" + std::to_string(i) + ", %y" + std::to_string(i) + "])\n";
  EXPECT_NE(message_of(doubling + "}").find("too long"), std::string::npos);
  std::string product = "(a";
  for (char c = 'b'; c <= 'z'; ++c) product += std::string(" + ") + c;
  product += ")";
  std::string power = product;
  for (int i = 0; i < 20; ++i) power += "*" + product;
  EXPECT_NE(message_of("graph(%x: f32[" + power + "]) {}").find("too"), std::string::npos);
}

TEST(GraphText, DamagedTextNeverCrashes) {
  std::mt19937 random(11);
  const std::string good = kAll;
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(32 + random() % 95);
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        default:
          text.insert(at, good.substr(random() % good.size(), 1 + random() % 12));
      }
    }
    try {
      const auto graph = parse_graph(text);
      const std::string printed = print(*graph);
      EXPECT_EQ(print(*parse_graph(printed)), printed);
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), kInternal) << error.what() << "\n" << text;
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace slipway
