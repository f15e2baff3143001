// A model loaded by a runtime: what it takes, what it gives, and running it.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/abi.h"
#include "slipway/tensor.h"

namespace slipway {

class Plugin;

/// One dimension: a fixed size, or -1 and the graph's name or expression for it ("" when none).
struct DimSpec {
  int64_t size = -1;
  std::string symbol;

  bool is_fixed() const { return size >= 0; }
  /// "9", "batch_size", "?".
  std::string text() const;
};

/// An input or output of a graph. No dimensions: a scalar, or a shape that the graph leaves open.
struct IoSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<DimSpec> dims;
  bool optional = false;  ///< an input that the graph has a default for
  /// What the graph keeps from run to run of a RepeatedCall. As an input it is what a run begins
  /// with instead of the graph's first value; as an output, what the run leaves.
  bool state = false;

  /// "[batch_size, 2, ?, 8]".
  std::string dims_text() const;
};

enum class GraphOptimization { kNone, kBasic, kExtended, kAll };

struct SessionOptions {
  /// "cpu", "cuda", "cuda:1", "xpu"; empty: the runtime's choice. Ignored when providers are given.
  std::string device;
  std::vector<std::string> providers;  ///< the runtime's own names, in order of preference
  std::map<std::string, std::map<std::string, std::string>> provider_options;
  int intra_op_threads = 0;  ///< 0: the CPUs that this process may use (num_threads())
  int inter_op_threads = 0;  ///< 0: the runtime's default
  GraphOptimization graph_optimization = GraphOptimization::kAll;
  /// Settings passed to the runtime as they are. "session.intra_op.allow_spinning" = "0" lets its
  /// threads sleep while they wait: decoding is 12% slower on an idle machine (2 CPUs, measured)
  /// and about twice as fast on one whose CPUs are all taken.
  std::map<std::string, std::string> config;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// A loaded model. Copies share it; run() may be called from several threads at once and gives each
/// call its own result. Tensors that it returned stay valid after it is gone.
class Session {
 public:
  /// Loads a file with the plug-in of `format`. Throws Error{kInvalid} for a missing or broken
  /// file, Error{kEnvironment} for a missing plug-in, runtime library, device or provider.
  static Session open(std::string_view format, const std::filesystem::path& path,
                      const SessionOptions& options = {});

  /// Optional ones last, states at the very end.
  const std::vector<IoSpec>& inputs() const { return inputs_; }
  const std::vector<IoSpec>& outputs() const { return outputs_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return path_; }
  /// "ONNX Runtime 1.32.0".
  std::string runtime() const;

  /// Runs on the caller's memory and returns the wanted outputs in the order asked for, or all in
  /// the graph's order when none is named. Nothing is copied on the CPU. Names, dtypes and sizes
  /// are checked by the runtime only: ModelRunner checks them with better messages.
  NamedTensors run(const std::map<std::string, Tensor>& inputs,
                   const std::vector<std::string>& wanted = {}) const;

  /// Where outputs should be written instead: tensors of the exact dtype and shape, by name.
  NamedTensors run_into(const std::map<std::string, Tensor>& inputs,
                        const std::map<std::string, Tensor>& memory,
                        const std::vector<std::string>& wanted = {}) const;

 private:
  friend class RepeatedCall;
  Session() = default;

  const Plugin* plugin_ = nullptr;
  std::shared_ptr<abi::Session> handle_;
  std::filesystem::path path_;
  std::vector<IoSpec> inputs_, outputs_;
  std::map<std::string, std::string> metadata_;
};

namespace detail {
/// A DLPack view of a tensor; valid while the tensor lives. The plug-in writes to outputs only.
abi::DLTensor view(const Tensor& tensor);
/// Takes over a tensor of the runtime; the deleter runs with the last copy.
Tensor take(abi::DLManagedTensor* managed);
}  // namespace detail

}  // namespace slipway
