// A directory's weights: one safetensors file, or the shards that an index names, all checked.
#include "checkpoint/sharded.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "checkpoint/names.h"
#include "checkpoint/safetensors.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

bool is_plain_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

std::string holding(const std::vector<std::string>& names) {
  return fmt::format("{} tensors such as {}", names.size(), list_names({names.front()}));
}

class ShardedStore final : public WeightStore {
 public:
  explicit ShardedStore(const fs::path& directory) {
    const auto file = MappedFile::open(directory / kIndex);
    const ByteSpan bytes = file->bytes();
    const auto index = parse_shard_index(
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, display(directory / kIndex));
    std::map<std::string, std::vector<std::string>> shards;
    for (const auto& [tensor, shard] : index) shards[shard].push_back(tensor);
    description_ = fmt::format("{} ({} shards)", kIndex, shards.size());
    check_present(directory, shards);
    for (const auto& [shard, names] : shards) add(directory / shard, shard, names, index);
    for (const auto& [name, tensor] : tensors_) names_.push_back(name);
  }

  const std::vector<std::string>& names() const override { return names_; }
  std::string description() const override { return description_; }
  Lazy find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : found->second;
  }

 private:
  /// All absent shards in one message, before any is mapped.
  static void check_present(const fs::path& directory,
                            const std::map<std::string, std::vector<std::string>>& shards) {
    std::vector<std::string> absent;
    std::error_code ignored;
    for (const auto& [shard, names] : shards)
      if (!fs::exists(directory / shard, ignored))
        absent.push_back(fmt::format("{} (should hold {})", shard, holding(names)));
    if (!absent.empty())
      throw Error(kInvalid, fmt::format("[checkpoint] {}: {} of {} shards missing: {}; fetch the "
                                        "whole checkpoint again",
                                        display(directory), absent.size(), shards.size(),
                                        list_names(absent)));
  }

  void add(const fs::path& path, const std::string& shard, const std::vector<std::string>& assigned,
           const std::map<std::string, std::string>& index) {
    std::unique_ptr<WeightStore> store;
    try {
      store = open_safetensors_file(path);
    } catch (const Error& e) {
      throw e.with_context(
          fmt::format("[checkpoint] shard {} (should hold {})", shard, holding(assigned)));
    }
    std::vector<std::string> absent;
    for (const std::string& name : assigned) {
      Lazy tensor = store->find(name);
      if (tensor == nullptr) absent.push_back(name);
      else tensors_.emplace(name, std::move(tensor));
    }
    if (!absent.empty())
      throw Error(
          kInvalid,
          fmt::format("[checkpoint] {} lacks {} of the {} tensors that {} assigns "
                      "to it: {}; fetch the shard again",
                      display(path), absent.size(), assigned.size(), kIndex, list_names(absent)));
    for (const std::string& name : store->names()) {
      const auto listed = index.find(name);
      if (listed != index.end()) {
        if (listed->second != shard)
          log::warning(fmt::format("{} also holds {}, which {} assigns to {}; the copy is not used",
                                   display(path), name, kIndex, listed->second));
      } else if (!tensors_.emplace(name, store->find(name)).second) {
        throw Error(kInvalid,
                    fmt::format("[checkpoint] {} is in {} and in an earlier shard, and {} "
                                "does not say which counts; fix the index",
                                name, display(path), kIndex));
      }
    }
  }

  std::vector<std::string> names_;
  std::map<std::string, Lazy, std::less<>> tensors_;
  std::string description_;
};

[[noreturn]] void refuse_directory(const fs::path& directory) {
  std::vector<std::string> safetensors, pickled, gguf;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const std::string kind = it->path().extension().string();
    if (kind == ".safetensors") safetensors.push_back(name);
    if (kind == ".gguf") gguf.push_back(name);
    if (kind == ".bin" || kind == ".pt" || kind == ".pth" || kind == ".ckpt" || kind == ".h5" ||
        kind == ".msgpack")
      pickled.push_back(name);
  }
  if (error)
    throw Error(kInvalid, fmt::format("[checkpoint] cannot read the folder {}: {}",
                                      display(directory), error.message()));
  std::sort(safetensors.begin(), safetensors.end());
  std::sort(pickled.begin(), pickled.end());
  std::sort(gguf.begin(), gguf.end());
  if (!safetensors.empty())
    throw Error(kInvalid,
                fmt::format("[checkpoint] {} has {}, need {} or {}; rename a single file, merge an "
                            "adapter into its base model, or restore the index",
                            display(directory), list_names(safetensors), kSingle, kIndex));
  if (!gguf.empty())
    throw Error(kInvalid,
                fmt::format("[checkpoint] {} has no {} but {}; give the path of the .gguf "
                            "file itself",
                            display(directory), kSingle, list_names(gguf)));
  if (!pickled.empty())
    throw Error(kUnsupported,
                fmt::format("[checkpoint] {} has only {}, which run code when loaded or belong to "
                            "another framework, need {}; convert it once with transformers: "
                            "from_pretrained, then save_pretrained",
                            display(directory), list_names(pickled), kSingle));
  throw Error(kInvalid,
              fmt::format("[checkpoint] {} has no weights, need {}, {} with its shards, or "
                          "one .gguf file",
                          display(directory), kSingle, kIndex));
}

}  // namespace

std::map<std::string, std::string> parse_shard_index(std::string_view text,
                                                     const std::string& where) {
  JsonLimits limits;
  limits.max_bytes = size_t{100} << 20;
  const Json json = parse_json(text, where, limits);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object())
    throw Error(kInvalid, fmt::format("[checkpoint] {}: got no weight_map object, need one that "
                                      "names a file for each tensor",
                                      where));
  std::map<std::string, std::string> index;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string() || !is_plain_file_name(shard.get_ref<const std::string&>()))
      throw Error(kInvalid,
                  fmt::format("[checkpoint] {}: weight_map gives {} for tensor {}, need the "
                              "name of a file in the same folder",
                              where, describe(shard), quote(tensor)));
    index.emplace(tensor, shard.get<std::string>());
  }
  if (index.empty())
    throw Error(kInvalid, fmt::format("[checkpoint] {}: weight_map is empty, need a file for each "
                                      "tensor",
                                      where));
  return index;
}

std::unique_ptr<WeightStore> open_safetensors(const fs::path& directory) {
  std::error_code ignored;
  // A link counts even when its blob is gone: the error then names it.
  if (fs::exists(fs::symlink_status(directory / kSingle, ignored)))
    return open_safetensors_file(directory / kSingle);
  if (fs::exists(fs::symlink_status(directory / kIndex, ignored)))
    return std::make_unique<ShardedStore>(directory);
  refuse_directory(directory);
}

}  // namespace slipway
