// Fields whose leaves a graph keeps inside leave the recorded structure.
#include "export/output_spec.h"

#include <gtest/gtest.h>

#include "base/pytree.h"

namespace slipway {
namespace {

TEST(DropOutputs, TakesWholeFieldsAndMovesConstants) {
  const auto spec = [](bool cache) {
    std::vector<std::pair<std::string, TreeSpec>> fields = {{"logits", TreeSpec::leaf()}};
    if (cache) fields.emplace_back("past_key_values", TreeSpec::dynamic_cache(1, DType::kF32));
    fields.emplace_back("count", TreeSpec::leaf());
    return dump_tree_spec(TreeSpec::model_output(
        "transformers.modeling_outputs.CausalLMOutputWithPast", std::move(fields)));
  };
  ExportMetadata metadata;
  metadata.out_spec = spec(true);
  metadata.out_constants = {{3, int64_t{7}}};
  const ExportMetadata before = metadata;
  drop_outputs(metadata, {});
  EXPECT_EQ(metadata, before);
  drop_outputs(metadata, {"past_key_values.layers.0.keys"});  // not the whole field
  EXPECT_EQ(metadata, before);
  drop_outputs(metadata, {"past_key_values.layers.0.keys", "past_key_values.layers.0.values"});
  EXPECT_EQ(*metadata.out_spec, spec(false));
  EXPECT_EQ(metadata.out_constants[0].first, 1);
}

}  // namespace
}  // namespace slipway
