// The interface of programs for ExecuTorch's LLM runner: two inputs, whatever they are called.
#include <fmt/format.h>

#include <algorithm>

#include "generation/cache_names.h"
#include "generation/decoder_graphs.h"
#include "generation/llm_program.h"

namespace slipway {
namespace {

bool is_ids(const IoSpec& spec, size_t rank) {
  return spec.dtype == DType::kI64 && spec.dims.size() == rank;
}

/// Keys and values, where all that the program keeps are named so.
std::vector<CacheTensor> caches_of(const ModelRunner& runner) {
  std::vector<CacheTensor> caches;
  for (size_t i = 0; i < runner.inputs().size(); ++i) {
    const IoSpec& spec = runner.inputs()[i];
    if (!spec.state) continue;
    const auto name = parse_cache_name(spec.name);
    const bool sized = spec.dims.size() == 4 && std::ranges::all_of(spec.dims, &DimSpec::is_fixed);
    if (!name || name->part == CachePart::kCounter || !sized) return {};
    CacheTensor cache;
    cache.leaf = name->leaf();
    cache.state = runner.session().inputs()[i].name;
    cache.dtype = spec.dtype;
    cache.heads = spec.dims[1].size;
    cache.head_dim = spec.dims[3].size;
    cache.slots = spec.dims[2].size;
    caches.push_back(std::move(cache));
  }
  return caches;
}

void add_logits(DecoderGraph& graph, const ModelRunner& runner) {
  const IoSpec& logits = runner.outputs()[0];
  const bool known =
      logits.dtype == DType::kF32 || logits.dtype == DType::kF16 || logits.dtype == DType::kBF16;
  const size_t rank = logits.dims.size();
  if (!known || (rank != 2 && rank != 3))
    throw Error(kUnsupported,
                fmt::format("[{}] is no program for ExecuTorch's LLM runner: its first output is "
                            "{} {}, need logits of f32, f16 or bf16 with 2 or 3 dimensions",
                            graph.where, short_name(logits.dtype), logits.dims_text()));
  graph.logits = runner.session().outputs()[0].name;
  graph.logits_dtype = logits.dtype;
  graph.logits_rank = rank;
  graph.last_logits = true;
  graph.vocabulary = fixed_size(logits, rank - 1);
}

}  // namespace

std::optional<DecoderGraph> recognize_llm_graph(const ModelRunner& runner) {
  DecoderGraph graph(runner);
  const auto program = read_llm_program(runner.session().metadata(), graph.where);
  const auto given = static_cast<size_t>(
      std::ranges::count_if(runner.inputs(), [](const IoSpec& spec) { return !spec.state; }));
  const auto& inputs = runner.inputs();
  if (!program || runner.outputs().empty() || given < 1 || given > 2 || !is_ids(inputs[0], 2) ||
      (given == 2 && !is_ids(inputs[1], 1)))
    return std::nullopt;
  graph.ids = runner.session().inputs()[0].name;
  graph.batch = 1;
  graph.tokens = graph.known_size(inputs[0], 1);
  graph.most_tokens = smaller(program->most_tokens, graph.most_size(inputs[0], 1));
  if (program->vocabulary)
    graph.limits.values.try_emplace("input_ids", Range{0, *program->vocabulary - 1});
  add_logits(graph, runner);
  if (given == 1) return graph;
  graph.slot_positions = runner.session().inputs()[1].name;
  graph.first_slot_only = graph.known_size(inputs[1], 0) == 1;
  graph.caches = caches_of(runner);
  graph.slot_count = program->slots;
  for (const CacheTensor& cache : graph.caches)
    graph.slot_count = smaller(graph.slot_count, cache.slots);
  if (!graph.slot_count)
    throw Error(kUnsupported,
                fmt::format("[{}] keeps a cache and does not say of how many tokens; add the "
                            "method get_max_context_len",
                            graph.where));
  return graph;
}

}  // namespace slipway
