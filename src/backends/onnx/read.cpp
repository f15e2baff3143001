// Reads an .onnx file's outline.
#include "backends/onnx/read.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/mapped_file.h"
#include "base/output.h"
#include "onnx/onnx-ml.pb.h"

namespace slipway::onnx {
namespace {

/// Before this version of the format every initializer was listed as an input too.
constexpr int64_t kInitializersBesideInputs = 4;

namespace pb = ::onnx;

DType dtype_of(int32_t type, const std::string& where) {
  switch (type) {
    case pb::TensorProto::DOUBLE:
      return DType::kF64;
    case pb::TensorProto::FLOAT:
      return DType::kF32;
    case pb::TensorProto::FLOAT16:
      return DType::kF16;
    case pb::TensorProto::BFLOAT16:
      return DType::kBF16;
    case pb::TensorProto::FLOAT8E4M3FN:
      return DType::kF8E4M3;
    case pb::TensorProto::FLOAT8E5M2:
      return DType::kF8E5M2;
    case pb::TensorProto::INT64:
      return DType::kI64;
    case pb::TensorProto::INT32:
      return DType::kI32;
    case pb::TensorProto::INT16:
      return DType::kI16;
    case pb::TensorProto::INT8:
      return DType::kI8;
    case pb::TensorProto::UINT64:
      return DType::kU64;
    case pb::TensorProto::UINT32:
      return DType::kU32;
    case pb::TensorProto::UINT16:
      return DType::kU16;
    case pb::TensorProto::UINT8:
      return DType::kU8;
    case pb::TensorProto::BOOL:
      return DType::kBool;
    default:
      throw Error(kUnsupported,
                  fmt::format("[onnx] {}: element type {} is not supported", where, type));
  }
}

FileValue value_of(const pb::ValueInfoProto& info, const std::string& where) {
  if (!info.type().has_tensor_type())
    throw Error(kUnsupported, fmt::format("[onnx] {}: '{}' is not a tensor", where, info.name()));
  FileValue value{info.name(), dtype_of(info.type().tensor_type().elem_type(), where), {}};
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    if (dim.has_dim_value()) value.dims.push_back(std::to_string(dim.dim_value()));
    else value.dims.push_back(dim.dim_param().empty() ? "?" : dim.dim_param());
  }
  return value;
}

void note_external(const pb::TensorProto& tensor, FileSummary& summary, const std::string& where) {
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() != "location") continue;
    const std::filesystem::path location(entry.value());
    bool inside = location.is_relative() && !location.empty();
    for (const auto& part : location) inside = inside && part != "..";
    if (!inside)
      throw Error(kInvalid, fmt::format("[onnx] {}: weights at '{}' are outside the model's folder",
                                        where, entry.value()));
    summary.external_files.insert(entry.value());
  }
}

}  // namespace

FileSummary read_summary(ByteSpan bytes, const std::string& where) {
  pb::ModelProto model;
  constexpr size_t kLimit = 0x7fffffff;
  if (bytes.empty() || bytes.size() > kLimit ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !model.has_graph())
    throw Error(kInvalid,
                fmt::format("[onnx] {} is not an ONNX model ({} bytes)", where, bytes.size()));
  FileSummary summary;
  summary.ir_version = model.ir_version();
  summary.producer = model.producer_name();
  for (const auto& opset : model.opset_import()) summary.opsets[opset.domain()] = opset.version();
  for (const auto& entry : model.metadata_props()) summary.metadata[entry.key()] = entry.value();
  const auto& graph = model.graph();
  std::set<std::string> initialized;
  for (const auto& tensor : graph.initializer()) {
    initialized.insert(tensor.name());
    note_external(tensor, summary, where);
    ++summary.initializers;
  }
  for (const auto& input : graph.input())
    if (const bool optional = initialized.count(input.name()) != 0;
        !optional || model.ir_version() >= kInitializersBesideInputs) {
      summary.inputs.push_back(value_of(input, where));
      summary.inputs.back().optional = optional;
    }
  for (const auto& output : graph.output()) summary.outputs.push_back(value_of(output, where));
  for (const auto& node : graph.node()) {
    const std::string domain = node.domain().empty() ? "onnx" : node.domain();
    const std::string op = domain + "::" + node.op_type();
    ++summary.op_counts[op];
    summary.listing += fmt::format("{} = {}({})\n", fmt::join(node.output(), ", "), op,
                                   fmt::join(node.input(), ", "));
  }
  return summary;
}

FileSummary read_summary(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return read_summary(file->bytes(), display(path));
}

}  // namespace slipway::onnx
