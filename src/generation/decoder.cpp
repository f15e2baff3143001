// A decoder of text from its loaded graphs: which cache it has, and states over it.
#include "generation/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/log.h"
#include "checkpoint/config.h"
#include "generation/growing_state.h"
#include "generation/slot_state.h"
#include "generation/stateful_state.h"
#include "generation/static_state.h"
#include "generation/uncached_state.h"
#include "runtime/input_defaults.h"

namespace slipway {
namespace {

/// The upper bound of one dimension of an input of so many.
std::optional<int64_t> bound(const ModelRunner& runner, std::string_view input, size_t rank,
                             size_t axis) {
  for (const IoSpec& spec : runner.inputs()) {
    if (spec.name != input || spec.dims.size() != rank) continue;
    if (spec.dims[axis].is_fixed()) continue;
    const auto sizes = runner.limits().sizes.find(spec.name);
    if (sizes != runner.limits().sizes.end() && axis < sizes->second.size())
      return sizes->second[axis];
    const auto at = runner.limits().dims.find(spec.dims[axis].symbol);
    if (at != runner.limits().dims.end() && at->second.max < std::numeric_limits<int64_t>::max())
      return at->second.max;
  }
  return std::nullopt;
}

/// A positive number of a config, or nothing for null and for a key that is not there.
std::optional<int64_t> positive(const Json& config, const std::string& key) {
  if (!config.contains(key) || config[key].is_null()) return std::nullopt;
  const Json& value = config[key];
  if (!value.is_number_integer() || value.get<int64_t>() < 1)
    throw Error(kInvalid,
                fmt::format("[config.json] {} is {}, need a positive number", key, value.dump()));
  return value.get<int64_t>();
}

/// The slots of a static cache: the graph's, the caller's, or a default.
int64_t cache_length(const Decoder& decoder, const DecoderStateOptions& options) {
  const std::optional<int64_t> asked = options.max_cache_len;
  if (asked && *asked < 1)
    throw Error(kUsage, fmt::format("[decoder] max_cache_len is {}, need at least 1", *asked));
  if (!decoder.cache_length) {
    const std::optional<int64_t> most =
        smaller(decoder.prompt.caches[0].most_slots, decoder.step.caches[0].most_slots);
    if (asked && most && *asked > *most)
      throw Error(kInvalid, fmt::format("[decoder] got max_cache_len {}, the export has memory for "
                                        "{} slots; export it with a higher bound",
                                        *asked, *most));
    const int64_t positions =
        smaller(options.max_positions, decoder.max_positions).value_or(kDefaultCacheLength);
    return asked.value_or(std::min({positions, kDefaultCacheLength, most.value_or(positions)}));
  }
  if (asked && *asked > *decoder.cache_length)
    throw Error(kInvalid, fmt::format("[decoder] got max_cache_len {}, the export has {} slots; "
                                      "export it with a longer static cache",
                                      *asked, *decoder.cache_length));
  return *decoder.cache_length;
}

/// Where frequencies begin to follow the length, of a model with one kind of rotary embedding.
std::optional<int64_t> rotary_change(const Json& json) {
  if (!json.contains("rope_parameters") && !json.contains("rope_scaling")) return std::nullopt;
  RopeParameters rope;
  try {
    rope = Config::from_json(json, "config.json").rope("", 10000.0);
  } catch (const Error& error) {
    // The graph has its frequencies; other tools add settings to the file that contradict.
    log::warning_once(
        fmt::format("what the file says about rotary embeddings is not used: {}", error.what()));
    return std::nullopt;
  }
  if (rope.rope_type == "dynamic") return positive(json, "max_position_embeddings");
  if (rope.rope_type == "longrope") return rope.original_max_position_embeddings;
  return std::nullopt;
}

}  // namespace

DecoderStateOptions DecoderStateOptions::from_config(const Json& whole) {
  DecoderStateOptions options;
  if (!whole.is_object()) return options;
  const bool nested = whole.contains("text_config") && whole["text_config"].is_object();
  const Json& config = nested ? whole["text_config"] : whole;
  options.max_positions = positive(config, "max_position_embeddings");
  options.angles_change_at = rotary_change(config);
  const Json off = false;
  const Json& use = config.contains("use_sliding_window") ? config["use_sliding_window"] : Json();
  const std::optional<int64_t> window =
      use == off ? std::nullopt : positive(config, "sliding_window");
  if (!window) return options;
  options.windows["attention_mask.sliding_attention"] = *window;
  // One mask for all layers: they are of one type, or the model has no types.
  const Json& types = config.contains("layer_types") ? config["layer_types"] : Json();
  const bool slides = !types.is_array() ||
                      std::find(types.begin(), types.end(), Json("full_attention")) == types.end();
  if (slides) options.windows["attention_mask"] = *window;
  return options;
}

DecoderCache decoder_cache(const DecoderGraphs& graphs) {
  return recognize_decoder(graphs, {}).cache;
}

bool reads_many_tokens(const DecoderGraphs& graphs) {
  return !recognize_decoder(graphs, {}).step.tokens;
}

bool is_llm_program(const DecoderGraphs& graphs) {
  return recognize_llm_graph(graphs.step).has_value();
}

std::optional<int64_t> fixed_slots(const DecoderGraphs& graphs) {
  return recognize_decoder(graphs, {}).cache_length;
}

std::optional<int64_t> max_sequence_length(const DecoderGraphs& graphs) {
  std::optional<int64_t> limit =
      smaller(graphs.prompt.limits().max_positions, graphs.step.limits().max_positions);
  if (const auto program = recognize_llm_graph(graphs.step))
    return program->slot_count ? limit : smaller(limit, program->most_tokens);
  limit = smaller(limit, bound(graphs.step, "attention_mask", 2, 1));
  const auto& inputs = graphs.step.inputs();
  const auto cache = std::find_if(inputs.begin(), inputs.end(), [](const IoSpec& spec) {
    return spec.name.rfind("past_key_values.", 0) == 0 && spec.dims.size() == 4;
  });
  if (cache == inputs.end()) return smaller(limit, bound(graphs.step, "input_ids", 2, 1));
  // The last token is read on all others; slots are what a static cache's length bounds.
  const std::optional<int64_t> past = bound(graphs.step, cache->name, 4, 2);
  return smaller(limit, has_static_cache(inputs) || !past ? past : std::optional(*past + 1));
}

std::unique_ptr<DecoderState> make_decoder_state(const DecoderGraphs& graphs,
                                                 const DecoderStateOptions& options) {
  auto decoder = std::make_shared<const Decoder>(recognize_decoder(graphs, options));
  if (decoder->cache == DecoderCache::kNone)
    return std::make_unique<UncachedState>(std::move(decoder));
  const bool is_static = decoder->cache == DecoderCache::kStatic;
  const auto slots = is_static ? std::optional(cache_length(*decoder, options)) : std::nullopt;
  if (!decoder->step.slot_positions.empty())
    return std::make_unique<SlotState>(std::move(decoder), *slots);
  if (decoder->place == CachePlace::kRuntime)
    return std::make_unique<StatefulState>(std::move(decoder), slots);
  if (!is_static) return std::make_unique<GrowingState>(std::move(decoder));
  return std::make_unique<StaticState>(std::move(decoder), *slots);
}

}  // namespace slipway
