// Writes graphs as text.
#include "ir/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/floats.h"
#include "ir/text.h"

namespace slipway {
namespace {

template <class T>
std::string shortest(T v) {
  if (std::isnan(v)) return "nan";
  std::string text = fmt::format("{}", v);
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

template <class T>
T element(const Tensor& tensor, int64_t i) {
  T v;
  std::memcpy(&v, tensor.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return v;
}

std::string element_text(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kF64:
      return shortest(element<double>(t, i));
    case DType::kF32:
      return shortest(element<float>(t, i));
    case DType::kF16:
      return shortest(f16_to_float(element<uint16_t>(t, i)));
    case DType::kBF16:
      return shortest(bf16_to_float(element<uint16_t>(t, i)));
    case DType::kI64:
      return fmt::format("{}", element<int64_t>(t, i));
    case DType::kI32:
      return fmt::format("{}", element<int32_t>(t, i));
    case DType::kI16:
      return fmt::format("{}", element<int16_t>(t, i));
    case DType::kI8:
      return fmt::format("{}", static_cast<int>(element<int8_t>(t, i)));
    case DType::kU64:
      return fmt::format("{}", element<uint64_t>(t, i));
    case DType::kU32:
      return fmt::format("{}", element<uint32_t>(t, i));
    case DType::kU16:
      return fmt::format("{}", element<uint16_t>(t, i));
    case DType::kU8:
    case DType::kF8E4M3:  // 8-bit floats are written as their codes
    case DType::kF8E5M2:
      return fmt::format("{}", static_cast<int>(element<uint8_t>(t, i)));
    case DType::kBool:
      return element<uint8_t>(t, i) != 0 ? "true" : "false";
  }
  return {};
}

std::string constant_text(const Node& node) {
  if (node.data == nullptr || node.data->numel() > kMaxPrintedElements) return digest(node);
  const Tensor tensor = materialize(*node.data);
  if (tensor.rank() == 0) return element_text(tensor, 0);
  std::string text = "[";
  for (int64_t i = 0; i < tensor.numel(); ++i)
    text += (i != 0 ? ", " : "") + element_text(tensor, i);
  return text + "]";
}

bool plain_name(const std::string& name) {
  const auto word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  };
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), word);
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else out += c;
  }
  return out + '"';
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph), nodes_(graph.order()) {
    for (const Node* node : graph.inputs()) names_[{node, 0}] = quoted_name(node->name);
    int64_t next = 0;
    for (const Node* node : nodes_) {
      const bool named = node->kind == NodeKind::kInput || node->kind == NodeKind::kWeight;
      for (size_t i = 0; i < node->types.size(); ++i)
        names_[{node, static_cast<int>(i)}] =
            named ? quoted_name(node->name) : std::to_string(next++);
    }
  }

  std::string print() {
    std::string head = "graph(" + typed_list(graph_.inputs());
    if (const auto weights = graph_.weights(); !weights.empty()) head += "; " + typed_list(weights);
    std::string body = head + ") {\n";
    for (const Node* node : nodes_)
      if (node->kind == NodeKind::kOp || node->kind == NodeKind::kConstant)
        body += "  " + line(*node) + "\n";
    body += "  return";
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Output& output = graph_.outputs()[i];
      body +=
          fmt::format("{} {}={}", i != 0 ? "," : "", quoted_name(output.name), use(output.value));
    }
    return dims() + body + "\n}\n";
  }

 private:
  std::string use(Value v) const {
    return v.defined() ? "%" + names_.at({v.node(), v.index()}) : "None";
  }

  std::string typed(const Node& node, int i) {
    const ValueType& type = node.types[static_cast<size_t>(i)];
    for (const Sym size : type.shape) note(size);
    return fmt::format("%{}: {}", names_.at({&node, i}), to_string(type));
  }

  std::string typed_list(const std::vector<Node*>& nodes) {
    std::string text;
    for (const Node* node : nodes) text += (text.empty() ? "" : ", ") + typed(*node, 0);
    return text;
  }

  std::string line(const Node& node) {
    std::string text;
    for (size_t i = 0; i < node.types.size(); ++i)
      text += (i != 0 ? ", " : "") + typed(node, static_cast<int>(i));
    if (node.kind == NodeKind::kConstant) return text + " = constant " + constant_text(node);
    return fmt::format("{} = {}({})", text, node.op->name(), arguments(node));
  }

  std::string arguments(const Node& node) {
    const std::vector<SchemaArg>& schema = node.op->schema.args;
    const auto is_default = [&](size_t i) {
      return schema[i].has_default && node.args[i] == schema[i].default_value;
    };
    size_t positional = 0;
    for (size_t i = 0; i < schema.size(); ++i)
      if (!schema[i].keyword_only && !is_default(i)) positional = i + 1;
    std::string text;
    for (size_t i = 0; i < schema.size(); ++i) {
      if (schema[i].keyword_only ? is_default(i) : i >= positional) continue;
      if (!text.empty()) text += ", ";
      if (schema[i].keyword_only) text += schema[i].name + "=";
      text += argument(node.args[i]);
    }
    return text;
  }

  template <class T, class F>
  std::string list(const std::vector<T>& items, F f) {
    std::string text;
    for (const T& item : items) text += (text.empty() ? "" : ", ") + f(item);
    return "[" + text + "]";
  }

  const std::string& note(Sym s) {
    for (const Sym symbol : s.symbols()) symbols_.emplace(symbol.name(), symbol);
    return s.str();
  }

  std::string argument(const Arg& arg) {
    struct Visitor {
      Printer& p;
      std::string operator()(std::monostate) { return "None"; }
      std::string operator()(Value v) { return p.use(v); }
      std::string operator()(const std::vector<Value>& v) {
        return p.list(v, [this](Value item) { return p.use(item); });
      }
      std::string operator()(bool v) { return v ? "true" : "false"; }
      std::string operator()(Sym v) { return p.note(v); }
      std::string operator()(const std::vector<Sym>& v) {
        return p.list(v, [this](Sym item) { return p.note(item); });
      }
      std::string operator()(double v) { return shortest(v); }
      std::string operator()(const std::vector<double>& v) {
        return p.list(v, [](double item) { return shortest(item); });
      }
      std::string operator()(const std::string& v) { return quoted(v); }
      std::string operator()(DType v) { return std::string(short_name(v)); }
    };
    return std::visit(Visitor{*this}, arg);
  }

  std::string dims() const {
    std::string text;
    for (const auto& [name, symbol] : symbols_) {
      const Sym::Bounds b = symbol.bounds();
      if (b == Sym::Bounds{0, Sym::kUnbounded}) continue;
      text += fmt::format("{}{} in {}..{}", text.empty() ? "dims: " : ", ", name,
                          b.lo == -Sym::kUnbounded ? "" : std::to_string(b.lo),
                          b.hi == Sym::kUnbounded ? "" : std::to_string(b.hi));
    }
    return text.empty() ? text : text + "\n";
  }

  const Graph& graph_;
  std::vector<Node*> nodes_;
  std::map<std::pair<const Node*, int>, std::string> names_;
  std::map<std::string, Sym> symbols_;
};

}  // namespace

std::string print(const Graph& graph) { return Printer(graph).print(); }

std::string quoted_name(const std::string& name) { return plain_name(name) ? name : quoted(name); }

std::string digest(const Node& constant) {
  if (constant.data == nullptr) return constant.name;
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  const Tensor tensor = materialize(*constant.data);
  for (int64_t i = 0; i < tensor.nbytes(); ++i)
    hash = (hash ^ std::to_integer<uint64_t>(tensor.data()[i])) * 0x100000001b3u;
  return fmt::format("#{:016x}", hash);
}

}  // namespace slipway
