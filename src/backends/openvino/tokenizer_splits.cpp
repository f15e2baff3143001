// Pre-tokenizers of tokenizer.json as string ops.
#include <fmt/format.h>

#include <algorithm>

#include "backends/openvino/tokenizer_regex.h"
#include "backends/openvino/tokenizer_steps.h"

namespace slipway::openvino {
namespace {

constexpr std::string_view kByteLevel =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
/// Word characters of Rust's expressions, for use inside a class.
constexpr std::string_view kRustWord =
    R"(\p{L}\p{Nl}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149})"
    R"(\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})";
constexpr std::string_view kPunctuation = R"([!-/:-@\[-`{-~\p{P}])";

/// Splits as the library's `behavior` says. Merged delimiters are a matter of the pattern, whose
/// repeats give nothing back: there may be a whole text of them.
void add_split(Pieces& pieces, const Part& part, const std::string& pattern,
               std::string_view behavior) {
  const bool invert = part["invert"].flag(false);
  const std::string rest = fmt::format("(?:(?!{})[\\s\\S])++", pattern);
  if (behavior == "Removed") {
    return pieces.split(pattern, invert ? SplitMode::kKeepMatches : SplitMode::kRemoveMatches);
  }
  if (behavior == "Isolated") return pieces.split(pattern, SplitMode::kIsolate);
  if (invert) part.unsupported("is inverted, which OpenVINO does for Removed and Isolated only");
  if (behavior == "Contiguous")
    return pieces.split(fmt::format("(?:{})++", pattern), SplitMode::kIsolate);
  if (behavior == "MergedWithPrevious")
    return pieces.split(fmt::format("{}(?:{})?|(?:{})", rest, pattern, pattern),
                        SplitMode::kIsolate);
  if (behavior == "MergedWithNext")
    return pieces.split(fmt::format("(?:{})(?:{})?|{}", pattern, rest, rest), SplitMode::kIsolate);
  part["behavior"].invalid("Removed, Isolated, Contiguous, MergedWithPrevious or MergedWithNext");
}

std::string behavior_of(const Part& part, std::string_view missing) {
  return part["behavior"].is_null() ? std::string(missing) : part["behavior"].text();
}

std::string replacement_of(const Part& part) {
  return part.has("replacement") ? part["replacement"].text() : "\u2581";
}

/// Older files say add_prefix_space where newer ones have a scheme.
std::string scheme_of(const Part& part) {
  if (!part["prepend_scheme"].is_null()) return part["prepend_scheme"].text();
  return part["add_prefix_space"].flag(true) ? "always" : "never";
}

void add_metaspace(Pieces& pieces, const Part& part) {
  const std::string mark = replacement_of(part), scheme = scheme_of(part);
  const std::string written = part.has("replacement") ? replacement(part["replacement"]) : mark;
  pieces.replace(" ", written);
  if (scheme == "always")
    pieces.replace(fmt::format("^(?!{})(?=[\\s\\S])", literal(mark)), written);
  else if (scheme != "first" && scheme != "never")
    part["prepend_scheme"].invalid("always, first or never");
  if (part["split"].flag(true))
    pieces.split(fmt::format("{}[^{}]*", literal(mark), literal(mark)), SplitMode::kIsolate);
}

void add_byte_level(Pieces& pieces, const Part& part) {
  if (part["add_prefix_space"].flag(true)) pieces.replace("^(?=[^ ])", " ");
  if (part["use_regex"].flag(true)) pieces.split(kByteLevel, SplitMode::kIsolate);
}

/// The steps of sequences, one after the other.
std::vector<Part> steps_of(const Part& part) {
  if (part.is_null()) return {};
  if (part.type() != "Sequence") return {part};
  std::vector<Part> steps;
  for (const Part& step : part["pretokenizers"].list())
    for (const Part& inner : steps_of(step)) steps.push_back(inner);
  return steps;
}

void add_step(Pieces& pieces, const Part& part) {
  const std::string type = part.type();
  const std::string space = fmt::format("[{}]", kWhiteSpace);
  if (type == "ByteLevel") {
    add_byte_level(pieces, part);
  } else if (type == "Split") {
    const std::string pattern = pattern_of(part["pattern"]);
    add_split(pieces, part, pattern.empty() ? "[\\s\\S]" : pattern, part["behavior"].text());
  } else if (type == "Digits") {
    add_split(pieces, part, R"(\p{N})",
              part["individual_digits"].flag(false) ? "Isolated" : "Contiguous");
  } else if (type == "Punctuation") {
    add_split(pieces, part, std::string(kPunctuation), behavior_of(part, "Isolated"));
  } else if (type == "Whitespace") {
    pieces.split(fmt::format(R"([{0}]+|[^{0}\s]+)", kRustWord), SplitMode::kKeepMatches);
  } else if (type == "WhitespaceSplit") {
    pieces.split(space, SplitMode::kRemoveMatches);
  } else if (type == "CharDelimiterSplit") {
    pieces.split(literal(part["delimiter"].text()), SplitMode::kRemoveMatches);
  } else if (type == "BertPreTokenizer") {
    pieces.split(space, SplitMode::kRemoveMatches);
    pieces.split(kPunctuation, SplitMode::kIsolate);
  } else if (type == "Metaspace") {
    add_metaspace(pieces, part);
  } else {
    part.unsupported("has no counterpart among OpenVINO's string ops");
  }
}

}  // namespace

Alphabet add_pre_tokenizer(Pieces& pieces, const Part& part) {
  const std::vector<Part> steps = steps_of(part);
  bool bytes = false;
  for (size_t i = 0; i < steps.size(); ++i) {
    add_step(pieces, steps[i]);
    if (steps[i].type() != "ByteLevel") continue;
    if (bytes) steps[i].unsupported("comes twice, and OpenVINO's ops write bytes once");
    bytes = true;
    // Bytes are left as they are for the model, unless more steps look at what stands for them.
    if (i + 1 == steps.size()) return Alphabet::kBytes;
    pieces.write_bytes();
  }
  return Alphabet::kCharacters;
}

void add_first_metaspace(Pieces& pieces, const Part& pre_tokenizer, const Part& normalizer,
                         const std::vector<AddedToken>& tokens) {
  const std::vector<Part> steps = steps_of(pre_tokenizer);
  const auto at = std::ranges::find_if(steps, [](const Part& step) {
    return step.type() == "Metaspace" && scheme_of(step) == "first";
  });
  if (at == steps.end()) return;
  const Part& part = *at;
  if (!normalizer.is_null())
    part.unsupported("marks the first piece behind a normalizer, which OpenVINO's ops cannot tell");
  std::vector<std::string> begins = {" ", replacement_of(part)};
  for (const AddedToken& token : tokens)
    if (!token.content.empty()) begins.push_back(token.content);
  pieces.replace(fmt::format("^(?!{})(?=[\\s\\S])", longest_of(begins)), " ");
}

}  // namespace slipway::openvino
