// Runs the command line tool for the tests of this folder, and makes small exports for it.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/test_folder.h"
#include "export/manifest.h"
#include "runtime/test_models.h"

namespace slipway::test {

struct ToolResult {
  int code = -1;
  std::string out, err;

  Json json() const { return parse_json(out, "standard output"); }
};

inline std::string shell_quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Standard output and error apart. `shell` is put after the command: "| head -c 0".
inline ToolResult run_tool(const std::vector<std::string>& arguments,
                           const std::string& shell = "") {
  const TestFolder folder;
  std::string command = shell_quoted(SLIPWAY_TOOL);
  for (const std::string& argument : arguments) command += " " + shell_quoted(argument);
  const std::string err = (folder / "err").string();
  command += " 2> " + shell_quoted(err) + " " + shell;
  ToolResult result;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  for (size_t got = 0; (got = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
    result.out.append(buffer, got);
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.err = TestFolder::read(err);
  return result;
}

/// Words of the small tokenizer; their ids are their places.
inline constexpr const char* kWords[] = {"<pad>", "a", "b", "c", "d", "e", "f", "g"};

inline std::string tokenizer_json() {
  Json vocabulary = Json::object();
  for (int i = 0; i < 8; ++i) vocabulary[kWords[i]] = i;
  return Json{{"version", "1.0"},
              {"truncation", nullptr},
              {"padding", nullptr},
              {"added_tokens", Json::array({{{"id", 0},
                                             {"content", "<pad>"},
                                             {"single_word", false},
                                             {"lstrip", false},
                                             {"rstrip", false},
                                             {"normalized", false},
                                             {"special", true}}})},
              {"normalizer", nullptr},
              {"pre_tokenizer", {{"type", "Whitespace"}}},
              {"post_processor", nullptr},
              {"decoder", nullptr},
              {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "<pad>"}}}}
      .dump();
}

/// An export directory around one graph, with the small tokenizer.
inline void save_export(const TestFolder& folder, const Graph& graph, const std::string& config) {
  graph.save(folder / "model.onnx");
  folder.write("model.onnx.data", "");
  folder.write("config.json", config);
  folder.write("tokenizer.json", tokenizer_json());
  folder.write("tokenizer_config.json",
               R"({"pad_token": "<pad>", "chat_template":
                   "{% for m in messages %}{{ m.content }} {% endfor %}b"})");
  Manifest manifest;
  manifest.export_format = "onnx";
  manifest.components.push_back({"model", "model.onnx", {}});
  folder.write("export.json", manifest_text(manifest));
}

/// After word i comes word (i + 1) % 8; the cache grows by the logits.
inline Graph successor_decoder() {
  std::vector<float> table(64, 0.0F);
  for (size_t i = 0; i < 8; ++i) table[i * 8 + (i + 1) % 8] = 3.0F;
  const std::string past = "input.past_key_values.layers.0.keys";
  const std::string present = "output.past_key_values.layers.0.keys";
  const std::string total = "past_sequence_length + sequence_length";
  Graph graph;
  graph.input("input_ids", kInt64, {"batch_size", "sequence_length"})
      .input("attention_mask", kInt64, {"batch_size", total})
      .input(past, kFloat, {"batch_size", "1", "past_sequence_length", "8"})
      .output("logits", kFloat, {"batch_size", "sequence_length", "8"})
      .output(present, kFloat, {"batch_size", "1", total, "8"})
      .constant<float>("table", {8, 8}, table)
      .constant<int64_t>("one", {1}, {1})
      .node("Gather", {"table", "input_ids"}, "logits")
      .node("Unsqueeze", {"logits", "one"}, "rows")
      .node("Concat", {past, "rows"}, present, {{"axis", 2}});
  return graph;
}

/// The vector of word i is (i, 1).
inline Graph word_encoder() {
  std::vector<float> table;
  for (int i = 0; i < 8; ++i) table.insert(table.end(), {static_cast<float>(i), 1.0F});
  Graph graph;
  graph.input("input_ids", kInt64, {"batch_size", "sequence_length"})
      .output("last_hidden_state", kFloat, {"batch_size", "sequence_length", "2"})
      .constant<float>("table", {8, 2}, table)
      .node("Gather", {"table", "input_ids"}, "last_hidden_state");
  return graph;
}

}  // namespace slipway::test
