// The interface of a decoder's graphs, as states use it.
#include "generation/decoder_graphs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "generation/cache_names.h"

namespace slipway {
namespace {

[[noreturn]] void unsupported(const DecoderGraph& graph, const std::string& what) {
  throw Error(kUnsupported,
              fmt::format("[{}] is no decoder that can generate: {}", graph.where, what));
}

bool is_mask_name(const std::string& leaf) {
  return leaf == "attention_mask" || leaf.rfind("attention_mask.", 0) == 0;
}

/// The window of a mask input as the graph states it; nothing where it says nothing about masks.
std::optional<int64_t> window_of(const DecoderGraph& graph, const std::string& leaf,
                                 const DecoderStateOptions& options) {
  const auto& metadata = graph.session.metadata();
  const auto text = metadata.find("slipway.masks");
  if (text == metadata.end()) {
    const auto at = options.windows.find(leaf);
    return at == options.windows.end() ? std::nullopt : std::optional(at->second);
  }
  const auto malformed = [&] {
    return Error(kInvalid, fmt::format("[{}] the metadata slipway.masks is {}, need an object of "
                                       "objects with a positive window; export the model again",
                                       graph.where, text->second));
  };
  const Json masks = Json::parse(text->second, nullptr, false);
  if (!masks.is_object()) throw malformed();
  if (!masks.contains(leaf)) return std::nullopt;
  const Json& mask = masks[leaf];
  if (!mask.is_object()) throw malformed();
  if (!mask.contains("window") || mask["window"].is_null()) return std::nullopt;
  if (!mask["window"].is_number_integer() || mask["window"].get<int64_t>() < 1) throw malformed();
  return mask["window"].get<int64_t>();
}

void add_mask(DecoderGraph& graph, const IoSpec& spec, const std::string& name,
              const DecoderStateOptions& options) {
  const size_t rank = spec.dims.size();
  if (rank != 2 && rank != 4)
    unsupported(graph, fmt::format("the mask {} has {} dimensions, need 2 or 4", spec.name, rank));
  if (rank == 2 && !is_integral(spec.dtype) && spec.dtype != DType::kBool)
    unsupported(graph, fmt::format("the mask {} is no integer", spec.name));
  if (rank == 4 && spec.dtype != DType::kBool)
    unsupported(graph, fmt::format("the mask {} of 4 dimensions is no boolean", spec.name));
  MaskInput mask{name, spec.dtype, rank, std::nullopt};
  if (rank == 4) {
    mask.window = window_of(graph, spec.name, options);
    if (const auto heads = graph.known_size(spec, 1); heads && *heads != 1)
      unsupported(graph, fmt::format("the mask {} is one a head", spec.name));
    if (const auto slots = fixed_size(spec, 3)) graph.mask_slots = slots;
  }
  graph.masks.push_back(std::move(mask));
}

/// A graph that states bounds only: heads are those of config.json, which the bounds must be too.
void take_heads(const DecoderGraph& graph, const CacheName& name, const IoSpec& spec,
                CacheTensor& cache) {
  const auto& known = graph.limits.cache_heads;
  if (!known)
    unsupported(graph, fmt::format("it fixes no sizes of the cache {}, and there is no config.json "
                                   "beside it that says num_attention_heads and hidden_size",
                                   cache.leaf));
  cache.heads = known->heads;
  cache.head_dim = name.part == CachePart::kKeys ? known->key_size : known->value_size;
  const auto heads = graph.most_size(spec, 1), head_dim = graph.most_size(spec, 3);
  if (heads != cache.heads || head_dim != cache.head_dim)
    throw Error(kInvalid, fmt::format("[{}] {} has {} heads of size {}, config.json says {} of "
                                      "size {}; the two must be of one model",
                                      graph.where, cache.leaf, heads.value_or(0),
                                      head_dim.value_or(0), cache.heads, cache.head_dim));
}

/// `input` is the same one as the graph takes it, where it does.
CacheTensor cache_tensor(const DecoderGraph& graph, const CacheName& name, const IoSpec& output,
                         const IoSpec* input) {
  CacheTensor cache;
  cache.leaf = name.leaf();
  cache.dtype = output.dtype;
  const auto size = [&](size_t axis) {
    const auto out = fixed_size(output, axis);
    const auto in = input != nullptr ? fixed_size(*input, axis) : std::nullopt;
    if (out && in && *out != *in)
      throw Error(kInvalid,
                  fmt::format("[{}] {} is {} as an input and {} as an output", graph.where,
                              cache.leaf, input->dims_text(), output.dims_text()));
    return out ? out : in;
  };
  const auto heads = size(1), head_dim = size(3);
  cache.only_bounded = !heads && !head_dim && graph.limits.sizes.contains(output.name);
  if (output.dims.size() != 4 || (!cache.only_bounded && !(heads && head_dim)))
    unsupported(graph, fmt::format("the cache {} is {}, need 4 dimensions with fixed heads and "
                                   "head size",
                                   cache.leaf, output.dims_text()));
  if (input != nullptr && input->dtype != output.dtype)
    unsupported(graph, fmt::format("{} changes its dtype", cache.leaf));
  if (cache.only_bounded) {
    take_heads(graph, name, output, cache);
    if (input != nullptr) take_heads(graph, name, *input, cache);
  } else {
    cache.heads = *heads;
    cache.head_dim = *head_dim;
  }
  cache.slots = size(2);
  cache.most_slots = graph.most_size(input != nullptr ? *input : output, 2);
  return cache;
}

void add_state(DecoderGraph& graph, const CacheName& name, const IoSpec& spec,
               const std::string& state) {
  CacheTensor cache = cache_tensor(graph, name, spec, nullptr);
  cache.state = state;
  graph.caches.push_back(std::move(cache));
}

/// Sorts an input into its place. False: nothing that a decoder is known to take.
bool add_input(DecoderGraph& graph, const IoSpec& spec, const std::string& name,
               const DecoderStateOptions& options) {
  if (spec.name == "input_ids") {
    if (spec.dims.size() != 2 || spec.dtype != DType::kI64)
      unsupported(graph, "input_ids is no int64 [batch, tokens]");
    graph.ids = name;
    graph.batch = graph.known_size(spec, 0);
    graph.tokens = graph.known_size(spec, 1);
    graph.most_tokens = graph.most_size(spec, 1);
    return true;
  }
  if (spec.name == "position_ids" && spec.dims.size() == 2 && spec.dtype == DType::kI64) {
    graph.positions = name;
    return true;
  }
  // transformers.js calls it num_logits_to_keep.
  if ((spec.name == "logits_to_keep" || spec.name == "num_logits_to_keep") && spec.dims.empty() &&
      spec.dtype == DType::kI64) {
    graph.logits_to_keep = name;
    return true;
  }
  if (is_mask_name(spec.name)) {
    add_mask(graph, spec, name, options);
    return true;
  }
  if (spec.name == "beam_idx" && spec.dims.size() == 1 && spec.dtype == DType::kI32) {
    graph.beams = name;
    return true;
  }
  const std::optional<CacheName> cache = parse_cache_name(spec.name);
  // A state of another kind would be left as the last tokens made it.
  if (!cache) return spec.optional && !spec.state;
  if (cache->part == CachePart::kCounter && spec.state)
    graph.counter_states.push_back({name, spec.dtype});
  else if (cache->part == CachePart::kCounter) graph.counters.push_back(name);
  else if (spec.state) add_state(graph, *cache, spec, name);
  return true;  // keys and values that are no states are read from the outputs
}

void add_caches(DecoderGraph& graph, const ModelRunner& runner) {
  std::map<CacheName, size_t> inputs;
  for (size_t i = 0; i < runner.inputs().size(); ++i)
    if (const auto name = parse_cache_name(runner.inputs()[i].name))
      if (name->part != CachePart::kCounter && !runner.inputs()[i].state) inputs[*name] = i;
  size_t fed = 0;
  for (size_t i = 0; i < runner.outputs().size(); ++i) {
    const auto name = parse_cache_name(runner.outputs()[i].name);
    if (!name || name->part == CachePart::kCounter) continue;
    const auto in = inputs.find(*name);
    const bool is_fed = in != inputs.end();
    CacheTensor cache = cache_tensor(graph, *name, runner.outputs()[i],
                                     is_fed ? &runner.inputs()[in->second] : nullptr);
    cache.output = runner.session().outputs()[i].name;
    if (is_fed) cache.input = runner.session().inputs()[in->second].name;
    fed += is_fed ? 1 : 0;
    graph.caches.push_back(std::move(cache));
  }
  if (fed != inputs.size())
    unsupported(graph,
                fmt::format("it takes {} caches and gives back {} of them", inputs.size(), fed));
  if (fed != 0 && fed != graph.caches.size())
    unsupported(graph,
                fmt::format("it gives {} caches and takes {} of them", graph.caches.size(), fed));
}

DecoderGraph recognize_graph(const ModelRunner& runner, const DecoderStateOptions& options) {
  if (auto program = recognize_llm_graph(runner)) return std::move(*program);
  DecoderGraph graph(runner);
  std::vector<std::string> unknown;
  for (size_t i = 0; i < runner.inputs().size(); ++i)
    if (!add_input(graph, runner.inputs()[i], runner.session().inputs()[i].name, options))
      unknown.push_back(runner.inputs()[i].name);
  const auto logits = std::find_if(runner.outputs().begin(), runner.outputs().end(),
                                   [](const IoSpec& spec) { return spec.name == "logits"; });
  if (graph.ids.empty() || logits == runner.outputs().end())
    unsupported(graph,
                "it needs the input input_ids and the output logits; export the model for "
                "the task text-generation-with-past");
  if (!unknown.empty())
    unsupported(graph, fmt::format("nothing fills in its inputs {}", fmt::join(unknown, ", ")));
  const bool known =
      logits->dtype == DType::kF32 || logits->dtype == DType::kF16 || logits->dtype == DType::kBF16;
  if (!known || logits->dims.size() != 3)
    unsupported(graph, fmt::format("the logits are {} {}, need [batch, tokens, vocabulary] of f32, "
                                   "f16 or bf16",
                                   short_name(logits->dtype), logits->dims_text()));
  graph.logits =
      runner.session().outputs()[static_cast<size_t>(logits - runner.outputs().begin())].name;
  graph.logits_dtype = logits->dtype;
  graph.vocabulary = fixed_size(*logits, 2);
  add_caches(graph, runner);
  return graph;
}

/// Both graphs use the same caches.
void check_pair(const Decoder& decoder) {
  const auto &a = decoder.prompt.caches, &b = decoder.step.caches;
  const auto mismatch = [&](const std::string& what) {
    throw Error(kInvalid, fmt::format("[{}] its cache is not that of {}: {}; both must come from "
                                      "one export",
                                      decoder.step.where, decoder.prompt.where, what));
  };
  if (a.size() != b.size()) mismatch(fmt::format("{} tensors, need {}", b.size(), a.size()));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].leaf != b[i].leaf) mismatch(fmt::format("{}, need {}", b[i].leaf, a[i].leaf));
    if (a[i].heads != b[i].heads || a[i].head_dim != b[i].head_dim || a[i].dtype != b[i].dtype)
      mismatch(fmt::format("{} has {} heads of size {} ({}), need {} of size {} ({})", b[i].leaf,
                           b[i].heads, b[i].head_dim, short_name(b[i].dtype), a[i].heads,
                           a[i].head_dim, short_name(a[i].dtype)));
  }
}

