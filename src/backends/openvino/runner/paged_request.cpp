// A request whose rows become sequences of a graph with paged attention.
#include "backends/openvino/runner/paged_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "slipway/error.h"

namespace slipway::openvino_runner {
namespace {

size_t number_of(const ov::Model& model, const std::string& input) {
  for (size_t i = 0; i < model.inputs().size(); ++i)
    if (model.input(i).get_names().count(input) != 0) return i;
  throw Error(kInternal, fmt::format("[openvino] a paged graph came from one without {}", input));
}

}  // namespace

PagedPlan make_plan(const ov::CompiledModel& compiled, const PagedGraph& graph,
                    const ov::Model& before) {
  // logits_to_keep was added to the inputs of the graph before.
  PagedPlan plan{number_of(before, "input_ids"),
                 number_of(before, "attention_mask"),
                 number_of(before, "position_ids"),
                 number_of(before, "beam_idx"),
                 before.inputs().size(),
                 {},
                 0,
                 graph.windows};
  const auto unsupported = [](const std::string& what) {
    return Error(kUnsupported, fmt::format("[openvino] attention cannot be paged: {}", what));
  };
  const ov::PartialShape logits = before.output(0).get_partial_shape();
  if (logits.rank() != ov::Rank(3) || logits[2].is_dynamic())
    throw unsupported("the size of the vocabulary is not known");
  plan.vocabulary = static_cast<size_t>(logits[2].get_length());
  for (const PagedGraph::Cache& cache : graph.caches) {
    const ov::op::util::VariableInfo info = before.get_variable_by_id(cache.state)->get_info();
    const auto port = compiled.input(cache.input);
    const ov::PartialShape& shape = port.get_partial_shape();
    const ov::element::Type stored = port.get_element_type();
    const bool number =
        stored == ov::element::f32 || stored == ov::element::f16 || stored == ov::element::bf16;
    if (!number || shape.rank() != ov::Rank(4) || info.data_shape.rank() != ov::Rank(4) ||
        shape[2] != ov::Dimension(PagedCache::kBlockTokens) || shape[1].is_dynamic() ||
        shape[3].is_dynamic() || shape[1] != info.data_shape[1] || shape[3] != info.data_shape[3])
      throw unsupported(
          fmt::format("{} is {} {}", cache.input, stored.get_type_name(), shape.to_string()));
    plan.tensors.push_back({cache.state, cache.input, info.data_type, stored,
                            static_cast<size_t>(shape[1].get_length()),
                            static_cast<size_t>(shape[3].get_length())});
  }
  return plan;
}

PagedRequest::PagedRequest(ov::InferRequest request, const PagedPlan& plan, std::string model)
    : request_(std::move(request)),
      port_(request_.get_compiled_model().output(0)),
      plan_(plan),
      model_(std::move(model)),
      cache_(plan.tensors, plan.windows ? Layers::kWindows : Layers::kFull),
      inputs_(std::max({plan.ids, plan.mask, plan.positions, plan.beams, plan.keep}) + 1) {
  request_.set_tensor("max_context_len", longest_);
}

void PagedRequest::set_input(size_t input, const ov::Tensor& value) { inputs_[input] = value; }

void PagedRequest::set_output(size_t, const ov::Tensor& memory) { memory_ = memory; }

ov::Tensor PagedRequest::output(size_t) { return logits_; }

void PagedRequest::set_state(std::string_view name, const ov::Tensor& value) {
  cache_.set(name, value);
}

PagedRequest::Run PagedRequest::check() const {
  const auto need = [&](const char* name, size_t input, ov::element::Type type,
                        const ov::Shape& shape) {
    const ov::Tensor& given = inputs_[input];
    if (given && given.get_element_type() == type && given.get_shape() == shape) return;
    throw Error(kInvalid, fmt::format("[openvino] {} of {} is {}, need {} {}", name, model_,
                                      given ? given.get_element_type().get_type_name() + " " +
                                                  given.get_shape().to_string()
                                            : "missing",
                                      type.get_type_name(), shape.to_string()));
  };
  const ov::Tensor &ids = inputs_[plan_.ids], &mask = inputs_[plan_.mask];
  if (!ids || ids.get_shape().size() != 2 || !mask || mask.get_shape().size() != 2)
    throw Error(kInvalid, fmt::format("[openvino] {} needs input_ids [rows, new tokens] and "
                                      "attention_mask [rows, all tokens]",
                                      model_));
  const size_t rows = ids.get_shape()[0], count = ids.get_shape()[1];
  const size_t columns = std::max(mask.get_shape()[1], count);
  need("input_ids", plan_.ids, ov::element::i64, {rows, count});
  need("attention_mask", plan_.mask, ov::element::i64, {rows, columns});
  need("position_ids", plan_.positions, ov::element::i64, {rows, count});
  need("beam_idx", plan_.beams, ov::element::i32, {rows});
  int64_t keep = 0;
  if (inputs_[plan_.keep]) {
    need("logits_to_keep", plan_.keep, ov::element::i64, {});
    keep = *inputs_[plan_.keep].data<int64_t>();
  }
  const auto all = static_cast<int64_t>(count);
  return {{mask.data<int64_t>(), rows, columns},
          count,
          static_cast<size_t>(keep <= 0 || keep > all ? all : keep),
          ids.data<int64_t>(),
          inputs_[plan_.positions].data<int64_t>()};
}

template <class T>
void PagedRequest::feed(List<T>& list) {
  if (!list.tensor || list.tensor.get_size() != list.values.size()) {
    list.tensor = ov::Tensor(ov::element::from<T>(), ov::Shape{list.values.size()});
    request_.set_tensor(list.input, list.tensor);
  }
  std::copy(list.values.begin(), list.values.end(), list.tensor.template data<T>());
}

void PagedRequest::lay_out(const Run& run) {
  for (List<int64_t>* list : {&ids_, &positions_, &indices_}) list->values.clear();
  for (List<int32_t>* list : {&past_, &begins_, &blocks_, &block_begins_}) list->values.clear();
  kept_.clear();
  begins_.values.push_back(0);
  block_begins_.values.push_back(0);
  int32_t longest = 0;
  for (size_t r = 0; r < run.mask.rows; ++r) {
    const size_t before = ids_.values.size();
    for (size_t i = 0; i < run.count; ++i) {
      if (!run.mask.at(r, run.mask.columns - run.count + i)) continue;
      if (i + run.keep >= run.count) {
        indices_.values.push_back(static_cast<int64_t>(ids_.values.size()));
        kept_.push_back(r * run.keep + i + run.keep - run.count);
      }
      ids_.values.push_back(run.ids[r * run.count + i]);
      positions_.values.push_back(run.positions[r * run.count + i]);
    }
    // A row without a token is no sequence of this run.
    const size_t more = ids_.values.size() - before;
    if (more == 0) continue;
    const size_t past = cache_.tokens(r);
    past_.values.push_back(static_cast<int32_t>(past));
    longest = std::max(longest, static_cast<int32_t>(past + more));
    begins_.values.push_back(static_cast<int32_t>(ids_.values.size()));
    const std::span<const int32_t> blocks = cache_.reserve(r, more);
    blocks_.values.insert(blocks_.values.end(), blocks.begin(), blocks.end());
    block_begins_.values.push_back(static_cast<int32_t>(blocks_.values.size()));
  }
  *longest_.data<int32_t>() = longest;
}

void PagedRequest::infer() {
  const Run run = check();
  const auto* beams = inputs_[plan_.beams].data<int32_t>();
  cache_.begin(run.mask, run.count, {beams, run.mask.rows});
  lay_out(run);
  const ov::element::Type type = port_.get_element_type();
  const ov::Shape shape = {run.mask.rows, run.keep, plan_.vocabulary};
  if (memory_ && (memory_.get_shape() != shape || memory_.get_element_type() != type))
    throw Error(kInvalid, fmt::format("[openvino] the memory for the logits of {} is {}, need {}",
                                      model_, memory_.get_shape().to_string(), shape.to_string()));
  logits_ = memory_ ? memory_ : ov::Tensor(type, shape);
  if (!ids_.values.empty()) infer_logits(run);
  else std::memset(logits_.data(), 0, logits_.get_byte_size());
  cache_.commit(run.mask, run.count);
}

void PagedRequest::infer_logits(const Run& run) {
  if (version_ != cache_.version()) {
    for (size_t i = 0; i < plan_.tensors.size(); ++i)
      request_.set_tensor(plan_.tensors[i].input, cache_.blocks()[i]);
    version_ = cache_.version();
  }
  const size_t all = run.mask.rows * run.keep;
  const bool whole = kept_.size() == all;
  if (indices_.values.empty()) indices_.values.push_back(0);  // no graph gives nothing
  for (List<int64_t>* list : {&ids_, &positions_, &indices_}) feed(*list);
  for (List<int32_t>* list : {&past_, &begins_, &blocks_, &block_begins_}) feed(*list);
  const ov::element::Type type = logits_.get_element_type();
  const ov::Shape given = {indices_.values.size(), 1, plan_.vocabulary};
  const ov::Tensor made = whole ? ov::Tensor(type, given, logits_.data()) : ov::Tensor(type, given);
  request_.set_tensor(port_, made);
  request_.infer();
  if (whole) return;
  std::memset(logits_.data(), 0, logits_.get_byte_size());
  const size_t bytes = plan_.vocabulary * type.size();
  for (size_t i = 0; i < kept_.size(); ++i)
    std::memcpy(static_cast<std::byte*>(logits_.data()) + kept_[i] * bytes,
                static_cast<const std::byte*>(std::as_const(made).data()) + i * bytes, bytes);
}

}  // namespace slipway::openvino_runner
