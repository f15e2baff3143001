// Runs every x.test file of the source tree: one test per case.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "passes/pass.h"
#include "text_test_file.h"
#include "text_test_numeric.h"

namespace slipway::text_tests {
namespace {

std::string reasons_text(const PassContext& context) {
  std::string text;
  for (const Reason& r : context.reasons())
    text += fmt::format("\n  {}: {} ({})", r.rule, r.message, r.op);
  return text.empty() ? " none" : text;
}

class TextTest : public testing::Test {
 public:
  TextTest(File file, Case wanted) : file_(std::move(file)), case_(std::move(wanted)) {}

  void TestBody() override {
    SCOPED_TRACE(fmt::format("{}:{}: {}", file_.path.string(), case_.line, case_.title));
    try {
      run();
      if (case_.error) ADD_FAILURE() << "no error, need one that matches " << *case_.error;
    } catch (const Error& error) {
      if (!case_.error) ADD_FAILURE() << error.what();
      else if (!std::regex_search(error.what(), std::regex(*case_.error)))
        ADD_FAILURE() << "the error\n  " << error.what() << "\ndoes not match\n  " << *case_.error;
    }
  }

 private:
  std::unique_ptr<Graph> read(const std::string& text) const {
    auto graph = parse_graph(case_.dims + text);
    verify(*graph);
    return graph;
  }

  void run() {
    const auto before = read(case_.graph), graph = read(case_.graph);
    PassContext context;
    int64_t changes = 0;
    for (const std::string& rule : file_.rules) {
      changes += find_pass(rule).run(*graph, context).changes;
      verify(*graph);
    }
    graph->drop_dead();
    check_round_trip(*graph);
    if (case_.becomes) check_equal(*read(*case_.becomes), *graph, "expected");
    if (case_.unchanged) check_unchanged(*before, *graph, changes, context);
    if (case_.becomes || case_.same) check_numbers(*before, *graph);
    for (const auto& [op, count] : case_.counts) check_count(*graph, op, count);
  }

  static void check_round_trip(const Graph& graph) {
    const std::string text = print(graph);
    const auto again = parse_graph(text);
    EXPECT_EQ(print(*again), text);
    EXPECT_EQ(first_difference(graph, *again).value_or(""), "") << text;
  }

  static void check_equal(const Graph& want, const Graph& got, const char* what) {
    if (const auto difference = first_difference(want, got))
      ADD_FAILURE() << *difference << "\n--- " << what << "\n"
                    << print(want) << "--- got\n"
                    << print(got);
  }

  void check_unchanged(const Graph& before, const Graph& after, int64_t changes,
                       const PassContext& context) const {
    EXPECT_EQ(changes, 0);
    check_equal(before, after, "before");
    const std::string& why = *case_.unchanged;
    const bool given =
        std::any_of(context.reasons().begin(), context.reasons().end(),
                    [&](const Reason& r) { return r.message.find(why) != std::string::npos; });
    if (!why.empty() && !given)
      ADD_FAILURE() << "no reason says '" << why << "'; reasons:" << reasons_text(context);
  }

  void check_numbers(const Graph& before, const Graph& after) const {
    const std::string difference = numeric_difference(before, after, file_.tolerance);
    if (!difference.empty())
      ADD_FAILURE() << difference << "\n--- before\n"
                    << print(before) << "--- after\n"
                    << print(after);
  }

  static void check_count(const Graph& graph, const std::string& op, int64_t count) {
    const std::vector<Node*> nodes = graph.order();
    const auto got = std::count_if(nodes.begin(), nodes.end(), [&](const Node* node) {
      return node->kind == NodeKind::kOp && node->op->name() == op;
    });
    EXPECT_EQ(got, count) << op << " in\n" << print(graph);
  }

  File file_;
  Case case_;
};

/// A file that cannot be read fails as a test of its own.
class BrokenFile : public testing::Test {
 public:
  explicit BrokenFile(std::string message) : message_(std::move(message)) {}
  void TestBody() override { FAIL() << message_; }

 private:
  std::string message_;
};

std::string word(const std::string& text) {
  std::string out;
  for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}

int register_all() {
  const std::filesystem::path root = std::filesystem::path(SLIPWAY_SOURCE_DIR) / "src";
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
    if (entry.path().extension() == ".test") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    const std::string suite = "text_" + word(path.lexically_relative(root).string());
    try {
      File file = read_file(path);
      const std::vector<Case> cases = std::move(file.cases);
      file.cases.clear();
      for (const Case& c : cases)
        testing::RegisterTest(suite.c_str(), word(c.title).c_str(), nullptr, nullptr, __FILE__,
                              c.line, [file, c]() -> testing::Test* {
                                return new TextTest(file, c);  // NOLINT: gtest owns it
                              });
    } catch (const std::exception& error) {
      const std::string message = error.what();
      testing::RegisterTest(suite.c_str(), "can_be_read", nullptr, nullptr, __FILE__, __LINE__,
                            [message]() -> testing::Test* {
                              return new BrokenFile(message);  // NOLINT: gtest owns it
                            });
    }
  }
  return static_cast<int>(paths.size());
}

const int kFiles = register_all();

TEST(TextTests, AreFound) { EXPECT_GT(kFiles, 0); }

}  // namespace
}  // namespace slipway::text_tests
