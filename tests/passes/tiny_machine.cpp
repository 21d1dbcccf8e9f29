#include "passes/tiny_machine.h"

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <unordered_map>

namespace compatcheck::passes::tiny {
namespace {

std::int64_t wrap(std::uint64_t bits) { return static_cast<std::int64_t>(bits & 0xffff); }

class Machine {
 public:
  Items block(const ir::Block& block, const Items& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) values_[block.inputs()[i]] = inputs[i];
    for (const ir::Node* node : block) run(*node);
    Items outputs;
    for (const ir::Value* output : block.outputs()) outputs.push_back(values_.at(output));
    return outputs;
  }

 private:
  const Item& in(const ir::Node& node, std::size_t i) const { return values_.at(node.input(i)); }
  Tensor t(const ir::Node& node, std::size_t i) const { return std::get<Tensor>(in(node, i).value); }
  std::int64_t n(const ir::Node& node, std::size_t i) const { return std::get<std::int64_t>(in(node, i).value); }
  Items& l(const ir::Node& node, std::size_t i) const { return *std::get<std::shared_ptr<Items>>(in(node, i).value); }
  void give(const ir::Node& node, Item item, std::size_t i = 0) { values_[node.output(i)] = std::move(item); }

  void run(const ir::Node& node) {
    if (node.is("prim::If")) return give_all(node, block(*node.blocks()[std::get<bool>(in(node, 0).value) ? 0 : 1], {}));
    if (node.is("prim::Loop")) return loop(node);
    if (node.is("prim::Constant")) return give(node, constant(*ir::constant_of(node.output())));
    if (node.is("prim::ListConstruct") || node.is("prim::TupleConstruct")) {
      auto items = std::make_shared<Items>();
      for (std::size_t i = 0; i < node.inputs().size(); ++i) items->push_back(in(node, i));
      return give(node, {items});
    }
    if (node.is("prim::ListUnpack") || node.is("prim::TupleUnpack")) return give_all(node, l(node, 0));
    if (run_list(node) || run_number(node) || run_tensor(node)) return;
    throw std::runtime_error("no such operator here: " + node.op());
  }

  void give_all(const ir::Node& node, const Items& items) {
    if (items.size() != node.outputs().size()) throw std::runtime_error("arity of " + node.op());
    for (std::size_t i = 0; i < items.size(); ++i) give(node, items[i], i);
  }

  void loop(const ir::Node& node) {
    bool go_on = std::get<bool>(in(node, 1).value);
    const std::int64_t most = n(node, 0);
    Items carried;
    for (std::size_t i = 2; i < node.inputs().size(); ++i) carried.push_back(in(node, i));
    for (std::int64_t turn = 0; go_on && turn < most; ++turn) {
      carried.insert(carried.begin(), {turn});
      carried = block(*node.blocks()[0], carried);
      go_on = std::get<bool>(carried[0].value);
      carried.erase(carried.begin());
    }
    give_all(node, carried);
  }

  static Item constant(const ir::Constant& value) {
    if (const auto* number = value.get<std::int64_t>()) return {*number};
    if (const auto* flag = value.get<bool>()) return {*flag};
    if (const auto* number = value.get<double>()) return {*number};
    if (const auto* list = value.get<ir::ListConstant>()) {
      auto items = std::make_shared<Items>();
      for (const ir::Constant& item : list->items) items->push_back(constant(item));
      return {items};
    }
    return {};
  }

  // ---- Lists

  static std::size_t place(const Items& items, std::int64_t index) {
    const std::int64_t at = index < 0 ? index + std::ssize(items) : index;
    if (at < 0 || at >= std::ssize(items)) throw std::runtime_error("list index out of range");
    return static_cast<std::size_t>(at);
  }

  bool run_list(const ir::Node& node) {
    if (node.inputs().empty() || !std::holds_alternative<std::shared_ptr<Items>>(in(node, 0).value)) return false;
    Items& list = l(node, 0);
    if (node.is("aten::append")) list.push_back(in(node, 1)), give(node, in(node, 0));
    else if (node.is("aten::insert")) list.insert(list.begin() + n(node, 1), in(node, 2));
    else if (node.is("aten::_set_item")) list[place(list, n(node, 1))] = in(node, 2), give(node, in(node, 0));
    else if (node.is("aten::__getitem__")) give(node, list[place(list, n(node, 1))]);
    else if (node.is("aten::len")) give(node, {std::ssize(list)});
    else if (node.is("aten::pop")) {
      const std::size_t at = place(list, n(node, 1));
      give(node, list[at]);
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
    } else return false;
    return true;
  }

  // ---- Numbers

  bool run_number(const ir::Node& node) {
    if (node.inputs().empty()) return false;
    if (node.is("aten::__not__")) return give(node, {!std::get<bool>(in(node, 0).value)}), true;
    if (!std::holds_alternative<std::int64_t>(in(node, 0).value) || node.inputs().size() != 2) return false;
    const std::int64_t a = n(node, 0), b = n(node, 1);
    if (node.is("aten::add")) give(node, {a + b});
    else if (node.is("aten::mul")) give(node, {a * b});
    else if (node.is("aten::lt")) give(node, {a < b});
    else if (node.is("aten::eq")) give(node, {a == b});
    else return false;
    return true;
  }

