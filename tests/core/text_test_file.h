// Reads x.test files: graphs in, what becomes of them out.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slipway::text_tests {

/// A file begins with its header: `rule: <pass>[, <pass>...]` (none: graphs are only read and
/// checked), `dims: ...`, `tolerance: <number> <reason>`. Each case is `case: title`, `graph(...)
/// {...}`, and what is expected of it:
///   becomes(...) {...}   equal to this graph, and to the numbers of the first
///   same                 any graph of the same numbers
///   unchanged: reason    equal to itself, and a reason that holds this text is given
///   error: regex         an error whose message this matches
///   count: op n          so many nodes of this op
/// Lines that begin with `#` are comments. A graph's later lines begin with a space or a bracket.

/// One case of a file.
struct Case {
  std::string title;
  int line = 0;
  std::string dims;   ///< "dims: ..." of the case or of its file, with the line end; or empty
  std::string graph;  ///< "graph(...) {...}"
  std::optional<std::string> becomes;  ///< as a "graph(...) {...}"
  std::optional<std::string> unchanged, error;
  bool same = false;
  std::vector<std::pair<std::string, int64_t>> counts;
};

struct File {
  std::filesystem::path path;
  std::vector<std::string> rules;  ///< passes to run in turn; empty: only read and checked
  double tolerance = 0;            ///< 0: by dtype
  std::vector<Case> cases;
};

/// Throws Error{kInvalid} naming file and line.
File read_file(const std::filesystem::path& path);

}  // namespace slipway::text_tests
