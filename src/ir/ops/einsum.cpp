// Sums of products over named axes.
#include <algorithm>
#include <map>

#include "ir/ops/bodies.h"
#include "ir/ops/families.h"

namespace slipway::ops {
namespace {

/// A tensor whose axes have letters.
struct Term {
  Value value;
  std::string axes;

  bool has(char c) const { return axes.find(c) != std::string::npos; }
  Sym size(char c) const { return value.dim(static_cast<int64_t>(axes.find(c))); }
};

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

/// "ij,jk->ik"; without an arrow the letters that occur once, sorted.
Equation parse(const Args& a, const std::string& text) {
  Equation equation;
  std::string letters;
  for (const char c : text)
    if (c != ' ') letters += c;
  const size_t arrow = letters.find("->");
  std::string left = letters.substr(0, arrow);
  if (left.find('.') != std::string::npos)
    throw Error(kUnsupported, "[ir] aten::einsum: got '" + text + "', need letters without '...'");
  std::map<char, int> seen;
  equation.inputs.emplace_back();
  for (const char c : left) {
    if (c == ',') {
      equation.inputs.emplace_back();
      continue;
    }
    if (!std::isalpha(static_cast<unsigned char>(c))) a.fail("cannot read '" + text + "'");
    equation.inputs.back() += c;
    ++seen[c];
  }
  if (arrow != std::string::npos) {
    equation.output = letters.substr(arrow + 2);
    for (const char c : equation.output)
      if (seen.count(c) == 0 || std::count(equation.output.begin(), equation.output.end(), c) > 1)
        a.fail("cannot read '" + text + "'");
  } else {
    for (const auto& [c, count] : seen)
      if (count == 1) equation.output += c;
  }
  return equation;
}

/// The axes in the order of `wanted`, which has the same letters.
Term ordered(const Term& t, const std::string& wanted) {
  std::vector<int64_t> axes;
  for (const char c : wanted) axes.push_back(static_cast<int64_t>(t.axes.find(c)));
  return {wanted == t.axes ? t.value : permute(t.value, axes), wanted};
}

/// Sums the axes that `kept` does not have.
Term summed(Term t, const std::string& kept) {
  std::vector<int64_t> gone;
  std::string left;
  for (size_t i = 0; i < t.axes.size(); ++i)
    if (kept.find(t.axes[i]) == std::string::npos) gone.push_back(static_cast<int64_t>(i));
    else left += t.axes[i];
  if (gone.empty()) return t;
  return {to(sum(t.value, gone, false), t.value.dtype()), left};
}

SymShape sizes(const Term& t, const std::string& axes) {
  SymShape shape;
  for (const char c : axes) shape.push_back(t.size(c));
  return shape;
}

/// x times y, summed over what neither the output nor a later term has: one product of matrices
/// [shared..., own of x, summed] and [shared..., summed, own of y].
Term contracted(Term x, Term y, const std::string& needed) {
  x = summed(std::move(x), needed + y.axes);
  y = summed(std::move(y), needed + x.axes);
  std::string batch, own_x, own_y, inner;
  for (const char c : x.axes)
    (!y.has(c) ? own_x : needed.find(c) != std::string::npos ? batch : inner) += c;
  for (const char c : y.axes)
    if (!x.has(c)) own_y += c;
  x = ordered(x, batch + own_x + inner);
  y = ordered(y, batch + inner + own_y);
  const std::string axes = batch + own_x + own_y;
  if (inner.empty()) {  // no sum: broadcasting says it
    SymShape left = sizes(x, batch + own_x), right = sizes(y, batch);
    left.insert(left.end(), own_y.size(), Sym(1));
    right.insert(right.end(), own_x.size(), Sym(1));
    for (const char c : own_y) right.push_back(y.size(c));
    return {view(x.value, left) * view(y.value, right), axes};
  }
  SymShape left = sizes(x, batch), right = left, out = left;
  const Sym depth = numel(sizes(x, inner));
  left.insert(left.end(), {numel(sizes(x, own_x)), depth});
  right.insert(right.end(), {depth, numel(sizes(y, own_y))});
  for (const char c : own_x) out.push_back(x.size(c));
  for (const char c : own_y) out.push_back(y.size(c));
  const auto seen_as = [](Value v, const SymShape& s) { return v.shape() == s ? v : view(v, s); };
  const Value product = matmul(seen_as(x.value, left), seen_as(y.value, right));
  return {seen_as(product, out), axes};
}

Values einsum(const Args& a) {
  const Equation equation = parse(a, a.text(0));
  const std::vector<Value>& given = a.values(1);
  if (given.size() != equation.inputs.size() || given.empty())
    a.fail("needs " + std::to_string(equation.inputs.size()) + " tensors");
  std::map<char, Sym> known;
  std::vector<Term> terms;
  for (size_t i = 0; i < given.size(); ++i) {
    Term t{given[i], equation.inputs[i]};
    if (static_cast<int64_t>(t.axes.size()) != given[i].rank())
      a.fail("'" + t.axes + "' does not fit " + to_string(given[i].type()));
    for (size_t k = 0; k < t.axes.size(); ++k) {
      if (t.axes.find(t.axes[k]) != k)
        throw Error(kUnsupported, "[ir] aten::einsum: got '" + t.axes +
                                      "', need each letter once "
                                      "in a term: diagonals are not supported");
      const Sym size = given[i].dim(static_cast<int64_t>(k));
      require_equal(a, size, known.emplace(t.axes[k], size).first->second, "an axis's size");
    }
    terms.push_back(std::move(t));
  }
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string needed = equation.output;
    for (size_t k = i + 1; k < terms.size(); ++k) needed += terms[k].axes;
    result = contracted(result, terms[i], needed);
  }
  return {ordered(summed(result, equation.output), equation.output).value};
}

const OpRow kRows[] = {
    written("aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", einsum),
};

}  // namespace

std::span<const OpRow> sums_of_products() { return kRows; }

}  // namespace slipway::ops
