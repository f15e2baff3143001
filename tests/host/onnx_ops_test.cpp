// Every op row, lowered to ONNX and run by ONNX Runtime, against the numbers of PyTorch.
#include <gtest/gtest.h>

#include <set>

#include "backends/onnx/lower.h"
#include "backends/onnx/write.h"
#include "golden_util.h"
#include "ir/ops/op_cases.h"
#include "ir/parse.h"
#include "runtime/session.h"

namespace slipway {
namespace {

using op_cases::Golden;

/// Cases that do not run lowered, with the reason; all others must.
struct Exception {
  const char* text;  ///< occurs in the graph's text
  const char* reason;
};
constexpr Exception kExceptions[] = {
    {"bf16", "ONNX Runtime has no kernels for bfloat16 on CPUs"},
    {"f32[3]) { %y = aten::amax(%x0, [0])", "ONNX Runtime's ReduceMax skips NaN"},
    {"f32[3]) { %y = aten::amin(%x0, [0])", "ONNX Runtime's ReduceMin skips NaN"},
};

const char* exception(const Golden& golden) {
  for (const Exception& e : kExceptions)
    if (golden.text.find(e.text) != std::string::npos) return e.reason;
  for (const auto& [name, want] : golden.outputs)
    if (want.dtype() == DType::kBF16) return kExceptions[0].reason;
  return nullptr;
}

/// A program of the case alone. Inputs that the graph does not read are left out when it runs.
void check(const Golden& golden, const std::filesystem::path& folder, const std::string& stem,
           int64_t opset) {
  ExportedProgram program;
  program.graph = parse_graph(golden.text);
  std::vector<std::string> dropped;
  const auto graph = onnx::lower(program, {.opset_version = opset}, &dropped);
  onnx::WriteOptions write;
  write.opset_version = opset;
  onnx::write(*graph, {}, folder, stem, write);
  SessionOptions options;
  options.intra_op_threads = 1;
  const Session session = Session::open("onnx", folder / (stem + ".onnx"), options);
  std::map<std::string, Tensor> inputs = golden.inputs;
  for (const std::string& name : dropped) inputs.erase(name);
  for (const auto& [name, tensor] : session.run(inputs))
    op_cases::expect_near(golden, name, tensor, 16);
}

class OnnxOps : public testing::TestWithParam<int64_t> {};

TEST_P(OnnxOps, GiveWhatPyTorchGives) {
  const golden::Scratch scratch;
  size_t ran = 0;
  for (size_t i = 0; i < op_cases::goldens().size(); ++i) {
    const Golden& golden = op_cases::goldens()[i];
    if (exception(golden) != nullptr) continue;
    const std::string stem = "case" + std::to_string(i);
    try {
      check(golden, scratch.path(), stem, GetParam());
      ++ran;
    } catch (const Error& error) {
      ADD_FAILURE() << golden.text << "\n" << error.what();
    }
    std::filesystem::remove(scratch.path() / (stem + ".onnx"));
    std::filesystem::remove(scratch.path() / (stem + ".onnx.data"));
  }
  EXPECT_GT(ran, 700u);
}

INSTANTIATE_TEST_SUITE_P(Opsets, OnnxOps, testing::Values(18, 20, 24));

}  // namespace
}  // namespace slipway
