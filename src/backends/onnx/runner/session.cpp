// A loaded ONNX model: its description, and running it.
#include "backends/onnx/runner/session.h"

#include <fmt/format.h>

#include "runtime/huge_pages.h"
#include "backends/onnx/runner/options.h"
#include "backends/onnx/runner/values.h"
#include "slipway/error.h"

namespace slipway::onnx_runner {

void rethrow(const Ort::Exception& error, std::string_view where, Stage stage) {
  const std::string_view what = error.what();
  const auto mentions = [&](std::string_view part) { return what.find(part) != what.npos; };
  ErrorKind kind = kInvalid;
  switch (error.GetOrtErrorCode()) {
    case ORT_NOT_IMPLEMENTED:
      kind = kUnsupported;
      break;
    case ORT_EP_FAIL:
    case ORT_ENGINE_ERROR:
      kind = kEnvironment;
      break;
    case ORT_MODEL_LOADED:
      kind = kInternal;
      break;
    default:
      break;
  }
  // These have only the general code.
  if (mentions("bad_alloc") || mentions("Failed to allocate memory")) kind = kEnvironment;
  if (mentions("Unsupported model IR version") || mentions("No Op registered for") ||
      mentions("is under development"))
    kind = kUnsupported;
  throw Error(kind, fmt::format("[onnx] {} cannot be {}: {}", where,
                                stage == Stage::kLoading ? "loaded" : "run", what));
}

Model::Model(const std::filesystem::path& path, std::string_view options)
    : library_(library()), name_(path.filename().string()) {
  Ort::SessionOptions session_options = onnx_runner::session_options(options, library_);
  linked_ = check_external_files(path);
  std::vector<std::string> names;
  std::vector<char*> buffers;
  std::vector<size_t> lengths;
  for (const LinkedFile& linked : linked_) {
    names.push_back(linked.location);
    // The API takes non-const memory but only reads it.
    buffers.push_back(
        const_cast<char*>(reinterpret_cast<const char*>(linked.file->bytes().data())));
    lengths.push_back(linked.file->bytes().size());
  }
  try {
    if (!names.empty())
      session_options.AddExternalInitializersFromFilesInMemory(names, buffers, lengths);
    const HugePages pages;
    session_ = Ort::Session(library_.env, path.c_str(), session_options);
    pages.advise();
  } catch (const Ort::Exception& e) {
    rethrow(e, path.string(), Stage::kLoading);
  }
  describe();
}

const char* Model::keep(std::string text) { return strings_.emplace_back(std::move(text)).c_str(); }

abi::IoDescription Model::describe_io(std::string name, const Ort::TypeInfo& type) {
  const std::string what = fmt::format("'{}' of {}", name, name_);
  if (type.GetONNXType() != ONNX_TYPE_TENSOR)
    throw Error(kUnsupported, fmt::format("[onnx] {} is not a tensor", what));
  const auto info = type.GetTensorTypeAndShapeInfo();
  abi::IoDescription io{};
  io.name = keep(std::move(name));
  io.dtype = dlpack_type(info.GetElementType(), what);
  const auto& sizes = sizes_.emplace_back(info.GetShape());
  auto& symbols = symbols_.emplace_back(sizes.size(), nullptr);
  info.GetSymbolicDimensions(symbols.data(), symbols.size());  // these point into `type`
  for (const char*& symbol : symbols) symbol = keep(symbol != nullptr ? symbol : "");
  io.num_dims = static_cast<int32_t>(sizes.size());
  io.sizes = sizes.data();
  io.symbols = symbols.data();
  return io;
}

void Model::describe() {
  Ort::AllocatorWithDefaultOptions allocator;
  for (size_t i = 0; i < session_.GetInputCount(); ++i)
    inputs_.push_back(describe_io(session_.GetInputNameAllocated(i, allocator).get(),
                                  session_.GetInputTypeInfo(i)));
  for (size_t i = 0; i < session_.GetOverridableInitializerCount(); ++i)
    optional_inputs_.push_back(
        describe_io(session_.GetOverridableInitializerNameAllocated(i, allocator).get(),
                    session_.GetOverridableInitializerTypeInfo(i)));
  for (size_t i = 0; i < session_.GetOutputCount(); ++i)
    outputs_.push_back(describe_io(session_.GetOutputNameAllocated(i, allocator).get(),
                                   session_.GetOutputTypeInfo(i)));
  const Ort::ModelMetadata metadata = session_.GetModelMetadata();
  for (const auto& key : metadata.GetCustomMetadataMapKeysAllocated(allocator))
    metadata_.push_back(
        {keep(key.get()),
         keep(metadata.LookupCustomMetadataMapAllocated(key.get(), allocator).get())});
  description_ = {inputs_.size(),
                  inputs_.data(),
                  optional_inputs_.size(),
                  optional_inputs_.data(),
                  outputs_.size(),
                  outputs_.data(),
                  metadata_.size(),
                  metadata_.data(),
                  0,
                  nullptr};
}

void Model::run(const abi::Input* inputs, size_t num_inputs, abi::Output* outputs,
                size_t num_outputs) const {
  std::vector<const char*> input_names, output_names;
  std::vector<Ort::Value> input_values, output_values;
  for (size_t i = 0; i < num_inputs; ++i) {
    input_names.push_back(inputs[i].name);
    input_values.push_back(wrap_tensor(*inputs[i].tensor, inputs[i].name));
  }
  for (size_t i = 0; i < num_outputs; ++i) {
    output_names.push_back(outputs[i].name);
    output_values.push_back(outputs[i].memory != nullptr
                                ? wrap_tensor(*outputs[i].memory, outputs[i].name)
                                : Ort::Value{nullptr});
  }
  try {
    session_.Run(Ort::RunOptions{nullptr}, input_names.data(), input_values.data(), num_inputs,
                 output_names.data(), output_values.data(), num_outputs);
  } catch (const Ort::Exception& e) {
    rethrow(e, name_, Stage::kRunning);
  }
  // Either all outputs are handed over or none.
  using Handed = std::unique_ptr<abi::DLManagedTensor, void (*)(abi::DLManagedTensor*)>;
  std::vector<Handed> handed;
  const auto self = std::const_pointer_cast<Model>(shared_from_this());
  for (size_t i = 0; i < num_outputs; ++i)
    handed.emplace_back(outputs[i].memory != nullptr
                            ? nullptr
                            : hand_over(std::move(output_values[i]), self, outputs[i].name),
                        [](abi::DLManagedTensor* tensor) { tensor->deleter(tensor); });
  for (size_t i = 0; i < num_outputs; ++i) outputs[i].result = handed[i].release();
}

}  // namespace slipway::onnx_runner
