// What an indexing by several tensors means.
#include "ir/ops/index_plan.h"

namespace slipway::ops {

IndexPlan index_plan(const Args& a) {
  const SymShape& self = a.type(0).shape;
  const std::vector<Value>& given = a.values(1);
  if (given.size() > self.size()) a.fail("more indices than the tensor has axes");
  IndexPlan plan;
  for (size_t i = 0; i < self.size(); ++i) {
    if (i >= given.size() || !given[i].defined()) {
      plan.others.push_back(static_cast<int64_t>(i));
      continue;
    }
    const DType d = given[i].dtype();
    if (d == DType::kBool || d == DType::kU8)
      throw Error(kUnsupported, "[ir] " + a.op().name() +
                                    ": got a bool mask as an index, need int64 or int32: how many "
                                    "elements a mask picks is not known from shapes");
    if (d != DType::kI64 && d != DType::kI32) a.fail("indices must be int64 or int32");
    plan.axes.push_back(static_cast<int64_t>(i));
    plan.indices.push_back(given[i]);
    plan.picked = broadcast(plan.picked, given[i].shape());
  }
  if (plan.axes.empty()) a.fail("needs at least one index");
  const bool neighbours =
      plan.axes.back() - plan.axes.front() + 1 == static_cast<int64_t>(plan.axes.size());
  plan.place = neighbours ? plan.axes.front() : 0;
  for (const int64_t axis : plan.others) plan.result.push_back(self[static_cast<size_t>(axis)]);
  plan.result.insert(plan.result.begin() + plan.place, plan.picked.begin(), plan.picked.end());
  return plan;
}

std::vector<int64_t> IndexPlan::indexed_first() const {
  std::vector<int64_t> all = axes;
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

std::vector<int64_t> IndexPlan::picked_first() const {
  const auto count = static_cast<int64_t>(picked.size());
  const auto rank = static_cast<int64_t>(result.size());
  std::vector<int64_t> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(place + i);
  for (int64_t i = 0; i < rank; ++i)
    if (i < place || i >= place + count) all.push_back(i);
  return all;
}

std::vector<int64_t> inverse(const std::vector<int64_t>& axes) {
  std::vector<int64_t> back(axes.size());
  for (size_t i = 0; i < axes.size(); ++i)
    back[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
  return back;
}

}  // namespace slipway::ops
