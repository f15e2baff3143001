// The libtorch that this plug-in is linked with: its version, devices and threads.
#include "backends/dynamo/runner/library.h"

#include <ATen/Parallel.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <charconv>
#include <filesystem>

#include "slipway/error.h"
#include "torch/headeronly/version.h"

namespace slipway::dynamo_runner {
namespace {

namespace fs = std::filesystem;

int64_t cuda_devices() {
  constexpr auto kCuda = c10::DeviceType::CUDA;
  if (!c10::impl::hasDeviceGuardImpl(kCuda)) return 0;
  return c10::impl::getDeviceGuardImpl(kCuda)->deviceCount();
}

Library open() {
  Library made;
  made.version = TORCH_VERSION;
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&at::get_num_threads), &info) != 0 &&
      info.dli_fname != nullptr)
    made.path = info.dli_fname;
  std::error_code ignored;
  const fs::path cuda = fs::path(made.path).parent_path() / "libtorch_cuda.so";
  if (fs::exists(cuda, ignored)) dlopen(cuda.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (cuda_devices() > 0) made.devices.emplace_back("cuda");
  made.devices.emplace_back("cpu");
  return made;
}

/// OpenBLAS has threads of its own where it is built with them; MKL follows OpenMP.
void set_blas_threads(int count) {
  using SetThreads = void (*)(int);
  static const auto set = [] {
    void* blas = dlopen("libopenblas.so.0", RTLD_NOLOAD | RTLD_LAZY);
    return blas != nullptr ? reinterpret_cast<SetThreads>(dlsym(blas, "openblas_set_num_threads"))
                           : nullptr;
  }();
  static std::atomic<int> current{0};
  if (set != nullptr && current.exchange(count) != count) set(count);
}

}  // namespace

const Library& library() {
  static const auto* made = new Library(open());
  return *made;
}

c10::Device find_device(std::string_view name) {
  const size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  int index = 0;
  if (colon != name.npos) {
    const std::string_view digits = name.substr(colon + 1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() || index < 0 ||
        index > 127)
      throw Error(kUsage, fmt::format("[dynamo] got the device '{}', need a name such as cpu or "
                                      "cuda:0",
                                      name));
  }
  if (kind == "cpu" && index == 0) return c10::Device(c10::DeviceType::CPU);
  if (kind == "cuda" && index < cuda_devices())
    return c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index));
  throw Error(kEnvironment,
              fmt::format("[dynamo] there is no device '{}' for libtorch {} ({}), it has {} ({} "
                          "CUDA devices); use one of these or build with a libtorch that has it "
                          "(SLIPWAY_LIBTORCH)",
                          name, library().version, library().path,
                          fmt::join(library().devices, ", "), cuda_devices()));
}

void use_threads(int count) {
  // OpenMP's number is the calling thread's own.
  static thread_local int current = 0;
  if (count <= 0 || current == count) return;
  current = count;
  at::set_num_threads(count);
  set_blas_threads(count);
}

}  // namespace slipway::dynamo_runner
