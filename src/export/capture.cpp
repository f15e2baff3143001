// Taking a causal language model apart into prefill and decode.
#include "export/capture.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "export/build.h"
#include "export/metadata_of.h"
#include "runtime/input_values.h"

namespace slipway {
namespace {

constexpr const char* kWhere = "decompose";
constexpr int64_t kStepTokens = 1, kMultiTokens = 2;

/// The same checkpoint as the graph of one stage.
PreTrainedModel stage_of(const PreTrainedModel& model, models::CacheKind cache, bool one_token) {
  auto impl = std::make_shared<PreTrainedModel::Impl>(model.impl());
  impl->eager = std::make_shared<EagerPrograms>();
  impl->task.cache = cache;
  impl->one_token = one_token;
  impl->task.task = "text-generation";
  if (cache != models::CacheKind::kNone) impl->task.task += "-with-past";
  return PreTrainedModel(std::move(impl));
}

bool is_generative(const PreTrainedModel& model) {
  return model.task().starts_with("text-generation");
}

/// Slots of a static cache, or nothing for a cache that grows.
std::optional<int64_t> static_slots(const GenerationConfig& config, int64_t needed) {
  const std::string kind = config.cache_implementation.value_or("dynamic");
  if (kind == "dynamic") {
    if (config.max_cache_len)
      throw Error(kInvalid, fmt::format("[{}] max_cache_len is {} but cache_implementation is "
                                        "'dynamic'; set it to 'static'",
                                        kWhere, *config.max_cache_len));
    return std::nullopt;
  }
  if (kind != "static")
    throw Error(kUnsupported, fmt::format("[{}] cache_implementation '{}' is not supported; use "
                                          "'dynamic' or 'static'",
                                          kWhere, kind));
  if (!config.max_cache_len)
    throw Error(
        kInvalid,
        fmt::format("[{}] a static cache needs max_cache_len, its number of slots", kWhere));
  if (*config.max_cache_len < needed)
    throw Error(kInvalid, fmt::format("[{}] max_cache_len is {}, the example's prompt and its new "
                                      "tokens need {}; give a shorter example or more slots",
                                      kWhere, *config.max_cache_len, needed));
  return config.max_cache_len;
}

/// The captured sequences: ids and padding mask of the prompt and of what follows.
struct Captured {
  int64_t batch, prompt;
  std::vector<int64_t> ids, mask;  ///< of the prompt, row by row

