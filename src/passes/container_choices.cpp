// Texts, enums' members and devices of which only the running model knows which one of several they are: a number stands for
// them.
#include <algorithm>
#include <array>

#include "ir/control_flow.h"
#include "passes/container_walk.h"
#include "passes/evaluate.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

// These keep what they are given, or ask about None.
bool keeps_operands(const ir::Node& node) {
  constexpr auto operators =
      std::to_array<std::string_view>({"prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct", "prim::SetAttr",
                                       "prim::CreateObject", "aten::append", "aten::insert", "aten::__is__", "aten::__isnot__",
                                       "prim::unchecked_cast", "aten::_unwrap_optional", "prim::RaiseException"});
  return std::ranges::find(operators, node.op()) != operators.end();
}

}  // namespace

// The number of what it is among `options`, which get what they lack.
ir::Value* ContainerWalk::code_in(const Abstract& choice, std::vector<Abstract>& options, ir::Node* place) {
  std::vector<ir::Constant> codes;
  const std::vector<Abstract> parts = choice.code ? *choice.parts : std::vector<Abstract>{choice};
  bool as_they_are = choice.code != nullptr;
  for (const Abstract& part : parts) {
    auto at = std::ranges::find_if(options, [&](const Abstract& option) { return same(option, part); });
    if (at == options.end()) {
      if (options.size() == most_options) leave(choice);
      at = options.insert(at, part);
    }
    as_they_are = as_they_are && at - options.begin() == static_cast<std::ptrdiff_t>(codes.size());
    codes.push_back({static_cast<std::int64_t>(at - options.begin())});
  }
  if (as_they_are) return choice.code;
  return choice.code ? number_of(choice.code, codes, place) : constant_before(place, codes.front());
}

ir::Value* ContainerWalk::list_of(const std::vector<ir::Constant>& constants, ir::Node* place) {
  work(constants.size());
  std::vector<ir::Value*> items;
  for (const ir::Constant& constant : constants) items.push_back(constant_before(place, constant));
  const ir::TypeRef type = ir::list_of(items.front()->type());
  return node_before(place, "prim::ListConstruct", items, {&type, 1})->output();
}

// Looks up number `code` in a list of these, which have one type.
ir::Value* ContainerWalk::number_of(ir::Value* code, const std::vector<ir::Constant>& numbers, ir::Node* place) {
  ir::Value* list = list_of(numbers, place);
  return computed(place, "aten::__getitem__", std::array{list, code}, list->type()->elements[0]);
}

ir::Value* ContainerWalk::is_one_of(ir::Value* code, const std::vector<bool>& which, ir::Node* place) {
  const ir::TypeRef truth = ir::simple_type(ir::TypeKind::boolean);
  const bool few = 2 * static_cast<std::size_t>(std::ranges::count(which, true)) <= which.size();
  ir::Value* any = nullptr;
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (which[i] != few) continue;
    ir::Value* here = is_place(code, i, place);
    any = any ? computed(place, "aten::__or__", std::array{any, here}, truth) : here;
  }
  if (!any) return constant_before(place, {!few});
  return few ? any : negated(any, place);
}

// A value of the graph: looked up in a list of numbers, or out of nested Ifs.
ir::Value* ContainerWalk::spelled(const Abstract& choice, ir::Node* place) {
  const std::vector<Abstract>& options = *choice.parts;
  work(options.size());
  if (ir::is(choice.type, ir::TypeKind::boolean)) {
    std::vector<bool> which;
    for (const Abstract& option : options) which.push_back(*known<bool>(option.value));
    return is_one_of(choice.code, which, place);
  }
  if (is_number(choice.type)) {
    std::vector<ir::Constant> numbers;
    for (const Abstract& option : options) numbers.push_back(*ir::constant_of(option.value));
    return number_of(choice.code, numbers, place);
  }
  const auto option = [&](std::size_t i) { return constant_before(place, *ir::constant_of(options[i].value), choice.type); };
  ir::Value* made = option(options.size() - 1);
  for (std::size_t i = options.size() - 1; i-- > 0;) {
    ir::Value *is_it = is_place(choice.code, i, place), *this_one = option(i);
    ir::Node* branch = empty_branch(is_it, place, choice.site);
    ir::IfView(*branch).then_block().add_output(this_one);
    ir::IfView(*branch).else_block().add_output(made);
    made = branch->add_output(choice.type);
    known_[made] = Abstract::of(made);
  }
  return made;
}

