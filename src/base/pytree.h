// PyTorch's tree specs: how flat tensors nest into the arguments and results of a call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "slipway/dtype.h"

namespace slipway {

/// The sizes of a static cache.
struct StaticCacheShape {
  int64_t layers = 0, batch = 0, heads = 0, slots = 0, head_dim = 0;
};

/// A node of a tree spec: a container class with its context, or a leaf.
struct TreeSpec {
  std::string type;  ///< the registered name of the class, empty for a leaf
  Json context;      ///< what the class needs beside its children, as a value
  std::vector<TreeSpec> children;

  bool is_leaf() const { return type.empty(); }
  bool operator==(const TreeSpec&) const = default;

  static TreeSpec leaf() { return {}; }
  static TreeSpec tuple(std::vector<TreeSpec> children);
  static TreeSpec list(std::vector<TreeSpec> children);
  static TreeSpec dict(std::vector<std::pair<std::string, TreeSpec>> items);
  /// A transformers ModelOutput, such as "transformers.modeling_outputs.CausalLMOutputWithPast".
  /// Fields that are None are left out.
  static TreeSpec model_output(std::string type,
                               std::vector<std::pair<std::string, TreeSpec>> fields);
  /// A transformers DynamicCache of full-attention layers, a key and a value tensor each.
  static TreeSpec dynamic_cache(int64_t layers, DType dtype, std::string_view device = "cpu");
  /// The same cache before anything was written to it: it has no leaves.
  static TreeSpec empty_dynamic_cache(int64_t layers);
  /// A transformers StaticCache of full-attention layers: keys, values and cumulative_length each.
  /// The slots are those of the example; a runtime's own may differ.
  static TreeSpec static_cache(const StaticCacheShape& shape, DType dtype,
                               std::string_view device = "cpu");
  /// The same cache before anything was written to it: its leaves are the cumulative lengths.
  static TreeSpec empty_static_cache(const StaticCacheShape& shape);
  /// The arguments of a call that takes keywords only: ((), {name: spec}).
  static TreeSpec keyword_call(std::vector<std::pair<std::string, TreeSpec>> kwargs);

  int64_t num_leaves() const;
};

/// The text that torch.utils._pytree.treespec_dumps writes (protocol 1).
std::string dump_tree_spec(const TreeSpec& spec);

/// Reads such a text, whoever wrote it. `source` is named in errors. Throws Error{kInvalid} for a
/// text that is not a tree spec or is beyond limits, Error{kUnsupported} for another protocol.
TreeSpec parse_tree_spec(std::string_view text, std::string_view source);

/// The dotted paths of a spec's leaves in order, named as the reference's get_leaf_tensors names
/// them: "logits", "past_key_values.layers.0.keys"; a bare leaf is "output". Throws
/// Error{kUnsupported} for a class whose fields are unknown and Error{kInvalid} for a context that
/// does not fit its children.
std::vector<std::string> leaf_names(const TreeSpec& spec, std::string_view source);

/// leaf_names of a call's keyword arguments. Throws Error{kUnsupported} where the spec has
/// positional arguments.
std::vector<std::string> input_leaf_names(const TreeSpec& in_spec, std::string_view source);

}  // namespace slipway
