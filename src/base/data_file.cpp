// The layout and streaming of a file of weights beside a graph.
#include "base/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "base/output.h"
#include "base/parallel.h"
#include "base/progress.h"

namespace slipway {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kSmallAlignment = 64;
constexpr int64_t kPiece = int64_t{8} << 20;

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

/// Elements a thread computes at a time: about kPiece bytes, whole granules, at least one.
int64_t piece_elements(const LazyTensor& weight) {
  const int64_t granule = std::max<int64_t>(1, weight.granularity());
  const int64_t wanted = kPiece / itemsize(weight.dtype());
  return std::max(granule, wanted / granule * granule);
}

struct Piece {
  const LazyTensor* weight;
  int64_t begin, count, offset;
  OutputFile* file;
};

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
  std::vector<Piece> pieces;
  for (const Entry& entry : entries_) {
    const LazyTensor& weight = *entry.weight;
    const int64_t step = piece_elements(weight);
    for (int64_t at = 0; at < weight.numel(); at += step)
      pieces.push_back({&weight, at, std::min(step, weight.numel() - at),
                        entry.place.offset + at * itemsize(weight.dtype()),
                        &files[entry.place.file]});
  }
  Progress progress("weights", size());
  parallel_for(static_cast<int64_t>(pieces.size()), [&](int64_t i) {
    const Piece& piece = pieces[static_cast<size_t>(i)];
    const auto size = static_cast<size_t>(itemsize(piece.weight->dtype()));
    const size_t bytes = static_cast<size_t>(piece.count) * size;
    if (const auto whole = piece.weight->view()) {
      piece.file->write_at(piece.offset,
                           whole->subspan(static_cast<size_t>(piece.begin) * size, bytes));
    } else {
      thread_local std::vector<std::byte> buffer;
      buffer.resize(std::max(buffer.size(), bytes));
      piece.weight->read(piece.begin, piece.count, buffer.data());
      piece.file->write_at(piece.offset, ByteSpan(buffer.data(), bytes));
    }
    progress.add(static_cast<int64_t>(bytes));
  });
  for (OutputFile& file : files) file.close();
}

}  // namespace slipway
