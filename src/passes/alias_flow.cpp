// The flow of memory through each node.
#include <algorithm>
#include <array>
#include <string_view>

#include "ir/control_flow.h"
#include "passes/alias.h"
#include "passes/effects.h"
#include "passes/memory_marks.h"
#include "passes/rewrite.h"
#include "schema/schema.h"
#include "schema/traits.h"

namespace compatcheck::passes {
namespace {

// Operators that may return their argument, or a view of it, though their schemas don't say so: found by running every
// operator of torch 2.13's own tests and looking for shared storage.
constexpr auto undeclared_views = std::to_array<std::string_view>({"aten::_cast_Byte",
                                                                   "aten::_cast_Char",
                                                                   "aten::_cast_Double",
                                                                   "aten::_cast_Float",
                                                                   "aten::_cast_Half",
                                                                   "aten::_cast_Int",
                                                                   "aten::_cast_Long",
                                                                   "aten::_cast_Short",
                                                                   "aten::_reshape_from_tensor",
                                                                   "aten::_sparse_coo_tensor_unsafe",
                                                                   "aten::_unsafe_view",
                                                                   "aten::alpha_dropout",
                                                                   "aten::atleast_1d",
                                                                   "aten::atleast_2d",
                                                                   "aten::atleast_3d",
                                                                   "aten::broadcast_tensors",
                                                                   "aten::cartesian_prod",
                                                                   "aten::conj_physical",
                                                                   "aten::data",
                                                                   "aten::dequantize",
                                                                   "aten::dropout",
                                                                   "aten::einsum",
                                                                   "aten::feature_alpha_dropout",
                                                                   "aten::feature_dropout",
                                                                   "aten::flatten_dense_tensors",
                                                                   "aten::meshgrid",
                                                                   "aten::pad",
                                                                   "aten::sparse_coo_tensor",
                                                                   "aten::sum_to_size",
                                                                   "aten::to_dense",
                                                                   "aten::type_as"});

// A list of numbers, among the arguments of what gives tensors: neither is it the result, nor does the result hold it.
bool is_number_list(const ir::Value* value) {
  const auto& type = value->type();
  return ir::is(type, ir::TypeKind::list) && !type->elements.empty() && !holds_memory(type->elements[0]);
}

// A list of lists gives one of these, a dictionary its keys or values, never itself.
bool is_part_of(const ir::Value* part, const ir::Value* whole) {
  using enum ir::TypeKind;
  const auto &type = whole->type(), &given = part->type();
  if (!type || !given) return false;
  if (ir::is(type, dict)) return ir::is(given, list);
  return ir::is(type, list) && !type->elements.empty() && ir::equal(*type->elements.front(), *given);
}

}  // namespace

namespace {

// x.to(…, copy=True), whose schema says a view all the same; or what facts have settled.
bool is_stated_copy(const ir::Node& node) {
  if (is_marked(node, copy_mark)) return true;
  if (!node.is("aten::to")) return false;
  const auto index = node.schema()->argument_index("copy");
  const auto* copies = index && *index < node.inputs().size() ? known<bool>(node.input(*index)) : nullptr;
  return copies && *copies;
}

}  // namespace

namespace {

// A list of new tensors, as torch.where(x) gives: no argument is a list that could be handed on.
bool makes_its_tensors(const ir::Node& node, const ir::Value& list) {
  return ir::is_tensor_list(list.type()) && !schema::has_trait(node.op(), schema::Trait::split) &&
         std::ranges::all_of(node.inputs(), [](const ir::Value* input) {
           return !holds_memory(input->type()) || ir::is(input->type(), ir::TypeKind::tensor) || is_number_list(input);
         });
}

}  // namespace

bool is_undeclared_view(const ir::Node& node) {
  if (!std::binary_search(undeclared_views.begin(), undeclared_views.end(), node.op())) return false;
  // A product of several tensors is new; only one alone may be viewed.
  const ir::Node* operands = node.is("aten::einsum") && node.inputs().size() > 1 ? node.input(1)->producer() : nullptr;
  return !(operands && operands->is("prim::ListConstruct") && operands->inputs().size() > 1);
}

void Aliases::flow(const ir::Block& block) {
  for (const ir::Node* node : block) flow(*node);
}

void Aliases::flow(const ir::Node& node) {
  watch_.step();
  if (node.schema() && node.blocks().empty() && node.op().starts_with("aten::")) return flow_schema(node);  // most nodes
  if (node.is("prim::If")) return flow_branch(node);
  if (node.is("prim::Loop")) return flow_loop(node);
  for (const ir::Block* block : node.blocks()) flow(*block);
  if (node.is("prim::GetAttr") || node.is("prim::SetAttr")) return flow_attribute(node);
  if (node.is("prim::unchecked_cast")) return assign(node.output(), node.input(0));  // its schema says a new one
  // The schema of these says a new one, too.
  const bool gives_part = node.is("prim::TupleIndex") || node.is("prim::TupleUnpack") || node.is("prim::ModuleContainerIndex");
  if (node.schema() && !gives_part) return flow_schema(node);
  flow_prim(node);
}

void Aliases::flow_branch(const ir::Node& node) {
  for (const ir::Block* block : node.blocks()) {
    flow(*block);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) assign(node.output(i), block->outputs()[i]);
  }
}

