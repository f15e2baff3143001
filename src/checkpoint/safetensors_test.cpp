// The safetensors reader: what it accepts and everything that it must refuse (PC-07, PC-50).
#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/test_folder.h"

namespace slipway {
namespace {

std::string file_text(const std::string& header, const std::string& data) {
  std::string text(8, '\0');
  for (size_t i = 0; i < 8; ++i) text[i] = static_cast<char>(header.size() >> (8 * i));
  return text + header + data;
}

std::vector<SafetensorsEntry> parse(const std::string& text) {
  return parse_safetensors(std::as_bytes(std::span<const char>(text)), "x.safetensors");
}

void refused(const std::string& text, const std::vector<std::string>& parts,
             ErrorKind kind = kInvalid) {
  try {
    parse(text);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    const std::string what = e.what();
    EXPECT_NE(what.find("x.safetensors"), std::string::npos) << what;
    for (const std::string& part : parts)
      EXPECT_NE(what.find(part), std::string::npos) << "no '" << part << "' in: " << what;
    return;
  }
  ADD_FAILURE() << "accepted; expected: " << parts.front();
}

const std::string kHeader =
    R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"b":{"dtype":"U8","shape":[3],"data_offsets":[16,19]}})";
const std::string kData(19, 'd');

TEST(Safetensors, ReadsEntriesSortedByName) {
  const auto entries = parse(file_text(
      R"({"__metadata__":{"format":"pt"},"z":{"dtype":"BF16","shape":[],"data_offsets":[0,2]},)"
      R"("e":{"dtype":"I64","shape":[0,5],"data_offsets":[2,2]}}   )",
      "xy"));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "e");
  EXPECT_EQ(entries[0].shape, (Shape{0, 5}));
  EXPECT_EQ(entries[0].nbytes, 0);
  EXPECT_EQ(entries[1].dtype, DType::kBF16);
  EXPECT_EQ(entries[1].shape, Shape{});
  EXPECT_EQ(entries[1].nbytes, 2);
  EXPECT_TRUE(parse(file_text("{}", "")).empty());
}

TEST(Safetensors, EveryDTypeSurvivesWritingAndReading) {
  TestFolder t;
  std::map<std::string, Tensor> tensors;
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    const auto dtype = static_cast<DType>(i);
    Tensor tensor(dtype, {3, 5});
    for (int64_t k = 0; k < tensor.nbytes(); ++k)
      tensor.mutable_data()[k] = static_cast<std::byte>(dtype == DType::kBool ? k % 2 : k * 7 + i);
    tensors.emplace(std::string(short_name(dtype)), tensor);
  }
  tensors.emplace("scalar", Tensor::of<float>({}, {2.5f}));
  tensors.emplace("empty", Tensor(DType::kF16, {0, 4}));
  write_safetensors(t / "f.safetensors", tensors);
  const auto back = read_safetensors(t / "f.safetensors");
  ASSERT_EQ(back.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor& read = back.at(name);
    EXPECT_EQ(read.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(read.shape(), tensor.shape()) << name;
    EXPECT_TRUE(std::equal(read.data(), read.data() + read.nbytes(), tensor.data())) << name;
  }
}

TEST(Safetensors, NamesMayHoldAnyCharacters) {
  TestFolder t;
  std::map<std::string, Tensor> tensors;
  for (const std::string& name : {std::string("a/b"), std::string("c:d"), std::string("../../e"),
                                  std::string(300, 'n'), std::string("quote\" back\\ tab\t"),
                                  std::string("模型.é"), std::string("nul\0x", 5), std::string()})
    tensors.emplace(name, Tensor::of<uint8_t>({1}, {static_cast<uint8_t>(name.size())}));
  write_safetensors(t / "f.safetensors", tensors);
  const auto store = open_safetensors_file(t / "f.safetensors");
  EXPECT_EQ(store->names().size(), tensors.size());
  for (const auto& [name, tensor] : tensors)
    EXPECT_EQ(materialize(*store->find(name)).values<uint8_t>()[0], tensor.values<uint8_t>()[0]);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(t.path()), {}), 1);
  EXPECT_THROW(write_safetensors(t / "g", {{"bad\xff", tensors.at("a/b")}}), Error);
  EXPECT_THROW(write_safetensors(t / "g", {{"__metadata__", tensors.at("a/b")}}), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(t.path()), {}), 1);
}

