#include "passes/functional_form.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "passes/list_form.h"
#include "passes/rewrite.h"
#include "schema/traits.h"

namespace compatcheck::passes {

using schema::Trait;

namespace {

bool among(std::string_view op, std::span<const std::string_view> operators) {
  return std::find(operators.begin(), operators.end(), op) != operators.end();
}

// These change the tensor object itself (sizes, strides, storage), not only its elements.
constexpr auto changes_object =
    std::to_array<std::string_view>({"aten::resize_", "aten::resize_as_", "aten::set_", "aten::sparse_resize_",
                                     "aten::sparse_resize_and_clear_", "aten::as_strided_"});
constexpr auto changes_sizes = std::to_array<std::string_view>(
    {"aten::squeeze_", "aten::swapaxes_", "aten::swapdims_", "aten::t_", "aten::transpose_", "aten::unsqueeze_"});

// These change neither.
constexpr auto changes_nothing = std::to_array<std::string_view>({"aten::detach_", "aten::requires_grad_"});

// zero_, fill_ and copy_ have forms of their own.
constexpr auto replaces_all = std::to_array<std::string_view>({"aten::copy_", "aten::fill_", "aten::zero_"});

// The overload that takes the same arguments without the last `dropped` ones.
const schema::Schema* pure_overload(const ir::Node& node, std::string_view name, std::size_t dropped,
                                    const schema::Registry& registry) {
  const auto& mine = node.schema()->arguments;
  const std::size_t kept = node.inputs().size() - dropped;
  const auto fits = [&](const schema::Schema* schema) {
    return schema && !schema->writes() && schema->returns.size() == 1 && schema->arguments.size() >= kept &&
           std::equal(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(kept), schema->arguments.begin(),
                      [](const auto& a, const auto& b) { return ir::same_structure(*a.type, *b.type); });
  };
  if (const auto* same = registry.find(name, node.overload()); fits(same)) return same;
  for (const schema::Schema* overload : registry.overloads(name))
    if (fits(overload)) return overload;
  return nullptr;
}

// out= comes last and is the only written argument.
bool has_one_out(const ir::Node& node) {
  const auto& arguments = node.schema()->arguments;
  if (node.inputs().size() != arguments.size() || arguments.empty() || !arguments.back().written) return false;
  return std::none_of(arguments.begin(), arguments.end() - 1, [](const auto& argument) { return argument.written; });
}

const schema::Schema* functional_schema(const ir::Node& node, const schema::Registry& registry) {
  if (node.schema()->is_out()) return has_one_out(node) ? pure_overload(node, node.op(), 1, registry) : nullptr;
  const auto name = registry.functional_form(node.op());
  if (!name) return nullptr;
  const schema::Schema* same_arguments = pure_overload(node, *name, 0, registry);
  return same_arguments ? same_arguments : pure_overload(node, *name + "_functional", 0, registry);  // normal_functional
}

// Whether the functional form `op` may give another dtype than the tensor's, which the write keeps.
bool may_change_dtype(const ir::Node& node, std::string_view op) {
  const auto& own = node.input(0)->type()->tensor.dtype;
  const bool floating = own && ir::is_floating(*own);
  if (schema::has_trait(op, Trait::widens) && !floating) return true;
  if (!schema::has_trait(op, Trait::promotes)) return false;
  const auto others = node.inputs().subspan(1);
  return std::any_of(others.begin(), others.end(), [&](const ir::Value* other) {
    if (ir::is(other->type(), ir::TypeKind::floating) || ir::is(other->type(), ir::TypeKind::number)) return !floating;
    if (!is_tensor(other)) return false;
    return !own || !other->type()->tensor.dtype || *own != *other->type()->tensor.dtype;
  });
}

ir::Value* build(ir::Node* place, std::string op, std::span<ir::Value* const> inputs, const schema::Registry& registry) {
  const ir::TypeRef type = inputs[0]->type();
  ir::Node* node = node_before(place, std::move(op), inputs, {&type, 1});
  if (const schema::Schema* schema = schema::match(*node, registry)) {
    node->set_schema(schema);
    node->set_overload(schema->overload);
  }
  return node->output();
}

// x.zero_() → zeros_like(x), x.fill_(3) → full_like(x, 3), x.copy_(y) → copy(x, y): as x's dtype, in x's shape.
ir::Value* replace_all(ir::Node* write, ir::Value* current, const schema::Registry& registry) {
  std::vector<ir::Value*> inputs{current};
  std::string op = "aten::zeros_like";
  if (!write->is("aten::zero_")) {
    inputs.push_back(write->input(1));
    const bool from_tensor = is_tensor(write->input(1));
    op = !from_tensor ? "aten::full_like" : write->is("aten::copy_") ? "aten::copy" : "aten::fill";
  }
  if (op.ends_with("_like")) inputs.insert(inputs.end(), 5, constant_before(write, {}));  // layout, device … as x has them
  if (op == "aten::copy") inputs.push_back(write->inputs().size() > 2 ? write->input(2) : constant_before(write, {false}));
  ir::Value* result = build(write, std::move(op), inputs, registry);
  write->erase();
  return result;
}

// The new value is computed in the dtype of the tensor that is written.
bool computes_as_out(const ir::Node& node) {
  return node.is("aten::cumsum") || node.is("aten::cumprod") || node.is("aten::all") || node.is("aten::any");
}

ir::Value* cast_before(ir::Node* node, ir::Value* like, const schema::Registry& registry) {
  ir::Value* inputs[] = {node->input(0), like};
  return build(node, "aten::type_as", inputs, registry);
}

// Casts to the dtype of `like`, because an operator in place keeps it.
ir::Value* cast_after(ir::Node* node, ir::Value* like, const schema::Registry& registry) {
  ir::Value* inputs[] = {node->output(), like};
  ir::Value* cast = build(node, "aten::type_as", inputs, registry);
  node->move_before(cast->producer());
  return cast;
}

}  // namespace

bool changes_its_sizes(const ir::Node& write) { return among(write.op(), changes_sizes); }

std::optional<std::size_t> written_by_form(const ir::Node& write, const schema::Registry& registry) {
  if (has_list_form(write)) return 0;
  if (!write.schema() || write.outputs().size() != 1 || among(write.op(), changes_object)) return std::nullopt;
  if (among(write.op(), replaces_all) && !write.schema()->is_out()) return 0;
  if (among(write.op(), changes_nothing)) return 0;
  if (!functional_schema(write, registry)) return std::nullopt;
  return write.schema()->is_out() ? write.inputs().size() - 1 : 0;
}

ir::Value* take_functional_form(ir::Node* write, ir::Value* current, const schema::Registry& registry) {
  if (has_list_form(*write)) return take_list_form(write, current, registry);
  if (among(write->op(), changes_nothing)) {
    write->erase();
    return current;
  }
  const bool out = write->schema()->is_out();
  if (!out && among(write->op(), replaces_all)) return replace_all(write, current, registry);
  const schema::Schema* schema = functional_schema(*write, registry);
  if (out) {
    write->erase_input(write->inputs().size() - 1);
    if (computes_as_out(*write)) write->replace_input(0, cast_before(write, current, registry));
    if (write->is("aten::all") || write->is("aten::any")) write->set_attribute("out", {std::int64_t{1}});
  }
  if (!out) write->replace_input(0, current);
  const bool promoted = !out && may_change_dtype(*write, schema->name);
  write->set_op(schema->name);
  write->set_schema(schema);
  write->set_overload(schema->overload);
  if (promoted) write->set_attribute("inplace", {std::int64_t{1}});
  return out || schema::has_trait(schema->name, Trait::gives_bool) ? cast_after(write, current, registry) : write->output();
}

bool keeps_first_dtype(const ir::Node& node) { return node.attribute("inplace") && !node.is("prim::PythonOp"); }

}  // namespace compatcheck::passes
