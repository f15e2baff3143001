// The directory of OpenVINO GenAI: its files, what is refused, reading it back, replacing it.
#include <gtest/gtest.h>

#include "base/test_expect.h"
#include "base/test_folder.h"
#include "export/layout.h"
#include "generation/tokenizer_fixture.h"
#include "slipway/exporter.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

class OpenVINOLayout : public testing::Test {
 protected:
  /// A golden checkpoint with a tokenizer beside it.
  fs::path checkpoint(const std::string& name = "llama-causal-lm") const {
    const fs::path path = folder_ / "checkpoint";
    if (fs::exists(path)) return path;
    fs::copy(fs::path(SLIPWAY_SOURCE_DIR) / "tests" / "golden" / "models" / name, path);
    folder_.write("checkpoint/tokenizer.json", byte_level_tokenizer().dump());
    folder_.write("checkpoint/tokenizer_config.json", byte_level_config().dump());
    folder_.write("checkpoint/chat_template.jinja", "{{ messages[0].content }}");
    return path;
  }
  ExportedModel exported(const OpenVINOConfig& config,
                         const std::string& task = "text-generation-with-past") const {
    const auto model = PreTrainedModel::from_pretrained(checkpoint(), task);
    return OpenVINOExporter().export_model(model, model.example_inputs(), config);
  }
  static OpenVINOConfig dynamic() {
    OpenVINOConfig config;
    config.dynamic = true;
    return config;
  }
  void save(const ExportedModel& model, Layout layout = Layout::kOpenvinoGenai) const {
    model.save_pretrained(folder_ / "out", {.layout = layout, .before_commit = {}});
  }
  bool has(const std::string& name) const { return fs::exists(folder_ / "out" / name); }

  TestFolder folder_;
};

TEST_F(OpenVINOLayout, HasTheFilesOfItsTools) {
  save(exported(dynamic()));
  for (const char* name :
       {"openvino_model.xml", "openvino_model.bin", "openvino_tokenizer.xml",
        "openvino_tokenizer.bin", "openvino_detokenizer.xml", "openvino_detokenizer.bin",
        "config.json", "generation_config.json", "tokenizer.json", "chat_template.jinja"})
    EXPECT_TRUE(has(name)) << name;
  EXPECT_FALSE(has("export.json"));
  const std::string tokenizer = TestFolder::read(folder_ / "out" / "openvino_tokenizer.xml");
  EXPECT_TRUE(contains(tokenizer, "<bos_token_id value=\"260\" />"));
  EXPECT_TRUE(contains(tokenizer, "<pad_token_id value=\"262\" />"));
  EXPECT_TRUE(contains(tokenizer, "<chat_template value=\"{{ messages[0].content }}\" />"));
}

TEST_F(OpenVINOLayout, IsReadAsOneComponent) {
  save(exported(dynamic()));
  const ExportListing listing = list_export(folder_ / "out");
  EXPECT_EQ(listing.layout, Layout::kOpenvinoGenai);
  EXPECT_EQ(listing.manifest.export_format, "openvino");
  ASSERT_EQ(listing.manifest.components.size(), 1u);
  EXPECT_EQ(listing.manifest.components[0].name, "model");
  EXPECT_EQ(listing.manifest.components[0].file, "openvino_model.xml");
  EXPECT_EQ(listing.manifest.components[0].metadata.architecture, "LlamaForCausalLM");
  EXPECT_FALSE(holds_weights(folder_ / "out"));  // a .bin of IR is none of a checkpoint
}

TEST_F(OpenVINOLayout, LeavesOutATokenizerThatOpsCannotDo) {
  Json tokenizer = byte_level_tokenizer();
  tokenizer["pre_tokenizer"] = {{"type", "UnicodeScripts"}};
  checkpoint();
  folder_.write("checkpoint/tokenizer.json", tokenizer.dump());
  save(exported(dynamic()));
  EXPECT_TRUE(has("openvino_model.xml"));
  EXPECT_TRUE(has("tokenizer.json"));
  EXPECT_FALSE(has("openvino_tokenizer.xml"));
  EXPECT_FALSE(has("openvino_detokenizer.xml"));
}

TEST_F(OpenVINOLayout, RefusesGraphsThatItsToolsCannotRead) {
  OpenVINOConfig stateless = dynamic();
  stateless.stateful = false;
  EXPECT_TRUE(contains(error_of(kUsage, [&] { save(exported(stateless)); }),
                       "needs caches that are variables; export with stateful caches"));
  EXPECT_TRUE(
      contains(error_of(kUnsupported, [&] { save(exported(dynamic(), "text-generation")); }),
               "export the task text-generation-with-past"));
  EXPECT_TRUE(contains(error_of(kUnsupported, [&] { save(exported(OpenVINOConfig())); }),
                       "input_ids has the fixed size"));
  const auto model = PreTrainedModel::from_pretrained(checkpoint());
  OnnxConfig onnx;
  onnx.dynamic = true;
  const auto as_onnx = OnnxExporter().export_model(model, model.example_inputs(), onnx);
  EXPECT_TRUE(contains(error_of(kUsage, [&] { save(as_onnx); }),
                       "openvino-genai holds graphs of format openvino, the export is of format "
                       "onnx; export with format openvino"));
  EXPECT_TRUE(contains(error_of(kUsage, [&] { save(exported(dynamic()), Layout::kGenai); }),
                       "genai holds graphs of format onnx, the export is of format openvino"));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(OpenVINOLayout, AnotherExportReplacesIt) {
  const ExportedModel model = exported(dynamic());
  save(model);
  folder_.write("out/README.md", "mine");
  save(model, Layout::kSlipway);
  EXPECT_TRUE(has("export.json"));
  EXPECT_TRUE(has("README.md"));
  for (const char* name : kOpenvinoTokenizerFiles) EXPECT_FALSE(has(name)) << name;
  save(model);
  EXPECT_FALSE(has("export.json"));
  EXPECT_TRUE(has("openvino_tokenizer.xml"));
}

}  // namespace
}  // namespace slipway
