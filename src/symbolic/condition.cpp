#include "symbolic/condition.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "symbolic/dimensions.h"
#include "symbolic/indices.h"
#include "symbolic/promotion.h"

namespace compatcheck::symbolic {
namespace {

using mapping::Literal;
using mapping::Predicate;
using mapping::spell;

Verdict yes() { return {.truth = Truth::yes}; }
Verdict no(std::string message) { return {.truth = Truth::no, .message = std::move(message)}; }

Verdict not_known(const Fact& fact, std::string message) {
  return {.truth = Truth::unknown, .message = std::move(message), .wants = fact.wants, .blame = fact.blame};
}

// Joins the inputs that settle either verdict.
void want(Verdict& total, const Verdict& other) {
  std::vector<std::uint32_t> merged;
  std::ranges::set_union(total.wants, other.wants, std::back_inserter(merged));
  total.wants = std::move(merged);
}

// All of several: a broken one decides, then an unknown one.
void combine_all(Verdict& total, Verdict next) {
  if (total.truth == Truth::no || next.truth == Truth::yes) return;
  if (next.truth == Truth::no || total.truth == Truth::yes) total = std::move(next);
}

std::string spell(const std::vector<Literal>& literals, const char* separator) {
  std::string text;
  for (const auto& literal : literals) text += (text.empty() ? "" : separator) + spell(literal);
  return text;
}

Truth truth(bool value) { return value ? Truth::yes : Truth::no; }

Truth equals_integer(const std::optional<Dim>& value, std::int64_t expected) {
  if (!value) return Truth::unknown;
  if (value->is_number()) return truth(*value->number() == expected);
  const bool apart = provably_different(*value, Dim(expected)) ||
                     (expected < std::numeric_limits<std::int64_t>::max() && provably_at_least(*value, expected + 1));
  return apart ? Truth::no : Truth::unknown;
}

// As Python compares, True with 1 too; but a literal true or false is for bools alone.
Truth equals_number(const NumberFact& number, const Literal& literal) {
  if (const auto* boolean = std::get_if<bool>(&literal))
    return number.kind == NumberFact::Kind::boolean ? equals_integer(number.integer, *boolean ? 1 : 0) : Truth::no;
  const auto* integer = std::get_if<std::int64_t>(&literal);
  const auto* floating = std::get_if<double>(&literal);
  if (!integer && !floating) return Truth::no;  // None or a string
  const double expected = integer ? static_cast<double>(*integer) : *floating;
  if (number.kind == NumberFact::Kind::floating) return number.floating ? truth(*number.floating == expected) : Truth::unknown;
  if (integer) return equals_integer(number.integer, *integer);
  if (expected != std::floor(expected) || std::abs(expected) > 9e15) return Truth::no;
  return equals_integer(number.integer, static_cast<std::int64_t>(expected));
}

Truth equals(const Fact& fact, const Literal& literal) {
  const bool wants_none = std::holds_alternative<std::monostate>(literal);
  if (fact.is_none()) return truth(wants_none);
  if (std::holds_alternative<std::monostate>(fact.value)) return Truth::unknown;
  if (wants_none) return Truth::no;
  if (const auto* number = fact.number()) return equals_number(*number, literal);
  if (const auto* constant = std::get_if<ConstantFact>(&fact.value)) {
    const auto* text = constant->value.get<std::string>();
    const auto* expected = std::get_if<std::string>(&literal);
    return truth(text && expected && *text == *expected);
  }
  if (const auto* tensor = fact.tensor(); tensor && tensor->contents && tensor->contents->size() == 1)
    return equals_number({.kind = NumberFact::Kind::integer, .integer = tensor->contents->front()}, literal);
  return fact.tensor() ? Truth::unknown : Truth::no;
}

Truth equals_any(const Fact& fact, const std::vector<Literal>& literals) {
  Truth result = Truth::no;
  for (const auto& literal : literals) {
    const Truth one = equals(fact, literal);
    if (one == Truth::yes) return one;
    if (one == Truth::unknown) result = one;
  }
  return result;
}

Fact number_fact(std::int64_t number) { return {.value = NumberFact{.kind = NumberFact::Kind::integer, .integer = Dim(number)}}; }

Fact dim_fact(const Dim& dim, const Fact& origin) {
  Fact fact{.value = NumberFact{.kind = NumberFact::Kind::integer}, .wants = origin.wants, .blame = origin.blame};
  if (!dim.is_unknown()) std::get<NumberFact>(fact.value).integer = dim;
  return fact;
}

bool dtype_fits(ir::DType dtype, const std::string& word) {
  if (word == "floating") return ir::is_floating(dtype);
  if (word == "integral") return ir::is_integral(dtype);
  if (word == "complex") return ir::is_complex(dtype);
  if (word == "quantized") return ir::is_quantized(dtype);
  return ir::name(dtype) == word;
}

// One predicate against one fact. `what` names the argument, or a part of it, for messages.
class Test {
 public:
  Test(const Fact& fact, std::string what) : fact_(fact), what_(std::move(what)) {}

