// libFuzzer target: export.json and the tree specs inside it.
#include <string>

#include "export/manifest.h"
#include "base/pytree.h"
#include "fuzz.h"

namespace {

using slipway::fuzz::attempt;

void read_spec(std::string_view text) {
  attempt([&] {
    const slipway::TreeSpec spec = slipway::parse_tree_spec(text, "spec");
    // What was read is written as a text that reads the same.
    if (slipway::parse_tree_spec(slipway::dump_tree_spec(spec), "spec") != spec) __builtin_trap();
    attempt([&] { slipway::leaf_names(spec, "spec"); });
    attempt([&] { slipway::input_leaf_names(spec, "spec"); });
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = slipway::fuzz::text(data, size);
  read_spec(text);
  attempt([&] {
    const slipway::Manifest manifest = slipway::parse_manifest(text, "export.json");
    for (const auto& component : manifest.components) {
      if (component.file.find('/') != std::string::npos) __builtin_trap();
      for (const auto& spec : {component.metadata.in_spec, component.metadata.out_spec})
        if (spec) read_spec(*spec);
    }
    const std::string written = slipway::manifest_text(manifest);
    if (slipway::parse_manifest(written, "export.json") != manifest) __builtin_trap();
  });
  return 0;
}
