// The weight files that an ONNX file refers to, found and checked before the runtime opens it.
#include "backends/onnx/runner/external_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "slipway/error.h"

namespace slipway::onnx_runner {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 64;  // nested If and Loop bodies

/// Reads the fields of one protobuf message. ok() turns false at the first malformed byte.
class Fields {
 public:
  explicit Fields(ByteSpan bytes) : rest_(bytes) {}

  bool next() {
    if (rest_.empty() || !ok_) return false;
    const uint64_t key = varint();
    field_ = key >> 3;
    payload_ = {};
    switch (key & 7) {
      case 0:
        value_ = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        payload_ = take(varint());
        break;
      case 5:
        take(4);
        break;
      default:
        ok_ = false;
    }
    return ok_;
  }

  uint64_t field() const { return field_; }
  uint64_t value() const { return value_; }
  ByteSpan payload() const { return payload_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(payload_.data()), payload_.size()};
  }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_ = rest_.subspan(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }

  ByteSpan take(uint64_t count) {
    if (!ok_ || count > rest_.size()) {
      ok_ = false;
      return {};
    }
    const ByteSpan taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  ByteSpan rest_, payload_;
  uint64_t field_ = 0, value_ = 0;
  bool ok_ = true;
};

using Files = std::map<std::string, uint64_t>;

uint64_t number(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void visit_tensor(ByteSpan tensor, Files& files) {
  std::string location;
  uint64_t offset = 0, length = 0, stored = 0;
  for (Fields f(tensor); f.next();) {
    if (f.field() == 14) stored = f.value();
    if (f.field() != 13) continue;
    std::string_view key, value;
    for (Fields entry(f.payload()); entry.next();) {
      if (entry.field() == 1) key = entry.text();
      if (entry.field() == 2) value = entry.text();
    }
    if (key == "location") location = value;
    if (key == "offset") offset = number(value);
    if (key == "length") length = number(value);
  }
  if (stored != 1 || location.empty()) return;
  uint64_t end = 0;
  if (__builtin_add_overflow(offset, length, &end)) end = UINT64_MAX;
  uint64_t& needed = files[location];
  needed = std::max(needed, end);
}

void visit_graph(ByteSpan graph, Files& files, int depth);

void visit_node(ByteSpan node, Files& files, int depth) {
  for (Fields f(node); f.next();) {
    if (f.field() != 5) continue;
    for (Fields attribute(f.payload()); attribute.next();) {
      const uint64_t kind = attribute.field();
      if (kind == 5 || kind == 10) visit_tensor(attribute.payload(), files);
      if (kind == 6 || kind == 11) visit_graph(attribute.payload(), files, depth + 1);
    }
  }
}

void visit_graph(ByteSpan graph, Files& files, int depth) {
  if (depth > kMaxDepth) return;
  for (Fields f(graph); f.next();) {
    if (f.field() == 1) visit_node(f.payload(), files, depth);
    if (f.field() == 5) visit_tensor(f.payload(), files);
  }
}

bool is_inside(const fs::path& file, const fs::path& folder) {
  const auto [at, ignored] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return at == folder.end();
}

/// Asks for a plain relative path: what a hostile model names must not leave its folder.
void check_location(const fs::path& model, const std::string& location) {
  const fs::path relative(location);
  const bool climbs = std::any_of(relative.begin(), relative.end(),
                                  [](const fs::path& part) { return part == ".."; });
  if (relative.is_absolute() || climbs || location.find('\0') != std::string::npos)
    throw Error(kInvalid, fmt::format("[onnx] {} keeps weights in '{}', need a file in the "
                                      "model's own folder; do not load files you do not trust",
                                      model.string(), location));
}

}  // namespace

Files external_files(ByteSpan model) {
  Files files;
  for (Fields f(model); f.next();) {
    if (f.field() == 7) visit_graph(f.payload(), files, 0);
    if (f.field() != 25) continue;
    for (Fields function(f.payload()); function.next();)
      if (function.field() == 7) visit_node(function.payload(), files, 0);
  }
  return files;
}

std::vector<LinkedFile> check_external_files(const fs::path& model) {
  const auto mapped = MappedFile::open(model);
  std::vector<LinkedFile> linked;
  const fs::path folder = model.parent_path();
  for (const auto& [location, needed] : external_files(mapped->bytes())) {
    check_location(model, location);
    const fs::path file = folder / location;
    const fs::path beside_target = fs::canonical(model).parent_path() / location;
    std::error_code error;
    // A link to a model may have its weights beside the link or beside its target.
    const bool here = fs::exists(file, error);
    if (!here && !fs::exists(beside_target, error))
      throw Error(kInvalid,
                  fmt::format("[onnx] {} keeps weights in its companion file {}, which is not in "
                              "{}; copy both files together",
                              model.filename().string(), location, folder.string()));
    const auto companion = MappedFile::open(here ? file : beside_target);
    if (companion->bytes().size() < needed)
      throw Error(kInvalid, fmt::format("[onnx] {} has {} bytes, {} needs {}; it was cut short or "
                                        "belongs to another export",
                                        file.string(), companion->bytes().size(),
                                        model.filename().string(), needed));
    const fs::path target = fs::canonical(companion->path());
    const bool opened_by_runtime = is_inside(target, fs::canonical(folder)) ||
                                   is_inside(target, fs::canonical(model).parent_path());
    if (!here || !opened_by_runtime) linked.push_back({location, companion});
  }
  return linked;
}

}  // namespace slipway::onnx_runner
