#include "analysis/example_inputs.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/input_spec.h"
#include "compatcheck/error.h"
#include "examples/examples.h"
#include "ir/literal.h"
#include "ir/tensor_literal.h"
#include "ir/value_name.h"
#include "process/spell_count.h"

namespace compatcheck::analysis {
namespace {

using ir::TypeKind;

std::string name_of_kind(const ir::Constant& value) {
  if (value.is_none()) return "None";
  if (value.get<ir::TensorView>()) return "a tensor";
  if (value.get<ir::ListConstant>()) return "a list";
  if (value.get<ir::TupleConstant>()) return "a tuple";
  if (value.get<ir::DictConstant>()) return "a dict";
  if (value.get<std::string>()) return "a string";
  if (value.get<ir::DeviceConstant>()) return "a device";
  const std::string text = ir::write_literal(value, nullptr);
  return (value.get<bool>()     ? "the bool "
          : value.get<double>() ? "the float "
                                : "the int ") +
         (text.ends_with('.') ? text + "0" : text);
}

const ir::Constants* members(const ir::Constant& value) {
  if (const auto* list = value.get<ir::ListConstant>()) return &list->items;
  const auto* tuple = value.get<ir::TupleConstant>();
  return tuple ? &tuple->items : nullptr;
}

bool is_number_constant(const ir::Constant& value) {
  return value.get<bool>() || value.get<double>() || value.get<std::int64_t>();
}

// Returns the fact of a list of numbers: their count.
symbolic::Fact fact_of_example(const ir::ListConstant& numbers) {
  using Kind = symbolic::NumberFact::Kind;
  symbolic::ListFact list{.items = std::vector<symbolic::Fact>{}};
  for (const ir::Constant& item : numbers.items)
    list.items->push_back({.value = symbolic::NumberFact{.kind = item.get<bool>()     ? Kind::boolean
                                                                 : item.get<double>() ? Kind::floating
                                                                                      : Kind::integer}});
  return {.value = std::move(list)};
}

symbolic::Fact fact_of_example(const ir::TensorView& view) {
  symbolic::TensorFact tensor{.dtype = view.dtype, .shape = symbolic::Shape{}, .quantizer = view.quantizer};
  for (const std::int64_t size : view.sizes) tensor.shape->push_back(symbolic::Dim(size));
  return {.value = std::move(tensor)};
}

// Returns the number that TorchScript makes of a tensor without dimensions for an int, float or bool; nullopt without its
// element.
std::optional<ir::Constant> scalar_of(const ir::TensorView& tensor, TypeKind kind) {
  const auto elements = ir::elements_of(tensor);
  if (!elements || elements->size() != 1) return std::nullopt;
  const long double number = elements->front().real();
  const bool whole = kind == TypeKind::integer || (kind == TypeKind::number && !ir::is_floating(tensor.dtype));
  if (kind == TypeKind::boolean) return ir::Constant{number != 0};
  if (!whole) return ir::Constant{static_cast<double>(number)};
  constexpr long double most = 9.2e18L;
  return std::fabs(number) < most ? std::optional(ir::Constant{static_cast<std::int64_t>(number)}) : std::nullopt;
}

bool stands_for_number(const ir::TypeRef& type) { return ir::is_number(type) || ir::is(type, TypeKind::number); }

bool is_scalar_tensor(const ir::Constant& value) {
  const auto* tensor = value.get<ir::TensorView>();
  return tensor && tensor->sizes.empty();
}

// Returns the member of a Union that such a value is; the type itself if it is no Union, or if none fits.
const ir::TypeRef& member_for(const ir::TypeRef& type, const ir::Constant& value) {
  if (!ir::is(type, TypeKind::union_of)) return type;
  const auto fits = [&](const ir::TypeRef& member) {
    const ir::TypeRef& held = ir::without_optional(member);
    if (value.is_none()) return ir::is(member, TypeKind::none) || held != member;
    if (value.get<ir::TensorView>()) return ir::is(held, TypeKind::tensor);
    if (value.get<ir::DictConstant>()) return ir::is(held, TypeKind::dict);
    if (value.get<bool>()) return ir::is(held, TypeKind::boolean);
    if (value.get<double>()) return ir::is(held, TypeKind::floating);
    if (value.get<std::int64_t>()) return ir::is(held, TypeKind::integer);
    if (value.get<std::string>()) return ir::is(held, TypeKind::string);
    const auto* all = members(value);
    if (all && ir::is(held, TypeKind::tuple)) return held->elements.size() == all->size();
    return all && ir::is(held, TypeKind::list) && (all->empty() || member_for(held->elements[0], all->front()) != nullptr) &&
           (all->empty() || (all->front().get<ir::TensorView>() != nullptr) == ir::is(held->elements[0], TypeKind::tensor));
  };
  const auto found = std::ranges::find_if(type->elements, fits);
  return found == type->elements.end() ? type : *found;
}

struct Matched {
  std::vector<ExampleLeaf> leaves;
  std::vector<std::string> empty_dicts;
  std::vector<std::pair<std::string, ir::TypeRef>> chosen;  // members of Unions, by the inputs' names
};

struct LacksElements {};

class Matcher {
 public:
  Matcher(const ir::Graph& graph, examples::Elements elements)
      : graph_(graph), leaves_(input_leaves(graph)), elements_(elements) {}

