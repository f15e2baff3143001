// What comes behind a tokenizer's model.
#include "backends/openvino/tokenizer_post.h"

#include <algorithm>

namespace slipway::openvino {
namespace {

const PortType kMatrix{Element::kI32, {-1, -1}};
const PortType kNumber{Element::kI32, {}};
/// The op fails for limits from 2^31 - 64 on.
constexpr int64_t kNoLimit = (int64_t{1} << 31) - 65;

int32_t id_of(const Part& part) { return static_cast<int32_t>(part.integer()); }

/// `single` and `pair` of a TemplateProcessing.
Template template_of(const Part& processor, const char* key) {
  Template items;
  for (const Part& row : processor[key].list()) {
    TemplateItem item;
    if (row.has("Sequence")) {
      const Part sequence = row["Sequence"];
      item.type_id = id_of(sequence["type_id"]);
      item.second = sequence["id"].text() == "B";
    } else {
      const Part token = row["SpecialToken"];
      item.type_id = id_of(token["type_id"]);
      const std::string name = token["id"].text();
      const Part special = processor["special_tokens"];
      if (!special.has(name.c_str())) token.invalid("a token that special_tokens lists");
      for (const Part& id : special[name.c_str()]["ids"].list()) item.ids.push_back(id_of(id));
      if (item.ids.empty()) continue;
    }
    items.push_back(std::move(item));
  }
  const auto texts =
      std::ranges::count_if(items, [](const auto& item) { return item.ids.empty(); });
  const bool is_pair = std::string_view(key) == "pair";
  if (texts != (is_pair ? 2 : 1)) processor[key].invalid(is_pair ? "two texts" : "one text");
  return items;
}

int32_t named_id(const Part& processor, const char* key) {
  const std::vector<Part> token = processor[key].list();
  if (token.size() != 2) processor[key].invalid("a token and its id");
  return id_of(token[1]);
}

/// CLS text SEP; a pair of BERT's goes on with text SEP, one of RoBERTa's with SEP text SEP.
Templates classic(const Part& processor, bool roberta) {
  const TemplateItem cls{{named_id(processor, "cls")}}, sep{{named_id(processor, "sep")}};
  const int32_t second = roberta ? 0 : 1;
  TemplateItem last = sep;
  last.type_id = second;
  Templates out{{cls, {}, sep}, {cls, {}, sep}};
  if (roberta) out.pair.push_back(sep);
  out.pair.push_back({{}, second, true});
  out.pair.push_back(last);
  return out;
}

Json json_of(const Template& items) {
  Json ids = Json::array(), types = Json::array();
  for (const TemplateItem& item : items) {
    if (item.ids.empty()) ids.push_back(item.second ? -2 : -1);
    if (item.ids.empty()) types.push_back(item.type_id);
    for (const int32_t id : item.ids) {
      ids.push_back(id);
      types.push_back(item.type_id);
    }
  }
  return {{"ids", ids}, {"type_ids", types}};
}

Ports truncated(StringGraph& graph, Ports ids, const Template& single, const PostOptions& options) {
  int64_t added = 0;
  for (const TemplateItem& item : single) added += static_cast<int64_t>(item.ids.size());
  const int64_t most =
      std::clamp<int64_t>(options.max_length.value_or(kNoLimit) - added, 0, kNoLimit);
  const Attributes variable = {
      {"variable_id", "truncation"}, {"variable_type", "boolean"}, {"variable_shape", ""}};
  const PortType flag{Element::kBool, {}};
  const Port on = graph.add("ReadValue", "opset6", variable, {graph.flag(false)}, {flag})[0];
  graph.add("Assign", "opset6", {variable[0]}, {on}, {flag});
  const Port limit = graph.add(
      "Select", "opset1", {{"auto_broadcast", "numpy"}},
      {on, graph.scalar(static_cast<int32_t>(most)), graph.scalar(static_cast<int32_t>(kNoLimit))},
      {kNumber})[0];
  ids.push_back(limit);
  ids.push_back(graph.text(options.truncation == End::kLeft ? "left" : "right"));
  ids.push_back(graph.text("longest_first"));
  return graph.add("Truncate", "extension", {{"m_num_inputs", "1"}}, ids,
                   {kIntVector, kIntVector, kIntVector});
}

}  // namespace

Templates Templates::from(const Part& processor) {
  const Templates plain{{{}}, {{}, {{}, 1, true}}};
  if (processor.is_null()) return plain;
  const std::string type = processor.type();
  if (type == "ByteLevel") return plain;
  if (type == "TemplateProcessing")
    return {template_of(processor, "single"), template_of(processor, "pair")};
  if (type == "BertProcessing") return classic(processor, false);
  if (type == "RobertaProcessing") return classic(processor, true);
  if (type != "Sequence") processor.unsupported("has no counterpart among OpenVINO's string ops");
  std::optional<Templates> found;
  for (const Part& step : processor["processors"].list()) {
    if (step.type() == "ByteLevel") continue;  // about offsets only
    if (found) step.unsupported("follows another template, OpenVINO's ops have one");
    found = from(step);
  }
  return found.value_or(plain);
}

std::string Templates::json() const {
  return Json{{"single", json_of(single)}, {"pair", json_of(pair)}}.dump();
}

void add_post(StringGraph& graph, Ports ids, const Templates& templates,
              const PostOptions& options) {
  const Ports text = truncated(graph, std::move(ids), templates.single, options);
  Ports segments;
  std::vector<int32_t> type_ids;
  for (const TemplateItem& item : templates.single) {
    if (item.ids.empty()) {
      segments.insert(segments.end(), text.begin(), text.end());
    } else {
      segments.push_back(graph.scalar(0));
      segments.push_back(graph.scalar(static_cast<int32_t>(item.ids.size())));
      segments.push_back(graph.integers(item.ids));
    }
    type_ids.push_back(item.type_id);
  }
  segments.push_back(graph.integers(type_ids));
  const Ports joined =
      graph.add("CombineSegments", "extension", {}, segments, std::vector<PortType>(6, kIntVector));
  const Port lengths = graph.add("Subtract", "opset1", {{"auto_broadcast", "numpy"}},
                                 {joined[1], joined[0]}, {kIntVector})[0];
  const Port longest = graph.add("ReduceMax", "opset1", {{"keep_dims", "false"}},
                                 {lengths, graph.scalar(0)}, {kNumber})[0];
  const auto padded = [&](size_t first, int64_t value) {
    const Port filler = graph.scalar(static_cast<int32_t>(value));
    return graph.add("RaggedToDense", "extension",
                     {{"pad_right", options.padding == End::kRight ? "true" : "false"},
                      {"m_pad_max_length", "false"}},
                     {joined[first], joined[first + 1], joined[first + 2], longest, filler},
                     {kMatrix, {Element::kBool, {-1, -1}}});
  };
  const auto give = [&](Port port, const std::string& name) {
    const Port wide = graph.add("Convert", "opset1", {{"destination_type", "i64"}}, {port},
                                {{Element::kI64, {-1, -1}}})[0];
    graph.result(wide, name);
  };
  const Ports rows = padded(0, options.pad_id);
  give(rows[0], "input_ids");
  if (options.type_ids) give(padded(3, 0)[0], "token_type_ids");
  give(rows[1], "attention_mask");
}

}  // namespace slipway::openvino
