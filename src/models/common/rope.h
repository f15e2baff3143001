// Rotary position angles as part of the graph.
#pragma once

#include "models/model.h"

namespace slipway::models {

/// cos and sin of every position and frequency: [batch or 1, length, rotary size / 2].
struct Rotary {
  Value cos, sin;
};

/// The angles for `positions` (int64 [batch or 1, length]) under the given settings. Kinds whose
/// frequencies depend on the length reached (dynamic, longrope) switch in the graph at run time, by
/// the largest position of the call.
Rotary rotary(ModelBuilder& m, Value positions, const RopeParameters& rope, int64_t head_dim,
              int64_t max_position_embeddings);

}  // namespace slipway::models
