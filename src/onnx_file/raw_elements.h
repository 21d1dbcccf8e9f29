// The elements of a tensor as raw_data has them, however and wherever they are stored: in pieces, for comparing.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <span>
#include <string>

#include "ir/constant.h"
#include "ir/watch.h"
#include "onnx_file/skeleton.h"

namespace compatcheck::onnx_file {

constexpr std::uint64_t most_gathered = 256 << 20;  // bytes of a tensor that isn't dense

// Calls `take` with the place of each element in the storage, in the order of the tensor.
template <class Take>
void visit_offsets(const ir::TensorView& tensor, std::size_t dim, std::int64_t at, Take&& take) {
  if (dim == tensor.sizes.size()) return take(at);
  for (std::int64_t i = 0; i < tensor.sizes[dim]; ++i) visit_offsets(tensor, dim + 1, at + i * tensor.strides[dim], take);
}

class RawElements {
 public:
  // Elements of the tensor itself, or of `far`; both must outlive the object. Strings have no such form.
  RawElements(const ::onnx::TensorProto& tensor, const FarElements* far);
  // Elements of a parameter. `file` holds its storage. Throws ModelError where it has no elements, or is too large a part of
  // another tensor.
  RawElements(const ir::TensorView& tensor, const std::shared_ptr<const files::InputFile>& file);

  // Returns fewer bytes than requested only at the end. Throws ModelError if the file ends early.
  std::size_t read(std::span<std::uint8_t> into);

 private:
  void decode_more();

  std::uint64_t left_ = 0;  // unread bytes of those that dtype and shape require
  unsigned element_bytes_ = 1;
  FarElements far_;
  bool varints_ = false;     // far_ contains varints
  std::uint64_t value_ = 0;  // bits so far of a varint that continues in the next piece
  int shift_ = 0;
  std::string ready_;  // bytes read or carried over, not returned yet
  std::size_t given_ = 0;
};

// How many elements of `bits` bits aren't the same; those that only one has count.
std::uint64_t differing(RawElements& a, RawElements& b, unsigned bits, const ir::Watch& watch);

}  // namespace compatcheck::onnx_file
