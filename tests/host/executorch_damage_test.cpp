// Damaged .pte files: what the reader lets through, the runtime survives.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>

#include "backends/executorch/read.h"
#include "base/test_folder.h"
#include "golden_util.h"
#include "runtime/model_runner.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

struct Subject {
  std::string name, bytes;
  std::vector<Tensor> inputs;  ///< the first ones: names may be damaged, too
};

/// A file of ExecuTorch's exporter: kernels, a delegate, a buffer, an input updated in place.
Subject foreign() {
  const fs::path file = fs::path(SLIPWAY_SOURCE_DIR) / "tests/golden/executorch/foreign.pte";
  return {"foreign",
          TestFolder::read(file),
          {Tensor(DType::kF32, {2, 4}), Tensor(DType::kF32, {2, 3})}};
}

/// One of ours: dynamic sizes, views, many delegates.
Subject llama() {
  const golden::Scratch scratch;
  const fs::path file = golden::export_case("llama-causal-lm", "text-generation", {}, "executorch")
                            .component("model")
                            .program.save(scratch.path(), "model");
  return {"llama", TestFolder::read(file), {Tensor::of<int64_t>({1, 4}, {5, 6, 7, 8})}};
}

/// Places of the program and of the delegates' graphs: weights may have any bytes.
std::vector<size_t> places_of(const std::string& bytes) {
  std::vector<size_t> places;
  const auto add = [&](size_t begin, size_t end) {
    for (size_t at = begin; at < std::min(end, bytes.size()); ++at) places.push_back(at);
  };
  uint64_t program = 0;
  std::memcpy(&program, bytes.data() + 16, sizeof program);  // of the extended header
  add(0, program);
  for (size_t at = bytes.find("XH00"); at != bytes.npos; at = bytes.find("XH00", at + 4)) {
    uint32_t graph[2];
    std::memcpy(graph, bytes.data() + at + 6, sizeof graph);
    add(at - 4, at - 4 + graph[0] + graph[1]);
  }
  return places;
}

std::string damaged(std::string bytes, const std::vector<size_t>& places, std::mt19937& random) {
  constexpr std::array<int, 5> kCounts{1, 1, 1, 2, 5};
  for (int changes = kCounts[random() % kCounts.size()]; changes > 0; --changes) {
    const size_t at = places[random() % places.size()];
    const size_t word = std::min(at / 4 * 4, bytes.size() - 4);
    switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
        break;
      case 1:
        bytes[at] = static_cast<char>(random());
        break;
      case 2:
        bytes[at] = static_cast<char>(random() % 10);
        break;
      case 3: {  // perhaps the number of another value
        const auto number = static_cast<uint32_t>(random() % 200);
        std::memcpy(bytes.data() + word, &number, sizeof number);
        break;
      }
      default:  // a number of the file in the place of another
        bytes.replace(word, 4, bytes.substr(places[random() % places.size()] / 4 * 4, 4));
    }
  }
  return bytes;
}

/// Ends the process: with 0 when the file ran or was refused.
[[noreturn]] void run_and_exit(const fs::path& file, const Subject& subject) {
  const rlimit memory{rlim_t{12} << 30, rlim_t{12} << 30};
  ::setrlimit(RLIMIT_AS, &memory);
  ::alarm(30);
  try {
    const ModelRunner runner(Session::open("executorch", file));
    std::map<std::string, Tensor> inputs;
    for (size_t i = 0; i < std::min(subject.inputs.size(), runner.inputs().size()); ++i)
      inputs[runner.inputs()[i].name] = subject.inputs[i];
    for (int round = 0; round < 2; ++round) runner.run(inputs);
  } catch (const Error&) {
    ::_exit(0);
  } catch (const std::bad_alloc&) {
    ::_exit(0);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    ::_exit(1);
  }
  ::_exit(0);
}

/// How many of `rounds` damaged files ended a process that ran them, each written beside `keep`.
int count_deaths(const Subject& subject, unsigned seed, int rounds, const fs::path& keep) {
  const std::vector<size_t> places = places_of(subject.bytes);
  const TestFolder folder;
  std::mt19937 random(seed);
  int deaths = 0, runs = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::string bytes = damaged(subject.bytes, places, random);
    std::vector<std::byte> aligned(bytes.size());
    std::memcpy(aligned.data(), bytes.data(), bytes.size());
    try {
      executorch::read_outline(aligned, "damaged");
    } catch (const Error& e) {
      if (e.kind() == kInternal) ++deaths, std::cerr << e.what() << "\n";
      continue;
    }
    ++runs;
    folder.write("model.pte", bytes);
    const pid_t child = ::fork();
    if (child == 0) run_and_exit(folder / "model.pte", subject);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ++deaths;
    const std::string name = fmt::format("{}_{}_{}.pte", subject.name, seed, round);
    std::cerr << name << " ended with status " << status << "\n";
    if (!keep.empty())
      fs::copy_file(folder / "model.pte", keep / name, fs::copy_options::overwrite_existing);
  }
  std::cerr << fmt::format("{}: {} of {} damaged files were run\n", subject.name, runs, rounds);
  return deaths;
}

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

/// SLIPWAY_DAMAGED_FILES, SLIPWAY_DAMAGE_SEED for a longer search; SLIPWAY_DAMAGE_KEEP is a folder
/// for the files that end a process.
void search(const Subject& subject, int rounds) {
  // In a process of its own: threads of a runtime that is loaded do not survive a fork.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int count = std::stoi(environment("SLIPWAY_DAMAGED_FILES", std::to_string(rounds).c_str()));
  const auto seed = static_cast<unsigned>(std::stoul(environment("SLIPWAY_DAMAGE_SEED", "1")));
  const fs::path keep = environment("SLIPWAY_DAMAGE_KEEP", "");
  EXPECT_EXIT(std::exit(count_deaths(subject, seed, count, keep) == 0 ? 0 : 1),
              testing::ExitedWithCode(0), "");
}

TEST(ExecutorchDamage, FilesOfOthersEndNoProcess) { search(foreign(), 1500); }
TEST(ExecutorchDamage, OurFilesEndNoProcess) { search(llama(), 1500); }

}  // namespace
}  // namespace slipway
