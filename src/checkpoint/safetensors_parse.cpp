// The header of a safetensors file: every field checked against the bytes that are there.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/json.h"
#include "checkpoint/safetensors.h"

namespace slipway {
namespace {

constexpr int64_t kMaxHeader = 100'000'000;  // the limit of the format's own library
constexpr std::string_view kPointer = "version https://git-lfs";

/// Element types that the format has and Slipway has no use for yet.
constexpr std::array<std::string_view, 7> kUnsupportedDTypes = {
    "F4", "F6_E2M3", "F6_E3M2", "F8_E8M0", "C64", "F8_E4M3FNUZ", "F8_E5M2FNUZ"};

[[noreturn]] void refuse(const std::string& where, const std::string& problem) {
  throw Error(kInvalid, fmt::format("[safetensors] {}: {}", where, problem));
}

int64_t read_u64(ByteSpan bytes, const std::string& where) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value |= uint64_t{std::to_integer<uint8_t>(bytes[i])} << (8 * i);
  if (value > static_cast<uint64_t>(kMaxHeader))
    refuse(where, fmt::format("got a header length of {} bytes in a file of {}, need at most {}; "
                              "this is no safetensors file or it is damaged",
                              value, bytes.size(), kMaxHeader));
  return static_cast<int64_t>(value);
}

class Header {
 public:
  Header(ByteSpan file, const std::string& where) : file_(file), where_(where) {}

  std::vector<SafetensorsEntry> parse() {
    check_start();
    const int64_t length = read_u64(file_, where_);
    const auto size = static_cast<int64_t>(file_.size());
    if (length > size - 8)
      refuse(where_, fmt::format("got a file of {} bytes, its header alone needs {}; it was cut "
                                 "short, fetch it again",
                                 size, length + 8));
    data_begin_ = 8 + length;
    JsonLimits limits;
    limits.max_bytes = static_cast<size_t>(kMaxHeader);
    limits.max_depth = 8;
    limits.max_values = size_t{1} << 22;
    const auto text = file_.subspan(8, static_cast<size_t>(length));
    const Json json = parse_json({reinterpret_cast<const char*>(text.data()), text.size()},
                                 "safetensors header of " + where_, limits);
    if (!json.is_object()) refuse(where_, "the header is " + describe(json) + ", need an object");
    for (const auto& [name, value] : json.items()) {
      if (name == "__metadata__") check_metadata(value);
      else entries_.push_back(entry(name, value));
    }
    check_ranges();
    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    std::sort(entries_.begin(), entries_.end(), by_name);
    return std::move(entries_);
  }

 private:
  void check_start() const {
    if (file_.empty()) refuse(where_, "the file is empty (0 bytes); fetch it again");
    const std::string_view start(reinterpret_cast<const char*>(file_.data()),
                                 std::min<size_t>(file_.size(), 1024));
    if (start.substr(0, kPointer.size()) == kPointer) {
      const size_t at = start.find("\nsize ");
      const size_t digits = at == std::string_view::npos ? at : at + 6;
      const std::string_view wanted = at == std::string_view::npos
                                          ? "an unknown number of"
                                          : start.substr(digits, start.find('\n', digits) - digits);
      refuse(where_, fmt::format("got a Git LFS pointer of {} bytes in place of the file of {} "
                                 "bytes; fetch it with `git lfs pull`",
                                 file_.size(), quote(wanted)));
    }
    if (file_.size() < 8)
      refuse(where_, fmt::format("got a file of {} bytes, need at least 8", file_.size()));
  }

  void check_metadata(const Json& value) const {
    if (!value.is_object())
      refuse(where_, "__metadata__ is " + describe(value) + ", need an object");
    for (const auto& [key, item] : value.items())
      if (!item.is_string())
        refuse(where_,
               fmt::format("__metadata__ {} is {}, need a text", quote(key), describe(item)));
  }

  const Json& field(const std::string& name, const Json& value, const char* key) const {
    const auto found = value.find(key);
    if (found == value.end()) refuse(where_, fmt::format("tensor {} has no {}", quote(name), key));
    return *found;
  }

