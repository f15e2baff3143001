// What saving an export would write, without writing.
#pragma once

#include "slipway/exported_model.h"

namespace slipway {

struct DryRun {
  int64_t model_bytes = 0;  ///< of the graph files
  int64_t data_bytes = 0;   ///< of the weight files
  int64_t nodes = 0;
  /// An estimate of anonymous memory while saving: graph, messages and the pieces in flight.
  int64_t peak_anonymous_bytes = 0;
};

/// Of a fresh export; Error{kUsage} for a loaded one.
DryRun dry_run(const ExportedModel& exported);

}  // namespace slipway
