#include "passes/tiny_machine.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
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
    if (node.is("aten::cat") || node.is("aten::stack")) return join(node);
    if (node.is("aten::add")) return join_lists(node);
    if (node.is("aten::slice")) return slice_list(node);
    Items& list = l(node, 0);
    if (node.is("aten::append"))
      list.push_back(in(node, 1)), give(node, in(node, 0));
    else if (node.is("aten::extend"))
      extend(list, Items(l(node, 1)));
    else if (node.is("aten::clear"))
      list.clear();
    else if (node.is("aten::insert"))
      list.insert(list.begin() + n(node, 1), in(node, 2));
    else if (node.is("aten::_set_item"))
      list[place(list, n(node, 1))] = in(node, 2), give(node, in(node, 0));
    else if (node.is("aten::__getitem__"))
      give(node, list[place(list, n(node, 1))]);
    else if (node.is("aten::len"))
      give(node, {std::ssize(list)});
    else if (node.is("aten::pop")) {
      const std::size_t at = place(list, n(node, 1));
      give(node, list[at]);
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
    } else
      return false;
    return true;
  }

  static void extend(Items& list, const Items& more) { list.insert(list.end(), more.begin(), more.end()); }

  bool join_lists(const ir::Node& node) {
    auto both = std::make_shared<Items>(l(node, 0));
    both->insert(both->end(), l(node, 1).begin(), l(node, 1).end());
    give(node, {both});
    return true;
  }

  bool slice_list(const ir::Node& node) {
    const Items& list = l(node, 0);
    const auto bound = [&](std::size_t i, std::int64_t missing) {
      const auto* number = std::get_if<std::int64_t>(&in(node, i).value);
      const std::int64_t at = number ? *number : missing;
      return std::clamp<std::int64_t>(at < 0 ? at + std::ssize(list) : at, 0, std::ssize(list));
    };
    const std::int64_t from = bound(1, 0), to = std::max(from, bound(2, std::ssize(list)));
    give(node, {std::make_shared<Items>(list.begin() + from, list.begin() + to)});
    return true;
  }

  // ---- Numbers

  bool run_number(const ir::Node& node) {
    if (node.inputs().empty()) return false;
    if (node.is("aten::__not__")) return give(node, {!std::get<bool>(in(node, 0).value)}), true;
    if (!std::holds_alternative<std::int64_t>(in(node, 0).value) || node.inputs().size() != 2) return false;
    const std::int64_t a = n(node, 0), b = n(node, 1);
    if (node.is("aten::add"))
      give(node, {a + b});
    else if (node.is("aten::mul"))
      give(node, {a * b});
    else if (node.is("aten::sub"))
      give(node, {a - b});
    else if (node.is("aten::floordiv"))
      give(node, {a / b - (a % b < 0 ? 1 : 0)});  // b is positive
    else if (node.is("aten::remainder"))
      give(node, {(a % b + b) % b});
    else if (node.is("prim::max"))
      give(node, {std::max(a, b)});
    else if (node.is("prim::min"))
      give(node, {std::min(a, b)});
    else if (node.is("aten::lt"))
      give(node, {a < b});
    else if (node.is("aten::eq"))
      give(node, {a == b});
    else
      return false;
    return true;
  }

  // ---- Tensors

  std::int64_t operand(const ir::Node& node, std::size_t i, std::size_t element) const {
    const Item& item = in(node, i);
    if (const auto* other = std::get_if<Tensor>(&item.value)) {
      if (other->size() <= element) throw std::runtime_error("sizes of " + node.op());
      return other->at(element);
    }
    return std::get<std::int64_t>(item.value);
  }

  using Element = std::int64_t (Machine::*)(const ir::Node&, std::int64_t, std::size_t) const;
  std::int64_t neg(const ir::Node&, std::int64_t x, std::size_t) const { return wrap(0 - static_cast<std::uint64_t>(x)); }
  std::int64_t relu(const ir::Node&, std::int64_t x, std::size_t) const { return x < 0x7fff ? x : 0; }
  std::int64_t zero(const ir::Node&, std::int64_t, std::size_t) const { return 0; }
  std::int64_t copy(const ir::Node& node, std::int64_t, std::size_t i) const { return operand(node, 1, i); }
  std::int64_t add(const ir::Node& node, std::int64_t x, std::size_t i) const {
    return wrap(static_cast<std::uint64_t>(x + operand(node, 1, i)));
  }
  std::int64_t mul(const ir::Node& node, std::int64_t x, std::size_t i) const {
    return wrap(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(operand(node, 1, i)));
  }

  bool run_tensor(const ir::Node& node) {
    static const std::map<std::string, Element> elementwise = {
        {"aten::neg", &Machine::neg},         {"aten::relu", &Machine::relu},      {"aten::zero", &Machine::zero},
        {"aten::add", &Machine::add},         {"aten::mul", &Machine::mul},        {"aten::copy", &Machine::copy},
        {"aten::zeros_like", &Machine::zero}, {"aten::full_like", &Machine::copy}, {"aten::fill", &Machine::copy}};
    if (node.inputs().empty() || !std::holds_alternative<Tensor>(in(node, 0).value)) return false;
    const Tensor x = t(node, 0);
    std::string op = node.op();
    const bool writes = op.ends_with('_');
    if (writes) op.pop_back();
    if (const auto at = elementwise.find(op); at != elementwise.end()) {
      std::vector<std::int64_t> results;
      for (std::size_t i = 0; i < x.size(); ++i) results.push_back((this->*at->second)(node, x.at(i), i));
      if (writes)
        for (std::size_t i = 0; i < x.size(); ++i) x.at(i) = results[i];
      give(node, writes ? in(node, 0) : tensor(results, x.sizes));
      return true;
    }
    if (node.is("aten::size")) return give(node, {static_cast<std::int64_t>(x.sizes[wrapped(n(node, 1), x.sizes.size())])}), true;
    if (node.is("aten::clone")) return give(node, {copied(x)}), true;
    if (node.is("aten::contiguous")) return give(node, {x.contiguous() ? x : copied(x)}), true;
    if (node.is("aten::chunk") || node.is("aten::unbind")) return give(node, split(node, x)), true;
    if (op.ends_with("_scatter")) {
      const Tensor whole = copied(x);
      const auto part = view_of(node, op.substr(0, op.size() - 8), whole, 2);
      assign(part.value(), t(node, 1));
      return give(node, {whole}), true;
    }
    const auto view = view_of(node, op, x, 1);
    if (view) give(node, {*view});
    return view.has_value();
  }

  static void assign(const Tensor& to, const Tensor& from) {
    if (to.sizes != from.sizes) throw std::runtime_error("sizes of what is put back");
    for (std::size_t i = 0; i < to.size(); ++i) to.at(i) = from.at(i);
  }

  static Tensor copied(const Tensor& x) {
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < x.size(); ++i) values.push_back(x.at(i));
    return std::get<Tensor>(tensor(values, x.sizes).value);
  }

  static std::size_t wrapped(std::int64_t index, std::size_t size) {
    const std::int64_t at = index < 0 ? index + static_cast<std::int64_t>(size) : index;
    if (at < 0 || at >= static_cast<std::int64_t>(size)) throw std::runtime_error("no such dimension or index");
    return static_cast<std::size_t>(at);
  }

  static Tensor selected(Tensor x, std::size_t dim, std::size_t index) {
    x.offset += index * x.strides[dim];
    x.sizes.erase(x.sizes.begin() + static_cast<std::ptrdiff_t>(dim));
    x.strides.erase(x.strides.begin() + static_cast<std::ptrdiff_t>(dim));
    return x;
  }

  static Tensor sliced(Tensor x, std::size_t dim, std::size_t from, std::size_t to, std::size_t step) {
    x.offset += from * x.strides[dim];
    x.sizes[dim] = to > from ? (to - from + step - 1) / step : 0;
    x.strides[dim] *= step;
    return x;
  }

  static Tensor swapped(Tensor x, std::size_t a, std::size_t b) {
    std::swap(x.sizes[a], x.sizes[b]);
    std::swap(x.strides[a], x.strides[b]);
    return x;
  }

  // In other sizes: a view if the elements lie as they are read, else a copy.
  static Tensor reshaped(const Tensor& x, const Tensor& like) {
    Tensor result = x.contiguous() ? x : copied(x);
    const Tensor fresh = std::get<Tensor>(tensor(std::vector<std::int64_t>(like.size()), like.sizes).value);
    if (fresh.size() != x.size()) throw std::runtime_error("reshape to another size");
    result.sizes = fresh.sizes;
    result.strides = fresh.strides;
    return result;
  }

  // The view that `op` makes with the node's inputs from `first` on; nothing if it is no view.
  std::optional<Tensor> view_of(const ir::Node& node, const std::string& op, const Tensor& x, std::size_t first) const {
    const auto dim = [&](std::size_t i, std::size_t more = 0) { return wrapped(n(node, first + i), x.sizes.size() + more); };
    if (op == "aten::dropout" || op == "aten::detach" || op == "aten::type_as" || op == "aten::expand_as") return x;
    if (op == "aten::select") return selected(x, dim(0), wrapped(n(node, first + 1), x.sizes[dim(0)]));
    if (op == "aten::slice") {
      const auto end = std::min<std::int64_t>(n(node, first + 2), static_cast<std::int64_t>(x.sizes[dim(0)]));
      return sliced(x, dim(0), static_cast<std::size_t>(n(node, first + 1)), static_cast<std::size_t>(end),
                    static_cast<std::size_t>(n(node, first + 3)));
    }
    if (op == "aten::narrow") {
      const auto start = wrapped(n(node, first + 1), x.sizes[dim(0)] + 1);
      return sliced(x, dim(0), start, start + static_cast<std::size_t>(n(node, first + 2)), 1);
    }
    if (op == "aten::transpose") return swapped(x, dim(0), dim(1));
    if (op == "aten::t") return x.sizes.size() < 2 ? x : swapped(x, 0, 1);
    if (op == "aten::unsqueeze") {
      Tensor view = x;
      const auto at = static_cast<std::ptrdiff_t>(dim(0, 1));
      view.sizes.insert(view.sizes.begin() + at, 1);
      view.strides.insert(view.strides.begin() + at, 1);
      return view;
    }
    if (op == "aten::squeeze") return x.sizes[dim(0)] == 1 ? selected(x, dim(0), 0) : x;
    if (op == "aten::diagonal") {
      Tensor view = x;
      view.sizes = {std::min(x.sizes[0], x.sizes[1])};
      view.strides = {x.strides[0] + x.strides[1]};
      return view;
    }
    if (op == "aten::reshape_as") return reshaped(x, t(node, first));
    if (op == "aten::view_as") {
      if (!x.contiguous() && x.sizes != t(node, first).sizes) throw std::runtime_error("no view of such strides");
      return x.contiguous() ? reshaped(x, t(node, first)) : x;
    }
    return std::nullopt;
  }

  Item split(const ir::Node& node, const Tensor& x) const {
    const bool unbound = node.is("aten::unbind");
    const std::size_t dim = wrapped(n(node, unbound ? 1 : 2), x.sizes.size());
    auto parts = std::make_shared<Items>();
    for (std::size_t i = 0; i < x.sizes[dim]; ++i)  // chunks of one
      parts->push_back({unbound ? selected(x, dim, i) : sliced(x, dim, i, i + 1, 1)});
    return {parts};
  }

  // cat and stack of parts of size one.
  bool join(const ir::Node& node) {
    const Items& parts = l(node, 0);
    const Tensor first = std::get<Tensor>(parts.at(0).value);
    const bool stacked = node.is("aten::stack");
    std::vector<std::size_t> sizes = first.sizes;
    const std::size_t dim = wrapped(n(node, 1), sizes.size() + (stacked ? 1 : 0));
    if (stacked) sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim), 0);
    sizes[dim] = parts.size();
    std::size_t count = 1;
    for (std::size_t size : sizes) count *= size;
    const Tensor whole = std::get<Tensor>(tensor(std::vector<std::int64_t>(count), sizes).value);
    for (std::size_t i = 0; i < parts.size(); ++i)
      assign(stacked ? selected(whole, dim, i) : sliced(whole, dim, i, i + 1, 1), std::get<Tensor>(parts[i].value));
    give(node, {whole});
    return true;
  }

  std::unordered_map<const ir::Value*, Item> values_;
};

}  // namespace

