#include "verification/nudge.h"

#include <memory>

#include "ir/last_bits.h"

namespace compatcheck::verification {
namespace {

ir::TensorView nudged(ir::TensorView view, std::uint64_t draw, std::optional<ir::DType> narrow) {
  if (!view.storage || !ir::is_floating(view.dtype)) return view;
  auto storage = std::make_shared<ir::Storage>(*view.storage);
  ir::flip_last_bits(storage->data, view.dtype, draw, narrow.value_or(view.dtype));
  view.storage = std::move(storage);
  return view;
}

}  // namespace

ir::Constant nudged(const ir::Constant& value, std::uint64_t draw, std::optional<ir::DType> narrow) {
  ir::Constant made = value;
  if (auto* view = made.get<ir::TensorView>()) *view = nudged(*view, draw, narrow);
  if (auto* list = made.get<ir::ListConstant>())
    for (ir::Constant& item : list->items) item = nudged(item, draw, narrow);
  if (auto* tuple = made.get<ir::TupleConstant>())
    for (ir::Constant& item : tuple->items) item = nudged(item, draw, narrow);
  if (auto* dict = made.get<ir::DictConstant>())
    for (auto& [key, item] : dict->items) item = nudged(item, draw, narrow);
  return made;
}

}  // namespace compatcheck::verification
