// The decoder in an export.
#include "export/decoder_of.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "export/impl.h"
#include "runtime/input_defaults.h"

namespace slipway {

namespace {

/// Whether a step reads a prompt as well. One that only bounds sizes was made for a cache that is
/// not empty.
bool reads_prompts(const ModelRunner& runner) {
  const auto& inputs = runner.inputs();
  const auto ids = std::ranges::find(inputs, "input_ids", &IoSpec::name);
  if (ids == inputs.end() || ids->dims.size() != 2 || ids->dims[1].is_fixed()) return false;
  const auto most = runner.limits().sizes.find("input_ids");
  if (most == runner.limits().sizes.end()) return true;
  return most->second.size() == 2 && most->second[1] > 1 && has_static_cache(inputs);
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
  if (reads_prompts(later)) return {later, later};
  return {prompt->impl().runner(), later};
}

DecoderStateOptions decoder_options_of(const ExportedModel& exported) {
  const std::string& config = exported.config();
  return DecoderStateOptions::from_config(config.empty() ? Json()
                                                         : parse_json(config, "config.json"));
}

}  // namespace slipway