  Verdict operator()(const Predicate& predicate) const {
    Verdict total = yes();
    if (predicate.any_of) combine_all(total, any_of(*predicate.any_of));
    if (predicate.equals) combine_all(total, list_equals(*predicate.equals));
    if (predicate.none) combine_all(total, is_none(*predicate.none));
    if (predicate.constant) combine_all(total, is_constant(*predicate.constant));
    if (predicate.min || predicate.max) combine_all(total, in_range(predicate));
    if (predicate.each) combine_all(total, each(*predicate.each));
    if (predicate.length) combine_all(total, length(*predicate.length));
    if (!predicate.dtype.empty()) combine_all(total, dtype(predicate.dtype));
    if (predicate.rank_known || predicate.rank) combine_all(total, rank(predicate));
    for (const auto& size : predicate.sizes) combine_all(total, this->size(size));
    if (predicate.elements) combine_all(total, elements(*predicate.elements));
    if (predicate.negated) combine_all(total, negated(*predicate.negated));
    return total;
  }

 private:
  Verdict known(Truth result, const std::string& needed) const {
    if (result == Truth::yes) return yes();
    if (result == Truth::unknown) return not_known(fact_, what_ + " must be " + needed + ", and isn't known");
    return no(what_ + " must be " + needed + ", but is " + to_string(fact_));
  }

  Verdict any_of(const std::vector<Literal>& literals) const {
    return known(equals_any(fact_, literals), spell(literals, " or "));
  }

  Verdict list_equals(const std::vector<Literal>& literals) const {
    const std::string needed = "[" + spell(literals, ", ") + "]";
    const auto* list = fact_.list();
    if (!list) return known(fact_.is_none() || fact_.number() ? Truth::no : Truth::unknown, needed);
    if (!list->items) return known(Truth::unknown, needed);
    if (list->items->size() != literals.size()) return known(Truth::no, needed);
    Truth result = Truth::yes;
    for (std::size_t i = 0; i < literals.size(); ++i) {
      const Truth one = equals((*list->items)[i], literals[i]);
      if (one == Truth::no) return known(one, needed);
      if (one == Truth::unknown) result = one;
    }
    return known(result, needed);
  }

  Verdict is_none(bool expected) const {
    if (std::holds_alternative<std::monostate>(fact_.value)) return known(Truth::unknown, expected ? "None" : "given");
    return known(truth(fact_.is_none() == expected), expected ? "None" : "given");
  }

  Verdict is_constant(bool expected) const {
    const bool constant = symbolic::is_constant(fact_);
    if (constant == expected) return yes();
    if (expected && !fact_.wants.empty())
      return not_known(fact_, what_ + " must be known when converting, and depends on the inputs");
    return no(what_ + (expected ? " must be known when converting, but is computed" : " must be computed, but is a constant"));
  }

  Verdict in_range(const Predicate& predicate) const {
    std::string needed = predicate.min && predicate.max ? "from " + spell(*predicate.min) + " to " + spell(*predicate.max)
                         : predicate.min                ? "at least " + spell(*predicate.min)
                                                        : "at most " + spell(*predicate.max);
    const auto* number = fact_.number();
    if (!number) return known(fact_.is_none() || fact_.list() ? Truth::no : Truth::unknown, needed);
    std::optional<double> value = number->floating;
    if (number->integer && number->integer->is_number()) value = static_cast<double>(*number->integer->number());
    if (!value) return known(named_in_range(number->integer, predicate), needed);
    return known(truth((!predicate.min || *value >= *predicate.min) && (!predicate.max || *value <= *predicate.max)), needed);
  }