  std::vector<int64_t> integers(const std::string& name, const Json& value, const char* key) const {
    const Json& list = field(name, value, key);
    if (!list.is_array())
      refuse(where_, fmt::format("{} of tensor {} is {}, need a list of integers", key, quote(name),
                                 describe(list)));
    std::vector<int64_t> numbers;
    for (const Json& item : list) {
      // The parser types every integer that is not negative as unsigned.
      if (!item.is_number_unsigned() || item.get<uint64_t>() > uint64_t{INT64_MAX})
        refuse(where_, fmt::format("{} of tensor {} holds {}, need integers from 0 to 2^63 - 1",
                                   key, quote(name), describe(item)));
      numbers.push_back(item.get<int64_t>());
    }
    return numbers;
  }

  SafetensorsEntry entry(const std::string& name, const Json& value) const {
    if (!value.is_object())
      refuse(where_, fmt::format("tensor {} is {}, need an object", quote(name), describe(value)));
    const Json& dtype = field(name, value, "dtype");
    const std::string dtype_name = dtype.is_string() ? dtype.get<std::string>() : "";
    const auto known = dtype_from_safetensors_name(dtype_name);
    if (!known) {
      const bool unsupported = std::find(kUnsupportedDTypes.begin(), kUnsupportedDTypes.end(),
                                         dtype_name) != kUnsupportedDTypes.end();
      throw Error(unsupported ? kUnsupported : kInvalid,
                  fmt::format("[safetensors] {}: dtype of tensor {} is {}, need one of F64 F32 F16 "
                              "BF16 F8_E4M3 F8_E5M2 I64 I32 I16 I8 U64 U32 U16 U8 BOOL",
                              where_, quote(name), describe(dtype)));
    }
    SafetensorsEntry e;
    e.name = name;
    e.dtype = *known;
    e.shape = integers(name, value, "shape");
    const std::vector<int64_t> range = integers(name, value, "data_offsets");
    if (range.size() != 2 || range[0] > range[1])
      refuse(where_, fmt::format("data_offsets of tensor {} are {}, need a begin and an end",
                                 quote(name), shape_string(range)));
    int64_t needed = 1;
    bool fits = true;
    for (const int64_t d : e.shape) fits = fits && !__builtin_mul_overflow(needed, d, &needed);
    fits = fits && !__builtin_mul_overflow(needed, itemsize(e.dtype), &needed);
    if (!fits || needed != range[1] - range[0])
      refuse(where_, fmt::format("tensor {} of {} {} has {} bytes, need {}", quote(name),
                                 dtype_name, shape_string(e.shape), range[1] - range[0],
                                 fits ? std::to_string(needed) : "more than 2^63"));
    e.begin = range[0];
    e.nbytes = needed;
    return e;
  }

  /// The ranges must tile the data exactly; `begin` is counted from the start of the file after it.
  void check_ranges() {
    const auto by_offset = [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
      return std::pair(a.begin, a.nbytes) < std::pair(b.begin, b.nbytes);
    };
    std::sort(entries_.begin(), entries_.end(), by_offset);
    int64_t end = 0;
    for (const SafetensorsEntry& e : entries_) end = std::max(end, e.begin + e.nbytes);
    const auto size = static_cast<int64_t>(file_.size()), data = size - data_begin_;
    if (end != data)
      refuse(where_, fmt::format("got a file of {} bytes, its header describes {}; {}, fetch it "
                                 "again",
                                 size,
                                 end > INT64_MAX - data_begin_ ? "more than 2^63"
                                                               : std::to_string(data_begin_ + end),
                                 end > data ? "it was cut short" : "something was added to it"));
    int64_t at = 0;
    for (SafetensorsEntry& e : entries_) {
      if (e.begin != at)
        refuse(where_,
               fmt::format("tensor {} begins at byte {} of the data, need {}: ranges {}",
                           quote(e.name), e.begin, at, e.begin < at ? "overlap" : "leave a hole"));
      at += e.nbytes;
      e.begin += data_begin_;
    }
  }

  ByteSpan file_;
  const std::string& where_;
  int64_t data_begin_ = 0;
  std::vector<SafetensorsEntry> entries_;
};

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors(ByteSpan file, const std::string& where) {
  return Header(file, where).parse();
}

}  // namespace slipway
