#include "verify/nudge.h"

#include <memory>

#include "ir/last_bits.h"

namespace compatcheck::verification {
namespace {

ir::TensorView nudged(ir::TensorView view, std::uint64_t draw) {
  if (!view.storage || !ir::is_floating(view.dtype)) return view;
  auto storage = std::make_shared<ir::Storage>(*view.storage);
  ir::flip_last_bits(storage->data, view.dtype, draw);
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
