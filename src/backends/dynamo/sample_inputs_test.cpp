// Example inputs: the storages and the pickle beside them. torch.load reads them in tests/interop.
#include "backends/dynamo/sample_inputs.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/dynamo/archive.h"
#include "base/test_expect.h"
#include "base/test_folder.h"

namespace slipway::dynamo {
namespace {

TEST(SampleInputs, LargeExamplesAreZerosOfOneStoredElement) {
  const TestFolder folder;
  const TreeSpec spec = TreeSpec::keyword_call(
      {{"input_ids", TreeSpec::leaf()},
       {"past_key_values", TreeSpec::static_cache({1, 2, 3, 1000, 64}, DType::kF32)}});
  const std::string bytes =
      sample_inputs(spec, {{DType::kI64, {1, 2}, Tensor::of<int64_t>({1, 2}, {5, 6}), {}},
                           {DType::kF32, {2, 3, 1000, 64}, {}, {}},
                           {DType::kF32, {2, 3, 1000, 64}, {}, {}},
                           {DType::kI64, {}, {}, {}}});
  EXPECT_LT(bytes.size(), 10'000U);
  const auto archive = Archive::open(folder.write("model.pt", bytes));
  EXPECT_EQ(archive->at("data/0").size, 16);
  EXPECT_EQ(archive->at("data/1").size, 4);
  EXPECT_EQ(archive->at("data/3").size, 8);
  // Python's own disassembler finds a well-formed pickle that names what must be importable.
  const std::string pickle = std::string(archive->text("data.pkl"));
  for (const char* name : {"ctransformers.cache_utils\nStaticCache\n", "ctorch\nzeros_like\n",
                           "ctorch._utils\n_rebuild_tensor_v2\n", "ctorch\nLongStorage\n"})
    EXPECT_TRUE(contains(pickle, name));
  const std::string command =
      "python3 -m pickletools '" + folder.write("data.pkl", pickle).string() + "' > /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);  // NOLINT: a fixed command on a path of our own
}

TEST(SampleInputs, ClassesThatNothingDescribesAreRefused) {
  const TreeSpec strange{
      "package:Strange", {{"_t", "seq"}, {"p", "a:B"}, {"v", Json::array()}}, {}};
  const std::string message = error_of(kUnsupported, [&] {
    sample_inputs(TreeSpec::keyword_call({{"x", strange}}), {});
  });
  EXPECT_TRUE(contains(message, "package:Strange"));
}

}  // namespace
}  // namespace slipway::dynamo
