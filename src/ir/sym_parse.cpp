// Reads the text form of symbolic integers.
#include <fmt/format.h>

#include <cctype>

#include "ir/sym.h"

namespace slipway {
namespace {

using Lookup = std::function<std::optional<Sym>(std::string_view)>;

/// sum: product (('+' | '-') product)*; product: quotient (('*' | '//' | '%') quotient)*;
/// atom: number, name, 'min(a, b)', 'max(a, b)', '(sum)', '-atom'.
class Parser {
 public:
  Parser(std::string_view text, const Lookup& lookup) : text_(text), lookup_(lookup) {}

  Sym parse() {
    const Sym result = sum();
    skip();
    if (at_ != text_.size()) fail("an operator or the end");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& need) const {
    throw Error(kInvalid, fmt::format("[sym] in '{}' at {}: need {}", text_, at_, need));
  }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  Sym sum() {
    if (++depth_ > 64) fail("fewer nested parentheses");
    Sym result = product();
    while (true) {
      if (take("+")) result = result + product();
      else if (take("-")) result = result - product();
      else break;
    }
    --depth_;
    return result;
  }

  Sym product() {
    Sym result = atom();
    while (true) {
      if (take("//")) result = floordiv(result, atom());
      else if (take("*")) result = result * atom();
      else if (take("%")) result = mod(result, atom());
      else return result;
    }
  }

  Sym pair(Sym (*combine)(Sym, Sym)) {
    const Sym a = sum();
    if (!take(",")) fail("','");
    const Sym b = sum();
    if (!take(")")) fail("')'");
    return combine(a, b);
  }

  Sym atom() {
    if (take("-")) {
      if (++depth_ > 64) fail("fewer signs");
      const Sym result = Sym(-1) * atom();
      --depth_;
      return result;
    }
    if (take("(")) {
      const Sym result = sum();
      if (!take(")")) fail("')'");
      return result;
    }
    if (take("min(")) return pair(min);
    if (take("max(")) return pair(max);
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) fail("a number or a name");
    if (!std::isdigit(static_cast<unsigned char>(word[0]))) {
      if (const auto found = lookup_(word)) return *found;
      throw Error(kInvalid, fmt::format("[sym] '{}' is not a dimension, in '{}'", word, text_));
    }
    int64_t value = 0;
    for (const char c : word) {
      if (!std::isdigit(static_cast<unsigned char>(c)) ||
          __builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, int64_t{c - '0'}, &value))
        fail("a number of at most 63 bits");
    }
    return value;
  }

  std::string_view text_;
  const Lookup& lookup_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Sym parse_sym(std::string_view text, const Lookup& lookup) { return Parser(text, lookup).parse(); }

}  // namespace slipway
