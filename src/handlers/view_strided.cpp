// as_strided: strides count elements of the memory behind a tensor, which may be that of a value before it.
#include "handlers/view_strided.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "handlers/families.h"

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

struct Window {
  Ints sizes, strides;
  std::int64_t offset = 0;
};

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

// The positions that are read, counted in blocks.
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

void as_strided(Emission& e) {
  const Layout self = layout_of_self(e);
  Window window{e.ints("size"), e.ints("stride"), storage_offset(e, self)};
  if (window.sizes.size() != window.strides.size()) throw Refusal{"as_strided takes a stride for each size"};
  if (std::ranges::find(window.sizes, 0) != window.sizes.end())  // nothing is read
    return e.give(e.build.constant(onnx::make_tensor(e.output_dtype(), window.sizes, std::vector<double>{})));
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

std::int64_t storage_offset(const Emission& e, const Layout& self) {
  if (e.given("storage_offset")) return e.integer("storage_offset");
  if (!self.offset.number())
    throw Refusal{"strides count from the tensor's first element, whose place in memory isn't known", advice};
  return *self.offset.number();
}

void register_view_strided(Registry& registry) { registry.handler("aten::as_strided", as_strided); }

}  // namespace compatcheck::handlers
