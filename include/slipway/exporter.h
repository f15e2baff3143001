// Exporters: from a model and example inputs to an exported model.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "slipway/configs.h"
#include "slipway/decompose.h"
#include "slipway/exported_model.h"
#include "slipway/torch_program.h"

namespace slipway {

/// Configurations by component name; an export for generation needs one for each component.
using ComponentConfigs = std::map<std::string, std::shared_ptr<const ExportConfig>>;

/// What every format's exporter does. The method is export_model: `export` is a C++ keyword. A
/// format's own class implements export_program.
class HfExporter {
 public:
  virtual ~HfExporter() = default;

  /// Exports one component, "model". The example inputs say which inputs the graph has (a causal LM
  /// gets a cache when they hold past_key_values) and, for sizes that are not dynamic, the sizes.
  /// Inputs that the model does not take are dropped with one notice. Reads no weights. Throws
  /// Error{kInvalid} for inputs or bounds that do not fit the model, Error{kUnsupported} for what
  /// the format lacks.
  ExportedModel export_model(const PreTrainedModel& model, const Inputs& inputs,
                             const ExportConfig& config) const;

  /// Exports a program that torch.export saved, as one component "model". Its sizes stay as they
  /// were traced: what is symbolic there is here. Throws Error{kUsage} for a configuration with
  /// dynamic_shapes, Error{kUnsupported} for what the format lacks.
  ExportedModel export_model(const TorchProgram& program, const ExportConfig& config) const;

  /// Exports the components of decompose_for_generation: "prefill" and "decode" for a causal
  /// language model. Batch, prompt length and past length are symbolic under a dynamic
  /// configuration whatever the example's sizes are; cache slots too. Weights are stored once for
  /// all components where the format has files that can share them (ONNX, and ExecuTorch with
  /// single_file). The settings given here travel as generation_config.json, over those of the
  /// checkpoint. The model is not run. Throws as export_model and decompose_for_generation do, with
  /// the component's name.
  ExportedModel export_for_generation(const PreTrainedModel& model, const Inputs& inputs,
                                      const ExportConfig& config,
                                      const DecomposeOptions& options = {}) const;
  /// The same with a configuration for each component. Error{kUsage} names those without, and
  /// configurations for components that there are not.
  ExportedModel export_for_generation(const PreTrainedModel& model, const Inputs& inputs,
                                      const ComponentConfigs& configs,
                                      const DecomposeOptions& options = {}) const;

  /// Exports components that were taken apart, and perhaps changed, before.
  ExportedModel export_components(const Components& components,
                                  const ComponentConfigs& configs) const;

 protected:
  /// One graph with what is recorded about it.
  virtual ExportedComponent export_program(const PreTrainedModel& model, const Inputs& inputs,
                                           const ExportConfig& config) const = 0;
  /// The same of a traced program.
  virtual ExportedComponent export_traced(const TorchProgram& program,
                                          const ExportConfig& config) const = 0;
};

class OnnxExporter final : public HfExporter {
 protected:
  ExportedComponent export_program(const PreTrainedModel& model, const Inputs& inputs,
                                   const ExportConfig& config) const override;
  ExportedComponent export_traced(const TorchProgram& program,
                                  const ExportConfig& config) const override;
};

/// Each component is a file that holds its own weights: torch's archives cannot share them.
class DynamoExporter final : public HfExporter {
 protected:
  ExportedComponent export_program(const PreTrainedModel& model, const Inputs& inputs,
                                   const ExportConfig& config) const override;
  ExportedComponent export_traced(const TorchProgram& program,
                                  const ExportConfig& config) const override;
};

/// Each component is a graph with a weights file of its own.
class OpenVINOExporter final : public HfExporter {
 protected:
  ExportedComponent export_program(const PreTrainedModel& model, const Inputs& inputs,
                                   const ExportConfig& config) const override;
  ExportedComponent export_traced(const TorchProgram& program,
                                  const ExportConfig& config) const override;
};

/// Each component is a program with one method, `forward`, and its own weights, or a method of one
/// program under ExecutorchConfig::single_file. XNNPACK computes what it can; what was left to
/// other kernels, and why, is logged as information.
class ExecutorchExporter final : public HfExporter {
 protected:
  ExportedComponent export_program(const PreTrainedModel& model, const Inputs& inputs,
                                   const ExportConfig& config) const override;
  ExportedComponent export_traced(const TorchProgram& program,
                                  const ExportConfig& config) const override;
};

struct AutoHfExporter {
  /// The exporter that a configuration belongs to.
  static std::unique_ptr<HfExporter> from_config(const ExportConfig& config);
};

/// What prepare_for_export took out and cleaned up.
struct PreparedInputs {
  Inputs inputs;  ///< what the graph takes, integers as int64, floats in the model's dtype
  std::vector<std::string> dropped;  ///< labels and inputs the model does not take
};

/// Makes a model's keyword arguments ready for export: drops labels and what the model does not
/// take, converts dtypes.
PreparedInputs prepare_for_export(const PreTrainedModel& model, const Inputs& inputs);

/// The tensors of a flat set of keyword arguments under the dotted names of the reference, in the
/// order of the model's forward: nested names stay as they are.
std::vector<std::pair<std::string, Tensor>> get_leaf_tensors(const Inputs& inputs);

struct ValidationOptions {
  /// The same model exported to PyTorch, fresh or loaded: what every component is compared with, as
  /// far as outputs have the same names. Null: nothing to compare with.
  const ExportedModel* eager = nullptr;
  /// Of a traced program, whose inputs may mean anything: one that refuses what is made up for them
  /// is reported as not validated, and results need not be finite where eager's are not.
  bool made_up_inputs_may_not_suit = false;
  /// Of a program that quantizes (TorchProgram::is_quantized): a number in the middle between two
  /// steps may go to either, and runtimes quantize in ways of their own. Within 1e-1.
  bool rounds_to_steps = false;
  double max_seconds = 60;  ///< after which no further size is tried
  /// Fixed sizes beyond this many elements of one id input are not run: attention over them may
  /// take minutes and all memory.
  int64_t max_elements = 4096;
};

/// Loads a saved export in its runtime and runs every component at two sizes: names, dtypes, shapes
/// and finiteness must be as the metadata says, numbers as libtorch computes them where `eager` is
/// given: within 1e-3 of the largest for float32, 2e-2 for float16 and weights that were rounded to
/// it, 5e-2 where a float16 model is computed in float32, 1e-1 for bfloat16. False, with
/// a warning, when the fixed sizes are too large to try. Throws Error{kInternal} naming what
/// differs.
bool validate_export(const ExportedModel& exported, const ValidationOptions& options = {});

}  // namespace slipway
