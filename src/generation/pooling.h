// Sentence embeddings: the token vectors of each row as one vector.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "slipway/tensor.h"

namespace slipway {

enum class Pooling {
  kMean,  ///< the mean of the tokens that the mask keeps
  kCls,   ///< the first of these tokens
};

/// "mean" or "cls"; Error{kUnsupported} for another word.
Pooling pooling_named(std::string_view name);

/// How a checkpoint of sentence-transformers makes embeddings.
struct PoolingSettings {
  std::string pooling = "mean";       ///< as the files say it; pooling_named() may not know it
  bool normalize = false;             ///< it has a module that normalizes
  std::optional<int64_t> max_length;  ///< tokens of a text that count

  /// Reads modules.json, the pooling module's config.json and sentence_bert_config.json where they
  /// are; files that are absent leave the defaults. Throws Error{kInvalid} for malformed files.
  static PoolingSettings from_directory(const std::filesystem::path& directory);
};

/// Vectors of floats [batch, sequence, width] and a mask int64 [batch, sequence] to float32
/// [batch, width]. Sums are made in double. A row without any token gives zeros. Throws
/// Error{kInvalid} for shapes that do not fit.
Tensor pool(const Tensor& token_vectors, const Tensor& attention_mask, Pooling pooling);

/// Divides each row of a float32 [batch, width] by its length; zeros stay zeros.
Tensor l2_normalize(const Tensor& rows);

}  // namespace slipway
