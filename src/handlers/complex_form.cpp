#include "handlers/complex_form.h"

#include <bit>
#include <complex>
#include <map>

#include "handlers/elementary.h"
#include "symbolic/condition.h"

namespace compatcheck::handlers {
namespace {

using symbolic::Fact;
using symbolic::NumberFact;
using symbolic::TensorFact;

enum class ComplexPart : std::uint8_t { real, imag };
constexpr std::size_t most_factors = 4;  // each doubles the nodes

const std::complex<double>* complex_number(const Fact& fact) {
  const auto* constant = std::get_if<symbolic::ConstantFact>(&fact.value);
  return constant ? constant->value.get<std::complex<double>>() : nullptr;
}

Fact part_of(Fact fact, ComplexPart which) {
  fact = symbolic::part_of(std::move(fact));
  if (const auto* number = complex_number(fact)) {
    const double part = which == ComplexPart::real ? number->real() : number->imag();
    fact.value = NumberFact{.kind = NumberFact::Kind::floating, .floating = part};
  } else if (auto* tensor = std::get_if<TensorFact>(&fact.value)) {
    if (which == ComplexPart::imag) *tensor = {.dtype = tensor->dtype, .shape = tensor->shape};
  } else if (auto* real = std::get_if<NumberFact>(&fact.value); real && which == ComplexPart::imag) {
    if (real->kind == NumberFact::Kind::floating)
      real->floating = 0;
    else
      real->integer = Dim(0);
  } else if (auto* list = std::get_if<symbolic::ListFact>(&fact.value); list && list->items) {
    for (Fact& item : *list->items) item = part_of(std::move(item), which);
  }
  return fact;
}

Operand part_of(Emission& e, const Operand& operand, ComplexPart which) {
  if (const Complex* complex = operand.complex()) return {which == ComplexPart::real ? complex->real : complex->imag};
  if (const auto* known = std::get_if<Known>(&operand.value))
    if (const auto* number = known->value.get<std::complex<double>>())
      return {Number{which == ComplexPart::real ? number->real() : number->imag()}};
  if (const List* list = operand.list()) {
    List made;
    for (const Operand& item : list->items) made.items.push_back(part_of(e, item, which));
    return {std::move(made)};
  }
  if (which == ComplexPart::real || operand.is_none()) return operand;
  if (const Number* number = operand.number()) {
    if (number->dtype() == DType::f64) return {Number{0.0}};
    return {Number{std::int64_t{0}}};
  }
  if (const Value* tensor = operand.tensor()) {
    const auto marked = e.build.plumbing();
    return {filled_like(e, *tensor, tensor->dtype, 0)};
  }
  throw Refusal{std::string(e.call.op()) + " isn't supported with such complex numbers"};
}

// The call as if it had real tensors.
class RealCall {
 public:
  explicit RealCall(Emission& e) : e_(e), facts_(&e.call.facts()), call_(e.call.node(), facts_) {
    for (const ir::Value* output : e.call.node().outputs()) state(output, part_of(e.call.facts().of(output), ComplexPart::real));
    if (const auto dtype = e.call.has("dtype") ? e.call.dtype("dtype") : std::nullopt; dtype && ir::is_complex(*dtype)) {
      const auto number = static_cast<std::int64_t>(symbolic::real_part(*dtype));
      state(e.call.value("dtype"), {.value = NumberFact{.kind = NumberFact::Kind::integer, .integer = Dim(number)}});
    }
  }

  void give(const ir::Value* value, Fact fact, Operand operand) {
    state(value, std::move(fact));
    operands_.insert_or_assign(value, std::move(operand));
  }
  std::vector<std::optional<Operand>> emit(const std::function<void(Emission&)>& emit) {
    Emission real(call_, &e_.row(), e_.facts_word(), e_.build, [this](const ir::Value* value) -> const Operand& {
      const auto own = operands_.find(value);
      return own == operands_.end() ? e_.operand_of(value) : own->second;
    });
    emit(real);
    return real.results();
  }

 private:
  void state(const ir::Value* value, Fact fact) { facts_.set(value, std::move(fact)); }

