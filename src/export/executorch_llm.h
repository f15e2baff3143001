// The program that ExecuTorch's own LLM runner uses: its inputs, its cache, its metadata methods.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/executorch/program.h"
#include "export/impl.h"

namespace slipway {

/// The number of slots that `asked` stands for: 0 is the model's max_position_embeddings, 2048 at
/// most. Throws Error{kUsage} for fewer than 3 or more than the model has positions.
int64_t llm_slots(const PreTrainedModel& model, int64_t asked);

/// The choices of a graph for one row, with a static cache of so many slots, that gives the logits
/// of the last token. Throws Error{kUnsupported} unless the task is text-generation-with-past.
models::BuildOptions llm_build_options(const PreTrainedModel& model, int64_t slots);

/// Makes a program of these options one of two inputs, input_ids i64 [1, s] and cache_position
/// i64 [s], s at most `slots`, and one result, logits [1, 1, vocabulary]. Masks come from the
/// positions. Returns the caches: inputs that come back as outputs and are to be mutable buffers.
std::set<std::string> make_llm_program(ExportedProgram& program, int64_t slots);

/// get_max_seq_len, use_kv_cache, ...: what the runner and optimum-executorch ask for. Ids of
/// tokens are those of generation_config.json, else of config.json; methods for ids that neither
/// has are left out.
std::map<std::string, std::vector<executorch::EValue>> llm_methods(const PreTrainedModel& model,
                                                                   int64_t slots);

}  // namespace slipway
