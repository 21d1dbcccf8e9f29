#include "verification/inputs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <random>

#include "compatcheck/error.h"
#include "inference/infer.h"
#include "ir/quantized.h"
#include "ir/value_name.h"
#include "onnx/model.h"
#include "symbolic/evaluate.h"
#include "symbolic/promotion.h"
#include "symbolic/quantizer.h"
#include "symbolic/scalar.h"
#include "verification/domains.h"
#include "verification/resize.h"

namespace compatcheck::verification {
namespace {

using ir::TypeKind;
using symbolic::Fact;
using Dims = std::vector<std::int64_t>;

// The ranges of integers that nothing bounds. Floats are between one and two in the second half of the attempts: roots and
// logarithms accept these.
enum class Integers : std::uint8_t { below_ten, below_two, permuted, rising, ones, zeros };
constexpr std::array ranges = {Integers::below_ten, Integers::below_two, Integers::permuted,
                               Integers::rising,    Integers::ones,      Integers::zeros};

// Sizes for an input whose rank the model doesn't state.
const Dims& guessed_dims(int attempt) {
  static const std::array<Dims, 6> all = {Dims{2, 3, 32, 32}, {2, 8}, {2, 8, 16}, {8}, {4, 4}, {}};
  return all[static_cast<std::size_t>(attempt) % all.size()];
}
constexpr std::size_t unknown_length = 2;  // length of a list
constexpr std::int64_t largest_number = 1000, most_negative = 50;
// The sizes tried for a dimension of which nothing is known.
constexpr std::array<std::int64_t, 4> unknown_sizes = {2, 16, 64, 224};

std::string length_name(const std::string& list) { return "len(" + list + ")"; }

// Returns the fact of each member of a list. Sizes that are not stated are the same in all members.
Fact member_of(const symbolic::ListFact& list, const std::string& name) {
  if (!list.element) return {};
  Fact fact = *list.element;
  auto* tensor = std::get_if<symbolic::TensorFact>(&fact.value);
  if (tensor && tensor->shape)
    for (std::size_t dim = 0; dim < tensor->shape->size(); ++dim)
      if ((*tensor->shape)[dim].is_unknown()) (*tensor->shape)[dim] = symbolic::Dim::symbol(inference::dimension_name(name, dim));
  return fact;
}

// Returns the fact of a list of unknown length, which is one input of the ONNX model: a sequence of tensors or a vector of
// numbers.
const symbolic::ListFact* open_list(const ir::Value* input, const symbolic::FactTable& facts) {
  const auto* list = facts.of(input).list();
  return list && !list->items && ir::is(ir::without_optional(input->type()), TypeKind::list) ? list : nullptr;
}

// Returns the value that a call without the argument uses.
std::optional<ir::Constant> default_of(const Fact& fact) {
  if (const auto* value = std::get_if<symbolic::ConstantFact>(&fact.value)) return value->value;
  return fact.number() ? symbolic::constant_of(*fact.number()) : std::nullopt;
}

class Maker {
 public:
  Maker(const Sizes& sizes, std::uint64_t seed, int attempt, int other_numbers,
        const std::vector<analysis::ExampleLeaf>& examples, std::span<ir::Value* const> prepared,
        const symbolic::FactTable& facts, const Decisions& decisions, Way way)
      : sizes_(sizes),
        way_(way),
        decisions_(decisions),
        random_(seed),
        numbers_(seed + static_cast<std::uint64_t>(other_numbers)),
        attempt_(attempt),
        turn_(static_cast<std::size_t>(other_numbers)),
        others_(other_numbers > 0),
        examples_(examples),
        facts_(facts) {
    for (const ir::Value* input : prepared) {
      order_.push_back(ir::input_name(*input));
      prepared_.emplace(order_.back(), input);
    }
  }

  MadeCall make(std::span<ir::Value* const> arguments) {
    for (const ir::Value* input : arguments) {
      unread_ = input->unused();
      made_.arguments.push_back(argument({}, input->type(), ir::input_name(*input)));
    }
    return std::move(made_);
  }

