// Reads the words of a graph's text; private to src/ir.
#pragma once

#include <string>
#include <string_view>

#include "slipway/error.h"

namespace slipway {

/// A position in a text and the small words that can stand there. Spaces and line ends separate.
/// Every failure is Error{kInvalid} with line and column.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// Where the next word begins.
  size_t at();
  bool at_end();
  /// The next character after spaces, or 0 at the end.
  char peek();
  /// Takes `token` if it comes next; a token that ends in a letter must end its word.
  bool take(std::string_view token);
  void need(std::string_view token);

  /// A dotted word, or a string in quotes.
  std::string name();
  /// A string in quotes with its escapes resolved.
  std::string quoted();
  /// Letters, digits and the characters of `also`; at least one.
  std::string_view word(std::string_view also = "");
  /// Everything up to a comma or closing bracket that belongs to the surroundings.
  std::string_view expression();

  [[noreturn]] void fail(const std::string& need) const { fail_at(at_, need); }
  /// "[text] line 3 column 7: ...".
  [[noreturn]] void fail_at(size_t at, const std::string& message) const;
  std::string place(size_t at) const;

 private:
  void skip();

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace slipway
