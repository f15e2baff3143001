// Inputs and outputs as text and JSON, the same in every command.
#include "cli/leaves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace slipway::cli {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 18 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

/// The name with its first dotted number replaced by "*", and that number; -1 without one.
std::pair<std::string, int64_t> without_layer(const std::string& name) {
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    const size_t end = name.find('.', dot + 1);
    const std::string word = name.substr(dot + 1, end == name.npos ? end : end - dot - 1);
    if (is_number(word))
      return {name.substr(0, dot + 1) + "*" + (end == name.npos ? "" : name.substr(end)),
              std::stoll(word)};
  }
  return {name, -1};
}

struct Line {
  std::string pattern, type;
  int64_t first, last;
};

}  // namespace

Json leaves_json(const std::vector<LeafSpec>& leaves) {
  Json list = Json::array();
  for (const LeafSpec& leaf : leaves) {
    Json dims = Json::array();
    for (const std::string& dim : leaf.dims)
      dims.push_back(is_number(dim) ? Json(std::stoll(dim)) : Json(dim));
    list.push_back({{"name", leaf.name},
                    {"dtype", std::string(torch_name(leaf.dtype))},
                    {"dims", std::move(dims)}});
    if (leaf.optional) list.back()["optional"] = true;
  }
  return list;
}

std::string leaves_text(const std::vector<LeafSpec>& leaves) {
  std::vector<Line> lines;
  for (const LeafSpec& leaf : leaves) {
    const std::pair<std::string, int64_t> split = without_layer(leaf.name);
    const std::string& pattern = split.first;
    const int64_t layer = split.second;
    const std::string type =
        fmt::format("{}[{}]{}", torch_name(leaf.dtype), fmt::join(leaf.dims, ", "),
                    leaf.optional ? ", may be left out" : "");
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const Line& line) {
      return layer >= 0 && line.pattern == pattern && line.type == type && line.last + 1 == layer;
    });
    if (same != lines.end()) same->last = layer;
    else lines.push_back({pattern, type, layer, layer});
  }
  std::string text;
  for (const Line& line : lines) {
    std::string name = line.pattern;
    if (const size_t star = name.find('*'); line.first >= 0 && star != std::string::npos) {
      const std::string range = line.first == line.last
                                    ? fmt::format("{}", line.first)
                                    : fmt::format("{{{}..{}}}", line.first, line.last);
      name.replace(star, 1, range);
    }
    text += fmt::format("    {}: {}\n", name, line.type);
  }
  return text;
}

}  // namespace slipway::cli
