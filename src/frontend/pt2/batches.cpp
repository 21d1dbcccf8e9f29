#include "frontend/pt2/batches.h"

#include <algorithm>

namespace compatcheck::frontend::pt2 {

const BatchRegion* Batches::region(std::int64_t level) const {
  const auto found = std::ranges::find(open, level, &BatchRegion::level);
  return found == open.end() ? nullptr : &*found;
}

bool Batches::any_explicit() const {
  return std::ranges::any_of(open, [](const BatchRegion& region) { return !region.iteration; });
}

Batch Batches::of(const ir::Value* value) const {
  if (const auto found = known_.find(value); found != known_.end()) return found->second;
  Batch batch;
  if (const ir::Node* list = value->producer(); list && list->is("prim::ListConstruct")) {
    for (const ir::Value* item : list->inputs())
      for (const std::int64_t level : of(item).levels)
        if (std::ranges::find(batch.levels, level) == batch.levels.end()) batch.levels.push_back(level);
    std::ranges::sort(batch.levels);
  } else if (ir::is(value->type(), ir::TypeKind::tensor) && value->type()->tensor.sizes) {
    batch.rank = value->type()->tensor.sizes->size();
  }
  return batch;
}

void Batches::set(ir::Value* value, Batch batch) {
  if (ir::is(value->type(), ir::TypeKind::tensor) && value->type()->tensor.sizes) {
    ir::TensorType type = value->type()->tensor;
    std::vector<std::optional<std::int64_t>> sizes;
    for (const std::int64_t level : batch.levels) {
      const BatchRegion* held = region(level);
      const ir::Constant* size = held ? ir::constant_of(held->size) : nullptr;
      const auto* number = size ? size->get<std::int64_t>() : nullptr;
      sizes.push_back(number ? std::optional(*number) : std::nullopt);
    }
    sizes.insert(sizes.end(), type.sizes->begin(), type.sizes->end());
    type.sizes = std::move(sizes);
    type.strides.reset();
    value->set_type(ir::tensor_type(std::move(type)));
  }
  known_[value] = std::move(batch);
}

}  // namespace compatcheck::frontend::pt2
