#include "onnx_file/skeleton.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "compatcheck/error.h"
#include "onnx/wire.h"
#include "onnx_file/wire_reader.h"

namespace compatcheck::onnx_file {
namespace {

using files::InputFile;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using onnx::length_head;
using onnx::put_varint;

constexpr std::uint64_t near_bytes = 1024;  // elements up to this stay in the message: shapes, scales, axes
constexpr std::uint64_t most_memory = 512 << 20;
constexpr int deepest_nesting = 90;  // messages in messages; protobuf reads 100
// A field that TensorProto doesn't have: the number of its FarElements. If a file has it, it is dropped.
constexpr std::uint32_t marker = 536870911;

// Returns the message type of a field, if the field holds a message.
const Descriptor* child_of(const Descriptor& type, const WireField& field) {
  if (field.wire != wire_bytes) return nullptr;
  const FieldDescriptor* known = type.FindFieldByNumber(static_cast<int>(field.field));
  return known ? known->message_type() : nullptr;
}

bool holds_elements(std::uint32_t field) {
  return field == float_data || field == int32_data || field == int64_data || field == raw_data || field == double_data ||
         field == uint64_data;
}

// Estimates the memory of messages as they are read: an empty node is two bytes in the file and 200 in memory.
class Memory {
 public:
  void add(std::uint64_t bytes) {
    used_ += bytes;
    if (used_ > most_memory) throw ModelError("takes more than 512 MB of memory beside its weights, or is no ONNX model");
  }

  void add_message(const Descriptor* type) {
    std::uint64_t& size = sizes_[type];
    if (size == 0) size = google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->SpaceUsedLong() + allocation;
    add(size);
  }

  void add_field(const Descriptor& type, const WireField& field) {
    const FieldDescriptor* known = type.FindFieldByNumber(static_cast<int>(field.field));
    const bool numbers = known && known->is_packable() && field.wire == wire_bytes;  // each takes at least one byte
    add(numbers ? field.bytes * sizeof(std::int64_t) : sizeof(std::string) + allocation + field.bytes);
  }

 private:
  static constexpr std::uint64_t allocation = 24;  // the pointer to it, and the allocator's own
  std::uint64_t used_ = 0;
  std::unordered_map<const Descriptor*, std::uint64_t> sizes_;
};

// Copies a model without the elements of big tensors.
class Collapse {
 public:
  Collapse(std::shared_ptr<const InputFile> file, const ir::Watch& watch)
      : file_(std::move(file)), reader_(*file_), watch_(watch) {}

  std::string run() {
    std::string whole;
    message(*::onnx::ModelProto::descriptor(), 0, file_->size(), 0, whole);
    return whole;
  }
  std::vector<FarElements> far;

 private:
  void message(const Descriptor& type, std::uint64_t at, std::uint64_t end, int depth, std::string& into) {
    if (depth > deepest_nesting) throw ModelError("is nested more than " + std::to_string(deepest_nesting) + " messages deep");
    memory_.add_message(&type);
    if (&type == ::onnx::TensorProto::descriptor()) return tensor(at, end, depth, into);
    // The parts of a sparse tensor stay: onnx's checker looks at the indices.
    const bool whole = std::exchange(whole_, whole_ || &type == ::onnx::SparseTensorProto::descriptor());
    while (at < end) {
      const WireField field = reader_.field(at, end);
      copy(type, field, depth, into);
      at = field.end;
    }
    whole_ = whole;
  }

  void copy(const Descriptor& type, const WireField& field, int depth, std::string& into) {
    watch_.step();
    if (const Descriptor* child = child_of(type, field)) {
      std::string inner;
      message(*child, field.at, field.end, depth + 1, inner);
      into += length_head(field.field, inner.size()) + inner;
    } else {
      memory_.add_field(type, field);
      reader_.copy(field.begin, field.end - field.begin, into);
    }
  }

  void tensor(std::uint64_t at, std::uint64_t end, int depth, std::string& into) {
    std::vector<WireField> fields;
    while (at < end) {
      watch_.step();
      memory_.add(sizeof(WireField));
      fields.push_back(reader_.field(at, end));
      at = fields.back().end;
    }
    std::erase_if(fields, [](const WireField& field) { return field.field == marker; });
    FarElements elements = elements_of(fields);
    const bool leave = !whole_ && elements.bytes() > near_bytes;
    for (const WireField& field : fields)
      if (!leave || field.field != elements.field) copy(*::onnx::TensorProto::descriptor(), field, depth, into);
    if (!leave) return;
    put_varint(into, std::uint64_t{marker} << 3 | wire_varint);
    put_varint(into, far.size());
    far.push_back(std::move(elements));
  }

  // None where they are in several fields, or one by one.
  FarElements elements_of(const std::vector<WireField>& fields) const {
    FarElements elements{.file = file_, .parts = {}};
    for (const WireField& field : fields) {
      if (!holds_elements(field.field)) continue;
      if (field.wire != wire_bytes || (elements.field != 0 && elements.field != field.field)) return {};
      elements.field = field.field;
      if (field.field == raw_data) elements.parts.clear();  // the last one counts
      elements.parts.push_back({field.at, field.bytes});
    }
    return elements;
  }

  std::shared_ptr<const InputFile> file_;
  WireReader reader_;
  const ir::Watch& watch_;
  Memory memory_;
  bool whole_ = false;
};

// The other way: puts elements in where they are missing.
class Expand {
 public:
  Expand(const InputFile& bytes, const std::vector<FarElements>& far) : size_(bytes.size()), reader_(bytes), far_(far) {}

  Layout run() { return message(*::onnx::ModelProto::descriptor(), 0, size_); }

