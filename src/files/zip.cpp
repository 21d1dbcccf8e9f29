// Source: PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3.
#include "files/zip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>

#include "compatcheck/error.h"
#include "files/extent.h"
#include "files/sha256.h"
#include "process/spell_count.h"

namespace compatcheck::files {
namespace {

constexpr std::uint32_t local_signature = 0x04034b50, entry_signature = 0x02014b50, end_signature = 0x06054b50,
                        zip64_end_signature = 0x06064b50, zip64_locator_signature = 0x07064b50;
constexpr std::size_t local_bytes = 30, entry_bytes = 46, end_bytes = 22, zip64_end_bytes = 56, locator_bytes = 20;
constexpr std::size_t inflate_piece = 64 << 10;
constexpr std::uint64_t most_fetched = 64 << 20;
constexpr std::uint64_t padding_bytes = 128;  // largest padding by which torch aligns a record's contents to 64
constexpr std::uint64_t deflate_method = 8;
constexpr std::uint64_t likely_directory = 128 << 10;  // bytes to read first at the end of a file that is read by ranges
constexpr std::uint64_t in_zip64 = 0xffffffff;         // a size or offset that is in the record's extra field

[[noreturn]] void damaged(const std::string& what) { throw ModelError("is a damaged zip archive: " + what); }

// Little-endian numbers at checked places.
class Fields {
 public:
  explicit Fields(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::uint64_t at(std::size_t place, std::size_t width) const {
    if (place > bytes_.size() || width > bytes_.size() - place) damaged("its directory is cut short");
    std::uint64_t value = 0;
    for (std::size_t i = width; i > 0; --i) value = value << 8 | bytes_[place + i - 1];
    return value;
  }
  std::uint64_t u16(std::size_t place) const { return at(place, 2); }
  std::uint64_t u32(std::size_t place) const { return at(place, 4); }
  std::uint64_t u64(std::size_t place) const { return at(place, 8); }
  Fields part(std::size_t place, std::size_t size) const {
    if (place > bytes_.size() || size > bytes_.size() - place) damaged("its directory is cut short");
    return Fields(bytes_.subspan(place, size));
  }
  std::string text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::span<const std::uint8_t> bytes_;
};

struct Extent {
  std::uint64_t offset = 0, bytes = 0, records = 0;
};

// The archive's own bytes in the file. Its directory counts places from its start.
class ZipBytes {
 public:
  ZipBytes(const InputFile& file, std::uint64_t start, std::uint64_t bytes) : file_(file), start_(start), size_(bytes) {}
  std::uint64_t size() const { return size_; }
  std::uint64_t start() const { return start_; }
  std::vector<std::uint8_t> read(std::uint64_t offset, std::uint64_t bytes) const {
    if (offset > size_ || bytes > size_ - offset) damaged("its directory lies outside the file");
    return file_.read(start_ + offset, bytes);
  }
  // The directory, which is usually there, comes along.
  void fetch_tail(std::uint64_t bytes) const {
    const std::uint64_t tail = std::min(size_, std::max(bytes, likely_directory));
    const ByteRange range{start_ + size_ - tail, tail};
    file_.fetch({&range, 1});
  }

