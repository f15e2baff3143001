// Starts the tracing script and turns its end into an error.
#include "cli/tracer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "slipway/error.h"
#include "trace_script.h"

namespace slipway::cli {
namespace {

constexpr size_t kKeptOutput = 8192;
constexpr const char* kJobVariable = "SLIPWAY_TRACE";

/// The environment of this process with the job. The working directory is no place for packages.
std::vector<std::string> environment_with(const std::string& job) {
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at)
    if (!std::string_view(*at).starts_with(std::string(kJobVariable) + "="))
      variables.emplace_back(*at);
  variables.push_back(std::string(kJobVariable) + "=" + job);
  variables.emplace_back("PYTHONSAFEPATH=1");
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

struct Ended {
  int status = 0;
  std::string tail;  ///< of what it wrote to standard error
};

/// Runs a program to its end. What it writes is passed on to the log.
Ended run(std::vector<std::string> words, std::vector<std::string> variables) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(kEnvironment, fmt::format("[trace] no pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, words[0].c_str(), &actions, nullptr,
                                  pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Ended ended;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; failed == 0 && (got = read(ends[0], buffer.data(), buffer.size())) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    ended.tail.append(buffer.data(), static_cast<size_t>(got));
    if (ended.tail.size() > 2 * kKeptOutput) ended.tail.erase(0, ended.tail.size() - kKeptOutput);
  }
  close(ends[0]);
  if (failed != 0)
    throw Error(kEnvironment,
                fmt::format("[trace] {} cannot be started: {}; name an interpreter that has torch "
                            "and transformers with --python",
                            quote(words[0]), std::strerror(failed)));
  while (waitpid(child, &ended.status, 0) < 0 && errno == EINTR) {
  }
  return ended;
}

/// The script's own last words, or the last line of what the interpreter said.
std::string reason(const std::string& tail) {
  const size_t own = tail.rfind("[trace] ");
  std::string text = own != tail.npos ? tail.substr(own) : tail;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.empty()) text = "the interpreter ended with an error and said nothing";
  if (own == tail.npos) text = "[trace] " + text.substr(text.rfind('\n') + 1);
  return text.size() > 2000 ? text.substr(0, 2000) + "..." : text;
}

}  // namespace

void trace_model(const TraceOptions& options, const std::filesystem::path& folder) {
  const Json job = {{"model", options.model},
                    {"out", folder.string()},
                    {"task", options.task},
                    {"dtype", options.dtype},
                    {"inputs", options.inputs},
                    {"batch_size", options.batch_size},
                    {"sequence_length", options.sequence_length},
                    {"dynamic", !options.is_static}};
  const Ended ended =
      run({options.python, "-c", kTraceScript},
          environment_with(job.dump(-1, ' ', false, Json::error_handler_t::replace)));
  log::debug("[trace] " + ended.tail);
  if (WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0) {
    if (std::filesystem::exists(folder / "model.pt2")) return;
    throw Error(kEnvironment, fmt::format("[trace] {} ended without writing a program: is it a "
                                          "Python interpreter?",
                                          quote(options.python)));
  }
  const int code = WIFEXITED(ended.status) ? WEXITSTATUS(ended.status) : 0;
  const ErrorKind kind = code == 3 ? kInvalid : code == 4 ? kUnsupported : kEnvironment;
  throw Error(kind, WIFSIGNALED(ended.status) ? fmt::format("[trace] {} was ended by signal {}",
                                                            options.python, WTERMSIG(ended.status))
                                              : reason(ended.tail));
}

}  // namespace slipway::cli
