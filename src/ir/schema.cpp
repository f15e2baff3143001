// Parses ATen schema strings.
#include "ir/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace slipway {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema parse() {
    Schema schema;
    schema.name = std::string(until("("));
    if (schema.name.find("::") == std::string::npos) fail("a namespace");
    bool keyword_only = false;
    while (!take(")")) {
      if (!schema.args.empty() || keyword_only) need(",");
      if (take("*")) {
        keyword_only = true;
        continue;
      }
      schema.args.push_back(argument(keyword_only));
    }
    need("->");
    outputs(schema);
    return schema;
  }

 private:
  [[noreturn]] void fail(const std::string& wanted) const {
    throw Error(kInvalid, fmt::format("[schema] in '{}' at {}: need {}", text_, at_, wanted));
  }

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  void need(std::string_view token) {
    if (!take(token)) fail(fmt::format("'{}'", token));
  }

  std::string_view until(std::string_view token) {
    skip();
    const size_t end = text_.find(token, at_);
    if (end == std::string_view::npos) fail(fmt::format("'{}'", token));
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end + token.size();
    return word;
  }

  std::string_view word() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           std::string_view(" ,)=").find(text_[at_]) == std::string_view::npos)
      ++at_;
    if (at_ == begin) fail("a word");
    return text_.substr(begin, at_ - begin);
  }

  SchemaArg argument(bool keyword_only) {
    std::string type(word());
    if (const size_t alias = type.find('('); alias != std::string::npos) {  // "Tensor(a!)"
      if (type.back() != ')' && type.find(')') == std::string::npos) {
        type += until(")");
        type += ')';
      }
      type.erase(alias, type.find(')', alias) - alias + 1);
    }
    SchemaArg arg{
        .name = {}, .type = ArgType::kOther, .keyword_only = keyword_only, .default_value = {}};
    if (type.ends_with('?')) {
      arg.optional = true;
      type.pop_back();
    }
    const size_t bracket = type.find('[');
    const bool list = bracket != std::string::npos;
    if (list) type.erase(bracket);
    if (type.ends_with('?')) {  // "Tensor?[]"
      arg.optional_items = true;
      type.pop_back();
    }
    arg.type = named_type(type, list);
    arg.name = std::string(word());
    if (take("=")) {
      arg.has_default = true;
      arg.default_value = default_value(arg);
    }
    return arg;
  }

  static ArgType named_type(const std::string& type, bool list) {
    if (type == "Tensor") return list ? ArgType::kTensorList : ArgType::kTensor;
    if (type == "int" || type == "SymInt") return list ? ArgType::kIntList : ArgType::kInt;
    if (type == "float") return list ? ArgType::kFloatList : ArgType::kFloat;
    if (type == "bool" && !list) return ArgType::kBool;
    if (type == "Scalar" && !list) return ArgType::kScalar;
    if (type == "ScalarType") return ArgType::kDType;
    if (type == "str") return ArgType::kString;
    return ArgType::kOther;
  }

  Arg default_value(const SchemaArg& arg) {
    if (take("[")) {
      std::vector<Sym> items;
      while (!take("]")) {
        if (!items.empty()) need(",");
        items.push_back(integer(word_in_list()));
      }
      if (arg.type == ArgType::kFloatList) return std::vector<double>(items.size());
      return items;
    }
    const std::string_view text = word();
    if (text == "None") return {};
    if (text == "True") return true;
    if (text == "False") return false;
    switch (arg.type) {
      case ArgType::kIntList:
        return std::vector<Sym>{integer(text)};
      case ArgType::kFloat:
        return real(text);
      case ArgType::kString:
        return std::string(text.substr(1, text.size() - 2));
      case ArgType::kScalar:
        if (text.find_first_of(".e") != std::string_view::npos) return real(text);
        [[fallthrough]];
      case ArgType::kInt:
        return Sym(integer(text));
      default:
        return {};  // a word such as contiguous_format: the same as leaving it out
    }
  }

  std::string_view word_in_list() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && std::string_view(" ,]").find(text_[at_]) == std::string_view::npos)
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  int64_t integer(std::string_view text) const {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) fail("an integer");
    return value;
  }

  double real(std::string_view text) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) fail("a number");
    return value;
  }

  void outputs(Schema& schema) {
    skip();
    const std::string_view rest = text_.substr(at_);
    if (rest == "()") schema.num_outputs = 0;
    else if (rest.ends_with("[]")) schema.variadic_output = true;
    else if (rest.starts_with("("))
      schema.num_outputs = static_cast<int>(std::count(rest.begin(), rest.end(), ',')) + 1;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Schema Schema::parse(std::string_view text) { return Parser(text).parse(); }

int Schema::find(std::string_view arg_name) const {
  for (size_t i = 0; i < args.size(); ++i)
    if (args[i].name == arg_name) return static_cast<int>(i);
  return -1;
}

}  // namespace slipway