// An operator on a choice gives what it gives of each option.
bool ContainerWalk::visit_choice(ir::Node* node) {
  for (std::size_t i = 0; i < node->inputs().size(); ++i) {
    const auto at = known_.find(node->input(i));
    if (at == known_.end() || !at->second.code) continue;
    const Abstract choice = at->second;
    const bool label = is_label(choice.parts->front());
    const bool is_key = i == 1 && ir::is(ir::without_optional(node->input(0)->type()), ir::TypeKind::dict);
    const bool kept = !node->blocks().empty() || (i == 2 && node->is("aten::_set_item")) || (keeps_operands(*node) && !is_key);
    if (!kept && map_choice(node, choice)) return true;
    if (!label) {
      node->replace_input(i, leaf(choice, node));
    } else if (!kept) {
      expand(node, choice);
      return true;
    }
  }
  return false;
}

// Evaluates the operator for each option. False if another operand isn't constant, or the results aren't of one kind.
bool ContainerWalk::map_choice(ir::Node* node, const Abstract& choice) {
  work(choice.parts->size());
  if (!can_evaluate(*node) || node->outputs().size() != 1) return false;
  std::vector<ir::Constant> results;
  for (std::size_t option = 0; option < choice.parts->size(); ++option) {
    std::vector<ir::Constant> operands;
    for (ir::Value* input : node->inputs()) {
      const Abstract operand = look(input);
      auto constant = as_constant(operand.code == choice.code ? (*operand.parts)[option] : operand);
      if (!constant) return false;
      operands.push_back(*std::move(constant));
    }
    std::vector<const ir::Constant*> arguments;
    for (const ir::Constant& operand : operands) arguments.push_back(&operand);
    auto result = evaluate(*node, arguments);
    if (!result || !spend(options_.budget.folded, ir::footprint(*result) / 64)) return false;
    results.push_back(*std::move(result));
  }
  const auto& first = results.front();
  const bool one_kind =
      std::ranges::all_of(results, [&](const ir::Constant& result) { return result.value.index() == first.value.index(); });
  if (!one_kind || !(is_number(ir::type_of(first)) || is_label_constant(first))) return false;
  if (std::ranges::all_of(results, [&](const ir::Constant& result) { return ir::equal(result, first); }))
    return give(node, Abstract::of(constant_before(node, first))), true;
  std::vector<Abstract> options;
  for (const ir::Constant& result : results) options.push_back(Abstract::of(constant_before(node, result)));
  return give(node, Abstract::of_choice(choice.code, std::move(options), choice.site)), true;
}

// Ifs take the node's place, one for each constant but the last, with a copy of the node in each. They are visited next.
void ContainerWalk::expand(ir::Node* node, const Abstract& choice) {
  const std::size_t count = choice.parts->size();
  work(count);
  const Site site = site_of(node);
  const auto take_option = [&](ir::Node* reader, std::size_t option) {
    for (std::size_t i = 0; i < reader->inputs().size(); ++i)
      if (const Abstract operand = look(reader->input(i)); operand.code == choice.code)
        reader->replace_input(i, constant_before(reader, *ir::constant_of((*operand.parts)[option].value)));
  };
  if (count == 1) {
    take_option(node, 0);
    return visit_next(node);
  }
  const std::vector<ir::TypeRef> types = output_types(*node);
  ir::Node* place = node;  // insertion point of the next If: before the node, then in the last If's other branch
  ir::Node* first = nullptr;
  const auto copy_into = [&](ir::Block* block, std::size_t option) {
    ir::Node* copy = graph_.copy_node(*node);
    copy->insert_before(block->return_node());
    take_option(copy, option);
    labels_[copy] = site;
    for (ir::Value* output : copy->outputs()) block->add_output(output);
  };
  for (std::size_t i = 0; i + 1 < count; ++i) {
    ir::Value* is_it = is_place(choice.code, i, place);
    ir::Node* branch = node_before(place, "prim::If", {&is_it, 1}, types);
    labels_[branch] = site;
    copy_into(branch->add_block(), i);
    ir::Block* others = branch->add_block();
    if (i + 2 == count) copy_into(others, i + 1);
    if (place == node) {
      first = branch;
    } else {
      for (ir::Value* output : branch->outputs()) place->owner()->add_output(output);
    }
    place = others->return_node();
  }
  visit_instead(node, first);
}

}  // namespace compatcheck::passes
