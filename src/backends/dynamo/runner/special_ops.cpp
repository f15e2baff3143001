// Ops that the runner does itself.
#include "backends/dynamo/runner/special_ops.h"

#include <ATen/ops/addmv.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mv.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "slipway/error.h"

namespace slipway::dynamo_runner {

at::Tensor grouped_mm(const at::Tensor& input, const at::Tensor& weight,
                      const at::Tensor& offsets) {
  const bool fits = input.dim() == 2 && weight.dim() == 3 && offsets.dim() == 1 &&
                    weight.size(0) == offsets.size(0) && weight.size(1) == input.size(1) &&
                    weight.scalar_type() == input.scalar_type() &&
                    (offsets.scalar_type() == c10::ScalarType::Long ||
                     offsets.scalar_type() == c10::ScalarType::Int);
  if (!fits)
    throw Error(kInvalid,
                fmt::format("got shapes [{}], [{}] and [{}], need [S, K], [E, K, N] and [E]",
                            fmt::join(input.sizes(), ", "), fmt::join(weight.sizes(), ", "),
                            fmt::join(offsets.sizes(), ", ")));
  const at::Tensor ends =
      offsets.to(c10::Device(c10::DeviceType::CPU), c10::ScalarType::Long).contiguous();
  const int64_t* end_of = ends.const_data_ptr<int64_t>();
  const int64_t rows = input.size(0);
  at::Tensor output = at::zeros({rows, weight.size(2)}, input.options());
  int64_t begin = 0;
  for (int64_t group = 0; group < ends.size(0); ++group) {
    const int64_t end = end_of[group];
    if (end < begin || end > rows)
      throw Error(kInvalid,
                  fmt::format("group {} ends at row {}, need {} to {}", group, end, begin, rows));
    if (begin == end) continue;
    at::Tensor part = output.slice(0, begin, end);
    at::mm_out(part, input.slice(0, begin, end), weight.select(0, group));
    begin = end;
  }
  return output;
}

bool is_single_row(std::span<const c10::IValue> operands) {
  const at::Tensor& input = operands[0].toTensor();
  const at::Tensor& weight = operands[1].toTensor();
  return input.is_cpu() && input.scalar_type() == c10::ScalarType::Float && weight.dim() == 2 &&
         weight.scalar_type() == c10::ScalarType::Float && weight.is_contiguous() &&
         input.dim() > 0 && input.size(-1) > 0 && input.numel() == input.size(-1) &&
         input.size(-1) == weight.size(1) && weight.size(0) > 0;
}

at::Tensor linear_row(std::span<const c10::IValue> operands) {
  const at::Tensor& input = operands[0].toTensor();
  const at::Tensor& weight = operands[1].toTensor();
  const at::Tensor row = input.reshape({input.size(-1)});
  const bool has_bias = operands[2].isTensor() && operands[2].toTensor().defined();
  const at::Tensor result =
      has_bias ? at::addmv(operands[2].toTensor(), weight, row) : at::mv(weight, row);
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes.back() = weight.size(0);
  return result.view(sizes);
}

void assert_metadata(std::span<const c10::IValue> operands) {
  const at::Tensor& tensor = operands[0].toTensor();
  const auto check = [](const c10::IValue& wanted, c10::IntArrayRef got, const char* what) {
    if (wanted.isNone()) return;
    const std::vector<int64_t> need = wanted.toIntVector();
    if (got != c10::IntArrayRef(need))
      throw Error(kInvalid, fmt::format("a tensor has {} [{}], the graph was made for [{}]", what,
                                        fmt::join(got, ", "), fmt::join(need, ", ")));
  };
  check(operands[1], tensor.sizes(), "sizes");
  check(operands[2], tensor.strides(), "strides");
  if (operands[3].isNone()) return;
  const auto need = static_cast<c10::ScalarType>(operands[3].toInt());
  if (tensor.scalar_type() != need)
    throw Error(kInvalid, fmt::format("a tensor has the type {}, the graph was made for {}",
                                      c10::toString(tensor.scalar_type()), c10::toString(need)));
}

void assert_scalar(std::span<const c10::IValue> operands) {
  const c10::IValue& value = operands[0];
  const bool holds = value.isBool()     ? value.toBool()
                     : value.isInt()    ? value.toInt() != 0
                     : value.isDouble() ? value.toDouble() != 0
                                        : false;
  if (!holds)
    throw Error(kInvalid, fmt::format("an assertion of the program does not hold: {}",
                                      operands[1].isString() ? operands[1].toStringRef() : ""));
}

void constrain_range(std::span<const c10::IValue> operands) {
  if (!operands[0].isInt()) return;
  const int64_t value = operands[0].toInt();
  const bool low = operands[1].isInt() && value < operands[1].toInt();
  const bool high = operands[2].isInt() && value > operands[2].toInt();
  if (low || high)
    throw Error(kInvalid, fmt::format("a size is {}, the program takes {} {}", value,
                                      low ? "at least" : "at most", operands[low ? 1 : 2].toInt()));
}

}  // namespace slipway::dynamo_runner
