// The program that ExecuTorch's own LLM runner uses.
#include "export/executorch_llm.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "export/layout.h"
#include "ir/build.h"

namespace slipway {
namespace {

constexpr int64_t kMostSlots = 2048, kLeastSlots = 3;

Node* input_of(const Graph& graph, std::string_view name) {
  for (Node* input : graph.inputs())
    if (input->name == name) return input;
  return nullptr;
}

void replace_input(Graph& graph, Node* input, Value by) {
  graph.replace_all_uses(input->out(), by);
  graph.drop_dead();
  graph.erase_input(input);
}

/// Which slots the tokens at `positions` [s] see: bool [1, 1, s, slots].
Value visible_slots(Value positions, int64_t slots, std::optional<int64_t> window) {
  Tensor numbers(DType::kI64, {1, 1, 1, slots});
  const auto values = numbers.mutable_values<int64_t>();
  std::iota(values.begin(), values.end(), int64_t{0});
  Graph& graph = positions.graph();
  const Value slot = graph.constant(std::move(numbers));
  const Value query = view(positions, {1, 1, positions.dim(0), 1});
  const Value visible = less_equal(slot, query);
  if (!window) return visible;
  return logical_and(visible, less_equal(add(query, 1 - *window), slot));
}

/// Tokens are written to the slots of their positions, whatever the count that a layer has.
void write_at_positions(Graph& graph, Value positions) {
  std::vector<Value> slots;
  for (const Node* node : graph.order())
    for (const Value value : operands(*node))
      if (value.node()->kind == NodeKind::kInput &&
          value.node()->name.ends_with(".cumulative_length"))
        slots.push_back(Value(const_cast<Node*>(node), 0));
  for (const Value slot : slots) {
    SLIPWAY_ASSERT(slot.type() == positions.type());
    graph.replace_all_uses(slot, positions);
  }
}

void keep_last_token(Graph& graph, Sym count) {
  for (Node* node : graph.order()) {
    if (node->kind != NodeKind::kOp || node->op->name() != "slipway::keep_last") continue;
    const Value all = node->arguments().value(0);
    graph.replace_all_uses(node->out(), slice(all, 1, count - Sym(1), count));
  }
  graph.drop_dead();
  graph.erase_input(input_of(graph, "logits_to_keep"));
}

std::vector<int64_t> ids_of(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key)) return {};
  const Json& value = json[key];
  std::vector<int64_t> ids;
  if (value.is_number_integer()) ids.push_back(value.get<int64_t>());
  if (value.is_array())
    for (const Json& id : value)
      if (id.is_number_integer()) ids.push_back(id.get<int64_t>());
  return ids;
}

int64_t dtype_number(DType dtype) {
  if (dtype == DType::kF16) return 5;
  return dtype == DType::kBF16 ? 15 : 6;
}

}  // namespace

int64_t llm_slots(const PreTrainedModel& model, int64_t asked) {
  const int64_t positions = model.impl().checkpoint.config.text().get_int_or(
      "max_position_embeddings", kMostSlots, kLeastSlots);
  if (asked == 0) return std::min(positions, kMostSlots);
  if (asked < kLeastSlots || asked > positions)
    throw Error(kUsage, fmt::format("[executorch] got a cache of {} slots, need {} to {}, the "
                                    "positions that the model has",
                                    asked, kLeastSlots, positions));
  return asked;
}

models::BuildOptions llm_build_options(const PreTrainedModel& model, int64_t slots) {
  if (model.task() != "text-generation-with-past")
    throw Error(kUnsupported, fmt::format("[executorch] the task is {}, ExecuTorch's LLM runner "
                                          "needs text-generation-with-past",
                                          model.task()));
  models::BuildOptions options;
  options.dtype = model.dtype();
  options.cache = models::CacheKind::kStatic;
  options.dims = {{"batch_size", 1},
                  {"cache_length", slots},
                  {"sequence_length", Sym::symbol("sequence_length", 1, slots)},
                  {"logits_length", 1}};
  options.logits_to_keep = true;
  return options;
}

std::set<std::string> make_llm_program(ExportedProgram& program, int64_t slots) {
  Graph& graph = *program.graph;
  const Sym count = input_of(graph, "input_ids")->types[0].shape[1];
  const Value positions =
      graph.add_input("cache_position", {.dtype = DType::kI64, .shape = {count}});
  program.value_ranges["cache_position"] = {0, slots - 1};
  write_at_positions(graph, positions);
  keep_last_token(graph, count);
  program.input_defaults.clear();
  replace_input(graph, input_of(graph, "position_ids"), unsqueeze(positions, 0));
  for (const auto& [name, window] : program.mask_windows)
    replace_input(graph, input_of(graph, name), visible_slots(positions, slots, window));
  program.mask_windows.clear();
  std::erase_if(graph.outputs(),
                [](const Output& output) { return output.name.ends_with(".cumulative_length"); });
  graph.drop_dead();
  std::set<std::string> caches;
  const std::vector<Node*> inputs = graph.inputs();
  for (Node* input : inputs) {
    if (input->name.ends_with(".cumulative_length")) graph.erase_input(input);
    else if (input->name.starts_with("past_key_values.")) caches.insert(input->name);
  }
  return caches;
}

std::map<std::string, std::vector<executorch::EValue>> llm_methods(const PreTrainedModel& model,
                                                                   int64_t slots) {
  const Checkpoint& checkpoint = model.impl().checkpoint;
  const Config text = checkpoint.config.text();
  const Json generation = generation_config_of(checkpoint.companions);
  std::map<std::string, std::vector<executorch::EValue>> methods = {
      {"get_max_seq_len", {slots}},
      {"get_max_context_len", {slots}},
      {"get_max_batch_size", {int64_t{1}}},
      {"use_kv_cache", {true}},
      {"enable_dynamic_shape", {true}},
      {"use_sdpa_with_kv_cache", {false}},
      {"get_vocab_size", {text.get_int("vocab_size", 1)}},
      {"get_dtype", {dtype_number(model.dtype())}},
      {"get_n_layers", {text.get_int("num_hidden_layers", 1)}},
      {"get_n_kv_heads", {text.num_key_value_heads()}},
      {"get_head_dim", {text.head_dim()}}};
  const auto ids = [&](const char* key) {
    const std::vector<int64_t> own = ids_of(generation, key);
    return own.empty() ? ids_of(checkpoint.config.json(), key) : own;
  };
  if (const auto begins = ids("bos_token_id"); !begins.empty()) methods["get_bos_id"] = {begins[0]};
  if (const auto ends = ids("eos_token_id"); !ends.empty()) {
    methods["get_eos_id"] = {ends[0]};
    methods["get_eos_ids"].assign(ends.begin(), ends.end());
  }
  return methods;
}

}  // namespace slipway
