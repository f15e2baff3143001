// Checks the nodes of an XNNPACK delegate's graph: what they read and write, and their attributes.
#include "backends/executorch/check_xnnpack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "backends/executorch/xnnpack_graph.h"
#include "slipway/error.h"

namespace slipway::executorch::reading {
namespace {

namespace xnn = fb_xnnpack;
using U = xnn::XNodeUnion;
using Numbers = flatbuffers::Vector<uint32_t>;

constexpr uint32_t kMost = 1u << 24;  // of a padding, a kernel's or an image's size

class Nodes {
 public:
  Nodes(const XnnValues& values, const std::string& where) : values_(values), where_(where) {
    for (const auto& [id, value] : values)
      if (value.input || value.data) defined_.insert(id);
  }

  void check(const xnn::XNode& node, size_t index) {
    name_ = fmt::format("node {} ({})", index, xnn::EnumNameXNodeUnion(node.xnode_union_type()));
    const XnnPorts ports = ports_of(node);
    need(!(ports.flags & ~ports.allowed_flags), "has flags that no exporter sets");
    inputs_.clear();
    for (size_t i = 0; i < ports.inputs.size(); ++i) {
      const uint32_t id = ports.inputs[i];
      const bool absent = ports.bias && i + 1 == ports.inputs.size() && id == xnnpack::kNoValue;
      need(absent || (values_.contains(id) && defined_.contains(id)),
           fmt::format("reads value {} before it is made", id));
      inputs_.push_back(absent ? nullptr : &values_.at(id));
    }
    check_shapes(node, ports);
    for (const uint32_t id : ports.outputs)
      need(values_.contains(id) && !values_.at(id).data && !values_.at(id).input &&
               defined_.insert(id).second,
           fmt::format("cannot make value {}", id));
    if (const auto* range = node.output_min_max())
      need(range->output_min() < range->output_max(), "has a range that is empty");
  }

  void check_outputs() {
    name_ = "the graph";
    for (const auto& [id, value] : values_)
      need(!value.output || defined_.contains(id), fmt::format("does not make output {}", id));
  }

 private:
  void need(bool condition, const std::string& what) const {
    if (!condition)
      throw Error(kInvalid, fmt::format("[executorch] {}: {} {}; the file is broken, export it "
                                        "again",
                                        where_, name_, what));
  }

  const XnnValue& in(size_t i) const { return *inputs_[i]; }
  const XnnValue& out(const XnnPorts& ports, size_t i = 0) const {
    need(values_.contains(ports.outputs[i]), "has no output");
    return values_.at(ports.outputs[i]);
  }
  void need_rank(const XnnValue& value, uint32_t rank) const {
    need(value.rank() == rank,
         fmt::format("has a value of {} dimensions, needs {}", value.rank(), rank));
  }
  void need_size(uint32_t size, const char* what) const {
    need(size > 0 && size <= kMost, fmt::format("has {} of {}", what, size));
  }

  void check_shapes(const xnn::XNode& node, const XnnPorts& ports) const;
  void check_layer(const XnnPorts& ports) const;
  void check_convolution(const xnn::XNode& node, const XnnPorts& ports) const;
  void check_pooling(const xnn::_XNNPooling2D& pool, const XnnPorts& ports) const;
  void check_transpose(const Numbers* perm) const;
  void check_slice(const Numbers* offsets, const Numbers* sizes) const;
  void check_pads(const xnn::XNNStaticConstantPad& pad) const;
  void check_concatenation(uint32_t axis, const XnnPorts& ports) const;

