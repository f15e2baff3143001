// The passes that exporters run over their graphs.
#include "export/optimize.h"

#include <fmt/format.h>

#include "base/log.h"
#include "passes/pipeline.h"

namespace slipway {

void optimize(Graph& graph, std::vector<std::string_view> names,
              const std::vector<std::string>& disabled, std::string_view stage) {
  for (const std::string& name : disabled) {
    find_pass(name);  // an unknown name is an error
    std::erase(names, name);
  }
  if (names.empty()) return;
  Pipeline pipeline;
  pipeline.repeat(names);
  PassContext context;
  pipeline.run(graph, context);
  for (const PassReport& pass : pipeline.report())
    log::debug(fmt::format("{} {}: {} changes in {:.1f} ms", stage, pass.name, pass.changes,
                           pass.seconds * 1e3));
}

}  // namespace slipway
