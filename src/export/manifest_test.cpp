// export.json: the reference's files read and written back byte for byte; hostile ones refused.
#include "export/manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/test_expect.h"
#include "base/test_folder.h"

namespace slipway {
namespace {

TEST(Manifest, WritesTheReferencesFilesByteForByte) {
  for (const char* name : {"llama-causal-lm", "llama-causal-lm-gen", "bert-base"}) {
    const std::string text = TestFolder::read(
        std::string(SLIPWAY_SOURCE_DIR "/tests/golden/export_json/") + name + ".json");
    EXPECT_EQ(manifest_text(parse_manifest(text, name)), text) << name;
  }
}

Manifest sample() {
  ExportMetadata m;
  m.architecture = "ModèleForTest";
  m.packages = {{"slipway", "0.1.0"}, {"onnx", "1.23.2"}};
  m.export_config = R"({"dynamic": true, "opset_version": null, "scale": 1e-05})";
  m.export_dtype = "bfloat16";
  m.export_device = "cpu";
  m.kwargs = {{"input_ids", TracedKwarg::tensor({2, 0}, "int64")},
              {"nested", TracedKwarg::mapping({{"x", TracedKwarg::tensor({}, "bool")}})},
              {"past_key_values", TracedKwarg::of_class("DynamicCache")}};
  m.in_constants = {
      {"a", std::monostate{}}, {"b", true}, {"c", int64_t{-3}}, {"d", 0.5}, {"e", "text"}};
  m.out_constants = {{3, int64_t{4096}}, {4, std::monostate{}}};
  return {1, "onnx", {{"model", "model.onnx", m}, {"decode", "decode.onnx", {}}}};
}

TEST(Manifest, ReadsBackWhatItWrites) {
  const std::string text = manifest_text(sample());
  EXPECT_EQ(parse_manifest(text, "export.json"), sample());
  EXPECT_TRUE(
      contains(text, "\"architecture\": \"Mod\\u00e8leForTest\",\n        \"packages\": {\n"));
  EXPECT_TRUE(contains(text, "\"rank\": 2,\n            \"shape\": [\n              2,\n"));
  EXPECT_TRUE(contains(text, "\"shape\": [],"));
  EXPECT_EQ(text.back(), '\n');
}

TEST(Manifest, NamesMethodsOfExecutorchOnly) {
  Manifest one{1, "executorch", {{"prefill", "model.pte", {}, "prefill"}, {"b", "b.pte", {}}}};
  const std::string text = manifest_text(one);
  EXPECT_EQ(parse_manifest(text, "export.json"), one);
  EXPECT_TRUE(contains(text, "\"file\": \"model.pte\",\n      \"method\": \"prefill\",\n"));
  EXPECT_FALSE(contains(text.substr(text.find("b.pte")), "method"));
  const auto read = [](const char* format, const char* method) {
    return parse_manifest(fmt::format(R"({{"export_format": "{}", "components": {{"model": {{
                                          "file": "a", "method": {}, "metadata": {{}}}}}}}})",
                                      format, method),
                          "export.json");
  };
  EXPECT_EQ(read("executorch", "null").components[0].method, "");
  EXPECT_EQ(read("onnx", "\"a\"").components[0].method, "");  // a field of somebody else
  for (const char* method : {"\"\"", "1", "[]"})
    EXPECT_TRUE(contains(error_of(kInvalid, [&] { read("executorch", method); }),
                         "components: model: method] got"));
}

TEST(Manifest, ReadsFromADirectory) {
  const TestFolder folder;
  folder.write("é/export.json", manifest_text(sample()));
  EXPECT_EQ(read_manifest(folder / "é"), sample());
  EXPECT_TRUE(
      contains(error_of(kInvalid, [&] { read_manifest(folder.path()); }), "is not an export"));
}

TEST(Manifest, SkipsUnknownFieldsAndFillsAbsentOnes) {
  const Manifest m = parse_manifest(
      R"({"export_format": "openvino", "later": [1], "components":
          {"model": {"file": "a.xml", "later": 1, "metadata": {"later": {}, "kwargs": null}}}})",
      "f");
  EXPECT_EQ(m.schema_version, 1);
  EXPECT_EQ(m.components.at(0).file, "a.xml");
  EXPECT_EQ(m.components.at(0).metadata, ExportMetadata());
}

