// Sizes, and the facts that a plugin states.
#include "plugins/host_call.h"
#include "symbolic/shapes.h"

namespace compatcheck::plugins {
namespace {

using handlers::Emission;
using symbolic::Dim;

compatcheck_dim size_of_number(compatcheck_call* call, std::int64_t number) { return put(*call, Dim(number)); }

compatcheck_status number_of_size(compatcheck_call* call, compatcheck_dim size, std::int64_t* answer) {
  return guarded(call, [&](compatcheck_call& of, Emission&) {
    const auto number = dim_at(of, size).number();
    if (!number) throw handlers::Wanting{{.message = "a size isn't known"}};
    *answer = *number;
  });
}

compatcheck_status integer_as_size(compatcheck_call* call, compatcheck_text argument, compatcheck_dim* answer) {
  return guarded(call, [&](compatcheck_call& of, Emission& e) {
    const auto known = e.call.dim(view(argument));
    if (!known) e.want(view(argument), "the value");
    *answer = put(of, *known);
  });
}

Dim combined(char operation, const Dim& a, const Dim& b) {
  switch (operation) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return b.number() == 0 ? Dim::unknown() : floor_div(a, b);
    case '%': return b.number() == 0 ? Dim::unknown() : modulo(a, b);
    default: throw Misuse{"sizes are combined by + - * / %"};
  }
}

// Without a status: what can't be combined is unknown.
compatcheck_dim combine_sizes(compatcheck_call* call, char operation, compatcheck_dim a, compatcheck_dim b) {
  compatcheck_dim made = 0;
  guarded_without_status(
      call, [&](compatcheck_call& of, Emission&) { made = put(of, combined(operation, dim_at(of, a), dim_at(of, b))); });
  return made;
}

std::int32_t sizes_equal(compatcheck_call* call, compatcheck_dim a, compatcheck_dim b) {
  bool equal = false;
  guarded_without_status(call, [&](compatcheck_call& of, Emission&) { equal = provably_equal(dim_at(of, a), dim_at(of, b)); });
  return equal;
}

symbolic::Shape shape_at(const compatcheck_call& call, const compatcheck_dim* dims, std::size_t count) {
  symbolic::Shape shape;
  for (std::size_t i = 0; i < count; ++i) shape.push_back(dim_at(call, dims[i]));
  return shape;
}

compatcheck_status broadcast(compatcheck_call* call, const compatcheck_dim* a, std::size_t a_count, const compatcheck_dim* b,
                             std::size_t b_count, const compatcheck_dim** answer, std::size_t* count) {
  return guarded(call, [&](compatcheck_call& of, Emission&) {
    give_dims(of, *symbolic::broadcast(shape_at(of, a, a_count), shape_at(of, b, b_count)), answer, count);
  });
}

void demand_statement(const compatcheck_call& call) {
  if (!call.states) throw Misuse{"facts are stated by what is registered for them"};
}

bool may_be(const ir::TypeRef& type, bool tensor) {
  switch (type ? type->kind : ir::TypeKind::any) {
    case ir::TypeKind::any: return true;
    case ir::TypeKind::tensor: return tensor;
    case ir::TypeKind::optional: return may_be(type->elements.front(), tensor);
    case ir::TypeKind::integer:
    case ir::TypeKind::number: return !tensor;
    default: return false;
  }
}

void state(compatcheck_call& call, std::size_t output, symbolic::Fact fact) {
  demand_statement(call);
  if (output >= call.stated.size())
    throw Misuse{std::string(call.emission.call.op()) + " has no output " + std::to_string(output)};
  const ir::TypeRef& type = call.emission.call.node().output(output)->type();
  if (!may_be(type, fact.tensor()))
    throw Misuse{"output " + std::to_string(output) + " is " + ir::to_string(*type) + ", and " +
                 (fact.tensor() ? "a tensor" : "an integer") + " is stated of it"};
  call.stated[output] = std::move(fact);
}

compatcheck_status state_by_word(compatcheck_call* call, compatcheck_text word) {
  return guarded(call, [&](compatcheck_call& of, Emission& e) {
    demand_statement(of);
    const auto function = of.words->find_fact_word(view(word));
    if (!function) throw Misuse{"`" + std::string(view(word)) + "` isn't a word for facts"};
    auto made = function(e.call);
    made.resize(of.stated.size());
    of.stated = std::move(made);
  });
}

compatcheck_status state_tensor(compatcheck_call* call, std::size_t output, compatcheck_dtype dtype, const compatcheck_dim* dims,
                                std::size_t rank) {
  return guarded(call, [&](compatcheck_call& of, Emission&) {
    state(of, output, symbolic::tensor_fact(dtype_at(dtype), dims ? std::optional(shape_at(of, dims, rank)) : std::nullopt));
  });
}

compatcheck_status state_integer(compatcheck_call* call, std::size_t output, compatcheck_dim value) {
  return guarded(call, [&](compatcheck_call& of, Emission&) { state(of, output, symbolic::integer_fact(dim_at(of, value))); });
}

}  // namespace

void add_sizes_and_facts(compatcheck_host& host) {
  host.size_of_number = size_of_number;
  host.number_of_size = number_of_size;
  host.integer_as_size = integer_as_size;
  host.combine_sizes = combine_sizes;
  host.sizes_equal = sizes_equal;
  host.broadcast = broadcast;
  host.state_by_word = state_by_word;
  host.state_tensor = state_tensor;
  host.state_integer = state_integer;
}

}  // namespace compatcheck::plugins
