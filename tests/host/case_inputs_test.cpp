// PC-20, PC-22: dtypes and optional inputs of a call, and the limits of ids and positions.
#include "case_util.h"

namespace slipway::cases {
namespace {

const ExportedModel& bert() {
  static const ExportedModel exported = export_checkpoint(golden::folder("bert-base"));
  return exported;
}
const ExportedModel& llama() {
  static const ExportedModel exported = export_checkpoint(golden::folder("llama-causal-lm"));
  return exported;
}

template <class T>
Tensor mask_of(DType dtype, std::vector<T> ones) {
  Tensor mask(dtype, {2, 4});
  std::memcpy(mask.mutable_data(), ones.data(), ones.size() * sizeof(T));
  return mask;
}

/// The first row has one pad on the left, as every dtype that a mask comes in.
std::vector<Tensor> masks() {
  return {mask_of<int64_t>(DType::kI64, {0, 1, 1, 1, 1, 1, 1, 1}),
          mask_of<int32_t>(DType::kI32, {0, 1, 1, 1, 1, 1, 1, 1}),
          mask_of<uint8_t>(DType::kBool, {0, 1, 1, 1, 1, 1, 1, 1}),
          mask_of<uint8_t>(DType::kU8, {0, 1, 1, 1, 1, 1, 1, 1}),
          mask_of<int8_t>(DType::kI8, {0, 1, 1, 1, 1, 1, 1, 1})};
}

void expect_equal(const Outputs& got, const Outputs& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(same_bits(got[i].second, want[i].second)) << what << ": " << got[i].first;
}

TEST(CaseInputs, IntegersAreInt64InEveryExport) {
  for (const ExportedModel* exported : {&bert(), &llama()})
    for (const LeafSpec& leaf : exported->program().inputs())
      EXPECT_EQ(leaf.dtype, leaf.name.starts_with("past_key_values") ? DType::kF32 : DType::kI64)
          << leaf.name;
}

TEST(CaseInputs, EveryMaskDtypeGivesTheSame) {
  for (const ExportedModel* exported : {&bert(), &llama()}) {
    Inputs inputs = {{"input_ids", token_ids(2, 4)}, {"attention_mask", masks()[0]}};
    const Outputs want = (*exported)(inputs);
    for (const Tensor& mask : masks()) {
      inputs["attention_mask"] = mask;
      expect_equal((*exported)(inputs), want, std::string(short_name(mask.dtype())));
    }
    inputs.erase("attention_mask");
    EXPECT_FALSE(same_bits((*exported)(inputs)[0].second, want[0].second)) << "the mask is unread";
  }
}

TEST(CaseInputs, Int32IdsGiveTheSame) {
  const Tensor ids = token_ids(2, 4);
  Tensor narrow(DType::kI32, {2, 4});
  for (size_t i = 0; i < 8; ++i)
    narrow.mutable_values<int32_t>()[i] = static_cast<int32_t>(ids.values<int64_t>()[i]);
  expect_equal(bert()({{"input_ids", narrow}}), bert()({{"input_ids", ids}}), "int32");
}

TEST(CaseInputs, OptionalInputsHaveDocumentedDefaults) {
  const Tensor ids = token_ids(2, 4);
  Tensor ones(DType::kI64, {2, 4}), zeros(DType::kI64, {2, 4}), second(DType::kI64, {2, 4});
  for (int64_t& v : ones.mutable_values<int64_t>()) v = 1;
  for (int64_t& v : second.mutable_values<int64_t>()) v = 1;
  const Outputs all =
      bert()({{"token_type_ids", zeros}, {"attention_mask", ones}, {"input_ids", ids}});
  expect_equal(bert()({{"input_ids", ids}}), all, "bert, only ids");
  EXPECT_FALSE(
      same_bits(bert()({{"input_ids", ids}, {"token_type_ids", second}})[0].second, all[0].second));

  Tensor positions(DType::kI64, {2, 4});
  for (size_t i = 0; i < 8; ++i)
    positions.mutable_values<int64_t>()[i] = static_cast<int64_t>(i % 4);
  expect_equal(llama()({{"position_ids", positions}, {"input_ids", ids}, {"attention_mask", ones}}),
               llama()({{"input_ids", ids}}), "llama, only ids");
}

TEST(CaseInputs, WhatCannotBeFilledIsNamed) {
  EXPECT_TRUE(contains(error_of(kInvalid,
                                [] {
                                  bert()({{"attention_mask", masks()[0]}});
                                }),
                       "input_ids"));
  const Tensor keys(DType::kF32, {2, 2, 3, 8});
  const std::string message = error_of(kInvalid, [&] {
    llama()({{"input_ids", token_ids(2, 4)}, {"past_key_values.layers.0.keys", keys}});
  });
  EXPECT_TRUE(contains(message, "past_key_values.layers.0.values"));
  EXPECT_TRUE(contains(message, "all caches or none"));
}

TEST(CaseInputs, WhatWouldLoseInformationIsRefused) {
  Inputs inputs = {{"input_ids", token_ids(2, 4)}};
  inputs["attention_mask"] = Tensor(DType::kF32, {2, 4});
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { bert()(inputs); }),
                       "attention_mask has dtype f32, need i64"));
  inputs["attention_mask"] = mask_of<uint8_t>(DType::kU8, {0, 1, 2, 1, 1, 1, 1, 1});
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { bert()(inputs); }),
                       "attention_mask[0, 2] is 2, need 0 to 1"));
  inputs["attention_mask"] = Tensor(DType::kI64, {2, 5});
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { bert()(inputs); }), "attention_mask"));
}

