// The decoder in an export.
#include "export/decoder_of.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "export/impl.h"

namespace slipway {

DecoderGraphs decoder_graphs_of(const ExportedModel& exported) {
  const ModelRunner* prompt = nullptr;
  const ModelRunner* step = nullptr;
  std::vector<std::string> names;
  for (const auto& [name, runner] : exported.runners()) {
    names.push_back(name);
    if (name == "model" || name == "prefill") prompt = &runner.impl().runner;
    if (name == "model" || name == "decode") step = &runner.impl().runner;
  }
  if (prompt == nullptr || step == nullptr || names.size() > 2)
    throw Error(kUnsupported, fmt::format("[generate] the export has the components {}, need "
                                          "'model', or 'prefill' and 'decode'",
                                          fmt::join(names, ", ")));
  return {*prompt, *step};
}

DecoderStateOptions decoder_options_of(const ExportedModel& exported) {
  const std::string& config = exported.config();
  return DecoderStateOptions::from_config(config.empty() ? Json()
                                                         : parse_json(config, "config.json"));
}

}  // namespace slipway
