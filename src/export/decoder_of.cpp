// The decoder in an export.
#include "export/decoder_of.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "export/impl.h"

namespace slipway {

namespace {

bool takes_many_tokens(const ModelRunner& runner) {
  for (const IoSpec& input : runner.inputs())
    if (input.name == "input_ids") return input.dims.size() == 2 && !input.dims[1].is_fixed();
  return false;
}

}  // namespace

DecoderGraphs decoder_graphs_of(const ExportedModel& exported) {
  const Runner* prompt = nullptr;
  const Runner* step = nullptr;
  std::vector<std::string> names;
  for (const auto& [name, runner] : exported.runners()) {
    names.push_back(name);
    if (name == "model" || name == "prefill") prompt = &runner;
    if (name == "model" || name == "decode") step = &runner;
  }
  if (prompt == nullptr || step == nullptr || names.size() > 2)
    throw Error(kUnsupported, fmt::format("[generate] the export has the components {}, need "
                                          "'model', or 'prefill' and 'decode'",
                                          fmt::join(names, ", ")));
  const ModelRunner& later = step->impl().runner();
  // A step that takes any number of tokens reads a prompt as well: one graph to load, not two.
  if (takes_many_tokens(later)) return {later, later};
  return {prompt->impl().runner(), later};
}

DecoderStateOptions decoder_options_of(const ExportedModel& exported) {
  const std::string& config = exported.config();
  return DecoderStateOptions::from_config(config.empty() ? Json()
                                                         : parse_json(config, "config.json"));
}

}  // namespace slipway
