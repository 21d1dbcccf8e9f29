// Source: onnx/onnx.proto (TensorProto), and protobuf's encoding of messages.
#include "examples/tensor_proto.h"

#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "compatcheck/error.h"
#include "examples/elements.h"
#include "files/extent.h"

namespace compatcheck::examples {
namespace {

constexpr std::size_t most_fields = 100000;  // elements may come one a field
constexpr std::size_t most_proto_dims = 64;
constexpr std::uint64_t longest_name = 4096;

enum Field : std::uint32_t {
  dims = 1,
  data_type = 2,
  segment = 3,
  float_data = 4,
  int32_data = 5,
  string_data = 6,
  int64_data = 7,
  name = 8,
  raw_data = 9,
  double_data = 10,
  uint64_data = 11,
  external_data = 13,
  data_location = 14
};

// TensorProto.DataType.
std::optional<ir::DType> dtype_of_onnx(std::uint64_t number) {
  using enum ir::DType;
  constexpr std::array<std::optional<ir::DType>, 21> types{
      std::nullopt, f32, u8,   i8,   u16,      i16,        i32,    i64,       std::nullopt /* strings */, boolean, f16, f64, u32,
      u64,          c64, c128, bf16, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz};
  return number < types.size() ? types[number] : std::nullopt;
}

// Walks a message's fields; the bytes of a field are passed over, not read.
class Message {
 public:
  struct Part {
    std::uint32_t field = 0;
    std::uint32_t wire = 0;  // 0: `number`; 1, 2, 5: `bytes` bytes at `at`
    std::uint64_t number = 0, at = 0, bytes = 0;
  };

  explicit Message(const files::InputFile& file) : file_(file), end_(file.size()) {}

  std::optional<Part> next() {
    if (at_ == end_) return std::nullopt;
    const std::uint64_t tag = varint();
    Part part{.field = static_cast<std::uint32_t>(tag >> 3), .wire = static_cast<std::uint32_t>(tag & 7)};
    switch (part.wire) {
      case 0: part.number = varint(); return part;
      case 1: part.bytes = 8; break;
      case 2: part.bytes = varint(); break;
      case 5: part.bytes = 4; break;
      default: damaged();
    }
    if (part.bytes > end_ - at_) damaged();
    part.at = at_;
    at_ += part.bytes;
    return part;
  }

  [[noreturn]] static void damaged() { throw ModelError("is no TensorProto, or is damaged"); }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = this->byte();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (!(byte & 0x80)) return value;
    }
    damaged();
  }
  // From a piece of the file, so that a varint isn't ten reads.
  std::uint8_t byte() {
    if (at_ >= end_) damaged();
    if (at_ < piece_at_ || at_ - piece_at_ >= piece_.size()) {
      piece_ = file_.read(at_, std::min<std::uint64_t>(256, end_ - at_));
      piece_at_ = at_;
    }
    return piece_[at_++ - piece_at_];
  }

  const files::InputFile& file_;
  std::uint64_t at_ = 0, end_ = 0, piece_at_ = 0;
  std::vector<std::uint8_t> piece_;
};

struct Proto {
  std::string name;
  std::vector<std::int64_t> dims;
  std::uint64_t data_type = 0;
  std::optional<Message::Part> raw;
  bool typed_data = false;  // float_data and its like
};

void take_dims(Proto& proto, const files::InputFile& file, const Message::Part& part) {
  const auto add = [&](std::uint64_t value) {
    if (static_cast<std::int64_t>(value) < 0 || proto.dims.size() == most_proto_dims) Message::damaged();
    proto.dims.push_back(static_cast<std::int64_t>(value));
  };
  if (part.wire == 0) return add(part.number);
  if (part.wire != 2 || part.bytes > 10 * most_proto_dims) Message::damaged();
  std::uint64_t value = 0;
  int shift = 0;
  for (const std::uint8_t byte : file.read(part.at, part.bytes)) {
    if (shift > 63) Message::damaged();
    value |= std::uint64_t{byte & 0x7fu} << shift;
    shift += 7;
    if (byte & 0x80) continue;
    add(value);
    value = 0;
    shift = 0;
  }
  if (shift != 0) Message::damaged();
}

