#include "model_tools/skeleton.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "compatcheck/error.h"
#include "model_tools/wire_reader.h"
#include "onnx/wire.h"

namespace compatcheck::model_tools {
namespace {

using frontend::InputFile;
using onnx::length_head;
using onnx::put_varint;

constexpr std::uint64_t near_bytes = 1024;             // elements up to this stay in the message: shapes, scales, axes
constexpr std::uint64_t most_skeleton_bytes = 512 << 20;
constexpr int deepest_nesting = 90;                    // messages in messages; protobuf reads 100
// A field that no TensorProto has: the number of its FarElements. What a file has there is dropped.
constexpr std::uint32_t marker = 536870911;

// Messages on the way to a tensor. Source: onnx/onnx.proto.
enum class Kind : std::uint8_t { model, graph, node, attribute, function, training, tensor };
struct Child { Kind in; std::uint32_t field; Kind kind; };
constexpr std::array children{
    Child{Kind::model, 7, Kind::graph},         Child{Kind::model, 20, Kind::training}, Child{Kind::model, 25, Kind::function},
    Child{Kind::training, 1, Kind::graph},      Child{Kind::training, 2, Kind::graph},  Child{Kind::graph, 1, Kind::node},
    Child{Kind::graph, 5, Kind::tensor},        Child{Kind::node, 5, Kind::attribute},  Child{Kind::function, 7, Kind::node},
    Child{Kind::function, 11, Kind::attribute}, Child{Kind::attribute, 5, Kind::tensor}, Child{Kind::attribute, 6, Kind::graph},
    Child{Kind::attribute, 10, Kind::tensor},   Child{Kind::attribute, 11, Kind::graph},
};

std::optional<Kind> child_of(Kind kind, const WireField& field) {
  if (field.wire != wire_bytes) return std::nullopt;
  for (const Child& child : children)
    if (child.in == kind && child.field == field.field) return child.kind;
  return std::nullopt;
}

bool holds_elements(std::uint32_t field) {
  return field == float_data || field == int32_data || field == int64_data || field == raw_data || field == double_data || field == uint64_data;
}

// Copies a model without the elements of big tensors.
class Collapse {
 public:
  explicit Collapse(std::shared_ptr<const InputFile> file) : file_(std::move(file)), reader_(*file_) {}

  std::string run() {
    std::string whole;
    message(Kind::model, 0, file_->size(), 0, whole);
    return whole;
  }
  std::vector<FarElements> far;

 private:
  void message(Kind kind, std::uint64_t at, std::uint64_t end, int depth, std::string& into) {
    if (depth > deepest_nesting) throw ModelError("is nested more than " + std::to_string(deepest_nesting) + " messages deep");
    if (kind == Kind::tensor) return tensor(at, end, into);
    while (at < end) {
      const WireField field = reader_.field(at, end);
      if (const auto child = child_of(kind, field)) {
        std::string inner;
        message(*child, field.at, field.end, depth + 1, inner);
        into += length_head(field.field, inner.size()) + inner;
      } else {
        copy(field, into);
      }
      at = field.end;
    }
  }

  void tensor(std::uint64_t at, std::uint64_t end, std::string& into) {
    std::vector<WireField> fields;
    while (at < end) {
      fields.push_back(reader_.field(at, end));
      at = fields.back().end;
    }
    std::erase_if(fields, [](const WireField& field) { return field.field == marker; });
    FarElements elements = elements_of(fields);
    const bool leave = elements.bytes() > near_bytes;
    for (const WireField& field : fields)
      if (!leave || field.field != elements.field) copy(field, into);
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
      if (field.field == raw_data) elements.parts.clear();   // of several the last holds
      elements.parts.push_back({field.at, field.bytes});
    }
    return elements;
  }

  void copy(const WireField& field, std::string& into) {
    copied_ += field.end - field.begin;
    if (copied_ > most_skeleton_bytes) throw ModelError("holds more than 512 MB beside its weights, or is no ONNX model");
    reader_.copy(field.begin, field.end - field.begin, into);
  }

  std::shared_ptr<const InputFile> file_;
  WireReader reader_;
  std::uint64_t copied_ = 0;
};

// The other way: puts elements in where they are missing.
class Expand {
 public:
  Expand(const InputFile& bytes, const std::vector<FarElements>& far) : size_(bytes.size()), reader_(bytes), far_(far) {}

  Layout run() { return message(Kind::model, 0, size_); }

 private:
  Layout message(Kind kind, std::uint64_t at, std::uint64_t end) {
    Layout made;
    while (at < end) {
      const WireField field = reader_.field(at, end);
      if (const auto child = child_of(kind, field)) {
        Layout inner = message(*child, field.at, field.end);
        add(made, length_head(field.field, inner.bytes));
        for (Segment& segment : inner.segments) add(made, std::move(segment));
      } else if (kind == Kind::tensor && field.field == marker) {
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
    if (bytes && before) *before += *bytes;
    else to.segments.push_back(std::move(segment));
  }

  std::uint64_t size_;
  WireReader reader_;
  const std::vector<FarElements>& far_;
};

using Visit = std::function<void(::onnx::TensorProto&)>;
void visit(::onnx::GraphProto& graph, const Visit& take);

void visit(::onnx::AttributeProto& attribute, const Visit& take) {
  if (attribute.has_t()) take(*attribute.mutable_t());
  for (auto& tensor : *attribute.mutable_tensors()) take(tensor);
  if (attribute.has_g()) visit(*attribute.mutable_g(), take);
  for (auto& graph : *attribute.mutable_graphs()) visit(graph, take);
}

void visit(::onnx::GraphProto& graph, const Visit& take) {
  for (auto& tensor : *graph.mutable_initializer()) take(tensor);
  for (auto& node : *graph.mutable_node())
    for (auto& attribute : *node.mutable_attribute()) visit(attribute, take);
}

}  // namespace

std::uint64_t FarElements::bytes() const {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}, [](std::uint64_t sum, const Part& part) { return sum + part.bytes; });
}

Skeleton Skeleton::read(std::shared_ptr<const InputFile> file) {
  if (file->size() == 0) throw ModelError("is empty");
  Skeleton skeleton;
  Collapse collapse(std::move(file));
  if (!skeleton.model.ParseFromString(collapse.run()) || !skeleton.model.has_graph()) throw ModelError("is no ONNX model, or is damaged");
  skeleton.far_ = std::move(collapse.far);
  return skeleton;
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

}  // namespace compatcheck::model_tools
