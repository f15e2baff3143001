// Normalizers of tokenizer.json as string ops.
#include <fmt/format.h>

#include "backends/openvino/character_map.h"
#include "backends/openvino/tokenizer_regex.h"
#include "backends/openvino/tokenizer_steps.h"
#include "base/base64.h"

namespace slipway::openvino {
namespace {

/// The blocks of ideographs that BERT sets apart.
constexpr std::string_view kIdeographs =
    R"(\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F})"
    R"(\x{2B740}-\x{2B81F}\x{2B920}-\x{2CEAF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F})";

/// Control characters but for tabs and line ends. Unicode had less of them when the library's table
/// was made.
constexpr std::string_view kControl =
    R"((?![\t\n\r\x{890}\x{891}\x{8E2}\x{110CD}\x{13430}-\x{1343F}])[\p{Cc}\p{Cf}\p{Co}\x{FFFD}])";

void add_bert(Pieces& pieces, const Part& part) {
  if (part["clean_text"].flag(true)) {
    pieces.replace(kControl, "");
    pieces.replace(fmt::format("[{}]", kWhiteSpace), " ");
  }
  if (part["handle_chinese_chars"].flag(true))
    pieces.replace(fmt::format("([{}])", kIdeographs), " $1 ");
  const bool lowercase = part["lowercase"].flag(true);
  const bool strip = part["strip_accents"].flag(lowercase);
  if (strip) pieces.normalize("nfd");
  if (strip) pieces.replace(R"(\p{Mn})", "");
  if (lowercase) pieces.map_characters(lowercase_map());
}

void add_strip(Pieces& pieces, const Part& part) {
  if (part["strip_left"].flag(false)) pieces.replace(fmt::format("^[{}]+", kWhiteSpace), "");
  if (part["strip_right"].flag(false)) pieces.replace(fmt::format(R"([{}]+\z)", kWhiteSpace), "");
}

}  // namespace

void add_normalizer(Pieces& pieces, const Part& part) {
  if (part.is_null()) return;
  const std::string type = part.type();
  if (type == "Sequence") {
    for (const Part& step : part["normalizers"].list()) add_normalizer(pieces, step);
  } else if (type == "NFC") {
    pieces.normalize("nfc");
  } else if (type == "NFD") {
    pieces.normalize("nfd");
  } else if (type == "NFKC") {
    pieces.normalize("nfkc");
  } else if (type == "NFKD") {
    pieces.normalize("nfkd");
  } else if (type == "Lowercase") {
    pieces.map_characters(lowercase_map());
  } else if (type == "StripAccents") {
    pieces.replace(R"(\p{M})", "");
  } else if (type == "Strip") {
    add_strip(pieces, part);
  } else if (type == "BertNormalizer") {
    add_bert(pieces, part);
  } else if (type == "Prepend") {
    pieces.replace(R"(^(?=[\s\S]))", replacement(part["prepend"]));
  } else if (type == "Replace") {
    pieces.replace(pattern_of(part["pattern"]), replacement(part["content"]));
  } else if (type == "Precompiled") {
    const Part table = part["precompiled_charsmap"];
    const auto bytes = decode_base64(table.text());
    if (!bytes) table.invalid("base64");
    pieces.map_characters(*bytes);
  } else {
    part.unsupported("has no counterpart among OpenVINO's string ops");
  }
}

}  // namespace slipway::openvino
