// Export configurations, one per format, with the reference's field names.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "slipway/dim.h"

namespace slipway {

/// What every format's configuration has.
struct ExportConfig {
  virtual ~ExportConfig() = default;

  /// "onnx", ...: tells the formats apart in export.json and AutoExportConfig.
  virtual std::string export_format() const = 0;
  /// The fields as one JSON object with sorted keys, as export.json records them.
  virtual std::string to_json_string() const = 0;

  /// Every size of every input symbolic. Ignored where dynamic_shapes is set.
  bool dynamic = false;
  /// Recorded only: native models are not traced, so there is nothing to be strict about.
  bool strict = false;
  std::optional<DynamicShapes> dynamic_shapes;
  /// Bounds of dynamic_shapes that go beyond what the model can take are narrowed and checked at
  /// run time; otherwise they are an export error.
  bool prefer_deferred_runtime_asserts_over_guards = false;
  /// Passes to leave out, by name (`slipway formats --passes` lists them); for finding which one is
  /// at fault. Not recorded in export.json.
  std::vector<std::string> disabled_passes;
};

/// PyTorch: a .pt2 file of ATen ops, as torch.export.save writes it.
struct DynamoConfig : ExportConfig {
  std::string export_format() const override { return "dynamo"; }
  std::string to_json_string() const override;
};

/// OpenVINO IR: an .xml graph and its .bin weights.
struct OpenVINOConfig : ExportConfig {
  std::string export_format() const override { return "openvino"; }
  std::string to_json_string() const override;

  /// Store float32 weights as float16, except those with values beyond its range, which are named
  /// in a warning. Exporting then reads the weights.
  bool compress_to_fp16 = false;
  /// Keep caches inside the graph as variables, with beam_idx as an input.
  bool stateful = true;
};

/// ExecuTorch: a .pte program. Its memory is planned from upper bounds of all sizes: those of
/// dynamic_shapes, and defaults that are printed where there are none.
struct ExecutorchConfig : ExportConfig {
  std::string export_format() const override { return "executorch"; }
  std::string to_json_string() const override;

  /// What computes the parts of the graph that it can: "xnnpack". Error{kUnsupported} for others.
  std::string backend = "xnnpack";
  /// Whether inputs have memory in the program, into which the runtime copies. Otherwise it uses
  /// the caller's, so that a cache that is written in place is the caller's tensor.
  bool alloc_graph_input = true;
  /// Whether outputs have memory in the program. Otherwise the caller gives it before a call.
  bool alloc_graph_output = true;
  /// Whether mutable buffers have memory in the program. Otherwise the caller gives it.
  bool alloc_mutable_buffers = true;
  /// Of an export with several components: each is a method, of the component's name, of one file
  /// model.pte, which holds the weights that they share once. The reference's loader opens files
  /// with the method `forward` only. Memory is planned for each method. All components need it, and
  /// the same alloc_* (Error{kUsage}). An export of one component is one file in either case.
  /// Recorded where it is set.
  bool single_file = false;
  /// Set: a program for ExecuTorch's LLM runner, to be saved as Layout::kExecutorchLlm. One row,
  /// input_ids [1, s] and cache_position [s] in, the last token's logits [1, 1, vocabulary] out; a
  /// static cache of so many slots is in mutable buffers. 0: max_position_embeddings, 2048 at most.
  /// Recorded where it is set.
  std::optional<int64_t> llm_slots;
};

/// How a graph names its inputs and outputs.
enum class IoNames {
  kTransformers,  ///< past_key_values.layers.N.keys and .values, in and out
  kOptimum,       ///< past_key_values.N.key and .value in, present.N.key and .value out
  /// As kOptimum, and logits_to_keep is num_logits_to_keep, which callers must give:
  /// transformers.js gives it where it is listed, and does not see inputs that may be left out.
  kTransformersJs,
};

/// ONNX. Throws nothing by itself; OnnxExporter checks the ranges.
struct OnnxConfig : ExportConfig {
  std::string export_format() const override { return "onnx"; }
  std::string to_json_string() const override;

  /// 18 to 24; 20 when not set.
  std::optional<int64_t> opset_version;
  /// Constant folding, identities and merging of repeated subgraphs.
  bool optimize = true;
  /// kOptimum is what Optimum, onnxruntime-genai and transformers.js read; logits are then float32
  /// whatever the dtype. "transformers", "optimum", "transformers.js" in JSON; recorded where it is
  /// not the default.
  IoNames io_names = IoNames::kTransformers;
};

/// Makes the configuration class that `export_format` names.
struct AutoExportConfig {
  /// From a JSON object such as {"export_format": "onnx", "dynamic": true}. Throws Error{kUsage}
  /// for an unknown field or a value of the wrong type, Error{kUnsupported} for an unknown format.
  static std::unique_ptr<ExportConfig> from_dict(const std::string& json);
};

/// The formats of this build: "onnx", "dynamo", "openvino", "executorch".
std::vector<std::string> available_formats();

}  // namespace slipway
