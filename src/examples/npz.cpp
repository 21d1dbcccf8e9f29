// Source: numpy/lib/format.py.
#include "examples/npz.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "compatcheck/error.h"
#include "files/extent.h"

namespace compatcheck::examples {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t longest_head = 64 << 10;
constexpr std::size_t most_arrays = 10000;
constexpr std::size_t most_npz_dims = 64;  // NumPy's own limit

std::optional<ir::DType> dtype_of_descr(std::string_view descr) {
  constexpr std::array<std::pair<std::string_view, ir::DType>, 14> names{{{"b1", ir::DType::boolean},
                                                                          {"u1", ir::DType::u8},
                                                                          {"i1", ir::DType::i8},
                                                                          {"u2", ir::DType::u16},
                                                                          {"i2", ir::DType::i16},
                                                                          {"u4", ir::DType::u32},
                                                                          {"i4", ir::DType::i32},
                                                                          {"u8", ir::DType::u64},
                                                                          {"i8", ir::DType::i64},
                                                                          {"f2", ir::DType::f16},
                                                                          {"f4", ir::DType::f32},
                                                                          {"f8", ir::DType::f64},
                                                                          {"c8", ir::DType::c64},
                                                                          {"c16", ir::DType::c128}}};
  const auto* found = std::find_if(names.begin(), names.end(), [&](const auto& known) { return known.first == descr; });
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }": a Python literal, of which only this much is used.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Header read() {
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr")
        header.descr = descr();
      else if (key == "fortran_order")
        header.fortran_order = boolean();
      else if (key == "shape")
        header.shape = shape();
      else
        damaged();
      if (!accept(',') && !looking_at('}')) damaged();
    }
    return header;
  }

 private:
  [[noreturn]] static void damaged() { throw ModelError("has a damaged head"); }

  bool looking_at(char c) {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
    return !text_.empty() && text_[0] == c;
  }
  bool accept(char c) {
    if (!looking_at(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) damaged();
  }
  bool accept(std::string_view word) {
    looking_at(' ');
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  std::string quoted() {
    const char quote = looking_at('"') ? '"' : '\'';
    expect(quote);
    const auto end = text_.find(quote);
    if (end == text_.npos) damaged();
    std::string word(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return word;
  }
  std::string descr() {
    if (looking_at('[')) throw ModelError("is a structured array: save its fields as arrays of their own");
    return quoted();
  }
  bool boolean() {
    if (accept("True")) return true;
    if (!accept("False")) damaged();
    return false;
  }
  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      looking_at(' ');
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0 || sizes.size() == most_npz_dims) damaged();
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      sizes.push_back(size);
      if (!accept(',') && !looking_at(')')) damaged();
    }
    return sizes;
  }

  std::string_view text_;
};

// How much the head takes, and the text in it.
std::pair<std::uint64_t, std::string_view> head_of(std::string_view bytes) {
  if (!bytes.starts_with(magic) || bytes.size() < 12) throw ModelError("is no array of NumPy");
  const auto byte = [&](std::size_t at) { return std::size_t{static_cast<std::uint8_t>(bytes[at])}; };
  const bool first_version = byte(6) == 1;  // then two bytes of length, later four
  const std::size_t start = first_version ? 10 : 12;
  const std::size_t length = first_version ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - start) throw ModelError("has a head that is cut short or longer than 64 KB");
  return {start + length, bytes.substr(start, length)};
}

ir::DType dtype_in(const Header& header) {
  const std::string_view descr = header.descr;
  if (descr.starts_with('>')) throw ModelError("is of big-endian numbers: save it as " + std::string(descr.substr(1)));
  const auto dtype = dtype_of_descr(descr.empty() ? descr : descr.substr(1));
  if (dtype) return *dtype;
  const bool objects = descr.size() > 1 && descr[1] == 'O';
  throw ModelError(objects ? "holds Python objects, not numbers" : "is of a dtype that no tensor has: " + std::string(descr));
}

// Strides of contiguous elements: the last dimension is adjacent, or, in Fortran's order, the first. Sizes may overflow.
std::vector<std::int64_t> strides_of(const Header& header) {
  const auto& sizes = header.shape;
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t next = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t dim = header.fortran_order ? i : sizes.size() - 1 - i;
    strides[dim] = next;
    if (__builtin_mul_overflow(next, std::max<std::int64_t>(sizes[dim], 1), &next))
      throw ModelError("has sizes whose product overflows");
  }
  return strides;
}

ir::Constant read_array(const files::InputFile& file, const files::ZipRecord& record) {
  const auto bytes = files::read_zip_record(file, record, longest_head);
  const auto [start, text] = head_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const Header header = HeaderReader(text).read();
  ir::TensorView view{
      .dtype = dtype_in(header), .sizes = header.shape, .strides = strides_of(header), .storage = nullptr, .quantizer = nullptr};
  auto storage = std::make_shared<ir::Storage>();
  storage->record = record.name;
  storage->bytes = record.unpacked - start;
  storage->in_file = !record.compressed;
  if (storage->in_file) storage->file_offset = files::contents_offset(file, record) + start;
  if (!files::fits(files::reach(0, view.sizes, view.strides), ir::element_bytes(view.dtype), storage->bytes))
    throw ModelError("is shorter than its sizes say: it is cut short or damaged");
  view.storage = std::move(storage);
  return {std::move(view)};
}

}  // namespace

ir::Constant read_npz(const files::InputFile& file, const files::ZipDirectory& directory) {
  constexpr std::string_view ending = ".npy";
  if (directory.records.size() > most_arrays) throw ModelError("holds more than " + std::to_string(most_arrays) + " arrays");
  ir::DictConstant arrays(ir::simple_type(ir::TypeKind::string), ir::tensor_type(), {});
  for (const auto& record : directory.records) {
    if (!record.name.ends_with(ending)) continue;
    const std::string name = record.name.substr(0, record.name.size() - ending.size());
    try {
      arrays.items.emplace_back(ir::Constant{name}, read_array(file, record));
    } catch (const ModelError& error) {
      throw ModelError("array " + name + " " + error.what());
    }
  }
  return {std::move(arrays)};
}

}  // namespace compatcheck::examples