std::size_t Tensor::size() const {
  std::size_t count = 1;
  for (std::size_t size : sizes) count *= size;
  return count;
}

bool Tensor::contiguous() const {
  std::size_t next = 1;
  for (std::size_t d = sizes.size(); d-- > 0; next *= sizes[d])
    if (sizes[d] != 1 && strides[d] != next) return false;
  return true;
}

std::int64_t& Tensor::at(std::size_t i) const {
  std::size_t place = offset;
  for (std::size_t d = sizes.size(); d-- > 0; i /= sizes[d]) place += i % sizes[d] * strides[d];
  return storage->at(place);
}

Item tensor(const std::vector<std::int64_t>& values, std::vector<std::size_t> sizes) {
  std::vector<std::size_t> strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return {Tensor{std::make_shared<std::vector<std::int64_t>>(values), 0, std::move(sizes), std::move(strides)}};
}

Items run(const ir::Graph& graph, const Items& inputs) { return Machine().block(*graph.top(), inputs); }

std::string show(const Items& items) {
  std::string text = "[";
  for (const Item& item : items) {
    if (const auto* number = std::get_if<std::int64_t>(&item.value))
      text += std::to_string(*number);
    else if (const auto* flag = std::get_if<bool>(&item.value))
      text += *flag ? "true" : "false";
    else if (const auto* list = std::get_if<std::shared_ptr<Items>>(&item.value))
      text += show(**list);
    else if (const auto* view = std::get_if<Tensor>(&item.value)) {
      text += "t(";
      for (std::size_t i = 0; i < view->size(); ++i) text += (i ? " " : "") + std::to_string(view->at(i));
      text += ")";
    }
    text += " ";
  }
  return text + "]";
}

}  // namespace compatcheck::passes::tiny