 private:
  // Members of a container that the prepared graph replaces by its members, each once, in that graph's order, which is that of
  // a dictionary's keys. A member may itself be such a container.
  std::vector<std::string> prepared_members(const std::string& name) const {
    std::vector<std::string> members;
    for (const std::string& input : order_) {
      if (!input.starts_with(name + ".")) continue;
      std::string member = input.substr(name.size() + 1, input.find('.', name.size() + 1) - name.size() - 1);
      if (std::ranges::find(members, member) == members.end()) members.push_back(std::move(member));
    }
    return members;
  }

  const ir::Constant* example(const std::string& name) const {
    const auto found = std::ranges::find(examples_, name, &analysis::ExampleLeaf::name);
    return found == examples_.end() ? nullptr : &found->value;
  }

  bool has_members(const std::string& name) const {
    return std::ranges::any_of(examples_, [&](const auto& leaf) { return leaf.name.starts_with(name + "."); });
  }

  // `member_fact`: the value's fact as a member of its container.
  ir::Constant argument(const Fact& member_fact, const ir::TypeRef& type, const std::string& name) {
    const auto prepared = prepared_.find(name);
    if (prepared != prepared_.end()) domain_ = domain_of(prepared->second, facts_);
    const Fact& fact = prepared == prepared_.end() ? member_fact : facts_.of(prepared->second);
    if (const ir::Constant* given = example(name)) {
      const auto* view = given->get<ir::TensorView>();
      const auto* tensor = fact.tensor();
      const ir::Constant made = view && tensor && tensor->shape && tensor->shape->size() == view->sizes.size()
                                    ? ir::Constant{resized(*view, other_dims(*view, *tensor->shape))}
                                    : *given;
      const auto* list = made.get<ir::ListConstant>();
      if (!made.is_none() && !(list && list->items.empty())) made_.leaves.emplace_back(name, made);
      return typed(made, type);
    }
    const ir::TypeRef& held = ir::without_optional(type);
    const bool is_text = std::holds_alternative<symbolic::ConstantFact>(fact.value);
    if (fact.is_none() || (ir::is(type, TypeKind::optional) && !fact.tensor() && !fact.number() && !fact.list() && !is_text &&
                           prepared_members(name).empty() && !has_members(name)))
      return {};
    if (ir::is(held, TypeKind::tuple)) return tuple(fact, held, name);
    if (ir::is(held, TypeKind::list)) return list(fact, *held, name);
    if (ir::is(held, TypeKind::dict)) return dict(*held, name);
    ir::Constant made = leaf(fact, held, name);
    made_.leaves.emplace_back(name, made);
    return made;
  }

  // A Python number counts as a float if a float is required.
  static ir::Constant typed(const ir::Constant& given, const ir::TypeRef& type) {
    const ir::TypeRef& held = ir::without_optional(type);
    if (const auto* list = given.get<ir::ListConstant>(); list && ir::is(held, TypeKind::list)) {
      ir::ListConstant made{held->elements.front(), {}};
      for (const ir::Constant& item : list->items) made.items.push_back(typed(item, made.element));
      return {std::move(made)};
    }
    const auto* integer = given.get<std::int64_t>();
    return integer && ir::is(held, TypeKind::floating) ? ir::Constant{static_cast<double>(*integer)} : given;
  }

  static Fact member(const Fact& fact, std::size_t index, const std::string& name) {
    const auto* held = fact.list();
    if (held && held->items && index < held->items->size()) return (*held->items)[index];
    return held ? member_of(*held, name) : Fact{};
  }

  ir::Constant tuple(const Fact& fact, const ir::TypeRef& type, const std::string& name) {
    ir::TupleConstant made{type, {}};  // PyTorch accepts no plain tuple for a NamedTuple
    for (std::size_t i = 0; i < type->elements.size(); ++i)
      made.items.push_back(argument(member(fact, i, name), type->elements[i], name + "." + std::to_string(i)));
    return {std::move(made)};
  }

