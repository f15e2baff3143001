// Reads and checks the graph of an XNNPACK delegate.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>

#include "backends/executorch/check_xnnpack.h"
#include "backends/executorch/read_parts.h"
#include "backends/executorch/xnnpack_graph.h"
#include "xnnpack/schema_generated.h"

namespace slipway::executorch::reading {
namespace {

namespace xnn = fb_xnnpack;

constexpr size_t kHeader = 30;
constexpr std::string_view kPrefix = "XNN";  // of the schema's node names

class Reader {
 public:
  Reader(const std::string& where, const std::function<ByteSpan(std::string_view)>& data)
      : where_(where), data_(data) {}

  DelegatePort run(ByteSpan bytes) {
    const xnn::XNNGraph& graph = find_graph(bytes);
    need(graph.xnodes() && graph.xvalues(), "nodes or values are missing");
    need(graph.num_externs() <= xnnpack::kMaxExternals, "it has too many inputs and outputs");
    DelegatePort port{.id = "XnnpackBackend", .externals = graph.num_externs()};
    for (const auto* value : *graph.xvalues()) check_value(graph, value, port);
    port.breaks_weight_cache = breaks_weight_cache(graph);
    for (const auto* node : *graph.xnodes()) {
      need(node && node->xnode_union() && node->xnode_union_type() != xnn::XNodeUnion::NONE &&
               node->xnode_union_type() <= xnn::XNodeUnion::MAX,
           "a node is of a kind that this version does not know");
      const std::string name = xnn::EnumNameXNodeUnion(node->xnode_union_type());
      ++port.node_counts[name.substr(std::min(kPrefix.size(), name.size()))];
    }
    check_nodes(graph, values_, where_);
    return port;
  }

 private:
  /// XNNPACK packs weights of these nodes; for other nodes it keeps pointers to static data, which
  /// the runtime's cache of packed weights frees. Where XNNPACK computes 16 bits in float32 it asks
  /// the cache for a function that release 1.5.1 leaves uninitialized.
  static bool breaks_weight_cache(const xnn::XNNGraph& graph) {
    std::set<uint32_t> packed;
    const auto weights = [&](const auto* node) {
      if (node) packed.insert({node->filter_id(), node->bias_id()});
    };
    for (const auto* node : *graph.xnodes()) {
      if (!node || !node->xnode_union()) continue;
      weights(node->xnode_union_as_XNNFullyConnected());
      weights(node->xnode_union_as_XNNConv2d());
      weights(node->xnode_union_as_XNNDepthwiseConv2d());
      weights(node->xnode_union_as_XNNConvTranspose2d());
    }
    for (const auto* value : *graph.xvalues()) {
      const auto* tensor = value->xvalue_union_as_XNNTensorValue();
      if (const auto* quantized = value->xvalue_union_as_XNNQuantizedTensorValue())
        tensor = quantized->tensor_value();
      if (tensor->constant_buffer_idx() == 0) continue;
      const bool half = tensor->datatype() == xnn::XNNDatatype::xnn_datatype_bf16 ||
                        tensor->datatype() == xnn::XNNDatatype::xnn_datatype_fp16;
      if (half || !packed.contains(tensor->id_out())) return true;
    }
    return false;
  }

  void need(bool condition, std::string_view what) const {
    if (!condition)
      throw Error(kInvalid, fmt::format("[executorch] {}: {}; the file is broken, export it again",
                                        where_, what));
  }

  template <class T>
  static T read(ByteSpan bytes, size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    return value;
  }

  const xnn::XNNGraph& find_graph(ByteSpan bytes) {
    need(bytes.size() >= kHeader && std::memcmp(bytes.data() + 4, "XH00", 4) == 0,
         "it has no header XH00");
    const uint64_t offset = read<uint32_t>(bytes, 10), size = read<uint32_t>(bytes, 14);
    const uint64_t data_offset = read<uint32_t>(bytes, 18), data_size = read<uint64_t>(bytes, 22);
    need(read<uint16_t>(bytes, 8) >= kHeader && offset <= bytes.size() &&
             size <= bytes.size() - offset && size < FLATBUFFERS_MAX_BUFFER_SIZE,
         "its graph lies outside its segment");
    need(data_offset <= bytes.size() && data_size <= bytes.size() - data_offset,
         "its data lie outside their segment");
    constant_bytes_ = data_size;
    need(offset % 8 == 0, "its graph is not aligned");
    const auto* start = reinterpret_cast<const uint8_t*>(bytes.data()) + offset;
    flatbuffers::Verifier::Options options;
    options.max_tables = static_cast<uint32_t>(std::min<uint64_t>(size / 4 + 16, 1u << 26));
    flatbuffers::Verifier verifier(start, static_cast<size_t>(size), options);
    // A newer runtime keeps reading the older of the two identifiers.
    const bool old = size >= 8 && std::memcmp(start + 4, "XN00", 4) == 0;
    need(verifier.VerifyBuffer<xnn::XNNGraph>(old ? "XN00" : "XN01"),
         "its graph's offsets point outside it");
    return *xnn::GetXNNGraph(start);
  }

