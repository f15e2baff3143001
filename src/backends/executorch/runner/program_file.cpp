// Opens .pte files in the runtime, each once.
#include "backends/executorch/runner/program_file.h"

#include <map>
#include <mutex>

#include "backends/executorch/runner/library.h"

namespace slipway::executorch_runner {

std::shared_ptr<const ProgramFile> ProgramFile::open(const std::filesystem::path& path,
                                                     const std::string& where) {
  static std::mutex mutex;
  static std::map<FileIdentity, std::weak_ptr<const ProgramFile>> files;
  auto file = std::make_shared<ProgramFile>(path);
  // Held while constants are read: who opens the file meanwhile would read them, too.
  const std::lock_guard lock(mutex);
  std::erase_if(files, [](const auto& entry) { return entry.second.expired(); });
  auto& known = files[file->loader_.identity()];
  if (auto open = known.lock()) return open;
  file->load(where);
  known = file;
  return file;
}

void ProgramFile::load(const std::string& where) {
  library();
  clear_errors();
  auto program = et::Program::load(&loader_, et::Program::Verification::InternalConsistency);
  check(program.error(), where, Stage::kLoading);
  program_.emplace(std::move(program.get()));
  loader_.map_large();
}

}  // namespace slipway::executorch_runner
