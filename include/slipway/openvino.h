// An exported program as OpenVINO's own object, for those who link OpenVINO themselves.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <openvino/runtime/core.hpp>
#include <string>
#include <system_error>

#include "slipway/error.h"
#include "slipway/exported_model.h"

namespace slipway {

/// The component of an export of format "openvino" as an ov::Model, to be compiled, changed, or
/// saved by OpenVINO. Of a fresh export it is written to a private file that is mapped and has no
/// name any more when this returns, so weights take no memory of their own; of a loaded export the
/// weights are read, since somebody else may write to its files. The model is independent of the
/// export. Sizes are dynamic as they were exported; caches are variables unless the export's
/// configuration was stateful = false.
/// Throws Error{kUsage} for another format, and listing the components where there is no such one;
/// Error{kEnvironment} where nothing can be written; what ov::Core::read_model throws.
inline std::shared_ptr<ov::Model> openvino_model(const ExportedModel& exported,
                                                 const std::string& component = "model") {
  if (exported.export_format() != "openvino")
    throw Error(kUsage, "[openvino] the export is of format '" + exported.export_format() +
                            "'; export it with OpenVINOExporter");
  const Program& program = exported.component(component).program;
  ov::Core core;
  if (!exported.directory().empty()) {
    core.set_property(ov::enable_mmap(false));
    return core.read_model(exported.file_of(component).string());
  }
  std::string folder = (std::filesystem::temp_directory_path() / "slipway-ov-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)
    throw Error(kEnvironment,
                "[openvino] cannot make a temporary directory; set TMPDIR to a writable folder");
  struct Removed {
    std::string path;
    ~Removed() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  } const removed{folder};
  core.set_property(ov::enable_mmap(true));
  return core.read_model(program.save(folder, component).string());
}

}  // namespace slipway
