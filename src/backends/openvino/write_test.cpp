// Writing: equal bytes, tied weights stored once, names, float16, escapes.
#include "backends/openvino/write.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>

#include "backends/openvino/compress.h"
#include "backends/openvino/lower.h"
#include "backends/openvino/xml.h"
#include "base/mapped_file.h"
#include "base/test_expect.h"
#include "models/registry.h"

namespace slipway::openvino {
namespace {

namespace fs = std::filesystem;

class OpenVINOWrite : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "slipway-write-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static ExportedProgram golden(const std::string& name) {
    const Checkpoint checkpoint =
        open_checkpoint(fs::path(SLIPWAY_SOURCE_DIR) / "tests" / "golden" / "models" / name);
    const models::ResolvedTask task =
        models::resolve_task(models::find_model(checkpoint.config), checkpoint.config, "auto");
    models::BuildOptions options;
    options.cache = task.cache;
    return models::build_program(checkpoint, task, options);
  }

  std::string bytes(const std::string& name) const {
    const auto file = MappedFile::open(folder_ / name);
    return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
  }

  /// Writes a graph of one op over x and the weights that are given; returns the document.
  std::string written(const Graph& graph) const {
    write(graph, {}, folder_, "model", {});
    return bytes("openvino_model.xml");
  }

  fs::path folder_;
};

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(OpenVINOWrite, EqualProgramsGiveEqualBytes) {
  for (const char* name : {"llama-causal-lm", "mistral-causal-lm", "qwen2-causal-lm",
                           "qwen3-causal-lm", "bert-base", "bert-masked-lm"}) {
    std::string model[2], data[2];
    for (int round = 0; round < 2; ++round) {
      const ExportedProgram program = golden(name);
      write(*lower(program, {.caches = Caches::kVariables}), program.value_ranges, folder_, "model",
            {});
      model[round] = bytes("openvino_model.xml");
      data[round] = bytes("openvino_model.bin");
    }
    EXPECT_EQ(model[0], model[1]) << name;
    EXPECT_EQ(data[0], data[1]) << name;
    EXPECT_FALSE(data[0].empty()) << name;
  }
}

TEST_F(OpenVINOWrite, ATiedWeightIsStoredOnce) {
  const ExportedProgram program = golden("qwen3-causal-lm");  // tie_word_embeddings
  write(*lower(program), program.value_ranges, folder_, "model", {});
  const std::string text = bytes("openvino_model.xml");
  const size_t table = text.find("\"model.embed_tokens.weight\" type=\"Const\"");
  ASSERT_NE(table, std::string::npos);
  EXPECT_EQ(occurrences(text, "shape=\"128, "), 1u);  // the vocabulary occurs in one matrix
}

TEST_F(OpenVINOWrite, NamesBothEndsOfTheCacheAndWhatARunnerNeeds) {
  const ExportedProgram program = golden("llama-causal-lm");
  WriteOptions options;
  options.graph_name = "Llama";
  write(*lower(program), program.value_ranges, folder_, "model", options);
  const std::string text = bytes("openvino_model.xml");
  for (const char* part :
       {"<net name=\"Llama\" version=\"11\">", "names=\"input.past_key_values.layers.0.keys\"",
        "output_names=\"output.past_key_values.layers.0.keys\"", "output_names=\"logits\"",
        "<ranges value=\"{&quot;input_ids&quot;:[0,127]}\" />",
        "<INFERENCE_PRECISION_HINT value=\"f32\" />",
        "type=\"ScaledDotProductAttention\" version=\"opset13\""})
    EXPECT_TRUE(contains(text, part)) << part;
}

TEST_F(OpenVINOWrite, VariablesAreSinksAndNoResults) {
  const ExportedProgram program = golden("llama-causal-lm");
  write(*lower(program, {.caches = Caches::kVariables}), {}, folder_, "model", {});
  const std::string text = bytes("openvino_model.xml");
  EXPECT_EQ(occurrences(text, "type=\"Result\""), 1u);
  EXPECT_EQ(occurrences(text, "type=\"ReadValue\" version=\"opset6\""), 4u);
  EXPECT_EQ(occurrences(text, "type=\"Assign\" version=\"opset6\""), 4u);
  EXPECT_EQ(occurrences(text, "variable_id=\"past_key_values.1.valuepresent.1.value\""), 2u);
  EXPECT_EQ(occurrences(text, "variable_shape=\"?,2,?,8\""), 4u);
}

TEST_F(OpenVINOWrite, AnOutputThatIsAnInputOrASecondOutputHasATensorOfItsOwn) {
  Graph graph;
  const Value x = graph.add_input("x", {DType::kF32, {2}});
  register_ops(openvino_ops());
  const Value y = graph.emit("ov::Negative", {x});
  graph.add_output("same", x);
  graph.add_output("a", y);
  graph.add_output("b", y);
  const std::string text = written(graph);
  EXPECT_EQ(occurrences(text, "type=\"Convert\""), 2u);
  for (const char* name : {"names=\"x\"", "names=\"same\"", "names=\"a\"", "names=\"b\""})
    EXPECT_TRUE(contains(text, name)) << name;
}

TEST_F(OpenVINOWrite, WeightsBeyondFloat16StayFloat32) {
  ExportedProgram program;
  Graph& g = *program.graph;
  const Value x = g.add_input("x", {DType::kF32, {2}});
  const auto weight = [&](const char* name, float second) {
    const float values[] = {1.0F, second};
    return g.add_weight(name,
                        lazy_constant(Tensor::copy_of<float>({2}, std::span<const float>(values))));
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Value y = x;
  for (const auto& [name, second] : {std::pair<const char*, float>{"small", 65504.0F},
                                     {"edge", 65519.9F},
                                     {"large", -65520.0F},
                                     {"endless", kInfinity}})
    y = g.emit("aten::add.Tensor", {y, weight(name, second)});
  g.add_output("y", y);
  const auto graph = lower(program);
  EXPECT_EQ(compress_to_fp16(*graph), std::vector<std::string>{"large"});
  const std::string text = written(*graph);
  EXPECT_EQ(occurrences(text, "element_type=\"f16\""), 3u);
  EXPECT_EQ(occurrences(text, "<attribute name=\"decompression\" version=\"0\" />"), 3u);
  EXPECT_EQ(graph->outputs()[0].value.type(), (ValueType{DType::kF32, {2}}));
}

TEST(Xml, EscapesAndNests) {
  Xml xml;
  xml.open("a");
  xml.attribute("b", "<\"&\n\x01>");
  xml.open("c");
  xml.leaf("d", "1 < 2");
  xml.close();
  xml.open("e");
  xml.close();
  xml.close();
  EXPECT_EQ(xml.text(),
            "<?xml version=\"1.0\"?>\n<a b=\"&lt;&quot;&amp;&#10;\xEF\xBF\xBD&gt;\">\n\t<c>\n"
            "\t\t<d>1 &lt; 2</d>\n\t</c>\n\t<e />\n</a>\n");
}

}  // namespace
}  // namespace slipway::openvino