  // ---- Tensors

  std::int64_t operand(const ir::Node& node, std::size_t i, std::size_t element) const {
    const Item& item = in(node, i);
    if (const auto* other = std::get_if<Tensor>(&item.value)) {
      if (other->size <= element) throw std::runtime_error("sizes of " + node.op());
      return other->at(element);
    }
    return std::get<std::int64_t>(item.value);
  }

  using Element = std::int64_t (Machine::*)(const ir::Node&, std::int64_t, std::size_t) const;
  std::int64_t neg(const ir::Node&, std::int64_t x, std::size_t) const { return wrap(0 - static_cast<std::uint64_t>(x)); }
  std::int64_t relu(const ir::Node&, std::int64_t x, std::size_t) const { return x < 0x7fff ? x : 0; }
  std::int64_t zero(const ir::Node&, std::int64_t, std::size_t) const { return 0; }
  std::int64_t copy(const ir::Node& node, std::int64_t, std::size_t i) const { return operand(node, 1, i); }
  std::int64_t add(const ir::Node& node, std::int64_t x, std::size_t i) const { return wrap(static_cast<std::uint64_t>(x + operand(node, 1, i))); }
  std::int64_t mul(const ir::Node& node, std::int64_t x, std::size_t i) const { return wrap(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(operand(node, 1, i))); }

  bool run_tensor(const ir::Node& node) {
    static const std::map<std::string, Element> elementwise = {
        {"aten::neg", &Machine::neg}, {"aten::relu", &Machine::relu}, {"aten::zero", &Machine::zero},
        {"aten::add", &Machine::add}, {"aten::mul", &Machine::mul}, {"aten::copy", &Machine::copy},
        {"aten::zeros_like", &Machine::zero}, {"aten::full_like", &Machine::copy}, {"aten::fill", &Machine::copy}};
    if (node.inputs().empty() || !std::holds_alternative<Tensor>(in(node, 0).value)) return false;
    const Tensor x = t(node, 0);
    std::string op = node.op();
    const bool writes = op.ends_with('_');
    if (writes) op.pop_back();
    if (const auto at = elementwise.find(op); at != elementwise.end()) {
      std::vector<std::int64_t> results;
      for (std::size_t i = 0; i < x.size; ++i) results.push_back((this->*at->second)(node, x.at(i), i));
      if (writes)
        for (std::size_t i = 0; i < x.size; ++i) x.at(i) = results[i];
      give(node, writes ? in(node, 0) : tensor(results));
      return true;
    }
    return run_view(node, x);
  }

  bool run_view(const ir::Node& node, const Tensor& x) {
    if (node.is("aten::view_as") || node.is("aten::contiguous") || node.is("aten::dropout") || node.is("aten::type_as") ||
        node.is("aten::expand_as")) {
      give(node, in(node, 0));
    } else if (node.is("aten::clone")) {
      std::vector<std::int64_t> copy;
      for (std::size_t i = 0; i < x.size; ++i) copy.push_back(x.at(i));
      give(node, tensor(copy));
    } else if (node.is("aten::slice")) {
      const auto from = static_cast<std::size_t>(n(node, 2));
      const auto to = static_cast<std::size_t>(n(node, 3));
      give(node, {Tensor{x.storage, x.offset + from, to - from}});
    } else if (node.is("aten::chunk")) {
      const std::size_t half = x.size / 2;
      auto parts = std::make_shared<Items>();
      parts->push_back({Tensor{x.storage, x.offset, half}});
      parts->push_back({Tensor{x.storage, x.offset + half, x.size - half}});
      give(node, {parts});
    } else {
      return false;
    }
    return true;
  }

  std::unordered_map<const ir::Value*, Item> values_;
};

}  // namespace

Item tensor(const std::vector<std::int64_t>& values) {
  return {Tensor{std::make_shared<std::vector<std::int64_t>>(values), 0, values.size()}};
}

Items run(const ir::Graph& graph, const Items& inputs) { return Machine().block(*graph.top(), inputs); }

std::string show(const Items& items) {
  std::string text = "[";
  for (const Item& item : items) {
    if (const auto* number = std::get_if<std::int64_t>(&item.value)) text += std::to_string(*number);
    else if (const auto* flag = std::get_if<bool>(&item.value)) text += *flag ? "true" : "false";
    else if (const auto* list = std::get_if<std::shared_ptr<Items>>(&item.value)) text += show(**list);
    else if (const auto* view = std::get_if<Tensor>(&item.value)) {
      text += "t(";
      for (std::size_t i = 0; i < view->size; ++i) text += (i ? " " : "") + std::to_string(view->at(i));
      text += ")";
    }
    text += " ";
  }
  return text + "]";
}

}  // namespace compatcheck::passes::tiny
