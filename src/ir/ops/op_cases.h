// The cases of tests/golden/ops, for tests: one op each, with what PyTorch gives.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "ir/eval.h"

namespace slipway::op_cases {

struct Golden {
  std::string op;
  std::string text;
  std::map<std::string, Tensor> inputs;
  std::map<std::string, Tensor> outputs;
};

inline double number(const Json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

inline Tensor tensor(const Json& json) {
  Array array;
  array.dtype = dtype_from_short_name(json.at("dtype").get<std::string>()).value();
  array.shape = json.at("shape").get<Shape>();
  for (const Json& v : json.at("values")) array.values.push_back(number(v));
  array.round();
  return array.to_tensor();
}

inline const std::vector<Golden>& goldens() {
  static const std::vector<Golden> cases = [] {
    std::vector<Golden> found;
    std::ifstream file(std::string(SLIPWAY_SOURCE_DIR) + "/tests/golden/ops/cases.jsonl");
    for (std::string line; std::getline(file, line);) {
      const Json json = parse_json(line, "cases.jsonl");
      Golden golden{json.at("op").get<std::string>(), json.at("graph").get<std::string>(), {}, {}};
      for (const auto& [name, value] : json.at("inputs").items())
        golden.inputs[name] = tensor(value);
      for (const auto& [name, value] : json.at("outputs").items())
        golden.outputs[name] = tensor(value);
      found.push_back(std::move(golden));
    }
    return found;
  }();
  return cases;
}

/// One rounding of the dtype, relative to the larger of 1 and the value.
inline double rounding(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-14;
    case DType::kF32:
      return 5e-7;
    case DType::kF16:
      return 1e-3;
    case DType::kBF16:
      return 8e-3;
    default:
      return 0;
  }
}

/// Output `name` within so many roundings of what PyTorch gave.
inline void expect_near(const Golden& golden, const std::string& name, const Tensor& got,
                        double roundings) {
  const Tensor& want = golden.outputs.at(name);
  ASSERT_EQ(got.dtype(), want.dtype()) << golden.text;
  ASSERT_EQ(got.shape(), want.shape()) << golden.text;
  const Array x = Array::from_tensor(want), y = Array::from_tensor(got);
  for (size_t i = 0; i < x.values.size(); ++i) {
    const double p = x.values[i], q = y.values[i];
    if (p == q || (std::isnan(p) && std::isnan(q))) continue;
    const double allowed = roundings * rounding(want.dtype()) * std::max(1.0, std::fabs(p));
    EXPECT_LE(std::fabs(p - q), allowed)
        << golden.text << "\nelement " << i << ": PyTorch has " << p << ", we have " << q;
  }
}

}  // namespace slipway::op_cases