  ir::Constant list(const Fact& fact, const ir::Type& type, const std::string& name) {
    const auto* known = fact.list();
    const auto length_tried = sizes_.find(length_name(name));
    std::size_t length = known && known->items          ? known->items->size()
                         : length_tried != sizes_.end() ? static_cast<std::size_t>(length_tried->second)
                                                        : unknown_length;
    if (const auto parted = prepared_members(name); !parted.empty()) length = parted.size();
    for (std::size_t given = 0; has_members(name) && given <= examples_.size(); ++given) {
      length = given;
      if (!example(name + "." + std::to_string(given)) && !has_members(name + "." + std::to_string(given))) break;
    }
    ir::ListConstant made{type.elements.front(), {}};
    const std::size_t leaves = made_.leaves.size();
    for (std::size_t i = 0; i < length; ++i)
      made.items.push_back(argument(member(fact, i, name), type.elements.front(), name + "." + std::to_string(i)));
    if (prepared_.contains(name)) {
      made_.leaves.resize(leaves);  // ONNX has one value for it
      made_.leaves.emplace_back(name, made);
    }
    return {std::move(made)};
  }

  ir::Constant dict(const ir::Type& type, const std::string& name) {
    std::vector<std::string> keys = prepared_members(name);  // as parts of names
    for (const auto& given : examples_)
      if (given.name.starts_with(name + ".")) {
        const std::string key = given.name.substr(name.size() + 1, given.name.find('.', name.size() + 1) - name.size() - 1);
        if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
      }
    if (keys.empty() && !unread_)
      throw UsageError("the input " + name + " is a " + ir::to_string(type) +
                       ", whose keys aren't known: state each, as in CheckOptions::inputs " + name +
                       ".KEY=f32:2,3, or give one with CheckOptions::inputs_from");
    const bool numbers = ir::is(type.elements.at(0), TypeKind::integer);
    ir::DictConstant made(type.elements.at(0), type.elements.at(1), {});
    for (const std::string& key : keys)
      made.items.emplace_back(numbers ? ir::Constant{number(key, name)} : ir::Constant{ir::key_of_name(key).value_or(key)},
                              argument({}, type.elements.at(1), name + "." + key));
    return {std::move(made)};
  }