Proto read_fields(const files::InputFile& file) {
  Proto proto;
  Message message(file);
  std::size_t fields = 0;
  while (const auto part = message.next()) {
    if (++fields > most_fields) throw ModelError("has more than 100,000 fields: save its elements as raw_data");
    switch (part->field) {
      case dims: take_dims(proto, file, *part); break;
      case data_type: proto.data_type = part->wire == 0 ? part->number : 0; break;
      case segment:
        throw ModelError("is a SequenceProto, a list of tensors, which isn't read: torch.save the list in a .pt file");
      case name:
        if (part->wire != 2 || part->bytes > longest_name) Message::damaged();
        for (const std::uint8_t byte : file.read(part->at, part->bytes)) proto.name += static_cast<char>(byte);
        break;
      case raw_data: proto.raw = *part; break;
      case float_data:
      case int32_data:
      case int64_data:
      case double_data:
      case uint64_data: proto.typed_data = true; break;
      case string_data: throw ModelError("holds strings, which no tensor of a TorchScript model does");
      case data_location:
        if (part->number == 1) throw ModelError("keeps its elements in another file, which isn't read: save them inside");
        break;
      default: break;
    }
  }
  return proto;
}

ir::Constant tensor_of(const Proto& proto) {
  const auto dtype = dtype_of_onnx(proto.data_type);
  if (!dtype)
    throw ModelError("is no TensorProto of a dtype that a tensor can have (data_type " + std::to_string(proto.data_type) + ")");
  ir::TensorView view{.dtype = *dtype,
                      .sizes = proto.dims,
                      .strides = std::vector<std::int64_t>(proto.dims.size()),
                      .storage = nullptr,
                      .quantizer = nullptr};
  std::int64_t elements = 1;
  for (std::size_t dim = proto.dims.size(); dim-- > 0;) {
    view.strides[dim] = elements;
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(proto.dims[dim], 1), &elements)) Message::damaged();
  }
  auto storage = std::make_shared<ir::Storage>();
  if (proto.raw) {
    storage->in_file = true;
    storage->file_offset = proto.raw->at;
    storage->bytes = proto.raw->bytes;
  }
  const auto reached = files::reach(0, view.sizes, view.strides);
  if (!files::fits(reached, ir::element_bytes(*dtype), storage->bytes) && !proto.typed_data)
    throw ModelError("holds fewer elements than its sizes say: it is cut short or damaged");
  view.storage = std::move(storage);
  return {std::move(view)};
}

// input_0.pb, input_1.pb … without a gap; other files may lie beside them.
std::vector<std::filesystem::path> input_files(const std::filesystem::path& folder) {
  std::map<std::uint64_t, std::filesystem::path> numbered;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string stem = entry->path().stem().string();
    constexpr std::string_view lead = "input_";
    if (entry->path().extension() != ".pb" || !stem.starts_with(lead)) continue;
    std::uint64_t number = 0;
    const char* last = stem.data() + stem.size();
    const auto read = std::from_chars(stem.data() + lead.size(), last, number);
    if (read.ec == std::errc() && read.ptr == last) numbered[number] = entry->path();
  }
  if (error) throw ModelError("can't be searched: " + error.message());
  if (numbered.empty()) throw ModelError("has no input_0.pb in it");
  std::vector<std::filesystem::path> files;
  for (const auto& [number, file] : numbered) {
    if (number != files.size()) throw ModelError("has no input_" + std::to_string(files.size()) + ".pb, but later ones");
    files.push_back(file);
  }
  return files;
}

}  // namespace

NamedTensor read_tensor_proto(const files::InputFile& file) {
  Proto proto = read_fields(file);
  ir::Constant tensor = tensor_of(proto);
  return {std::move(proto.name), std::move(tensor)};
}

ir::Constant read_proto_folder(const std::filesystem::path& folder, Elements elements) {
  ir::DictConstant tensors(ir::simple_type(ir::TypeKind::string), ir::tensor_type(), {});
  for (const auto& path : input_files(folder)) {
    const std::string file_name = path.filename().string();
    try {
      const files::InputFile file(path);
      auto [name, tensor] = read_tensor_proto(file);
      if (elements == Elements::read) read_elements(tensor, file, nullptr);
      tensors.items.emplace_back(ir::Constant{name.empty() ? path.stem().string() : name}, std::move(tensor));
    } catch (const ModelError& error) {
      throw ModelError(file_name + " " + error.what());
    }
  }
  return {std::move(tensors)};
}

}  // namespace compatcheck::examples
