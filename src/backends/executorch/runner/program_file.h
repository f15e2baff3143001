// A .pte file that the runtime has opened.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "backends/executorch/runner/loader.h"

namespace slipway::executorch_runner {

/// Its constants are in memory, once for all methods that run. Methods may be loaded by several
/// threads at once.
class ProgramFile {
 public:
  /// The file, or what is open of it already: sessions of its methods share their constants. One
  /// that was written to since is opened anew. Throws Error for what the system or the runtime
  /// refuses.
  static std::shared_ptr<const ProgramFile> open(const std::filesystem::path& path,
                                                 const std::string& where);

  explicit ProgramFile(const std::filesystem::path& path) : loader_(path) {}
  const et::Program& program() const { return *program_; }

 private:
  void load(const std::string& where);

  Loader loader_;
  std::optional<et::Program> program_;
};

}  // namespace slipway::executorch_runner