TEST(CaseInputs, PositionsEndAtTheTable) {
  EXPECT_EQ(by_name(bert()({{"input_ids", token_ids(1, 32)}})).at("last_hidden_state").shape(),
            (Shape{1, 32, 32}));
  const std::string message = error_of(kInvalid, [] { bert()({{"input_ids", token_ids(1, 33)}}); });
  EXPECT_TRUE(contains(message, "input_ids has sequence_length 33"));
  EXPECT_TRUE(contains(message, "1 to 32"));
}

Tensor ids_with(int64_t id) {
  Tensor ids = token_ids(2, 4);
  ids.mutable_values<int64_t>()[6] = id;
  return ids;
}

TEST(CaseInputs, IdsEndAtTheVocabulary) {
  for (const ExportedModel* exported : {&bert(), &llama()}) {
    for (const int64_t id : {int64_t{0}, int64_t{127}})
      EXPECT_EQ((*exported)({{"input_ids", ids_with(id)}})[0].second.dim(0), 2);
    for (const int64_t id : {int64_t{128}, int64_t{-1}, int64_t{1} << 40})
      EXPECT_TRUE(contains(error_of(kInvalid,
                                    [&] {
                                      (*exported)({{"input_ids", ids_with(id)}});
                                    }),
                           "input_ids[1, 2] is " + std::to_string(id) + ", need 0 to 127"));
  }
  const std::string types = error_of(kInvalid, [] {
    Tensor token_types(DType::kI64, {2, 4});
    token_types.mutable_values<int64_t>()[1] = 2;
    bert()({{"input_ids", token_ids(2, 4)}, {"token_type_ids", token_types}});
  });
  EXPECT_TRUE(contains(types, "token_type_ids[0, 1] is 2, need 0 to 1"));
  const std::string positions = error_of(kInvalid, [] {
    Tensor negative(DType::kI64, {2, 4});
    negative.mutable_values<int64_t>()[5] = -1;
    llama()({{"input_ids", token_ids(2, 4)}, {"position_ids", negative}});
  });
  EXPECT_TRUE(contains(positions, "position_ids[1, 1] is -1"));
}

TEST(CaseInputs, TheToolReportsLimitsToo) {
  const TestFolder t;
  bert().save_pretrained(t / "out");
  write_safetensors(t / "in", {{"input_ids", ids_with(128)}});
  const ToolResult result = run_tool({"run", (t / "out").string(), "--inputs", (t / "in").string(),
                                      "--outputs", (t / "result").string(), "--json"});
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.json().at("error").at("kind"), "invalid");
  EXPECT_TRUE(contains(result.json().at("error").at("message").get<std::string>(),
                       "input_ids[1, 2] is 128, need 0 to 127"));
  EXPECT_FALSE(fs::exists(t / "result"));
}

}  // namespace
}  // namespace slipway::cases
