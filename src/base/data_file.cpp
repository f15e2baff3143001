// The layout and streaming of a file of weights beside a graph.
#include "base/data_file.h"

#include <fmt/format.h>

#include <deque>
#include <numeric>

#include "base/output.h"
#include "base/weight_stream.h"

namespace slipway {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kSmallAlignment = 64;

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

}  // namespace

DataFile::Place DataFile::add(const Lazy& weight) {
  if (const auto at = places_.find(weight.get()); at != places_.end()) return at->second;
  const int64_t bytes = weight->nbytes();
  if (bytes > max_bytes_)
    throw Error(kUnsupported, fmt::format("[write] a weight {} has {} bytes, a data file of this "
                                          "layout takes at most {}",
                                          shape_string(weight->shape()), bytes, max_bytes_));
  const int64_t alignment = bytes >= kPage ? kPage : kSmallAlignment;
  if (sizes_.empty() || round_up(sizes_.back(), alignment) > max_bytes_ - bytes)
    sizes_.push_back(0);
  const Place place{round_up(sizes_.back(), alignment), bytes, sizes_.size() - 1};
  sizes_.back() = place.offset + bytes;
  entries_.push_back({weight, place});
  return places_[weight.get()] = place;
}

int64_t DataFile::size() const { return std::accumulate(sizes_.begin(), sizes_.end(), int64_t{0}); }

std::string DataFile::numbered(const std::string& name, size_t file) {
  return file == 0 ? name : fmt::format("{}_{}", name, file);
}

void DataFile::write(const std::filesystem::path& path) const {
  std::deque<OutputFile> files;
  for (size_t i = 0; i < sizes_.size(); ++i)
    files.emplace_back(numbered(path.string(), i)).reserve(sizes_[i]);
  std::vector<WeightPlace> places;
  for (const Entry& entry : entries_)
    places.push_back({entry.weight.get(), entry.place.offset, &files[entry.place.file]});
  stream_weights(places);
  for (OutputFile& file : files) file.close();
}

}  // namespace slipway