 private:
  const InputFile& file_;
  std::uint64_t start_, size_;
};

// The end record stands before a comment of at most 65,535 bytes.
std::optional<std::uint64_t> find_end(const ZipBytes& file) {
  const std::uint64_t tail_bytes = std::min<std::uint64_t>(file.size(), end_bytes + 0xffff);
  file.fetch_tail(tail_bytes);
  const auto tail = file.read(file.size() - tail_bytes, tail_bytes);
  const Fields fields(tail);
  for (std::size_t place = tail.size(); place-- > 0;) {
    if (place + end_bytes > tail.size() || fields.u32(place) != end_signature) continue;
    return file.size() - tail_bytes + place;
  }
  return std::nullopt;
}

std::optional<Extent> zip64_extent(const ZipBytes& file, std::uint64_t end) {
  if (end < locator_bytes) return std::nullopt;
  const auto locator_data = file.read(end - locator_bytes, locator_bytes);
  const Fields locator(locator_data);
  if (locator.u32(0) != zip64_locator_signature) return std::nullopt;
  if (locator.u32(4) != 0 || locator.u32(16) > 1)
    throw ModelError("is one part of a zip archive in several parts; join them first");
  const std::uint64_t place = locator.u64(8);
  if (place > end || end - place < zip64_end_bytes) damaged("its directory's end lies outside the file");
  const auto record_data = file.read(place, zip64_end_bytes);
  const Fields record(record_data);
  if (record.u32(0) != zip64_end_signature) damaged("its directory's end is not where it should be");
  return Extent{record.u64(48), record.u64(40), record.u64(32)};
}

Extent directory_extent(const ZipBytes& file) {
  const auto end = find_end(file);
  if (!end)
    throw ModelError("is cut short: a zip archive whose directory, at its end, is missing (it has " +
                     spell_count(file.size(), "byte") + "); copy or download it again");
  const auto record_data = file.read(*end, end_bytes);
  const Fields record(record_data);
  Extent extent{record.u32(16), record.u32(12), record.u16(10)};
  if (const auto wide = zip64_extent(file, *end)) {
    extent = *wide;
  } else if (record.u16(4) != 0 || record.u16(6) != 0 || record.u16(8) != record.u16(10)) {
    throw ModelError("is one part of a zip archive in several parts; join them first");
  }
  if (extent.offset > *end || extent.bytes > *end - extent.offset) damaged("its directory lies outside the file");
  if (extent.records > extent.bytes / entry_bytes) damaged("its directory is shorter than it says");
  return extent;
}

// Field 1 of the extra fields holds, in this order, what doesn't fit in 32 bits.
void widen(ZipRecord& record, const Fields& extra) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const std::size_t size = extra.u16(at + 2);
    if (extra.u16(at) == 1) {
      const Fields wide = extra.part(at + 4, size);
      std::size_t next = 0;
      for (std::uint64_t* value : {&record.unpacked, &record.stored, &record.header}) {
        if (*value != in_zip64) continue;
        *value = wide.u64(next);
        next += 8;
      }
      return;
    }
    at += 4 + size;
  }
}

void check_record(const ZipRecord& record, std::uint64_t directory) {
  if (record.header > directory || directory - record.header < local_bytes ||
      record.stored > directory - record.header - local_bytes)
    damaged("record " + record.name + " reaches beyond its place in the file");
  if (!record.compressed && record.stored != record.unpacked) damaged("record " + record.name + " has two sizes");
}

std::vector<ZipRecord> read_records(const Fields& directory, const Extent& extent, std::uint64_t start) {
  std::vector<ZipRecord> records;
  records.reserve(static_cast<std::size_t>(extent.records));
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < extent.records; ++i) {
    if (directory.u32(at) != entry_signature) damaged("its directory is overwritten");
    const std::size_t name = directory.u16(at + 28), extra = directory.u16(at + 30), comment = directory.u16(at + 32);
    ZipRecord record;
    record.compressed = directory.u16(at + 10) != 0;
    record.deflated = directory.u16(at + 10) == deflate_method;
    record.crc = static_cast<std::uint32_t>(directory.u32(at + 16));
    record.stored = directory.u32(at + 20);
    record.unpacked = directory.u32(at + 24);
    record.header = directory.u32(at + 42);
    record.name = directory.part(at + entry_bytes, name).text();
    widen(record, directory.part(at + entry_bytes + name, extra));
    check_record(record, extent.offset);
    record.header += start;
    records.push_back(std::move(record));
    at += entry_bytes + name + extra + comment;
  }
  return records;
}

class Inflation {
 public:
  Inflation() {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();  // without zlib's own header
  }
  ~Inflation() { inflateEnd(&stream_); }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

// The first `bytes` of a deflated record; no more of it is read than they need.
std::vector<std::uint8_t> inflate_record(const InputFile& file, const ZipRecord& record, std::uint64_t bytes) {
  std::vector<std::uint8_t> unpacked, packed;
  std::uint64_t at = contents_offset(file, record);
  std::uint64_t left = record.stored;
  Inflation inflation;
  z_stream& stream = inflation.stream();
  for (std::size_t done = 0; done < bytes;) {
    if (stream.avail_in == 0) {
      packed = file.read(at, std::min<std::uint64_t>(left, inflate_piece));
      at += packed.size();
      left -= packed.size();
      stream.next_in = packed.data();
      stream.avail_in = static_cast<uInt>(packed.size());
    }
    unpacked.resize(std::min<std::uint64_t>(bytes, done + inflate_piece));  // the directory may claim more than there is
    stream.next_out = unpacked.data() + done;
    const auto room = static_cast<uInt>(unpacked.size() - done);
    stream.avail_out = room;
    const int state = inflate(&stream, Z_NO_FLUSH);
    done += room - stream.avail_out;
    if (state == Z_STREAM_END && done == bytes) break;
    if (state != Z_OK || (room == stream.avail_out && stream.avail_in > 0))
      damaged("record " + record.name + " can't be unpacked");
  }
  return unpacked;
}

// As torch's reader has it: the folder of the first record.
std::string top_folder(const std::vector<ZipRecord>& records) {
  if (records.empty()) return {};
  const std::string& first = records.front().name;
  const auto slash = first.find('/');
  return slash == first.npos ? std::string() : first.substr(0, slash + 1);
}

}  // namespace

