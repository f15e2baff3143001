// Models to export: a checkpoint opened for one task. No weight is read until it is written.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "slipway/tensor.h"

namespace slipway {

/// Keyword arguments of a model by leaf name: "input_ids", "past_key_values.layers.0.keys".
using Inputs = std::map<std::string, Tensor>;

struct ModelOptions {
  /// Of weights and activations; float32 when not set, whatever the checkpoint stores, since not
  /// every runtime computes in the half formats.
  std::optional<DType> dtype;
};

/// The configuration of a checkpoint, normalized.
class AutoConfig {
 public:
  /// `path` is a checkpoint directory or a .gguf file. Throws Error{kInvalid}.
  static AutoConfig from_pretrained(const std::filesystem::path& path);

  const std::string& model_type() const { return model_type_; }
  const std::vector<std::string>& architectures() const { return architectures_; }
  /// config.json as text.
  const std::string& to_json_string() const { return json_; }

 private:
  std::string model_type_, json_;
  std::vector<std::string> architectures_;
};

/// What computes when a model is called.
enum class Evaluator {
  kBest,      ///< libtorch where its plug-in is installed, else kPlain
  kLibtorch,  ///< PyTorch's own kernels
  kPlain,     ///< plain C++ in double precision, rounded after every op: slow, needs nothing
};

/// A model: a checkpoint, the task whose head it has, and a dtype. Cheap to copy.
class PreTrainedModel {
 public:
  struct Impl;
  explicit PreTrainedModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  /// Opens a checkpoint directory or .gguf file for a task: "auto", "feature-extraction",
  /// "text-generation", "text-generation-with-past", "fill-mask", "text-classification",
  /// "token-classification", "question-answering". Throws Error{kInvalid} for a broken checkpoint
  /// and Error{kUnsupported} for a model type, task or weight scheme that is not supported.
  static PreTrainedModel from_pretrained(const std::filesystem::path& path,
                                         const std::string& task = "auto",
                                         const ModelOptions& options = {});

  /// The class of the reference that this stands for: "LlamaForCausalLM".
  const std::string& architecture() const;
  const std::string& model_type() const;
  /// Never "auto".
  const std::string& task() const;
  DType dtype() const;

  /// Small inputs that the task takes, as an example for export_model: ids of 1, masks of 1, and an
  /// empty cache of the model's geometry for "text-generation-with-past".
  Inputs example_inputs(int64_t batch_size = 2, int64_t sequence_length = 8) const;

  /// Runs the model eagerly, for checks on what other runtimes give. Takes what export_model takes;
  /// attention_mask, position_ids and token_type_ids may be left out. Returns every output in the
  /// model's order. libtorch gets the model as a program in a private temporary file, written by
  /// the first call for a set of inputs. Throws Error{kInvalid} for inputs that do not fit,
  /// Error{kEnvironment} for Evaluator::kLibtorch where the plug-in or the library is missing.
  std::vector<std::pair<std::string, Tensor>> operator()(
      const Inputs& inputs, Evaluator evaluator = Evaluator::kBest) const;

  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

/// The task classes of the reference. Each opens a checkpoint with the head of its task.
struct AutoModel {
  static PreTrainedModel from_pretrained(const std::filesystem::path& path,
                                         const ModelOptions& options = {}) {
    return PreTrainedModel::from_pretrained(path, "feature-extraction", options);
  }
};
struct AutoModelForCausalLM {
  /// export_model gives the graph a cache when the example inputs hold past_key_values.
  static PreTrainedModel from_pretrained(const std::filesystem::path& path,
                                         const ModelOptions& options = {}) {
    return PreTrainedModel::from_pretrained(path, "text-generation", options);
  }
};
struct AutoModelForMaskedLM {
  static PreTrainedModel from_pretrained(const std::filesystem::path& path,
                                         const ModelOptions& options = {}) {
    return PreTrainedModel::from_pretrained(path, "fill-mask", options);
  }
};
struct AutoModelForSequenceClassification {
  static PreTrainedModel from_pretrained(const std::filesystem::path& path,
                                         const ModelOptions& options = {}) {
    return PreTrainedModel::from_pretrained(path, "text-classification", options);
  }
};
struct AutoModelForTokenClassification {
  static PreTrainedModel from_pretrained(const std::filesystem::path& path,
                                         const ModelOptions& options = {}) {
    return PreTrainedModel::from_pretrained(path, "token-classification", options);
  }
};
struct AutoModelForQuestionAnswering {
  static PreTrainedModel from_pretrained(const std::filesystem::path& path,
                                         const ModelOptions& options = {}) {
    return PreTrainedModel::from_pretrained(path, "question-answering", options);
  }
};

}  // namespace slipway
