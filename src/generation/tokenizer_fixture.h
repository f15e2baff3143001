// A small tokenizer for tests, made in memory.
#pragma once

#include <string>

#include "base/json.h"

namespace slipway {

/// The character that byte-level vocabularies write for a byte: itself when it is printable
/// Latin-1, else the next free one from U+0100 on.
inline std::string byte_character(int byte) {
  auto printable = [](int b) { return (b > 32 && b < 127) || (b > 160 && b < 256 && b != 173); };
  int code = byte;
  if (!printable(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b) code += printable(b) ? 0 : 1;
  }
  if (code < 128) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 63))};
}

/// Byte-level BPE: ids 0-255 are the bytes, 256 "he", 257 "ll", 258 "hell", 259 "hello",
/// then <s> 260, </s> 261 and <pad> 262; <s> is put in front of a text.
inline Json byte_level_tokenizer() {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte) vocab[byte_character(byte)] = byte;
  for (const char* merged : {"he", "ll", "hell", "hello"}) vocab[merged] = vocab.size();
  Json added = Json::array();
  for (const char* token : {"<s>", "</s>", "<pad>"}) {
    added.push_back({{"id", 260 + added.size()},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  const Json sequence_a = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const Json sequence_b = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
  const Json bos = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const Json bos_b = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 1}}}};
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", true},
                           {"use_regex", true}};
  const Json special = {
      {"<s>", {{"id", "<s>"}, {"ids", Json::array({260})}, {"tokens", Json::array({"<s>"})}}}};
  return {
      {"version", "1.0"},
      {"truncation",
       {{"max_length", 2}, {"strategy", "LongestFirst"}, {"stride", 0}, {"direction", "Right"}}},
      {"padding", nullptr},
      {"added_tokens", added},
      {"normalizer", nullptr},
      {"pre_tokenizer", byte_level},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single", Json::array({bos, sequence_a})},
        {"pair", Json::array({bos, sequence_a, bos_b, sequence_b})},
        {"special_tokens", special}}},
      {"decoder", byte_level},
      {"model",
       {{"type", "BPE"},
        {"vocab", vocab},
        {"merges", Json::array({"h e", "l l", "he ll", "hell o"})}}}};
}

/// What tokenizer_config.json says of byte_level_tokenizer().
inline Json byte_level_config() {
  return {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"pad_token", "<pad>"}};
}

}  // namespace slipway
