// Rotary frequencies against the reference's, for the settings in tests/golden/rope.
#include "checkpoint/rope_frequencies.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>

#include "base/test_expect.h"

namespace slipway {
namespace {

int64_t ulps(float a, float b) {
  return std::llabs(int64_t{std::bit_cast<int32_t>(a)} - std::bit_cast<int32_t>(b));
}

TEST(RopeFrequencies, EqualTheReference) {
  const Json cases = parse_json_file(SLIPWAY_SOURCE_DIR "/tests/golden/rope/rope.json");
  ASSERT_GT(cases.size(), 90u);
  int64_t values = 0, equal = 0;
  for (const Json& c : cases) {
    SCOPED_TRACE(python_json(c["config"]));
    const Config config = Config::from_json(c["config"], "config.json");
    const RopeParameters rope = config.rope("", std::nullopt);
    std::optional<int64_t> seq_len;
    if (!c["seq_len"].is_null()) seq_len = c["seq_len"].get<int64_t>();
    const auto got = rope_frequencies(rope, config.head_dim(),
                                      config.get_int("max_position_embeddings"), seq_len);
    EXPECT_DOUBLE_EQ(got.attention_scaling, c["attention_scaling"].get<double>());
    ASSERT_EQ(got.inv_freq.size(), c["inv_freq"].size());
    for (size_t i = 0; i < got.inv_freq.size(); ++i) {
      const auto want = c["inv_freq"][i].get<float>();
      // The reference's vector power is within 1 unit of the exact value, as is the C library's.
      // llama3 subtracts nearby numbers and so may double that.
      EXPECT_LE(ulps(got.inv_freq[i], want), rope.rope_type == "llama3" ? 4 : 2)
          << i << ": " << got.inv_freq[i] << " " << want;
      ++values;
      equal += got.inv_freq[i] == want;
    }
  }
  EXPECT_GT(equal, values * 95 / 100);
  RecordProperty("values", static_cast<int>(values));
  RecordProperty("bit_equal", static_cast<int>(equal));
}

RopeParameters longrope() {
  RopeParameters rope;
  rope.rope_type = "longrope";
  rope.original_max_position_embeddings = 16;
  rope.factor = 4;
  rope.short_factor = {1, 1, 1, 1};
  rope.long_factor = {2, 2, 2, 2};
  return rope;
}

TEST(RopeFrequencies, LongRopeSwitchesBeyondTheOriginalLength) {
  const auto at = rope_frequencies(longrope(), 8, 64, 16),
             beyond = rope_frequencies(longrope(), 8, 64, 17);
  EXPECT_EQ(at.inv_freq[0], 1.0f);
  EXPECT_EQ(beyond.inv_freq[0], 0.5f);
  EXPECT_EQ(at.attention_scaling, beyond.attention_scaling);
}

TEST(RopeFrequencies, RefusesListsOfAnotherLength) {
  EXPECT_EQ(error_of(kInvalid, [] { rope_frequencies(longrope(), 16, 64); }),
            "[rope] longrope: short_factor has 4 values, need 8 for 16 rotary dimensions");
}

TEST(RopeFrequencies, RefusesSizesWithoutFrequencies) {
  RopeParameters rope;
  rope.partial_rotary_factor = 0.05;
  EXPECT_THROW(rope_frequencies(rope, 8, 64), Error);  // 0 dimensions
  rope.partial_rotary_factor = 1;
  EXPECT_THROW(rope_frequencies(rope, int64_t{1} << 40, 64), Error);
  rope.rope_type = "dynamic";
  EXPECT_THROW(rope_frequencies(rope, 2, 64), Error);  // divides by dimensions - 2
  EXPECT_THROW(rope_frequencies(rope, 8, 0), Error);
}

}  // namespace
}  // namespace slipway
