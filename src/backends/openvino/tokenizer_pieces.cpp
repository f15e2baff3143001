// Rows of pieces of text inside a graph.
#include "backends/openvino/tokenizer_pieces.h"

#include "slipway/error.h"

namespace slipway::openvino {
namespace {

/// Nothing but the map: what else SentencePiece's normalizer does is off.
Attributes map_attributes(std::string_view form) {
  return {{"add_dummy_prefix", "false"},   {"remove_extra_whitespaces", "false"},
          {"escape_whitespaces", "false"}, {"normalization_form", std::string(form)},
          {"case_fold", "false"},          {"nmt", "false"}};
}

}  // namespace

Pieces::Pieces(StringGraph& graph, Port texts) : graph_(graph) {
  const Ports strings = graph.add("StringTensorUnpack", "opset15", {}, {texts},
                                  {kIntVector, kIntVector, kByteVector});
  begins_ = strings[0], ends_ = strings[1], bytes_ = strings[2];
  const Port zero = graph.scalar64(0), one = graph.scalar64(1);
  const PortType number{Element::kI64, {}};
  const Ports shape =
      graph.add("ShapeOf", "opset3", {{"output_type", "i64"}}, {begins_}, {{Element::kI64, {1}}});
  const Port rows =
      graph.add("Gather", "opset8", {{"batch_dims", "0"}}, {shape[0], zero, zero}, {number})[0];
  const auto range = [&](Port from, Port to) {
    return graph.add("Range", "opset4", {{"output_type", "i32"}}, {from, to, one}, {kIntVector})[0];
  };
  row_begins_ = range(zero, rows);
  const Port past =
      graph.add("Add", "opset1", {{"auto_broadcast", "numpy"}}, {rows, one}, {number})[0];
  row_ends_ = range(one, past);
}

void Pieces::change(std::string_view op, const Attributes& attributes, const Ports& more) {
  Ports inputs = {begins_, ends_, bytes_};
  std::vector<PortType> outputs = {kIntVector, kIntVector, kByteVector};
  if (marks_) {
    inputs.push_back(*marks_);
    outputs.push_back(kFlagVector);
  }
  inputs.insert(inputs.end(), more.begin(), more.end());
  const Ports made = graph_.add(op, "extension", attributes, inputs, outputs);
  begins_ = made[0], ends_ = made[1], bytes_ = made[2];
  if (marks_) marks_ = made[3];
}

void Pieces::regroup(std::string_view op, const Attributes& attributes, const Ports& more,
                     bool makes_marks) {
  Ports inputs = ports();
  std::vector<PortType> outputs = {kIntVector, kIntVector, kIntVector, kIntVector, kByteVector};
  if (marks_) inputs.push_back(*marks_);
  if (marks_ || makes_marks) outputs.push_back(kFlagVector);
  inputs.insert(inputs.end(), more.begin(), more.end());
  const Ports made = graph_.add(op, "extension", attributes, inputs, outputs);
  row_begins_ = made[0], row_ends_ = made[1];
  begins_ = made[2], ends_ = made[3], bytes_ = made[4];
  if (made.size() == 6) marks_ = made[5];
}

void Pieces::mark_tokens(std::string_view pattern) {
  SLIPWAY_ASSERT(!marks_);  // the op cannot be copied with marks as input
  regroup("SpecialTokensSplit", {}, {graph_.text(pattern)}, true);
}

void Pieces::write_bytes() { regroup("BytesToChars", {}, {}, false); }

void Pieces::replace(std::string_view pattern, std::string_view replacement) {
  const Port from = graph_.text(pattern), to = graph_.text(replacement);
  change("RegexNormalization", {{"global_replace", "true"}}, {from, to});
}

void Pieces::normalize(std::string_view form) {
  change("CharsMapNormalization", map_attributes(form), {});
}

void Pieces::map_characters(std::string_view table) {
  change("CharsMapNormalization", map_attributes(""), {graph_.text(table)});
}

void Pieces::split(std::string_view pattern, SplitMode mode) {
  regroup("RegexSplit",
          {{"behaviour", mode == SplitMode::kIsolate ? "isolate" : "remove"},
           {"invert", mode == SplitMode::kKeepMatches ? "true" : "false"},
           {"max_splits", "-1"}},
          {graph_.text(pattern)}, false);
}

}  // namespace slipway::openvino
