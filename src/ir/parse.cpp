// Reads graphs from text.
#include "ir/parse.h"

#include <fmt/format.h>

#include <type_traits>

#include "ir/parse_literal.h"
#include "ir/parse_scan.h"
#include "ir/text.h"

namespace slipway {
namespace {

bool is_reserved(std::string_view word) {
  for (const std::string_view taken : {"None", "true", "false", "inf", "infinity", "nan"})
    if (word == taken) return true;
  return false;
}

class GraphParser {
 public:
  explicit GraphParser(std::string_view text) : scan_(text) {
    if (text.size() > kMaxGraphText)
      throw Error(kInvalid, fmt::format("[text] a graph of {} bytes, need at most {}", text.size(),
                                        kMaxGraphText));
  }

  std::unique_ptr<Graph> parse() {
    if (scan_.take("dims:")) dims();
    scan_.need("graph");
    scan_.need("(");
    leaves();
    scan_.need("{");
    bool returned = false;
    while (!returned && scan_.peek() == '%') line();
    if (scan_.take("return")) {
      outputs();
      returned = true;
    }
    scan_.need("}");
    if (!scan_.at_end()) scan_.fail("need the end of the text");
    if (!returned) implied_outputs();
    return std::move(graph_);
  }

 private:
  void dims() {
    do {
      const size_t at = scan_.at();
      const std::string name(scan_.word());
      scan_.need("in");
      const int64_t lo = bound(-Sym::kUnbounded);
      scan_.need("..");
      const int64_t hi = bound(Sym::kUnbounded);
      if (is_reserved(name)) scan_.fail_at(at, fmt::format("'{}' cannot name a dimension", name));
      const Sym symbol = placed(at, [&] { return Sym::symbol(name, lo, hi); });
      if (!symbols_.emplace(name, symbol).second)
        scan_.fail_at(at, fmt::format("dimension '{}' is given twice", name));
    } while (scan_.take(","));
  }

  /// A bound left out is `otherwise`.
  int64_t bound(int64_t otherwise) {
    const char next = scan_.peek();
    if (next != '-' && (next < '0' || next > '9')) return otherwise;
    const size_t at = scan_.at();
    const std::string text = (scan_.take("-") ? "-" : "") + std::string(scan_.word());
    return placed(at, [&] { return parse_sym(text, [](auto) { return std::nullopt; }).value(); });
  }

  /// Runs f; an error gets the line and column of `at`.
  template <class F>
  std::invoke_result_t<F> placed(size_t at, F f) {
    try {
      return f();
    } catch (const Error& error) {
      throw error.with_context(scan_.place(at));
    }
  }

  Sym size(std::string_view text, size_t at) {
    return placed(at, [&] {
      return parse_sym(text, [&](std::string_view name) -> std::optional<Sym> {
        if (is_reserved(name)) return std::nullopt;
        const auto known = symbols_.find(name);
        if (known != symbols_.end()) return known->second;
        const std::string word(name);
        return symbols_.emplace(word, Sym::symbol(word)).first->second;
      });
    });
  }

  ValueType type() {
    const size_t at = scan_.at();
    const std::string_view word = scan_.word();
    const std::optional<DType> dtype = dtype_from_short_name(word);
    if (!dtype) scan_.fail_at(at, fmt::format("'{}' is no dtype", word));
    ValueType result{*dtype, {}};
    scan_.need("[");
    while (!scan_.take("]")) {
      if (!result.shape.empty()) scan_.need(",");
      const size_t begin = scan_.at();
      const Sym s = size(scan_.expression(), begin);
      if (s.bounds().hi < 0) scan_.fail_at(begin, fmt::format("a size of {}", s.str()));
      result.shape.push_back(s);
      if (result.shape.size() > kMaxRank)
        scan_.fail(fmt::format("need at most {} dimensions", kMaxRank));
    }
    return result;
  }

  void define(const std::string& name, Value value, size_t at) {
    if (!values_.emplace(name, value).second)
      scan_.fail_at(at, fmt::format("%{} is defined twice", name));
    if (values_.size() > kMaxGraphValues)
      scan_.fail_at(at, fmt::format("need at most {} values", kMaxGraphValues));
  }

  /// The inputs, and after `;` the weights.
  void leaves() {
    bool weights = false, first = true;
    while (!scan_.take(")")) {
      if (!weights && scan_.take(";")) {
        weights = first = true;
        continue;
      }
      if (!first) scan_.need(",");
      first = false;
      const size_t at = scan_.at();
      scan_.need("%");
      const std::string name = scan_.name();
      scan_.need(":");
      ValueType of = type();
      placed(at, [&] {
        const Value value = weights ? graph_->add_weight(name, std::move(of))
                                    : graph_->add_input(name, std::move(of));
        define(name, value, at);
      });
    }
  }

  struct Target {
    size_t at;
    std::string name;
    std::optional<ValueType> type;
  };

