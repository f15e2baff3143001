// PC-08: every spelling of the rotary settings gives the same tables, and conflicts are errors.
#include "case_util.h"

namespace slipway::cases {
namespace {

Draft llama_with(const Json& fields) {
  Draft draft = Draft::golden("llama-causal-lm");
  draft.config.erase("rope_parameters");
  for (const auto& [key, value] : fields.items()) draft.config[key] = value;
  return draft;
}

void expect_equal_exports(const std::vector<Json>& spellings) {
  const GraphBytes first = bytes_of(llama_with(spellings.front()));
  for (const Json& spelling : spellings)
    EXPECT_TRUE(bytes_of(llama_with(spelling)) == first) << spelling.dump();
}

/// Checks the keys of layer 0, which depend on token and position only, against the formula.
void expect_rotation(const Draft& draft, const std::vector<double>& frequencies) {
  const TestFolder t;
  const ExportedModel exported = export_checkpoint(draft.save(t / "in"));
  Tensor ids(DType::kI64, {1, 40});
  for (int64_t& id : ids.mutable_values<int64_t>()) id = 11;
  const Tensor keys = by_name(exported({{"input_ids", ids}})).at("past_key_values.layers.0.keys");
  ASSERT_EQ(keys.shape(), (Shape{1, 2, 40, 8}));
  const auto at = [&](int64_t head, int64_t position, int64_t i) {
    return double{keys.values<float>()[static_cast<size_t>((head * 40 + position) * 8 + i)]};
  };
  for (int64_t head = 0; head < 2; ++head)
    for (int64_t position = 0; position < 40; ++position)
      for (int64_t i = 0; i < 4; ++i) {
        const double angle = static_cast<double>(position) * frequencies[static_cast<size_t>(i)];
        const double a = at(head, 0, i), b = at(head, 0, i + 4);
        ASSERT_NEAR(at(head, position, i), a * std::cos(angle) - b * std::sin(angle), 1e-5)
            << "position " << position << ", pair " << i;
        ASSERT_NEAR(at(head, position, i + 4), b * std::cos(angle) + a * std::sin(angle), 1e-5);
      }
}

std::vector<double> powers(double theta, double divisor = 1) {
  std::vector<double> frequencies;
  for (int i = 0; i < 4; ++i) frequencies.push_back(std::pow(theta, -i / 4.0) / divisor);
  return frequencies;
}

TEST(CaseRope, SpellingsOfAPlainBase) {
  const Json flat = {{"rope_parameters", {{"rope_theta", 500000.0}, {"rope_type", "default"}}}};
  expect_equal_exports({
      flat,
      {{"rope_theta", 500000.0}},
      {{"rope_theta", 500000}},
      {{"rope_theta", 500000.0}, {"rope_scaling", nullptr}},
      {{"rope_theta", 500000.0}, {"rope_parameters", nullptr}},
      {{"rope_theta", 500000.0}, {"rope_scaling", {{"type", "default"}}}},
      {{"rope_theta", 500000.0}, {"rope_scaling", {{"rope_type", "default"}}}},
      {{"rope_parameters", {{"rope_theta", 500000.0}}}},
      {{"rope_parameters", {{"rope_theta", 500000.0}}}, {"rope_theta", 500000.0}},
      {{"rope_parameters",
        {{"full_attention", {{"rope_theta", 500000.0}, {"rope_type", "default"}}}}}},
  });
  expect_rotation(llama_with(flat), powers(500000.0));
}

TEST(CaseRope, SpellingsOfAScaledBase) {
  const Json flat = {
      {"rope_parameters", {{"rope_theta", 20000.0}, {"rope_type", "linear"}, {"factor", 4.0}}}};
  expect_equal_exports({
      flat,
      {{"rope_theta", 20000.0}, {"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}},
      {{"rope_theta", 20000.0}, {"rope_scaling", {{"rope_type", "linear"}, {"factor", 4}}}},
      {{"rope_theta", 20000.0},
       {"rope_scaling", {{"type", "linear"}, {"rope_type", "linear"}, {"factor", 4.0}}}},
      {{"rope_parameters", {{"rope_theta", 20000.0}, {"type", "linear"}, {"factor", 4.0}}}},
      {{"rope_parameters",
        {{"full_attention", {{"rope_theta", 20000.0}, {"rope_type", "linear"}, {"factor", 4.0}}}}}},
  });
  expect_rotation(llama_with(flat), powers(20000.0, 4.0));
}

TEST(CaseRope, SpellingsOfLlama3) {
  const Json fields = {{"rope_type", "llama3"},
                       {"factor", 8.0},
                       {"low_freq_factor", 1.0},
                       {"high_freq_factor", 4.0},
                       {"original_max_position_embeddings", 32}};
  Json flat = fields, typed = fields;
  flat["rope_theta"] = 10000.0;
  typed.erase("rope_type");
  typed["type"] = "llama3";
  expect_equal_exports({{{"rope_parameters", flat}},
                        {{"rope_theta", 10000.0}, {"rope_scaling", fields}},
                        {{"rope_theta", 10000.0}, {"rope_scaling", typed}}});
  // Wavelengths below 32 / 4 stay, above 32 / 1 are divided, between them both are mixed.
  std::vector<double> frequencies = powers(10000.0);
  for (double& f : frequencies) {
    const double turns = 32 * f / (2 * M_PI);
    const double kept = std::clamp((turns - 1.0) / (4.0 - 1.0), 0.0, 1.0);
    f = (1 - kept) * f / 8.0 + kept * f;
  }
  expect_rotation(llama_with({{"rope_parameters", flat}}), frequencies);
}

TEST(CaseRope, OnlyTheModelsOwnDefaultIsSilent) {
  expect_equal_exports({{{"rope_theta", 10000.0}}, Json::object()});
  EXPECT_FALSE(bytes_of(llama_with({{"rope_theta", 500000.0}})) ==
               bytes_of(llama_with(Json::object())));
}

TEST(CaseRope, ConflictsAreErrorsThatNameBothKeys) {
  const std::string bases =
      refused(llama_with({{"rope_theta", 10000.0}, {"rope_parameters", {{"rope_theta", 5e5}}}}), 3);
  EXPECT_TRUE(contains(bases, "rope_parameters.rope_theta"));
  EXPECT_TRUE(contains(bases, "rope_theta is the number 10000"));
  const std::string types =
      refused(llama_with({{"rope_theta", 10000.0},
                          {"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}},
                          {"rope_parameters", {{"rope_type", "dynamic"}, {"factor", 2.0}}}}),
              3);
  EXPECT_TRUE(contains(types, "rope_scaling.type"));
  EXPECT_TRUE(contains(types, "rope_parameters.rope_type"));
  EXPECT_TRUE(contains(
      refused(llama_with({{"rope_scaling",
                           {{"type", "linear"}, {"rope_type", "dynamic"}, {"factor", 2.0}}}}),
              3),
      "rope_scaling.rope_type"));
}

TEST(CaseRope, AnUnknownTypeIsNamedWithWhatIsSupported) {
  const std::string message =
      refused(llama_with({{"rope_scaling", {{"rope_type", "spiral"}, {"factor", 2.0}}}}), 4);
  for (const char* part : {"spiral", "default", "linear", "dynamic", "yarn", "llama3", "longrope"})
    EXPECT_TRUE(contains(message, part));
}

TEST(CaseRope, AScaleWithoutItsFactorOrTypeIsAnError) {
  EXPECT_TRUE(contains(refused(llama_with({{"rope_scaling", {{"rope_type", "linear"}}}}), 3),
                       "rope_scaling.factor"));
  EXPECT_TRUE(contains(refused(llama_with({{"rope_scaling", {{"factor", 2.0}}}}), 3),
                       "rope_scaling.rope_type"));
  EXPECT_TRUE(contains(refused(llama_with({{"rope_scaling", "linear"}}), 3), "rope_scaling"));
}

}  // namespace
}  // namespace slipway::cases