const ZipRecord* ZipDirectory::find(std::string_view name) const {
  for (const ZipRecord& record : records)
    if (record.name.size() == top.size() + name.size() && record.name.starts_with(top) && record.name.ends_with(name))
      return &record;
  return nullptr;
}

bool ZipDirectory::has_folder(std::string_view folder) const {
  return std::any_of(records.begin(), records.end(), [&](const ZipRecord& record) {
    return record.name.starts_with(top) && std::string_view(record.name).substr(top.size()).starts_with(folder);
  });
}

bool starts_as_zip(std::span<const std::uint8_t> head) {
  return head.size() >= 4 && head[0] == 'P' && head[1] == 'K' &&
         ((head[2] == 3 && head[3] == 4) || (head[2] == 5 && head[3] == 6));
}

std::uint64_t weights_offset(const InputFile& file, const ZipRecord& record) {
  return file.is_ranged() && record.stored > small_storage_bytes ? record.header : contents_offset(file, record);
}

void fetch_small_records(const InputFile& file, const ZipDirectory& directory) {
  if (!file.is_ranged()) return;
  constexpr std::array<std::string_view, 4> read_whole{".py", ".pkl", ".json", ".debug_pkl"};
  std::vector<ByteRange> ranges;
  std::uint64_t left = most_fetched;
  for (const ZipRecord& record : directory.records) {
    const std::string_view name =
        std::string_view(record.name).substr(record.name.starts_with(directory.top) ? directory.top.size() : 0);
    if (name.starts_with("extra/")) continue;
    const bool whole = std::ranges::any_of(read_whole, [&](std::string_view ending) { return name.ends_with(ending); });
    const std::uint64_t bytes = local_bytes + record.name.size() + padding_bytes + record.stored;
    if ((!whole && record.stored > small_storage_bytes) || bytes > left) continue;
    left -= bytes;
    ranges.push_back({record.header, bytes});
  }
  file.fetch(ranges);
}

ZipDirectory read_zip_directory(const InputFile& file) { return read_zip_directory(file, 0, file.size()); }

ZipDirectory read_zip_directory(const InputFile& file, std::uint64_t start, std::uint64_t size) {
  const ZipBytes archive(file, start, size);
  const Extent extent = directory_extent(archive);
  const auto bytes = archive.read(extent.offset, extent.bytes);
  ZipDirectory directory;
  directory.records = read_records(Fields(bytes), extent, start);
  directory.top = top_folder(directory.records);
  return directory;
}

std::uint64_t contents_offset(const InputFile& file, const ZipRecord& record) {
  const auto header_data = file.read(record.header, local_bytes);
  const Fields header(header_data);
  if (header.u32(0) != local_signature) damaged("record " + record.name + " is not where the directory says");
  return record.header + local_bytes + header.u16(26) + header.u16(28);
}

std::vector<std::uint8_t> read_zip_record(const InputFile& file, const ZipRecord& record, std::uint64_t at_most) {
  if (record.deflated) return inflate_record(file, record, std::min(at_most, record.unpacked));
  if (record.compressed) throw ModelError("record " + record.name + " is compressed, and not by deflation");
  return file.read(contents_offset(file, record), std::min(at_most, record.stored));
}

std::string identity(const ZipDirectory& directory) {
  Sha256 hash;
  for (const ZipRecord& record : directory.records)
    hash.add(record.name + '\0' + std::to_string(record.unpacked) + '\0' + std::to_string(record.crc) + '\n');
  return std::move(hash).finish();
}

}  // namespace compatcheck::files
