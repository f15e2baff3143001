// The directory of OpenVINO GenAI: what its graph must be, and its tokenizer.
#include <fmt/format.h>

#include <algorithm>

#include "backends/openvino/tokenizer.h"
#include "base/log.h"
#include "export/layout.h"
#include "generation/chat_template.h"
#include "generation/tokenizer.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

/// Vocabularies of 256 Ki tokens with their merges.
constexpr JsonLimits kTokenizerLimits{.max_bytes = size_t{128} << 20,
                                      .max_values = size_t{1} << 24};

bool takes(const Graph& graph, std::string_view name) {
  return std::ranges::any_of(graph.inputs(),
                             [&](const Node* input) { return input->name == name; });
}

openvino::End end_of(Side side) {
  return side == Side::kLeft ? openvino::End::kLeft : openvino::End::kRight;
}

std::string default_template(const fs::path& folder) {
  const auto chat = ChatTemplate::find(folder);
  if (!chat) return "";
  const auto at = chat->sources().find("default");
  return at == chat->sources().end() ? "" : at->second;
}

openvino::TokenizerOptions tokenizer_options(const Tokenizer& tokenizer, const fs::path& folder,
                                             const Graph& graph) {
  const TokenizerConfig& config = tokenizer.config();
  openvino::TokenizerOptions options;
  options.added_tokens = config.added_tokens;
  options.bos_id = tokenizer.bos_id();
  options.eos_id = tokenizer.eos_id();
  options.pad_id = tokenizer.pad_id();
  options.chat_template = default_template(folder);
  options.post.max_length = config.max_length;
  options.post.truncation = end_of(config.truncation_side);
  options.post.padding = end_of(config.padding_side);
  options.post.pad_id = options.pad_id.value_or(0);
  options.post.type_ids = takes(graph, "token_type_ids");
  return options;
}

}  // namespace

void check_openvino_layout(const ExportedModel::Impl& exported) {
  const Graph& graph = exported.components[0].second.program.impl().fresh->graph();
  bool caches_outside = false;
  for (const Node* input : graph.inputs()) {
    if (input->name.starts_with("past_key_values"))
      throw Error(kUsage,
                  "[layout] openvino-genai needs caches that are variables; export with "
                  "stateful caches");
    if (input->name != "input_ids") continue;
    for (const Sym size : input->types[0].shape)
      if (size.is_const())
        throw Error(kUnsupported,
                    fmt::format("[layout] input_ids has the fixed size {}, openvino-genai needs "
                                "any; export with every size dynamic",
                                size.str()));
  }
  for (const Output& output : graph.outputs()) {
    const Node* node = output.value.node();
    const bool is_variable = node->op != nullptr && node->op->has(kSink);
    if (!is_variable && output.name.starts_with("past_key_values")) caches_outside = true;
  }
  if (caches_outside)
    throw Error(kUnsupported,
                "[layout] the graph takes no growing cache, openvino-genai needs one "
                "for a decoder; export the task text-generation-with-past");
}

void write_openvino_tokenizer(const fs::path& folder, const Graph& graph) {
  constexpr std::string_view kWayOut =
      "the folder has no openvino_tokenizer.xml, so its tools need the tokenizer of transformers, "
      "or "
      "one that `convert_tokenizer` of openvino_tokenizers makes";
  const fs::path path = folder / "tokenizer.json";
  if (!fs::exists(path))
    return log::warning(fmt::format("[tokenizer] there is no tokenizer.json; {}", kWayOut));
  try {
    openvino::write_tokenizer(parse_json_file(path, kTokenizerLimits),
                              tokenizer_options(Tokenizer::from_directory(folder), folder, graph),
                              folder);
  } catch (const Error& error) {
    if (error.kind() != kUnsupported) throw;
    log::warning(fmt::format("{}; {}", error.what(), kWayOut));
  }
}

}  // namespace slipway
