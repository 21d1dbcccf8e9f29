#include "verify/nudge.h"

#include <cstring>
#include <memory>
#include <random>

namespace compatcheck::verification {
namespace {

template <class Bits>
void flip_last_bits(std::vector<std::uint8_t>& data, std::uint64_t draw, Bits sign, Bits infinite) {
  std::mt19937_64 random(draw);
  for (std::size_t at = 0; at + sizeof(Bits) <= data.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, data.data() + at, sizeof bits);
    if ((bits & ~sign) == 0 || (bits & infinite) == infinite) continue;
    if (draw > 0 && random() % 2 == 0) continue;
    bits = static_cast<Bits>(bits ^ 1);
    std::memcpy(data.data() + at, &bits, sizeof bits);
  }
}

ir::TensorView nudged(ir::TensorView view, std::uint64_t draw) {
  if (!view.storage || !ir::is_floating(view.dtype)) return view;
  auto storage = std::make_shared<ir::Storage>(*view.storage);
  switch (view.dtype) {
    case ir::DType::f64: flip_last_bits<std::uint64_t>(storage->data, draw, 1ull << 63, 0x7ffull << 52); break;
    case ir::DType::f32: flip_last_bits<std::uint32_t>(storage->data, draw, 1u << 31, 0xffu << 23); break;
    case ir::DType::f16: flip_last_bits<std::uint16_t>(storage->data, draw, 0x8000, 0x7c00); break;
    case ir::DType::bf16: flip_last_bits<std::uint16_t>(storage->data, draw, 0x8000, 0x7f80); break;
    default: return view;
  }
  view.storage = std::move(storage);
  return view;
}

}  // namespace

ir::Constant nudged(const ir::Constant& value, std::uint64_t draw) {
  ir::Constant made = value;
  if (auto* view = made.get<ir::TensorView>()) *view = nudged(*view, draw);
  if (auto* list = made.get<ir::ListConstant>())
    for (ir::Constant& item : list->items) item = nudged(item, draw);
  if (auto* tuple = made.get<ir::TupleConstant>())
    for (ir::Constant& item : tuple->items) item = nudged(item, draw);
  if (auto* dict = made.get<ir::DictConstant>())
    for (auto& [key, item] : dict->items) item = nudged(item, draw);
  return made;
}

}  // namespace compatcheck::verification
