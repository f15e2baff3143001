// slipway/openvino.h: exports as ov::Model in a program that links OpenVINO itself.
#include "slipway/openvino.h"

#include <gtest/gtest.h>

#include <openvino/openvino.hpp>

#include "../host/golden_util.h"
#include "base/test_expect.h"

namespace slipway {
namespace {

/// The largest difference of the logits of a compiled model from the reference's, where the mask
/// is 1.
double difference(const std::shared_ptr<ov::Model>& model) {
  const auto inputs = read_safetensors(golden::folder("llama-causal-lm") / "inputs.safetensors");
  const auto want = read_safetensors(golden::folder("llama-causal-lm") / "outputs.safetensors");
  const Tensor &ids = inputs.at("input_ids"), &mask = inputs.at("attention_mask");
  const auto rows = static_cast<size_t>(ids.dim(0)), length = static_cast<size_t>(ids.dim(1));
  ov::Core core;
  ov::InferRequest request =
      core.compile_model(model, "CPU", ov::hint::inference_precision(ov::element::f32))
          .create_infer_request();
  const auto view = [&](const Tensor& t) {
    return ov::Tensor(ov::element::i64, {rows, length},
                      const_cast<int64_t*>(t.values<int64_t>().data()));
  };
  Tensor positions(DType::kI64, ids.shape());
  for (size_t row = 0; row < rows; ++row)
    for (size_t i = 0, before = 0; i < length; ++i) {
      const bool real = mask.values<int64_t>()[row * length + i] != 0;
      positions.mutable_values<int64_t>()[row * length + i] =
          real ? static_cast<int64_t>(before++) : 0;
    }
  ov::Tensor beams(ov::element::i32, {rows});
  for (size_t row = 0; row < rows; ++row) beams.data<int32_t>()[row] = static_cast<int32_t>(row);
  request.set_tensor("input_ids", view(ids));
  request.set_tensor("attention_mask", view(mask));
  request.set_tensor("position_ids", view(positions));
  request.set_tensor("beam_idx", beams);
  request.infer();
  const ov::Tensor logits = request.get_tensor("logits");
  Tensor got(DType::kF32, want.at("logits").shape());
  std::memcpy(got.mutable_data(), logits.data(), logits.get_byte_size());
  return golden::max_difference(got, want.at("logits"), [&](int64_t i) {
    return mask.values<int64_t>()[static_cast<size_t>(i / got.dim(2))] != 0;
  });
}

TEST(OpenVINOAdapter, GivesAModelOfAFreshExport) {
  const auto exported =
      golden::export_case("llama-causal-lm", "text-generation-with-past", {}, "openvino");
  const std::shared_ptr<ov::Model> model = openvino_model(exported);
  EXPECT_EQ(model->get_variables().size(), 4u);
  EXPECT_LE(difference(model), 1e-4);
}

TEST(OpenVINOAdapter, GivesAModelOfALoadedExport) {
  const golden::Scratch scratch;
  golden::export_case("llama-causal-lm", "text-generation-with-past", {}, "openvino")
      .save_pretrained(scratch.path() / "out");
  const std::shared_ptr<ov::Model> model =
      openvino_model(ExportedModel::from_pretrained(scratch.path() / "out"));
  std::filesystem::resize_file(scratch.path() / "out" / "openvino_model.bin", 0);
  EXPECT_LE(difference(model), 1e-4);
}

TEST(OpenVINOAdapter, RefusesOtherFormatsAndComponents) {
  const auto exported = golden::export_case("llama-causal-lm", "text-generation");
  EXPECT_TRUE(contains(error_of(kUsage, [&] { openvino_model(exported); }), "of format 'onnx'"));
  const auto right = golden::export_case("llama-causal-lm", "text-generation", {}, "openvino");
  EXPECT_TRUE(contains(error_of(kUsage, [&] { openvino_model(right, "decode"); }),
                       "no component 'decode'; there are model"));
}

}  // namespace
}  // namespace slipway
