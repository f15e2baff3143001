// A request whose rows become sequences of a graph with paged attention.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/openvino/runner/paged_cache.h"
#include "backends/openvino/runner/paged_graph.h"
#include "backends/openvino/runner/request.h"

namespace slipway::openvino_runner {

/// How a model with paged attention is used as the one that it was made from.
struct PagedPlan {
  size_t ids, mask, positions, beams, keep;  ///< inputs as a Request counts them
  std::vector<PagedTensor> tensors;
  size_t vocabulary;
  bool windows;  ///< some layers see a window
};

/// Of a compiled PagedGraph. Throws Error{kUnsupported} where the blocks are not what PagedCache
/// has.
PagedPlan make_plan(const ov::CompiledModel& compiled, const PagedGraph& graph,
                    const ov::Model& before);

/// Takes what the graph before took: input_ids, position_ids [rows, new], attention_mask
/// [rows, slots + new], beam_idx [rows] and logits_to_keep, with keys and values as states. Tokens
/// that the mask hides are left out; their logits are 0.
class PagedRequest final : public Request {
 public:
  /// `plan` must outlive it; `model` is a name for messages.
  PagedRequest(ov::InferRequest request, const PagedPlan& plan, std::string model);

  void set_input(size_t input, const ov::Tensor& value) override;
  void set_output(size_t output, const ov::Tensor& memory) override;
  void infer() override;
  ov::Tensor output(size_t output) override;
  void reset_states() override { cache_.reset(); }
  void set_state(std::string_view name, const ov::Tensor& value) override;
  ov::Tensor copy_state(std::string_view name) override { return cache_.get(name); }

 private:
  /// A list that grows and shrinks, as an input of the graph.
  template <class T>
  struct List {
    const char* input;
    std::vector<T> values;
    ov::Tensor tensor;
  };
  /// What the inputs are in this run.
  struct Run {
    TokenMask mask;
    size_t count, keep;
    const int64_t *ids, *positions;
  };

  Run check() const;
  void lay_out(const Run& run);
  void infer_logits(const Run& run);
  template <class T>
  void feed(List<T>& list);

  ov::InferRequest request_;
  const ov::Output<const ov::Node> port_;  ///< of the logits
  const PagedPlan& plan_;
  std::string model_;
  PagedCache cache_;
  uint64_t version_ = 0;  ///< of the cache's blocks that the request has
  std::vector<ov::Tensor> inputs_;
  ov::Tensor memory_, logits_;
  std::vector<size_t> kept_;  ///< the rows of logits_ that indices_ gives
  List<int64_t> ids_{"input_ids", {}, {}}, positions_{"position_ids", {}, {}};
  List<int64_t> indices_{"logits_indices", {}, {}};
  List<int32_t> past_{"past_lens", {}, {}}, begins_{"subsequence_begins", {}, {}};
  List<int32_t> blocks_{"block_indices", {}, {}}, block_begins_{"block_indices_begins", {}, {}};
  ov::Tensor longest_{ov::element::i32, ov::Shape{}};
};

}  // namespace slipway::openvino_runner
