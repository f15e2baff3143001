// A decoder's graph with OpenVINO's PagedAttention for its attention and states.
#include "backends/openvino/runner/paged_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <openvino/op/ops.hpp>
#include <openvino/op/util/assign_base.hpp>
#include <openvino/op/util/read_value_base.hpp>
#include <openvino/pass/sdpa_to_paged_attention.hpp>

#include "backends/openvino/runner/library.h"
#include "backends/openvino/runner/logits.h"
#include "slipway/error.h"

namespace slipway::openvino_runner {
namespace {

using Value = ov::Output<ov::Node>;
constexpr size_t kKeys = 1, kValues = 2, kKeyBlocks = 3, kValueBlocks = 4;  // of PagedAttention

[[noreturn]] void fail(const std::string& why) {
  throw Error(kUnsupported, fmt::format("[openvino] attention cannot be paged: {}", why));
}

void check_inputs(const ov::Model& model) {
  const std::map<std::string, ov::element::Type> need = {{"input_ids", ov::element::i64},
                                                         {"attention_mask", ov::element::i64},
                                                         {"position_ids", ov::element::i64},
                                                         {"beam_idx", ov::element::i32}};
  for (const auto& input : model.inputs()) {
    const auto& names = input.get_names();
    const bool known = std::ranges::any_of(names, [&](const std::string& name) {
      const auto at = need.find(name);
      return at != need.end() && at->second == input.get_element_type();
    });
    if (!known) fail("an input is " + (names.empty() ? "without a name" : *names.begin()));
  }
  if (model.inputs().size() != need.size()) fail("the inputs are not those of a decoder");
  if (model.outputs().size() != 1) fail("there are outputs besides logits");
}

/// What is new in keys or values, by where it is computed, to the state that it is appended to.
std::map<Value, std::string> appended(const ov::Model& model) {
  std::map<Value, std::string> states;
  for (const auto& sink : model.get_sinks()) {
    const auto assign = ov::as_type_ptr<ov::op::util::AssignBase>(sink);
    if (!assign) fail("there are sinks that are no states");
    const auto concat = ov::as_type_ptr<ov::op::v0::Concat>(assign->get_input_node_shared_ptr(0));
    if (!concat || concat->get_input_size() != 2 ||
        concat->get_output_partial_shape(0).rank() != ov::Rank(4))
      fail(fmt::format("the state {} is not appended to", assign->get_variable_id()));
    states[concat->input_value(1)] = assign->get_variable_id();
  }
  if (states.empty()) fail("there are no states");
  return states;
}

/// The state that a value of PagedAttention belongs to: between them nothing but shapes change.
std::string state_of(Value value, const std::map<Value, std::string>& states) {
  while (true) {
    if (const auto at = states.find(value); at != states.end()) return at->second;
    const ov::Node* node = value.get_node();
    if (!ov::is_type<ov::op::v1::Reshape>(node) && !ov::is_type<ov::op::v1::Transpose>(node))
      fail(fmt::format("{} is the key or value of no state", node->get_friendly_name()));
    value = node->input_value(0);
  }
}

}  // namespace

PagedGraph page_attention(const ov::Model& model) {
  const std::string kind = model.has_rt_info("slipway", "attention")
                               ? model.get_rt_info<std::string>("slipway", "attention")
                               : "";
  if (kind != "causal" && kind != "sliding_window") fail("the file does not say what it hides");
  check_inputs(model);
  PagedGraph paged{model.clone(), kind == "sliding_window", {}};
  const std::map<Value, std::string> states = appended(*paged.model);
  try {
    ov::pass::SDPAToPagedAttention().run_on_model(paged.model);
  } catch (const std::exception& e) {
    fail(reason(e.what()));
  }
  if (!paged.model->get_sinks().empty()) fail("some states are of no attention");
  for (const auto& node : paged.model->get_ordered_ops()) {
    if (std::string_view(node->get_type_name()) != "PagedAttentionExtension") continue;
    for (const auto& [value, blocks] : {std::pair(kKeys, kKeyBlocks), {kValues, kValueBlocks}})
      paged.caches.push_back({state_of(node->input_value(value), states),
                              node->get_input_node_shared_ptr(blocks)->get_friendly_name()});
  }
  std::set<std::string> found;
  for (const PagedGraph::Cache& cache : paged.caches) found.insert(cache.state);
  if (found.size() != states.size() || found.size() != paged.caches.size())
    fail(fmt::format("{} keys and values belong to {} states", paged.caches.size(), states.size()));

  ov::Node* product = logits_product(*paged.model);
  if (product == nullptr) fail("the logits are not one product with a weight");
  const auto indices =
      std::make_shared<ov::op::v0::Parameter>(ov::element::i64, ov::PartialShape{ov::Dimension()});
  indices->set_friendly_name(kLogitsIndices);
  indices->output(0).set_names({kLogitsIndices});
  const auto axis = ov::op::v0::Constant::create(ov::element::i64, ov::Shape{}, {0});
  const auto rows = std::make_shared<ov::op::v8::Gather>(product->input_value(0), indices, axis);
  product->input(0).replace_source_output(rows->output(0));
  paged.model->add_parameters({indices});
  paged.model->validate_nodes_and_infer_types();
  return paged;
}

}  // namespace slipway::openvino_runner
