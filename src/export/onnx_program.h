// A graph of ONNX ops that is not on disk yet.
#pragma once

#include "export/impl.h"

namespace slipway {

class OnnxProgram final : public FreshProgram {
 public:
  OnnxProgram(std::unique_ptr<Graph> graph, std::map<std::string, ValueRange> ranges,
              onnx::WriteOptions options)
      : graph_(std::move(graph)), ranges_(std::move(ranges)), options_(std::move(options)) {}

  std::string format() const override { return "onnx"; }
  const Graph& graph() const override { return *graph_; }
  const std::map<std::string, ValueRange>& ranges() const { return ranges_; }
  const onnx::WriteOptions& options() const { return options_; }

  bool is_optional(const std::string& input) const override {
    return options_.input_defaults.contains(input);
  }
  void write(const std::filesystem::path& folder, const std::string& component,
             SharedWeights& shared) const override;
  ProgramSizes measure(const std::string& component, SharedWeights& shared) const override;

 private:
  std::unique_ptr<Graph> graph_;
  std::map<std::string, ValueRange> ranges_;
  onnx::WriteOptions options_;
};

/// The ONNX graph of a fresh program, which must be of this format.
const OnnxProgram& onnx_program(const Program::Impl& program);

}  // namespace slipway
