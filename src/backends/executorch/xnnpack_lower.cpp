// From kernels to nodes of XNNPACK: rows of ops.
#include "backends/executorch/xnnpack_lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/executorch/program.h"
#include "backends/executorch/quantized_layers.h"
#include "backends/executorch/xnnpack_rows.h"
#include "checkpoint/expr.h"

namespace slipway::executorch {
namespace {

using xnnpack::NodeKind;
using B = XnnpackBuilder;
using Refusal = std::string;

constexpr uint32_t kTransposeWeights = 1, kTransposeB = 1;    // XNN_FLAG_*
constexpr std::string_view kConversion = "et::_to_copy.out";  // between float32 and float16
const Refusal kFine;

std::vector<uint32_t> unsigned_of(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

template <NodeKind kKind>
Refusal unary(B& b, const Node& node) {
  b.add({.kind = kKind,
         .inputs = {b.operand(node.arguments().value(0))},
         .outputs = {b.result(result_of(node))}});
  return kFine;
}

template <NodeKind kKind>
Refusal binary(B& b, const Node& node) {
  const Args a = node.arguments();
  b.add({.kind = kKind,
         .inputs = {b.operand(a.value(0)), b.operand(a.value(1))},
         .outputs = {b.result(result_of(node))}});
  return kFine;
}

/// Sums and differences; alpha is 1 wherever lowering emits them.
template <NodeKind kKind>
Refusal sum(B& b, const Node& node) {
  if (node.arguments().number(2) != 1.0) return "alpha is not 1";
  return binary<kKind>(b, node);
}

Refusal clamped(B& b, const Node& node, xnnpack::Range range) {
  b.add({.kind = NodeKind::kClamp,
         .inputs = {b.operand(node.arguments().value(0))},
         .outputs = {b.result(result_of(node))},
         .clamp = range});
  return kFine;
}

Refusal relu(B& b, const Node& node) { return clamped(b, node, {.min = 0}); }

Refusal clamp(B& b, const Node& node) {
  const Args a = node.arguments();
  xnnpack::Range range;
  if (a.has(1)) range.min = static_cast<float>(a.number(1));
  if (a.has(2)) range.max = static_cast<float>(a.number(2));
  if (!(range.min < range.max)) return "its range is empty";
  return clamped(b, node, range);
}

Refusal gelu(B& b, const Node& node) {
  if (node.arguments().text(1) != "none") return "only the exact form is known";
  if (node.types[0].dtype == DType::kF16) return "not for float16";
  return unary<NodeKind::kGelu>(b, node);
}

Refusal softmax(B& b, const Node& node) {
  if (node.arguments().axis(1, static_cast<int64_t>(node.types[0].shape.size())) !=
      static_cast<int64_t>(node.types[0].shape.size()) - 1)
    return "not along the last axis";
  return unary<NodeKind::kSoftmax>(b, node);
}

/// Its weight [out, in] and bias must be in the file.
Refusal linear(B& b, const Node& node) {
  const Args a = node.arguments();
  if (!is_static(a.value(1))) return "the weight is not static";
  if (a.has(2) && !is_static(a.value(2))) return "the bias is not static";
  b.add({.kind = NodeKind::kFullyConnected,
         .inputs = {b.operand(a.value(0)), b.operand(a.value(1)),
                    a.has(2) ? b.operand(a.value(2)) : xnnpack::kNoValue},
         .outputs = {b.result(result_of(node))}});
  return kFine;
}

/// A product with a stored matrix [in, out].
Refusal mm(B& b, const Node& node) {
  const Args a = node.arguments();
  if (!is_static(a.value(1))) return "the matrix is not static";
  b.add({.kind = NodeKind::kFullyConnected,
         .inputs = {b.operand(a.value(0)), b.operand(a.value(1)), xnnpack::kNoValue},
         .outputs = {b.result(result_of(node))},
         .flags = kTransposeWeights});
  return kFine;
}

/// et::matmul: `transpose_b` says that the right side is [..., columns, inner].
Refusal matmul(B& b, const Node& node) {
  const Args a = node.arguments();
  if (a.type(0).shape.size() != a.type(1).shape.size()) return "the sides differ in rank";
  b.add({.kind = NodeKind::kBatchMatrixMultiply,
         .inputs = {b.operand(a.value(0)), b.operand(a.value(1))},
         .outputs = {b.result(result_of(node))},
         .flags = a.flag(2) ? kTransposeB : 0});
  return kFine;
}

/// A mean along the last axis is a product with one row of equal weights: there is no node of its
/// own, and the product keeps what is around it in one piece.
Refusal mean(B& b, const Node& node) {
  const Args a = node.arguments();
  const ValueType& x = a.type(0);
  const auto last = static_cast<int64_t>(x.shape.size()) - 1;
  if (x.shape.empty() || a.axes(1, last + 1) != std::vector<int64_t>{last} || !a.flag(2))
    return "not of the last axis, which is kept";
  if (!x.shape.back().is_const()) return "the last axis has no fixed size";
  const xnnpack::ValueId weights = b.equal_weights(x.shape.back().value(), x.dtype);
  b.add({.kind = NodeKind::kFullyConnected,
         .inputs = {b.operand(a.value(0)), weights, xnnpack::kNoValue},
         .outputs = {b.result(result_of(node))}});
  return kFine;
}

Refusal permute(B& b, const Node& node) {
  const Args a = node.arguments();
  b.add({.kind = NodeKind::kStaticTranspose,
         .inputs = {b.operand(a.value(0))},
         .outputs = {b.result(result_of(node))},
         .attributes = xnnpack::Transpose{unsigned_of(a.integers(1))}});
  return kFine;
}

/// One size may be free: it is what the others leave.
Refusal view(B& b, const Node& node) {
  std::vector<uint32_t> sizes;
  for (const Sym size : node.types[0].shape)
    sizes.push_back(size.is_const() ? static_cast<uint32_t>(size.value()) : 0);
  if (std::ranges::count(sizes, 0U) > 1) return "more than one size is free";
  b.add({.kind = NodeKind::kStaticReshape,
         .inputs = {b.operand(node.arguments().value(0))},
         .outputs = {b.result(result_of(node))},
         .attributes = xnnpack::Reshape{sizes}});
  return kFine;
}

/// Of an axis of fixed size; the others whole, whatever their sizes are.
Refusal slice(B& b, const Node& node) {
  const Args a = node.arguments();
  const ValueType &x = a.type(0), &y = node.types[0];
  const int64_t axis = a.axis(1, static_cast<int64_t>(x.shape.size()));
  const auto at = static_cast<size_t>(axis);
  if (!x.shape[at].is_const() || !y.shape[at].is_const() || !a.sym(2).is_const())
    return "the axis has no fixed size";
  if (a.integer(4) != 1) return "the step is not 1";
  int64_t start = a.sym(2).value();
  if (start < 0) start += x.shape[at].value();
  xnnpack::Slice attributes;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    attributes.offsets.push_back(i == at ? static_cast<uint32_t>(start) : 0);
    attributes.sizes.push_back(y.shape[i].is_const() ? static_cast<uint32_t>(y.shape[i].value())
                                                     : 0);
  }
  b.add({.kind = NodeKind::kStaticSlice,
         .inputs = {b.operand(a.value(0))},
         .outputs = {b.result(result_of(node))},
         .attributes = attributes});
  return kFine;
}

Refusal concat(B& b, const Node& node) {
  const Args a = node.arguments();
  const std::vector<Value>& parts = a.values(0);
  if (parts.size() < 2 || parts.size() > 5) return "not of two to five parts";
  xnnpack::Node made{.kind = NodeKind::kConcatenate,
                     .attributes = xnnpack::Axis{static_cast<uint32_t>(
                         a.axis(1, static_cast<int64_t>(node.types[0].shape.size())))}};
  for (const Value part : parts) made.inputs.push_back(b.operand(part));
  made.outputs = {b.result(result_of(node))};
  b.add(std::move(made));
  return kFine;
}

constexpr XnnpackRow kRows[] = {
    {"et::abs.out", unary<NodeKind::kAbs>},
    {"et::add.out", sum<NodeKind::kAdd>},
    {"et::cat.out", concat},
    {"et::ceil.out", unary<NodeKind::kCeiling>},
    {"et::clamp.out", clamp},
    {"et::cos.out", unary<NodeKind::kCos>},
    {"et::div.out", binary<NodeKind::kDiv>},
    {"et::exp.out", unary<NodeKind::kExp>},
    {"et::floor.out", unary<NodeKind::kFloor>},
    {"et::gelu.out", gelu},
    {"et::linear.out", linear},
    {"et::log.out", unary<NodeKind::kLog>},
    {"et::matmul", matmul},
    {"et::maximum.out", binary<NodeKind::kMaximum>},
    {"et::mean.out", mean},
    {"et::minimum.out", binary<NodeKind::kMinimum>},
    {"et::mm.out", mm},
    {"et::mul.out", binary<NodeKind::kMultiply>},
    {"et::neg.out", unary<NodeKind::kNegate>},
    {"et::permute_copy.out", permute},
    {"et::relu.out", relu},
    {"et::rsqrt.out", unary<NodeKind::kReciprocalSquareRoot>},
    {"et::sigmoid.out", unary<NodeKind::kSigmoid>},
    {"et::sin.out", unary<NodeKind::kSin>},
    {"et::slice_copy.Tensor_out", slice},
    {"et::_softmax.out", softmax},
    {"et::sqrt.out", unary<NodeKind::kSquareRoot>},
    {"et::sub.out", sum<NodeKind::kSubtract>},
    {"et::tanh.out", unary<NodeKind::kTanh>},
    {"et::view_copy.out", view},
    {kConversion, unary<NodeKind::kConvert>},
};

const XnnpackRow* row_of(const Node& node) {
  if (node.kind != slipway::NodeKind::kOp) return nullptr;
  for (const std::span<const XnnpackRow> rows :
       {std::span<const XnnpackRow>(kRows), plane_rows(), quantized_rows()})
    for (const XnnpackRow& row : rows)
      if (row.op == node.op->name()) return &row;
  return nullptr;
}

/// The most sizes of one symbol that are tried.
constexpr int64_t kTried = 256;

/// Whether a size may be 0, which XNNPACK refuses when it runs. Bounds of expressions are wide, so
/// these are tried: with one symbol its lowest values, with more their lowest and highest.
bool may_be_zero(Sym size) {
  if (size.bounds().lo >= 1) return false;
  if (size.kind() == SymKind::kMul)
    return std::ranges::any_of(size.args(), [](Sym factor) { return may_be_zero(factor); });
  const std::vector<Sym> symbols = size.symbols();
  if (size.is_const() || size.is_symbol()) return true;
  const auto zero_at = [&](const std::map<std::string, int64_t>& values) {
    try {
      return size.evaluate(values) < 1;
    } catch (const Error&) {  // a divisor is 0: no size at all
      return true;
    }
  };
  std::map<std::string, int64_t> low, high;
  for (const Sym symbol : symbols) {
    low[symbol.name()] = symbol.bounds().lo;
    high[symbol.name()] = symbol.bounds().hi;
  }
  if (symbols.size() > 1) return zero_at(low) || zero_at(high);
  auto& [name, value] = *low.begin();
  for (int64_t tried = 0; tried < kTried && value <= high.at(name); ++tried, ++value)
    if (zero_at(low)) return true;
  return false;
}

/// What no tensor of a delegate may be: empty, of too many axes, or of another type.
Refusal refused(const ValueType& type, bool stored) {
  if (type.dtype != DType::kF32 && type.dtype != DType::kF16)
    return fmt::format("{} is not computed", short_name(type.dtype));
  if (type.shape.size() > static_cast<size_t>(xnnpack::kMaxDims)) return "more than 6 axes";
  if (type.shape.empty() && !stored) return "a scalar is computed while it runs";
  if (std::ranges::any_of(type.shape, may_be_zero)) return "a size may be 0";
  return kFine;
}

}  // namespace

xnnpack::ValueId XnnpackBuilder::operand(Value value) {
  if (const auto at = ids_.find(value); at != ids_.end()) return at->second;
  if (is_static(value)) return ids_[value] = define_static(value);
  inputs_.push_back(value);
  const xnnpack::ValueId id = inner(value.type());
  graph_.inputs.push_back(id);
  return ids_[value] = id;
}

xnnpack::ValueId XnnpackBuilder::define_static(Value value) {
  const Lazy& data = value.node()->data;
  xnnpack::Value stored{
      .type = value.dtype() == DType::kF16 ? xnnpack::DataType::kFp16 : xnnpack::DataType::kFp32,
      .shape = value.shape(),
      .data = data};
  if (stored.shape.empty()) {
    stored.shape = {1};
    if (data != nullptr) stored.data = lazy_reshape(data, {1});
  }
  return graph_.add(std::move(stored));
}

xnnpack::ValueId XnnpackBuilder::equal_weights(int64_t length, DType dtype) {
  Lazy& row = shared_[{length, dtype}];
  if (row == nullptr) {
    Tensor weights(DType::kF32, {1, length});
    std::ranges::fill(weights.mutable_values<float>(), 1.0F / static_cast<float>(length));
    row = lazy_cast(lazy_constant(std::move(weights)), dtype);
  }
  return stored({dtype, {1, length}}, row);
}

xnnpack::ValueId XnnpackBuilder::stored(const ValueType& type, Lazy data) {
  const xnnpack::ValueId id = inner(type);
  graph_.values[id].data = std::move(data);
  return id;
}

xnnpack::ValueId XnnpackBuilder::quantized(xnnpack::Value value) {
  return graph_.add(std::move(value));
}

xnnpack::ValueId XnnpackBuilder::inner(const ValueType& type) {
  return graph_.add(
      {.type = type.dtype == DType::kF16 ? xnnpack::DataType::kFp16 : xnnpack::DataType::kFp32,
       .shape = type.shape});
}

xnnpack::ValueId XnnpackBuilder::result(Value value) { return ids_[value] = inner(value.type()); }

void XnnpackBuilder::add_output(Value value) { graph_.outputs.push_back(ids_.at(value)); }

std::string XnnpackBuilder::define(const Node& node) {
  const XnnpackRow* row = row_of(node);
  if (row == nullptr) return "has no node in XNNPACK";
  const DType dtype = node.types[0].dtype;
  if (Refusal why = refused(node.types[0], false); !why.empty()) return why;
  for (const Value value : operands(node)) {
    if ((row->op == kQuantizedLinear || row->op == kInt8Linear) && is_static(value)) continue;
    if (Refusal why = refused(value.type(), is_static(value)); !why.empty()) return why;
    if (value.dtype() != dtype && row->op != kConversion) return "its dtypes are mixed";
  }
  return row->define(*this, node);
}

std::string refused_by_xnnpack(const Node& node) {
  EqualWeights shared;
  return XnnpackBuilder(shared).define(node);
}

int64_t multiplications(const Node& node) {
  if (node.kind != slipway::NodeKind::kOp) return 0;
  const std::string& op = node.op->name();
  const bool product = op == "et::linear.out" || op == "et::mm.out" || op == "et::bmm.out" ||
                       op == "et::matmul" || op == kQuantizedLinear || op == kInt8Linear;
  if (!product && op != "et::convolution.out") return 0;
  const auto count = [](const SymShape& shape) {
    return numel(upper_bound(shape, "[executorch] a product"));
  };
  const int64_t results = count(node.types[0].shape);
  const SymShape& right = node.arguments().type(1).shape;
  if (product) return results * node.arguments().type(0).shape.back().bounds().hi;
  return results * count({right.begin() + 1, right.end()});
}

bool moves_only(const Node& node) {
  static const std::string_view kMoves[] = {"et::cat.out", "et::permute_copy.out",
                                            "et::slice_copy.Tensor_out", "et::view_copy.out"};
  return node.kind == slipway::NodeKind::kOp &&
         std::ranges::find(kMoves, node.op->name()) != std::end(kMoves);
}

}  // namespace slipway::executorch