  /// Data of that number hold `bytes`.
  void check_data(const xnn::XNNGraph& graph, uint32_t index, uint64_t bytes) const {
    if (index == 0) return;
    const auto* list = graph.constant_data();
    need(list && index < list->size() && list->Get(index), "data of a value are missing");
    const auto* entry = list->Get(index);
    if (entry->named_key()) {
      const ByteSpan found = data_(entry->named_key()->string_view());
      need(found.size() >= bytes, "data of a value are too short");
    } else {
      need(entry->offset() <= constant_bytes_ && bytes <= constant_bytes_ - entry->offset(),
           "data of a value lie outside their segment");
    }
  }

  static std::optional<uint64_t> bits_of(xnn::XNNDatatype type) {
    using T = xnn::XNNDatatype;
    switch (type) {
      case T::xnn_datatype_fp32:
      case T::xnn_datatype_qint32:
      case T::xnn_datatype_qcint32:
      case T::xnn_datatype_int32:
      case T::xnn_datatype_pfp32:
        return 32;
      case T::xnn_datatype_fp16:
      case T::xnn_datatype_bf16:
        return 16;
      case T::xnn_datatype_qint8:
      case T::xnn_datatype_quint8:
      case T::xnn_datatype_qcint8:
      case T::xnn_datatype_qdint8:
      case T::xnn_datatype_qpint8:
        return 8;
      case T::xnn_datatype_qcint4:
      case T::xnn_datatype_qbint4:
        return 4;
      default:
        return std::nullopt;
    }
  }

  /// Null for types that only delegates have.
  static std::optional<DType> dtype_of(xnn::XNNDatatype type) {
    using T = xnn::XNNDatatype;
    switch (type) {
      case T::xnn_datatype_fp32:
        return DType::kF32;
      case T::xnn_datatype_fp16:
        return DType::kF16;
      case T::xnn_datatype_bf16:
        return DType::kBF16;
      case T::xnn_datatype_qint8:
        return DType::kI8;
      case T::xnn_datatype_quint8:
        return DType::kU8;
      case T::xnn_datatype_qint32:
      case T::xnn_datatype_int32:
        return DType::kI32;
      default:
        return std::nullopt;
    }
  }

  void check_value(const xnn::XNNGraph& graph, const xnn::XValue* value, DelegatePort& port) {
    need(value && value->xvalue_union(), "a value is missing");
    const auto* tensor = value->xvalue_union_as_XNNTensorValue();
    const auto* quantized = value->xvalue_union_as_XNNQuantizedTensorValue();
    if (quantized) tensor = quantized->tensor_value();
    need(tensor != nullptr, "a value is no tensor");
    const auto bits = bits_of(tensor->datatype());
    need(bits.has_value(), "a value has an unknown type");
    uint64_t elements = 1;
    const size_t rank = tensor->dims() ? tensor->dims()->size() : 0;
    need(rank == tensor->num_dims() && rank <= static_cast<size_t>(xnnpack::kMaxDims),
         "a value has a wrong rank");
    for (size_t i = 0; i < rank; ++i)
      need(!__builtin_mul_overflow(elements, tensor->dims()->Get(static_cast<uint32_t>(i)),
                                   &elements) &&
               elements < (uint64_t{1} << 56),
           "a value is larger than any memory");
    add_value(graph, *tensor, port);
    check_data(graph, tensor->constant_buffer_idx(), (elements * *bits + 7) / 8);
    if (tensor->constant_buffer_idx() != 0) {
      const std::string_view type = xnn::EnumNameXNNDatatype(tensor->datatype());
      ++port.data_counts[std::string(type.substr(type.rfind('_') + 1))];
    }
    if (quantized) check_quantization(graph, *quantized);
  }

