// as_strided and stride: strides count elements of the memory behind a tensor, which may be that of a value before it.
#include "handlers/view_strided.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <ranges>
#include <string>

#include "handlers/elementary.h"
#include "handlers/families.h"
#include "handlers/sizes.h"
#include "symbolic/emptiness.h"

namespace compatcheck::handlers {
namespace {

using symbolic::Layout;
using symbolic::Layouts;

constexpr const char* advice = "call .contiguous().clone() before it, or use narrow, select or unfold";

// ---- The memory as a vector, from element `first` of the storage on

struct Memory {
  Value elements;
  std::int64_t first = 0;
  Dim count;
};

Memory memory_of(Emission& e, const Layout& self) {
  const ir::Value* base = self.memory;
  const Layout own = *Layouts(e.call.facts()).of(base).layout;
  const auto* fact = e.call.facts().of(base).tensor();
  const Shape* shape = fact && fact->shape ? &*fact->shape : nullptr;
  Value value = e.tensor_of(base);
  if (!own.in_order) {
    const auto order = shape ? symbolic::dense_order({*shape, own.strides}) : std::nullopt;
    if (!order) throw Refusal{"strides count elements in memory, whose order isn't known", advice};
    value = e.build.transpose(value, *order);
  }
  if (!shape || shape->size() != 1) value = e.build.reshape(value, {-1});
  return {value, own.offset.number().value_or(0), shape ? symbolic::product(*shape) : Dim::unknown()};
}

// ---- What is read of it

// The last dimensions that lie side by side as one: how many they are, and how long.
struct Run {
  std::size_t dims = 0;
  std::int64_t length = 1;
};

Run run_of(const Window& window) {
  Run run;
  for (; run.dims < window.sizes.size(); ++run.dims) {
    const std::size_t at = window.sizes.size() - 1 - run.dims;
    if (window.sizes[at] != 1 && window.strides[at] != run.length) break;
    run.length = Emission::few(run.length * window.sizes[at]);
  }
  return run;
}

// Memory falls into blocks of which all that is read consists: positions count blocks.
std::int64_t block_of(const Window& window, const Run& run, const Dim& count) {
  std::int64_t block = std::gcd(run.length, window.offset);
  for (std::size_t i = 0; i + run.dims < window.sizes.size(); ++i)
    if (window.sizes[i] != 1) block = std::gcd(block, window.strides[i]);
  if (block == 0) return 1;  // offset and strides all 0
  if (const auto known = count.number()) return std::gcd(block, *known);
  return provably_equal(modulo(count, block), 0) ? block : 1;
}

// Returns the positions that are read, counted in blocks.
Ints block_positions(const Window& window, const Run& run, std::int64_t block) {
  Ints sizes, strides;
  std::int64_t count = 1;
  const auto add = [&](std::int64_t size, std::int64_t stride) {
    count = Emission::few(count * size);
    sizes.push_back(size);
    strides.push_back(stride);
  };
  for (std::size_t i = 0; i + run.dims < window.sizes.size(); ++i)
    add(window.sizes[i], window.sizes[i] == 1 ? 0 : window.strides[i] / block);
  add(run.length / block, 1);
  return strided_positions(sizes, strides, window.offset / block);
}

void read_at_run_time(Emission& e, const Layout& self) {
  const Memory memory = memory_of(e, self);
  if (memory.first != 0) throw Refusal{"what is read may lie before the tensor's own elements", advice};
  e.give(e.build.gather(memory.elements, window_at_run_time(e, self, 0), 0));
}

void as_strided(Emission& e) {
  const Layout self = layout_of_self(e);
  const auto known = known_window(e, self);
  if (!known) return read_at_run_time(e, self);
  Window window = *known;
  const bool reads_nothing = std::ranges::find(window.sizes, 0) != window.sizes.end();
  if (reads_nothing && ir::is_quantized(e.output_dtype())) throw Refusal{"a quantized view without elements has no ONNX form"};
  if (reads_nothing) return e.give(e.build.constant(onnx::make_tensor(e.output_dtype(), window.sizes, std::vector<double>{})));
  const Memory memory = memory_of(e, self);
  window.offset -= memory.first;
  const Run run = run_of(window);
  const std::int64_t block = block_of(window, run, memory.count);
  const Ints positions = block_positions(window, run, block);
  const auto [least, greatest] = std::minmax_element(positions.begin(), positions.end());
  if (*least < 0 || (memory.count.number() && *greatest >= *memory.count.number() / block))
    throw Refusal{"what is read lies beyond the tensor's own elements", advice};
  if (block == 1) return e.give(e.build.gather(memory.elements, e.build.reshape(e.integers(positions), window.sizes), 0));
  e.give(e.build.reshape(e.build.gather(e.build.reshape(memory.elements, {-1, block}), e.integers(positions), 0), window.sizes));
}

// Inputs may settle the sizes, and with them the strides.
void must_have_sizes(const Emission& e, const ir::Value& unknown) {
  const auto look = [&](const ir::Value* value) {
    const symbolic::Fact& fact = e.call.facts().of(value);
    const auto* tensor = fact.tensor();
    if (!fact.wants.empty() && !(tensor && tensor->shape))
      throw Wanting{{.truth = symbolic::Truth::unknown,
                     .message = "the strides of 'self' follow from sizes that aren't known",
                     .wants = fact.wants,
                     .blame = fact.blame}};
  };
  look(&unknown);
  if (unknown.producer())
    for (const ir::Value* input : unknown.producer()->inputs()) look(input);
}

std::string spell(const ir::Value& unknown) {
  const ir::Node* maker = unknown.producer();
  if (!maker) return "what a loop carries";
  if (maker->attribute("written")) return "what was written in place";
  return maker->is("prim::Constant") ? "a constant with gaps in it" : "what " + maker->op() + " gives";
}

// ---- Strides as numbers

// Each an i64 vector of one.
Values numbers_in(Emission& e, std::string_view argument) {
  Values all;
  if (const auto known = e.call.ints(argument)) {
    for (const std::int64_t number : *known) all.push_back(e.integers({number}));
    return all;
  }
  const List* items = e.operand(argument).list();
  if (!items) throw Refusal{"the length of '" + std::string(argument) + "' isn't known"};
  for (const Operand& item : items->items) all.push_back(e.as_vector(item, argument));
  return all;
}

// The number of elements that a step in a dimension passes over: at least 1, as PyTorch counts sizes of 0.
Value passed_over(Emission& e, const Dim& size, const Value& value) {
  if (const auto known = size.number()) return e.integers({std::max<std::int64_t>(*known, 1)});
  return may_be_zero(size) ? sum(e, value, e.cast(equal(e, value, e.integers({0})), DType::i64)) : value;
}

// Strides of new memory whose dimensions lie in `order` from the outermost to the innermost.
Values dense_strides(Emission& e, const Shape& shape, const std::function<Value(std::int64_t)>& size, const Ints& order) {
  Values strides(shape.size());
  Value next = e.integers({1});
  for (const std::int64_t dim : order | std::views::reverse) {
    const auto at = static_cast<std::size_t>(dim);
    strides[at] = next;
    if (dim != order.front()) next = product(e, next, passed_over(e, shape[at], shape[at].is_number() ? Value{} : size(dim)));
  }
  return strides;
}

Ints in_order(std::size_t rank) {
  Ints order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// A stride or an offset as a multiple of a stride of the memory's own dimensions; absent if it is none.
Value multiple(Emission& e, const Dim& wanted, const Layout& self) {
  if (const auto known = wanted.number()) return e.integers({*known});
  const auto* base = e.call.facts().of(self.memory).tensor();
  if (wanted.is_unknown() || !base || !base->shape) return {};
  const auto order = symbolic::dense_order({*base->shape, Layouts(e.call.facts()).of(self.memory).layout->strides});
  if (!order) return {};
  Dim all = 1;
  Values factors;
  for (const std::int64_t dim : *order | std::views::reverse) {
    const Dim& size = (*base->shape)[static_cast<std::size_t>(dim)];
    all = all * size;
    factors.push_back(passed_over(e, size, size.is_number() ? Value{} : size_at(e, e.tensor_of(self.memory), dim)));
    const auto times = floor_div(wanted, all).number();
    if (times && provably_equal(all * Dim(*times), wanted)) return product(e, product_of(e, factors), e.integers({*times}));
  }
  return {};
}

Value offset_of_self(Emission& e, const Layout& self) {
  const Value offset = multiple(e, self.offset, self);
  if (!offset) throw Refusal{"strides count from the tensor's first element, whose place in memory isn't known", advice};
  return offset;
}

// `of_ones`: of dimensions of size 1, too, whose strides place nothing.
Values strides_of_self(Emission& e, const Layout& self, bool of_ones = true) {
  const Shape& shape = e.shape("self");
  const Shape exact = self.exact && self.strides.empty() ? Shape(shape.size(), Dim::unknown()) : exact_strides(self, shape);
  const auto size = [&](std::int64_t dim) { return e.size_of("self", dim); };
  std::optional<Ints> order;
  if (self.in_order) {
    order = in_order(shape.size());
  } else if (const auto dense = symbolic::dense_order({shape, self.strides})) {
    order = Ints(dense->begin(), dense->end());
  }
  Values strides = order ? dense_strides(e, shape, size, *order) : Values(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (const auto known = exact[i].number()) {
      strides[i] = e.integers({*known});
    } else if (of_ones && !self.exact && !never_one(shape[i])) {
      throw Refusal{"the stride of a dimension whose size may be 1 isn't known", advice};
    } else if (!strides[i]) {
      const Dim& wanted = of_ones ? exact[i] : self.strides[i];
      strides[i] = multiple(e, wanted, self);
      if (!strides[i]) throw Refusal{"the stride " + wanted.to_string() + " can't be computed from sizes", advice};
    }
  }
  return strides;
}

// Each dimension that isn't of size 1 passes over all elements of those inside of it. A tensor without elements is contiguous,
// but not in every other format.
void is_contiguous(Emission& e) {
  const Layout self = layout_of_self(e);
  const Shape& shape = e.shape("self");
  const Values strides = strides_of_self(e, self, false);
  Ints dims = in_order(shape.size());
  const bool formatted = e.given("memory_format") && e.integer("memory_format") != 0;
  if (formatted) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  Value next = e.integers({1}), all;
  for (const std::int64_t dim : dims | std::views::reverse) {
    const Value size = e.size_of("self", dim);
    const Value fits = logical_or(e, equal(e, size, e.integers({1})), equal(e, strides[static_cast<std::size_t>(dim)], next));
    all = all ? logical_and(e, all, fits) : fits;
    next = product(e, next, size);
  }
  if (!formatted) all = logical_or(e, all, equal(e, next, e.integers({0})));
  e.give(e.build.squeeze(all, {0}));
}

void stride(Emission& e) {
  const Values strides = strides_of_self(e, layout_of_self(e));
  if (e.given("dim")) return e.give(e.build.squeeze(strides.at(static_cast<std::size_t>(e.axis("dim"))), {0}));
  e.give_vector(0, joined(e, strides));
}

}  // namespace

Ints strided_positions(const Ints& sizes, const Ints& strides, std::int64_t offset) {
  if (sizes.size() != strides.size()) throw symbolic::Impossible{"there must be as many strides as sizes"};
  Ints positions{offset};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Ints next;
    for (const std::int64_t at : positions)
      for (std::int64_t k = 0; k < sizes[i]; ++k) next.push_back(at + k * strides.at(i));
    positions = std::move(next);
  }
  return positions;
}

Layout layout_of_self(const Emission& e) {
  Layouts layouts(e.call.facts());
  const auto& [layout, unknown] = layouts.of(e.call.value("self"));
  if (layout) return *layout;
  must_have_sizes(e, *unknown);
  throw Refusal{"strides count elements in memory, where it isn't known how " + spell(*unknown) + " lies", advice};
}

std::optional<Window> known_window(const Emission& e, const Layout& self) {
  const auto sizes = e.call.ints("size"), strides = e.call.ints("stride");
  const auto offset = e.given("storage_offset") ? e.call.integer("storage_offset") : self.offset.number();
  if (sizes && strides && sizes->size() != strides->size()) throw Refusal{"as_strided takes a stride for each size"};
  if (!sizes || !strides || !offset) return std::nullopt;
  return Window{e.ints("size"), e.ints("stride"), e.given("storage_offset") ? e.integer("storage_offset") : *offset};
}

Value window_at_run_time(Emission& e, const Layout& self, std::int64_t first) {
  if (!e.at_least(9))
    throw Refusal{"counting positions when the model runs needs NonZero, which came with opset 9", "use opset 9"};
  const Values sizes = numbers_in(e, "size"), strides = numbers_in(e, "stride");
  if (sizes.size() != strides.size()) throw Refusal{"as_strided takes a stride for each size"};
  const Value offset = e.given("storage_offset") ? int_value(e, "storage_offset") : offset_of_self(e, self);
  Value positions = difference(e, offset, e.integers({first}));
  if (sizes.empty()) return e.build.reshape(positions, {});
  for (std::size_t i = sizes.size(); i-- > 0;) {
    Ints after(sizes.size() - 1 - i);
    std::iota(after.begin(), after.end(), 1);
    const Value steps = product(e, places_of(e, sizes[i]), strides[i]);
    positions = add(e, e.build.unsqueeze(steps, after), positions);
  }
  return positions;
}

void register_view_strided(Registry& registry) {
  registry.handler("aten::as_strided", as_strided);
  registry.handler("aten::stride", stride);
  registry.handler("aten::storage_offset",
                   [](Emission& e) { e.give(e.build.squeeze(offset_of_self(e, layout_of_self(e)), {0})); });
  registry.handler("aten::is_contiguous", is_contiguous);
}

}  // namespace compatcheck::handlers
