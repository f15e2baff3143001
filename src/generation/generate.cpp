// Greedy decoding: the highest logit of each row, step after step.
#include "generation/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/log.h"
#include "generation/logits.h"
#include "runtime/input_defaults.h"
#include "runtime/input_values.h"

namespace slipway {
namespace {

constexpr const char* kWhere = "generate";

const IoSpec* find(const std::vector<IoSpec>& specs, std::string_view name) {
  for (const IoSpec& spec : specs)
    if (spec.name == name) return &spec;
  return nullptr;
}

bool has_cache(const ModelRunner& runner) {
  return std::any_of(runner.inputs().begin(), runner.inputs().end(), is_growing_cache);
}

/// The sequences so far, as tensors for the next call.
class Sequences {
 public:
  Sequences(const Tensor& ids, const Tensor& mask)
      : batch_(ids.dim(0)), ids_(static_cast<size_t>(batch_)), mask_(ids_.size()) {
    const int64_t width = ids.dim(1);
    for (size_t row = 0; row < ids_.size(); ++row) {
      const size_t begin = row * static_cast<size_t>(width),
                   end = begin + static_cast<size_t>(width);
      for (size_t i = begin; i < end; ++i) {
        ids_[row].push_back(ids.values<int64_t>()[i]);
        mask_[row].push_back(mask.values<int64_t>()[i]);
      }
    }
  }

  void append(const std::vector<int64_t>& next) {
    for (size_t row = 0; row < ids_.size(); ++row) {
      ids_[row].push_back(next[row]);
      mask_[row].push_back(1);
    }
  }

  int64_t length() const { return static_cast<int64_t>(ids_[0].size()); }
  bool is_padded() const {
    return std::any_of(mask_.begin(), mask_.end(), [](const auto& row) { return row[0] == 0; });
  }
  Tensor mask() const { return rows(mask_, length()); }
  /// The last `count` tokens of each row.
  Tensor ids(int64_t count) const { return rows(ids_, count); }

 private:
  Tensor rows(const std::vector<std::vector<int64_t>>& values, int64_t count) const {
    Tensor tensor(DType::kI64, {batch_, count});
    auto out = tensor.mutable_values<int64_t>().begin();
    for (const auto& row : values) out = std::copy(row.end() - count, row.end(), out);
    return tensor;
  }

  int64_t batch_;
  std::vector<std::vector<int64_t>> ids_, mask_;
};

/// One graph as a step: the inputs it takes and the outputs that are worth having.
class Step {
 public:
  Step(const ModelRunner& runner, bool keep_cache) : runner_(runner) {
    const IoSpec* logits = find(runner.outputs(), "logits");
    if (find(runner.inputs(), "input_ids") == nullptr || logits == nullptr)
      throw Error(kUnsupported, fmt::format("[{}] {} is no decoder of text: it needs the input "
                                            "input_ids and the output logits; export the model "
                                            "for the task text-generation-with-past",
                                            kWhere, runner.session().path().filename().string()));
    wanted_.push_back("logits");
    if (!keep_cache) return;
    for (const IoSpec& output : runner.outputs())
      if (output.name.rfind("past_key_values.", 0) == 0 || output.name.rfind("present.", 0) == 0)
        wanted_.push_back(output.name);
  }

  bool takes(std::string_view name) const { return find(runner_.inputs(), name) != nullptr; }

  /// Runs on the last `count` tokens. `cache` is taken over and replaced by the new one.
  Tensor run(const Sequences& sequences, int64_t count, NamedTensors& cache) const {
    Leaves inputs = {{"input_ids", sequences.ids(count)}};
    if (takes("attention_mask")) inputs["attention_mask"] = sequences.mask();
    else if (sequences.is_padded())
      throw Error(kInvalid, fmt::format("[{}] the export takes no attention_mask, so prompts of "
                                        "different lengths cannot share a batch; run them one by "
                                        "one",
                                        kWhere));
    for (const IoSpec& input : runner_.inputs())
      for (auto& [name, tensor] : cache)
        if (name == cache_output(input.name)) inputs[input.name] = std::move(tensor);
    cache.clear();
    // Positions come from the mask; the runner fills them in the same way for every caller.
    NamedTensors outputs = runner_.run(inputs, wanted_);
    Tensor logits = std::move(outputs[0].second);
    cache.assign(std::make_move_iterator(outputs.begin() + 1),
                 std::make_move_iterator(outputs.end()));
    return logits;
  }