  static std::int64_t number(const std::string& key, const std::string& name) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), value);
    if (error != std::errc() || end != key.data() + key.size())
      throw UsageError("the input " + name + " has numbers as keys, and '" + key + "' is none");
    return value;
  }

  // Often a dimension, a count or a position.
  std::int64_t integer() {
    static constexpr std::array first = {2, 1, 0, 3};
    if (!others_) return first[static_cast<std::size_t>(attempt_) % first.size()];
    if (way_ != Way::usual && turn_ % 4 != 0)
      return std::clamp<std::int64_t>(whole_number_at(turn_++, decisions_), -largest_number, largest_number);
    if (std::uniform_int_distribution<int>(0, 1)(numbers_) == 1)  // it may be the length of what the program makes
      return std::clamp<std::int64_t>(integer_near(decisions_, numbers_), -largest_number, largest_number);
    return std::uniform_int_distribution<std::int64_t>(-1, 5)(numbers_);
  }

  double floating() {
    if (!others_) return attempt_ % 2 == 0 ? 2.0 : 0.5;
    if (way_ != Way::usual && turn_ % 4 != 0) return floating_at(turn_++, decisions_);
    if (std::uniform_int_distribution<int>(0, 1)(numbers_) == 1) return floating_near(decisions_, numbers_);
    return std::uniform_real_distribution<double>(-1, 3)(numbers_);
  }

  bool boolean() { return others_ ? std::uniform_int_distribution<int>(0, 1)(numbers_) == 1 : attempt_ % 2 == 0; }

  ir::Constant leaf(const Fact& fact, const ir::TypeRef& type, const std::string& name) {
    if (fact.tensor() || !type || type->kind == TypeKind::tensor || type->kind == TypeKind::any) return tensor(fact.tensor());
    if (auto value = default_of(fact)) return *std::move(value);
    switch (type->kind) {
      case TypeKind::integer: return {integer()};
      case TypeKind::floating:
      case TypeKind::number: return {floating()};
      case TypeKind::boolean: return {boolean()};
      case TypeKind::string: return {std::string("text")};
      case TypeKind::device: return {ir::DeviceConstant{"cpu"}};
      default:
        throw UsageError("the input " + name + " is a " + ir::to_string(*type) +
                         ", of which no value can be made: give one with CheckOptions::inputs_from");
    }
  }

  // The example's sizes, except those of named dimensions.
  Dims other_dims(const ir::TensorView& example, const symbolic::Shape& shape) const {
    Dims dims = example.sizes;
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      if (const auto size = evaluate(shape[dim], sizes_)) dims[dim] = *size;
    return dims;
  }

  Dims dims_of(const symbolic::TensorFact* fact) const {
    if (!fact || !fact->shape) return guessed_dims(attempt_);
    Dims dims;
    for (const auto& dim : *fact->shape) dims.push_back(size(dim));
    return dims;
  }

  std::int64_t size(const symbolic::Dim& dim) const {
    if (dim.is_number()) return *dim.number();
    return evaluate(dim, sizes_).value_or(unknown_sizes[static_cast<std::size_t>(attempt_) % unknown_sizes.size()]);
  }

  ir::Constant tensor(const symbolic::TensorFact* fact) {
    const Dims dims = dims_of(fact);
    const ir::DType dtype = fact && fact->dtype                           ? *fact->dtype
                            : attempt_ % 2 == 1 && !(fact && fact->shape) ? ir::DType::i64
                                                                          : ir::DType::f32;
    const bool quantized = ir::is_quantized(dtype);
    if (quantized && !(fact && fact->quantizer && symbolic::states_numbers(*fact->quantizer) && ir::quantizes_to_8_bits(dtype)))
      throw UsageError("no inputs of dtype " + std::string(ir::name(dtype)) +
                       " can be made: give them with CheckOptions::inputs_from");
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    const bool whole = dtype == ir::DType::boolean || ir::is_integral(dtype);
    const onnx::TensorData data = quantized ? onnx::make_tensor(ir::stored_dtype(dtype), dims, any_integers(count, dtype))
                                  : ir::is_complex(dtype)
                                      ? onnx::make_tensor(symbolic::real_part(dtype), {2 * count}, floats(2 * count))
                                  : whole ? onnx::make_tensor(dtype, dims, integers(count, dims, dtype))
                                          : onnx::make_tensor(dtype, dims, floats(count));
    auto storage = std::make_shared<ir::Storage>();
    storage->bytes = data.bytes.size();
    storage->data = data.bytes;
    ir::TensorView view{.dtype = dtype,
                        .sizes = dims,
                        .strides = Dims(dims.size(), 1),
                        .storage = std::move(storage),
                        .quantizer = quantized ? fact->quantizer : nullptr};
    for (std::size_t dim = dims.size(); dim-- > 1;)
      view.strides[dim - 1] = view.strides[dim] * std::max<std::int64_t>(dims[dim], 1);
    return {std::move(view)};
  }

  std::vector<std::int64_t> any_integers(std::int64_t count, ir::DType quantized) {
    const ir::IntegerRange range = *ir::integer_range(quantized);
    std::uniform_int_distribution<std::int64_t> within(range.least, range.greatest);
    std::vector<std::int64_t> made(static_cast<std::size_t>(count));
    for (std::int64_t& number : made) number = within(random_);
    return made;
  }

  std::vector<double> floats(std::int64_t count) {
    const bool positive = attempt_ >= static_cast<int>(ranges.size());
    if (way_ != Way::usual && !domain_.share) {
      std::vector<double> made = made_floats(way_, count, decisions_, turn_, random_);
      constexpr double least = 1 / 16.;
      for (double& number : made)
        if (positive || (domain_.divides && number == 0)) number = std::abs(number) + least;
      return made;
    }
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> from_one_to_two(1, 2);
    std::vector<double> made(static_cast<std::size_t>(count));
    for (double& number : made)
      number = domain_.share ? from_one_to_two(random_) - 1 : positive ? from_one_to_two(random_) : normal(random_);
    return made;
  }

  std::vector<std::int64_t> integers(std::int64_t count, const Dims& dims, ir::DType dtype) {
    std::vector<std::int64_t> made = whole_numbers(count, dims, dtype);
    if (domain_.longest)
      for (std::size_t i = 0; i < made.size(); ++i)
        made[i] = std::max<std::int64_t>(1, size(*domain_.longest) - static_cast<std::int64_t>(i));
    return made;
  }

  std::vector<std::int64_t> whole_numbers(std::int64_t count, const Dims& dims, ir::DType dtype) {
    const std::int64_t least = domain_.divides ? 1 : 0;
    const Integers range = ranges[static_cast<std::size_t>(attempt_) % ranges.size()];
    const bool truth = dtype == ir::DType::boolean, bounded = lowest_bound(domain_.below).has_value();
    const auto chosen = smaller(lowest_bound(domain_.below), lowest_bound(domain_.chosen));
    if (!truth && (range == Integers::permuted || (domain_.follows_itself && range == Integers::below_ten)))
      return permutations(count, dims.empty() ? 1 : dims.back(), random_);
    if (!truth && way_ != Way::usual && range <= Integers::rising) {
      const bool beyond = way_ == Way::near_constants || way_ == Way::on_constants ||
                          way_ == Way::wide;  // where an index is chosen in one branch only
      const auto end = beyond ? lowest_bound(domain_.below) : chosen;
      return in_dtype(made_integers(way_, count, {bounded || end || domain_.divides ? least : -most_negative, end}, decisions_,
                                    turn_, random_),
                      dtype);
    }
    if (!truth && range == Integers::rising) return made_integers(Way::rising, count, {least, 2}, decisions_, turn_, random_);
    if (!truth && range == Integers::below_ten && !chosen && !decisions_.choosers.empty())
      return in_dtype(made_integers(Way::distinct, count, {least, std::nullopt}, decisions_, turn_, random_), dtype);
    std::int64_t below = range == Integers::below_ten ? 10 : 2;
    if (truth)
      below = 2;
    else if (range == Integers::below_ten)
      below = chosen.value_or(below);
    std::uniform_int_distribution<std::int64_t> within(least, std::max<std::int64_t>(below - 1, least));
    std::vector<std::int64_t> made(static_cast<std::size_t>(count));
    for (std::int64_t& number : made) number = range == Integers::ones ? 1 : range == Integers::zeros ? 0 : within(random_);
    return made;
  }

  static std::vector<std::int64_t> in_dtype(std::vector<std::int64_t> made, ir::DType dtype) {
    const bool is_signed =
        dtype == ir::DType::i8 || dtype == ir::DType::i16 || dtype == ir::DType::i32 || dtype == ir::DType::i64;
    const bool is_byte = ir::element_bytes(dtype) == 1;
    for (std::int64_t& number : made) {
      number = std::max<std::int64_t>(number, !is_signed ? 0 : is_byte ? -128 : number);
      number = std::min<std::int64_t>(number, is_byte ? (is_signed ? 127 : 255) : ir::element_bytes(dtype) == 2 ? 32767 : number);
    }
    return made;
  }

  static std::optional<std::int64_t> smaller(std::optional<std::int64_t> one, std::optional<std::int64_t> other) {
    return one && other ? std::min(one, other) : one ? one : other;
  }

  std::optional<std::int64_t> lowest_bound(const std::vector<symbolic::Dim>& below) const {
    std::optional<std::int64_t> lowest;
    for (const auto& bound : below) lowest = std::max<std::int64_t>(1, std::min(size(bound), lowest.value_or(size(bound))));
    return lowest;
  }

  const Sizes& sizes_;
  Way way_;
  const Decisions& decisions_;
  std::mt19937_64 random_, numbers_;
  int attempt_;
  bool unread_ = false;  // the argument that is made
  std::size_t turn_;     // of numbers, of which each run has few
  bool others_;          // numbers that aren't those of the first run
  const std::vector<analysis::ExampleLeaf>& examples_;
  const symbolic::FactTable& facts_;
  std::map<std::string, const ir::Value*> prepared_;
  std::vector<std::string> order_;  // names of the prepared graph's inputs, in order
  Domain domain_;
  MadeCall made_;
};

