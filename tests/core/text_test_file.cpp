// Reads x.test files.
#include "text_test_file.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>

#include "slipway/error.h"

namespace slipway::text_tests {
namespace {

bool starts(const std::string& line, const char* word) { return line.rfind(word, 0) == 0; }

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string after_colon(const std::string& line) {
  return trimmed(line.substr(line.find(':') + 1));
}

std::vector<std::string> words(const std::string& text, char separator) {
  std::vector<std::string> found;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (const std::string word = trimmed(text.substr(begin, end - begin)); !word.empty())
      found.push_back(word);
    begin = end + 1;
  }
  return found;
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) {
    file_.path = path;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }

  File read() {
    for (; at_ < lines_.size(); ++at_) {
      const std::string& line = lines_[at_];
      if (trimmed(line).empty() || line[0] == '#') continue;
      if (starts(line, "case:")) begin_case(line);
      else if (file_.cases.empty()) header(line);
      else directive(file_.cases.back(), line);
    }
    if (file_.cases.empty()) fail("need at least one `case:`");
    for (const Case& c : file_.cases) check(c);
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { fail_at(at_ + 1, message); }
  [[noreturn]] void fail_at(size_t line, const std::string& message) const {
    throw Error(kInvalid, fmt::format("{}:{}: {}", file_.path.string(), line, message));
  }

  void begin_case(const std::string& line) {
    Case c;
    c.title = after_colon(line);
    c.line = static_cast<int>(at_ + 1);
    c.dims = dims_;
    for (const Case& other : file_.cases)
      if (other.title == c.title) fail("there are two cases of this title");
    file_.cases.push_back(std::move(c));
  }

  void header(const std::string& line) {
    if (starts(line, "rule:")) file_.rules = words(after_colon(line), ',');
    else if (starts(line, "dims:")) dims_ = line + "\n";
    else if (starts(line, "tolerance:")) {
      const auto parts = words(after_colon(line), ' ');  // "0.01 because ..."
      if (parts.size() < 2) fail("need a number and the reason for it");
      file_.tolerance = std::stod(parts[0]);
    } else {
      fail("need `rule:`, `dims:`, `tolerance:` or `case:`");
    }
  }

  void directive(Case& c, const std::string& line) {
    if (starts(line, "dims:")) c.dims = line + "\n";
    else if (starts(line, "graph(")) c.graph += block();
    else if (starts(line, "becomes(")) c.becomes = "graph" + block().substr(7);
    else if (starts(line, "unchanged"))
      c.unchanged = starts(line, "unchanged:") ? after_colon(line) : "";
    else if (line == "same") c.same = true;
    else if (starts(line, "error:")) c.error = after_colon(line);
    else if (starts(line, "count:")) count(c, line);
    else fail("need graph(, becomes(, unchanged, same, error:, count: or case:");
  }

  void count(Case& c, const std::string& line) {
    const auto parts = words(after_colon(line), ' ');
    int64_t n = 0;
    const bool ok =
        parts.size() == 2 &&
        std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), n).ec == std::errc();
    if (!ok) fail("need `count: op n`");
    c.counts.emplace_back(parts[0], n);
  }

  /// The lines from here until one that begins a new thing in its first column.
  std::string block() {
    std::string text = lines_[at_] + "\n";
    while (at_ + 1 < lines_.size()) {
      const std::string& next = lines_[at_ + 1];
      if (!next.empty() && next[0] != ' ' && next[0] != '}' && next[0] != ')') break;
      text += next + "\n";
      ++at_;
    }
    return text;
  }

  void check(const Case& c) const {
    const auto line = static_cast<size_t>(c.line);
    if (c.graph.empty()) fail_at(line, "the case has no graph");
    if (!c.becomes && !c.unchanged && !c.error && !c.same && c.counts.empty())
      fail_at(line, "the case expects nothing");
    if (file_.rules.empty() && c.unchanged) fail_at(line, "`unchanged` needs a `rule:`");
  }

  File file_;
  std::vector<std::string> lines_;
  std::string dims_;
  size_t at_ = 0;
};

}  // namespace

File read_file(const std::filesystem::path& path) { return Reader(path).read(); }

}  // namespace slipway::text_tests
