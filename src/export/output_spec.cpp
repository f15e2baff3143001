// Outputs that a graph does not give, taken out of what is recorded about it.
#include "export/output_spec.h"

#include <algorithm>
#include <map>

#include "base/pytree.h"

namespace slipway {

void drop_outputs(ExportMetadata& metadata, const std::set<std::string>& leaves) {
  if (!metadata.out_spec || leaves.empty()) return;
  TreeSpec spec = parse_tree_spec(*metadata.out_spec, "out_spec");
  if (!spec.context.is_array() || spec.context.size() != spec.children.size()) return;
  const std::vector<std::string> names = leaf_names(spec, "out_spec");
  std::map<int64_t, int64_t> moved;  // of leaves that stay
  TreeSpec left{spec.type, Json::array(), {}};
  int64_t at = 0, kept = 0;
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const int64_t count = spec.children[i].num_leaves();
    const auto first = names.begin() + at;
    const bool inside = count > 0 && std::all_of(first, first + count, [&](const auto& name) {
                          return leaves.contains(name);
                        });
    for (int64_t n = 0; n < count && !inside; ++n) moved[at + n] = kept++;
    at += count;
    if (inside) continue;
    left.context.push_back(spec.context[i]);
    left.children.push_back(std::move(spec.children[i]));
  }
  metadata.out_spec = dump_tree_spec(left);
  std::erase_if(metadata.out_constants, [&](const auto& c) { return !moved.contains(c.first); });
  for (auto& [index, value] : metadata.out_constants) index = moved.at(index);
}

}  // namespace slipway
