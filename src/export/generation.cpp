// Generation and embeddings over exported models.
#include "slipway/generation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/log.h"
#include "export/decoder_of.h"
#include "export/impl.h"
#include "generation/decoder.h"
#include "generation/generate.h"
#include "generation/generation_config_json.h"
#include "generation/llm_program.h"
#include "generation/pooling.h"
#include "runtime/input_values.h"

namespace slipway {
namespace {

constexpr int64_t kDefaultNewTokens = 128;

/// config.json and generation_config.json of an export, or null.
Json config_of(const ExportedModel& exported) {
  const std::string& config = exported.config();
  return config.empty() ? Json() : parse_json(config, "config.json");
}

GenerationConfig settings_of(const ExportedModel& exported) {
  if (!exported.directory().empty()) return GenerationConfig::from_pretrained(exported.directory());
  Json generation_config;
  for (const CompanionFile& file : exported.impl().companions) {
    if (file.name != "generation_config.json") continue;
    if (const auto* path = std::get_if<std::filesystem::path>(&file.source))
      generation_config = parse_json_file(*path);
    else generation_config = parse_json(std::get<std::string>(file.source), file.name);
  }
  return generation_config_from_json(generation_config, config_of(exported));
}

/// The end tokens that the program itself states.
std::vector<int64_t> stated_ends(const ExportedModel& exported) {
  const Session& session = decoder_graphs_of(exported).step.session();
  const auto program = read_llm_program(session.metadata(), session.path().filename().string());
  return program ? program->ends : std::vector<int64_t>();
}

/// How many new tokens, when the caller does not say: what the files say, as far as the model goes.
int64_t default_new_tokens(const GenerationConfig& settings, int64_t prompt,
                           std::optional<int64_t> limit) {
  int64_t count = kDefaultNewTokens;
  if (settings.max_new_tokens) count = *settings.max_new_tokens;
  else if (settings.max_length && *settings.max_length > prompt)
    count = *settings.max_length - prompt;
  if (limit && count - 1 > *limit - prompt) {
    // At least one, so that a prompt that is itself too long meets the check with its message.
    count = std::max<int64_t>(1, *limit - prompt + 1);
    log::info(
        fmt::format("generating at most {} tokens: the model has {} positions", count, *limit));
  }
  return count;
}

/// The settings of a call: what it gives, then the files, with the ends it asked for.
GenerationConfig merged_settings(const ExportedModel& exported, const GenerationOptions& options,
                                 int64_t prompt, std::optional<int64_t> limit,
                                 std::optional<int64_t> made_for) {
  GenerationConfig settings = options.merged(settings_of(exported));
  if (!settings.eos_token_id || settings.eos_token_id->empty())
    if (auto ends = stated_ends(exported); !ends.empty()) settings.eos_token_id = std::move(ends);
  if (!options.max_new_tokens && !options.max_length) {
    const bool fits = made_for && prompt <= *made_for && (!limit || *made_for < *limit);
    settings.max_new_tokens = default_new_tokens(settings, prompt, fits ? made_for : limit);
  }
  // The last new token is never read.
  const int64_t read = settings.max_new_tokens ? prompt + *settings.max_new_tokens - 1
                                               : settings.max_length.value_or(prompt + 1) - 1;
  if (made_for && std::max(read, prompt) > *made_for)
    log::warning_once(fmt::format(
        "the model was made for {} positions; beyond them its tokens mean little", *made_for));
  const bool has_ends = settings.eos_token_id && !settings.eos_token_id->empty();
  if (has_ends && !settings.pad_token_id) settings.pad_token_id = settings.eos_token_id->front();
  if (options.ignore_eos) settings.eos_token_id.reset();
  else if (!has_ends)
    log::warning_once(
        "neither generation_config.json nor config.json names an end token: rows go "
        "on to max_new_tokens");
  return settings;
}

/// What a program for ExecuTorch's LLM runner cannot do.
void check_one_row(const Tensor& ids, const GenerationConfig& settings) {
  const auto refuse = [](const std::string& got, const char* way_out) {
    throw Error(
        kUnsupported,
        fmt::format("[generate] {}, and a program for ExecuTorch's LLM runner reads one row "
                    "and gives the logits of its last token; {}export the model without "
                    "the layout executorch-llm",
                    got, way_out));
  };
  if (ids.rank() == 2 && ids.dim(0) > 1)
    refuse(fmt::format("there are {} prompts", ids.dim(0)), "give them one by one, or ");
  if (settings.num_beams.value_or(1) > 1)
    refuse(fmt::format("num_beams is {}", *settings.num_beams), "set it to 1, or ");
  if (settings.num_return_sequences.value_or(1) > 1)
    refuse(fmt::format("num_return_sequences is {}", *settings.num_return_sequences),
           "set it to 1, or ");
  if (settings.prompt_lookup_num_tokens)
    refuse("prompt_lookup_num_tokens is set", "leave it out, or ");
}

/// As many as the call needs, since attention reads all slots of a cache, used or not; but no more
/// than the model has positions: memory for more than that is not taken unasked.
int64_t needed_slots(const GenerationConfig& settings, int64_t prompt,
                     std::optional<int64_t> made_for) {
  const int64_t last = settings.max_new_tokens ? prompt + *settings.max_new_tokens - 1
                                               : settings.max_length.value_or(1) - 1;
  const int64_t needed = std::max<int64_t>({last, prompt, 1});
  return made_for ? std::min(needed, *made_for) : needed;
}

Tensor find_input(const Inputs& inputs, const std::string& name) {
  const auto at = inputs.find(name);
  return at == inputs.end() ? Tensor() : at->second;
}

Generated public_result(GeneratedTokens made) {
  Generated result;
  const int64_t longest = made.lengths.empty() ? 0 : std::ranges::max(made.lengths);
  result.new_ids = std::move(made.new_ids);
  result.lengths = std::move(made.lengths);
  result.finish_reasons = std::move(made.finish_reasons);
  result.scores = std::move(made.scores);
  for (const auto& row : made.first_step_top) {
    result.first_step_top.emplace_back();
    for (const auto& [id, logit] : row) result.first_step_top.back().push_back({id, logit});
  }
  result.prefill_seconds = made.prefill_seconds;
  result.decode_seconds = made.decode_seconds;
  result.forward_calls = made.forward_calls;
  if (longest > 1 && made.decode_seconds > 0)
    result.tokens_per_second = static_cast<double>(longest - 1) / made.decode_seconds;
  return result;
}

/// The longest row that the encoder's position table takes.
std::optional<int64_t> position_limit(const ModelRunner& runner) {
  const DecoderGraphs graphs{runner, runner};
  return max_sequence_length(graphs);
}

}  // namespace

Generated generate(const ExportedModel& exported, const Inputs& inputs,
                   const GenerationOptions& options) {
  const Tensor ids = find_input(inputs, "input_ids");
  if (!ids.defined())
    throw Error(kInvalid,
                "[generate] there is no input_ids among the inputs; give the prompt's "
                "ids under this name");
  std::vector<std::string> unused;
  for (const auto& [name, tensor] : inputs)
    if (name != "input_ids" && name != "attention_mask") unused.push_back(name);
  if (!unused.empty())
    log::warning(fmt::format("generation makes these inputs itself, yours are not used: {}",
                             fmt::join(unused, ", ")));
  const DecoderGraphs graphs = decoder_graphs_of(exported);
  const int64_t prompt = ids.rank() == 2 ? ids.dim(1) : 0;
  const bool is_static = decoder_cache(graphs) == DecoderCache::kStatic;
  const std::optional<int64_t> slots = is_static ? fixed_slots(graphs) : std::nullopt;
  const bool chooses = is_static && !slots;
  std::optional<int64_t> limit = max_sequence_length(graphs);
  for (const auto& room : {is_static ? options.max_cache_len : std::nullopt, slots})
    if (room && (!limit || *room < *limit)) limit = room;
  DecoderStateOptions state_options = decoder_options_of(exported);
  const GenerationConfig settings =
      merged_settings(exported, options, prompt, limit, state_options.max_positions);
  if (is_llm_program(graphs)) check_one_row(ids, settings);
  if (settings.prompt_lookup_num_tokens && !reads_many_tokens(graphs))
    throw Error(
        kUnsupported,
        "[generate] prompt_lookup_num_tokens needs a decoder that reads many tokens at once, "
        "this one reads one; export it with multi_token_decode");
  state_options.max_cache_len = options.max_cache_len;
  if (chooses && !options.max_cache_len)
    state_options.max_cache_len = needed_slots(settings, prompt, state_options.max_positions);
  const auto state = make_decoder_state(graphs, state_options);
  const GenerateHooks hooks{options.on_token, options.text_of, options.first_step_top,
                            options.first_prompt};
  return public_result(
      generate_tokens(*state, ids, find_input(inputs, "attention_mask"), settings, hooks));
}

Tensor embed(const ExportedModel& exported, const TextProcessor& processor,
             const std::vector<std::string>& texts, const EmbedOptions& options) {
  exported.program();  // refuses several components
  const ModelRunner& runner = exported.runners()[0].second.impl().runner();
  const std::string output = "last_hidden_state";
  const auto has = [](const std::vector<IoSpec>& specs, const std::string& name) {
    return std::any_of(specs.begin(), specs.end(),
                       [&](const IoSpec& spec) { return spec.name == name; });
  };
  if (!has(runner.outputs(), output))
    throw Error(kUnsupported,
                "[embed] the export has no output last_hidden_state; export the "
                "model for the task feature-extraction");
  if (texts.empty()) throw Error(kUsage, "[embed] there is no text to embed");
  const PoolingSettings settings = PoolingSettings::from_directory(exported.directory());
  const Pooling pooling = pooling_named(options.pooling.value_or(settings.pooling));
  const bool normalize = options.normalize.value_or(settings.normalize);
  std::optional<int64_t> max_length = settings.max_length;
  if (const auto limit = position_limit(runner); limit && (!max_length || *limit < *max_length))
    max_length = limit;
  Inputs inputs = processor.encode_texts(texts, max_length);
  const Tensor mask = inputs.at("attention_mask");
  for (auto at = inputs.begin(); at != inputs.end();)
    at = has(runner.inputs(), at->first) ? std::next(at) : inputs.erase(at);
  const NamedTensors outputs = runner.run(inputs, {output});
  const Tensor rows = pool(outputs[0].second, mask, pooling);
  return normalize ? l2_normalize(rows) : rows;
}

}  // namespace slipway