void collect_names(const Fact& fact, std::vector<std::string>& names) {
  if (const auto* tensor = fact.tensor(); tensor && tensor->shape) {
    for (const auto& dim : *tensor->shape)
      for (std::string& name : symbolic::names_in(dim))
        if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  } else if (const auto* list = fact.list(); list && list->items) {
    for (const Fact& item : *list->items) collect_names(item, names);
  }
}

}  // namespace

std::vector<std::string> InputMaker::named_dims() const {
  std::vector<std::string> names;
  for (const ir::Value* input : inputs_) {
    const Fact& fact = facts_.of(input);
    const auto* list = open_list(input, facts_);
    collect_names(list ? member_of(*list, ir::input_name(*input)) : fact, names);
    if (list) names.push_back(length_name(ir::input_name(*input)));
  }
  return names;
}

bool InputMaker::is_of_list(const std::string& dim) const {
  return std::ranges::any_of(inputs_, [&](const ir::Value* input) {
    const auto* list = open_list(input, facts_);
    if (!list) return false;
    std::vector<std::string> names = {length_name(ir::input_name(*input))};
    collect_names(member_of(*list, ir::input_name(*input)), names);
    return std::ranges::find(names, dim) != names.end();
  });
}

bool InputMaker::is_small(const Sizes& sizes) const {
  constexpr double most_elements = 1 << 24;
  double elements = 0;
  for (const ir::Value* input : inputs_) {
    const auto* tensor = facts_.of(input).tensor();
    double all = tensor && tensor->shape ? 1 : 0;
    if (tensor && tensor->shape)
      for (const auto& dim : *tensor->shape) all *= static_cast<double>(evaluate(dim, sizes).value_or(1));
    elements += all;
  }
  return elements <= most_elements;
}