  Matched match(const examples::Examples& given) {
    const auto inputs = graph_.inputs();
    if (is_the_only_input(given.value)) {
      match(name_of(0), inputs[0]->type(), given.value);
    } else if (const auto* dict = given.value.get<ir::DictConstant>()) {
      match_names(*dict, given.names_may_be_order);
    } else if (const auto* all = members(given.value)) {
      if (all->size() > inputs.size()) too_many(all->size());
      for (std::size_t i = 0; i < all->size(); ++i) match(name_of(i), inputs[i]->type(), (*all)[i]);
    } else {
      if (inputs.empty()) too_many(1);
      match(name_of(0), inputs[0]->type(), given.value);
    }
    return {std::move(found_), std::move(empty_dicts_), std::move(chosen_)};
  }

 private:
  std::string name_of(std::size_t index) const { return ir::input_name(*graph_.inputs()[index]); }

  [[noreturn]] void too_many(std::size_t count) const {
    throw UsageError("holds " + std::to_string(count) + (count == 1 ? " input; " : " inputs; ") + known_names(leaves_));
  }

  // A model with one input, which is a tuple, list or dict: it may have been saved as it is, not as the arguments of a call.
  bool is_the_only_input(const ir::Constant& value) const {
    if (graph_.inputs().size() != 1) return false;
    const ir::TypeRef& type = ir::without_optional(graph_.inputs()[0]->type());
    if (const auto* dict = value.get<ir::DictConstant>())
      return ir::is(type, TypeKind::dict) && (dict->items.size() != 1 || ir::key_text(dict->items[0].first) != name_of(0));
    const auto* all = members(value);
    const bool sequence = ir::is(type, TypeKind::tuple) || ir::is(type, TypeKind::list);
    return all && sequence && (all->size() != 1 || !members(all->front()));
  }

  // By name if the names are the model's; unnamed arrays in order.
  void match_names(const ir::DictConstant& dict, bool names_may_be_order) {
    std::string unknown;
    std::size_t known = 0;
    for (const auto& [key, value] : dict.items) {
      if (find_leaf(named_by(key), leaves_) || input_named(named_by(key)))
        ++known;
      else
        unknown += (unknown.empty() ? "" : ", ") + ir::key_text(key);
    }
    if (unknown.empty()) {
      refuse_repeated(dict);
      for (const auto& [key, value] : dict.items) match(named_by(key), type_of(named_by(key)), value);
    } else if (known > 0 || !names_may_be_order) {
      throw UsageError("holds " + unknown + "; " + known_names(leaves_));
    } else {
      if (dict.items.size() > leaves_.size()) too_many(dict.items.size());
      for (std::size_t i = 0; i < dict.items.size(); ++i) match(leaves_[i].name, leaves_[i].type, dict.items[i].second);
    }
  }

  // A member of a NamedTuple by its field and by its place, or a part of what another key holds.
  void refuse_repeated(const ir::DictConstant& dict) const {
    std::map<std::string, std::string> seen;  // keys by their names
    const auto refuse = [](const std::string& key, const std::string& other) {
      throw UsageError("holds '" + other + "' and '" + key + "', which state one input twice");
    };
    for (const auto& [key, value] : dict.items)
      if (const auto [other, fresh] = seen.emplace(named_by(key), ir::key_text(key)); !fresh)
        refuse(ir::key_text(key), other->second);
    for (const auto& [name, key] : seen)
      for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
        if (const auto whole = seen.find(name.substr(0, dot)); whole != seen.end()) refuse(key, whole->second);
  }

