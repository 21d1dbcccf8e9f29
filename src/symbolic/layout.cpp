#include "symbolic/layout.h"

#include <algorithm>

#include "ir/control_flow.h"
#include "ir/open_strides.h"
#include "schema/traits.h"
#include "symbolic/emptiness.h"
#include "symbolic/layout_views.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using schema::Trait;

constexpr int deepest = 1000;
constexpr int most_assumptions = 8;                                 // loops inside of each other, which are looked at twice
constexpr std::int64_t contiguous_format = 0, preserve_format = 1;  // c10::MemoryFormat

bool preserves(const Call& call) { return call.is_none("memory_format") || call.integer("memory_format") == preserve_format; }

// No dimension is stretched: a cast before the operator, which makes the tensor contiguous, doesn't change the order of its
// dimensions.
bool stretches(const Strided& tensor) {
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i)
    if (tensor.sizes[i].number() != 1 && !provably_different(tensor.strides[i], 0)) return true;
  return false;
}

bool is_image(std::size_t rank) { return rank == 4 || rank == 5; }

// Zeros around something: without any it is clone().
bool pads(const Call& call) {
  const auto pad = call.ints("pad");
  const bool constant = call.op() == "aten::constant_pad_nd" || (call.op() == "aten::pad" && call.string("mode") == "constant");
  return constant && pad && std::ranges::any_of(*pad, [](std::int64_t side) { return side > 0; });
}

// All strides are those of new memory of these sizes, of dimensions of size 1, too.
bool is_standard(const Layout& layout, const Shape& sizes) {
  return layout.exact && std::ranges::equal(layout.strides, strides_in_order(sizes),
                                            [](const Dim& one, const Dim& other) { return provably_equal(one, other); });
}

Placement open(const ir::Value* value) { return {.layout = std::nullopt, .unknown = value}; }

}  // namespace

Shape exact_strides(const Layout& layout, const Shape& sizes) {
  Shape strides = layout.strides;
  for (std::size_t i = 0; i < strides.size() && !layout.exact; ++i)
    if (!never_one(sizes[i])) strides[i] = Dim::unknown();
  return strides;
}

const Placement& Layouts::of(const ir::Value* value) {
  if (const auto found = stated_.find(value); found != stated_.end()) return found->second;
  if (depth_ >= deepest) return state_as(value, open(value));
  ++depth_;
  Placement placement = state(value);
  --depth_;
  return state_as(value, std::move(placement));
}

const Placement& Layouts::state_as(const ir::Value* value, Placement placement) {
  order_.push_back(value);
  return stated_[value] = std::move(placement);
}

Placement Layouts::state(const ir::Value* value) {
  if (moved_ && moved_(value)) return open(value);
  const ir::Node* node = value->producer();
  if (const auto joined = moved_ ? this->joined(value) : std::nullopt) return *joined;
  if (!node) return value->block()->owner() || ir::has_open_strides(value->type()) ? open(value) : fresh(value);
  if (ir::constant_of(value)) return constant(value);
  if (schema::has_trait(node->op(), Trait::same_tensor)) return of(node->input(0));
  if (node->is("prim::ListUnpack")) return part(value, *node->input(0)->producer(), value->index());
  if (node->attribute("written")) return written(value);
  if (node->schema() && value->index() == 0 && schema::has_trait(node->op(), Trait::contiguous)) return fresh(value);
  return node->schema() && node->outputs().size() == 1 ? called(value) : open(value);
}