Sizes InputMaker::seen_sizes(const std::vector<analysis::ExampleLeaf>& examples) const {
  Sizes seen;
  const auto take = [&](const symbolic::Shape& shape, const auto& sizes) {
    if (sizes.size() != shape.size()) return;
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
      if (const std::optional<std::int64_t> size = sizes[dim])
        if (const auto solved = symbolic::solve(shape[dim], *size)) seen.emplace(symbolic::names_in(shape[dim])[0], *solved);
  };
  for (const ir::Value* input : inputs_) {
    const auto* tensor = facts_.of(input).tensor();
    if (!tensor || !tensor->shape) continue;
    const auto example = std::ranges::find(examples, input->name(), &analysis::ExampleLeaf::name);
    const auto* view = example == examples.end() ? nullptr : example->value.get<ir::TensorView>();
    if (view) take(*tensor->shape, view->sizes);
  }
  for (const ir::Value* input : inputs_) {
    const auto* tensor = facts_.of(input).tensor();
    const auto given = std::ranges::find(arguments_, input->name(), &ir::Value::name);
    const ir::TypeRef type = given == arguments_.end() ? nullptr : (*given)->type();
    if (tensor && tensor->shape && type && type->tensor.sizes) take(*tensor->shape, *type->tensor.sizes);
  }
  return seen;
}

MadeCall InputMaker::take(const std::vector<analysis::ExampleLeaf>& examples, const Sizes& sizes, std::uint64_t seed, int attempt,
                          int other_numbers, Way way) const {
  return Maker(sizes, seed, attempt, other_numbers, examples, inputs_, facts_, decisions_, way).make(arguments_);
}

bool InputMaker::makes_integers() const {
  return std::ranges::any_of(inputs_, [&](const ir::Value* input) {
    const Fact& fact = facts_.of(input);
    const auto* list = open_list(input, facts_);
    const auto* tensor = fact.tensor() ? fact.tensor() : list && list->element ? list->element->tensor() : nullptr;
    return tensor && tensor->dtype && ir::is_integral(*tensor->dtype);
  });
}

bool InputMaker::has_open_numbers() const {
  return std::ranges::any_of(inputs_,
                             [&](const ir::Value* input) { return facts_.of(input).number() && !default_of(facts_.of(input)); });
}

}  // namespace compatcheck::verification
