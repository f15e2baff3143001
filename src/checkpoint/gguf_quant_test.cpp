// Decoding of GGUF blocks, bit for bit against the Python package.
#include "checkpoint/gguf_quant.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/json.h"
#include "checkpoint/gguf_test_file.h"

namespace slipway {
namespace {

std::string from_hex(const std::string& text) {
  std::string out;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    out += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return out;
}

/// One encoding of tests/golden/gguf/blocks.json.
struct Golden {
  std::string name;
  uint32_t type;
  int64_t block, bytes, numel;
  std::string blocks, values;
};

std::vector<Golden> goldens() {
  const Json json = parse_json_file(SLIPWAY_SOURCE_DIR "/tests/golden/gguf/blocks.json");
  std::vector<Golden> out;
  for (const auto& [name, row] : json.items()) {
    Golden g{name,
             row["type"].get<uint32_t>(),
             row["block"].get<int64_t>(),
             row["bytes"].get<int64_t>(),
             0,
             from_hex(row["blocks"].get<std::string>()),
             from_hex(row["values"].get<std::string>())};
    g.numel = static_cast<int64_t>(g.values.size() / 4);
    out.push_back(std::move(g));
  }
  return out;
}

struct Opened {
  std::shared_ptr<const GgufFile> file;
  Lazy tensor;
};

Opened open(const Golden& g) {
  GgufTestFile f;
  f.tensor("t", {static_cast<uint64_t>(g.numel)}, g.type, g.blocks);
  const auto file = f.parse();
  return {file, gguf_tensor(file, *file->find("t"))};
}

TEST(GgufQuant, DecodesEveryEncodingExactly) {
  const auto all = goldens();
  ASSERT_EQ(all.size(), 13u);
  for (const Golden& g : all) {
    const GgufEncoding* encoding = gguf_encoding(g.type);
    ASSERT_NE(encoding, nullptr) << g.name;
    EXPECT_EQ(encoding->name, g.name);
    EXPECT_EQ(encoding->block, g.block) << g.name;
    EXPECT_EQ(encoding->bytes, g.bytes) << g.name;
    const Opened opened = open(g);
    EXPECT_EQ(opened.tensor->dtype(), DType::kF32);
    EXPECT_EQ(opened.tensor->granularity(), g.block);
    const Tensor read = materialize(*opened.tensor);
    ASSERT_EQ(static_cast<size_t>(read.nbytes()), g.values.size());
    for (int64_t i = 0; i < g.numel; ++i)
      ASSERT_EQ(std::memcmp(read.data() + 4 * i, g.values.data() + 4 * i, 4), 0)
          << g.name << " element " << i;
  }
}

TEST(GgufQuant, ReadsAnyRange) {
  for (const Golden& g : goldens()) {
    const Lazy tensor = open(g).tensor;
    for (const int64_t begin : {int64_t{0}, int64_t{1}, g.block - 1, g.block, g.block + 3})
      for (const int64_t count :
           {int64_t{0}, int64_t{1}, g.block, 2 * g.block + 1, g.numel - begin}) {
        if (begin + count > g.numel) continue;
        for (const size_t shift : {size_t{0}, size_t{1}}) {  // an unaligned buffer too
          std::vector<std::byte> out(static_cast<size_t>(count) * 4 + shift + 1, std::byte{0x5a});
          tensor->read(begin, count, out.data() + shift);
          EXPECT_EQ(std::memcmp(out.data() + shift, g.values.data() + begin * 4,
                                static_cast<size_t>(count) * 4),
                    0)
              << g.name << " " << begin << " " << count << " " << shift;
          EXPECT_EQ(out.back(), std::byte{0x5a});  // nothing is written beyond
        }
      }
  }
}

TEST(GgufQuant, OnlyPlainFloatsAreViews) {
  for (const Golden& g : goldens()) EXPECT_EQ(open(g).tensor->view().has_value(), g.name == "F32");
}

TEST(GgufQuant, NamesWhatItCannotDecode) {
  GgufTestFile f;
  f.tensor("blk.0.w", {256}, 23, std::string(136, '\0'));
  const auto file = f.parse();
  EXPECT_EQ(error_of([&] { gguf_tensor(file, *file->find("blk.0.w")); }),
            "unsupported: [gguf] test.gguf: tensor \"blk.0.w\" is stored as IQ4_XS, which is not "
            "supported; supported: F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, "
            "Q6_K, BF16");
}

TEST(GgufQuant, KeepsTheFileAlive) {
  Lazy tensor = open(goldens().front()).tensor;  // the file's own handle is gone
  EXPECT_EQ(materialize(*tensor).numel(), tensor->numel());
}

}  // namespace
}  // namespace slipway
