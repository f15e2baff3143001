// Imported programs compute what PyTorch computed; what cannot be imported is refused by name.
#include "backends/dynamo/import.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "base/test_expect.h"
#include "checkpoint/safetensors.h"
#include "ir/eval.h"
#include "passes/pipeline.h"

namespace slipway::dynamo {
namespace {

namespace fs = std::filesystem;
using Tensors = std::map<std::string, Tensor>;

fs::path folder() { return fs::path(SLIPWAY_SOURCE_DIR) / "tests/golden/programs"; }

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto& entry : fs::directory_iterator(folder()))
    if (entry.path().extension() == ".pt2") result.push_back(entry.path().stem());
  std::sort(result.begin(), result.end());
  return result;
}

/// The tensors of one run: "0.in.x" -> "x".
Tensors part(const Tensors& all, const std::string& prefix) {
  Tensors result;
  for (const auto& [name, tensor] : all)
    if (name.starts_with(prefix)) result.emplace(name.substr(prefix.size()), tensor);
  return result;
}

void expect_close(const Tensors& got, const Tensors& want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, expected] : want) {
    ASSERT_TRUE(got.contains(name)) << name;
    const Tensor& value = got.at(name);
    ASSERT_EQ(value.shape(), expected.shape()) << name;
    ASSERT_EQ(value.dtype(), expected.dtype()) << name;
    const Array a = Array::from_tensor(value), b = Array::from_tensor(expected);
    for (size_t i = 0; i < a.values.size(); ++i)
      ASSERT_NEAR(a.values[i], b.values[i], 1e-5) << name << " at " << i;
  }
}

class ImportProgram : public testing::TestWithParam<std::string> {};

TEST_P(ImportProgram, ComputesWhatPyTorchComputed) {
  const Tensors all = read_safetensors(folder() / (GetParam() + ".safetensors"));
  const ProgramFile file = ProgramFile::open(folder() / (GetParam() + ".pt2"));
  const Imported plain = import_program(file);
  Imported passed = import_program(file);
  PassContext context;
  Pipeline pipeline;
  pipeline.repeat({"expand_spellings", "canonicalize", "fold", "cse"});
  pipeline.repeat({"raise", "canonicalize", "fold", "cse"});
  pipeline.run(*passed.program.graph, context);
  int runs = 0;
  for (;; ++runs) {
    const Tensors inputs = part(all, std::to_string(runs) + ".in.");
    if (inputs.empty()) break;
    const Tensors want = part(all, std::to_string(runs) + ".out.");
    expect_close(evaluate(*plain.program.graph, inputs), want);
    expect_close(evaluate(*passed.program.graph, inputs), want);
  }
  EXPECT_GT(runs, 0);
}

INSTANTIATE_TEST_SUITE_P(All, ImportProgram, testing::ValuesIn(names()),
                         [](const auto& made) { return made.param; });

template <class Call>
void expect_error(ErrorKind kind, const std::string& part, Call call) {
  EXPECT_TRUE(contains(error_of(kind, call), part));
}

/// A program file that was changed after reading.
ProgramFile changed(const std::string& name, const std::function<void(ProgramFile&)>& change) {
  ProgramFile file = ProgramFile::open(folder() / (name + ".pt2"));
  change(file);
  return file;
}

schema::Graph& graph(ProgramFile& file) { return file.program.graph_module.graph; }

TEST(Import, UnknownOpsAreListedWithCounts) {
  const ProgramFile file = changed("bare_result", [](ProgramFile& f) {
    graph(f).nodes[0].target = "torch.ops.aten.fft_fft.default";
    graph(f).nodes.push_back(graph(f).nodes[0]);
  });
  expect_error(kUnsupported, "1 ops are not known here: torch.ops.aten.fft_fft.default x2",
               [&] { import_program(file); });
}

TEST(Import, AValueThatIsNotDefinedIsNamed) {
  const ProgramFile file = changed("bare_result", [](ProgramFile& f) {
    graph(f).nodes[0].inputs[0].arg.value = schema::TensorArgument{"nowhere"};
  });
  expect_error(kInvalid, "\"nowhere\" before it is defined", [&] { import_program(file); });
}

