#include "frontend/native/state_setter.h"

#include <optional>
#include <string_view>
#include <unordered_map>

#include "ir/control_flow.h"

namespace compatcheck::frontend::native {
namespace {

using ir::Constant;
using ir::Constants;

constexpr std::size_t most_steps = 100'000, deepest = 100;          // nesting of calls and blocks
constexpr std::size_t deepest_state = 100, most_parts = 2'000'000;  // most parts of all values, over all steps

[[noreturn]] void unsupported(const std::string& why) { throw StateNotSet(why); }

const Constants* items_of(const Constant& container) {
  if (const auto* tuple = container.get<ir::TupleConstant>()) return &tuple->items;
  if (const auto* list = container.get<ir::ListConstant>()) return &list->items;
  return nullptr;
}

bool is_plain(const Constant& value) {
  return value.get<std::int64_t>() || value.get<bool>() || value.get<double>() || value.get<std::string>();
}

bool same(const Constant& a, const Constant& b) {
  if (a.value.index() != b.value.index() || !is_plain(a)) unsupported("compares values that aren't plain");
  return ir::equal(a, b);
}

Constant item(const Constant& container, const Constant& index) {
  const auto* number = index.get<std::int64_t>();
  if (const Constants* items = items_of(container); items && number) {
    const auto size = static_cast<std::int64_t>(items->size());
    const std::int64_t place = *number < 0 ? *number + size : *number;
    if (place < 0 || place >= size) unsupported("reads beyond the end of the state");
    return (*items)[static_cast<std::size_t>(place)];
  }
  if (const auto* dict = container.get<ir::DictConstant>())
    for (const auto& [key, value] : dict->items)
      if (ir::equal(key, index)) return value;
  unsupported("reads what the state doesn't hold");
}

// Without side effects on anything but the object.
std::optional<Constants> plain_operation(const ir::Node& node, const Constants& in) {
  const std::string_view op = node.op();
  if (op == "aten::eq") return Constants{{same(in.at(0), in.at(1))}};
  if (op == "aten::ne") return Constants{{!same(in.at(0), in.at(1))}};
  if (op == "aten::__is__" || op == "aten::__isnot__") {
    if (!in.at(0).is_none() && !in.at(1).is_none()) unsupported("compares objects");
    return Constants{{(in[0].is_none() == in[1].is_none()) == (op == "aten::__is__")}};
  }
  if (op == "aten::__not__" && in.at(0).get<bool>()) return Constants{{!*in[0].get<bool>()}};
  if (op == "aten::__getitem__" || op == "prim::TupleIndex") return Constants{item(in.at(0), in.at(1))};
  if (op == "prim::TupleUnpack" || op == "prim::ListUnpack") {
    if (const Constants* items = items_of(in.at(0))) return *items;
    unsupported("unpacks what isn't a list");
  }
  if (op == "prim::TupleConstruct") return Constants{{ir::TupleConstant{node.output()->type(), in}}};
  if (op == "prim::ListConstruct") return Constants{{ir::ListConstant{node.output()->type()->elements[0], in}}};
  if (op == "prim::unchecked_cast") return Constants{in.at(0)};
  if (op == "prim::Uninitialized") return Constants{{}};
  if (op == "aten::len")
    if (const Constants* items = items_of(in.at(0))) return Constants{{static_cast<std::int64_t>(items->size())}};
  if (op == "prim::DictConstruct") {
    ir::DictConstant made(node.output()->type()->elements[0], node.output()->type()->elements[1], {});
    for (std::size_t i = 0; i + 1 < in.size(); i += 2) made.items.emplace_back(in[i], in[i + 1]);
    return Constants{{std::move(made)}};
  }
  if (op == "prim::RaiseException") unsupported("raises an exception");
  return std::nullopt;
}

class StateSetter {
 public:
  explicit StateSetter(const StateContext& context) : context_(context) {}

  Constants call(const ir::Function& function, const Constants& arguments) {
    if (function.graph.inputs().size() != arguments.size()) unsupported("calls a method with default arguments");
    Values values;
    for (std::size_t i = 0; i < arguments.size(); ++i) values[function.graph.inputs()[i]] = arguments[i];
    return block(*function.graph.top(), values);
  }

 private:
  using Values = std::unordered_map<const ir::Value*, Constant>;

  Constants block(const ir::Block& block, Values& values) {
    if (++depth_ > deepest) unsupported("nests too deeply");
    for (const ir::Node* each : block) node(*each, values);
    Constants results;
    for (const ir::Value* result : block.outputs()) results.push_back(values.at(result));
    --depth_;
    return results;
  }

  // Values are copied: what all of them hold is bounded.
  void weigh(const Constant& value, std::size_t depth) {
    if (depth > deepest_state) unsupported("nests values too deeply");
    if (++parts_ > most_parts) unsupported("makes more than 2000000 values");
    if (const Constants* items = items_of(value))
      for (const Constant& item : *items) weigh(item, depth + 1);
    if (const auto* dict = value.get<ir::DictConstant>())
      for (const auto& [key, item] : dict->items) weigh(item, depth + 1);
  }

  void node(const ir::Node& node, Values& values) {
    if (++steps_ > most_steps) unsupported("takes more than 100000 steps");
    Constants in;
    for (const ir::Value* input : node.inputs()) in.push_back(values.at(input));
    const Constants results = outputs(node, in, values);
    for (const Constant& result : results) weigh(result, 0);
    if (results.size() < node.outputs().size()) unsupported("unpacks a state of another form");
    for (std::size_t i = 0; i < node.outputs().size(); ++i) values[node.outputs()[i]] = results[i];
  }

  static const std::string& name_of(const ir::Node& node) { return *node.attribute("name")->get<std::string>(); }

  Constant& attribute(const ir::Node& node, const Constant& object) {
    const auto* held = object.get<ir::ObjectConstant>();
    if (!held) unsupported("uses an attribute of what is no object");
    ir::Object& found = context_.program.objects.at(held->object);
    return found.attributes.at(context_.slot(found.class_name, name_of(node)));
  }

  Constants outputs(const ir::Node& node, const Constants& in, Values& values) {
    if (node.is("prim::Constant")) return {*node.attribute("value")};
    if (node.is("prim::GetAttr")) return {attribute(node, in.at(0))};
    if (node.is("prim::SetAttr")) {
      attribute(node, in.at(0)) = in.at(1);
      return {};
    }
    if (node.is("prim::If")) {
      const auto* chosen = in.at(0).get<bool>();
      if (!chosen) unsupported("branches on what isn't known");
      return block(ir::IfView(node).block_if(*chosen), values);
    }
    if (node.is("prim::CallMethod")) {
      const auto* held = in.at(0).get<ir::ObjectConstant>();
      if (!held) unsupported("calls a method of what is no object");
      return call(context_.method(context_.program.objects.at(held->object).class_name, name_of(node)), in);
    }
    if (auto results = plain_operation(node, in)) return *results;
    if (const auto packed = packed_from_call(node.op(), in)) return {context_.add_packed(*packed)};
    unsupported("uses " + node.op());
  }

  const StateContext& context_;
  std::size_t steps_ = 0, depth_ = 0, parts_ = 0;
};

}  // namespace

void set_state(const StateContext& context, const std::string& class_name, std::uint32_t object, const Constant& state) {
  try {
    StateSetter(context).call(context.method(class_name, "__setstate__"), {{ir::ObjectConstant{object}}, state});
  } catch (const std::out_of_range&) {
    unsupported("fails on the saved state");
  }
}

}  // namespace compatcheck::frontend::native