// Returns the placement of values that branches return or loops carry: each candidate may be in order. The memory counts as
// new, because its start isn't known.
std::optional<Placement> Layouts::joined(const ir::Value* value) {
  const ir::Node* node = value->producer();
  const Shape* to = sizes(value);
  const Placement in_order{
      Layout{.memory = value, .offset = Dim::unknown(), .strides = to ? strides_in_order(*to) : Shape{}, .in_order = true}};
  const auto lies_in_order = [this](const ir::Value* given) {
    const auto& layout = of(given).layout;
    return layout && layout->in_order;
  };
  if (node && node->is("prim::If")) {
    const bool all = std::ranges::all_of(node->blocks(),
                                         [&](const ir::Block* block) { return lies_in_order(block->outputs()[value->index()]); });
    return all ? in_order : open(value);
  }
  if (node && node->is("prim::Loop"))
    return lies_in_order(ir::LoopView(*node).parameters()[value->index()]) ? in_order : open(value);
  const auto carried = ir::carried_by(value);
  if (!carried) return std::nullopt;
  if (!lies_in_order(carried->initial_value())) return open(value);
  if (assumptions_ == most_assumptions) return open(value);
  const std::size_t mark = order_.size();
  ++assumptions_;
  state_as(value, in_order);
  const bool stays = lies_in_order(carried->next_value());
  --assumptions_;
  if (stays) return in_order;
  for (; order_.size() > mark; order_.pop_back()) stated_.erase(order_.back());  // depends on the assumption
  return open(value);
}

Placement Layouts::constant(const ir::Value* value) const {
  const auto* view = ir::constant_of(value)->get<ir::TensorView>();
  if (!view) return open(value);
  Layout layout{.memory = value,
                .offset = view->offset,
                .strides = Shape(view->strides.begin(), view->strides.end()),
                .in_order = view->contiguous(),
                .exact = true};
  return dense_order({Shape(view->sizes.begin(), view->sizes.end()), layout.strides}) ? Placement{std::move(layout)}
                                                                                      : open(value);
}

Placement Layouts::part(const ir::Value* value, const ir::Node& list, std::size_t place) {
  if (!list.schema() || list.inputs().empty()) return open(value);
  const auto whole = strided(list.input(0));
  if (!whole) return of(list.input(0)).layout ? open(value) : of(list.input(0));
  const Layout layout = *of(list.input(0)).layout;
  const auto part = part_of_split(Call(list, facts_), {whole->sizes, whole->strides, layout.offset}, place);
  if (!part) return open(value);
  return {Layout{layout.memory, part->offset, part->strides, lies_in_order({part->sizes, part->strides}) == Truth::yes,
                 layout.exact}};
}

// Returns the placement of a value written in place (functionalize_writes): the one before the write. For new memory written as a
// whole it can be known.
Placement Layouts::written(const ir::Value* value) {
  const ir::Value* before = value->producer()->input(0);
  const Placement& placement = of(before);
  if (!placement.layout || placement.layout->memory != before || ir::constant_of(before) ||
      value->producer()->is("aten::type_as"))
    return open(value);
  Layout layout = *placement.layout;
  layout.memory = value;
  return {std::move(layout)};
}

Placement Layouts::called(const ir::Value* value) {
  const ir::Node& node = *value->producer();
  const std::string_view op = node.op();
  const auto has = [&](Trait trait) { return schema::has_trait(op, trait); };
  const Call call(node, facts_);
  if (takes_view(op)) return view(value, call);
  if (op == "aten::view" || op == "aten::reshape" || op == "aten::flatten" || op == "aten::unflatten" || op == "aten::view_as" ||
      op == "aten::reshape_as" || op == "aten::_unsafe_view")
    return call.has("dtype") ? open(value) : reshaped(value, call);
  if (op == "aten::contiguous" || op == "aten::ravel") return in_order(value, call);
  if (op == "aten::clone" || op == "aten::to" || op == "aten::_to_copy" || op == "aten::type_as") return copied(value, call);
  if (has(Trait::dropout)) return call.boolean("train") == false ? of(node.input(0)) : open(value);
  if (op == "aten::pow" && !ir::is(node.input(0)->type(), ir::TypeKind::tensor)) return fresh(value);
  const Shape* to = sizes(value);
  if (to && !is_image(to->size()) && (has(Trait::contiguous_but_images) || pads(call))) return made_of_operands(value);
  if (op == "aten::index" && to && to->size() == 1) return fresh(value);
  if (has(Trait::keeps_contiguous)) return kept(value);
  if (has(Trait::iterates) && preserves(call)) return iterated(value);
  return open(value);
}

