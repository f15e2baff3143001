// Every op case lowers to kernels, and to delegates where XNNPACK takes it. With
// SLIPWAY_EXECUTORCH_CASES=FOLDER the program of each is written there, for
// tests/interop/executorch_ops.py.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/executorch/emit.h"
#include "backends/executorch/lower.h"
#include "backends/executorch/partition.h"
#include "backends/executorch/write.h"
#include "ir/ops/op_cases.h"
#include "ir/parse.h"
#include "lowering/upper_bounds.h"

namespace slipway::executorch {
namespace {

/// Ops that no kernel and no body lowers, with the reason; their cases must be refused.
struct Exception {
  const char* text;  ///< occurs in the graph's text
  const char* reason;
};
constexpr Exception kExceptions[] = {
    {"aten::conv3d", "the kernel of convolution has one or two axes"},
    {"aten::upsample_bicubic2d.vec", "there is no kernel"},
};

const char* exception(const std::string& text) {
  for (const Exception& e : kExceptions)
    if (text.find(e.text) != std::string::npos) return e.reason;
  const bool combines = text.find("aten::scatter_reduce.two") != std::string::npos;
  if (combines && text.find("\"sum\"") == std::string::npos)
    return "of the ways to combine only sums have a kernel";
  return nullptr;
}

/// The program, and the names of its inputs and outputs in order.
void write_case(const Program& program, const std::filesystem::path& folder,
                const std::string& stem) {
  write(program, folder / (stem + ".pte"));
  std::ofstream names(folder / (stem + ".names"));
  for (const std::string& name : program.methods[0].input_names) names << "input " << name << "\n";
  for (const std::string& name : program.methods[0].output_names)
    names << "output " << name << "\n";
}

TEST(ExecutorchOps, EveryCaseLowers) {
  const char* folder = std::getenv("SLIPWAY_EXECUTORCH_CASES");
  for (size_t i = 0; i < op_cases::goldens().size(); ++i) {
    const op_cases::Golden& golden = op_cases::goldens()[i];
    ExportedProgram source;
    source.graph = parse_graph(golden.text);
    std::map<std::string, int64_t> bounds;
    for (const Sym symbol : lowering::unbounded_symbols(*source.graph)) bounds[symbol.name()] = 16;
    lowering::set_upper_bounds(*source.graph, bounds);
    const char* reason = exception(golden.text);
    try {
      const auto graph = lower(source);
      const auto other = lower(source);
      expand_own_ops(*graph);
      const std::vector<Partition> parts = partition(*other);
      for (const bool delegated : {false, true}) {
        if (delegated && parts.empty()) continue;
        Program program;
        program.methods.push_back(delegated ? emit(*other, "forward", parts)
                                            : emit(*graph, "forward"));
        const std::string stem = std::to_string(i) + (delegated ? "_xnnpack" : "");
        if (folder != nullptr) write_case(program, folder, stem);
        else EXPECT_GT(measure(program).file_bytes, 0);
      }
      EXPECT_EQ(reason, nullptr) << golden.text << " lowers, take it off the list";
    } catch (const Error& error) {
      if (reason == nullptr) ADD_FAILURE() << golden.text << "\n" << error.what();
    }
  }
}

}  // namespace
}  // namespace slipway::executorch