  // A named size is at least 1.
  static Truth named_in_range(const std::optional<Dim>& dim, const Predicate& predicate) {
    if (!dim) return Truth::unknown;
    if (predicate.max && provably_at_least(*dim, static_cast<std::int64_t>(std::floor(*predicate.max)) + 1)) return Truth::no;
    const bool enough = !predicate.min || provably_at_least(*dim, static_cast<std::int64_t>(std::ceil(*predicate.min)));
    const bool fits = !predicate.max || provably_at_least(Dim(static_cast<std::int64_t>(std::floor(*predicate.max))) - *dim, 0);
    return enough && fits ? Truth::yes : Truth::unknown;
  }

  Verdict each(const Predicate& predicate) const {
    if (fact_.number()) return Test(fact_, what_)(predicate);  // a single int stands for its list
    const auto* list = fact_.list();
    if (!list) return known(fact_.is_none() ? Truth::no : Truth::unknown, "a list");
    if (!list->items)
      return list->element ? Test(*list->element, "each of " + what_)(predicate)
                           : known(Truth::unknown, "a list of known length");
    Verdict total = yes();
    for (std::size_t i = 0; i < list->items->size(); ++i)
      combine_all(total, Test((*list->items)[i], what_ + "[" + std::to_string(i) + "]")(predicate));
    return total;
  }

  Verdict length(const Predicate& predicate) const {
    const auto* list = fact_.list();
    if (!list || !list->items) return known(fact_.is_none() ? Truth::no : Truth::unknown, "a list of known length");
    return Test(number_fact(static_cast<std::int64_t>(list->items->size())), "the length of " + what_)(predicate);
  }

  // A Python number counts as what promotion takes it for.
  Verdict number_dtype(const NumberFact& number, const std::vector<std::string>& words, const std::string& needed) const {
    const ir::DType dtype = number.kind == NumberFact::Kind::floating  ? ir::DType::f64
                            : number.kind == NumberFact::Kind::boolean ? ir::DType::boolean
                                                                       : ir::DType::i64;
    if (std::any_of(words.begin(), words.end(), [&](const auto& word) { return dtype_fits(dtype, word); })) return yes();
    return no(what_ + " must be " + needed + ", but is a number of another kind");
  }

  Verdict dtype(const std::vector<std::string>& words) const {
    std::string needed;
    for (const auto& word : words) needed += (needed.empty() ? "" : " or ") + word;
    if (fact_.is_none()) return yes();  // nothing there that could have another dtype
    if (const auto* number = fact_.number()) return number_dtype(*number, words, needed);
    const auto* tensor = fact_.tensor();
    if (!tensor || !tensor->dtype) return not_known(fact_, "the dtype of " + what_ + " isn't known");
    if (std::any_of(words.begin(), words.end(), [&](const auto& word) { return dtype_fits(*tensor->dtype, word); })) return yes();
    return no("the dtype of " + what_ + " must be " + needed + ", but is " + std::string(ir::name(*tensor->dtype)));
  }

  Verdict rank(const Predicate& predicate) const {
    const auto* tensor = fact_.tensor();
    if (!tensor || !tensor->shape) return not_known(fact_, "the rank of " + what_ + " isn't known");
    if (!predicate.rank) return yes();
    return Test(number_fact(static_cast<std::int64_t>(tensor->shape->size())), "the rank of " + what_)(*predicate.rank);
  }

  Verdict size(const Predicate::Size& size) const {
    const std::string name = "dimension " + std::to_string(size.dim) + " of " + what_;
    const auto* tensor = fact_.tensor();
    if (!tensor || !tensor->shape) return not_known(fact_, name + " isn't known");
    const auto rank = static_cast<std::int64_t>(tensor->shape->size());
    const std::int64_t dim = size.dim < 0 ? size.dim + rank : size.dim;
    if (dim < 0 || dim >= rank) return no(what_ + " has no dimension " + std::to_string(size.dim));
    const Dim& value = (*tensor->shape)[static_cast<std::size_t>(dim)];
    if (!value.is_number()) {
      if (value.is_unknown()) return not_known(fact_, name + " isn't known");
      if (size.known) return no(name + " must be fixed, but is " + value.to_string());
    }
    return size.value ? Test(dim_fact(value, fact_), name)(*size.value) : yes();
  }

