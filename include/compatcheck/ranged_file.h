// A model that isn't a file of this machine: its bytes come in ranges, from a callback.
//
//   compatcheck::RangedFile file("s3://models/net.pt", bytes, [&](std::span<const compatcheck::ByteRange> ranges) { … });
//   auto report = compatcheck::check(compatcheck::Loader(options).load(file));
//
// A check reads an archive's directory, code, pickles and JSON, and tensors of a few bytes. It reads no stored weights. With
// engines (CheckOptions::targets) it also reads vectors of the weights that are folded, such as those of a batch norm.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace compatcheck {

struct ByteRange {
  std::uint64_t offset = 0, bytes = 0;
};

// Returns the bytes of each range, in order. Ranges lie inside the file and don't overlap. One thread at a time calls it,
// which need not be the one that loads or checks. An exception that it throws passes unchanged through the library. A range of
// another length than requested is a ModelError.
using ReadRanges = std::function<std::vector<std::string>(std::span<const ByteRange>)>;

class RangedFile {
 public:
  // `name`: what reports call it. Reads nothing yet.
  RangedFile(std::string name, std::uint64_t bytes, ReadRanges read);

  const std::string& name() const;
  std::uint64_t bytes() const;
  // So far, by every user of this object or a copy of it. Copies share all bytes that were read.
  std::uint64_t bytes_read() const;
  std::uint64_t requests() const;  // calls of `read`

  struct State;
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

// As for a file: ModelInfo::identity without loading it, from the archive's directory (names, sizes and checksums of the
// records).
std::string identity_of(const RangedFile& file);
// Returns the format of the file by its content: "torchscript", … (load.h).
std::string format_of(const RangedFile& file);

}  // namespace compatcheck
