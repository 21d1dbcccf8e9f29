#include "conversion/settle_memory.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "conversion/written_memory.h"
#include "passes/effects.h"
#include "passes/memory_marks.h"
#include "passes/rewrite.h"
#include "passes/views.h"
#include "schema/schema.h"
#include "schema/traits.h"
#include "symbolic/layout.h"

namespace compatcheck::conversion {
namespace {

using passes::is_marked;
using schema::Trait;
using symbolic::Call;
using symbolic::Dim;
using symbolic::Layout;
using symbolic::Shape;
using symbolic::TensorFact;

enum class Result : std::uint8_t { same, view, copy };

bool is_one_of(const ir::Node& node, std::initializer_list<std::string_view> ops) {
  return std::ranges::any_of(ops, [&](std::string_view op) { return node.is(op); });
}

// The positions differ: from the innermost dimension on, each stride exceeds the extent of the dimensions before.
bool lies_apart(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t dim) { return strides[dim]; });
  std::int64_t reached = 0;
  for (const std::size_t dim : order) {
    if (sizes[dim] == 1) continue;
    if (strides[dim] <= reached) return false;
    if (__builtin_mul_overflow(sizes[dim] - 1, strides[dim], &reached)) return false;
  }
  return true;
}

class Settler {
 public:
  Settler(ir::Graph& graph, const symbolic::FactTable& facts, const ir::Program* program, const ir::Watch& watch)
      : graph_(graph),
        facts_(facts),
        watch_(watch),
        memory_(passes::Aliases::of(graph, program, watch)),
        layouts_(facts, [this](const ir::Value* value) { return memory_.resized(value); }) {}

  std::size_t run() {
    std::size_t settled = 0;
    for (ir::Node* node : passes::all_nodes(graph_, watch_)) settled += settle(node) ? 1 : 0;
    return settled;
  }

 private:
  bool settle(ir::Node* node) {
    if (node->is("prim::ListUnpack")) return settle_broadcast(node);
    if (!node->schema() || node->inputs().empty() || node->outputs().size() != 1 || !passes::is_tensor(node->input(0)) ||
        !passes::is_tensor(node->output()))
      return false;
    if (passes::is_expansion(*node)) return settle_expansion(node);
    if (node->is("aten::as_strided")) return settle_strided(node);
    if (is_marked(*node, passes::view_mark) || is_marked(*node, passes::copy_mark)) return false;
    const auto result = result_of(*node);
    if (!result) return false;
    if (*result == Result::same) {
      passes::replace(node->output(), node->input(0));
      node->erase();
    } else {
      passes::mark(node, *result == Result::view ? passes::view_mark : passes::copy_mark);
    }
    return true;
  }

  std::optional<Result> result_of(const ir::Node& node) {
    const Call call(node, facts_);
    if (is_one_of(node, {"aten::to", "aten::type_as", "aten::cpu"})) return cast(call);
    if (is_one_of(node, {"aten::positive", "aten::conj", "aten::conj_physical", "aten::real", "aten::resolve_conj"})) {
      const auto dtype = this->dtype(node.input(0));
      return dtype && !ir::is_complex(*dtype) ? std::optional(Result::same) : std::nullopt;
    }
    if (node.is("aten::contiguous")) return by_layout(node, Result::same);
    if (is_one_of(node, {"aten::flatten", "aten::reshape", "aten::reshape_as", "aten::ravel"}))
      return by_layout(node, Result::view);
    if (is_one_of(node, {"aten::atleast_1d", "aten::atleast_2d", "aten::atleast_3d"})) return with_rank(call);
    if (schema::has_trait(node.op(), Trait::dropout) && call.boolean("train") == false) return Result::same;
    if (node.is("aten::pad") && call.string("mode") == "constant") return Result::copy;
    return std::nullopt;
  }

  // to() gives the tensor itself where nothing changes.
  std::optional<Result> cast(const Call& call) const {
    const auto from = dtype(call.node().input(0)), to = dtype(call.node().output());
    if (!from || !to) return std::nullopt;
    if (*from != *to) return Result::copy;
    if (call.has("copy") && call.boolean("copy") != false) return std::nullopt;
    constexpr std::int64_t preserve_format = 1;  // another order in memory is a copy, too
    const bool keeps_order =
        !call.has("memory_format") || call.is_none("memory_format") || call.integer("memory_format") == preserve_format;
    return keeps_order ? std::optional(Result::same) : std::nullopt;
  }

  // New memory, or the memory of the argument. A tensor of one element lies in order whatever its strides are.
  std::optional<Result> by_layout(const ir::Node& node, Result shared) {
    const Shape* shape = sizes(node.input(0));
    const bool is_single = shape && std::ranges::all_of(*shape, [](const Dim& size) { return size.number() == 1; });
    if (is_single && keeps_format(Call(node, facts_))) return shared;
    const auto own = layouts_.of(node.input(0)).layout, made = layouts_.of(node.output()).layout;
    if (!own || !made || memory_.resized(node.input(0))) return std::nullopt;
    return made->memory == node.output() ? Result::copy : shared;
  }
  static bool keeps_format(const Call& call) {
    return !call.has("memory_format") || call.is_none("memory_format") || call.integer("memory_format") == std::int64_t{0};
  }
  std::optional<Result> with_rank(const Call& call) const {
    const Shape* shape = sizes(call.node().input(0));
    if (!shape) return std::nullopt;
    const std::size_t least = static_cast<std::size_t>(call.op()[call.op().size() - 2] - '0');  // atleast_2d
    return shape->size() >= least ? Result::same : Result::view;
  }

