// Key-value metadata of a GGUF file: typed views into the file, checked when they are read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lazy.h"

namespace slipway {

/// The 13 value types, numbered as in the file.
enum class GgufType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

/// "u32", "string", "array".
std::string_view gguf_type_name(GgufType type);
/// Bytes of a value of fixed size; 0 for strings, arrays and unknown types.
size_t gguf_type_size(GgufType type);

/// One value. `bytes` are a scalar's bytes, a string's text or an array's elements as stored (each
/// string of an array follows its 8-byte length); all lengths were checked against the file.
struct GgufValue {
  GgufType type = GgufType::kU8;
  GgufType element = GgufType::kU8;  ///< of an array
  uint64_t count = 1;                ///< elements of an array
  ByteSpan bytes;
};

/// The metadata of one file. Getters throw Error{kInvalid} that names the file, the key, what was
/// got and what is needed. Views stay valid while the file's bytes do.
class GgufMetadata {
 public:
  explicit GgufMetadata(std::string where) : where_(std::move(where)) {}

  /// False when the key is there already.
  bool add(std::string_view key, const GgufValue& value) {
    return values_.emplace(key, value).second;
  }

  const std::string& where() const { return where_; }
  size_t size() const { return values_.size(); }
  const std::map<std::string, GgufValue, std::less<>>& values() const { return values_; }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  const GgufValue* find(std::string_view key) const;

  /// An integer of any width in [min, max].
  int64_t get_int(std::string_view key, int64_t min, int64_t max) const;
  std::optional<int64_t> find_int(std::string_view key, int64_t min, int64_t max) const;
  /// A finite f32 or f64.
  double get_double(std::string_view key) const;
  std::optional<double> find_double(std::string_view key) const;
  std::optional<bool> find_bool(std::string_view key) const;
  /// Valid UTF-8.
  std::string_view get_string(std::string_view key) const;
  std::optional<std::string_view> find_string(std::string_view key) const;
  /// Views of an array's texts, each valid UTF-8; nullopt when the key is absent.
  std::optional<std::vector<std::string_view>> find_strings(std::string_view key) const;
  /// An array of integers (of any width) or of finite floats.
  std::optional<std::vector<int64_t>> find_ints(std::string_view key) const;
  std::optional<std::vector<double>> find_doubles(std::string_view key) const;

 private:
  const GgufValue& require(std::string_view key) const;
  [[noreturn]] void refuse(std::string_view key, const std::string& got,
                           const std::string& need) const;

  std::string where_;
  std::map<std::string, GgufValue, std::less<>> values_;
};

/// Whether a text is well-formed UTF-8 (no surrogates, no overlong forms).
bool is_utf8(std::string_view text);

}  // namespace slipway