TEST(Safetensors, UnalignedTensorsAreReadByCopy) {
  TestFolder t;
  std::string data = "x";
  const float values[] = {1.5f, -2.25f};
  data.append(reinterpret_cast<const char*>(values), sizeof values);
  t.write("f", file_text(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                         R"("f":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})",
                         data));
  const auto store = open_safetensors_file(t / "f");
  const Lazy f = store->find("f");
  EXPECT_EQ(materialize(*f).values<float>()[1], -2.25f);
  EXPECT_EQ(f->view()->size(), 8u);
  EXPECT_EQ(f, store->find("f")) << "one object per name";
  EXPECT_EQ(store->find("g"), nullptr);
}

TEST(Safetensors, RefusesDamagedFilesNamingBothSizes) {
  const std::string good = file_text(kHeader, kData);
  ASSERT_EQ(parse(good).size(), 2u);
  const std::string size = std::to_string(good.size());
  const auto sizes = [&](int64_t change) { return std::to_string(good.size() + change); };
  refused(good.substr(0, good.size() - 1), {sizes(-1), size, "cut short"});
  refused(good + "x", {sizes(1), size, "added"});
  refused(good.substr(0, 50), {"50", std::to_string(8 + kHeader.size()), "cut short"});
  refused(good.substr(0, 5), {"5 bytes", "at least 8"});
  refused("", {"empty", "0 bytes"});
  refused("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 538090408\n",
          {"Git LFS pointer", "538090408", "git lfs pull"});
  refused("version https://git-lfs.github.com/spec/v1\n", {"Git LFS pointer", "unknown"});
}

TEST(Safetensors, EveryCutIsRefused) {
  const std::string good = file_text(kHeader, kData);
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(parse(good.substr(0, size)), Error) << size;
}

TEST(Safetensors, RefusesHostileHeaders) {
  refused(std::string(8, '\xff') + "{}", {"header length"});
  refused(file_text("[]", ""), {"a list of 0", "object"});
  refused(file_text(R"({"a":1})", ""), {"\"a\"", "the number 1"});
  refused(file_text("{", ""), {"JSON"});
  refused(file_text(R"({"__metadata__":{"a":1}})", ""), {"__metadata__"});
  refused(file_text(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                    R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                    "12345678"),
          {"\"a\"", "twice"});
  const auto one = [](const std::string& fields) {
    return file_text(R"({"t":{)" + fields + "}}", std::string(8, 'x'));
  };
  refused(one(R"("shape":[2],"data_offsets":[0,8])"), {"no dtype"});
  refused(one(R"("dtype":"F32","data_offsets":[0,8])"), {"no shape"});
  refused(one(R"("dtype":"F32","shape":[2])"), {"no data_offsets"});
  refused(one(R"("dtype":"F33","shape":[2],"data_offsets":[0,8])"), {"F33", "BOOL"});
  refused(one(R"("dtype":"F8_E8M0","shape":[8],"data_offsets":[0,8])"), {"F8_E8M0"}, kUnsupported);
  refused(one(R"("dtype":7,"shape":[2],"data_offsets":[0,8])"), {"the number 7"});
  refused(one(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), {"-2"});
  refused(one(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), {"2.0"});
  refused(one(R"("dtype":"F32","shape":"2","data_offsets":[0,8])"), {"list of integers"});
  refused(one(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])"), {"2^63"});
  refused(one(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8])"), {"2^63"});
  refused(one(R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,8])"), {"2^63"});
  refused(one(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), {"8 bytes", "need 12"});
  refused(one(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), {"data_offsets"});
  refused(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,4,8])"), {"data_offsets"});
  refused(one(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), {"hole"});
  refused(
      one(R"("dtype":"U8","shape":[2],"data_offsets":[9223372036854775805,9223372036854775807])"),
      {"more than 2^63"});
  refused(file_text(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                    R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                    std::string(12, 'x')),
          {"overlap"});
  refused(file_text(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                    R"("b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})",
                    std::string(9, 'x')),
          {"hole"});
}

}  // namespace
}  // namespace slipway