void Aliases::flow_loop(const ir::Node& node) {
  const ir::LoopView loop(node);
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    assign(loop.parameters()[i], loop.initial_values()[i]);
    assign(loop.parameters()[i], loop.next_values()[i]);
  }
  flow(loop.body());
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    assign(loop.parameters()[i], loop.next_values()[i]);
    assign(node.output(i), loop.parameters()[i]);
  }
}

void Aliases::flow_attribute(const ir::Node& node) {
  const ir::Constant* attribute = node.attribute("name");
  const std::string name = attribute && attribute->get<std::string>() ? *attribute->get<std::string>() : "";
  const Set objects = set_of(node.input(0));
  const bool reads = node.is("prim::GetAttr");
  for (LocationId id : objects) {
    const auto known = object_of_.find(id);
    Set& memory = known != object_of_.end() ? cell(known->second, name) : locations_[id].contents;
    if (reads) {
      if (holds_memory(node.output()->type())) merge(set_of(node.output()), memory);
    } else if (holds_memory(node.input(1)->type())) {
      merge(memory, set_of(node.input(1)));
    }
  }
}

void Aliases::flow_prim(const ir::Node& node) {
  if (node.outputs().empty()) return;
  const ir::Value* first = node.output();
  if (node.is("prim::Constant")) {
    if (holds_memory(first->type())) constant(first, *ir::constant_of(first));
  } else if (node.is("prim::ListConstruct") || node.is("prim::TupleConstruct") || node.is("prim::DictConstruct")) {
    if (!holds_memory(first->type())) return;
    fresh(first);
    for (const ir::Value* input : node.inputs()) put(first, input);
  } else if (node.is("prim::TupleSlice")) {
    fresh(first);
    for (LocationId id : Set(set_of(node.input(0)))) merge(locations_[made_.at(first)].contents, locations_[id].contents);
  } else if (node.is("prim::TupleUnpack") || node.is("prim::ListUnpack") || node.is("prim::TupleIndex") ||
             node.is("prim::ModuleContainerIndex")) {
    if (node.is("prim::ListUnpack") && get_parts(node)) return;
    for (const ir::Value* output : node.outputs()) get(output, node.input(0));
  } else if (node.is("prim::CreateObject") || node.is("prim::NumToTensor") || node.is("prim::Uninitialized") ||
             node.is("prim::StackAppend") || node.is("prim::tolist")) {
    if (holds_memory(first->type())) fresh(first);
  } else {  // unknown: may hand on whatever it was given
    for (const ir::Value* output : node.outputs()) assign_all_inputs(node, output);
  }
}

