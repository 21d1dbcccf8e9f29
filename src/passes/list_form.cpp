#include "passes/list_form.h"

#include <string>
#include <vector>

#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

bool takes_items_away(const ir::Node& change) { return change.is("aten::pop") || change.is("aten::Delete"); }

// Where the list goes on behind item `index` needs index + 1, which is 0 behind the last item, at -1: so the index must be
// known, or be the number of a loop's trip.
bool can_step_over(const ir::Value* index) {
  if (known<std::int64_t>(index)) return true;
  const ir::Node* loop = index->producer() ? nullptr : index->block()->owner();
  return loop && loop->is("prim::Loop") && index->index() == 0;
}

class ListForm {
 public:
  ListForm(ir::Node* change, ir::Value* current, const schema::Registry& registry)
      : change_(change), current_(current), registry_(registry) {}

  ir::Value* run() {
    ir::Value* result = changed();
    if (change_->is("aten::pop")) {
      change_->replace_input(0, current_);
      change_->set_op("aten::__getitem__");
      resolve(change_);
    } else {
      change_->erase();
    }
    return result;
  }

 private:
  ir::Value* changed() {
    if (change_->is("aten::clear")) return list_of({});
    if (change_->is("aten::append")) return sum(current_, list_of({change_->input(1)}));
    if (change_->is("aten::extend") || change_->is("aten::add_")) return sum(current_, change_->input(1));
    ir::Value* index = change_->input(1);
    ir::Value* kept = before(index);
    const bool puts = change_->is("aten::_set_item") || change_->is("aten::insert");
    if (puts) kept = sum(kept, list_of({change_->input(2)}));
    if (change_->is("aten::insert")) return sum(kept, from(index));
    const auto* number = known<std::int64_t>(index);
    if (number && *number == -1) return kept;
    ir::Value* one = constant_before(change_, {std::int64_t{1}});
    return sum(kept, from(make("aten::add", {index, one}, index->type())));
  }

  void resolve(ir::Node* node) {
    if (const schema::Schema* schema = schema::match(*node, registry_)) {
      node->set_schema(schema);
      node->set_overload(schema->overload);
    }
  }

  ir::Value* make(std::string op, const std::vector<ir::Value*>& inputs, const ir::TypeRef& type) {
    ir::Node* node = node_before(change_, std::move(op), inputs, {&type, 1});
    resolve(node);
    return node->output();
  }

  ir::Value* list_of(const std::vector<ir::Value*>& items) { return make("prim::ListConstruct", items, current_->type()); }
  ir::Value* sum(ir::Value* a, ir::Value* b) { return make("aten::add", {a, b}, current_->type()); }
  ir::Value* before(ir::Value* index) { return slice(constant_before(change_, {}), index); }  // l[:index]
  ir::Value* from(ir::Value* index) { return slice(index, constant_before(change_, {})); }    // l[index:]
  ir::Value* slice(ir::Value* start, ir::Value* end) {
    ir::Value* step = constant_before(change_, {std::int64_t{1}});
    return make("aten::slice", {current_, start, end, step}, current_->type());
  }

  ir::Node* change_;
  ir::Value* current_;
  const schema::Registry& registry_;
};

}  // namespace

bool has_list_form(const ir::Node& change) {
  const std::size_t inputs = change.inputs().size();
  if (inputs == 0 || !ir::is(change.input(0)->type(), ir::TypeKind::list)) return false;
  if (change.is("aten::append") || change.is("aten::extend") || change.is("aten::add_")) return inputs == 2;
  if (change.is("aten::clear")) return true;
  if (change.is("aten::insert")) return inputs == 3;
  if (change.is("aten::_set_item")) return inputs == 3 && can_step_over(change.input(1));
  return takes_items_away(change) && inputs == 2 && can_step_over(change.input(1));
}

ir::Value* take_list_form(ir::Node* change, ir::Value* current, const schema::Registry& registry) {
  return ListForm(change, current, registry).run();
}

}  // namespace compatcheck::passes
