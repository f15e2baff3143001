// Hostile archives: cut, grown, overlapping, compressed, escaping.
#include "backends/dynamo/archive.h"

#include <gtest/gtest.h>
#include <libdeflate.h>

#include <cstring>

#include "backends/dynamo/archive_writer.h"
#include "backends/dynamo/program_file.h"
#include "base/output.h"
#include "base/test_expect.h"
#include "base/test_folder.h"

namespace slipway::dynamo {
namespace {

/// A stored zip of (name, contents), made by hand so that it may be wrong.
class Zip {
 public:
  Zip& add(const std::string& name, const std::string& contents, uint16_t method = 0) {
    const auto header = static_cast<uint32_t>(bytes_.size());
    crc32_ = libdeflate_crc32(0, contents.data(), contents.size());
    local(name, static_cast<uint32_t>(contents.size()), method);
    bytes_ += contents;
    central(name, static_cast<uint32_t>(contents.size()), method, header);
    return *this;
  }
  /// An entry of the directory only, which points at a header that is there.
  Zip& alias(const std::string& name, uint32_t size, uint32_t header) {
    central(name, size, 0, header);
    return *this;
  }

  std::string finish() const {
    std::string file = bytes_ + directory_;
    put32(file, 0x06054b50);
    put16(file, 0), put16(file, 0), put16(file, count_), put16(file, count_);
    put32(file, static_cast<uint32_t>(directory_.size()));
    put32(file, static_cast<uint32_t>(bytes_.size()));
    put16(file, 0);
    return file;
  }

 private:
  static void put16(std::string& to, uint16_t v) {
    to += static_cast<char>(v & 255);
    to += static_cast<char>(v >> 8);
  }
  static void put32(std::string& to, uint32_t v) {
    put16(to, static_cast<uint16_t>(v & 65535));
    put16(to, static_cast<uint16_t>(v >> 16));
  }
  void local(const std::string& name, uint32_t size, uint16_t method) {
    put32(bytes_, 0x04034b50);
    for (const uint16_t v : {uint16_t{20}, uint16_t{0}, method, uint16_t{0}, uint16_t{33}})
      put16(bytes_, v);
    put32(bytes_, crc32_), put32(bytes_, size), put32(bytes_, size);
    put16(bytes_, static_cast<uint16_t>(name.size())), put16(bytes_, 0);
    bytes_ += name;
  }
  void central(const std::string& name, uint32_t size, uint16_t method, uint32_t header) {
    put32(directory_, 0x02014b50);
    for (const uint16_t v :
         {uint16_t{20}, uint16_t{20}, uint16_t{0}, method, uint16_t{0}, uint16_t{33}})
      put16(directory_, v);
    put32(directory_, crc32_), put32(directory_, size), put32(directory_, size);
    put16(directory_, static_cast<uint16_t>(name.size()));
    for (int i = 0; i < 4; ++i) put16(directory_, 0);
    put32(directory_, 0), put32(directory_, header);
    directory_ += name;
    ++count_;
  }

  std::string bytes_, directory_;
  uint16_t count_ = 0;
  uint32_t crc32_ = 0;
};

class ArchiveFile : public testing::Test {
 protected:
  std::shared_ptr<const Archive> open(const std::string& bytes) {
    write_file(path(), bytes);
    return Archive::open(path());
  }
  std::string refusal(ErrorKind kind, const std::string& bytes) {
    return error_of(kind, [&] { open(bytes); });
  }
  std::filesystem::path path() const { return folder_ / "program.pt2"; }

