// The logits of the last tokens only, for graphs that give those of all.
#include "backends/openvino/runner/logits.h"

#include <limits>
#include <openvino/op/ops.hpp>

namespace slipway::openvino_runner {
namespace {

template <class Port>
bool has_name(const Port& port, std::string_view prefix) {
  for (const std::string& name : port.get_names())
    if (name.compare(0, prefix.size(), prefix) == 0) return true;
  return false;
}

bool is_decoder(const ov::Model& model) {
  if (!model.get_variables().empty()) return true;
  for (const auto& input : model.inputs())
    if (has_name(input, "input.past_key_values") || has_name(input, "past_key_values")) return true;
  for (const auto& output : model.outputs())
    if (has_name(output, "past_key_values") || has_name(output, "present.")) return true;
  return false;
}

std::shared_ptr<ov::op::v0::Result> logits_of(const ov::Model& model) {
  for (const auto& result : model.get_results())
    if (has_name(result->output(0), "logits") || has_name(result->input_value(0), "logits"))
      return result;
  return nullptr;
}

bool is_constant(const ov::Output<ov::Node>& value) {
  const ov::Node* node = value.get_node();
  // A compressed weight is converted, and scaled, first.
  if (node->get_input_size() == 0) return ov::is_type<ov::op::v0::Constant>(node);
  for (const auto& input : node->input_values())
    if (!is_constant(input)) return false;
  return true;
}

/// The product at the end: behind it each logit is changed by itself, by constants at most.
ov::Node* product_of(ov::Output<ov::Node> value) {
  while (true) {
    ov::Node* node = value.get_node();
    if (ov::is_type<ov::op::v0::MatMul>(node)) return node;
    if (value.get_target_inputs().size() != 1) return nullptr;
    const bool unary =
        ov::is_type<ov::op::v0::Convert>(node) || ov::is_type<ov::op::v0::Tanh>(node);
    const bool binary = ov::is_type<ov::op::util::BinaryElementwiseArithmetic>(node);
    if (!unary && !binary) return nullptr;
    if (binary && !is_constant(node->input_value(1))) return nullptr;
    value = node->input_value(0);
  }
}

}  // namespace

ov::Node* logits_product(const ov::Model& model) {
  const auto result = logits_of(model);
  if (!result) return nullptr;
  ov::Node* product = product_of(result->input_value(0));
  if (product == nullptr || product->output(0).get_target_inputs().size() != 1) return nullptr;
  const ov::Rank rank = product->get_input_partial_shape(0).rank();
  const auto* multiply = ov::as_type<ov::op::v0::MatMul>(product);
  const bool rows = rank == ov::Rank(3) && !multiply->get_transpose_a();
  return rows && is_constant(product->input_value(1)) ? product : nullptr;
}

bool add_logits_to_keep(const std::shared_ptr<ov::Model>& model) {
  for (const auto& input : model->inputs())
    if (has_name(input, kLogitsToKeep) || has_name(input, "num_logits_to_keep")) return false;
  if (!is_decoder(*model)) return false;
  ov::Node* product = logits_product(*model);
  if (product == nullptr) return false;
  const auto hidden = product->input_value(0);
  if (hidden.get_partial_shape()[1].is_static()) return false;
  const auto constant = [](int64_t value) {
    return ov::op::v0::Constant::create(ov::element::i64, ov::Shape{1}, {value});
  };
  const auto keep =
      std::make_shared<ov::op::v0::Parameter>(ov::element::i64, ov::PartialShape(ov::Shape{}));
  keep->set_friendly_name(kLogitsToKeep);
  keep->output(0).set_names({kLogitsToKeep});
  // Rows from -n on; from 0 for none.
  const auto negative = std::make_shared<ov::op::v0::Negative>(keep);
  const auto start = std::make_shared<ov::op::v0::Unsqueeze>(negative, constant(0));
  const auto last = std::make_shared<ov::op::v8::Slice>(
      hidden, start, constant(std::numeric_limits<int64_t>::max()), constant(1), constant(1));
  product->input(0).replace_source_output(last->output(0));
  model->add_parameters({keep});
  model->validate_nodes_and_infer_types();
  return true;
}

}  // namespace slipway::openvino_runner
