// The OpenVINO that this plug-in is linked with: its version and devices.
#include "backends/openvino/runner/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <system_error>

#include "runtime/abi.h"
#include "slipway/error.h"

namespace slipway::openvino_runner {
namespace {

std::atomic<void (*)(int32_t, const char*)> logger{nullptr};

Library open() {
  Library made;
  const ov::Version version = ov::get_openvino_version();
  const std::string_view build = version.buildNumber != nullptr ? version.buildNumber : "";
  made.version = build.substr(0, build.find('-'));  // "2026.4.1-22982-..."
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&ov::get_openvino_version), &info) != 0 &&
      info.dli_fname != nullptr)
    made.path = info.dli_fname;
  // Never destroyed, so that no device's library is unloaded with the last session.
  auto* core = new ov::Core;
  made.devices = core->get_available_devices();
  if (made.devices.empty())
    throw Error(kEnvironment,
                fmt::format("[openvino] OpenVINO {} ({}) finds no device; its plug-in "
                            "libraries belong beside it",
                            made.version, made.path));
  return made;
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

/// "GPU" of "GPU.0": a device by its kind alone is the first of them.
bool is_there(const std::string& device) {
  return std::ranges::any_of(library().devices, [&](const std::string& has) {
    return has == device || has.substr(0, has.find('.')) == device || device == has + ".0";
  });
}

[[noreturn]] void not_there(std::string_view name) {
  throw Error(
      kEnvironment,
      fmt::format("[openvino] there is no device '{}' for OpenVINO {} ({}), it has {}; use "
                  "one of these, or auto",
                  name, library().version, library().path, fmt::join(library().devices, ", ")));
}

}  // namespace

const Library& library() {
  static const auto* made = new Library(open());
  return *made;
}

void set_logger(void (*log)(int32_t level, const char* text)) { logger.store(log); }

void log_info(const std::string& text) {
  if (const auto log = logger.load()) log(abi::kLogInfo, text.c_str());
}

std::string reason(std::string_view what) {
  std::string text;
  while (!what.empty()) {
    const size_t end = std::min(what.find('\n'), what.size());
    std::string_view line = what.substr(0, end);
    what.remove_prefix(std::min(end + 1, what.size()));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front())))
      line.remove_prefix(1);
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())))
      line.remove_suffix(1);
    // Where in OpenVINO's sources it was thrown is of no use to anybody here.
    const bool place = line.rfind("Exception from src/", 0) == 0 || line.rfind("Check '", 0) == 0;
    if (!line.empty() && !place) text += (text.empty() ? "" : "; ") + std::string(line);
  }
  return text.empty() ? "OpenVINO gives no reason" : text;
}

std::string find_device(std::string_view name) {
  std::string device = upper(name);
  // With one device there is nothing to choose, and one layer less between it and the caller.
  if (device == "AUTO") return library().devices.size() == 1 ? library().devices[0] : device;
  if (device.rfind("XPU", 0) == 0) device.replace(0, 3, "GPU");
  std::ranges::replace(device, ':', '.');
  const size_t dot = device.find('.');
  const std::string kind = device.substr(0, dot);
  if (kind == "AUTO" || kind == "HETERO") {
    if (dot == std::string::npos) return device;
    // Devices in a list are checked by OpenVINO; each by itself is checked here.
    std::string list = device.substr(dot + 1);
    for (size_t begin = 0; begin <= list.size();) {
      const size_t end = std::min(list.find(',', begin), list.size());
      if (!is_there(list.substr(begin, end - begin))) not_there(name);
      begin = end + 1;
    }
    return kind + ":" + list;
  }
  if (!is_there(device)) not_there(name);
  // What there is one of has no number: CPU.0 is CPU.
  for (const std::string& has : library().devices)
    if (device == has + ".0") return has;
  return device;
}

void rethrow(const std::exception& error, std::string_view where, Stage stage) {
  const std::string_view what = error.what();
  const auto mentions = [&](std::string_view part) { return what.find(part) != what.npos; };
  ErrorKind kind = kInvalid;
  const bool memory = mentions("bad_alloc") || mentions("can't alloc") || mentions("out of memory");
  if (memory || dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      dynamic_cast<const std::system_error*>(&error) != nullptr)
    kind = kEnvironment;
  else if (mentions("not implemented") || mentions("Unsupported property") ||
           mentions("NotImplemented") || mentions("does not support"))
    kind = kUnsupported;
  throw Error(kind, fmt::format("[openvino] {} cannot be {}: {}", where,
                                stage == Stage::kLoading ? "loaded" : "run", reason(what)));
}

}  // namespace slipway::openvino_runner
