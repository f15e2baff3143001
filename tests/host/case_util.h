// Variants of the golden checkpoints, their exports, and the tool as a process, for case tests.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <fstream>
#include <functional>
#include <random>
#include <vector>

#include "base/json.h"
#include "base/test_expect.h"
#include "base/test_folder.h"
#include "golden_util.h"

namespace slipway::cases {

namespace fs = std::filesystem;
using golden::by_name;

inline Tensor random_tensor(Shape shape, uint32_t seed, float scale = 0.05F) {
  Tensor tensor(DType::kF32, std::move(shape));
  std::minstd_rand random(seed + 1);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  for (float& v : tensor.mutable_values<float>()) v = uniform(random);
  return tensor;
}

/// A checkpoint in memory, to be edited and saved.
struct Draft {
  Json config;
  std::map<std::string, Tensor> tensors;

  static Draft golden(const std::string& name) {
    const fs::path from = golden::folder(name);
    return {parse_json_file(from / "config.json"), read_safetensors(from / "model.safetensors")};
  }
  void save_config(const fs::path& folder) const {
    fs::create_directories(folder);
    std::ofstream(folder / "config.json") << config.dump(2);
  }
  fs::path save(const fs::path& folder) const {
    save_config(folder);
    write_safetensors(folder / "model.safetensors", tensors);
    return folder;
  }
  /// The tensors spread over `count` files with an index, as large checkpoints are.
  fs::path save_sharded(const fs::path& folder, size_t count) const {
    save_config(folder);
    std::vector<std::map<std::string, Tensor>> shards(count);
    Json index = {{"metadata", Json::object()}, {"weight_map", Json::object()}};
    size_t i = 0;
    for (const auto& [name, tensor] : tensors) {
      const size_t shard = i++ * count / tensors.size();
      shards[shard][name] = tensor;
      index["weight_map"][name] = shard_name(shard);
    }
    for (size_t shard = 0; shard < count; ++shard)
      write_safetensors(folder / shard_name(shard), shards[shard]);
    std::ofstream(folder / "model.safetensors.index.json") << index.dump();
    return folder;
  }
  static std::string shard_name(size_t shard) {
    return "shard-" + std::to_string(shard + 1) + ".safetensors";
  }
};

inline OnnxConfig dynamic_config() {
  OnnxConfig config;
  config.dynamic = true;
  return config;
}

inline ExportedModel export_checkpoint(const fs::path& checkpoint, const std::string& task = "auto",
                                       const OnnxConfig& config = dynamic_config(),
                                       const ModelOptions& options = {}) {
  const auto model = PreTrainedModel::from_pretrained(checkpoint, task, options);
  return OnnxExporter().export_model(model, model.example_inputs(), config);
}

/// TestFolder::read() for large files.
inline std::string contents_of(const fs::path& path) {
  std::string contents(fs::file_size(path), '\0');
  std::ifstream(path, std::ios::binary)
      .read(contents.data(), static_cast<std::streamsize>(contents.size()));
  return contents;
}

/// Every file below a folder by its relative path.
inline std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[entry.path().lexically_relative(folder).string()] = contents_of(entry.path());
  return files;
}

/// The graph and the weights that exporting a draft gives.
struct GraphBytes {
  std::string graph, data;
  bool operator==(const GraphBytes&) const = default;
};
inline GraphBytes bytes_of(const fs::path& saved) {
  return {contents_of(saved / "model.onnx"), contents_of(saved / "model.onnx.data")};
}
inline GraphBytes bytes_of(const Draft& draft, const std::string& task = "auto") {
  const TestFolder t;
  export_checkpoint(draft.save(t / "in"), task).save_pretrained(t / "out");
  return bytes_of(t / "out");
}

/// Token ids that differ by place, all from 3 to 92.
inline Tensor token_ids(int64_t rows, int64_t length) {
  Tensor ids(DType::kI64, {rows, length});
  int64_t i = 0;
  for (int64_t& id : ids.mutable_values<int64_t>()) id = 3 + i++ * 37 % 90;
  return ids;
}

inline double difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return INFINITY;
  return golden::max_difference(a, b, [](int64_t) { return true; });
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.nbytes())) == 0;
}

inline std::vector<std::string> dims_of(const ExportedModel& exported, const std::string& input) {
  for (const LeafSpec& leaf : exported.program().inputs())
    if (leaf.name == input) return leaf.dims;
  ADD_FAILURE() << "no input " << input;
  return {};
}

struct ToolResult {
  int code = -1;  ///< minus the signal's number where one ended it
  std::string out, err;
  Json json() const { return parse_json(out, "standard output"); }
};

/// The command line tool as a process. `in_child` runs before it starts: limits, working folder.
class Tool {
 public:
  explicit Tool(const std::vector<std::string>& arguments,
                const std::function<void()>& in_child = nullptr) {
    std::vector<std::string> words = {SLIPWAY_TOOL};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string out = (folder_ / "out").string(), err = (folder_ / "err").string();
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT, 0666), 1);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT, 0666), 2);
    if (in_child) in_child();
    ::execv(argv[0], argv.data());
    ::_exit(126);
  }
  ~Tool() {
    if (pid_ > 0) kill(), wait();
  }
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  /// Ends it if it still runs. (A process number of -1 would mean every process there is.)
  void kill() const {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  }
  bool is_running() {
    int status = 0;
    if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) finish(status);
    return pid_ > 0;
  }
  ToolResult wait() {
    int status = 0;
    if (pid_ > 0 && ::waitpid(pid_, &status, 0) == pid_) finish(status);
    return {code_, TestFolder::read(folder_ / "out"), TestFolder::read(folder_ / "err")};
  }

 private:
  void finish(int status) {
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    pid_ = -1;
  }
  TestFolder folder_;
  pid_t pid_ = -1;
  int code_ = -1;
};

inline ToolResult run_tool(const std::vector<std::string>& arguments,
                           const std::function<void()>& in_child = nullptr) {
  return Tool(arguments, in_child).wait();
}

/// The message of `slipway export` that fails with this code, having written nothing.
inline std::string refused(const fs::path& checkpoint, int code,
                           const std::vector<std::string>& more = {}) {
  const TestFolder t;
  std::vector<std::string> arguments = {"export", checkpoint.string(), (t / "out").string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ToolResult result = run_tool(arguments);
  EXPECT_EQ(result.code, code) << result.err;
  EXPECT_TRUE(fs::is_empty(t.path())) << "something was written";
  return result.err;
}
inline std::string refused(const Draft& draft, int code) {
  const TestFolder t;
  return refused(draft.save(t / "in"), code);
}

}  // namespace slipway::cases
