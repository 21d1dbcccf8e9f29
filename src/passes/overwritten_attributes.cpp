// A buffer that every call fills anew before it reads it keeps nothing from one call to the next: it may as well be made
// by the call.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "passes/alias.h"
#include "passes/lifetimes.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/views.h"

namespace compatcheck::passes {
namespace {

std::optional<ObjectAttribute> cell_read(const ir::Value* value) {
  const ir::Node* read = value->producer();
  const auto* object = read && read->is("prim::GetAttr") ? known<ir::ObjectConstant>(read->input(0)) : nullptr;
  return object ? std::optional(ObjectAttribute{object->object, attribute_name(*read)}) : std::nullopt;
}

// In the top block, which runs once in every call.
bool may_fill(const ir::Node& node) {
  constexpr auto whole = std::to_array<std::string_view>({"aten::copy_", "aten::fill_", "aten::zero_"});
  return std::find(whole.begin(), whole.end(), node.op()) != whole.end() && cell_read(node.input(0));
}

class Overwrites {
 public:
  Overwrites(const ir::Graph& graph, const ir::Program& program, const ir::Watch& watch)
      : aliases_(graph, &program, watch), lifetimes_(graph) {
    for (const ir::Node* write : aliases_.writers())
      if (write->is("prim::SetAttr")) set_ = true;
  }

  // The values that read the attribute which `write` fills whole, before anything reads what it held; empty if there are
  // others, or it doesn't.
  std::vector<ir::Value*> filled(const ir::Node& write) {
    if (set_) return {};
    const auto cell = cell_read(write.input(0));
    const auto memory = aliases_.locations(write.input(0));
    if (memory.size() != 1 || aliases_.location(memory[0]).kind != MemoryLocation::Kind::attribute) return {};
    std::vector<ir::Value*> reads;
    for (ir::Value* observer : aliases_.observers(memory[0])) {
      const auto uses = observer->uses();
      if (std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) { return reads_before(use, write); })) return {};
      if (!observer->producer() || !observer->producer()->is("prim::GetAttr")) continue;
      if (cell_read(observer) != cell) return {};  // another name of the same memory
      reads.push_back(observer);
    }
    return reads;
  }

  bool reads_before(const ir::Use& use, const ir::Node& write) const {
    if (use.user == &write) return use.operand != 0;
    return lifetimes_.place(use.user) < lifetimes_.place(&write) && !reads_only_form(*use.user, use.operand);
  }
  bool is_later(const ir::Use& use, const ir::Node& write) const {
    return use.user == &write || lifetimes_.place(use.user) > lifetimes_.place(&write);
  }

 private:
  Aliases aliases_;
  Lifetimes lifetimes_;
  bool set_ = false;
};

}  // namespace

std::size_t make_overwritten_attributes(ir::Graph& graph, const ir::Program& program, const schema::Registry& registry,
                                        const ir::Watch& watch) {
  std::vector<ir::Node*> writes;
  for (ir::Node* node : *graph.top())
    if (may_fill(*node)) writes.push_back(node);
  if (writes.empty()) return 0;
  Overwrites overwrites(graph, program, watch);
  for (ir::Node* write : writes) {
    watch.step();
    const std::vector<ir::Value*> reads = overwrites.filled(*write);
    if (reads.empty()) continue;
    std::vector<ir::Value*> inputs{write->input(0)};
    inputs.insert(inputs.end(), 5, constant_before(write, {}));
    ir::Value* made = node_before(write, "aten::empty_like", inputs, {&write->input(0)->type(), 1})->output();
    made->producer()->set_schema(registry.find("aten::empty_like", ""));
    for (ir::Value* read : reads) {
      const std::vector<ir::Use> uses(read->uses().begin(), read->uses().end());
      for (const ir::Use& use : uses)
        if (use.user != made->producer() && overwrites.is_later(use, *write)) use.user->replace_input(use.operand, made);
    }
    return 1;  // what else there is, is seen the next time
  }
  return 0;
}

}  // namespace compatcheck::passes
