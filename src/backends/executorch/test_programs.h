// Small programs made by hand, for the tests of the writer, the reader and the runner.
#pragma once

#include <numeric>

#include "backends/executorch/program.h"

namespace slipway::executorch::testing {

inline Sym batch() { return Sym::symbol("batch_size", 1, 16); }

/// 0, 1, 2, ... divided by 8.
inline Lazy eighths(Shape shape) {
  Tensor t(DType::kF32, std::move(shape));
  auto values = t.mutable_values<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 8;
  return lazy_constant(t);
}

inline TensorValue planned(SymShape shape, DType dtype = DType::kF32) {
  return {.dtype = dtype, .shape = std::move(shape)};
}
inline TensorValue stored(const Lazy& data, Storage storage = Storage::kConstant,
                          std::string name = {}) {
  SymShape shape(data->shape().begin(), data->shape().end());
  return {.dtype = data->dtype(),
          .shape = std::move(shape),
          .storage = storage,
          .data = data,
          .name = std::move(name)};
}

/// forward(x: f32[batch_size, 4]) -> x + w, w = 0, 1/8, 2/8, 3/8.
inline Program add_program() {
  Method m("forward");
  const ValueId x = m.add(planned({batch(), 4})), w = m.add(stored(eighths({4})));
  const ValueId y = m.add(planned({batch(), 4})), alpha = m.constant(int64_t{1});
  m.instructions = {KernelCall{"aten::add", "out", {x, w, alpha, y, y}}};
  m.inputs = {x}, m.input_names = {"x"};
  m.outputs = {y}, m.output_names = {"y"};
  Program p;
  p.methods.push_back(std::move(m));
  p.metadata = {{"architecture", "Adder"}};
  p.value_ranges = {{"x", {0, 9}}};
  return p;
}

/// forward(x: f32[batch_size, 4]) -> the rows of (x @ w) * 2 in one line, w: f32[4, 3], by way of a
/// size that is computed while it runs, and a view.
inline Program flatten_program() {
  Method m("forward");
  const Sym b = batch();
  const ValueId x = m.add(planned({b, 4})), w = m.add(stored(eighths({4, 3})));
  const ValueId product = m.add(planned({b, 3})),
                two = m.add(stored(lazy_constant(Tensor::of<float>({}, {2}))));
  const ValueId twice = m.add(planned({b, 3}));
  const ValueId zero = m.constant(int64_t{0}), three = m.constant(int64_t{3});
  const ValueId rows = m.add(int64_t{0}), length = m.add(int64_t{0});
  const ValueId size = m.add(IntListValue{{length}});
  TensorValue line = planned({b * 3});
  line.view_of = twice;
  const ValueId view = m.add(line), y = m.add(planned({b * 3}));
  const ValueId none = m.constant(NoneValue{});
  m.instructions = {KernelCall{"aten::mm", "out", {x, w, product, product}},
                    KernelCall{"aten::mul", "out", {product, two, twice, twice}},
                    KernelCall{"aten::sym_size", "int", {x, zero, rows}},
                    KernelCall{"executorch_prim::mul", "Scalar", {rows, three, length}},
                    KernelCall{"executorch_prim::et_view", "default", {twice, size, view}},
                    KernelCall{"aten::clone", "out", {view, none, y, y}}};
  m.inputs = {x}, m.input_names = {"x"};
  m.outputs = {y}, m.output_names = {"y"};
  Program p;
  p.methods.push_back(std::move(m));
  return p;
}

/// forward(x: f32[4]) adds x to `sum_buffer`, which begins as 0, 1/8, 2/8, 3/8, and 1 to
/// `count_buffer`, which begins undefined; gives both.
inline Program buffer_program() {
  Method m("forward");
  const ValueId x = m.add(planned({4}));
  const ValueId sum = m.add(stored(eighths({4}), Storage::kBuffer, "sum_buffer"));
  const ValueId count = m.add(TensorValue{
      .dtype = DType::kI64, .shape = {1}, .storage = Storage::kBuffer, .name = "count_buffer"});
  const ValueId one = m.add(stored(lazy_constant(Tensor::of<int64_t>({}, {1}))));
  const ValueId new_sum = m.add(planned({4})), new_count = m.add(planned({1}, DType::kI64));
  const ValueId alpha = m.constant(int64_t{1}), blocking = m.constant(false);
  m.instructions = {KernelCall{"aten::add", "out", {sum, x, alpha, new_sum, new_sum}},
                    KernelCall{"aten::add", "out", {count, one, alpha, new_count, new_count}},
                    KernelCall{"aten::copy_", "", {sum, new_sum, blocking, sum}},
                    KernelCall{"aten::copy_", "", {count, new_count, blocking, count}}};
  m.inputs = {x}, m.input_names = {"x"};
  m.outputs = {new_sum, new_count}, m.output_names = {"sum", "count"};
  Program p;
  p.methods.push_back(std::move(m));
  return p;
}

/// forward(x: f32[rows, 8]) -> relu(x @ w.T + bias), w: f32[3, 8], by XNNPACK.
inline Delegate linear_delegate(const Lazy& weight, const Lazy& bias, Sym rows = batch()) {
  xnnpack::Graph g;
  const auto x = g.add({.shape = {rows, 8}});
  const auto w = g.add({.shape = {3, 8}, .data = weight});
  const auto b = g.add({.shape = {3}, .data = bias});
  const auto y = g.add({.shape = {rows, 3}});
  g.nodes.push_back({.kind = xnnpack::NodeKind::kFullyConnected,
                     .inputs = {x, w, b},
                     .outputs = {y},
                     .clamp = xnnpack::Range{.min = 0}});
  g.inputs = {x}, g.outputs = {y};
  return {.graph = std::move(g)};
}

/// Two methods of one weight: `forward` by XNNPACK, and `look_up`(ids: i64[batch_size]) -> its
/// rows.
inline Program shared_program() {
  const Lazy weight = eighths({3, 8}), bias = lazy_constant(Tensor::of<float>({3}, {1, -50, 2}));
  Program p;
  Method f("forward");
  f.delegates.push_back(linear_delegate(weight, bias));
  const ValueId x = f.add(planned({batch(), 8})), y = f.add(planned({batch(), 3}));
  f.instructions = {DelegateCall{0, {x, y}}};
  f.inputs = {x}, f.input_names = {"x"};
  f.outputs = {y}, f.output_names = {"y"};
  Method g("look_up");
  const ValueId table = g.add(stored(weight));
  const ValueId ids = g.add(planned({batch()}, DType::kI64)), rows = g.add(planned({batch(), 8}));
  const ValueId padding = g.constant(int64_t{-1}), flag = g.constant(false);
  g.instructions = {
      KernelCall{"aten::embedding", "out", {table, ids, padding, flag, flag, rows, rows}}};
  g.inputs = {ids}, g.input_names = {"ids"};
  g.outputs = {rows}, g.output_names = {"rows"};
  p.methods.push_back(std::move(f));
  p.methods.push_back(std::move(g));
  p.metadata_methods = {{"get_max_seq_len", {int64_t{128}}},
                        {"get_eos_ids", {int64_t{1}, int64_t{2}}},
                        {"use_kv_cache", {true}}};
  return p;
}

/// The table of methods_program(): -1, -2, -3, ... in rows of 8.
inline Lazy negative_rows(int64_t rows) {
  Tensor t(DType::kF32, {rows, 8});
  auto values = t.mutable_values<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = -static_cast<float>(i + 1);
  return lazy_constant(t);
}

/// `prefill` for 16 rows at most and `decode` for 2, under the same symbol, of one weight and one
/// table: (x: f32[batch_size, 8], ids: i64[batch_size]) -> relu(x @ w.T + bias) by XNNPACK, and
/// rows of the table.
inline Program methods_program(int64_t table_rows = 5) {
  const Lazy weight = eighths({3, 8}), bias = lazy_constant(Tensor::of<float>({3}, {1, -50, 2}));
  const Lazy table = negative_rows(table_rows);
  Program p;
  for (const auto& [name, most] : {std::pair{"prefill", 16}, {"decode", 2}}) {
    const Sym rows = Sym::symbol("batch_size", 1, most);
    Method m(name);
    m.delegates.push_back(linear_delegate(weight, bias, rows));
    const ValueId x = m.add(planned({rows, 8})), ids = m.add(planned({rows}, DType::kI64));
    const ValueId y = m.add(planned({rows, 3})), found = m.add(planned({rows, 8}));
    const ValueId from = m.add(stored(table)), padding = m.constant(int64_t{-1});
    const ValueId flag = m.constant(false);
    m.instructions = {
        DelegateCall{0, {x, y}},
        KernelCall{"aten::embedding", "out", {from, ids, padding, flag, flag, found, found}}};
    m.inputs = {x, ids}, m.input_names = {"x", "ids"};
    m.outputs = {y, found}, m.output_names = {"y", "rows"};
    m.metadata = {{"role", name}};
    m.value_ranges = {{"ids", {0, most}}};
    p.methods.push_back(std::move(m));
  }
  p.metadata = {{"architecture", "Pair"}, {"role", "both"}};
  return p;
}

/// forward(x: f32[batch_size, 8]) -> ((x * s) @ w.T) * t, s: f32[8], t: f32[3], by XNNPACK: static
/// data that are read while it runs, beside some that are packed.
inline Program scale_program() {
  xnnpack::Graph g;
  const auto x = g.add({.shape = {batch(), 8}});
  const auto s = g.add({.shape = {8}, .data = eighths({8})});
  const auto scaled = g.add({.shape = {batch(), 8}});
  const auto w = g.add({.shape = {3, 8}, .data = eighths({3, 8})});
  const auto product = g.add({.shape = {batch(), 3}});
  const auto t = g.add({.shape = {3}, .data = lazy_constant(Tensor::of<float>({3}, {1, -1, 2}))});
  const auto y = g.add({.shape = {batch(), 3}});
  using xnnpack::NodeKind;
  g.nodes.push_back({.kind = NodeKind::kMultiply, .inputs = {x, s}, .outputs = {scaled}});
  g.nodes.push_back({.kind = NodeKind::kFullyConnected,
                     .inputs = {scaled, w, xnnpack::kNoValue},
                     .outputs = {product}});
  g.nodes.push_back({.kind = NodeKind::kMultiply, .inputs = {product, t}, .outputs = {y}});
  g.inputs = {x}, g.outputs = {y};
  Method m("forward");
  m.delegates.push_back({.graph = std::move(g)});
  const ValueId in = m.add(planned({batch(), 8})), out = m.add(planned({batch(), 3}));
  m.instructions = {DelegateCall{0, {in, out}}};
  m.inputs = {in}, m.input_names = {"x"};
  m.outputs = {out}, m.output_names = {"y"};
  Program p;
  p.methods.push_back(std::move(m));
  return p;
}

/// A method that is one delegate: its inputs are in0, in1, ..., its outputs out0, ...
inline Program delegate_program(xnnpack::Graph graph) {
  Method m("forward");
  std::vector<ValueId> args;
  for (const auto* list : {&graph.inputs, &graph.outputs})
    for (const auto id : *list) args.push_back(m.add(planned(graph.values[id].shape)));
  for (size_t i = 0; i < args.size(); ++i) {
    const bool input = i < graph.inputs.size();
    auto& ids = input ? m.inputs : m.outputs;
    auto& names = input ? m.input_names : m.output_names;
    names.push_back((input ? "in" : "out") + std::to_string(ids.size()));
    ids.push_back(args[i]);
  }
  m.delegates.push_back({.graph = std::move(graph)});
  m.instructions = {DelegateCall{0, args}};
  Program p;
  p.methods.push_back(std::move(m));
  return p;
}

/// in0: f32[batch_size, 4] -> softmax of columns 2 to 6 of [in0, in0 as 2 x 2, transposed].
inline Program reshape_program() {
  using xnnpack::NodeKind;
  xnnpack::Graph g;
  const Sym b = batch();
  const auto x = g.add({.shape = {b, 4}}), squares = g.add({.shape = {b, 2, 2}});
  const auto turned = g.add({.shape = {b, 2, 2}}), flat = g.add({.shape = {b, 4}});
  const auto both = g.add({.shape = {b, 8}}), part = g.add({.shape = {b, 5}});
  const auto y = g.add({.shape = {b, 5}});
  const auto node = [&](NodeKind kind, std::vector<xnnpack::ValueId> in, xnnpack::ValueId out,
                        xnnpack::Attributes attributes = {}) {
    g.nodes.push_back({.kind = kind,
                       .inputs = std::move(in),
                       .outputs = {out},
                       .attributes = std::move(attributes)});
  };
  node(NodeKind::kStaticReshape, {x}, squares, xnnpack::Reshape{{0, 2, 2}});
  node(NodeKind::kStaticTranspose, {squares}, turned, xnnpack::Transpose{{0, 2, 1}});
  node(NodeKind::kStaticReshape, {turned}, flat, xnnpack::Reshape{{0, 4}});
  node(NodeKind::kConcatenate, {x, flat}, both, xnnpack::Axis{1});
  node(NodeKind::kStaticSlice, {both}, part, xnnpack::Slice{{0, 2}, {0, 5}});
  node(NodeKind::kSoftmax, {part}, y);
  g.inputs = {x}, g.outputs = {y};
  return delegate_program(std::move(g));
}

/// in0: f32[batch_size, 64] -> in0 @ w.T by numbers of 8 bits that are found while it runs.
/// `filter` is w: [3, 64].
inline Program quantized_program(xnnpack::Value filter) {
  using xnnpack::DataType;
  using xnnpack::NodeKind;
  xnnpack::Graph g;
  const auto x = g.add({.shape = {batch(), 64}});
  const auto q = g.add(
      {.type = DataType::kQdint8, .shape = {batch(), 64}, .quantization = xnnpack::PerToken{}});
  filter.shape = {3, 64};
  const auto w = g.add(std::move(filter)), y = g.add({.shape = {batch(), 3}});
  g.nodes.push_back({.kind = NodeKind::kConvert, .inputs = {x}, .outputs = {q}});
  g.nodes.push_back(
      {.kind = NodeKind::kFullyConnected, .inputs = {q, w, xnnpack::kNoValue}, .outputs = {y}});
  g.inputs = {x}, g.outputs = {y};
  return delegate_program(std::move(g));
}

/// forward(flag: bool[], x: f32[4]) -> flag ? x + x : x * x.
inline Program branch_program() {
  Method m("forward");
  const ValueId flag = m.add(planned({}, DType::kBool)), x = m.add(planned({4}));
  const ValueId y = m.add(planned({4})), alpha = m.constant(int64_t{1});
  const ValueId never = m.constant(false);
  m.instructions = {JumpFalseCall{flag, 3}, KernelCall{"aten::add", "out", {x, x, alpha, y, y}},
                    JumpFalseCall{never, 4}, KernelCall{"aten::mul", "out", {x, x, y, y}}};
  m.inputs = {flag, x}, m.input_names = {"flag", "x"};
  m.outputs = {y}, m.output_names = {"y"};
  Program p;
  p.methods.push_back(std::move(m));
  return p;
}

}  // namespace slipway::executorch::testing
