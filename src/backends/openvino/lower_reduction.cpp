// Lowering rows: reductions, running sums, softmax.
#include "backends/openvino/lower.h"

namespace slipway::openvino {
namespace {

template <const char* kOp>
Value reduce(Lower& l) {
  const Value x = l.in(0, l.out().dtype);
  const std::vector<int64_t> axes = l.args().axes(1, x.rank());
  if (axes.empty()) return x;
  return l.typed(kOp, {x, l.ints(axes), named("keep_dims", l.args().flag(2))}, l.out());
}

Value product(Lower& l) {
  const Value x = l.in(0, l.out().dtype);
  return l.typed("ov::ReduceProd",
                 {x, l.ints({l.args().axis(1, x.rank())}), named("keep_dims", l.args().flag(2))},
                 l.out());
}

/// A scalar is its own only element: softmax is 1 there.
template <const char* kOp>
Value along_axis(Lower& l) {
  const Value x = l.in(0, l.out().dtype);
  if (x.rank() == 0) return l.squeeze(l(kOp, {l.unsqueeze(x, 0), named("axis", 0)}), 0);
  return l(kOp, {x, named("axis", l.args().axis(1, x.rank()))});
}

Value cumsum(Lower& l) {
  const Value x = l.in(0, l.out().dtype);
  if (x.rank() == 0) return x;
  const auto axis = static_cast<double>(l.args().axis(1, x.rank()));
  return l("ov::CumSum", {x, l.scalar(axis, DType::kI64)});
}

constexpr char kMean[] = "ov::ReduceMean", kSum[] = "ov::ReduceSum";
constexpr char kMax[] = "ov::ReduceMax", kMin[] = "ov::ReduceMin";
constexpr char kSoftmax[] = "ov::SoftMax", kLogSoftmax[] = "ov::LogSoftmax";

const LoweringRow kRows[] = {
    {"aten::mean.dim", reduce<kMean>},
    {"aten::sum.dim_IntList", reduce<kSum>},
    {"aten::amax", reduce<kMax>},
    {"aten::amin", reduce<kMin>},
    {"aten::prod.dim_int", product},
    {"aten::log_softmax.int", along_axis<kLogSoftmax>},
    {"aten::softmax.int", along_axis<kSoftmax>},
    {"aten::cumsum", cumsum},
};

}  // namespace

std::span<const LoweringRow> reduction_rows() { return kRows; }

}  // namespace slipway::openvino
