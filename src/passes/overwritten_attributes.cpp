// A buffer that every call fills before it reads it keeps nothing from one call to the next, so the call may as well create it.
// The same holds for a buffer if every call fills the same places of it and reads it only afterwards: the other places never
// change.
#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "passes/alias.h"
#include "passes/effects.h"
#include "passes/lifetimes.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/views.h"
#include "schema/schema.h"
#include "schema/traits.h"

namespace compatcheck::passes {
namespace {

std::optional<ObjectAttribute> cell_read(const ir::Value* value) {
  const ir::Node* read = value->producer();
  const auto* object = read && read->is("prim::GetAttr") ? known<ir::ObjectConstant>(read->input(0)) : nullptr;
  return object ? std::optional(ObjectAttribute{object->object, attribute_name(*read)}) : std::nullopt;
}

bool fills_whole(const ir::Node& node) { return node.is("aten::copy_") || node.is("aten::fill_") || node.is("aten::zero_"); }

// The argument that the node fills whole: that of copy_(), or `out=`, which gets the size of the result. nullopt if none.
std::optional<std::size_t> filled_argument(const ir::Node& node) {
  if (fills_whole(node)) return 0;
  const schema::Schema* schema = node.schema();
  if (!schema || !schema->is_out() || !node.blocks().empty()) return std::nullopt;
  const auto out = schema->argument_index("out");
  const auto written = std::ranges::count_if(schema->arguments, &schema::Argument::written);
  return out && *out < node.inputs().size() && written == 1 && node.outputs().size() == 1 ? out : std::nullopt;
}

const ir::Value* filled_by(const ir::Node& node) { return node.input(filled_argument(node).value_or(0)); }

// In the top block, which runs once in every call.
bool may_fill(const ir::Node& node) { return filled_argument(node) && cell_read(filled_by(node)); }

bool is_constant(const ir::Value* value) { return ir::constant_of(value) != nullptr; }

// A view of the same elements in every call.
bool is_fixed_view(const ir::Node& node) {
  return schema::has_trait(node.op(), schema::Trait::view) && std::ranges::all_of(node.inputs().subspan(1), is_constant);
}

// Computed from constants alone.
bool is_fixed(const ir::Value* value, int depth = 0) {
  constexpr int most_depth = 8;
  const ir::Node* maker = value->producer();
  if (is_constant(value)) return true;
  if (!maker || depth == most_depth || !maker->blocks().empty() || maker->inputs().empty()) return false;
  if (maker->is("prim::GetAttr") || maker->op().starts_with("prim::Call") || is_random(*maker) || writes(*maker)) return false;
  return std::ranges::all_of(maker->inputs(), [&](const ir::Value* input) { return is_fixed(input, depth + 1); });
}

// Returns the attribute that the node writes; nullopt if the place in it may change from call to call.
std::optional<ObjectAttribute> attribute_of(const ir::Node& write) {
  const ir::Value* target = write.input(0);
  while (target->producer() && is_fixed_view(*target->producer())) target = target->producer()->input(0);
  return cell_read(target);
}

// Fills the same elements of the attribute in every call.
bool fills_the_same(const ir::Node& write) {
  const bool placed = write.is("aten::index_put_") && is_fixed(write.input(1)) &&
                      (write.inputs().size() < 4 || (known<bool>(write.input(3)) && !*known<bool>(write.input(3))));
  return (placed || fills_whole(write)) && attribute_of(write).has_value();
}

class Overwrites {
 public:
  Overwrites(ir::Graph& graph, const ir::Program& program, const ir::Watch& watch)
      : graph_(graph), aliases_(Aliases::of(graph, &program, watch)), lifetimes_(graph) {
    for (const ir::Node* write : aliases_->writers())
      if (write->is("prim::SetAttr")) set_ = true;
  }

  // The values that read the attribute which `write` fills whole, before anything reads what it held; empty if there are
  // others, or it doesn't.
  std::vector<ir::Value*> filled(const ir::Node& write) {
    if (set_) return {};
    const auto cell = cell_read(filled_by(write));
    const auto memory = aliases_->locations(filled_by(write));
    if (memory.size() != 1 || aliases_->location(memory[0]).kind != MemoryLocation::Kind::attribute) return {};
    std::vector<ir::Value*> reads;
    for (ir::Value* observer : aliases_->observers(memory[0])) {
      const auto uses = observer->uses();
      if (std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) { return reads_before(use, write); })) return {};
      if (!observer->producer() || !observer->producer()->is("prim::GetAttr")) continue;
      if (cell_read(observer) != cell) return {};  // another name of the same memory
      reads.push_back(observer);
    }
    return reads;
  }

