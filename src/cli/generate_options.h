// The options of `slipway generate`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/runtime_options.h"
#include "slipway/generation.h"

namespace CLI {
class App;
}

namespace slipway::cli {

struct GenerateCommand {
  std::string directory;
  RuntimeChoice runtime;
  std::string inputs, batch_file, system, chat_file, save_chat;
  std::vector<std::string> prompts, chats;
  int64_t batch_size = 8;
  bool stream = false, no_stream = false;

  GenerationOptions settings;
  std::vector<int64_t> eos;
  std::vector<std::string> stops;
  bool do_sample = false, greedy = false;
  std::string early_stopping;

  /// The settings with what the flags say.
  GenerationOptions options() const;
};

/// Adds them, with help.
void add_generate_options(CLI::App& sub, GenerateCommand& command);

}  // namespace slipway::cli