  const XnnValues& values_;
  const std::string& where_;
  std::string name_;
  std::set<uint32_t> defined_;
  std::vector<const XnnValue*> inputs_;
};

void Nodes::check_shapes(const xnn::XNode& node, const XnnPorts& ports) const {
  const auto same_rank = [&] { need_rank(out(ports), in(0).rank()); };
  switch (node.xnode_union_type()) {
    case U::XNNFullyConnected:
      return check_layer(ports);
    case U::XNNConv2d:
    case U::XNNDepthwiseConv2d:
    case U::XNNConvTranspose2d:
      return check_convolution(node, ports);
    case U::XNNAvgPooling2d:
    case U::XNNMaxPooling2d:
      return check_pooling(as<xnn::_XNNPooling2D>(node), ports);
    case U::XNNArgMaxPooling2d: {
      const auto& pool = as<xnn::XNNArgMaxPooling2d>(node);
      need_rank(in(0), 4);
      for (const uint32_t padding :
           {pool.padding_top(), pool.padding_right(), pool.padding_bottom(), pool.padding_left()})
        need(padding <= kMost, "has a padding that is too large");
      need_size(pool.pooling_height(), "a height");
      return need_size(pool.pooling_width(), "a width");
    }
    case U::XNNGlobalAvgPooling2d:
      return need_rank(in(0), 4);
    case U::XNNStaticTranspose:
      same_rank();
      return check_transpose(as<xnn::XNNStaticTranspose>(node).perm());
    case U::XNNStaticReshape: {
      const auto* sizes = as<xnn::XNNStaticReshape>(node).new_shape();
      need(sizes && sizes->size() <= xnnpack::kMaxDims &&
               std::count(sizes->begin(), sizes->end(), 0u) <= 1,
           "has sizes that do not fit");
      return need_rank(out(ports), sizes->size());
    }
    case U::XNNStaticSlice: {
      same_rank();
      const auto& slice = as<xnn::XNNStaticSlice>(node);
      return check_slice(slice.offsets(), slice.sizes());
    }
    case U::XNNStaticConstantPad:
      same_rank();
      return check_pads(as<xnn::XNNStaticConstantPad>(node));
    case U::XNNStaticResizeBilinear2D: {
      const auto& size = as<xnn::XNNStaticResizeBilinear2D>(node);
      need_rank(in(0), 4);
      need_rank(out(ports), 4);
      need_size(size.new_height(), "a height");
      return need_size(size.new_width(), "a width");
    }
    case U::XNNConcatenate2:
    case U::XNNConcatenate3:
    case U::XNNConcatenate4:
    case U::XNNConcatenate5:
      return check_concatenation(as<xnn::_XNNCat>(node).axis(), ports);
    case U::XNNBatchMatrixMultiply:
      return need(in(0).rank() >= 2 && in(1).rank() >= 2 && out(ports).rank() >= 2,
                  "multiplies values that are no matrices");
    case U::XNNELU:
      same_rank();
      return need(std::isfinite(as<xnn::XNNELU>(node).alpha()), "has a slope that is no number");
    case U::XNNLeakyReLU:
      same_rank();
      return need(std::isfinite(as<xnn::XNNLeakyReLU>(node).negative_slope()),
                  "has a slope that is no number");
    case U::XNNSoftmax:
      need(in(0).rank() > 0, "has a value without dimensions");
      return same_rank();
    case U::XNNScaledDotProductAttention:
      return;  // the runtime has none
    default: {
      uint32_t rank = 0;
      for (const XnnValue* input : inputs_) rank = std::max(rank, input->rank());
      need_rank(out(ports), rank);
    }
  }
}

void Nodes::check_layer(const XnnPorts& ports) const {
  need_rank(in(1), 2);
  const bool transposed = ports.flags & kXnnTransposes;
  const uint32_t from = in(1).dim(transposed ? 0 : 1), to = in(1).dim(transposed ? 1 : 0);
  need(from > 0 && to > 0 && in(0).rank() > 0 && in(0).last() == from && out(ports).rank() > 0 &&
           out(ports).last() == to,
       fmt::format("has a filter of {} to {} channels for {} to {}", from, to, in(0).last(),
                   out(ports).last()));
  need(!inputs_[2] || in(2).elements() == to, "has a bias of another size");
}

void Nodes::check_convolution(const xnn::XNode& node, const XnnPorts& ports) const {
  const auto& n = as<xnn::_XNNNodeConv>(node);
  need_size(n.kernel_height(), "a kernel"), need_size(n.kernel_width(), "a kernel");
  need_size(n.subsampling_height(), "a stride"), need_size(n.subsampling_width(), "a stride");
  need_size(n.dilation_height(), "a dilation"), need_size(n.dilation_width(), "a dilation");
  need_size(n.groups(), "groups");
  need_size(n.group_input_channels(), "channels");
  need_size(n.group_output_channels(), "channels");
  for (const uint32_t pad : {n.padding_top(), n.padding_right(), n.padding_bottom(),
                             n.padding_left(), n.adjustment_height(), n.adjustment_width()})
    need(pad <= kMost, "has a padding that is too large");
  need_rank(in(0), 4), need_rank(in(1), 4), need_rank(out(ports), 4);
  const uint64_t from = uint64_t{n.groups()} * n.group_input_channels();
  const uint64_t to = uint64_t{n.groups()} * n.group_output_channels();
  need(in(0).last() == from && out(ports).last() == to,
       fmt::format("is of {} to {} channels, its values have {} and {}", from, to, in(0).last(),
                   out(ports).last()));
  const bool depthwise = node.xnode_union_type() == U::XNNDepthwiseConv2d;
  const uint64_t filter[] = {depthwise ? 1 : to, n.kernel_height(), n.kernel_width(),
                             depthwise ? to : n.group_input_channels()};
  for (uint32_t i = 0; i < 4; ++i)
    need(in(1).dim(i) == filter[i],
         fmt::format("has a filter of {} in dimension {}, needs {}", in(1).dim(i), i, filter[i]));
  need(!depthwise || n.group_input_channels() == 1, "reads several channels in a group");
  need(!inputs_[2] || in(2).elements() == to, "has a bias of another size");
}

void Nodes::check_pooling(const xnn::_XNNPooling2D& n, const XnnPorts& ports) const {
  need_rank(in(0), 4), need_rank(out(ports), 4);
  need_size(n.pooling_height(), "a height"), need_size(n.pooling_width(), "a width");
  need_size(n.stride_height(), "a stride"), need_size(n.stride_width(), "a stride");
  for (const uint32_t most : {n.padding_top(), n.padding_right(), n.padding_bottom(),
                              n.padding_left(), n.dilation_height(), n.dilation_width()})
    need(most <= kMost, "has a padding or dilation that is too large");
}

void Nodes::check_transpose(const Numbers* perm) const {
  need(perm && perm->size() == in(0).rank(), "has a permutation of another length");
  std::set<uint32_t> axes(perm->begin(), perm->end());
  need(axes.size() == perm->size() && (axes.empty() || *axes.rbegin() < perm->size()),
       "has no permutation");
}

void Nodes::check_slice(const Numbers* offsets, const Numbers* sizes) const {
  const uint32_t rank = in(0).rank();
  need(offsets && sizes && offsets->size() == rank && sizes->size() == rank,
       "has offsets or sizes of another length");
  for (uint32_t i = 0; i < rank; ++i)
    need(uint64_t{offsets->Get(i)} + sizes->Get(i) <= in(0).dim(i),
         fmt::format("leaves dimension {}", i));
}

void Nodes::check_pads(const xnn::XNNStaticConstantPad& n) const {
  const uint32_t rank = in(0).rank();
  for (const Numbers* pads : {n.pre_paddings(), n.post_paddings()}) {
    need(pads && pads->size() == rank, "has paddings of another length");
    need(std::all_of(pads->begin(), pads->end(), [](uint32_t pad) { return pad <= kMost; }),
         "has a padding that is too large");
  }
}

void Nodes::check_concatenation(uint32_t axis, const XnnPorts& ports) const {
  const uint32_t rank = in(0).rank();
  need(axis < rank, fmt::format("has no dimension {}", axis));
  for (const XnnValue* input : inputs_) need_rank(*input, rank);
  need_rank(out(ports), rank);
}

}  // namespace

uint64_t XnnValue::elements() const {
  uint64_t product = 1;
  for (uint32_t i = 0; i < rank(); ++i) product *= dim(i);
  return product;
}

void check_nodes(const xnn::XNNGraph& graph, const XnnValues& values, const std::string& where) {
  Nodes nodes(values, where);
  size_t index = 0;
  for (const auto* node : *graph.xnodes()) nodes.check(*node, index++);
  nodes.check_outputs();
}

}  // namespace slipway::executorch::reading
