// Tensor names: glob patterns, edit distance, lists for messages.
#include "checkpoint/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace slipway {
namespace {

/// Levenshtein distance, or `limit` as soon as it cannot be less.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  const size_t gap = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (gap >= limit) return limit;
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0], best = row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1] ? 1 : 0)});
      diagonal = above;
      best = std::min(best, row[j]);
    }
    if (best >= limit) return limit;
  }
  return std::min(row[b.size()], limit);
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
  // Greedy with one point to come back to: the last star and where it started.
  size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string_view best;
  size_t limit = std::min<size_t>(name.size(), 512) / 3 + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > 512 || name.size() > 512) continue;  // hostile lengths: not worth it
    const size_t distance = edit_distance(name, candidate, limit);
    if (distance < limit) {
      limit = distance;
      best = candidate;
    }
  }
  return std::string(best);
}

std::string list_names(const std::vector<std::string>& names, size_t limit) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), limit); ++i) {
    if (i > 0) text += ", ";
    text += names[i].size() > 120 ? names[i].substr(0, 120) + "..." : names[i];
  }
  if (names.size() > limit) text += fmt::format(" and {} more", names.size() - limit);
  return text;
}

}  // namespace slipway
