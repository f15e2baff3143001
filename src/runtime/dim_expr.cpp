// Sums of dimension names, as graphs write them: "past_sequence_length + sequence_length", "s36 +
// 1".
#include "runtime/dim_expr.h"

#include <charconv>

namespace slipway {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

std::string_view trim_left(std::string_view text) {
  const size_t at = text.find_first_not_of(" \t");
  return at == text.npos ? std::string_view{} : text.substr(at);
}

}  // namespace

std::optional<DimExpr> DimExpr::parse(std::string_view text) {
  DimExpr expr;
  bool negative = false;
  for (text = trim_left(text);;) {
    size_t length = 0;
    while (length < text.size() && is_name(text[length])) ++length;
    if (length == 0) return std::nullopt;
    const std::string_view word = text.substr(0, length);
    if (is_digit(word.front())) {
      int64_t value = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + length, value);
      if (error != std::errc{} || end != word.data() + length) return std::nullopt;
      if (__builtin_add_overflow(expr.constant_, negative ? -value : value, &expr.constant_))
        return std::nullopt;
    } else {
      expr.terms_.push_back({negative, std::string(word)});
    }
    text = trim_left(text.substr(length));
    if (text.empty()) return expr;
    if (text.front() != '+' && text.front() != '-') return std::nullopt;
    negative = text.front() == '-';
    text = trim_left(text.substr(1));
  }
}

bool DimExpr::is_symbol() const {
  return terms_.size() == 1 && !terms_.front().negative && constant_ == 0;
}

std::optional<int64_t> DimExpr::evaluate(
    const std::function<std::optional<int64_t>(const std::string&)>& lookup) const {
  int64_t sum = constant_;
  for (const Term& term : terms_) {
    const std::optional<int64_t> value = lookup(term.name);
    if (!value) return std::nullopt;
    const bool overflow = term.negative ? __builtin_sub_overflow(sum, *value, &sum)
                                        : __builtin_add_overflow(sum, *value, &sum);
    if (overflow) return std::nullopt;
  }
  return sum;
}

}  // namespace slipway
