// Reading shapes.
#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// int[]: known sizes stay numbers.
void give_sizes(Emission& e, std::string_view tensor) {
  const Value sizes = e.shape_of(tensor);
  const Shape* shape = known_shape(e, tensor);
  if (!shape) return e.give_operand(0, {Vector{sizes}});
  e.build.mark_result(sizes);
  const auto parting = e.build.plumbing();
  List list;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if (const auto known = (*shape)[i].number())
      list.items.push_back({Number{*known}});
    else
      list.items.push_back({Number{e.build.gather(sizes, e.build.integer(static_cast<std::int64_t>(i)), 0)}});
  }
  e.give_operand(0, {std::move(list)});
}

void size(Emission& e) {
  if (!e.call.has("dim")) return give_sizes(e, "self");
  const auto dim = e.call.integer("dim");
  const Value sizes = e.shape_of("self");
  if (!dim) {
    const Value place = [&] {
      const auto placing = e.build.plumbing();
      return wrapped_if_needed(e, int_scalar(e, "dim"), e.build.squeeze(sizes_of(e, sizes), {0}));
    }();
    return e.give(e.build.gather(sizes, place, 0));
  }
  e.give(e.build.gather(sizes, e.build.integer(*dim < 0 ? e.wrap(*dim, e.rank("self")) : *dim), 0));
}

void prim_shape(Emission& e) { give_sizes(e, "a"); }
void shape_as_tensor(Emission& e) { e.give(e.shape_of("self")); }
void numel(Emission& e) { e.give(e.node("Size", {e.of_its_sizes("self")})); }
void dim(Emission& e) { e.give(e.node("Size", {e.node("Shape", {e.of_its_sizes("self")})})); }

}  // namespace

void register_shape(Registry& registry) {
  registry.handler("aten::size", size);
  registry.handler("aten::_shape_as_tensor", shape_as_tensor);
  registry.handler("aten::numel", numel);
  registry.handler("aten::dim", dim);
  registry.handler("prim::shape", prim_shape);
}

}  // namespace compatcheck::handlers
