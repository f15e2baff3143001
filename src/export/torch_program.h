// What stands behind TorchProgram; private to layers 7 and 8.
#pragma once

#include "backends/dynamo/import.h"
#include "export/impl.h"
#include "slipway/configs.h"
#include "slipway/torch_program.h"

namespace slipway {

struct TorchProgram::Impl {
  dynamo::ProgramFile file;
  dynamo::Imported imported;
  std::optional<ExportMetadata> recorded;  ///< of the export.json beside the file
  std::string config;                      ///< config.json as text
  std::vector<CompanionFile> companions;
};

/// The program as a graph of its own, composites recovered.
ExportedProgram raised(const TorchProgram& program);

/// What export.json records about the export of a traced program.
ExportMetadata metadata_of(const TorchProgram& program, const ExportConfig& config);

}  // namespace slipway
