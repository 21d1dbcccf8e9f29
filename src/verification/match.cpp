#include "verification/match.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "onnx/model.h"
#include "process/spell_count.h"

namespace compatcheck::verification {
namespace {

ir::TensorView carrying(const onnx::TensorData& data) {
  auto storage = std::make_shared<ir::Storage>();
  storage->data = data.bytes;
  storage->bytes = data.bytes.size();
  return {.dtype = data.dtype,
          .sizes = data.dims,
          .strides = std::vector<std::int64_t>(data.dims.size(), 1),
          .storage = std::move(storage),
          .quantizer = nullptr};
}

void collect(const ir::Value* value, std::vector<const ir::Value*>& into) {
  const ir::Node* maker = value->producer();
  if (maker && maker->is("prim::ColumnsConstruct")) return collect(maker->input(0), into);
  if (maker && maker->is("prim::OptionalConstruct")) return collect(maker->input(1), into);
  const bool dict = maker && maker->is("prim::DictConstruct");
  if (!dict && !(maker && (maker->is("prim::ListConstruct") || maker->is("prim::TupleConstruct")))) return into.push_back(value);
  for (std::size_t i = dict ? 1 : 0; i < maker->inputs().size(); i += dict ? 2 : 1) collect(maker->input(i), into);
}

std::vector<const ir::Value*> leaves_in(const ir::Value* value) {
  std::vector<const ir::Value*> leaves;
  collect(value, leaves);
  std::erase_if(leaves, [](const ir::Value* leaf) { return ir::constant_of(leaf) && ir::constant_of(leaf)->is_none(); });
  return leaves;
}

struct GivenNumbers {
  std::vector<double> floats;
  std::vector<std::int64_t> ints;
  ir::DType dtype = ir::DType::i64;  // dtype of Python's numbers

  bool add(const ir::Constant& value) {
    if (const auto* integer = value.get<std::int64_t>())
      return ints.push_back(*integer), floats.push_back(static_cast<double>(*integer)), true;
    if (const auto* boolean = value.get<bool>())
      return ints.push_back(*boolean), floats.push_back(*boolean), dtype = ir::DType::boolean, true;
    if (const auto* floating = value.get<double>())
      return ints.push_back(0), floats.push_back(*floating), dtype = ir::DType::f64, true;
    return false;
  }

  ir::TensorView tensor(std::vector<std::int64_t> dims, std::optional<ir::DType> beside) const {
    const bool floating = ir::is_floating(dtype);
    const ir::DType made = beside && ir::is_floating(*beside) == floating &&
                                   (floating || *beside != ir::DType::boolean || dtype == ir::DType::boolean)
                               ? *beside
                               : dtype;
    return carrying(floating ? onnx::make_tensor(made, std::move(dims), floats) : onnx::make_tensor(made, std::move(dims), ints));
  }
};

class Matching {
 public:
  Matching(const ir::Constants& found, const std::vector<std::string>& names, const OutputForms& forms)
      : found_(found), names_(names), forms_(forms) {}

  Matched run(const ir::Constant& expected) {
    const auto outputs = forms_.graph.outputs();
    if (outputs.size() == 1)
      walk(expected, outputs.front());
    else if (const auto* all = expected.get<ir::TupleConstant>(); all && all->items.size() == outputs.size())
      for (std::size_t i = 0; i < outputs.size(); ++i) walk(all->items[i], outputs[i]);
    else
      walk(expected, nullptr);
    if (made_.mismatch.empty() && next_ != found_.size())
      made_.mismatch = "the ONNX model gives " + spell_count(found_.size(), "value") + ", TorchScript " + std::to_string(next_);
    return std::move(made_);
  }

 private:
  // `value`: of the graph, null where it isn't known.
  void walk(const ir::Constant& expected, const ir::Value* value) {
    if (!made_.mismatch.empty()) return;
    const ir::Node* maker = value ? value->producer() : nullptr;
    if (maker && maker->is("prim::OptionalConstruct"))
      return expected.is_none() ? nones(maker->input(1)) : walk(expected, maker->input(1));
    if (expected.is_none()) return;
    if (const auto* tuple = expected.get<ir::TupleConstant>()) {
      members(tuple->items, maker);
    } else if (const auto* dict = expected.get<ir::DictConstant>()) {
      if (is_named(*dict)) return by_name(*dict);
      const bool made = maker && maker->is("prim::DictConstruct") && maker->inputs().size() == 2 * dict->items.size();
      for (std::size_t i = 0; i < dict->items.size(); ++i) walk(dict->items[i].second, made ? maker->input(2 * i + 1) : nullptr);
    } else if (const auto* list = expected.get<ir::ListConstant>()) {
      if (next_ < found_.size() && found_[next_].get<ir::ListConstant>() && holds_values(*list))
        sequence(*list, *found_[next_].get<ir::ListConstant>(), names_[next_]), ++next_;
      else if (is_vector(*list))
        vector(expected), ++next_;
      else if (list->items.empty() && next_ < found_.size() && found_[next_].is_none())
        lacks(names_[next_]);
      else
        members(list->items, maker);
    } else if (next_ >= found_.size()) {
      has_too_few();
    } else {
      pair(expected, found_[next_], names_[next_]);
      ++next_;
    }
  }