  Verdict elements(const Predicate& predicate) const {
    const auto* tensor = fact_.tensor();
    if (!tensor || !tensor->shape) return not_known(fact_, "the number of elements of " + what_ + " isn't known");
    Dim count = 1;
    for (const Dim& dim : *tensor->shape) count = count * dim;
    return Test(dim_fact(count, fact_), "the number of elements of " + what_)(predicate);
  }

  Verdict negated(const Predicate& predicate) const {
    Verdict verdict = (*this)(predicate);
    if (verdict.truth == Truth::yes) return no(what_ + " can't be " + to_string(fact_));
    if (verdict.truth == Truth::no) return yes();
    return verdict;
  }

  const Fact& fact_;
  std::string what_;
};

Verdict output_holds(const mapping::Condition& condition, const Call& call) {
  const std::size_t index = std::stoul(condition.argument.substr(std::string("outputs.").size()));
  const std::string name = "output " + std::to_string(index);
  if (index >= call.node().outputs().size()) return no("the call has no " + name);
  const ir::Value* output = call.node().output(index);
  const Predicate& predicate = condition.predicate;
  const bool by_use = predicate.used || (predicate.negated && predicate.negated->used);
  if (!by_use) return Test(call.facts().of(output), name)(predicate);
  const bool expected = predicate.used ? *predicate.used : !*predicate.negated->used;
  return expected != output->unused() ? yes() : no(name + (expected ? " is not used" : " is used"));
}

// A tensor, a list of them, None, or an argument of which nothing is known.
Verdict tensors_in(const Fact& fact, const std::string& name, const Predicate& predicate) {
  if (fact.is_none()) return yes();
  const auto* list = fact.list();
  if (!list) return Test(fact, name)(predicate);
  if (!list->items)
    return list->element ? tensors_in(*list->element, "each of " + name, predicate)
                         : not_known(fact, "the members of " + name + " aren't known");
  Verdict total = yes();
  for (const Fact& item : *list->items) combine_all(total, tensors_in(item, name, predicate));
  return total;
}

Verdict every_tensor(const Predicate& predicate, const Call& call) {
  Verdict total = yes();
  const auto& arguments = call.node().schema()->arguments;
  for (std::size_t i = 0; i < arguments.size() && i < call.node().inputs().size(); ++i)
    if (ir::holds(*arguments[i].type, ir::TypeKind::tensor))
      combine_all(total, tensors_in(call.input(i), arguments[i].name, predicate));
  return total;
}

// The default of an argument that other overloads have; None if they give none, or not the same.
Fact default_elsewhere(std::string_view op, std::string_view argument, const schema::Registry& schemas) {
  const ir::Constant* found = nullptr;
  for (const schema::Schema* overload : schemas.overloads(op)) {
    const auto index = overload->argument_index(argument);
    if (!index) continue;
    const auto& value = overload->arguments[*index].default_value;
    if (!value || (found && !ir::equal(*found, *value))) return {.value = NoneFact{}};
    found = &*value;
  }
  return found ? fact_of(*found) : Fact{.value = NoneFact{}};
}

// An argument that the call leaves out.
Fact left_out(const schema::Schema& schema, std::string_view argument) {
  const auto& value = schema.arguments[*schema.argument_index(argument)].default_value;
  return value ? fact_of(*value) : Fact{.value = NoneFact{}};
}

Verdict holds(const mapping::Condition& condition, const Call& call, const schema::Registry& schemas) {
  const std::string& argument = condition.argument;
  if (argument.starts_with("outputs.")) return output_holds(condition, call);
  if (argument == "tensors") return every_tensor(condition.predicate, call);
  if (!call.node().schema() || call.value(argument)) return Test(call.fact(argument), argument)(condition.predicate);
  if (call.has(argument)) return Test(left_out(*call.node().schema(), argument), argument)(condition.predicate);
  const Fact fact = default_elsewhere(call.op(), argument, schemas);
  return Test(fact, argument)(condition.predicate);
}

Verdict holds(const mapping::Conditions& conditions, const Call& call, const schema::Registry& schemas) {
  Verdict total = yes();
  for (const auto& condition : conditions) combine_all(total, holds(condition, call, schemas));
  return total;
}

// Any of several conditions: one that holds decides, then an unknown one; otherwise the last one's reason is reported.
Verdict any_holds(const std::vector<mapping::Conditions>& alternatives, const Call& call, const schema::Registry& schemas) {
  if (alternatives.empty()) return yes();
  Verdict total = no("");
  for (const auto& conditions : alternatives) {
    Verdict one = holds(conditions, call, schemas);
    if (one.truth == Truth::yes) return one;
    if (total.truth == Truth::unknown && one.truth == Truth::unknown)
      want(total, one);
    else if (total.truth == Truth::no)
      total = std::move(one);
  }
  return total;
}

Verdict all_hold(const std::vector<mapping::Conditions>& when, const std::vector<std::string>& required, const Call& call,
                 const Registry& registry, const schema::Registry& schemas) {
  Verdict total = any_holds(when, call, schemas);
  for (const auto& name : required) {
    const auto function = registry.find_condition(name);
    combine_all(total, function ? function(call) : no("the table requires '" + name + "', which isn't defined"));
  }
  return total;
}

bool are_numbers(const std::optional<std::vector<Dim>>& contents) {
  return contents && std::all_of(contents->begin(), contents->end(), [](const Dim& dim) { return dim.is_number(); });
}

}  // namespace

bool is_constant(const Fact& fact) {
  if (const auto* tensor = fact.tensor()) return tensor->known_constant || tensor->fraction || are_numbers(tensor->contents);
  if (const auto* number = fact.number()) return number->floating || (number->integer && number->integer->is_number());
  if (const auto* list = fact.list()) return list->items && std::all_of(list->items->begin(), list->items->end(), is_constant);
  return !std::holds_alternative<std::monostate>(fact.value);
}

Verdict applies(const mapping::Row& row, const Call& call, const Registry& registry, const schema::Registry& schemas) {
  const bool complex = has_complex(call);
  if (row.complex && !complex) return no("the row is for complex numbers");
  if (complex && !row.complex && row.kind == mapping::Row::Kind::mapped) {  // such a row computes with the parts
    FactTable facts(&call.facts());
    const auto state = [&](const ir::Value* value) { facts.set(value, part_of(call.facts().of(value))); };
    std::ranges::for_each(call.node().inputs(), state);
    std::ranges::for_each(call.node().outputs(), state);
    return all_hold(row.when, row.required, Call(call.node(), facts), registry, schemas);
  }
  return all_hold(row.when, row.required, call, registry, schemas);
}

Verdict accepts(const mapping::Validity& valid, std::string_view facts_word, const Call& call, const Registry& registry,
                const schema::Registry& schemas) {
  const auto demand = call.node().schema() ? registry.find_word_demand(facts_word) : nullptr;
  Verdict total = demand ? demand(call) : yes();
  combine_all(total, indices_have_dtypes(call));
  combine_all(total, dimensions_exist(call));
  combine_all(total, all_hold(valid.when, valid.required, call, registry, schemas));
  return total;
}

bool is_complex(const Fact& fact) {
  if (const auto* tensor = fact.tensor()) return tensor->dtype && ir::is_complex(*tensor->dtype);
  const auto* list = fact.list();
  if (!list) return false;
  return list->items ? std::ranges::any_of(*list->items, is_complex) : list->element && is_complex(*list->element);
}

bool has_complex(const Call& call) {
  const auto complex = [&](const ir::Value* value) { return is_complex(call.facts().of(value)); };
  return std::ranges::any_of(call.node().inputs(), complex) || std::ranges::any_of(call.node().outputs(), complex);
}

Verdict takes_dtypes(const mapping::Row& row, const mapping::ComplexForm& form, const Call& call) {
  if (row.complex) return yes();
  const auto refuse = [&](const Fact& fact) {
    return no(std::string(call.op()) + " isn't supported with complex numbers, and the call has " + to_string(fact));
  };
  const auto* schema = call.node().schema();
  for (std::size_t i = 0; i < call.node().inputs().size(); ++i) {
    const bool named = schema && i < schema->arguments.size() &&
                       std::ranges::find(form.arguments, schema->arguments[i].name) != form.arguments.end();
    if (!named && is_complex(call.input(i))) return refuse(call.input(i));
  }
  for (const ir::Value* output : call.node().outputs())
    if (const Fact& fact = call.facts().of(output); form.empty() && is_complex(fact)) return refuse(fact);
  return yes();
}

}  // namespace compatcheck::symbolic
