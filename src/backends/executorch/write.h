// Writes a program as a .pte file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "backends/executorch/plan.h"
#include "backends/executorch/program.h"

namespace slipway::executorch {

/// What was or would be written, in bytes.
struct WriteSummary {
  int64_t file_bytes = 0;
  int64_t program_bytes = 0;                   ///< methods without weights and delegates
  int64_t weight_bytes = 0;                    ///< each object once
  std::map<std::string, int64_t> arena_bytes;  ///< by method: activations and buffers together
  int64_t kernel_calls = 0, delegate_calls = 0;
};

/// The key of the named data that hold the names, symbolic sizes and ranges of inputs and outputs.
constexpr const char* kMetadataKey = "slipway.metadata";

/// Writes `file` for ExecuTorch 1.5 (FORMAT.md). Weights are streamed in pieces by all cores;
/// nothing is gathered. The same program gives the same bytes. Throws what verify() and plan()
/// throw. A failure leaves a broken file: callers write into a StagedDirectory.
WriteSummary write(const Program& program, const std::filesystem::path& file,
                   const PlanOptions& options = {});

/// The sizes that write() would give, without writing.
WriteSummary measure(const Program& program, const PlanOptions& options = {});

}  // namespace slipway::executorch