  Emission& e_;
  symbolic::FactTable facts_;
  symbolic::Call call_;
  std::map<const ir::Value*, Operand> operands_;
};

// The arguments with parts. A tensor that is passed twice has parts in both places or in neither.
std::vector<const ir::Value*> arguments_of(const Emission& e, const mapping::ComplexForm& form) {
  std::vector<const ir::Value*> made;
  for (const std::string& argument : form.arguments)
    if (const ir::Value* value = e.call.value(argument); value && std::ranges::find(made, value) == made.end())
      made.push_back(value);
  const auto& arguments = e.call.node().schema()->arguments;
  for (const auto& argument : arguments)
    if (std::ranges::find(form.arguments, argument.name) == form.arguments.end() && e.call.tensor(argument.name) &&
        std::ranges::find(made, e.call.value(argument.name)) != made.end())
      throw Refusal{std::string(e.call.op()) + " isn't supported with complex numbers where one tensor is two of its arguments"};
  return made;
}

Operand joined_halves(const Operand& real, const Operand& imag) {
  if (real.tensor() && imag.tensor()) return {Complex{*real.tensor(), *imag.tensor()}};
  List made;
  const List *reals = real.list(), *imags = imag.list();
  if (!reals || !imags || reals->items.size() != imags->items.size())
    throw Refusal{"lists of complex tensors whose length isn't known have no ONNX form"};
  for (std::size_t i = 0; i < reals->items.size(); ++i) made.items.push_back(joined_halves(reals->items[i], imags->items[i]));
  return {std::move(made)};
}

void emit_parts(Emission& e, const std::vector<const ir::Value*>& arguments, const std::function<void(Emission&)>& emit) {
  const auto of = [&](ComplexPart which) {
    RealCall call(e);
    for (const ir::Value* value : arguments)
      call.give(value, part_of(e.call.facts().of(value), which), part_of(e, e.operand_of(value), which));
    return call.emit(emit);
  };
  const auto outputs = e.call.node().outputs();
  const auto complex = [&](std::size_t i) { return symbolic::is_complex(e.call.facts().of(outputs[i])); };
  bool any = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    any |= complex(i);
    const auto* tensor = e.call.facts().of(outputs[i]).tensor();
    if (tensor && tensor->dtype == DType::boolean)  // true of an imaginary part, too
      throw Refusal{std::string(e.call.op()) + " isn't supported with complex numbers where it gives bools"};
  }
  const auto real = of(ComplexPart::real);
  const auto imag = any ? of(ComplexPart::imag) : real;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (real[i]) e.give_operand(i, complex(i) ? joined_halves(*real[i], *imag[i]) : *real[i]);
}

// One of the tensors that are multiplied: an argument, or a member of one.
struct ComplexFactor {
  const ir::Value* argument = nullptr;
  bool complex = false;
};

void emit_product(Emission& e, const std::vector<const ir::Value*>& arguments, const std::function<void(Emission&)>& emit) {
  std::vector<ComplexFactor> factors;
  for (const ir::Value* argument : arguments) {
    const Operand& operand = e.operand_of(argument);
    if (const List* list = operand.list())
      for (const Operand& item : list->items) factors.push_back({argument, item.complex() != nullptr});
    else
      factors.push_back({argument, operand.complex() != nullptr});
  }
  const auto complex = static_cast<std::size_t>(std::ranges::count_if(factors, &ComplexFactor::complex));
  if (complex > most_factors) throw Refusal{std::string(e.call.op()) + " of more than four complex tensors isn't supported"};
  // Bit k of a choice is set if the k-th complex factor contributes its imaginary part.
  const auto term = [&](std::size_t choice) {
    RealCall call(e);
    std::size_t next = 0;
    const auto which = [&](const Operand& operand) {
      return operand.complex() && (choice >> next++ & 1) ? ComplexPart::imag : ComplexPart::real;
    };
    for (const ir::Value* argument : arguments) {
      const Operand& operand = e.operand_of(argument);
      const List* list = operand.list();
      Operand chosen;
      if (list) {
        List items;
        for (const Operand& item : list->items) items.items.push_back(part_of(e, item, which(item)));
        chosen = {std::move(items)};
      } else {
        chosen = part_of(e, operand, which(operand));
      }
      call.give(argument, part_of(e.call.facts().of(argument), ComplexPart::real), std::move(chosen));
    }
    const auto results = call.emit(emit);
    return *results.at(0)->tensor();
  };
  Value sums[2];
  for (std::size_t choice = 0; choice < std::size_t{1} << complex; ++choice) {
    const int imaginary = std::popcount(choice);  // i², i³ …
    Value& sum = sums[imaginary % 2];
    const Value made = term(choice);
    const auto marked = e.build.plumbing();  // the row names what multiplies
    sum = !sum ? made : e.node(imaginary % 4 < 2 ? "Add" : "Sub", {sum, made});
  }
  e.give_operand(0, {Complex{sums[0], sums[1]}});
}

}  // namespace

void emit_complex_form(Emission& e, const mapping::ComplexForm& form, const std::function<void(Emission&)>& emit) {
  const auto arguments = arguments_of(e, form);
  if (form.kind == mapping::ComplexForm::Kind::product)
    emit_product(e, arguments, emit);
  else
    emit_parts(e, arguments, emit);
}

}  // namespace compatcheck::handlers