void sort_caches(DecoderGraph& graph) {
  std::sort(graph.caches.begin(), graph.caches.end(), [](const auto& a, const auto& b) {
    return *parse_cache_name(a.leaf) < *parse_cache_name(b.leaf);
  });
}

/// The one length that all fixed sizes of static caches agree on.
std::optional<int64_t> fixed_cache_length(const Decoder& decoder) {
  if (decoder.step.slot_count) return decoder.step.slot_count;
  std::optional<int64_t> length;
  const auto add = [&](const DecoderGraph& graph, std::optional<int64_t> slots) {
    if (!slots) return;
    if (length && *length != *slots)
      unsupported(graph, fmt::format("caches of different lengths, {} and {}", *length, *slots));
    length = slots;
  };
  for (const DecoderGraph* graph : {&decoder.prompt, &decoder.step}) {
    for (const CacheTensor& cache : graph->caches) add(*graph, cache.slots);
    add(*graph, graph->mask_slots);
  }
  if (length) return length;
  // Where bounds differ the lower one is fixed, or none is.
  for (const DecoderGraph* graph : {&decoder.prompt, &decoder.step})
    for (const CacheTensor& cache : graph->caches)
      if (cache.only_bounded && (!length || cache.most_slots < length)) length = cache.most_slots;
  return length;
}

