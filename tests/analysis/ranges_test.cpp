// Models read by ranges: the same reports as of files, without a byte of their weights.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

#include "compatcheck/check.h"
#include "compatcheck/convert.h"
#include "compatcheck/render.h"
#include "compatcheck/verify.h"
#include "days.h"
#include "files/block_cache.h"
#include "files/input_file.h"
#include "files/zip.h"

namespace compatcheck {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// A string that is read by ranges, and what was read of it.
struct Text {
  std::string bytes;
  std::vector<std::vector<ByteRange>> requests{};

  ReadRanges reader() {
    return [this](std::span<const ByteRange> ranges) {
      requests.emplace_back(ranges.begin(), ranges.end());
      std::vector<std::string> answers;
      for (const ByteRange& range : ranges) answers.push_back(bytes.substr(range.offset, range.bytes));
      return answers;
    };
  }
};

std::string numbered(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; text.size() < bytes; ++i) text += std::to_string(i) + " ";
  text.resize(bytes);
  return text;
}

std::string read(files::BlockCache& cache, std::uint64_t offset, std::size_t bytes) {
  std::vector<std::uint8_t> into(bytes);
  cache.read_into(offset, into);
  return {into.begin(), into.end()};
}

TEST(BlockCache, GivesEveryRangeOfTheFile) {
  Text text{numbered(50'001)};
  files::BlockCache cache(text.bytes.size(), text.reader());
  std::srand(7);
  for (int i = 0; i < 400; ++i) {
    const auto offset = static_cast<std::size_t>(std::rand()) % (text.bytes.size() + 1);
    const std::size_t bytes = static_cast<std::size_t>(std::rand()) % (text.bytes.size() - offset + 1);
    ASSERT_EQ(read(cache, offset, bytes), text.bytes.substr(offset, bytes)) << offset << " " << bytes;
  }
  EXPECT_LE(cache.bytes_read(), 2 * text.bytes.size());  // a few blocks twice, to save requests
  EXPECT_EQ(cache.requests(), text.requests.size());
}

TEST(BlockCache, FetchesSeveralRangesInOneRequestAndNothingTwice) {
  Text text{numbered(1 << 20)};
  files::BlockCache cache(text.bytes.size(), text.reader());
  const std::vector<ByteRange> ranges{{10, 20}, {5'000, 100}, {500'000, 9'000}, {(1 << 20) - 5, 100}, {2 << 20, 10}};
  cache.fetch(ranges);
  ASSERT_EQ(text.requests.size(), 1u);
  EXPECT_EQ(text.requests[0].size(), 3u);  // the first two are neighbours, the last lies outside
  cache.fetch(ranges);
  EXPECT_EQ(read(cache, 500'100, 50), text.bytes.substr(500'100, 50));
  EXPECT_EQ(text.requests.size(), 1u);
}

TEST(BlockCache, DoesNotKeepLongReads) {
  Text text{numbered(6 << 20)};
  files::BlockCache cache(text.bytes.size(), text.reader());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(read(cache, 3, 5 << 20), text.bytes.substr(3, 5 << 20));
  EXPECT_EQ(cache.bytes_read(), 10u << 20);
}

TEST(BlockCache, RefusesWhatIsNotThere) {
  Text text{numbered(100)};
  files::BlockCache cache(text.bytes.size(), text.reader());
  EXPECT_THAT([&] { read(cache, 90, 11); }, ThrowsMessage<ModelError>(HasSubstr("ends too early")));
  EXPECT_THAT([&] { read(cache, 101, 0); }, ThrowsMessage<ModelError>(HasSubstr("ends too early")));
}

TEST(BlockCache, RefusesAnswersOfAnotherLength) {
  files::BlockCache shorter(100, [](std::span<const ByteRange>) { return std::vector<std::string>{"few"}; });
  EXPECT_THAT([&] { read(shorter, 0, 10); }, ThrowsMessage<ModelError>(HasSubstr("3 bytes at 0 where it was asked for 100")));
  files::BlockCache fewer(100, [](std::span<const ByteRange>) { return std::vector<std::string>{}; });
  EXPECT_THAT([&] { read(fewer, 0, 10); }, ThrowsMessage<ModelError>(HasSubstr("other ranges")));
}

TEST(RangedFile, WhatTheReaderThrowsLeavesTheLibraryUnchanged) {
  const RangedFile file("s3://models/net.pt", 1000, [](std::span<const ByteRange>) -> std::vector<std::string> {
    throw std::runtime_error("the bucket is gone");
  });
  EXPECT_THAT([&] { identity_of(file); }, ThrowsMessage<std::runtime_error>(std::string("the bucket is gone")));
  EXPECT_THAT([&] { Loader().load(file); }, ThrowsMessage<std::runtime_error>(std::string("the bucket is gone")));
}

// --- Models ---

std::vector<fs::path> model_files() {
  std::vector<fs::path> found;
  for (const char* folder : {"COMPATCHECK_MODELS", "COMPATCHECK_BROKEN"})
    for (const auto& entry : fs::recursive_directory_iterator(std::getenv(folder))) {
      const auto ending = entry.path().extension();
      if (entry.is_regular_file() && (ending == ".pt" || ending == ".pt2" || ending == ".pth" || ending == ".ir"))
        found.push_back(entry.path());
    }
  std::ranges::sort(found);
  return found;
}

struct Read {
  RangedFile file;
  std::shared_ptr<std::vector<ByteRange>> ranges;
};

Read ranged(const fs::path& path) {
  auto stream = std::make_shared<std::ifstream>(path, std::ios::binary);
  auto ranges = std::make_shared<std::vector<ByteRange>>();
  return {RangedFile(path.string(), fs::file_size(path),
                     [stream, ranges](std::span<const ByteRange> requested) {
                       std::vector<std::string> answers;
                       for (const ByteRange& range : requested) {
                         std::string bytes(range.bytes, '\0');
                         stream->seekg(static_cast<std::streamoff>(range.offset));
                         stream->read(bytes.data(), static_cast<std::streamsize>(range.bytes));
                         answers.push_back(std::move(bytes));
                         ranges->push_back(range);
                       }
                       return answers;
                     }),
          ranges};
}

template <class Get>
std::string report_of(const CheckOptions& options, const fs::path& path, Get&& get) {
  try {
    return render(check(get(), options), Format::json);
  } catch (const Error& error) {
    return render(failure_report(path.string(), error), Format::json);
  }
}

// Of stored records of weights that are larger than `small`, how many bytes lie in what was read.
std::uint64_t weights_read(const fs::path& path, const std::vector<ByteRange>& ranges, std::uint64_t small) {
  const files::InputFile file(path);
  if (!files::starts_as_zip(file.head(4))) return 0;
  std::uint64_t bytes = 0;
  for (const files::ZipRecord& record : files::read_zip_directory(file).records) {
    const bool is_weight = record.name.find("/data/") != record.name.npos || record.name.find("/constants/") != record.name.npos;
    if (!is_weight || record.compressed || record.stored <= small || record.name.ends_with(".json") ||
        record.name.ends_with(".pt"))
      continue;
    const std::uint64_t begin = files::contents_offset(file, record), end = begin + record.stored;
    for (const ByteRange& range : ranges) {
      const std::uint64_t from = std::max(begin, range.offset), to = std::min(end, range.offset + range.bytes);
      if (from < to) bytes += to - from;
    }
  }
  return bytes;
}

TEST(RangedFile, EveryModelHasTheReportOfItsFile) {
  const LoadOptions load{.frontend = FrontendKind::native};
  std::size_t compared = 0, same_identity = 0;
  std::size_t number = 0;
  for (const fs::path& path : model_files()) {
    if (!is_of_today(++number, 3)) continue;
    CheckOptions options;
    const Read alone = ranged(path);
    report_of(options, path, [&] { return Loader(load).load(alone.file); });
    if (fs::file_size(path) > 256 << 10) {  // a smaller file is read at once; blocks reach a little beyond what is asked for
      const std::uint64_t weights = weights_read(path, *alone.ranges, 64 << 10);
      EXPECT_LE(weights, 300'000 + fs::file_size(path) / 20) << path;
    }
    options.targets = {"tensorrt", "ort-cpu"};
    const Read read = ranged(path);
    const std::string whole = report_of(options, path, [&] { return Loader(load).load(path); });
    const std::string parts = report_of(options, path, [&] { return Loader(load).load(read.file); });
    ASSERT_EQ(parts, whole) << path;
    ++compared;
    try {
      const std::string identity = identity_of(path);
      EXPECT_EQ(identity_of(ranged(path).file), identity) << path;
      EXPECT_EQ(format_of(ranged(path).file), format_of(path)) << path;
      ++same_identity;
    } catch (const ModelError&) {
    }
  }
  EXPECT_GT(compared, number / 4);
  EXPECT_GT(same_identity, number / 8);
}

TEST(RangedFile, LargeWeightsStayWhereTheyAre) {
  const fs::path path = fs::path(std::getenv("COMPATCHECK_MODELS")) / "heavy-traced.pt";
  const Read read = ranged(path);
  EXPECT_TRUE(check(Loader().load(read.file)).convertible());
  EXPECT_LT(read.file.bytes_read(), 3u << 20);
  EXPECT_LT(read.file.requests(), 12u);
}

TEST(RangedFile, WhatNeedsAFileSaysSo) {
  const fs::path path = fs::path(std::getenv("COMPATCHECK_MODELS")) / "heavy-traced.pt";
  const Model model = Loader().load(ranged(path).file);
  const fs::path output = fs::temp_directory_path() / "compatcheck-ranges-test.onnx";
  EXPECT_THAT([&] { convert(model, output); }, ThrowsMessage<UsageError>(HasSubstr("convert needs a file on this machine")));
  EXPECT_FALSE(fs::exists(output));
  EXPECT_THAT([&] { convert(model, WriteBytes([](std::span<const std::byte>) {})); },
              ThrowsMessage<UsageError>(HasSubstr("convert needs a file on this machine")));
  EXPECT_THAT([&] { Loader({.frontend = FrontendKind::libtorch}).load(ranged(path).file); },
              ThrowsMessage<ModelError>(HasSubstr("libtorch needs a file")));
  EXPECT_THAT([&] { check(model, {.hash = true}); }, ThrowsMessage<UsageError>(HasSubstr("hash")));
}

}  // namespace
}  // namespace compatcheck