  void members(const ir::Constants& items, const ir::Node* maker) {
    const bool made = maker && (maker->is("prim::TupleConstruct") || maker->is("prim::ListConstruct")) &&
                      maker->inputs().size() == items.size();
    for (std::size_t i = 0; i < items.size(); ++i) walk(items[i], made ? maker->input(i) : nullptr);
  }

  // Each output that `value` would be is None.
  void nones(const ir::Value* value) {
    for (std::size_t left = outputs_of(value); left > 0 && made_.mismatch.empty(); --left, ++next_) {
      if (next_ >= found_.size()) return has_too_few();
      if (!found_[next_].is_none())
        made_.nones_differ = true, made_.mismatch = "output '" + names_[next_] + "' has a value, TorchScript's is None";
      else
        made_.pairs.push_back({.name = names_[next_], .expected = {}, .found = {}, .none = true});
    }
  }

  std::size_t outputs_of(const ir::Value* value) const {
    std::size_t count = 0;
    for (const ir::Value* leaf : leaves_in(value)) count += outputs_of(forms_.facts.of(leaf));
    return count;
  }

  // A list of known length is one output for each member.
  static std::size_t outputs_of(const symbolic::Fact& fact) {
    if (fact.is_none()) return 0;
    const symbolic::ListFact* list = fact.list();
    if (!list || !list->items) return 1;
    std::size_t count = 0;
    for (const symbolic::Fact& item : *list->items) count += outputs_of(item);
    return count;
  }

  void has_too_few() { made_.mismatch = "the ONNX model gives only " + spell_count(found_.size(), "value"); }
  void lacks(const std::string& name) {
    made_.nones_differ = true;
    made_.mismatch = "output '" + name + "' is None, TorchScript's isn't";
  }

  // Each key is the name of one of the next outputs, in whatever order another exporter wrote them.
  bool is_named(const ir::DictConstant& expected) const {
    if (expected.items.size() > found_.size() - next_) return false;
    std::set<std::string> keys;
    for (const auto& [key, item] : expected.items)
      if (const auto* text = key.get<std::string>(); text && as_tensor(item, {}) && !item.get<ir::ListConstant>())
        keys.insert(*text);
    const auto first = names_.begin() + static_cast<std::ptrdiff_t>(next_);
    return keys == std::set<std::string>(first, first + std::ssize(expected.items)) && keys.size() == expected.items.size();
  }

  void by_name(const ir::DictConstant& expected) {
    const std::size_t first = next_;
    for (const auto& [key, item] : expected.items) {
      next_ = static_cast<std::size_t>(
          std::ranges::find(names_.begin() + static_cast<std::ptrdiff_t>(first), names_.end(), *key.get<std::string>()) -
          names_.begin());
      walk(item, nullptr);
    }
    next_ = first + expected.items.size();
  }

  // A list of lists is flattened: its members are outputs.
  static bool holds_values(const ir::ListConstant& expected) {
    return std::ranges::none_of(expected.items, [](const ir::Constant& item) {
      return item.get<ir::ListConstant>() || item.get<ir::TupleConstant>() || item.get<ir::DictConstant>();
    });
  }

  // A list of numbers of unknown length is one output.
  bool is_vector(const ir::ListConstant& expected) const {
    const auto* found = next_ < found_.size() ? found_[next_].get<ir::TensorView>() : nullptr;
    const ir::TypeRef& element = expected.element;
    const bool numbers = !element || ir::is(element, ir::TypeKind::integer) || ir::is(element, ir::TypeKind::floating) ||
                         ir::is(element, ir::TypeKind::boolean);
    if (expected.items.empty()) return numbers && found && found->sizes == std::vector<std::int64_t>{0};
    return found && found->sizes.size() == 1 && std::ranges::all_of(expected.items, [](const ir::Constant& item) {
             return item.get<std::int64_t>() || item.get<double>() || item.get<bool>();
           });
  }

