// What an export records about each of its graphs: the metadata of export.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "slipway/tensor.h"

namespace slipway {

/// A scalar that a traced call took or returned: Python's None, bool, int, float or str.
using ScalarConstant = std::variant<std::monostate, bool, int64_t, double, std::string>;

/// How one keyword argument of the traced call was shaped.
struct TracedKwarg {
  enum class Kind {
    kTensor,     ///< `shape` and `dtype` are set
    kMapping,    ///< `leaves` are set
    kContainer,  ///< anything else: `container` is the name of its Python class
  };
  Kind kind = Kind::kTensor;
  Shape shape;
  std::string dtype;  ///< PyTorch's name: "int64"
  std::vector<std::pair<std::string, TracedKwarg>> leaves;
  std::string container;  ///< "DynamicCache"

  static TracedKwarg tensor(Shape shape, std::string dtype);
  static TracedKwarg mapping(std::vector<std::pair<std::string, TracedKwarg>> leaves);
  static TracedKwarg of_class(std::string container);

  bool operator==(const TracedKwarg&) const = default;
};

/// What the exporter recorded about one graph. Field names are those of the reference; maps keep
/// their order.
struct ExportMetadata {
  std::optional<std::string> architecture;  ///< the model's class: "LlamaForCausalLM"
  /// Versions of the packages that made the export.
  std::vector<std::pair<std::string, std::string>> packages;
  std::string export_config = "{}";          ///< the export's settings, a JSON object
  std::optional<std::string> export_dtype;   ///< "float32"
  std::optional<std::string> export_device;  ///< "cpu"
  /// Every keyword argument that the traced call took, graph inputs or not, in the order of
  /// `in_spec`. A call of the export drops arguments that are not named here.
  std::vector<std::pair<std::string, TracedKwarg>> kwargs;
  /// The structure of the call and of what it returned, as torch.utils._pytree.treespec_dumps
  /// writes it. The graph's outputs are the leaves of `out_spec` that are not in `out_constants`.
  std::optional<std::string> in_spec, out_spec;
  /// Scalar keyword arguments that are constants of the graph.
  std::vector<std::pair<std::string, ScalarConstant>> in_constants;
  /// Leaves of `out_spec` that are not tensors: (leaf index, value).
  std::vector<std::pair<int64_t, ScalarConstant>> out_constants;

  bool operator==(const ExportMetadata&) const = default;
};

}  // namespace slipway
