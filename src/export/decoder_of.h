// The decoder in an export.
#pragma once

#include "generation/decoder.h"
#include "slipway/exported_model.h"

namespace slipway {

/// The graphs of "model", or of "prefill" and "decode", or "decode" alone where it takes any number
/// of tokens; they live as long as the export's runners.
/// Throws Error{kUnsupported} for other components.
DecoderGraphs decoder_graphs_of(const ExportedModel& exported);

/// What the export's config.json says about states of its decoder.
DecoderStateOptions decoder_options_of(const ExportedModel& exported);

}  // namespace slipway
