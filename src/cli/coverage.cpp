// slipway formats --coverage: what becomes of every op in every back end, from their tables.
#include <fmt/format.h>

#include <algorithm>

#include "backends/executorch/lower.h"
#include "backends/onnx/lower.h"
#include "backends/openvino/lower.h"
#include "cli/cli.h"

namespace slipway::cli {
namespace {

/// One line of the matrix.
struct Line {
  std::string op, read, evaluate, onnx, dynamo, openvino, executorch;
};

/// Ops of source graphs; those of back ends have namespaces of their own.
bool is_ours(const Op& op) {
  constexpr std::string_view kSpaces[] = {
      "aten::", "slipway::", "quantized_decomposed::", "torchao::"};
  return std::ranges::any_of(kSpaces,
                             [&](std::string_view space) { return op.name().starts_with(space); });
}

Line line_of(const Op& op) {
  const bool body = op.row.body != nullptr, spelling = op.has(kSpelling);
  const char* const expanded = body ? "body" : "no";
  Line line{op.name(), spelling ? "spelling" : body ? "body" : "core", "", "", "", "", ""};
  line.evaluate = op.row.eval != nullptr ? "own" : expanded;
  line.onnx = onnx::find_lowering(op.name()) != nullptr ? "ops" : expanded;
  line.dynamo = spelling ? "body" : op.name().starts_with("aten::") ? "itself" : expanded;
  line.openvino = openvino::find_lowering(op.name()) != nullptr ? "ops" : expanded;
  line.executorch = executorch::find_lowering(op.name()) != nullptr ? "ops" : expanded;
  return line;
}

constexpr std::string_view kHead =
    "# Ops\n\n"
    "What becomes of every op, from the tables of the code: `slipway formats --coverage` prints "
    "this file.\n\n"
    "| column | values |\n|---|---|\n"
    "| row | `core`: the op stands for itself; `body`: it is also written in simpler ops; "
    "`spelling`: front ends write it as its body at once |\n"
    "| evaluate | `own`: computed directly by the oracle and by constant folding; `body`: by way "
    "of its body |\n"
    "| onnx | `ops`: lowered to ONNX ops; `body`: by way of its body; `no`: refused with a count "
    "|\n"
    "| dynamo | `itself`: the op of the PyTorch program; `body`: written as its body; `no`: "
    "refused with a count |\n"
    "| openvino | `ops`: lowered to OpenVINO ops; `body`: by way of its body; `no`: refused with a "
    "count |\n"
    "| executorch | `ops`: lowered to kernels of ExecuTorch; `body`: by way of its body; `no`: "
    "refused with a count |\n\n"
    "Each op has cases in `tests/golden/ops` with the numbers of PyTorch; every case is "
    "evaluated, and runs lowered in ONNX Runtime.\n\n"
    "| op | row | evaluate | onnx | dynamo | openvino | executorch "
    "|\n|---|---|---|---|---|---|---|\n";

}  // namespace

void list_coverage(bool json) {
  Json list = Json::array();
  std::string table(kHead);
  for (const Op* op : all_ops()) {
    if (!is_ours(*op)) continue;
    const Line line = line_of(*op);
    table += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", line.op, line.read,
                         line.evaluate, line.onnx, line.dynamo, line.openvino, line.executorch);
    list.push_back({{"op", line.op},
                    {"row", line.read},
                    {"evaluate", line.evaluate},
                    {"onnx", line.onnx},
                    {"dynamo", line.dynamo},
                    {"openvino", line.openvino},
                    {"executorch", line.executorch}});
  }
  if (json) print_json({{"ops", std::move(list)}});
  else print(table);
}

}  // namespace slipway::cli
