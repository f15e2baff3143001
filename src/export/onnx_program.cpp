// A graph of ONNX ops that is not on disk yet.
#include "export/onnx_program.h"

namespace slipway {

void OnnxProgram::write(const std::filesystem::path& folder, const std::string& component,
                        SharedWeights& shared) const {
  onnx::WriteOptions options = options_;
  options.data_file = shared.name;
  onnx::write_graph(*graph_, ranges_, folder, component, options, shared.data);
}

ProgramSizes OnnxProgram::measure(const std::string& component, SharedWeights& shared) const {
  const onnx::WriteSummary sizes =
      onnx::measure(*graph_, ranges_, component, options_, shared.data);
  return {sizes.model_bytes, sizes.data_bytes, sizes.nodes};
}

const OnnxProgram& onnx_program(const Program::Impl& program) {
  const auto* onnx = dynamic_cast<const OnnxProgram*>(program.fresh.get());
  SLIPWAY_ASSERT(onnx != nullptr);
  return *onnx;
}

}  // namespace slipway