TEST(Manifest, WarnsOfANewerSchema) {
  testing::internal::CaptureStderr();
  parse_manifest(R"({"schema_version": 2, "export_format": "onnx", "components":
                     {"model": {"file": "a", "metadata": {}}}})",
                 "f.json");
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "schema 2"));
}

std::string file_error(const std::string& file) {
  Json json =
      parse_json(R"({"export_format": "onnx", "components": {"model": {"metadata": {}}}})", "f");
  json["components"]["model"]["file"] = file;
  return error_of(kInvalid, [&] { parse_manifest(json.dump(), "export.json"); });
}

TEST(Manifest, FilesStayInTheDirectory) {
  for (const char* file : {"../model.onnx", "/etc/passwd", "a/b", "..", ".", "", "a\\b", "a\nb"})
    EXPECT_TRUE(contains(file_error(file), "[export.json: components: model: file] got the text"))
        << file;
  EXPECT_TRUE(contains(file_error(std::string(256, 'a')), "plain name"));
  EXPECT_TRUE(is_plain_file_name("..model.onnx"));
  EXPECT_TRUE(is_plain_file_name("模型 é.onnx"));
}

TEST(Manifest, RefusesWhatIsNoManifest) {
  const auto fails = [](const std::string& text) {
    return error_of(kInvalid, [&] { parse_manifest(text, "export.json"); });
  };
  EXPECT_TRUE(contains(fails("{"), "line 1"));
  EXPECT_TRUE(contains(fails("[]"), "a list of 0, need an object"));
  EXPECT_TRUE(contains(fails("{}"), "export_format is absent"));
  EXPECT_TRUE(contains(fails(R"({"export_format": "onnx"})"), "components is absent"));
  EXPECT_TRUE(
      contains(fails(R"({"export_format": "onnx", "components": {}})"), "1 to 256 components"));
  EXPECT_TRUE(
      contains(fails(R"({"export_format": "onnx", "schema_version": 1.5})"), "an integer from 1"));
  EXPECT_TRUE(
      contains(fails(R"({"export_format": "onnx", "components": {"../m": {}}})"), "plain name"));
  EXPECT_TRUE(contains(
      error_of(kUnsupported, [] { parse_manifest(R"({"export_format": "tflite"})", "e"); }),
      "got the text \"tflite\", need one of dynamo, executorch, onnx, openvino"));
  const auto metadata = [&](const std::string& fields) {
    return fails(
        R"({"export_format": "onnx", "components": {"m": {"file": "m.onnx", "metadata": {)" +
        fields + "}}}}");
  };
  EXPECT_TRUE(
      contains(metadata(R"("architecture": 3)"), "m: metadata: architecture] got the number 3"));
  EXPECT_TRUE(contains(metadata(R"("kwargs": {"x": {"shape": [-1], "dtype": "int64"}})"),
                       "kwargs: x: shape"));
  EXPECT_TRUE(
      contains(metadata(R"("kwargs": {"x": {"rank": 3, "shape": [1], "dtype": "a"}})"), "rank"));
  EXPECT_TRUE(contains(metadata(R"("kwargs": {"x": {}})"), "shape is absent"));
  EXPECT_TRUE(contains(metadata(R"("in_constants": {"x": []})"), "a list of 0"));
  EXPECT_TRUE(contains(metadata(R"("out_constants": [[1]])"), "a pair"));
  EXPECT_TRUE(
      contains(metadata(R"("out_constants": [[18446744073709551615, 1]])"), "an integer from 0"));
  EXPECT_TRUE(contains(metadata(R"("in_spec": {})"), "a text"));
}

TEST(Manifest, NamesTheFilesOfEachFormat) {
  EXPECT_EQ(program_file("onnx", "decode"), "decode.onnx");
  EXPECT_EQ(program_file("openvino", "model"), "openvino_model.xml");
  EXPECT_EQ(program_files("onnx", "m.onnx"), (std::vector<std::string>{"m.onnx", "m.onnx.data"}));
  EXPECT_EQ(program_files("openvino", "m.xml"), (std::vector<std::string>{"m.xml", "m.bin"}));
  EXPECT_EQ(program_files("dynamo", "m.pt2"), (std::vector<std::string>{"m.pt2"}));
  EXPECT_TRUE(contains(error_of(kUnsupported, [] { program_files("x", "m"); }), "\"x\""));
}

}  // namespace
}  // namespace slipway
