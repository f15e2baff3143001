// Golden cases for host tests: paths, exports made once, comparisons.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "slipway/exporter.h"

namespace slipway::golden {

inline std::filesystem::path folder(const std::string& name) {
  return std::filesystem::path(SLIPWAY_SOURCE_DIR) / "tests" / "golden" / "models" / name;
}

/// A fresh directory that goes away with the process's test run.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "slipway-golden-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// What an export is written as: "onnx", "openvino", "executorch", "openvino_stateless" with its
/// caches as inputs and outputs, or "executorch_single" with all components in one file. Every size
/// is dynamic.
inline std::unique_ptr<ExportConfig> config_of(const std::string& format) {
  Json fields = {{"export_format", format.substr(0, format.find('_'))}, {"dynamic", true}};
  if (format.ends_with("_stateless")) fields["stateful"] = false;
  if (format.ends_with("_single")) fields["single_file"] = true;
  return AutoExportConfig::from_dict(fields.dump());
}

inline ExportedModel export_case(const std::string& name, const std::string& task,
                                 const Inputs& inputs = {}, const std::string& format = "onnx") {
  const auto model = PreTrainedModel::from_pretrained(folder(name), task);
  const auto config = config_of(format);
  return AutoHfExporter::from_config(*config)->export_model(
      model, inputs.empty() ? model.example_inputs() : inputs, *config);
}

/// "bert_base_openvino" of a case's name and a format: letters, digits and underscores.
inline std::string case_label(std::string name, const std::string& format) {
  if (format != "onnx") name += "_" + format;
  std::ranges::replace(name, '-', '_');
  return name;
}

inline std::map<std::string, Tensor> by_name(const Outputs& outputs) {
  return {outputs.begin(), outputs.end()};
}

/// The largest difference over positions where keep(position of the flat index) holds.
template <class Keep>
double max_difference(const Tensor& got, const Tensor& want, Keep keep) {
  const auto a = got.values<float>(), b = want.values<float>();
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i)
    if (keep(static_cast<int64_t>(i))) {
      const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
      worst = std::isnan(d) ? INFINITY : std::max(worst, d);
    }
  return worst;
}

}  // namespace slipway::golden
