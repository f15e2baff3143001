// Hand-made programs, written and opened in the ExecuTorch runtime.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "backends/executorch/test_programs.h"
#include "backends/executorch/write.h"
#include "base/test_folder.h"
#include "runtime/session.h"

namespace slipway::executorch_test {

inline constexpr executorch::PlanOptions kCallerOwns{
    .alloc_graph_input = false, .alloc_graph_output = false, .alloc_mutable_buffers = true};

/// first, first + 1, ...
inline Tensor counted(Shape shape, float first = 0) {
  Tensor t(DType::kF32, std::move(shape));
  auto values = t.mutable_values<float>();
  std::iota(values.begin(), values.end(), first);
  return t;
}

inline std::vector<float> floats(const Tensor& t) {
  return {t.values<float>().begin(), t.values<float>().end()};
}

class Programs : public testing::Test {
 protected:
  Session open(const executorch::Program& program, const executorch::PlanOptions& options = {},
               const std::string& method = {}) {
    executorch::write(program, folder_ / "model.pte", options);
    SessionOptions session;
    if (!method.empty()) session.config = {{"method", method}};
    return Session::open("executorch", folder_ / "model.pte", session);
  }
  TestFolder folder_;
};

}  // namespace slipway::executorch_test
