// What the nodes of an XNNPACK graph in a .pte file read and write.
#include "backends/executorch/check_xnnpack.h"

namespace slipway::executorch::reading {
namespace {

namespace xnn = fb_xnnpack;
using U = xnn::XNodeUnion;

constexpr uint32_t kAlignsCorners = 8, kKeepsDims = 64;  // XNN_FLAG_*

}  // namespace

XnnPorts ports_of(const xnn::XNode& node) {
  const auto unary = [](const auto& n, uint32_t flags = 0) {
    return XnnPorts{{n.input_id()}, {n.output_id()}, n.flags(), flags};
  };
  const auto binary = [](const xnn::_XNNNode2x1& n, uint32_t flags = 0) {
    return XnnPorts{{n.input1_id(), n.input2_id()}, {n.output_id()}, n.flags(), flags};
  };
  const auto layer = [](const auto& n, uint32_t flags) {
    return XnnPorts{
        {n.input1_id(), n.filter_id(), n.bias_id()}, {n.output_id()}, n.flags(), flags, true};
  };
  const auto joined = [](const xnn::_XNNCat& n, size_t count) {
    std::vector<uint32_t> ids{n.input1_id(), n.input2_id(), n.input3_id(), n.input4_id(),
                              n.input5_id()};
    ids.resize(count);
    return XnnPorts{std::move(ids), {n.output_id()}, n.flags(), 0};
  };
  switch (node.xnode_union_type()) {
    case U::XNNAdd:
    case U::XNNSubtract:
    case U::XNNMultiply:
    case U::XNNDiv:
    case U::XNNMinimum:
    case U::XNNMaximum:
    case U::XNNPReLU:
      return binary(as<xnn::_XNNNode2x1>(node));
    case U::XNNBatchMatrixMultiply:
      return binary(as<xnn::_XNNNode2x1>(node), kXnnTransposes);
    case U::XNNFullyConnected:
      return layer(as<xnn::XNNFullyConnected>(node), kXnnTransposes);
    case U::XNNConv2d:
    case U::XNNDepthwiseConv2d:
    case U::XNNConvTranspose2d:
      return layer(as<xnn::_XNNNodeConv>(node), 0);
    case U::XNNAvgPooling2d:
    case U::XNNMaxPooling2d:
      return unary(as<xnn::_XNNPooling2D>(node), kKeepsDims);
    case U::XNNArgMaxPooling2d: {
      const auto& n = as<xnn::XNNArgMaxPooling2d>(node);
      return {{n.input_id()}, {n.output_value_id(), n.output_index_id()}, n.flags(), kKeepsDims};
    }
    case U::XNNStaticTranspose:
      return unary(as<xnn::XNNStaticTranspose>(node));
    case U::XNNStaticResizeBilinear2D:
      return unary(as<xnn::XNNStaticResizeBilinear2D>(node), kAlignsCorners);
    case U::XNNStaticConstantPad:
      return unary(as<xnn::XNNStaticConstantPad>(node));
    case U::XNNStaticReshape:
      return unary(as<xnn::XNNStaticReshape>(node));
    case U::XNNStaticSlice:
      return unary(as<xnn::XNNStaticSlice>(node));
    case U::XNNLeakyReLU:
      return unary(as<xnn::XNNLeakyReLU>(node));
    case U::XNNELU:
      return unary(as<xnn::XNNELU>(node));
    case U::XNNConcatenate2:
      return joined(as<xnn::_XNNCat>(node), 2);
    case U::XNNConcatenate3:
      return joined(as<xnn::_XNNCat>(node), 3);
    case U::XNNConcatenate4:
      return joined(as<xnn::_XNNCat>(node), 4);
    case U::XNNConcatenate5:
      return joined(as<xnn::_XNNCat>(node), 5);
    case U::XNNScaledDotProductAttention: {
      const auto& n = as<xnn::XNNScaledDotProductAttention>(node);
      return {{n.query_id(), n.key_id(), n.value_id(), n.scale_id(), n.mask_id()},
              {n.output_id()},
              n.flags()};
    }
    case U::XNNGlobalAvgPooling2d:
      return unary(as<xnn::_XNNNode1x1>(node), kKeepsDims);
    default:
      return unary(as<xnn::_XNNNode1x1>(node));
  }
}

}  // namespace slipway::executorch::reading
