// Tables of SentencePiece's normalizer: a double array over the keys, and the values.
#include "backends/openvino/character_map.h"

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "backends/openvino/lowercase_table.h"
#include "slipway/error.h"

namespace slipway::openvino {
namespace {

struct Node {
  std::map<uint8_t, size_t> next;  ///< the child of a byte
  int64_t value = -1;
};

/// A double array as the library Darts-clone reads it. The unit of a node holds its byte, whether a
/// key ends there, and `base ^ place`; the children's units are at `base ^ byte`, the value at
/// `base`.
class DoubleArray {
 public:
  explicit DoubleArray(const std::vector<Node>& nodes) : nodes_(nodes) {
    take(0);
    place(0, 0);
  }

  std::string bytes() const {
    std::string out;
    for (const uint32_t unit : units_)
      for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(unit >> shift & 0xFF);
    return out;
  }

 private:
  static constexpr uint32_t kBlock = 256;
  static constexpr uint32_t kHasValue = 1u << 8, kIsValue = 1u << 31;
  static constexpr uint32_t kMostPlaces = 1u << 21;  // what an offset holds

  uint32_t& unit(uint32_t at) {
    SLIPWAY_ASSERT(at < kMostPlaces);
    if (at >= units_.size()) units_.resize((at / kBlock + 1) * kBlock);
    return units_[at];
  }

  bool is_taken(uint32_t at) const { return at < taken_.size() && taken_[at]; }

  void take(uint32_t at) {
    if (at >= taken_.size()) taken_.resize((at / kBlock + 1) * kBlock);
    taken_[at] = true;
    while (is_taken(free_from_)) ++free_from_;
  }

  bool fits(const Node& node, uint32_t base) const {
    if (base == 0 || bases_.contains(base) || (node.value >= 0 && is_taken(base))) return false;
    for (const auto& [byte, child] : node.next)
      if (is_taken(base ^ byte)) return false;
    return true;
  }

  uint32_t base_for(const Node& node) const {
    const uint32_t first = node.next.empty() ? 0 : node.next.begin()->first;
    uint32_t at = free_from_;
    while (is_taken(at) || !fits(node, at ^ first)) ++at;
    return at ^ first;
  }

  void place(size_t id, uint32_t at) {
    const Node& node = nodes_[id];
    const uint32_t base = base_for(node);
    bases_.insert(base);
    unit(at) |= (base ^ at) << 10 | (node.value >= 0 ? kHasValue : 0);
    unit(base);  // a byte that no child has is looked up too
    if (node.value >= 0) {
      unit(base) = kIsValue | static_cast<uint32_t>(node.value);
      take(base);
    }
    for (const auto& [byte, child] : node.next) {
      unit(base ^ byte) = byte;
      take(base ^ byte);
    }
    for (const auto& [byte, child] : node.next) place(child, base ^ byte);
  }

  const std::vector<Node>& nodes_;
  std::vector<uint32_t> units_;
  std::vector<bool> taken_;
  std::unordered_set<uint32_t>
      bases_;               ///< two nodes with one base would find each other's children
  uint32_t free_from_ = 0;  ///< the first place that is not taken
};

std::string utf8(uint32_t code) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

}  // namespace

std::string character_map(const std::map<std::string, std::string>& replacements) {
  std::vector<Node> nodes(1);
  std::string values;
  for (const auto& [key, value] : replacements) {
    SLIPWAY_ASSERT(!key.empty() && key.find('\0') == key.npos && value.find('\0') == value.npos);
    size_t at = 0;
    for (const char c : key) {
      const auto [child, fresh] = nodes[at].next.try_emplace(static_cast<uint8_t>(c), nodes.size());
      at = child->second;
      if (fresh) nodes.emplace_back();
    }
    nodes[at].value = static_cast<int64_t>(values.size());
    values += value + '\0';
  }
  const std::string array = DoubleArray(nodes).bytes();
  std::string out;
  for (int shift = 0; shift < 32; shift += 8)
    out += static_cast<char>(array.size() >> shift & 0xFF);
  return out + array + values;
}

const std::string& lowercase_map() {
  static const std::string kMap = [] {
    std::map<std::string, std::string> lower = {{utf8(kDottedI), kDottedILower}};
    for (const LowercaseRun& run : kLowercase)
      for (uint32_t code = run.first; code <= run.last; code += run.step)
        lower[utf8(code)] = utf8(static_cast<uint32_t>(static_cast<int64_t>(code) + run.delta));
    return character_map(lower);
  }();
  return kMap;
}

}  // namespace slipway::openvino