Placement Layouts::view(const ir::Value* value, const Call& call) {
  const ir::Value* self = call.node().input(0);
  const auto tensor = strided(self);
  if (!tensor) return of(self).layout ? open(value) : of(self);
  const Layout layout = *of(self).layout;
  const auto view = view_of(call, {tensor->sizes, tensor->strides, layout.offset});
  if (!view) return open(value);
  const bool exact = call.op() == "aten::as_strided" ||
                     (layout.exact && !call.op().starts_with("aten::expand") && call.op() != "aten::broadcast_to");
  return {Layout{layout.memory, view->offset, view->strides, lies_in_order({view->sizes, view->strides}) == Truth::yes, exact}};
}

// A view where the strides allow one, else a copy in order.
Placement Layouts::reshaped(const ir::Value* value, const Call& call) {
  const ir::Value* self = call.node().input(0);
  const Placement& placement = of(self);
  if (!placement.layout) return placement;
  Layout layout = *placement.layout;
  const Shape* to = sizes(value);
  const Shape* from = sizes(self);
  const bool standard = from && is_standard(layout, *from);
  layout.exact = standard;
  if (layout.in_order) {
    layout.strides = to ? strides_in_order(*to) : Shape{};
    return {std::move(layout)};
  }
  const auto tensor = strided(self);
  if (!tensor || !to) return open(value);
  Reshaped reshaped = reshaped_strides(*tensor, *to);
  if (reshaped.is_view == Truth::no &&
      (call.op() == "aten::reshape" || call.op() == "aten::flatten" || call.op() == "aten::reshape_as"))
    return fresh(value);
  if (reshaped.is_view != Truth::yes) return open(value);
  layout.in_order = lies_in_order({*to, reshaped.strides}) == Truth::yes;
  layout.strides = std::move(reshaped.strides);
  return {std::move(layout)};
}

// contiguous(), which is the tensor itself if it lies so.
Placement Layouts::in_order(const ir::Value* value, const Call& call) {
  const ir::Value* self = call.node().input(0);
  const Placement& placement = of(self);
  if (!placement.layout) return placement;
  if (!call.is_none("memory_format") && call.integer("memory_format") != contiguous_format) return open(value);
  if (placement.layout->in_order) return call.op() == "aten::ravel" ? reshaped(value, call) : placement;
  const auto tensor = strided(self);
  return tensor && lies_in_order(*tensor) == Truth::no ? fresh(value) : open(value);
}

// to() is the tensor itself where nothing changes.
Placement Layouts::copied(const ir::Value* value, const Call& call) {
  const ir::Value* self = call.node().input(0);
  const Placement& placement = of(self);
  const bool clone = call.op() == "aten::clone";
  if (clone && call.integer("memory_format") == contiguous_format) return fresh(value);
  if (!placement.layout) return placement;
  if (!preserves(call)) return open(value);
  const auto from = dtype(self), to = dtype(value);
  const auto copy = call.has("copy") ? call.boolean("copy") : std::optional(clone || call.op() == "aten::_to_copy");
  if (!copy || (!*copy && (!from || !to))) return open(value);
  if (!*copy && *from == *to) return placement;
  const auto tensor = strided(self);
  if (placement.layout->in_order) {
    Placement made = fresh(value);
    made.layout->exact = tensor && is_standard(*placement.layout, tensor->sizes);
    return made;
  }
  return tensor ? fresh(value, preserved_strides(*tensor)) : open(value);
}

