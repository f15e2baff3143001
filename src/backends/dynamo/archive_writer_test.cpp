#include "backends/dynamo/archive_writer.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/dynamo/archive.h"
#include "base/test_folder.h"

namespace slipway::dynamo {
namespace {

Lazy numbers(int64_t count, float first) {
  Tensor tensor(DType::kF32, {count});
  for (float& v : tensor.mutable_values<float>()) v = first++;
  return lazy_constant(tensor);
}

ArchiveWriter sample(int64_t zip64_from = std::numeric_limits<uint32_t>::max()) {
  ArchiveWriter writer("model", zip64_from);
  writer.add("data/weights/weight_0", numbers(3'000'001, 0));
  writer.add("data/weights/weight_1", numbers(0, 0));
  writer.add("data/weights/weight_2", numbers(5, 7));
  writer.add("archive_format", std::string("pt2"));
  writer.add_digest(".data/serialization_id");
  return writer;
}

void expect_sample(const std::filesystem::path& path) {
  const auto archive = Archive::open(path);
  EXPECT_EQ(archive->root(), "model");
  EXPECT_EQ(archive->entries().size(), 5U);
  EXPECT_EQ(archive->text("archive_format"), "pt2");
  EXPECT_EQ(archive->text(".data/serialization_id").size(), 40U);
  for (const auto& [name, entry] : archive->entries())
    EXPECT_EQ(entry.offset % ArchiveWriter::kAlignment, 0) << name;
  const ByteSpan large = archive->bytes(archive->at("data/weights/weight_0"));
  ASSERT_EQ(large.size(), 12'000'004U);
  const auto* values = reinterpret_cast<const float*>(large.data());
  EXPECT_EQ(values[0], 0.0F);
  EXPECT_EQ(values[3'000'000], 3'000'000.0F);
  // Python's reader, which checks the checksums too.
  const std::string check =
      "python3 -c \"import sys, zipfile; "
      "z = zipfile.ZipFile(sys.argv[1]); sys.exit(z.testzip() is not None "
      "or len(z.namelist()) != 5)\" '" +
      path.string() + "'";
  EXPECT_EQ(std::system(check.c_str()), 0);  // NOLINT: a fixed command on a path of our own
}

TEST(ArchiveWriter, EntriesAreStoredAlignedAndWhole) {
  const TestFolder folder;
  const ArchiveWriter writer = sample();
  writer.write(folder / "a.pt2");
  EXPECT_EQ(static_cast<int64_t>(std::filesystem::file_size(folder / "a.pt2")), writer.size());
  expect_sample(folder / "a.pt2");
}

TEST(ArchiveWriter, Zip64FieldsReadBack) {
  const TestFolder folder;
  for (const int64_t from : {int64_t{0}, int64_t{100}, int64_t{13'000'000}}) {
    const ArchiveWriter writer = sample(from);
    writer.write(folder / "a.pt2");
    EXPECT_EQ(static_cast<int64_t>(std::filesystem::file_size(folder / "a.pt2")), writer.size());
    expect_sample(folder / "a.pt2");
  }
}

TEST(ArchiveWriter, EqualEntriesGiveEqualBytesOthersAnotherDigest) {
  const TestFolder folder;
  sample().write(folder / "a.pt2");
  sample().write(folder / "b.pt2");
  EXPECT_EQ(TestFolder::read(folder / "a.pt2"), TestFolder::read(folder / "b.pt2"));
  EXPECT_EQ(TestFolder::read(folder / "a.pt2"), sample().bytes());
  ArchiveWriter other("model");
  other.add("archive_format", std::string("pt3"));
  other.add_digest(".data/serialization_id");
  other.write(folder / "c.pt2");
  EXPECT_NE(Archive::open(folder / "a.pt2")->text(".data/serialization_id"),
            Archive::open(folder / "c.pt2")->text(".data/serialization_id"));
}

}  // namespace
}  // namespace slipway::dynamo