void check_sizes(const Decoder& decoder) {
  const DecoderGraph &prompt = decoder.prompt, &step = decoder.step;
  const bool steps = decoder.cache != DecoderCache::kNone;
  if (prompt.tokens && !(steps && *prompt.tokens == 1 && prompt.takes_cache()))
    unsupported(prompt, fmt::format("it takes exactly {} tokens, so it cannot grow a sequence; "
                                    "export it without fixed sizes",
                                    *prompt.tokens));
  if (steps && step.tokens && *step.tokens != 1)
    unsupported(step, fmt::format("it takes exactly {} tokens a call; export it with one, or with "
                                  "a symbolic number",
                                  *step.tokens));
  if (decoder.cache == DecoderCache::kGrowing)
    for (const CacheTensor& cache : step.caches)
      if (cache.slots)
        unsupported(step, fmt::format("the length of {} is fixed at {}; export it without fixed "
                                      "sizes",
                                      cache.leaf, *cache.slots));
  for (const DecoderGraph* graph : {&prompt, &step})
    for (const MaskInput& mask : graph->masks)
      if (decoder.cache == DecoderCache::kStatic && mask.rank != 4)
        unsupported(*graph, fmt::format("the mask {} of a static cache has {} dimensions, need 4",
                                        mask.name, mask.rank));
  // The reference leaves the mask out of a prompt's graph whose example had no padding.
  const bool blind = step.masks.empty() || (prompt.masks.empty() && prompt.takes_cache());
  if (decoder.cache == DecoderCache::kStatic && blind && step.slot_positions.empty())
    unsupported(step, "a static cache needs an attention_mask");
}

}  // namespace