  std::string named_by(const ir::Constant& key) const { return with_places(ir::key_text(key), graph_); }

  const ir::Value* input_named(const std::string& name) const {
    const auto inputs = graph_.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (name_of(i) == name) return inputs[i];
    return nullptr;
  }

  // Null for a member of a list or dict, whose place in it the graph doesn't tell.
  ir::TypeRef type_of(const std::string& name) const {
    if (const ir::Value* input = input_named(name)) return input->type();
    const InputLeaf* leaf = find_leaf(name, leaves_);
    if (leaf->name != name) check_name(name, *leaf);
    return leaf->name == name ? leaf->type : nullptr;
  }

  void check_name(const std::string& name, const InputLeaf& leaf) const {
    try {
      member_type(name, name, leaf, graph_, true);
    } catch (const UsageError&) {
      throw UsageError("holds '" + name + "', and input '" + leaf.name + "' is " + ir::to_string(*leaf.type) +
                       ", which has no member of that name; a dot in a key is written %2E");
    }
  }

  // Elements that weren't read may turn a tensor into a number.
  [[noreturn]] void misfit(const std::string& name, const ir::TypeRef& type, const ir::Constant& value) const {
    if (lacks_elements_) throw LacksElements();
    throw UsageError("holds " + name_of_kind(value) + " for input '" + name + "', which is " + ir::to_string(*type));
  }

  // An unknown type takes anything.
  static bool is_open(const ir::TypeRef& type) { return !type || ir::is(type, TypeKind::any); }

  // A number in place of a tensor that stands for one; null for anything else.
  std::optional<ir::Constant> as_number(const ir::TypeRef& type, const ir::Constant& value) {
    if (!stands_for_number(type) || !is_scalar_tensor(value)) return std::nullopt;
    auto number = scalar_of(*value.get<ir::TensorView>(), type->kind);
    lacks_elements_ = lacks_elements_ || (!number && elements_ == examples::Elements::leave);
    return number;
  }

  void match(const std::string& name, const ir::TypeRef& declared, const ir::Constant& value) {
    const ir::TypeRef& type = member_for(declared, value);
    if (type != declared) chosen_.emplace_back(name, type);
    const ir::TypeRef& held = ir::without_optional(type);
    if (const auto number = as_number(held, value)) return match(name, held, *number);
    if (value.is_none()) {
      if (!is_open(type) && !ir::is(type, TypeKind::optional) && !ir::is(type, TypeKind::none)) misfit(name, type, value);
      found_.push_back({name, value});
    } else if (value.get<ir::TensorView>()) {
      if (!is_open(held) && !ir::is(held, TypeKind::tensor)) misfit(name, type, value);
      found_.push_back({name, value});
    } else if (const auto* all = members(value)) {
      match_members(name, held, value, *all);
    } else if (const auto* dict = value.get<ir::DictConstant>()) {
      if (!is_open(held) && !ir::is(held, TypeKind::dict)) misfit(name, type, value);
      if (dict->items.empty()) empty_dicts_.push_back(name);
      for (const auto& [key, member] : dict->items) {
        check_key(key, dict->items.front().first, name, held);
        match(ir::member_name(name, ir::key_text(key)), is_open(held) ? nullptr : held->elements[1], member);
      }
    } else if (!is_open(held) && !takes(held->kind, value)) {
      misfit(name, type, value);
    } else {
      found_.push_back({name, value});
    }
  }

  // Names of members hold texts or ints, and not which of both.
  static void check_key(const ir::Constant& key, const ir::Constant& first, const std::string& name, const ir::TypeRef& dict) {
    const bool text = key.get<std::string>(), nameable = text || key.get<std::int64_t>();
    const bool fits = is_open(dict) ? text == (first.get<std::string>() != nullptr) : takes(dict->elements[0]->kind, key);
    if (nameable && fits) return;
    throw UsageError("holds the key " + ir::write_literal(key, nullptr) + " for input '" + name + "'" +
                     (is_open(dict) ? ", and only keys that are all texts or all ints can name members"
                                    : ", which is " + ir::to_string(*dict)));
  }