  void line() {
    std::vector<Target> targets;
    do {
      const size_t at = scan_.at();
      scan_.need("%");
      targets.push_back({at, scan_.name(), std::nullopt});
      if (scan_.take(":")) targets.back().type = type();
    } while (scan_.take(","));
    scan_.need("=");
    const size_t at = scan_.at();
    last_ = scan_.take("constant") ? std::vector<Value>{constant(targets[0])} : op();
    if (last_.size() != targets.size())
      scan_.fail_at(at, fmt::format("{} results, need {}", last_.size(), targets.size()));
    for (size_t i = 0; i < targets.size(); ++i) {
      const Target& target = targets[i];
      if (last_[i].rank() > static_cast<int64_t>(kMaxRank))
        scan_.fail_at(at, fmt::format("need at most {} dimensions", kMaxRank));
      if (target.type && *target.type != last_[i].type())
        scan_.fail_at(target.at, fmt::format("%{} is {}, the text says {}", target.name,
                                             to_string(last_[i].type()), to_string(*target.type)));
      define(target.name, last_[i], target.at);
    }
  }

  Value constant(const Target& target) {
    if (!target.type) scan_.fail_at(target.at, "a constant needs a type");
    Shape shape;
    for (const Sym s : target.type->shape) {
      if (!s.is_const()) scan_.fail_at(target.at, "a constant needs fixed sizes");
      shape.push_back(s.value());
    }
    if (scan_.take("#")) {
      const size_t at = scan_.at();
      const std::string digest(scan_.word());
      if (digest.size() != 16 || digest.find_first_not_of("0123456789abcdef") != std::string::npos)
        scan_.fail_at(at, "need 16 hexadecimal digits");
      return graph_->constant(*target.type, "#" + digest);
    }
    return placed(target.at, [&] {
      return graph_->constant(constant_elements(scan_, target.type->dtype, shape));
    });
  }

  std::vector<Value> op() {
    const size_t at = scan_.at();
    const Op& op = placed(at, [&]() -> const Op& { return get_op(scan_.word(":.")); });
    scan_.need("(");
    std::vector<OpArg> args;
    bool named_only = false;
    while (!scan_.take(")")) {
      if (!args.empty()) scan_.need(",");
      args.push_back(argument(op, args.size(), named_only));
      named_only = !args.back().name.empty();
    }
    return placed(at, [&] { return graph_->emit_all(op, args); });
  }

  OpArg argument(const Op& op, size_t position, bool named_only) {
    const auto& schema = op.schema.args;
    const size_t at = scan_.at();
    for (const SchemaArg& want : schema) {
      const Scanner before = scan_;
      if (!scan_.take(want.name) || !scan_.take("=")) {
        scan_ = before;
        continue;
      }
      return named(want.name, value(want.type));
    }
    if (named_only || position >= schema.size() || schema[position].keyword_only)
      scan_.fail_at(at, fmt::format("need a keyword argument of {}, or ')'", op.name()));
    return value(schema[position].type);
  }

  Value use() {
    const size_t at = scan_.at();
    scan_.need("%");
    const std::string name = scan_.name();
    const auto found = values_.find(name);
    if (found == values_.end()) scan_.fail_at(at, fmt::format("%{} is not defined", name));
    return found->second;
  }

  Arg value(ArgType want) {
    const char next = scan_.peek();
    if (next == '%') return use();
    if (next == '"') return scan_.quoted();
    if (next == '[') return list(want);
    const size_t at = scan_.at();
    const std::string_view text = scan_.expression();
    if (text == "None") return {};
    if (text == "true") return true;
    if (text == "false") return false;
    if (want == ArgType::kDType || want == ArgType::kOther)
      if (const auto dtype = dtype_from_short_name(text)) return *dtype;
    const bool integer = text.find_first_not_of("-0123456789") == std::string_view::npos;
    if (want != ArgType::kInt && want != ArgType::kIntList)
      if (const auto real = real_number(text); real && (!integer || want == ArgType::kFloat))
        return *real;
    return size(text, at);
  }

  Arg list(ArgType want) {
    scan_.need("[");
    std::vector<Value> values;
    std::vector<double> numbers;
    std::vector<Sym> sizes;
    const bool reals = want == ArgType::kFloatList;
    bool first = true;
    while (!scan_.take("]")) {
      if (!first) scan_.need(",");
      first = false;
      if (scan_.peek() == '%') {
        values.push_back(use());
        continue;
      }
      const size_t at = scan_.at();
      const std::string_view text = scan_.expression();
      if (want == ArgType::kTensorList && text == "None") {
        values.emplace_back();
      } else if (reals) {
        const auto real = real_number(text);
        if (!real) scan_.fail_at(at, fmt::format("'{}' is no number", text));
        numbers.push_back(*real);
      } else {
        sizes.push_back(size(text, at));
      }
    }
    if (want == ArgType::kTensorList || !values.empty()) {
      if (!sizes.empty() || !numbers.empty()) scan_.fail("a list holds tensors or numbers");
      return values;
    }
    return reals ? Arg(std::move(numbers)) : Arg(std::move(sizes));
  }

  void outputs() {
    if (scan_.peek() == '}') return;
    do {
      const std::string name = scan_.name();
      scan_.need("=");
      graph_->add_output(name, use());
    } while (scan_.take(","));
  }

  void implied_outputs() {
    for (size_t i = 0; i < last_.size(); ++i)
      graph_->add_output(last_.size() == 1 ? "out" : fmt::format("out.{}", i), last_[i]);
  }

  Scanner scan_;
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  std::map<std::string, Sym, std::less<>> symbols_;
  std::map<std::string, Value, std::less<>> values_;
  std::vector<Value> last_;
};

}  // namespace

std::unique_ptr<Graph> parse_graph(std::string_view text) { return GraphParser(text).parse(); }

}  // namespace slipway
