// Reads the words of a graph's text.
#include "ir/parse_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace slipway {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string Scanner::place(size_t at) const {
  const std::string_view before = text_.substr(0, at);
  const size_t line_start = before.rfind('\n');
  const size_t column = line_start == std::string_view::npos ? at : at - line_start - 1;
  return fmt::format("[text] line {} column {}", 1 + std::count(before.begin(), before.end(), '\n'),
                     column + 1);
}

void Scanner::fail_at(size_t at, const std::string& message) const {
  throw Error(kInvalid, place(std::min(at, text_.size())) + ": " + message);
}

void Scanner::skip() {
  while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
}

size_t Scanner::at() {
  skip();
  return at_;
}

bool Scanner::at_end() { return at() == text_.size(); }

char Scanner::peek() {
  skip();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Scanner::take(std::string_view token) {
  skip();
  if (text_.substr(at_, token.size()) != token) return false;
  const size_t end = at_ + token.size();
  if (is_word(token.back()) && end < text_.size() && is_word(text_[end])) return false;
  at_ = end;
  return true;
}

void Scanner::need(std::string_view token) {
  if (!take(token)) fail(fmt::format("need '{}'", token));
}

std::string Scanner::name() {
  if (peek() == '"') return quoted();
  return std::string(word("."));
}

std::string_view Scanner::word(std::string_view also) {
  skip();
  const size_t begin = at_;
  while (at_ < text_.size() &&
         (is_word(text_[at_]) || also.find(text_[at_]) != std::string_view::npos))
    ++at_;
  if (at_ == begin) fail("need a name");
  return text_.substr(begin, at_ - begin);
}

std::string Scanner::quoted() {
  need("\"");
  std::string out;
  while (true) {
    if (at_ >= text_.size()) fail("need '\"'");
    const char c = text_[at_++];
    if (c == '"') return out;
    if (c != '\\') {
      out += c;
      continue;
    }
    const char escape = at_ < text_.size() ? text_[at_++] : '\0';
    if (escape == '"' || escape == '\\') out += escape;
    else if (escape == 'x' && text_.size() - at_ >= 2 && hex_digit(text_[at_]) >= 0 &&
             hex_digit(text_[at_ + 1]) >= 0) {
      out += static_cast<char>(hex_digit(text_[at_]) * 16 + hex_digit(text_[at_ + 1]));
      at_ += 2;
    } else {
      fail_at(at_ - 1, "need one of the escapes \\\", \\\\, \\x and two digits");
    }
  }
}

std::string_view Scanner::expression() {
  skip();
  const size_t begin = at_;
  int depth = 0;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '(') ++depth;
    if (c == ')' && depth-- == 0) break;
    if ((c == ',' && depth == 0) || c == ']' || c == '\n' || c == ';' || c == '}' || c == '{')
      break;
  }
  size_t end = at_;
  while (end > begin && std::isspace(static_cast<unsigned char>(text_[end - 1]))) --end;
  if (end == begin) fail("need a value");
  return text_.substr(begin, end - begin);
}

}  // namespace slipway
