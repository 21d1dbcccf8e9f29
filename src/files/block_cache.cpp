#include "files/block_cache.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "compatcheck/error.h"
#include "process/callback.h"
#include "process/spell_count.h"

namespace compatcheck::files {
namespace {

constexpr std::uint64_t block_bytes = 4 << 10;
constexpr std::uint64_t joined_over = 4;         // blocks that may be read again to save a request
constexpr std::uint64_t kept_bytes = 4 << 20;    // a longer read isn't kept
constexpr std::uint64_t piece_bytes = 16 << 20;  // a long read is split into pieces of this size

}  // namespace

std::uint64_t BlockCache::bytes_read() const {
  const std::lock_guard lock(mutex_);
  return bytes_read_;
}

std::uint64_t BlockCache::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::vector<std::string> BlockCache::request(std::span<const ByteRange> ranges) {
  ++requests_;
  std::vector<std::string> answers = process::call(read_, ranges);
  if (answers.size() != ranges.size()) throw ModelError("its reader gave other ranges than it was asked for");
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (answers[i].size() != ranges[i].bytes)
      throw ModelError("its reader gave " + spell_count(answers[i].size(), "byte") + " at " + std::to_string(ranges[i].offset) +
                       " where it was asked for " + std::to_string(ranges[i].bytes));
    bytes_read_ += ranges[i].bytes;
  }
  return answers;
}

void BlockCache::fetch_blocks(std::span<const ByteRange> ranges) {
  std::set<std::uint64_t> missing;
  for (const ByteRange& range : ranges) {
    if (range.bytes == 0 || range.offset >= size_) continue;
    const std::uint64_t last = range.offset + std::min(range.bytes, size_ - range.offset) - 1;
    for (std::uint64_t block = range.offset / block_bytes; block <= last / block_bytes; ++block)
      if (!blocks_.contains(block)) missing.insert(block);
  }
  if (missing.empty()) return;
  std::vector<ByteRange> spans;
  std::uint64_t begin = *missing.begin(), end = begin;  // blocks
  const auto close = [&] { spans.push_back({begin * block_bytes, std::min(end * block_bytes, size_) - begin * block_bytes}); };
  for (const std::uint64_t block : missing) {
    if (block > end + joined_over) {
      close();
      begin = block;
    }
    end = block + 1;
  }
  close();
  const auto answers = request(spans);
  for (std::size_t i = 0; i < spans.size(); ++i)
    for (std::uint64_t at = 0; at < answers[i].size(); at += block_bytes) {
      const std::string_view piece = std::string_view(answers[i]).substr(at, block_bytes);
      blocks_.try_emplace((spans[i].offset + at) / block_bytes, piece.begin(), piece.end());
    }
}

void BlockCache::fetch(std::span<const ByteRange> ranges) {
  const std::lock_guard lock(mutex_);
  fetch_blocks(ranges);
}

bool BlockCache::has_all(std::uint64_t offset, std::uint64_t bytes) const {
  for (std::uint64_t block = offset / block_bytes; block * block_bytes < offset + bytes; ++block)
    if (!blocks_.contains(block)) return false;
  return true;
}

void BlockCache::read_into(std::uint64_t offset, std::span<std::uint8_t> into) {
  if (offset > size_ || into.size() > size_ - offset) throw ModelError("it ends too early");
  const std::lock_guard lock(mutex_);
  if (into.size() > kept_bytes && !has_all(offset, into.size())) {
    while (!into.empty()) {
      const ByteRange range{offset, std::min<std::uint64_t>(into.size(), piece_bytes)};
      const auto answers = request({&range, 1});
      std::memcpy(into.data(), answers[0].data(), answers[0].size());
      into = into.subspan(answers[0].size());
      offset += range.bytes;
    }
    return;
  }
  const ByteRange whole{offset, into.size()};
  fetch_blocks({&whole, 1});
  while (!into.empty()) {
    const Block& block = blocks_.at(offset / block_bytes);
    const std::size_t at = offset % block_bytes, bytes = std::min<std::size_t>(into.size(), block.size() - at);
    std::memcpy(into.data(), block.data() + at, bytes);
    into = into.subspan(bytes);
    offset += bytes;
  }
}

}  // namespace compatcheck::files