TEST(Import, WrongKindsOfArgumentsNameNodeAndArgument) {
  const ProgramFile file = changed("slice_write", [](ProgramFile& f) {
    for (schema::Node& node : graph(f).nodes)
      if (node.target == "torch.ops.aten.slice.Tensor")
        node.inputs[1].arg.value = std::string("one");
  });
  expect_error(kInvalid, "argument dim is as_string, need an integer",
               [&] { import_program(file); });
}

TEST(Import, CustomObjectsAreRefused) {
  const ProgramFile file = changed("stored_tensors", [](ProgramFile& f) {
    f.program.graph_module.signature.input_specs[0].value =
        schema::InputToCustomObjSpec{{"obj", "__torch__.Queue"}, "queue"};
  });
  expect_error(kUnsupported, "custom object \"queue\" of class \"__torch__.Queue\"",
               [&] { import_program(file); });
}

TEST(Import, MissingWeightsAreNamed) {
  const ProgramFile file = changed("stored_tensors", [](ProgramFile& f) {
    std::erase_if(f.weights.config, [](const auto& item) { return item.first == "cut"; });
  });
  expect_error(kInvalid, "needs the weight \"cut\"", [&] { import_program(file); });
}

TEST(Import, PickledWeightsAreRefusedWithTheWayOut) {
  const ProgramFile file = changed("stored_tensors", [](ProgramFile& f) {
    for (auto& [name, meta] : f.weights.config)
      if (name == "cut") meta.use_pickle = true;
  });
  expect_error(kUnsupported, "nothing is unpickled here: turn it into a plain tensor",
               [&] { import_program(file); });
}

TEST(Import, WeightsThatReachBeyondTheirBytesAreRefused) {
  for (const int64_t stride : {int64_t{1} << 20, int64_t{1} << 62, int64_t{-4}}) {
    const ProgramFile file = changed("stored_tensors", [&](ProgramFile& f) {
      for (auto& [name, meta] : f.weights.config)
        if (name == "cut") meta.tensor_meta->strides[0].value = stride;
    });
    EXPECT_THROW(import_program(file), Error) << stride;
  }
}

TEST(Import, WeightsThatRepeatTheirBytesWithoutEndAreRefused) {
  const ProgramFile file = changed("stored_tensors", [&](ProgramFile& f) {
    for (auto& [name, meta] : f.weights.config)
      if (name == "cut") {
        meta.tensor_meta->strides[0].value = int64_t{0};
        meta.tensor_meta->sizes[0].value = int64_t{1} << 40;
      }
  });
  expect_error(kInvalid, "stored elements as", [&] { import_program(file); });
}

TEST(Import, WeightsOfAnEntryThatIsNotThereAreRefused) {
  const ProgramFile file = changed("stored_tensors", [](ProgramFile& f) {
    for (auto& [name, meta] : f.weights.config)
      if (name == "cut") meta.path_name = "../../etc/passwd";
  });
  expect_error(kInvalid, "there is no entry", [&] { import_program(file); });
}

TEST(Import, BuffersThatTheProgramChangesAreRefused) {
  const ProgramFile file = changed("stored_tensors", [](ProgramFile& f) {
    f.program.graph_module.signature.output_specs.push_back(
        {schema::BufferMutationSpec{{"add"}, "steps"}});
  });
  expect_error(kUnsupported, "changes its buffer \"steps\"", [&] { import_program(file); });
}

TEST(Import, SizesThatDependOnValuesAreRefused) {
  const ProgramFile file = changed("size_arithmetic", [](ProgramFile& f) {
    for (schema::Node& node : graph(f).nodes)
      if (node.target == "_operator.floordiv") node.target = "torch.ops.aten.item.default";
  });
  expect_error(kUnsupported, "depends on the values of a tensor", [&] { import_program(file); });
}

TEST(Import, TiedWeightsAreOneValue) {
  const Imported imported = import_program(ProgramFile::open(folder() / "stored_tensors.pt2"));
  std::vector<std::string> weights;
  for (const Node* node : imported.program.graph->weights()) weights.push_back(node->name);
  EXPECT_EQ(std::count(weights.begin(), weights.end(), "tied"), 0);
  EXPECT_EQ(std::count(weights.begin(), weights.end(), "weight"), 1);
}

}  // namespace
}  // namespace slipway::dynamo