 private:
  Layout message(const Descriptor& type, std::uint64_t at, std::uint64_t end) {
    Layout made;
    while (at < end) {
      const WireField field = reader_.field(at, end);
      if (const Descriptor* child = child_of(type, field)) {
        Layout inner = message(*child, field.at, field.end);
        add(made, length_head(field.field, inner.bytes));
        for (Segment& segment : inner.segments) add(made, std::move(segment));
      } else if (&type == ::onnx::TensorProto::descriptor() && field.field == marker) {
        const FarElements& elements = far_.at(field.number);
        add(made, length_head(elements.field, elements.bytes()));
        add(made, &elements);
      } else {
        std::string bytes;
        reader_.copy(field.begin, field.end - field.begin, bytes);
        add(made, std::move(bytes));
      }
      at = field.end;
    }
    return made;
  }

  static void add(Layout& to, Segment segment) {
    auto* bytes = std::get_if<std::string>(&segment);
    to.bytes += bytes ? bytes->size() : std::get<const FarElements*>(segment)->bytes();
    auto* before = to.segments.empty() ? nullptr : std::get_if<std::string>(&to.segments.back());
    if (bytes && before)
      *before += *bytes;
    else
      to.segments.push_back(std::move(segment));
  }

  std::uint64_t size_;
  WireReader reader_;
  const std::vector<FarElements>& far_;
};

using Visit = std::function<void(::onnx::TensorProto&)>;
void visit(::onnx::GraphProto& graph, const Visit& take);

void visit(::onnx::SparseTensorProto& sparse, const Visit& take) {
  if (sparse.has_values()) take(*sparse.mutable_values());
  if (sparse.has_indices()) take(*sparse.mutable_indices());
}

void visit(::onnx::AttributeProto& attribute, const Visit& take) {
  if (attribute.has_t()) take(*attribute.mutable_t());
  for (auto& tensor : *attribute.mutable_tensors()) take(tensor);
  if (attribute.has_sparse_tensor()) visit(*attribute.mutable_sparse_tensor(), take);
  for (auto& tensor : *attribute.mutable_sparse_tensors()) visit(tensor, take);
  if (attribute.has_g()) visit(*attribute.mutable_g(), take);
  for (auto& graph : *attribute.mutable_graphs()) visit(graph, take);
}

void visit(::onnx::GraphProto& graph, const Visit& take) {
  for (auto& tensor : *graph.mutable_initializer()) take(tensor);
  for (auto& tensor : *graph.mutable_sparse_initializer()) visit(tensor, take);
  for (auto& node : *graph.mutable_node())
    for (auto& attribute : *node.mutable_attribute()) visit(attribute, take);
}

}  // namespace

std::uint64_t FarElements::bytes() const {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Part& part) { return sum + part.bytes; });
}

Skeleton Skeleton::read(std::shared_ptr<const InputFile> file, const ir::Watch& watch) {
  if (file->size() == 0) throw ModelError("is empty: no ONNX model");
  Skeleton skeleton;
  Collapse collapse(std::move(file), watch);
  if (!skeleton.model.ParseFromString(collapse.run()) || !skeleton.model.has_graph())
    throw ModelError("is no ONNX model, or is damaged");
  skeleton.far_ = std::move(collapse.far);
  return skeleton;
}

Skeleton Skeleton::with(::onnx::ModelProto copied) const {
  Skeleton made;
  made.model = std::move(copied);
  made.far_ = far_;
  return made;
}

const FarElements* Skeleton::far(const ::onnx::TensorProto& tensor) const {
  const auto& unknown = tensor.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i)
    if (unknown.field(i).number() == static_cast<int>(marker)) return &far_.at(unknown.field(i).varint());
  return nullptr;
}

void Skeleton::set_far(::onnx::TensorProto& tensor, FarElements elements) {
  drop_far(tensor);
  tensor.mutable_unknown_fields()->AddVarint(static_cast<int>(marker), far_.size());
  far_.push_back(std::move(elements));
}

void drop_far(::onnx::TensorProto& tensor) { tensor.mutable_unknown_fields()->DeleteByNumber(static_cast<int>(marker)); }

Layout lay_out(const Skeleton& skeleton) {
  std::string bytes;
  if (!skeleton.model.SerializeToString(&bytes)) throw ModelError("is larger without its weights than a message can be");
  const InputFile file(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  return Expand(file, skeleton.far_elements()).run();
}

std::string bytes_of(const Layout& layout) {
  std::string bytes;
  bytes.reserve(layout.bytes);
  for (const Segment& segment : layout.segments) {
    if (const auto* text = std::get_if<std::string>(&segment)) {
      bytes += *text;
      continue;
    }
    const FarElements& elements = *std::get<const FarElements*>(segment);
    for (const FarElements::Part& part : elements.parts) {
      const std::size_t had = bytes.size();
      bytes.resize(had + part.bytes);
      elements.file->read_into(part.at, std::span(reinterpret_cast<std::uint8_t*>(bytes.data()) + had, part.bytes));
    }
  }
  return bytes;
}

void for_each_tensor(::onnx::ModelProto& model, const Visit& take) {
  visit(*model.mutable_graph(), take);
  for (auto& function : *model.mutable_functions()) {
    for (auto& attribute : *function.mutable_attribute_proto()) visit(attribute, take);
    for (auto& node : *function.mutable_node())
      for (auto& attribute : *node.mutable_attribute()) visit(attribute, take);
  }
  for (auto& training : *model.mutable_training_info()) {
    if (training.has_initialization()) visit(*training.mutable_initialization(), take);
    if (training.has_algorithm()) visit(*training.mutable_algorithm(), take);
  }
}

}  // namespace compatcheck::onnx_file