  void vector(const ir::Constant& expected) {
    const auto& found = *found_[next_].get<ir::TensorView>();
    made_.pairs.push_back({names_[next_], *as_tensor(expected, found.dtype), found});
  }

  void sequence(const ir::ListConstant& expected, const ir::ListConstant& found, const std::string& name) {
    if (expected.items.size() != found.items.size()) {
      made_.mismatch = "output '" + name + "' is a sequence of " + std::to_string(found.items.size()) +
                       ", TorchScript's list has " + std::to_string(expected.items.size());
      return;
    }
    for (std::size_t i = 0; i < expected.items.size(); ++i)
      pair(expected.items[i], found.items[i], name + "." + std::to_string(i));
  }

  void pair(const ir::Constant& expected, const ir::Constant& found, const std::string& name) {
    if (found.is_none()) return lacks(name);
    const auto right = as_tensor(found, {});
    const auto left = number_or_tensor(expected, right ? std::optional(right->dtype) : std::nullopt);
    if (left && right)
      made_.pairs.push_back({name, *left, *right});
    else
      made_.mismatch =
          "output '" + name + "' is " + (right ? "a tensor" : "no tensor") + ", TorchScript's is " + (left ? "one" : "none");
  }

  // A list of numbers isn't one value here: its members are paired one by one.
  static std::optional<ir::TensorView> number_or_tensor(const ir::Constant& value, std::optional<ir::DType> beside) {
    return value.get<ir::ListConstant>() ? std::nullopt : as_tensor(value, beside);
  }

  const ir::Constants& found_;
  const std::vector<std::string>& names_;
  const OutputForms& forms_;
  std::size_t next_ = 0;
  Matched made_;
};

void collect(const ir::Constant& value, std::vector<ir::TensorView>& into) {
  if (const auto* tuple = value.get<ir::TupleConstant>())
    for (const auto& item : tuple->items) collect(item, into);
  else if (const auto* list = value.get<ir::ListConstant>())
    for (const auto& item : list->items) collect(item, into);
  else if (const auto* dict = value.get<ir::DictConstant>())
    for (const auto& [key, item] : dict->items) collect(item, into);
  else if (auto tensor = as_tensor(value, {}))
    into.push_back(std::move(*tensor));
}

}  // namespace

Matched match(const ir::Constant& expected, const ir::Constants& found, const std::vector<std::string>& names,
              const OutputForms& forms) {
  return Matching(found, names, forms).run(expected);
}

std::optional<ir::TensorView> as_tensor(const ir::Constant& value, std::optional<ir::DType> beside) {
  if (const auto* view = value.get<ir::TensorView>()) return *view;
  GivenNumbers numbers;
  if (numbers.add(value)) return numbers.tensor({}, beside);
  const auto* list = value.get<ir::ListConstant>();
  if (!list) return std::nullopt;
  if (list->items.empty() && beside) numbers.dtype = *beside;
  for (const ir::Constant& item : list->items)
    if (!numbers.add(item)) return std::nullopt;
  return numbers.tensor({static_cast<std::int64_t>(list->items.size())}, beside);
}

ir::Constant like(const ir::Constant& number, const ir::Constant& value) {
  const auto* view = value.get<ir::TensorView>();
  if (!view || number.get<ir::TensorView>() || !view->storage) return value;
  const auto read = [&](auto made) {
    if (view->storage->data.size() != sizeof made) return value;
    std::memcpy(&made, view->storage->data.data(), sizeof made);
    return ir::Constant{made};
  };
  if (number.get<bool>() && view->dtype == ir::DType::boolean) return {view->storage->data.at(0) != 0};
  if (number.get<std::int64_t>() && view->dtype == ir::DType::i64) return read(std::int64_t{});
  if (number.get<double>() && view->dtype == ir::DType::f64) return read(double{});
  return value;
}

std::vector<const ir::Value*> leaves_of(const ir::Graph& graph) {
  std::vector<const ir::Value*> leaves;
  for (const ir::Value* output : graph.outputs()) {
    const auto more = leaves_in(output);
    leaves.insert(leaves.end(), more.begin(), more.end());
  }
  return leaves;
}

std::vector<ir::TensorView> leaves_of(const ir::Constant& value) {
  std::vector<ir::TensorView> leaves;
  collect(value, leaves);
  return leaves;
}

}  // namespace compatcheck::verification