  TestFolder folder_;
};

TEST_F(ArchiveFile, EntriesAreFoundBelowTheRoot) {
  const auto archive = open(Zip().add("m/version", "0").add("m/data/x", "hello").finish());
  EXPECT_EQ(archive->root(), "m");
  EXPECT_EQ(archive->text("data/x"), "hello");
  EXPECT_EQ(archive->find("m/version"), nullptr);
}

TEST_F(ArchiveFile, EveryCutIsRefused) {
  const std::string whole = Zip().add("m/a", "12345").add("m/b", "67890").finish();
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(open(whole.substr(0, size)), Error) << size;
}

TEST_F(ArchiveFile, NamesThatLeaveTheRootAreRefused) {
  for (const char* name :
       {"../m/a", "/etc/passwd", "m/../../a", "m/./a", "m//a", "m\\a/b", "m", "m/a/.."})
    EXPECT_TRUE(contains(refusal(kInvalid, Zip().add(name, "x").finish()), "is not below")) << name;
  EXPECT_TRUE(contains(refusal(kInvalid, Zip().add("m/a", "x").add("n/a", "x").finish()),
                       "two root folders"));
}

TEST_F(ArchiveFile, OverlapsAndDoublesAreRefused) {
  const auto twice = Zip().add("m/a", "x").add("m/a", "y").finish();
  EXPECT_TRUE(contains(refusal(kInvalid, twice), "appears twice"));
  // A bomb: entries that share their bytes.
  const auto shared = Zip().add("m/a", "0123456789").add("m/b", "x").alias("m/a", 60, 0).finish();
  EXPECT_TRUE(contains(refusal(kInvalid, shared), "appears twice"));
  Zip grown;
  grown.add("m/a", "0123456789").add("m/b", "x");
  std::string bytes = grown.finish();
  const size_t at = bytes.find("\x50\x4b\x01\x02");
  bytes[at + 20] = bytes[at + 24] = 60;  // both sizes of m/a
  EXPECT_TRUE(contains(refusal(kInvalid, bytes), "overlaps"));
}

TEST_F(ArchiveFile, CompressedEntriesAreRefusedWithTheWayOut) {
  EXPECT_TRUE(contains(refusal(kUnsupported, Zip().add("m/a", "x", 8).finish()), "zip -0 -r"));
}

TEST_F(ArchiveFile, HeadersThatDisagreeAreRefused) {
  std::string bytes = Zip().add("m/aa", "x").finish();
  bytes[bytes.find("m/aa") + 3] = 'b';
  EXPECT_TRUE(contains(refusal(kInvalid, bytes), "another name in its header"));
}

TEST_F(ArchiveFile, ContentsThatChangedAreNamed) {
  std::string bytes = Zip().add("m/a", "hello").add("m/b", "world").finish();
  bytes[bytes.find("hello") + 1] = 'a';
  const auto archive = open(bytes);
  EXPECT_EQ(archive->text("b"), "world");
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { archive->text("a"); }), "entry \"a\" is damaged"));
}

TEST_F(ArchiveFile, OtherFilesAreToldApart) {
  EXPECT_TRUE(contains(refusal(kInvalid, std::string(100, 'x')), "does not end like a zip"));
  const auto program = [&](const std::string& bytes) {
    write_file(path(), bytes);
    return error_of(kUnsupported, [&] { ProgramFile::open(path()); });
  };
  EXPECT_TRUE(contains(program(Zip().add("m/data/aotinductor/m/x.so", "").finish()),
                       "compiled AOTInductor package"));
  EXPECT_TRUE(contains(program(Zip().add("m/serialized_exported_program.json", "{}").finish()),
                       "layout of torch 2.7"));
  EXPECT_TRUE(
      contains(program(Zip().add("m/models/a.json", "{}").add("m/models/b.json", "{}").finish()),
               "holds 2 programs"));
  EXPECT_TRUE(contains(
      program(
          Zip().add("m/models/m.json", R"({"schema_version": {"major": 9, "minor": 1}})").finish()),
      "has schema 9.1"));
}

TEST_F(ArchiveFile, DamagedProgramsNameThePlace) {
  const auto refused = [&](const std::string& json) {
    write_file(path(), Zip().add("m/models/m.json", json).finish());
    return error_of(kInvalid, [&] { ProgramFile::open(path()); });
  };
  const std::string version = R"("schema_version": {"major": 8, "minor": 20})";
  EXPECT_TRUE(contains(refused("{"), "models/m.json"));
  EXPECT_TRUE(contains(refused("[]"), "need an object with a schema_version"));
  EXPECT_TRUE(contains(refused("{" + version + "}"), "a field graph_module"));
  EXPECT_TRUE(contains(refused("{" + version + R"(, "graph_module": {"graph": {"inputs": 3}}})"),
                       "graph_module.graph.inputs: got the number 3, need a list"));
}

}  // namespace
}  // namespace slipway::dynamo
