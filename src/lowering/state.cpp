// What lowering remembers across the nodes of a program.
#include "lowering/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/floats.h"
#include "ir/eval.h"

namespace slipway::lowering {
namespace {

Tensor scalar_tensor(double value, DType dtype) {
  Tensor t(dtype, {});
  std::byte* out = t.mutable_data();
  const auto put = [&](auto v) { std::memcpy(out, &v, sizeof v); };
  switch (dtype) {
    case DType::kF64:
      put(value);
      break;
    case DType::kF32:
      put(static_cast<float>(value));
      break;
    case DType::kF16:
      put(float_to_f16(static_cast<float>(value)));
      break;
    case DType::kBF16:
      put(float_to_bf16(static_cast<float>(value)));
      break;
    case DType::kI64:
      put(static_cast<int64_t>(value));
      break;
    case DType::kI32:
      put(static_cast<int32_t>(value));
      break;
    case DType::kBool:
      put(static_cast<uint8_t>(value != 0));
      break;
    default: {
      Array one{dtype, {}, {value}};
      one.round();
      return one.to_tensor();
    }
  }
  return t;
}

}  // namespace

Value State::constant(const Tensor& tensor) {
  std::string key = fmt::format("{}{}:", short_name(tensor.dtype()), shape_string(tensor.shape()));
  key.append(reinterpret_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.nbytes()));
  const auto at = constants.find(key);
  if (at != constants.end()) return at->second;
  const ScopeGuard top(target, "");
  return constants[key] = target.constant(tensor);
}

Value State::scalar(double value, DType dtype) { return constant(scalar_tensor(value, dtype)); }

void drop_unread_inputs(Graph& target, std::vector<std::string>* dropped,
                        const std::set<const Node*>& kept) {
  const std::vector<Node*> live = target.order();
  const std::vector<Node*> inputs = target.inputs();
  for (Node* input : inputs) {
    if (kept.contains(input) || std::find(live.begin(), live.end(), input) != live.end()) continue;
    if (dropped != nullptr) dropped->push_back(input->name);
    target.erase_input(input);
  }
  target.drop_dead();
}

}  // namespace slipway::lowering