  // The values that read an attribute which the call fills in the same places, and reads only afterwards. The first of them
  // comes before all others.
  std::vector<ir::Value*> filled_in_places() {
    for (LocationId id = 0; !set_ && id < aliases_->location_count(); ++id)
      if (aliases_->location(id).kind == MemoryLocation::Kind::attribute)
        if (auto reads = filled_in_places(id); !reads.empty()) return reads;
    return {};
  }

  bool reads_before(const ir::Use& use, const ir::Node& write) const {
    if (use.user == &write) return use.operand != filled_argument(write);
    return lifetimes_.place(use.user) < lifetimes_.place(&write) && !reads_only_form(*use.user, use.operand);
  }
  bool is_later(const ir::Use& use, const ir::Node& write) const {
    return use.user == &write || lifetimes_.place(use.user) > lifetimes_.place(&write);
  }

 private:
  std::vector<ir::Value*> filled_in_places(LocationId id) {
    const auto writers = aliases_->writers_of(id);
    std::ptrdiff_t last = -1;
    for (const ir::Node* write : writers) {
      if (write->owner() != graph_.top() || aliases_->locations(write->input(0)).size() != 1 || !fills_the_same(*write))
        return {};
      if (write->is("aten::index_put_") && aliases_->reach_written(write->input(1))) return {};
      last = std::max(last, lifetimes_.place(write));
    }
    if (writers.empty()) return {};
    const auto cell = attribute_of(*writers.front());
    std::vector<ir::Value*> reads;
    for (ir::Value* observer : aliases_->observers(id)) {
      for (const ir::Use& use : observer->uses()) {
        const bool written = use.operand == 0 && std::ranges::find(writers, use.user) != writers.end();
        if (!written && lifetimes_.place(use.user) <= last && !is_fixed_view(*use.user) &&
            !reads_only_form(*use.user, use.operand))
          return {};
      }
      if (!observer->producer() || !observer->producer()->is("prim::GetAttr")) continue;
      if (cell_read(observer) != cell) return {};  // another name of the same memory
      reads.push_back(observer);
    }
    std::ranges::sort(reads, {}, [&](const ir::Value* read) { return lifetimes_.place(read->producer()); });
    if (reads.empty() || reads.front()->block() != graph_.top()) return {};
    return reads;
  }

  const ir::Graph& graph_;
  std::shared_ptr<const Aliases> aliases_;
  Lifetimes lifetimes_;
  bool set_ = false;
};

// The call fills and reads a copy of its own.
void copy_once(std::span<ir::Value* const> reads, const schema::Registry& registry) {
  ir::Node* place = reads[0]->producer()->next();
  ir::Value* inputs[] = {reads[0], constant_before(place, {})};
  ir::Node* copy = node_before(place, "aten::clone", inputs, {&reads[0]->type(), 1});
  copy->set_schema(registry.find("aten::clone", ""));
  for (ir::Value* read : reads) {
    const std::vector<ir::Use> uses(read->uses().begin(), read->uses().end());
    for (const ir::Use& use : uses)
      if (use.user != copy) use.user->replace_input(use.operand, copy->output());
  }
}

}  // namespace

std::size_t make_overwritten_attributes(ir::Graph& graph, const ir::Program& program, const schema::Registry& registry,
                                        const ir::Watch& watch) {
  std::vector<ir::Node*> writes;
  for (ir::Node* node : *graph.top())
    if (may_fill(*node)) writes.push_back(node);
  bool in_places = false;
  for (const ir::Node* node : *graph.top())
    in_places = in_places || (node->op().ends_with('_') && !node->inputs().empty() && fills_the_same(*node));
  if (writes.empty() && !in_places) return 0;
  Overwrites overwrites(graph, program, watch);
  for (ir::Node* write : writes) {
    watch.step();
    const std::vector<ir::Value*> reads = overwrites.filled(*write);
    if (reads.empty()) continue;
    ir::Value* filled = write->input(*filled_argument(*write));
    std::vector<ir::Value*> inputs{filled};
    inputs.insert(inputs.end(), 5, constant_before(write, {}));
    ir::Value* made = node_before(write, "aten::empty_like", inputs, {&filled->type(), 1})->output();
    made->producer()->set_schema(registry.find("aten::empty_like", ""));
    for (ir::Value* read : reads) {
      const std::vector<ir::Use> uses(read->uses().begin(), read->uses().end());
      for (const ir::Use& use : uses)
        if (use.user != made->producer() && overwrites.is_later(use, *write)) use.user->replace_input(use.operand, made);
    }
    return 1;  // the next run of the pass handles further writes
  }
  const std::vector<ir::Value*> reads = overwrites.filled_in_places();
  return reads.empty() ? 0 : (copy_once(reads, registry), 1);
}

}  // namespace compatcheck::passes