std::optional<int64_t> fixed_size(const IoSpec& spec, size_t axis) {
  if (axis >= spec.dims.size() || !spec.dims[axis].is_fixed()) return std::nullopt;
  return spec.dims[axis].size;
}

std::optional<int64_t> smaller(std::optional<int64_t> a, std::optional<int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::optional<int64_t> DecoderGraph::known_size(const IoSpec& spec, size_t axis) const {
  if (const auto size = fixed_size(spec, axis)) return size;
  return most_size(spec, axis) == 1 ? std::optional<int64_t>(1) : std::nullopt;
}

std::optional<int64_t> DecoderGraph::most_size(const IoSpec& spec, size_t axis) const {
  if (axis >= spec.dims.size()) return std::nullopt;
  const auto sizes = limits.sizes.find(spec.name);
  if (sizes != limits.sizes.end() && sizes->second.size() == spec.dims.size())
    return sizes->second[axis];
  const auto at = limits.dims.find(spec.dims[axis].symbol);
  if (at == limits.dims.end() || at->second.max == std::numeric_limits<int64_t>::max())
    return std::nullopt;
  return at->second.max;
}

Decoder recognize_decoder(const DecoderGraphs& graphs, const DecoderStateOptions& options) {
  DecoderGraph prompt = recognize_graph(graphs.prompt, options);
  DecoderGraph step = recognize_graph(graphs.step, options);
  sort_caches(prompt);
  sort_caches(step);
  Decoder decoder{DecoderCache::kNone,
                  CachePlace::kCaller,
                  std::move(prompt),
                  std::move(step),
                  &graphs.prompt == &graphs.step,
                  std::nullopt,
                  max_sequence_length(graphs),
                  options.angles_change_at};
  const bool counts = !decoder.step.counters.empty() || !decoder.step.counter_states.empty() ||
                      !decoder.step.slot_positions.empty();
  if (decoder.step.keeps_cache()) decoder.place = CachePlace::kRuntime;
  if (decoder.step.takes_cache())
    decoder.cache = counts ? DecoderCache::kStatic : DecoderCache::kGrowing;
  if (decoder.cache == DecoderCache::kNone) {
    // What a graph without cache inputs gives as caches is of no use.
    decoder.prompt.caches.clear();
    decoder.step.caches.clear();
  } else {
    check_pair(decoder);
  }
  if (decoder.cache == DecoderCache::kStatic) decoder.cache_length = fixed_cache_length(decoder);
  check_sizes(decoder);
  return decoder;
}

}  // namespace slipway