  // A list in which numbers stand for tensors without dimensions; null if it has none.
  std::optional<ir::Constant> as_numbers(const ir::TypeRef& type, const ir::Constants& all) {
    if (!ir::is(type, TypeKind::list) || !stands_for_number(type->elements[0]) || std::ranges::none_of(all, is_scalar_tensor))
      return std::nullopt;
    ir::ListConstant numbers;
    for (const ir::Constant& item : all) numbers.items.push_back(as_number(type->elements[0], item).value_or(item));
    if (std::ranges::any_of(numbers.items, is_scalar_tensor)) return std::nullopt;
    return ir::Constant{std::move(numbers)};
  }

  void match_members(const std::string& name, const ir::TypeRef& type, const ir::Constant& value, const ir::Constants& given) {
    const auto numbers = as_numbers(type, given);
    if (numbers) return match_members(name, type, *numbers, *members(*numbers));
    const ir::Constants& all = given;
    const bool list = ir::is(type, TypeKind::list), tuple = ir::is(type, TypeKind::tuple);
    if (!is_open(type) && !list && !tuple) misfit(name, type, value);
    if (tuple && type->elements.size() != all.size())
      throw UsageError("holds " + spell_count(all.size(), "member") + " for input '" + name + "', which is " +
                       ir::to_string(*type));
    if (list && std::ranges::none_of(all, members) && std::ranges::all_of(all, is_number_constant)) {
      if (const auto wrong = std::ranges::find_if(
              all, [&](const auto& item) { return !takes(ir::without_optional(type->elements[0])->kind, item); });
          wrong != all.end())
        throw UsageError("holds " + name_of_kind(*wrong) + " as member " + std::to_string(wrong - all.begin()) + " of input '" +
                         name + "', which is " + ir::to_string(*type));
      return found_.push_back({name, value});
    }
    for (std::size_t i = 0; i < all.size(); ++i)
      match(name + "." + std::to_string(i), list ? type->elements[0] : tuple ? type->elements[i] : nullptr, all[i]);
  }

  static bool takes(TypeKind kind, const ir::Constant& value) {
    if (value.get<std::string>()) return kind == TypeKind::string || kind == TypeKind::device;
    if (value.get<ir::DeviceConstant>()) return kind == TypeKind::device;
    if (value.get<bool>()) return kind == TypeKind::boolean || kind == TypeKind::number;
    if (value.get<double>()) return kind == TypeKind::floating || kind == TypeKind::number;
    return kind == TypeKind::integer || kind == TypeKind::floating || kind == TypeKind::number;
  }

  const ir::Graph& graph_;
  std::vector<InputLeaf> leaves_;
  examples::Elements elements_;
  std::vector<ExampleLeaf> found_;
  std::vector<std::string> empty_dicts_;
  std::vector<std::pair<std::string, ir::TypeRef>> chosen_;
  bool lacks_elements_ = false;
};

Matched matched(const std::filesystem::path& file, const ir::Graph& graph, examples::Elements elements) {
  const auto given = examples::read(file, elements);
  try {
    return Matcher(graph, elements).match(given);
  } catch (const LacksElements&) {
    return matched(file, graph, examples::Elements::read);
  } catch (const UsageError& error) {
    throw UsageError("CheckOptions::inputs_from " + file.string() + ": " + error.what());
  }
}

}  // namespace

std::vector<ExampleLeaf> example_leaves(const std::filesystem::path& file, const ir::Graph& graph, examples::Elements elements) {
  return matched(file, graph, elements).leaves;
}

ExampleFacts example_inputs(const std::filesystem::path& file, const ir::Graph& graph) {
  ExampleFacts given;
  Matched held = matched(file, graph, examples::Elements::leave);
  given.empty_dicts = std::move(held.empty_dicts);
  given.chosen = std::move(held.chosen);
  auto& facts = given.facts;
  for (const auto& [name, value] : held.leaves) {
    given.names.push_back(name);
    if (value.is_none())
      facts.push_back({name, {.value = symbolic::NoneFact{}}});
    else if (const auto* tensor = value.get<ir::TensorView>())
      facts.push_back({name, fact_of_example(*tensor)});
    else if (value.get<bool>())
      facts.push_back({name, {.value = symbolic::NumberFact{.kind = symbolic::NumberFact::Kind::boolean}}});
    else if (const auto* numbers = value.get<ir::ListConstant>())
      facts.push_back({name, fact_of_example(*numbers)});
  }
  return given;
}

}  // namespace compatcheck::analysis
