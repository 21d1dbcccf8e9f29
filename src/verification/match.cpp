#include "verification/match.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "onnx/model.h"

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
  Matching(const ir::Constants& found, const std::vector<std::string>& names) : found_(found), names_(names) {}

  Matched run(const ir::Constant& expected) {
    walk(expected);
    if (made_.mismatch.empty() && next_ != found_.size())
      made_.mismatch = "the ONNX model gives " + std::to_string(found_.size()) + " values, TorchScript " + std::to_string(next_);
    return std::move(made_);
  }

 private:
  void walk(const ir::Constant& expected) {
    if (!made_.mismatch.empty() || expected.is_none()) return;
    if (const auto* tuple = expected.get<ir::TupleConstant>()) {
      for (const auto& item : tuple->items) walk(item);
    } else if (const auto* dict = expected.get<ir::DictConstant>()) {
      if (is_named(*dict))
        by_name(*dict);
      else
        for (const auto& [key, item] : dict->items) walk(item);
    } else if (const auto* list = expected.get<ir::ListConstant>()) {
      if (next_ < found_.size() && found_[next_].get<ir::ListConstant>() && holds_values(*list))
        sequence(*list, *found_[next_].get<ir::ListConstant>(), names_[next_]), ++next_;
      else if (is_vector(*list))
        vector(expected), ++next_;
      else
        for (const auto& item : list->items) walk(item);
    } else if (next_ >= found_.size()) {
      made_.mismatch = "the ONNX model gives only " + std::to_string(found_.size()) + " values";
    } else {
      pair(expected, found_[next_], names_[next_]);
      ++next_;
    }
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
      walk(item);
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

Matched match(const ir::Constant& expected, const ir::Constants& found, const std::vector<std::string>& names) {
  return Matching(found, names).run(expected);
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

namespace {

void collect(const ir::Value* value, std::vector<const ir::Value*>& into) {
  const ir::Node* maker = value->producer();
  if (maker && maker->is("prim::ColumnsConstruct")) return collect(maker->input(0), into);
  const bool dict = maker && maker->is("prim::DictConstruct");
  if (!dict && !(maker && (maker->is("prim::ListConstruct") || maker->is("prim::TupleConstruct")))) return into.push_back(value);
  for (std::size_t i = dict ? 1 : 0; i < maker->inputs().size(); i += dict ? 2 : 1) collect(maker->input(i), into);
}

}  // namespace

std::vector<const ir::Value*> leaves_of(const ir::Graph& graph) {
  std::vector<const ir::Value*> leaves;
  for (const ir::Value* output : graph.outputs()) collect(output, leaves);
  std::erase_if(leaves, [](const ir::Value* leaf) { return ir::constant_of(leaf) && ir::constant_of(leaf)->is_none(); });
  return leaves;
}

std::vector<ir::TensorView> leaves_of(const ir::Constant& value) {
  std::vector<ir::TensorView> leaves;
  collect(value, leaves);
  return leaves;
}

}  // namespace compatcheck::verification
