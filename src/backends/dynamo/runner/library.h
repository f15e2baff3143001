// The libtorch that this plug-in is linked with: its version, devices and threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/dynamo/runner/torch.h"

namespace slipway::dynamo_runner {

struct Library {
  std::string version;               ///< "2.10.0"
  std::string path;                  ///< of libtorch_cpu.so
  std::vector<std::string> devices;  ///< "cuda" first where there is one, "cpu" last
};

/// Opens libtorch's CUDA part on the first call, where it lies beside libtorch_cpu.so.
const Library& library();

/// "cpu", "cuda", "cuda:1". Throws Error{kUsage} for other texts and Error{kEnvironment} that lists
/// the devices there are.
c10::Device find_device(std::string_view name);

/// The calling thread's ops use this many threads from now on; 0: as many as libtorch likes.
void use_threads(int count);

}  // namespace slipway::dynamo_runner
