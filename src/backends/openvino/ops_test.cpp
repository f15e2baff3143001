// Every op case lowers to OpenVINO ops. With SLIPWAY_OPENVINO_CASES=FOLDER the IR of each is
// written there, for tests/interop/openvino.py.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "backends/openvino/lower.h"
#include "backends/openvino/write.h"
#include "ir/ops/op_cases.h"
#include "ir/parse.h"

namespace slipway::openvino {
namespace {

TEST(OpenVINOOps, EveryCaseLowers) {
  const char* folder = std::getenv("SLIPWAY_OPENVINO_CASES");
  for (size_t i = 0; i < op_cases::goldens().size(); ++i) {
    const op_cases::Golden& golden = op_cases::goldens()[i];
    ExportedProgram program;
    program.graph = parse_graph(golden.text);
    try {
      const auto graph = lower(program);
      if (folder != nullptr) write(*graph, {}, folder, std::to_string(i), {});
      else EXPECT_GT(measure(*graph, {}, {}).model_bytes, 0);
    } catch (const Error& error) {
      ADD_FAILURE() << golden.text << "\n" << error.what();
    }
  }
}

}  // namespace
}  // namespace slipway::openvino
