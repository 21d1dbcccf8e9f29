// An ONNX file of any size as onnx's own message, without the elements of its big tensors: those are places in a file.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "files/input_file.h"
#include "ir/watch.h"

namespace compatcheck::onnx_file {

// The elements of one TensorProto, left in a file.
struct FarElements {
  struct Part {
    std::uint64_t at = 0, bytes = 0;
  };
  std::shared_ptr<const files::InputFile> file;
  std::uint32_t field = 0;  // field of TensorProto that defines their encoding: raw_data, float_data …
  std::vector<Part> parts;  // in order

  std::uint64_t bytes() const;
};

// Fields of TensorProto that hold elements, by number (onnx/onnx.proto).
enum TensorField : std::uint32_t {
  float_data = 4,
  int32_data = 5,
  string_data = 6,
  int64_data = 7,
  raw_data = 9,
  double_data = 10,
  uint64_data = 11
};

class Skeleton {
 public:
  // Throws ModelError, without the file's name, for a file that isn't a model, is damaged, nested too deeply, or uses too much
  // memory without its weights.
  static Skeleton read(std::shared_ptr<const files::InputFile> file, const ir::Watch& watch);
  // Returns a skeleton of messages copied from this one's; their elements stay where they are.
  Skeleton with(::onnx::ModelProto copied) const;

  ::onnx::ModelProto model;

  // Null where the message itself holds them (or another file, by ONNX's external data).
  const FarElements* far(const ::onnx::TensorProto& tensor) const;
  // From now on they lie there; the tensor has no others.
  void set_far(::onnx::TensorProto& tensor, FarElements elements);
  const std::vector<FarElements>& far_elements() const { return far_; }

 private:
  std::vector<FarElements> far_;
};

// Forgets where the elements lie.
void drop_far(::onnx::TensorProto& tensor);

// A message as it is written: bytes, and elements from files, in their order.
using Segment = std::variant<std::string, const FarElements*>;
struct Layout {
  std::vector<Segment> segments;
  std::uint64_t bytes = 0;
};
Layout lay_out(const Skeleton& skeleton);  // points into the skeleton
// The whole message, its elements read.
std::string bytes_of(const Layout& layout);

// Every tensor of a model, those in attributes, bodies and functions too, and the two parts of sparse ones.
void for_each_tensor(::onnx::ModelProto& model, const std::function<void(::onnx::TensorProto&)>& visit);

}  // namespace compatcheck::onnx_file
