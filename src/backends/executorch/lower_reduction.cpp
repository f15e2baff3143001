// Lowering rows: reductions, running sums, softmax.
#include "backends/executorch/lower.h"

namespace slipway::executorch {
namespace {

std::vector<Sym> syms(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

template <const char* kOp>
Value reduce(Lower& l) {
  const Value x = l.in(0, l.out().dtype);
  const std::vector<int64_t> axes = l.args().axes(1, x.rank());
  if (axes.empty()) return x;
  return l.typed(kOp, {x, syms(axes), l.args().flag(2)}, l.out());
}

Value product(Lower& l) {
  const Value x = l.in(0, l.out().dtype);
  if (x.rank() == 0) return x;
  return l.typed("et::prod.int_out", {x, l.args().axis(1, x.rank()), l.args().flag(2)}, l.out());
}

template <const char* kOp>
Value along_axis(Lower& l) {
  const Value x = l.in(0, l.out().dtype);
  if (x.rank() == 0) return l.squeeze(l(kOp, {l.unsqueeze(x, 0), 0, false}), 0);
  return l(kOp, {x, l.args().axis(1, x.rank()), false});
}

Value cumsum(Lower& l) {
  const Value x = l.in(0, l.out().dtype);
  return x.rank() == 0 ? x : l("et::cumsum.out", {x, l.args().axis(1, x.rank())});
}

constexpr char kMean[] = "et::mean.out", kSum[] = "et::sum.IntList_out";
constexpr char kMax[] = "et::amax.out", kMin[] = "et::amin.out";
constexpr char kSoftmax[] = "et::_softmax.out", kLogSoftmax[] = "et::_log_softmax.out";

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

}  // namespace slipway::executorch
