// Programs that torch.export saved: the source of an export for models without a native file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "slipway/exported_model.h"

namespace slipway {

/// A `.pt2` file as a graph of ATen ops (docs/architecture.md, "Front ends"). Its weights stay in
/// the file and are mapped when they are written; nothing in the file is executed or unpickled.
/// Cheap to copy, immutable.
class TorchProgram {
 public:
  struct Impl;
  explicit TorchProgram(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  /// Reads what torch.export.save (torch 2.8 and later, schema 8) wrote. Where an export.json
  /// beside the file tells of it, its metadata is taken over; config.json and tokenizer files
  /// beside the file travel along. Throws Error{kInvalid} for a file that is damaged or does not
  /// fit together, Error{kUnsupported} listing the ops that are unknown here, and for pickled
  /// weights, custom objects, buffers that the program changes, sizes that depend on values, and
  /// loops.
  static TorchProgram load(const std::filesystem::path& path);

  /// The class of the traced model ("LlamaForCausalLM"), "ExportedProgram" where the file does not
  /// say.
  const std::string& architecture() const;
  DType dtype() const;
  /// Whether a quantizer changed it: it has ops that quantize or dequantize.
  bool is_quantized() const;
  std::vector<LeafSpec> inputs() const;
  std::vector<LeafSpec> outputs() const;
  /// The graph as text, composites recovered.
  std::string to_text() const;

  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace slipway
