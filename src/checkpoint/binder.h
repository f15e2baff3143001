// The checkpoint audit: every tensor a model needs, found by name and checked, all problems at
// once.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/weight_store.h"

namespace slipway {

/// What a model says about the names in its checkpoints.
struct BinderOptions {
  /// The base model's attribute in the task models: "model", "bert", "transformer"; may be empty.
  std::string base_prefix;
  /// Stored names that may stay unused, `*` standing for any text: "*.rotary_emb.inv_freq",
  /// "*.position_ids", "bert.pooler.*". A leading "*." also matches nothing; a base prefix that the
  /// checkpoint has and the pattern lacks, or the other way round, makes no difference.
  std::vector<std::string> ignorable;
};

/// Gives a model its weights by their Hugging Face names ("model.layers.0.mlp.up_proj.weight" in a
/// task model, with or without "model." in the base model). A checkpoint saved with or without the
/// base prefix, and the spellings LayerNorm.gamma / LayerNorm.beta, are found under the same name.
/// bind() never returns null; problems are collected and thrown together by finish(). Not
/// thread-safe; the lazy tensors it returns are.
class WeightBinder {
 public:
  WeightBinder(std::shared_ptr<const WeightStore> store, BinderOptions options);

  /// Declares that a config ties `target` to `source` ("lm_head.weight" to
  /// "model.embed_tokens.weight"). Call before binding either. bind() then gives one object for
  /// both when either is absent or both have equal contents; when both are stored with different
  /// contents it keeps them apart and warns, as transformers does.
  void tie(std::string_view target, std::string_view source);

  /// The tensor, which must exist, be floating point and have this shape; `why` says which settings
  /// the shape comes from. A placeholder that cannot be read when a problem was recorded.
  Lazy bind(std::string_view name, const Shape& expected, std::string_view why);

  /// Like bind(), but null when there is no such tensor.
  Lazy bind_optional(std::string_view name, const Shape& expected, std::string_view why);

  /// Whether the checkpoint stores the tensor itself; ties do not count.
  bool has(std::string_view name) const;

  /// Throws one Error{kInvalid} that lists what is missing (with the nearest stored name), what has
  /// another shape, and what is stored below the base model but was never asked for. Other unused
  /// tensors (another task's head) are named in a warning.
  void finish() const;

 private:
  struct Missing {
    std::string name, why;
    Shape shape;
  };

  /// The stored spelling of a name the model asks for; empty when there is none.
  std::string resolve(std::string_view name) const;
  Lazy bind_own(std::string_view name, const Shape& expected, std::string_view why);
  /// The stored name of a tie group whose source is `source`; `source` when none is stored.
  std::string representative(const std::string& source) const;
  /// The name whose contents `name` shares, when the config ties it and the store agrees.
  std::string tied_name(std::string_view name);
  std::string missing_text() const;
  /// The tensors that nothing asked for, below the base model or elsewhere.
  struct Surplus {
    std::vector<std::string> base, other;
    bool headless = true;  ///< the model asked for nothing outside the base model
  };
  Surplus surplus() const;

  std::shared_ptr<const WeightStore> store_;
  BinderOptions options_;
  std::map<std::string, std::string, std::less<>> ties_;  // target -> source
  std::map<std::string, bool, std::less<>> tied_equal_;   // by target, once compared
  std::set<std::string, std::less<>> asked_;              // names as the model spells them
  std::set<std::string, std::less<>> used_;               // names as the store spells them
  std::vector<Missing> missing_;
  std::vector<std::string> mismatched_;
};

/// Whether two tensors have the same dtype, shape and bytes; reads both in pieces.
bool equal_contents(const Lazy& a, const Lazy& b);

}  // namespace slipway
