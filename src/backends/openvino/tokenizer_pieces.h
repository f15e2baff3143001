// Rows of pieces of text inside a graph, as the ops of the tokenizers' extension pass them on.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/openvino/string_graph.h"

namespace slipway::openvino {

/// What becomes of the places where a pattern matches: their own pieces, or gone.
enum class SplitMode { kIsolate, kRemoveMatches, kKeepMatches };

/// At first each row is one piece. Every step adds an op to the graph. Pieces that are tokens
/// already are marked: later steps leave them alone.
class Pieces {
 public:
  /// `texts`: a string tensor [rows].
  Pieces(StringGraph& graph, Port texts);

  /// Makes each match a marked piece: of its group, where the pattern has one that took part.
  void mark_tokens(std::string_view pattern);
  /// Replaces every match in every piece. `replacement` may refer to groups ($1).
  void replace(std::string_view pattern, std::string_view replacement);
  /// Unicode normal form "nfc", "nfd", "nfkc" or "nfkd".
  void normalize(std::string_view form);
  /// Normalizes by a table of SentencePiece's.
  void map_characters(std::string_view table);
  void split(std::string_view pattern, SplitMode mode);
  /// Writes each byte as the character that stands for it in byte-level vocabularies.
  void write_bytes();

  /// Row begins and ends, piece begins and ends, bytes: what models take.
  Ports ports() const { return {row_begins_, row_ends_, begins_, ends_, bytes_}; }
  StringGraph& graph() const { return graph_; }

 private:
  /// An op over pieces without rows.
  void change(std::string_view op, const Attributes& attributes, const Ports& more);
  /// An op over rows of pieces.
  void regroup(std::string_view op, const Attributes& attributes, const Ports& more,
               bool makes_marks);

  StringGraph& graph_;
  Port row_begins_, row_ends_, begins_, ends_, bytes_;
  std::optional<Port> marks_;
};

}  // namespace slipway::openvino