void Aliases::flow_schema(const ir::Node& node) {
  const schema::Schema& schema = *node.schema();
  const auto gives_memory = [](const ir::Value* output) { return holds_memory(output->type()); };
  const bool undeclared = std::ranges::any_of(node.outputs(), gives_memory) && is_undeclared_view(node);
  const std::size_t arguments = std::min(schema.arguments.size(), node.inputs().size());
  for (std::size_t o = 0; o < node.outputs().size(); ++o) {
    const ir::Value* output = node.output(o);
    if (!holds_memory(output->type())) continue;
    if (is_stated_copy(node)) {
      fresh(output);
      continue;
    }
    if (gives_what_it_writes(node) && is_container(output->type())) {  // not all schemas say so
      assign(output, node.input(0));
      continue;
    }
    const std::string_view declared = o < schema.returns.size() ? std::string_view(schema.returns[o].alias_set) : "*";
    bool same = false;
    if (!declared.empty() && declared != "*")
      for (std::size_t i = 0; i < arguments; ++i)
        if (schema.arguments[i].alias_set.starts_with(declared) &&
            is_container(node.input(i)->type()) == is_container(output->type())) {
          assign(output, node.input(i));
          same = true;
        }
    if (same) continue;
    // Parts of what was given, or whole new memory; a new container may hold anything that was given.
    if (!declared.empty() || undeclared) {
      for (std::size_t i = 0; i < node.inputs().size(); ++i) {
        if (is_number_list(node.input(i)) && !is_number_list(output)) continue;
        const bool container = is_container(node.input(i)->type());
        if (container == is_container(output->type()) && !is_part_of(output, node.input(i))) assign(output, node.input(i));
        if (container && !(ir::is_tensor_list(output->type()) && ir::is_tensor_list(node.input(i)->type())))
          get(output, node.input(i));
      }
    }
    if (declared.empty() || is_container(output->type())) fresh(output);
    if (declared.empty() && !undeclared && makes_its_tensors(node, *output)) {
      insert(locations_[made_.at(output)].contents, made_.at(output));  // the new tensors may share memory with each other
      continue;
    }
    if (is_container(output->type()) && !is_number_list(output))
      for (const ir::Value* input : node.inputs()) {
        if (is_number_list(input) && ir::is_tensor_list(output->type())) continue;
        const bool holds_items = ir::is_tensor_list(output->type()) && ir::is_tensor_list(input->type());  // in both lists
        if (!holds_items && !is_part_of(output, input)) put(output, input);
        if (is_container(input->type()))
          for (LocationId id : Set(set_of(input))) merge(locations_[made_.at(output)].contents, locations_[id].contents);
      }
  }
  if (!schema.writes()) return;
  for (const std::size_t i : written_operands(node)) {  // a written list keeps what is put into it
    if (!is_container(node.input(i)->type())) continue;
    for (std::size_t j = 0; j < node.inputs().size(); ++j) {
      if (j == i) continue;
      put(node.input(i), node.input(j));
      if (is_container(node.input(j)->type()))
        for (LocationId to : Set(set_of(node.input(i))))
          for (LocationId from : Set(set_of(node.input(j)))) merge(locations_[to].contents, locations_[from].contents);
    }
  }
}

// The results of chunk, split and unbind don't overlap if the tensor that was split is a whole piece of memory: x.chunk(2) of a
// linear's result, not of an expanded view. Each part is a location beside the whole tensor's. Parts of two splits do overlap:
// the second split's parts are views of the whole.
bool Aliases::get_parts(const ir::Node& unpack) {
  const ir::Node* split = unpack.input(0)->producer();
  if (!split || !schema::has_trait(split->op(), schema::Trait::split) || gives_overlapping_parts(*split)) return false;
  const Set& whole = set_of(split->input(0));
  if (whole.size() != 1 || locations_[whole[0]].maker != split->input(0)->producer() || !locations_[whole[0]].maker) return false;
  const LocationId base = whole[0];
  if (locations_[base].split && locations_[base].split != &unpack) return false;
  locations_[base].split = &unpack;
  for (const ir::Value* output : unpack.outputs()) {
    auto [at, added] = made_.try_emplace(output, 0);
    if (added) {
      at->second = add_location({MemoryLocation::Kind::fresh, locations_[base].maker, output->name(), {}, {}, nullptr});
      locations_[base].parts.push_back(at->second);
    }
    insert(set_of(output), at->second);
  }
  return true;
}

}  // namespace compatcheck::passes
