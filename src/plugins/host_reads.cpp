// A plugin's questions about a call's arguments and results.
#include "plugins/host_call.h"

namespace compatcheck::plugins {
namespace {

using handlers::Emission;

// A read of one argument, by a member of Emission.
template <class Answer, class Read>
compatcheck_status read(compatcheck_call* call, Answer* answer, Read&& read_value) {
  return guarded(call, [&](compatcheck_call& of, Emission& e) { *answer = static_cast<Answer>(read_value(of, e)); });
}

template <class Kept, class List, class Element>
void answer_list(Kept& kept, const List& list, const Element** answer, std::size_t* count) {
  auto& made = kept.emplace_back(list.begin(), list.end());
  *answer = made.data();
  *count = made.size();
}

void demand_nodes(const compatcheck_call& call) {
  if (!call.emits) throw Misuse{"results and nodes are a handler's"};
}

compatcheck_text op(compatcheck_call* call) { return {call->emission.call.op().data(), call->emission.call.op().size()}; }
std::int32_t at_least(compatcheck_call* call, std::int32_t opset) { return call->emits && call->emission.at_least(opset); }
std::int32_t row_has(compatcheck_call* call, compatcheck_text name) { return call->emission.row_has(view(name)); }

compatcheck_status given(compatcheck_call* call, compatcheck_text argument, std::int32_t* answer) {
  return read(call, answer, [&](auto&, Emission& e) { return e.given(view(argument)); });
}
compatcheck_status dtype(compatcheck_call* call, compatcheck_text tensor, compatcheck_dtype* answer) {
  return read(call, answer, [&](auto&, Emission& e) { return number_of(e.dtype(view(tensor))); });
}
compatcheck_status rank(compatcheck_call* call, compatcheck_text tensor, std::int64_t* answer) {
  return read(call, answer, [&](auto&, Emission& e) { return e.rank(view(tensor)); });
}
compatcheck_status shape(compatcheck_call* call, compatcheck_text tensor, const compatcheck_dim** answer, std::size_t* count) {
  return guarded(call, [&](compatcheck_call& of, Emission& e) { give_dims(of, e.shape(view(tensor)), answer, count); });
}
compatcheck_status known_size(compatcheck_call* call, compatcheck_text tensor, std::int64_t axis, std::int64_t* answer) {
  return read(call, answer, [&](auto&, Emission& e) { return e.known_size(view(tensor), axis); });
}
compatcheck_status integer(compatcheck_call* call, compatcheck_text argument, std::int64_t* answer) {
  return read(call, answer, [&](auto&, Emission& e) { return e.integer(view(argument)); });
}
compatcheck_status number(compatcheck_call* call, compatcheck_text argument, double* answer) {
  return read(call, answer, [&](auto&, Emission& e) { return e.number(view(argument)); });
}
compatcheck_status boolean(compatcheck_call* call, compatcheck_text argument, std::int32_t* answer) {
  return read(call, answer, [&](auto&, Emission& e) { return e.boolean(view(argument)); });
}
compatcheck_status string(compatcheck_call* call, compatcheck_text argument, compatcheck_text* answer) {
  return guarded(call, [&](compatcheck_call& of, Emission& e) {
    const std::string& kept = of.texts.emplace_back(e.string(view(argument)));
    *answer = {kept.data(), kept.size()};
  });
}
compatcheck_status integers(compatcheck_call* call, compatcheck_text argument, const std::int64_t** answer, std::size_t* count) {
  return guarded(call,
                 [&](compatcheck_call& of, Emission& e) { answer_list(of.integers, e.ints(view(argument)), answer, count); });
}
compatcheck_status numbers(compatcheck_call* call, compatcheck_text argument, const double** answer, std::size_t* count) {
  return guarded(call,
                 [&](compatcheck_call& of, Emission& e) { answer_list(of.numbers, e.floats(view(argument)), answer, count); });
}
compatcheck_status axis(compatcheck_call* call, compatcheck_text argument, compatcheck_text tensor, std::int64_t* answer) {
  return read(call, answer, [&](auto&, Emission& e) { return e.axis(view(argument), view(tensor)); });
}
compatcheck_status axes(compatcheck_call* call, compatcheck_text argument, compatcheck_text tensor, const std::int64_t** answer,
                        std::size_t* count) {
  return guarded(call, [&](compatcheck_call& of, Emission& e) {
    answer_list(of.integers, e.axes(view(argument), view(tensor)), answer, count);
  });
}

void demand_output(const compatcheck_call& call, std::size_t output) {
  demand_nodes(call);
  if (output >= call.emission.call.node().outputs().size())
    throw Misuse{std::string(call.emission.call.op()) + " has no output " + std::to_string(output)};
}
compatcheck_status output_dtype(compatcheck_call* call, std::size_t output, compatcheck_dtype* answer) {
  return read(call, answer, [&](compatcheck_call& of, Emission& e) {
    demand_output(of, output);
    return number_of(e.output_dtype(output));
  });
}
compatcheck_status output_shape(compatcheck_call* call, std::size_t output, const compatcheck_dim** answer, std::size_t* count) {
  return guarded(call, [&](compatcheck_call& of, Emission& e) {
    demand_output(of, output);
    give_dims(of, e.output_shape(output), answer, count);
  });
}
std::int32_t output_used(compatcheck_call* call, std::size_t output) { return call->emission.output_used(output); }

}  // namespace

void add_reads(compatcheck_host& host) {
  host.op = op;
  host.at_least = at_least;
  host.row_has = row_has;
  host.given = given;
  host.dtype = dtype;
  host.rank = rank;
  host.shape = shape;
  host.known_size = known_size;
  host.integer = integer;
  host.number = number;
  host.boolean = boolean;
  host.string = string;
  host.integers = integers;
  host.numbers = numbers;
  host.axis = axis;
  host.axes = axes;
  host.output_dtype = output_dtype;
  host.output_shape = output_shape;
  host.output_used = output_used;
}

}  // namespace compatcheck::plugins