  void add_value(const xnn::XNNGraph& graph, const xnn::XNNTensorValue& tensor,
                 DelegatePort& port) {
    constexpr uint32_t kInput = 1, kOutput = 2;
    const XnnValue value{.tensor = &tensor,
                         .input = (tensor.flags() & kInput) != 0,
                         .output = (tensor.flags() & kOutput) != 0,
                         .data = tensor.constant_buffer_idx() != 0};
    need(tensor.flags() <= kOutput, "a value has unknown flags, or is an input and an output");
    need(tensor.id_out() != xnnpack::kNoValue && values_.emplace(tensor.id_out(), value).second,
         fmt::format("two values have the number {}", tensor.id_out()));
    if (!value.input && !value.output) {
      need(tensor.external_id() == xnnpack::kNoValue, "a value of its own has an outer number");
      return;
    }
    need(tensor.external_id() < graph.num_externs() && !value.data &&
             externals_.insert(tensor.external_id()).second,
         "an input or output has no number of its own");
    DelegateArgument argument{.place = tensor.external_id(),
                              .output = value.output,
                              .dtype = dtype_of(tensor.datatype())};
    for (uint32_t i = 0; i < value.rank(); ++i) argument.dims.push_back(value.dim(i));
    port.arguments.push_back(std::move(argument));
  }

  void check_quantization(const xnn::XNNGraph& graph,
                          const xnn::XNNQuantizedTensorValue& value) const {
    need(value.quant_params() != nullptr, "a value has no quantization");
    if (const auto* whole = value.quant_params_as_PerTensorQuant())
      need(std::isfinite(whole->scale()) && whole->scale() > 0, "a scale is no positive number");
    if (const auto* token = value.quant_params_as_PerTokenDynamicQuant()) {
      const auto* dims = value.tensor_value()->dims();
      need(token->num_nonbatch_dims() > 0 && dims &&
               static_cast<uint32_t>(token->num_nonbatch_dims()) <= dims->size(),
           "scales of rows are for dimensions that are not there");
    }
    if (const auto* channel = value.quant_params_as_PerChannelQuant()) {
      need(channel->scale() != nullptr, "scales are missing");
      check_scales(graph, value, channel->channel_dim(), channel->scale_buffer_idx(),
                   channel->scale()->size(), sizeof(float), 1);
    } else if (const auto* group = value.quant_params_as_PerChannelGroupQuant()) {
      const auto* dims = value.tensor_value()->dims();
      need(group->scale() != nullptr && group->group_size() > 0 && dims && dims->size() == 2 &&
               group->channel_dim() == 0 &&
               dims->Get(1) % static_cast<uint32_t>(group->group_size()) == 0,
           "blocks have no size");
      check_scales(graph, value, group->channel_dim(), group->scale_buffer_idx(),
                   group->scale()->size(), sizeof(uint16_t),
                   dims->Get(1) / static_cast<uint32_t>(group->group_size()));
    }
  }

  /// `per_channel` scales for each channel, in the graph or as data.
  void check_scales(const xnn::XNNGraph& graph, const xnn::XNNQuantizedTensorValue& value,
                    int32_t channel_dim, uint32_t index, uint64_t in_graph, uint64_t bytes,
                    uint64_t per_channel) const {
    const auto* dims = value.tensor_value()->dims();
    need(dims && channel_dim >= 0 && static_cast<uint32_t>(channel_dim) < dims->size(),
         "scales are for a dimension that is not there");
    const uint64_t count = dims->Get(static_cast<uint32_t>(channel_dim)) * per_channel;
    if (index == 0) need(in_graph >= count, "scales are too few");
    else check_data(graph, index, count * bytes);
  }

  const std::string& where_;
  const std::function<ByteSpan(std::string_view)>& data_;
  uint64_t constant_bytes_ = 0;
  XnnValues values_;
  std::set<uint32_t> externals_;
};

}  // namespace

DelegatePort read_xnnpack(ByteSpan bytes, const std::string& where,
                          const std::function<ByteSpan(std::string_view)>& data) {
  return Reader(where, data).run(bytes);
}

}  // namespace slipway::executorch::reading
