// A recursive-descent reader of sympy expressions, and the writer of their repr.
#include "backends/dynamo/sym_expr.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cctype>
#include <vector>

#include "base/json.h"

namespace slipway::dynamo {
namespace {

constexpr int kMaxDepth = 100, kMaxPower = 8;
constexpr size_t kMaxText = 1 << 16;

class Parser {
 public:
  Parser(std::string_view text, const SymbolTable& symbols) : text_(text), symbols_(symbols) {}

  Sym parse() {
    if (text_.size() > kMaxText) fail("an expression of at most 65536 characters");
    const Sym value = sum();
    space();
    if (at_ != text_.size()) fail("an operator");
    return value;
  }

 private:
  Sym sum() {
    const Level level(*this);
    Sym value = product();
    for (;;) {
      if (take("+")) value = value + product();
      else if (take("-")) value = value - product();
      else return value;
    }
  }

  Sym product() {
    Sym value = signed_power();
    for (;;) {
      if (take("//")) value = floordiv(value, signed_power());
      else if (take("%")) value = mod(value, signed_power());
      else if (peek("*") && !peek("**") && take("*")) value = value * signed_power();
      else return value;
    }
  }

  Sym signed_power() {
    const Level level(*this);
    if (take("-")) return Sym(0) - signed_power();
    const Sym base = primary();
    return take("**") ? power(base, signed_power()) : base;
  }

  Sym power(Sym base, Sym exponent) {
    if (!exponent.is_const() || exponent.value() < 0 || exponent.value() > kMaxPower)
      unsupported(fmt::format("a power of {}", exponent.str()));
    Sym value = 1;
    for (int64_t i = 0; i < exponent.value(); ++i) value = value * base;
    return value;
  }

  Sym primary() {
    space();
    if (take("(")) {
      const Sym value = sum();
      need(")");
      return value;
    }
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0)
      return number();
    const std::string name = identifier();
    return take("(") ? call(name) : symbols_(name);
  }

  Sym number() {
    int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("an integer of 64 bits");
    at_ = static_cast<size_t>(end - text_.data());
    if (at_ < text_.size() && text_[at_] == '.') unsupported("a number that is not whole");
    return value;
  }

  std::string identifier() {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    if (at_ == begin) fail("a number, a name or a parenthesis");
    return std::string(text_.substr(begin, at_ - begin));
  }

  Sym call(const std::string& name) {
    if (name == "Symbol") return symbol();
    if (name == "Integer") {
      const Sym value = signed_power();
      need(")");
      return value;
    }
    const std::vector<Sym> args = arguments();
    const auto fold = [&](auto&& op) {
      if (args.empty()) fail(fmt::format("arguments of {}", name));
      Sym value = args[0];
      for (size_t i = 1; i < args.size(); ++i) value = op(value, args[i]);
      return value;
    };
    const auto two = [&] {
      if (args.size() != 2) fail(fmt::format("two arguments of {}, got {}", name, args.size()));
    };
    if (name == "Add") return fold([](Sym a, Sym b) { return a + b; });
    if (name == "Mul") return fold([](Sym a, Sym b) { return a * b; });
    if (name == "Max") return fold([](Sym a, Sym b) { return max(a, b); });
    if (name == "Min") return fold([](Sym a, Sym b) { return min(a, b); });
    if (name == "FloorDiv" || name == "CleanDiv") return two(), floordiv(args[0], args[1]);
    if (name == "Mod" || name == "PythonMod") return two(), mod(args[0], args[1]);
    if (name == "Pow" || name == "PowByNatural") return two(), power(args[0], args[1]);
    if (name == "ModularIndexing") {
      if (args.size() != 3) fail("three arguments of ModularIndexing");
      return mod(floordiv(args[0], args[1]), args[2]);
    }
    unsupported(fmt::format("the function {}", quote(name)));
  }

  std::vector<Sym> arguments() {
    std::vector<Sym> args;
    if (take(")")) return args;
    do {
      if (!at_keyword()) args.push_back(sum());
    } while (take(","));
    need(")");
    return args;
  }

  /// Skips `evaluate=False` and the like.
  bool at_keyword() {
    const size_t before = at_;
    space();
    if (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) {
      identifier();
      if (peek("=") && !peek("==") && take("=")) {
        space();
        identifier();
        return true;
      }
    }
    at_ = before;
    return false;
  }

  /// After "Symbol(": 's0', positive=True, integer=True).
  Sym symbol() {
    space();
    const char mark = at_ < text_.size() ? text_[at_] : '\0';
    if (mark != '\'' && mark != '"') fail("the name of a symbol in quotes");
    ++at_;
    const std::string name = identifier();
    need(std::string_view(&mark, 1));
    while (take(","))
      if (!at_keyword()) fail("an assumption such as integer=True");
    need(")");
    return symbols_(name);
  }

  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool peek(std::string_view word) {
    space();
    return text_.substr(at_).starts_with(word);
  }
  bool take(std::string_view word) {
    if (!peek(word)) return false;
    at_ += word.size();
    return true;
  }
  void need(std::string_view word) {
    if (!take(word)) fail(fmt::format("'{}'", word));
  }

  [[noreturn]] void fail(const std::string& expected) const {
    throw Error(kInvalid, fmt::format("[pt2] size expression {} at character {}: need {}",
                                      quote(text_, 200), at_ + 1, expected));
  }
  [[noreturn]] void unsupported(const std::string& what) const {
    throw Error(kUnsupported, fmt::format("[pt2] size expression {}: {} is not supported",
                                          quote(text_, 200), what));
  }

  struct Level {
    explicit Level(Parser& parser) : depth(parser.depth_) {
      if (++depth > kMaxDepth) parser.fail("fewer levels");
    }
    ~Level() { --depth; }
    int& depth;
  };

  std::string_view text_;
  const SymbolTable& symbols_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Sym parse_sym_expr(std::string_view text, const SymbolTable& symbols) {
  return Parser(text, symbols).parse();
}

std::string sym_expr(Sym expression) {
  const char* name = nullptr;
  switch (expression.kind()) {
    case SymKind::kConst:
      return fmt::format("Integer({})", expression.value());
    case SymKind::kSymbol:
      return fmt::format("Symbol('{}', {}=True, integer=True)", expression.name(),
                         expression.bounds().lo >= 1 ? "positive" : "nonnegative");
    case SymKind::kAdd:
      name = "Add";
      break;
    case SymKind::kMul:
      name = "Mul";
      break;
    case SymKind::kFloorDiv:
      name = "FloorDiv";
      break;
    case SymKind::kMod:
      name = "Mod";
      break;
    case SymKind::kMin:
      name = "Min";
      break;
    case SymKind::kMax:
      name = "Max";
      break;
  }
  std::vector<std::string> args;
  for (const Sym& arg : expression.args()) args.push_back(sym_expr(arg));
  return fmt::format("{}({})", name, fmt::join(args, ", "));
}

std::string symbol_name(const std::string& name) {
  return name.starts_with("s") && !name.starts_with("s_") ? name : "s_" + name;
}

std::string plain_name(const std::string& symbol) {
  return symbol.starts_with("s_") && symbol.size() > 2 ? symbol.substr(2) : symbol;
}

}  // namespace slipway::dynamo
