// Identities of arithmetic, logic and casts.
#include "passes/canonicalize.h"

#include <fmt/format.h>

#include "ir/build.h"

namespace slipway {
namespace {

std::optional<Value> give_x(Match& m) { return m["x"]; }

/// Bits of the significand of a floating dtype, the hidden one included.
int precision(DType d) {
  switch (d) {
    case DType::kF64:
      return 53;
    case DType::kF32:
      return 24;
    case DType::kF16:
      return 11;
    case DType::kBF16:
      return 8;
    case DType::kF8E4M3:
      return 4;
    default:
      return 3;
  }
}

int exponent_bits(DType d) {
  switch (d) {
    case DType::kF64:
      return 11;
    case DType::kF32:
    case DType::kBF16:
      return 8;
    case DType::kF16:
    case DType::kF8E5M2:
      return 5;
    default:
      return 4;
  }
}

bool is_signed(DType d) {
  return d == DType::kI64 || d == DType::kI32 || d == DType::kI16 || d == DType::kI8;
}

/// True when every value of `from` is one of `to`.
bool holds_every(DType to, DType from) {
  if (to == from || from == DType::kBool) return true;
  if (to == DType::kBool) return false;
  if (is_floating(from))
    return is_floating(to) && precision(to) >= precision(from) &&
           exponent_bits(to) >= exponent_bits(from);
  const int64_t bits = 8 * itemsize(from) - (is_signed(from) ? 1 : 0);
  if (is_floating(to)) return precision(to) >= bits;
  if (is_signed(from) && !is_signed(to)) return false;
  return 8 * itemsize(to) - (is_signed(to) ? 1 : 0) >= bits;
}

constexpr Rule kRules[] = {
    // x + 0 -> x
    {"add_zero", [](Pattern& p) { return p.any("x") + 0.0; }, give_x},
    // x - 0 -> x
    {"sub_zero", [](Pattern& p) { return p.any("x") - 0.0; }, give_x},
    // x * 1 -> x
    {"mul_one", [](Pattern& p) { return p.any("x") * 1.0; }, give_x},
    // x / 1 -> x
    {"div_one", [](Pattern& p) { return p.any("x") / 1.0; }, give_x},
    // x^1 -> x
    {"pow_one", [](Pattern& p) { return pow(p.any("x"), 1.0); }, give_x},
    // -(-x) -> x
    {"neg_twice", [](Pattern& p) { return neg(neg(p.any("x"))); }, give_x},
    // clone(x) -> x: graphs are functional, nobody writes to either
    {"clone",
     [](Pattern& p) {
       return p.op("aten::clone", {p.any("x"), named("memory_format", p.ignored())});
     },
     give_x},
    // on bool the bitwise ops are the logical ones
    {"bits_of_bool",
     [](Pattern& p) {
       const bool all = p.choose("op", 2) == 0;
       return p.op(all ? "aten::bitwise_and.Tensor" : "aten::bitwise_or.Tensor",
                   {p.any("x"), p.any("y")});
     },
     [](Match& m) -> std::optional<Value> {
       if (m["x"].dtype() != DType::kBool || m["y"].dtype() != DType::kBool) return std::nullopt;
       return m.emit(m.choice("op") == 0 ? "aten::logical_and" : "aten::logical_or", m["x"],
                     m["y"]);
     },
     2},
    {"not_of_bool", [](Pattern& p) { return p.op("aten::bitwise_not", {p.any("x")}); },
     [](Match& m) -> std::optional<Value> {
       if (m["x"].dtype() != DType::kBool) return std::nullopt;
       return m.emit("aten::logical_not", m["x"]);
     }},
    // x cast to its own dtype -> x
    {"cast_same",
     [](Pattern& p) {
       return p.op("aten::_to_copy", {p.any("x"), named("dtype", p.dtype("to"))});
     },
     [](Match& m) -> std::optional<Value> {
       if (m["x"].dtype() != m.dtype("to")) return std::nullopt;
       return m["x"];
     }},
    // (x cast to a wider dtype) cast to d -> x cast to d
    {"cast_twice",
     [](Pattern& p) {
       const Value wide = p.op("aten::_to_copy", {p.any("x"), named("dtype", p.dtype("by"))});
       return p.op("aten::_to_copy", {wide, named("dtype", p.dtype("to"))});
     },
     [](Match& m) -> std::optional<Value> {
       if (!holds_every(m.dtype("by"), m["x"].dtype()))
         return m.fail(fmt::format("{} does not hold every {}", short_name(m.dtype("by")),
                                   short_name(m["x"].dtype())));
       return to(m["x"], m.dtype("to"));
     }},
    // where(c, x, x) -> x
    {"where_same", [](Pattern& p) { return where(p.any("condition"), p.any("x"), p.any("x")); },
     give_x},
    // x and true -> x
    {"and_true",
     [](Pattern& p) {
       return logical_and(p.any("x"), p.op("aten::full", {p.sizes("shape"), 1.0,
                                                          named("dtype", p.dtype("dtype"))}));
     },
     give_x},
};

}  // namespace

std::span<const Rule> arithmetic_identities() { return kRules; }

int64_t canonicalize(Graph& graph, PassContext& context) {
  std::vector<Rule> rules;
  for (const auto part : {arithmetic_identities(), shape_identities()})
    rules.insert(rules.end(), part.begin(), part.end());
  return apply_rules(graph, rules, context);
}

}  // namespace slipway
