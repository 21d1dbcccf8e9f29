#include "files/zip.h"

#include <gmock/gmock.h>

#include "compatcheck/error.h"
#include "frontend/sample_archive.h"

namespace compatcheck::frontend {
namespace {

using testing::as_bytes;
using ::testing::HasSubstr;
using testing::Records;
using ::testing::ThrowsMessage;

const Records sample = {{"net/data.pkl", "pickle"}, {"net/data/0", std::string(1000, 'w')}, {"net/version", "3"}};

files::ZipDirectory directory_of(const std::string& bytes) {
  return files::read_zip_directory(files::InputFile(as_bytes(bytes)));
}

TEST(Zip, FindsRecordsBelowTheTopFolder) {
  for (const std::string& bytes : {testing::zip(sample), testing::zip64(sample)}) {
    const files::InputFile file(as_bytes(bytes));
    const files::ZipDirectory directory = files::read_zip_directory(file);
    ASSERT_EQ(directory.records.size(), 3u);
    EXPECT_EQ(directory.top, "net/");
    const files::ZipRecord* record = directory.find("data.pkl");
    ASSERT_NE(record, nullptr);
    const auto content = read_zip_record(file, *record, 100);
    EXPECT_EQ(std::string(content.begin(), content.end()), "pickle");
    EXPECT_EQ(directory.find("data/0")->stored, 1000u);
    EXPECT_EQ(read_zip_record(file, *directory.find("data/0"), 10).size(), 10u);
    EXPECT_TRUE(directory.has_folder("data/"));
    EXPECT_EQ(directory.find("data"), nullptr);
    EXPECT_FALSE(directory.has_folder("code/"));
  }
}

TEST(Zip, UnpacksWhatIsDeflated) {
  const std::string text(300000, 'w');
  const std::string bytes = testing::deflated_zip({{"net/data.pkl", "pickle"}, {"net/data/0", text}, {"net/empty", ""}});
  const files::InputFile file(as_bytes(bytes));
  const files::ZipDirectory directory = files::read_zip_directory(file);
  const auto contents = [&](const char* name, std::uint64_t at_most) {
    const auto data = read_zip_record(file, *directory.find(name), at_most);
    return std::string(data.begin(), data.end());
  };
  EXPECT_EQ(contents("data.pkl", 100), "pickle");
  EXPECT_EQ(contents("data.pkl", 3), "pic");
  EXPECT_EQ(contents("data/0", 1 << 20), text);
  EXPECT_EQ(contents("data/0", 70000), text.substr(0, 70000));
  EXPECT_EQ(contents("empty", 100), "");
  EXPECT_TRUE(directory.find("data/0")->compressed);
}

TEST(Zip, DeflatedRecordsSurviveDamage) {
  const std::string sound = testing::deflated_zip({{"net/data.pkl", "some words, some more words, and some words again"}});
  for (std::size_t at = 0; at < sound.size(); ++at)
    for (const int value : {0, 1, 0x7f, 0xff}) {
      std::string bytes = sound;
      bytes[at] = static_cast<char>(value);
      const files::InputFile file(as_bytes(bytes));
      try {
        for (const files::ZipRecord& record : files::read_zip_directory(file).records) read_zip_record(file, record, 1 << 20);
      } catch (const ModelError&) {
      }
    }
}

TEST(Zip, RefusesEveryTruncation) {
  for (const std::string& bytes : {testing::zip(sample), testing::zip64(sample)})
    for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_THROW(directory_of(bytes.substr(0, size)), ModelError) << size;
}

TEST(Zip, SaysThatTheDirectoryIsMissing) {
  const std::string bytes = testing::zip(sample);
  EXPECT_THAT([&] { directory_of(bytes.substr(0, 700)); },
              ThrowsMessage<ModelError>("is cut short: a zip archive whose directory, at its end, is missing (it has 700 "
                                        "bytes); copy or download it again"));
}

// Whatever a byte of the directory is changed to: an answer or a ModelError.
TEST(Zip, SurvivesDamage) {
  for (const std::string& sound : {testing::zip(sample), testing::zip64(sample)})
    for (std::size_t at = sound.size() - 400; at < sound.size(); ++at)
      for (const int value : {0, 1, 0x7f, 0xff}) {
        std::string bytes = sound;
        bytes[at] = static_cast<char>(value);
        const files::InputFile file(as_bytes(bytes));
        try {
          for (const files::ZipRecord& record : files::read_zip_directory(file).records)
            if (!record.compressed) read_zip_record(file, record, 1 << 20);
        } catch (const ModelError&) {
        }
      }
}

TEST(Zip, RefusesPartsOfSeveral) {
  std::string bytes = testing::zip(sample);
  bytes[bytes.size() - 18] = 1;  // the number of this disk
  EXPECT_THAT([&] { directory_of(bytes); }, ThrowsMessage<ModelError>(HasSubstr("in several parts")));
}

TEST(Zip, RefusesRecordsBeyondTheFile) {
  Records large = sample;
  std::string bytes = testing::zip(large);
  const std::string entry = std::string("PK\x01\x02", 4);
  const auto at = bytes.find(entry, bytes.find(entry) + 1);
  bytes[at + 22] = bytes[at + 26] = 0x7f;  // the third byte of both sizes
  EXPECT_THAT([&] { directory_of(bytes); },
              ThrowsMessage<ModelError>("is a damaged zip archive: record net/data/0 reaches beyond its place in the file"));
}

TEST(Zip, IdentityFollowsNamesSizesAndSums) {
  const std::string own = identity(directory_of(testing::zip(sample)));
  EXPECT_EQ(own.size(), 64u);
  EXPECT_EQ(own, identity(directory_of(testing::zip64(sample))));
  Records other = sample;
  other[1].second[500] = 'x';
  EXPECT_NE(own, identity(directory_of(testing::zip(other))));
  other = sample;
  other[2].first = "net/versions";
  EXPECT_NE(own, identity(directory_of(testing::zip(other))));
}

}  // namespace
}  // namespace compatcheck::frontend