 private:
  const ModelRunner& runner_;
  std::vector<std::string> wanted_;
};

void check_prompt(const DecoderGraphs& graphs, const Tensor& ids, const Tensor& mask,
                  int64_t max_new_tokens) {
  if (ids.rank() != 2 || ids.numel() == 0)
    throw Error(kInvalid, fmt::format("[{}] input_ids has shape {}, need [batch, sequence] with at "
                                      "least one token; the prompt is empty",
                                      kWhere, shape_string(ids.shape())));
  if (mask.shape() != ids.shape())
    throw Error(kInvalid,
                fmt::format("[{}] attention_mask has shape {}, input_ids {}; they must "
                            "be equal",
                            kWhere, shape_string(mask.shape()), shape_string(ids.shape())));
  const auto values = mask.values<int64_t>();
  const size_t width = static_cast<size_t>(ids.dim(1));
  for (size_t row = 0; row < static_cast<size_t>(ids.dim(0)); ++row)
    if (values[(row + 1) * width - 1] == 0)
      throw Error(kInvalid,
                  fmt::format("[{}] attention_mask ends with 0 in row {}: prompts must be "
                              "padded on the left and not be empty",
                              kWhere, row));
  if (max_new_tokens < 1)
    throw Error(kUsage,
                fmt::format("[{}] max_new_tokens is {}, need at least 1", kWhere, max_new_tokens));
  const IoSpec* spec = find(graphs.prompt.inputs(), "input_ids");
  if (spec != nullptr && spec->dims.size() == 2 && spec->dims[1].is_fixed())
    throw Error(kUnsupported, fmt::format("[{}] the export takes exactly {} tokens, so it cannot "
                                          "grow a sequence; export it without --static",
                                          kWhere, spec->dims[1].size));
  // The last new token is never fed back.
  const std::optional<int64_t> limit = max_sequence_length(graphs);
  if (limit && (ids.dim(1) > *limit || max_new_tokens - 1 > *limit - ids.dim(1)))
    throw Error(kInvalid, fmt::format("[{}] a prompt of {} tokens and {} new ones need {} "
                                      "positions, the model has {}",
                                      kWhere, ids.dim(1), max_new_tokens,
                                      ids.dim(1) + max_new_tokens - 1, *limit));
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

GreedyResult generate_greedy(const DecoderGraphs& graphs, const Tensor& input_ids,
                             const Tensor& attention_mask, const GreedyOptions& options) {
  const Tensor ids = convert_input(input_ids, DType::kI64, kWhere, "input_ids");
  Tensor mask = attention_mask;
  if (!mask.defined()) {
    mask = Tensor(DType::kI64, ids.shape());
    std::ranges::fill(mask.mutable_values<int64_t>(), int64_t{1});
  }
  check_mask(mask, kWhere, "attention_mask");
  mask = convert_input(mask, DType::kI64, kWhere, "attention_mask");
  const bool cached = has_cache(graphs.step);
  const Step prompt(graphs.prompt, cached), step(graphs.step, cached);
  check_prompt(graphs, ids, mask, options.max_new_tokens);
  if (!cached && options.max_new_tokens > 1)
    log::info("the export has no cache: every token runs the whole sequence again, which is slow");

  const auto batch = static_cast<size_t>(ids.dim(0));
  GreedyResult result;
  result.new_ids.resize(batch);
  result.lengths.assign(batch, 0);
  result.reached_eos.assign(batch, false);
  Sequences sequences(ids, mask);
  NamedTensors cache;
  bool stopped = false;
  auto start = std::chrono::steady_clock::now();
  for (int64_t made = 0; made < options.max_new_tokens && !stopped; ++made) {
    const bool first = made == 0;
    const int64_t count = first || !cached ? sequences.length() : 1;
    const LastLogits logits((first ? prompt : step).run(sequences, count, cache));
    std::vector<int64_t> next(batch);
    bool all_ended = true;
    for (size_t row = 0; row < batch; ++row) {
      if (first && options.first_step_top > 0)
        result.first_step_top.push_back(logits.top(row, options.first_step_top));
      if (result.reached_eos[row]) {
        next[row] = result.new_ids[row][static_cast<size_t>(result.lengths[row]) - 1];
        result.new_ids[row].push_back(options.pad_id);
        continue;
      }
      next[row] = logits.best(row);
      result.new_ids[row].push_back(next[row]);
      ++result.lengths[row];
      result.reached_eos[row] = std::find(options.eos_ids.begin(), options.eos_ids.end(),
                                          next[row]) != options.eos_ids.end();
      all_ended = all_ended && result.reached_eos[row];
      if (options.on_token && !options.on_token(static_cast<int64_t>(row), next[row]))
        stopped = true;
    }
    sequences.append(next);
    stopped = stopped || all_ended;
    if (first) {
      result.prefill_seconds = seconds_since(start);
      start = std::chrono::steady_clock::now();
    } else {
      ++result.decode_steps;
    }
  }
  result.decode_seconds = seconds_since(start);
  return result;
}

}  // namespace slipway