  int64_t position(int64_t row, int64_t slot) const {
    int64_t count = 0;
    for (int64_t i = 0; i < std::min(slot, prompt); ++i) count += kept(row, i) ? 1 : 0;
    return kept(row, slot) ? count + std::max<int64_t>(0, slot - prompt) : 0;
  }
  bool kept(int64_t row, int64_t slot) const {
    return slot >= prompt || mask[static_cast<size_t>(row * prompt + slot)] != 0;
  }
};

Captured read_prompt(const Inputs& inputs) {
  const auto ids = inputs.find("input_ids");
  if (ids == inputs.end() || ids->second.rank() != 2 || ids->second.numel() == 0)
    throw Error(kInvalid, fmt::format("[{}] generation needs the input input_ids [batch, sequence] "
                                      "with at least one token",
                                      kWhere));
  Captured c{ids->second.dim(0), ids->second.dim(1), {}, {}};
  const Tensor wide = convert_input(ids->second, DType::kI64, kWhere, "input_ids");
  c.ids.assign(wide.values<int64_t>().begin(), wide.values<int64_t>().end());
  c.mask.assign(c.ids.size(), 1);
  std::vector<std::string> unused;
  for (const auto& [name, tensor] : inputs) {
    if (name == "input_ids") continue;
    if (name != "attention_mask") {
      unused.push_back(name);
      continue;
    }
    check_mask(tensor, kWhere, name);
    const Tensor mask = convert_input(tensor, DType::kI64, kWhere, name);
    if (mask.shape() != wide.shape())
      throw Error(kInvalid,
                  fmt::format("[{}] attention_mask has shape {}, input_ids {}; they must "
                              "be equal",
                              kWhere, shape_string(mask.shape()), shape_string(wide.shape())));
    c.mask.assign(mask.values<int64_t>().begin(), mask.values<int64_t>().end());
  }
  for (int64_t row = 0; row < c.batch; ++row)
    if (!c.kept(row, c.prompt - 1))
      throw Error(
          kInvalid,
          fmt::format("[{}] attention_mask ends with 0 in row {}: prompts must be padded on "
                      "the left and not be empty",
                      kWhere, row));
  if (!unused.empty())
    log::info(fmt::format("generation makes these inputs itself, yours are not used: {}",
                          fmt::join(unused, ", ")));
  return c;
}

/// A tensor of zeros, or of nothing where it is large: an example of sizes whose elements nobody
/// reads, since a symbolic number of slots costs no memory.
Tensor example_of(DType dtype, const Shape& shape) {
  constexpr int64_t kLarge = int64_t{1} << 20;
  static std::byte nothing{};
  if (numel(shape) <= kLarge) return Tensor(dtype, shape);
  return Tensor::wrap(dtype, shape, &nothing, nullptr);
}

/// The inputs of a stage that reads `count` tokens from `begin` on; caches are left out.
Inputs stage_inputs(const PreTrainedModel& stage, const Captured& c, const Tensor& ids,
                    int64_t begin, std::optional<int64_t> slots, CaptureValues values) {
  const int64_t count = ids.dim(1), end = begin + count;
  Inputs inputs = {{"input_ids", ids}};
  Tensor positions(DType::kI64, {c.batch, count});
  const auto place = positions.mutable_values<int64_t>();
  for (int64_t row = 0; row < c.batch; ++row)
    for (int64_t i = 0; i < count; ++i)
      place[static_cast<size_t>(row * count + i)] = c.position(row, begin + i);
  inputs["position_ids"] = positions;
  if (!slots) {
    Tensor mask(DType::kI64, {c.batch, end});
    const auto kept = mask.mutable_values<int64_t>();
    for (int64_t row = 0; row < c.batch; ++row)
      for (int64_t i = 0; i < end; ++i)
        kept[static_cast<size_t>(row * end + i)] = c.kept(row, i) ? 1 : 0;
    inputs["attention_mask"] = mask;
    return inputs;
  }
  const ExportedProgram program = build(stage, {.dtype = stage.dtype(),
                                                .cache = stage.impl().task.cache,
                                                .dims = {},
                                                .inputs = std::nullopt});
  for (const auto& [name, window] : program.mask_windows) {
    if (values == CaptureValues::kShapesOnly) {
      inputs[name] = example_of(DType::kBool, {c.batch, 1, count, *slots});
      continue;
    }
    Tensor mask(DType::kBool, {c.batch, 1, count, *slots});
    auto* out = reinterpret_cast<bool*>(mask.mutable_data());
    for (int64_t row = 0; row < c.batch; ++row)
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < *slots; ++j)
          *out++ = j <= i && c.kept(row, j) && (!window || i - j < *window);
    inputs[name] = mask;
  }
  return inputs;
}

/// Adds caches of zeros for whatever of past_key_values the stage takes.
void add_empty_cache(const PreTrainedModel& stage, int64_t batch, int64_t length, Inputs& inputs) {
  const ExportedProgram program = build(stage, {.dtype = stage.dtype(),
                                                .cache = stage.impl().task.cache,
                                                .dims = {},
                                                .inputs = std::nullopt});
  const std::map<std::string, int64_t> sizes = {
      {"batch_size", batch}, {"past_sequence_length", length}, {"cache_length", length}};
  for (const Node* input : program.graph->inputs()) {
    if (argument_of(input->name) != "past_key_values") continue;
    Shape shape;
    for (Sym s : input->types[0].shape) shape.push_back(s.evaluate(sizes));
    inputs[input->name] = example_of(input->types[0].dtype, shape);
  }
}

/// Runs a stage; its caches go to `inputs`, the likeliest next tokens are returned.
std::vector<int64_t> run_stage(const Submodel& stage, Inputs& inputs) {
  std::vector<int64_t> next;
  for (auto& [name, tensor] : stage.model(stage.inputs)) {
    if (argument_of(name) == "past_key_values") inputs[name] = tensor;
    if (name != "logits") continue;
    const Tensor logits = convert_input(tensor, DType::kF32, kWhere, name);
    const auto values = logits.values<float>();
    const int64_t rows = logits.dim(0), count = logits.dim(1), vocabulary = logits.dim(2);
    for (int64_t row = 0; row < rows; ++row) {
      const auto last = values.begin() + (row * count + count - 1) * vocabulary;
      next.push_back(std::max_element(last, last + vocabulary) - last);
    }
  }
  return next;
}

Tensor columns(int64_t rows, const std::vector<std::vector<int64_t>>& tokens) {
  const auto count = static_cast<int64_t>(tokens.size());
  Tensor ids(DType::kI64, {rows, count});
  const auto out = ids.mutable_values<int64_t>();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < count; ++i)
      out[static_cast<size_t>(row * count + i)] =
          tokens[static_cast<size_t>(i)][static_cast<size_t>(row)];
  return ids;
}

}  // namespace

