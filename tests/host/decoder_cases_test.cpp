// States of decoders against the reference's numbers: windows, rotary switches, masked rows.
#include <fmt/format.h>

#include "decoder_util.h"
#include "slipway/generation.h"

namespace slipway::decoders {
namespace {

// PC-23: mistral's window of 4, the mixed layers of qwen2.
class Windows : public testing::TestWithParam<Made> {};

TEST_P(Windows, EqualTheReferenceAroundTheEdge) {
  const auto rows = read_safetensors(golden::folder(GetParam().model) / "rows.safetensors");
  const Tensor &ids = rows.at("input_ids"), &want = rows.at("logits");
  for (const int64_t length : {3, 4, 5, 12}) {
    const auto state = fixture(GetParam()).state();
    const Tensor mask = ones(3, length);
    EXPECT_LE(difference_where(state->forward(columns(ids, 0, length), mask, length),
                               columns(want, 0, length), mask),
              kTolerance)
        << length;
  }
  const auto state = fixture(GetParam()).state();
  const Tensor got = read(*state, ids, ones(3, 21), {12, 13, 14, 15, 16, 17, 18});
  EXPECT_LE(difference_where(got, columns(want, 0, 18), ones(3, 18)), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Golden, Windows, testing::ValuesIn(all_made({"mistral", "qwen2"})),
                         name_of);

// PC-25: the reference does not read the past again when the factors switch, nor do states.
class RopeSteps : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(RopeSteps, EqualTheReferenceOnBothSidesOfTheSwitch) {
  const auto [kind, how] = GetParam();
  const auto data = std::filesystem::path(SLIPWAY_SOURCE_DIR) / "tests" / "golden" / "rope_models";
  const auto want = read_safetensors(data / "steps.safetensors");
  const Tensor ids = read_safetensors(data / "kinds.safetensors").at("input_ids");
  cases::Draft draft = cases::Draft::golden("llama-causal-lm");
  const Json kinds = parse_json_file(data / "kinds.json");
  for (const auto& [key, value] : kinds.at(kind).items()) draft.config[key] = value;
  const TestFolder folder;
  const Fixture made(export_made(draft.save(folder / "in"), how));
  for (const int64_t prompt : {14, 20}) {
    const Tensor& expected = want.at(fmt::format("{}.P{}", kind, prompt));
    const int64_t end = prompt + expected.dim(1) - 1;
    std::vector<int64_t> ends;
    for (int64_t at = prompt; at <= end; ++at) ends.push_back(at);
    const auto state = made.state();
    const Tensor got = read(*state, columns(ids, 0, end), ones(1, end), ends);
    EXPECT_LE(difference_where(columns(got, prompt - 1, end), expected, ones(1, expected.dim(1))),
              kTolerance)
        << prompt;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, RopeSteps,
                         testing::Combine(testing::Values("default", "linear", "dynamic", "yarn",
                                                          "llama3", "longrope"),
                                          testing::Values("growing", "static")),
                         [](const auto& made) {
                           return std::string(std::get<0>(made.param)) + "_" +
                                  std::get<1>(made.param);
                         });

/// A llama whose rotary angles depend on how far a call reaches beyond 16 tokens, or where longrope
/// is told to switch.
std::filesystem::path rope_checkpoint(const std::string& kind, const std::filesystem::path& out,
                                      std::optional<int64_t> switch_at = std::nullopt) {
  cases::Draft draft = cases::Draft::golden("llama-causal-lm");
  const Json kinds = parse_json_file(std::filesystem::path(SLIPWAY_SOURCE_DIR) / "tests" /
                                     "golden" / "rope_models" / "kinds.json");
  for (const auto& [key, value] : kinds.at(kind).items()) draft.config[key] = value;
  if (switch_at) draft.config["rope_parameters"]["original_max_position_embeddings"] = *switch_at;
  return draft.save(out);
}

class RopeSwitch : public testing::TestWithParam<const char*> {};

// Guesses read beyond the switch would turn the tokens before them too.
TEST_P(RopeSwitch, IsNotCrossedByGuesses) {
  const TestFolder folder;
  const ExportedModel exported =
      export_made(rope_checkpoint(GetParam(), folder.path() / "in"), "growing");
  for (int64_t first = 0; first < 8; ++first) {
    Tensor ids(DType::kI64, {1, 12});
    for (int64_t i = 0; i < 12; ++i)
      ids.mutable_values<int64_t>()[static_cast<size_t>(i)] = 3 + (first * 11 + i % 4 * 7) % 90;
    GenerationOptions options;
    options.max_new_tokens = 60;
    options.ignore_eos = true;
    const Generated plain = generate(exported, {{"input_ids", ids}}, options);
    options.prompt_lookup_num_tokens = 4;
    const Generated looked = generate(exported, {{"input_ids", ids}}, options);
    EXPECT_EQ(looked.new_ids, plain.new_ids) << first;
  }
}

// A long prompt is read whole: pieces of it would have the angles of shorter ones.
TEST_P(RopeSwitch, IsThatOfTheWholePrompt) {
  const TestFolder folder;
  // Inside the second piece, so that the first alone would not reach it.
  const auto at =
      std::string(GetParam()) == "longrope" ? std::optional<int64_t>(550) : std::nullopt;
  const auto checkpoint = rope_checkpoint(GetParam(), folder.path() / "in", at);
  const auto options =
      DecoderStateOptions::from_config(parse_json_file(checkpoint / "config.json"));
  ASSERT_TRUE(options.angles_change_at.has_value());
  const Tensor ids = token_ids(1, 600);
  const Fixture whole(export_made(checkpoint, "uncached"));
  const auto reader = whole.state(options);
  const Tensor want = reader->forward(ids, ones(1, 600), 1);
  for (const char* how : {"growing", "many_tokens", "static_many"}) {
    const Fixture made(export_made(checkpoint, how));
    DecoderStateOptions chosen = options;
    chosen.max_cache_len = 600;
    const auto state = made.state(chosen);
    EXPECT_LE(difference_where(state->forward(ids, ones(1, 600), 1), want, ones(1, 1)), kTolerance)
        << how;
    chosen.angles_change_at.reset();
    const auto pieces = made.state(chosen);
    EXPECT_GT(difference_where(pieces->forward(ids, ones(1, 600), 1), want, ones(1, 1)), kTolerance)
        << how << " cannot tell pieces from the whole";
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, RopeSwitch, testing::Values("dynamic", "longrope"));

// PC-17: rows that see nothing at all are finite and disturb no other.
class MaskedRows : public testing::TestWithParam<Made> {};

TEST_P(MaskedRows, AreFinite) {
  const Tensor ids = token_ids(3, 8);
  const Tensor mask = left_padding({0, 5, 8}, 8);
  const auto state = fixture(GetParam()).state(), alone = fixture(GetParam()).state();
  const Tensor got = read(*state, ids, mask, {4, 6, 8});
  for (const float value : got.values<float>()) ASSERT_TRUE(std::isfinite(value));
  const Tensor first = columns(rows_of(ids, {0}), 0, 8);
  EXPECT_LE(difference_where(rows_of(got, {0}), alone->forward(first, ones(1, 8), 8), ones(1, 8)),
            kTolerance);
  // A row that was padding up to now goes on as a sequence that begins here.
  const Tensor next = token_ids(3, 3);
  const Tensor after = state->forward(next, ones(3, 3), 3).clone();
  alone->reset();
  EXPECT_LE(difference_where(rows_of(after, {2}), alone->forward(rows_of(next, {2}), ones(1, 3), 3),
                             ones(1, 3)),
            kTolerance);
}

std::vector<Made> mask_cases() {
  std::vector<Made> all;
  for (const char* how :
       {"growing", "uncached", "one_token", "many_tokens", "static", "static_many"})
    for (const char* model : {"llama-causal-lm", "mistral-causal-lm", "qwen3-causal-lm"})
      if (how != std::string("uncached")) all.push_back({model, how});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Golden, MaskedRows, testing::ValuesIn(mask_cases()), [](const auto& made) {
  return made.param.model.substr(0, made.param.model.find('-')) + "_" + made.param.how;
});

}  // namespace
}  // namespace slipway::decoders
