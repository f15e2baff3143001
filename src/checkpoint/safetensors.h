// The safetensors format: header checks, a store over mapped files, and a small writer.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/lazy.h"
#include "base/mapped_file.h"
#include "checkpoint/weight_store.h"

namespace slipway {

/// One tensor of a safetensors header. `begin` counts from the start of the file.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  int64_t begin = 0;
  int64_t nbytes = 0;
};

/// Reads and checks a header over the bytes of a whole file: known dtypes, sizes that match shapes,
/// ranges that follow each other without holes or overlaps and end where the file ends, no name
/// twice. Sorted by name. Throws Error{kInvalid} naming `where` and the sizes in question.
std::vector<SafetensorsEntry> parse_safetensors(ByteSpan file, const std::string& where);

/// One mapped file as a store.
std::unique_ptr<WeightStore> open_safetensors_file(const std::filesystem::path& path);

/// The weights of a checkpoint directory: model.safetensors or, without it, the shards that
/// model.safetensors.index.json names (as transformers chooses). All shards are checked here.
/// Throws Error{kInvalid} naming the shard, how many tensors it should hold and one of them when
/// one is missing, cut or holds other tensors; Error{kUnsupported} when there are only pickled
/// weights.
std::unique_ptr<WeightStore> open_safetensors(const std::filesystem::path& directory);

/// Every tensor of a file, in memory.
std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path);

/// Writes a file that every safetensors reader accepts; it appears whole or not at all.
void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, Tensor>& tensors);

}  // namespace slipway
