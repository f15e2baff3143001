// The GGUF container: what a file says is what is read; hostile files are refused with the reason.
#include "checkpoint/gguf.h"

#include <gtest/gtest.h>

#include "checkpoint/gguf_test_file.h"

namespace slipway {
namespace {

using testing::AssertionResult;

AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "got \"" << text << "\", need \"" << part << "\" in it";
}

GgufTestFile small() {
  GgufTestFile f;
  f.text("general.architecture", "llama").u32("n", 7);
  f.floats("a", {3, 2}).floats("b", {5}, 10.0f);
  return f;
}

TEST(Gguf, ReadsTensorsAndVersions) {
  for (const uint32_t version : {2u, 3u}) {
    GgufTestFile f(version);
    f.text("general.architecture", "llama").floats("a", {3, 2}).floats("b", {5}, 10.0f);
    const auto file = f.parse();
    EXPECT_EQ(file->version(), version);
    EXPECT_EQ(file->architecture(), "llama");
    ASSERT_EQ(file->tensors().size(), 2u);
    EXPECT_EQ(file->find("a")->shape, (Shape{2, 3}));  // dimensions are reversed
    EXPECT_EQ(file->find("a")->bytes.size(), 24u);
    float first = 0;
    std::memcpy(&first, file->find("b")->bytes.data(), 4);
    EXPECT_EQ(first, 10.0f);
    EXPECT_EQ(file->find("c"), nullptr);
  }
}

TEST(Gguf, ReadsEveryValueType) {
  GgufTestFile f;
  f.scalar<uint8_t>("u8", GgufType::kU8, 200).scalar<int8_t>("i8", GgufType::kI8, -5);
  f.scalar<uint16_t>("u16", GgufType::kU16, 60000).scalar<int16_t>("i16", GgufType::kI16, -300);
  f.u32("u32", 4000000000u).scalar<int32_t>("i32", GgufType::kI32, -70000);
  f.f32("f32", 0.5f).boolean("yes", true).text("text", "h\xc3\xa9");
  f.scalar<uint64_t>("u64", GgufType::kU64, UINT64_MAX);
  f.scalar<int64_t>("i64", GgufType::kI64, INT64_MIN).scalar("f64", GgufType::kF64, 0.1);
  f.texts("texts", {"x", "", "yz"});
  f.array<int32_t>("ints", GgufType::kI32, {1, -2}).array<float>("floats", GgufType::kF32, {2.5f});
  const auto file = f.parse();
  const GgufMetadata& m = file->metadata();
  EXPECT_EQ(m.get_int("u8", 0, 255), 200);
  EXPECT_EQ(m.get_int("i8", -9, 9), -5);
  EXPECT_EQ(m.get_int("u16", 0, 1 << 20), 60000);
  EXPECT_EQ(m.get_int("i16", -1000, 0), -300);
  EXPECT_EQ(m.get_int("u32", 0, INT64_MAX), 4000000000);
  EXPECT_EQ(m.get_int("i32", INT32_MIN, 0), -70000);
  EXPECT_EQ(m.get_int("i64", INT64_MIN, 0), INT64_MIN);
  EXPECT_EQ(m.get_double("f32"), 0.5);
  EXPECT_EQ(m.get_double("f64"), 0.1);
  EXPECT_EQ(m.find_bool("yes"), true);
  EXPECT_EQ(m.get_string("text"), "h\xc3\xa9");
  EXPECT_EQ(*m.find_strings("texts"), (std::vector<std::string_view>{"x", "", "yz"}));
  EXPECT_EQ(*m.find_ints("ints"), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(*m.find_doubles("floats"), (std::vector<double>{2.5}));
  EXPECT_EQ(m.find_int("absent", 0, 1), std::nullopt);

  EXPECT_EQ(error_of([&] { m.get_int("u64", 0, INT64_MAX); }),
            "invalid: [gguf] test.gguf: u64: got the u64 beyond 2^63, need an integer in [0, "
            "9223372036854775807]");
  EXPECT_EQ(error_of([&] { m.get_int("u8", 0, 100); }),
            "invalid: [gguf] test.gguf: u8: got the u8 200, need an integer in [0, 100]");
  EXPECT_TRUE(contains(error_of([&] { m.get_string("u8"); }), "u8: got the u8 200, need a text"));
  EXPECT_TRUE(contains(error_of([&] { m.find_ints("texts"); }), "got an array of 3 string"));
  EXPECT_TRUE(contains(error_of([&] { m.get_double("absent"); }), "the metadata has no absent"));
}

TEST(Gguf, RefusesTextThatIsNotUtf8) {
  for (const char* bad :
       {"\xff", "\xc0\x80", "\xe2\x96", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\x80"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
  for (const char* good : {"", "a", "\xc3\xa9", "\xe2\x96\x81", "\xf0\x9f\x99\x82"})
    EXPECT_TRUE(is_utf8(good)) << good;
  GgufTestFile f;
  f.text("t", "\xff").texts("ts", {"ok", "\xc3"});
  const auto file = f.parse();
  EXPECT_TRUE(contains(error_of([&] { file->metadata().get_string("t"); }), "not UTF-8"));
  EXPECT_TRUE(
      contains(error_of([&] { file->metadata().find_strings("ts"); }), "not UTF-8 in element 1"));
}

TEST(Gguf, RefusesEveryCut) {
  const std::string whole = small().bytes();
  EXPECT_EQ(error_of([&] { GgufTestFile::parse(whole); }), "no error");
  // Only the padding of the last tensor may be absent, as a whole.
  const size_t last = whole.size() - (32 - 5 * 4);
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string error = error_of([&] { GgufTestFile::parse(whole.substr(0, size)); });
    if (size == last) EXPECT_EQ(error, "no error");
    else EXPECT_TRUE(contains(error, "invalid: [gguf] test.gguf: ")) << size;
  }
  EXPECT_TRUE(contains(error_of([&] { GgufTestFile::parse(whole.substr(0, last - 1)); }),
                       "got a file of " + std::to_string(last - 1) +
                           " bytes, its tensor table needs " + std::to_string(last)));
  EXPECT_TRUE(contains(error_of([&] { GgufTestFile::parse(whole + "x"); }), "its tensor table"));
}

TEST(Gguf, RefusesOtherFilesByName) {
  GgufTestFile f = small();
  f.magic = "ABCD";
  EXPECT_TRUE(contains(error_of([&] { f.parse(); }), "starts with \"ABCD\", need \"GGUF\""));
  EXPECT_TRUE(contains(error_of([] { GgufTestFile(1).parse(); }),
                       "unsupported: [gguf] test.gguf: GGUF version 1 is not read"));
  EXPECT_TRUE(contains(error_of([] { GgufTestFile(4).parse(); }), "version 4 is not known"));
  EXPECT_TRUE(contains(error_of([] { GgufTestFile(0x03000000).parse(); }),
                       "unsupported: [gguf] test.gguf: the file is big-endian"));
  EXPECT_TRUE(contains(error_of([] { GgufTestFile::parse("version https://git-lfs.github.com"); }),
                       "Git LFS pointer"));
  EXPECT_TRUE(contains(error_of([] { GgufTestFile::parse(""); }), "the file is empty"));
  GgufTestFile split;
  split.scalar<uint16_t>("split.count", GgufType::kU16, 3);
  EXPECT_TRUE(contains(error_of([&] { split.parse(); }),
                       "unsupported: [gguf] test.gguf: the model "
                       "is split over 3 files"));
}

TEST(Gguf, CountsCannotExceedTheFile) {
  for (const uint64_t count : {uint64_t{1000}, uint64_t{1} << 40, UINT64_MAX}) {
    GgufTestFile keys = small(), tensors = small(), array, text;
    keys.key_count = count;
    EXPECT_TRUE(contains(error_of([&] { keys.parse(); }), "metadata keys")) << count;
    tensors.tensor_count = count;
    EXPECT_TRUE(contains(error_of([&] { tensors.parse(); }), "tensors")) << count;
    for (const GgufType type : {GgufType::kString, GgufType::kU8, GgufType::kF64}) {
      std::string raw;
      GgufTestFile::put(raw, static_cast<uint32_t>(type));
      GgufTestFile::put(raw, count);
      GgufTestFile f;
      f.raw("k", GgufType::kArray, raw);
      EXPECT_TRUE(contains(error_of([&] { f.parse(); }), "\"k\": got an array of")) << count;
    }
    std::string raw;
    GgufTestFile::put(raw, count);
    text.raw("k", GgufType::kString, raw);
    EXPECT_TRUE(contains(error_of([&] { text.parse(); }), "a text at byte")) << count;
  }
}

TEST(Gguf, RefusesBadMetadata) {
  GgufTestFile twice, nested, type, boolean, name;
  twice.u32("k", 1).u32("k", 1);
  EXPECT_TRUE(contains(error_of([&] { twice.parse(); }), "metadata key \"k\" appears twice"));
  nested.array<uint32_t>("k", GgufType::kArray, {});
  EXPECT_TRUE(contains(error_of([&] { nested.parse(); }),
                       "unsupported: [gguf] test.gguf: \"k\" is "
                       "an array of arrays"));
  type.raw("k", static_cast<GgufType>(13), "abcd");
  EXPECT_TRUE(contains(error_of([&] { type.parse(); }), "got value type 13, need 0 to 12"));
  boolean.raw("k", GgufType::kBool, "\x02");
  EXPECT_TRUE(contains(error_of([&] { boolean.parse(); }), "got a bool of 2"));
  name.u32("a\nb", 1);
  EXPECT_TRUE(contains(error_of([&] { name.parse(); }), "got the name \"a\\x0ab\""));
}

TEST(Gguf, RefusesBadTensors) {
  const auto error = [](const auto& add) {
    GgufTestFile f;
    add(f);
    return error_of([&] { f.parse(); });
  };
  using F = GgufTestFile;
  const std::string data(64, '\1');
  EXPECT_TRUE(contains(error([&](F& f) {
                         f.tensor("t", {1, 1, 1, 1, 1}, 0, data);
                       }),
                       "got 5 dimensions, need at most 4"));
  EXPECT_TRUE(contains(error([&](F& f) { f.tensor("t", {0}, 0, data); }), "a dimension of 0"));
  EXPECT_TRUE(contains(error([&](F& f) { f.tensor("t", {UINT64_MAX}, 0, data); }), "a dimension"));
  EXPECT_TRUE(contains(error([&](F& f) {
                         f.tensor("t", {1u << 31, 1u << 31, 1u << 31}, 0, data);
                       }),
                       "too many"));
  EXPECT_TRUE(contains(error([&](F& f) { f.tensor("t", {33}, 2, data); }),
                       "got rows of 33 elements, Q4_0 needs a multiple of 32"));
  EXPECT_TRUE(contains(error([&](F& f) { f.tensor("t", {16, 2}, 2, data); }), "rows of 16"));
  EXPECT_TRUE(contains(error([&](F& f) { f.tensor("t", {1}, 4, data); }),
                       "unsupported: [gguf] test.gguf: tensor \"t\" has the unknown ggml type 4"));
  EXPECT_TRUE(contains(error([&](F& f) { f.tensor("t", {16}, 0, data, 8); }), "got offset 8"));
  EXPECT_TRUE(contains(error([&](F& f) { f.tensor("t", {16}, 0, data, UINT64_MAX - 31); }),
                       "beyond any file"));
  EXPECT_TRUE(contains(error([&](F& f) { f.tensor("t", {16}, 0, data, 1u << 20); }),
                       "its tensor table needs"));
  EXPECT_TRUE(contains(error([&](F& f) { f.floats("t", {8}).tensor("u", {8}, 0, data, 0); }),
                       "tensors \"t\" and \"u\" overlap"));
  EXPECT_TRUE(contains(error([&](F& f) { f.floats("t", {8}).floats("t", {8}); }),
                       "the tensor \"t\" appears twice"));
}

TEST(Gguf, ChecksTheAlignment) {
  for (const uint32_t alignment : {0u, 4u, 24u, 1u << 21}) {
    GgufTestFile f;
    f.u32("general.alignment", alignment).floats("t", {4});
    EXPECT_TRUE(contains(error_of([&] { f.parse(); }), "general.alignment")) << alignment;
  }
  GgufTestFile f;
  f.alignment = 64;
  f.u32("general.alignment", 64).floats("t", {4}).floats("u", {4}, 5.0f);
  const auto file = f.parse();
  EXPECT_EQ(std::to_integer<int>(file->find("u")->bytes[2]), 0xa0);  // 5.0f is 0x40a00000
}

}  // namespace
}  // namespace slipway