Components capture(const PreTrainedModel& model, const Inputs& inputs,
                   const DecomposeOptions& options, CaptureValues values) {
  if (!is_generative(model))
    throw Error(kUnsupported, fmt::format("[{}] {} was opened for the task {} and does not "
                                          "generate; open it for text-generation",
                                          kWhere, model.architecture(), model.task()));
  const Captured c = read_prompt(inputs);
  const int64_t tokens = options.multi_token_decode ? kMultiTokens : kStepTokens;
  const std::optional<int64_t> slots = static_slots(options.generation_config, c.prompt + tokens);
  using models::CacheKind;
  const CacheKind first = slots ? CacheKind::kStaticFresh : CacheKind::kNone;
  const CacheKind later = slots ? CacheKind::kStatic : CacheKind::kGrowing;

  Submodel prefill{stage_of(model, first, false), {}};
  prefill.inputs =
      stage_inputs(prefill.model, c,
                   Tensor::copy_of<int64_t>({c.batch, c.prompt}, std::span<const int64_t>(c.ids)),
                   0, slots, values);
  add_empty_cache(prefill.model, c.batch, 0, prefill.inputs);

  Submodel decode{stage_of(model, later, !options.multi_token_decode), {}};
  const std::vector<int64_t> none(static_cast<size_t>(c.batch), 0);
  std::vector<std::vector<int64_t>> fed(static_cast<size_t>(tokens), none);
  Inputs caches;
  if (values == CaptureValues::kShapesOnly) {
    add_empty_cache(decode.model, c.batch, slots.value_or(c.prompt), caches);
  } else {
    fed[0] = run_stage(prefill, caches);
    if (tokens > 1) {
      Submodel step{stage_of(model, later, true), {}};
      step.inputs =
          stage_inputs(step.model, c, columns(c.batch, {fed[0]}), c.prompt, slots, values);
      step.inputs.insert(caches.begin(), caches.end());
      Inputs ignored;
      fed[1] = run_stage(step, ignored);
    }
  }
  decode.inputs = stage_inputs(decode.model, c, columns(c.batch, fed), c.prompt, slots, values);
  decode.inputs.insert(caches.begin(), caches.end());
  return {{"prefill", std::move(prefill)}, {"decode", std::move(decode)}};
}

Components decompose_prefill_decode(const PreTrainedModel& model, const Inputs& inputs,
                                    const DecomposeOptions& options) {
  return capture(model, inputs, options, CaptureValues::kComputed);
}

Components decompose_for_generation(const PreTrainedModel& model, const Inputs& inputs,
                                    const DecomposeOptions& options) {
  return decompose_prefill_decode(model, inputs, options);
}

bool is_multimodal(const PreTrainedModel& model) { return !model.impl().type->modalities.empty(); }

}  // namespace slipway
