#include "passes/list_form.h"

#include <string>
#include <vector>

#include "ir/control_flow.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

bool takes_items_away(const ir::Node& change) {
  return change.is("aten::pop") || change.is("aten::Delete") ||
         (change.is("aten::remove") && is_number(change.input(0)->type()->elements[0]));
}

// The number of a loop's iteration, for example.
bool is_positive(const ir::Value* index) {
  if (const auto* number = known<std::int64_t>(index)) return *number >= 0;
  return ir::is_iteration(index);
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
    if (change_->is("aten::mul_")) return make("aten::mul", {current_, change_->input(1)}, current_->type());
    if (change_->is("aten::reverse")) return reversed(current_);
    if (change_->is("aten::sort")) {
      ir::Value* sorted = make("aten::sorted", {current_}, current_->type());
      return change_->inputs().size() == 2 && *known<bool>(change_->input(1)) ? reversed(sorted) : sorted;
    }
    ir::Value* index = change_->is("aten::insert")   ? change_->input(1)
                       : change_->is("aten::remove") ? place_of(change_->input(1))
                                                     : from_front(change_->input(1));
    ir::Value* kept = before(index);
    const bool puts = change_->is("aten::_set_item") || change_->is("aten::insert");
    if (puts) kept = sum(kept, list_of({change_->input(2)}));
    if (change_->is("aten::insert")) return sum(kept, from(index));
    const auto* place = known<std::int64_t>(index);
    if (place && *place == -1) return kept;
    return sum(kept, from(make("aten::add", {index, number(1)}, index->type())));
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
    return make("aten::slice", {current_, start, end, number(1)}, current_->type());
  }
  ir::Value* reversed(ir::Value* list) {
    ir::Value* none = constant_before(change_, {});
    return make("aten::slice", {list, none, none, number(-1)}, list->type());
  }
  ir::Value* number(std::int64_t value) { return constant_before(change_, {value}); }

  ir::Value* place_of(ir::Value* item) { return make("aten::index", {current_, item}, ir::simple_type(ir::TypeKind::integer)); }

  // The same place counted from the front: the list goes on behind item -1 at index + 1, which is 0.
  ir::Value* from_front(ir::Value* index) {
    if (known<std::int64_t>(index) || is_positive(index)) return index;
    const ir::TypeRef truth = ir::simple_type(ir::TypeKind::boolean), integer = index->type();
    ir::Value* from_behind = make("aten::Int", {make("aten::lt", {index, number(0)}, truth)}, integer);
    ir::Value* length = make("aten::len", {current_}, integer);
    return make("aten::add", {index, make("aten::mul", {from_behind, length}, integer)}, integer);
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
  if (change.is("aten::clear") || change.is("aten::reverse")) return true;
  if (change.is("aten::insert") || change.is("aten::_set_item")) return inputs == 3;
  if (change.is("aten::sort"))
    return is_number(change.input(0)->type()->elements[0]) && (inputs == 1 || known<bool>(change.input(1)));
  return (takes_items_away(change) || change.is("aten::mul_")) && inputs == 2;
}

ir::Value* take_list_form(ir::Node* change, ir::Value* current, const schema::Registry& registry) {
  return ListForm(change, current, registry).run();
}

}  // namespace compatcheck::passes
