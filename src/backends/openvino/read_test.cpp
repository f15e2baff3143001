// The outline of an IR file: what our own writer and others' say, and what is refused.
#include "backends/openvino/read.h"

#include <fmt/format.h>

#include <string>

#include "base/test_expect.h"

namespace slipway::openvino {
namespace {

/// y = x w, as an IR; `parts` replaces texts in it.
std::string product(std::initializer_list<std::pair<std::string, std::string>> parts = {}) {
  std::string text = R"(<?xml version="1.0"?>
<net name="Model0" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="?,4" element_type="f32"/>
<output><port id="0" names="module/aten::x,x,a\,b"><dim>-1</dim><dim>4</dim></port></output></layer>
<layer id="1" name="w" type="Const" version="opset1">
<data element_type="f32" shape="4, 2" offset="64" size="32"/>
<output><port id="0"><dim>4</dim><dim>2</dim></port></output></layer>
<layer id="2" name="product" type="MatMul" version="opset1"><input><port id="0"/><port id="1"/></input>
<output><port id="2" names="y"><dim>-1</dim><dim>2</dim></port></output></layer>
<layer id="3" name="Result_y" type="Result" version="opset1">
<input><port id="0" precision="FP32"><dim>-1</dim><dim>2</dim></port></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
</edges><rt_info><slipway><shapes value='{"x":["rows","4"]}'/><dims value="{}"/></slipway></rt_info></net>)";
  for (const auto& [what, by] : parts) {
    const size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    text.replace(at, what.size(), by);
  }
  return text;
}

FileSummary read(const std::string& text, int64_t* weights = nullptr) {
  int64_t bytes = 0;
  FileSummary summary =
      read_summary({reinterpret_cast<const std::byte*>(text.data()), text.size()}, "m.xml", bytes);
  if (weights != nullptr) *weights = bytes;
  return summary;
}

TEST(OpenVINORead, TellsNamesSizesAndWeights) {
  int64_t weights = 0;
  const FileSummary summary = read(product(), &weights);
  EXPECT_EQ(weights, 96);
  EXPECT_EQ(summary.ir_version, 11);
  EXPECT_EQ(summary.initializers, 1);
  ASSERT_EQ(summary.inputs.size(), 1u);
  EXPECT_EQ(summary.inputs[0].name, "x");
  EXPECT_EQ(summary.inputs[0].dims, (std::vector<std::string>{"rows", "4"}));
  ASSERT_EQ(summary.outputs.size(), 1u);
  EXPECT_EQ(summary.outputs[0].name, "y");
  EXPECT_EQ(summary.outputs[0].dims, (std::vector<std::string>{"?", "2"}));
  EXPECT_EQ(summary.op_counts, (std::map<std::string, int64_t>{{"ov::MatMul", 1}}));
  EXPECT_EQ(summary.listing, "product = ov::MatMul(x, w)\n");
  EXPECT_EQ(summary.metadata, (std::map<std::string, std::string>{{"slipway.dims", "{}"}}));
}

TEST(OpenVINORead, RefusesWhatIsNoGraph) {
  const auto refused = [](const std::string& text, const std::string& part) {
    EXPECT_TRUE(contains(error_of(kInvalid, [&] { read(text); }), part));
  };
  refused("", "m.xml is no OpenVINO IR");
  refused("<html/>", "no element net");
  refused(product().substr(0, 300), "at byte");
  refused(product({{"offset=\"64\"", "offset=\"6x\""}}), "offset of layer \"w\" (Const) is \"6x\"");
  refused(product({{"size=\"32\"", "size=\"9223372036854775807\""}}), "beyond what a file holds");
  refused(product({{"to-layer=\"3\"", "to-layer=\"4\""}}), "nothing leads to layer \"Result_y\"");
  refused(product({{"to-layer=\"2\" to-port=\"1\"", "to-layer=\"2\" to-port=\"7\""}}),
          "an input of layer \"product\" (MatMul) is missing");
  refused(product({{"type=\"MatMul\"", "kind=\"MatMul\""}}), "no type or no id");
  const auto unsupported = [](const std::string& text, const std::string& part) {
    EXPECT_TRUE(contains(error_of(kUnsupported, [&] { read(text); }), part));
  };
  unsupported(product({{"version=\"11\"", "version=\"12\""}}), "IR version \"12\", need 10 or 11");
  unsupported(product({{"element_type=\"f32\"", "element_type=\"string\""}}), "type \"string\"");
}

}  // namespace
}  // namespace slipway::openvino