Placement Layouts::iterated(const ir::Value* value) {
  auto operands = tensors(*value->producer());
  if (value->producer()->is("aten::rsub")) std::ranges::reverse(operands);  // rsub is sub with swapped operands
  bool all_in_order = true, one_dtype = true, stretched = false;
  std::vector<Strided> layouts;
  for (const ir::Value* operand : operands) {
    const Placement& placement = of(operand);
    if (!placement.layout) return placement;
    all_in_order = all_in_order && placement.layout->in_order;
    one_dtype = one_dtype && dtype(operand) && dtype(operand) == dtype(operands.front());
    if (auto layout = strided(operand)) {
      stretched = stretched || stretches(*layout);
      layouts.push_back(*std::move(layout));
    }
  }
  if (all_in_order) return made_of_operands(value);
  const Shape* to = sizes(value);
  if (!to || layouts.size() != operands.size() || (stretched && !one_dtype)) return open(value);
  return fresh(value, iterated_strides(*to, layouts));
}

Placement Layouts::kept(const ir::Value* value) {
  for (const ir::Value* operand : tensors(*value->producer())) {
    const Placement& placement = of(operand);
    if (!placement.layout) return placement;
    if (!placement.layout->in_order) return open(value);
  }
  return made_of_operands(value);
}

// In order, but dimensions of size 1 may have other strides, as they have in the operands.
Placement Layouts::made_of_operands(const ir::Value* value) {
  Placement made = fresh(value);
  made.layout->exact = std::ranges::all_of(tensors(*value->producer()), [this](const ir::Value* operand) {
    const auto tensor = strided(operand);
    return tensor && is_standard(*of(operand).layout, tensor->sizes);
  });
  return made;
}

// ---- Facts

const Shape* Layouts::sizes(const ir::Value* value) const {
  const auto* tensor = facts_.of(value).tensor();
  return tensor && tensor->shape ? &*tensor->shape : nullptr;
}

std::optional<ir::DType> Layouts::dtype(const ir::Value* value) const {
  const auto* tensor = facts_.of(value).tensor();
  return tensor ? tensor->dtype : std::nullopt;
}

std::optional<Strided> Layouts::strided(const ir::Value* value) {
  const Shape* sizes = this->sizes(value);
  const Placement& placement = of(value);
  if (!sizes || !placement.layout || placement.layout->strides.size() != sizes->size()) return std::nullopt;
  return Strided{*sizes, placement.layout->strides};
}

// All arguments that may be tensors, those in a list too.
std::vector<const ir::Value*> Layouts::tensors(const ir::Node& node) const {
  std::vector<const ir::Value*> all;
  for (const ir::Value* input : node.inputs()) {
    const bool list =
        ir::is(input->type(), ir::TypeKind::list) && input->producer() && input->producer()->is("prim::ListConstruct");
    if (list) {
      for (const ir::Value* item : input->producer()->inputs())
        if (ir::is(item->type(), ir::TypeKind::tensor)) all.push_back(item);
    } else if (ir::is(input->type(), ir::TypeKind::tensor) || ir::is_tensor_list(input->type())) {
      all.push_back(input);
    } else if (ir::is(input->type(), ir::TypeKind::optional) && !facts_.of(input).is_none()) {
      const auto& elements = input->type()->elements;
      if (elements.empty() || ir::is(elements.front(), ir::TypeKind::tensor)) all.push_back(input);
    }
  }
  return all;
}

Placement Layouts::fresh(const ir::Value* value) const {
  const Shape* to = sizes(value);
  return {Layout{.memory = value, .offset = 0, .strides = to ? strides_in_order(*to) : Shape{}, .in_order = true, .exact = true}};
}

Placement Layouts::fresh(const ir::Value* value, const std::optional<Shape>& strides) const {
  const Shape* to = sizes(value);
  if (!strides || !to) return open(value);
  return {Layout{.memory = value, .offset = 0, .strides = *strides, .in_order = lies_in_order({*to, *strides}) == Truth::yes}};
}

}  // namespace compatcheck::symbolic
