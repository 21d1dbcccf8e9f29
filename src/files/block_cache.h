// A file read by ranges: the blocks that were read stay.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "compatcheck/ranged_file.h"

namespace compatcheck::files {

// Safe to use from several threads.
class BlockCache {
 public:
  BlockCache(std::uint64_t size, ReadRanges read) : size_(size), read_(std::move(read)) {}

  std::uint64_t size() const { return size_; }
  std::uint64_t bytes_read() const;
  std::uint64_t requests() const;

  // Throws ModelError if the range lies outside the file or comes back in another length.
  void read_into(std::uint64_t offset, std::span<std::uint8_t> into);
  // Reads the missing blocks, in one request. A hint: ranges outside of the file are ignored.
  void fetch(std::span<const ByteRange> ranges);

 private:
  using Block = std::vector<std::uint8_t>;
  void fetch_blocks(std::span<const ByteRange> ranges);
  bool has_all(std::uint64_t offset, std::uint64_t bytes) const;  // all blocks of this range are cached
  std::vector<std::string> request(std::span<const ByteRange> ranges);

  std::uint64_t size_;
  ReadRanges read_;
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Block> blocks_;  // keyed by block number
  std::uint64_t bytes_read_ = 0, requests_ = 0;
};

}  // namespace compatcheck::files
