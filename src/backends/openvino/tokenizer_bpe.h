// Merges of byte-pair encoding: which of them can happen, and what they make of a text.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/openvino/tokenizer_model.h"

namespace slipway::openvino {

/// A byte-pair model as its op takes it. Texts are bytes where the alphabet is one of bytes.
struct BytePairs {
  std::vector<std::string> tokens;  ///< by id; "" where no text can become the token
  std::vector<std::string> left, right;

  /// Leaves out what can never happen: merges of tokens that no text gives, and tokens that no
  /// merge gives. Throws Error{kInvalid} for a merge of tokens that do not exist.
  static BytePairs from(const Part& model, const Vocabulary& vocabulary, Alphabet alphabet);

  /// What becomes of a text that is one piece, by merging alone; nothing where a character of it
  /// is no token.
  std::vector<int64_t> encode(const std::string& text, Alphabet alphabet) const;
  bool contains(const std::string& token) const { return ids_.contains(token); }

 private:
  struct Merge {
    size_t rank;
    int64_t id;
  };
  std::unordered_map<std::string, int64_t> ids_;
  std::unordered_map<uint64_t, Merge> merges_;
};

}  // namespace slipway::openvino
