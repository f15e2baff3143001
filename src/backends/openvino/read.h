// What can be learned from an IR file without loading it in OpenVINO.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/file_summary.h"
#include "base/lazy.h"

namespace slipway::openvino {

/// Reads an .xml file of IR version 10 or 11, and checks that the weights beside it are as long as
/// it says. Throws Error{kInvalid} for what is no IR, for a graph whose parts do not fit together,
/// and naming the .bin file when that is missing or cut; Error{kUnsupported} for other versions.
FileSummary read_summary(const std::filesystem::path& path);
/// The same over the bytes of the .xml file; `where` is for messages. `weight_bytes` becomes the
/// least size of the .bin file.
FileSummary read_summary(ByteSpan bytes, const std::string& where, int64_t& weight_bytes);

}  // namespace slipway::openvino
