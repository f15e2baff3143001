// Lowering rows: reductions, running sums, softmax.
#include "backends/onnx/lower.h"

namespace slipway::onnx {
namespace {

template <const char* kOp>
Value reduce(Lower& l) {
  const Value x = l.in(0, l.out().dtype);
  const std::vector<int64_t> axes = l.args().axes(1, x.rank());
  if (axes.empty()) return x;
  return l.typed(kOp, {x, l.ints(axes), named("keepdims", l.args().flag(2) ? 1 : 0)}, l.out());
}

constexpr char kMean[] = "onnx::ReduceMean", kSum[] = "onnx::ReduceSum";
constexpr char kMax[] = "onnx::ReduceMax", kMin[] = "onnx::ReduceMin";

const LoweringRow kRows[] = {
    {"aten::mean.dim", reduce<kMean>},
    {"aten::sum.dim_IntList", reduce<kSum>},
    {"aten::amax", reduce<kMax>},
    {"aten::amin", reduce<kMin>},
    {"aten::prod.dim_int",
     [](Lower& l) {
       const Value x = l.in(0, l.out().dtype);
       return l.typed(
           "onnx::ReduceProd",
           {x, l.ints({l.args().axis(1, x.rank())}), named("keepdims", l.args().flag(2) ? 1 : 0)},
           l.out());
     }},
    {"aten::log_softmax.int",
     [](Lower& l) {
       const Value x = l.in(0, l.out().dtype);
       return l("onnx::LogSoftmax", {x, named("axis", l.args().axis(1, x.rank()))});
     }},
    {"aten::cumsum",
     [](Lower& l) {
       const Value x = l.in(0, l.out().dtype);
       const auto axis = static_cast<double>(l.args().axis(1, x.rank()));
       return l("onnx::CumSum", {x, l.scalar(axis, DType::kI64)});
     }},
    {"aten::softmax.int",
     [](Lower& l) {
       const Value x = l.in(0, l.out().dtype);
       return l("onnx::Softmax", {x, named("axis", l.args().axis(1, x.rank()))});
     }},
};

}  // namespace

std::span<const LoweringRow> reduction_rows() { return kRows; }

}  // namespace slipway::onnx