  // Nothing is stretched.
  bool settle_expansion(ir::Node* node) const {
    if (is_marked(*node, passes::apart_mark)) return false;
    const Shape *from = sizes(node->input(0)), *to = sizes(node->output());
    if (!from || !to || from->size() > to->size()) return false;
    const std::size_t added = to->size() - from->size();
    for (std::size_t i = 0; i < to->size(); ++i)
      if (i < added ? (*to)[i].number() != 1 : !provably_equal((*from)[i - added], (*to)[i])) return false;
    passes::mark(node, passes::apart_mark);
    return true;
  }

  // broadcast_tensors() gives a tensor itself where it has the common sizes.
  bool settle_broadcast(ir::Node* unpack) const {
    const ir::Node* call = unpack->input(0)->producer();
    const ir::Node* list = call && call->is("aten::broadcast_tensors") ? call->input(0)->producer() : nullptr;
    if (!list || !list->is("prim::ListConstruct") || list->inputs().size() != unpack->outputs().size()) return false;
    bool any = false;
    for (std::size_t i = 0; i < unpack->outputs().size(); ++i) {
      if (unpack->output(i)->unused()) continue;
      const Shape *from = sizes(list->input(i)), *to = sizes(unpack->output(i));
      if (!from || !to || from->size() != to->size() || memory_.resized(list->input(i)) ||
          !std::ranges::equal(*from, *to, [](const Dim& a, const Dim& b) { return provably_equal(a, b); }))
        continue;
      passes::replace(unpack->output(i), list->input(i));
      any = true;
    }
    return any;
  }

  // Settles as_strided that reads elements of the tensor itself, each once.
  bool settle_strided(ir::Node* node) {
    if (is_marked(*node, passes::view_mark) || memory_.resized(node->input(0))) return false;
    const Call call(*node, facts_);
    const auto &own = layouts_.of(node->input(0)).layout, &made = layouts_.of(node->output()).layout;
    const Shape* from = sizes(node->input(0));
    const auto sizes = call.ints("size"), strides = call.ints("stride");
    if (!own || !made || !own->in_order || !from || !sizes || !strides || sizes->size() != strides->size()) return false;
    Dim count = 1;
    for (const Dim& size : *from) count = count * size;
    const auto first = own->offset.number(), at = made->offset.number(), all = count.number();
    if (!first || !at || !all) return false;
    std::int64_t last = *at;
    for (std::size_t i = 0; i < sizes->size(); ++i) {
      std::int64_t reach = 0;
      if ((*sizes)[i] < 1 || (*strides)[i] < 0 || __builtin_mul_overflow((*sizes)[i] - 1, (*strides)[i], &reach) ||
          __builtin_add_overflow(last, reach, &last))
        return false;
    }
    if (*at < *first || last >= *first + *all) return false;
    passes::mark(node, passes::view_mark);
    if (lies_apart({sizes->data(), sizes->size()}, {strides->data(), strides->size()})) passes::mark(node, passes::apart_mark);
    return true;
  }

  std::optional<ir::DType> dtype(const ir::Value* value) const {
    const TensorFact* tensor = facts_.of(value).tensor();
    return tensor ? tensor->dtype : std::nullopt;
  }
  const Shape* sizes(const ir::Value* value) const {
    const TensorFact* tensor = facts_.of(value).tensor();
    return tensor && tensor->shape ? &*tensor->shape : nullptr;
  }

  ir::Graph& graph_;
  const symbolic::FactTable& facts_;
  const ir::Watch& watch_;
  WrittenMemory memory_;
  symbolic::Layouts layouts_;
};

// ---- Parts

constexpr std::size_t most_parts = 256;

bool reads_every_part(const ir::Use& use) {
  const ir::Node& reader = *use.user;
  return is_one_of(reader, {"prim::ListUnpack", "aten::cat", "aten::concat", "aten::stack"});
}

bool settle_list(ir::Node* node, const symbolic::FactTable& facts, bool writes) {
  if (!node->schema() || node->outputs().size() != 1) return false;
  if (!schema::has_trait(node->op(), Trait::split) && !node->is("aten::broadcast_tensors")) return false;
  ir::Value* list = node->output();
  const auto* parts = facts.of(list).list();
  if (!ir::is_tensor_list(list->type()) || !parts || !parts->items || parts->items->empty() || parts->items->size() > most_parts)
    return false;
  const std::vector<ir::Use> uses(list->uses().begin(), list->uses().end());
  const auto is_unpacked = [](const ir::Use& use) { return use.user->is("prim::ListUnpack"); };
  if (writes ? std::ranges::all_of(uses, is_unpacked) : std::ranges::all_of(uses, reads_every_part)) return false;
  ir::Node* place = node->next() ? node->next() : node->owner()->return_node();
  const std::vector<ir::TypeRef> types(parts->items->size(), ir::tensor_type());
  ir::Node* unpack = passes::node_before(place, "prim::ListUnpack", {{list}}, types);
  const ir::TypeRef type = list->type();
  ir::Node* made = passes::node_before(place, "prim::ListConstruct", unpack->outputs(), {&type, 1});
  unpack->copy_origin(*node), made->copy_origin(*node);
  for (const ir::Use& use : uses) use.user->replace_input(use.operand, made->output());
  return true;
}

}  // namespace

std::size_t settle_memory(ir::Graph& graph, const symbolic::FactTable& facts, const ir::Program* program,
                          const ir::Watch& watch) {
  return Settler(graph, facts, program, watch).run();
}

std::size_t settle_parts(ir::Graph& graph, const symbolic::FactTable& facts, bool writes, const ir::Watch& watch) {
  std::size_t settled = 0;
  for (ir::Node* node : passes::all_nodes(graph, watch)) settled += settle_list(node, facts, writes) ? 1 : 0;
  return settled;
}

}  // namespace compatcheck::conversion
