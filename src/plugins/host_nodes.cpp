// Arguments as ONNX values, and the nodes that a plugin's handler makes of them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "mapping/reading/read.h"
#include "plugins/host_call.h"
#include "process/spell_count.h"

namespace compatcheck::plugins {
namespace {

using handlers::Emission;

template <class Work>
compatcheck_status emitting(compatcheck_call* call, Work&& work) {
  return guarded(call, [&](compatcheck_call& of, Emission& e) {
    if (!of.emits) throw Misuse{"nodes are made by handlers"};
    work(of, e);
  });
}

// A function whose answer is one value.
template <class Work>
compatcheck_status valued(compatcheck_call* call, compatcheck_value* answer, Work&& work) {
  return emitting(call, [&](compatcheck_call& of, Emission& e) { *answer = put(of, work(of, e)); });
}

onnx::Value present(const compatcheck_call& call, compatcheck_value id) {
  const onnx::Value value = value_at(call, id);
  if (!value) throw Misuse{"a value is absent where one is needed"};
  return value;
}

onnx::Values values_at(const compatcheck_call& call, const compatcheck_value* ids, std::size_t count) {
  onnx::Values values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(value_at(call, ids[i]));
  return values;
}

ir::DType known_dtype(compatcheck_dtype number) {
  const auto dtype = dtype_at(number);
  if (!dtype) throw Misuse{"a dtype is unknown where one is needed"};
  return *dtype;
}

onnx::Value of_rank(compatcheck_call& call, const onnx::Value& value, std::optional<std::size_t> rank) {
  if (value && rank) call.ranks.insert_or_assign(value.id, *rank);
  return value;
}

// ---- Arguments

compatcheck_status tensor(compatcheck_call* call, compatcheck_text argument, compatcheck_value* answer) {
  return valued(call, answer, [&](compatcheck_call& of, Emission& e) {
    return of_rank(of, e.tensor(view(argument)), e.call.rank(view(argument)));
  });
}
compatcheck_status tensors(compatcheck_call* call, compatcheck_text argument, const compatcheck_value** answer,
                           std::size_t* count) {
  return emitting(call, [&](compatcheck_call& of, Emission& e) {
    auto& made = of.ids.emplace_back();
    for (const onnx::Value& value : e.tensors(view(argument))) made.push_back(put(of, value));
    *answer = made.data();
    *count = made.size();
  });
}
compatcheck_status number_value(compatcheck_call* call, compatcheck_text argument, compatcheck_dtype dtype,
                                compatcheck_value* answer) {
  return valued(call, answer, [&](auto&, Emission& e) { return e.number_value(view(argument), known_dtype(dtype)); });
}
compatcheck_status int_vector(compatcheck_call* call, compatcheck_text argument, compatcheck_value* answer) {
  return valued(call, answer, [&](auto&, Emission& e) { return e.int_vector(view(argument)); });
}
compatcheck_status shape_of(compatcheck_call* call, compatcheck_text tensor, compatcheck_value* answer) {
  return valued(call, answer, [&](auto&, Emission& e) { return e.shape_of(view(tensor)); });
}
compatcheck_status size_of(compatcheck_call* call, compatcheck_text tensor, std::int64_t axis, compatcheck_value* answer) {
  return valued(call, answer, [&](auto&, Emission& e) { return e.size_of(view(tensor), axis); });
}
// Without a status: 0 for what is absent.
compatcheck_dtype dtype_of(compatcheck_call* call, compatcheck_value value) {
  compatcheck_dtype made = 0;
  guarded_without_status(call, [&](compatcheck_call& of, Emission&) { made = number_of(present(of, value).dtype); });
  return made;
}

// ---- Constants

// The least and the greatest number of a dtype; no dtype but f64 and i64 has more of them than a double.
std::pair<double, double> range_of(ir::DType dtype) {
  const auto up_to = [](double most) { return std::pair(-most, most); };
  switch (dtype) {
    case ir::DType::boolean: return {0, 1};
    case ir::DType::u8: return {0, 0xff};
    case ir::DType::u16: return {0, 0xffff};
    case ir::DType::u32: return {0, 0xffffffff};
    case ir::DType::i8: return {-0x80, 0x7f};
    case ir::DType::i16: return {-0x8000, 0x7fff};
    case ir::DType::i32: return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    case ir::DType::i64: return {-0x1p63, std::nextafter(0x1p63, 0.0)};
    case ir::DType::u64: return {0, std::nextafter(0x1p64, 0.0)};
    case ir::DType::f16: return up_to(65504);
    case ir::DType::bf16: return up_to(0x1.fep127);
    case ir::DType::f32: return up_to(std::numeric_limits<float>::max());
    default: return up_to(std::numeric_limits<double>::max());
  }
}

void demand_in_range(ir::DType dtype, double number) {
  const auto [least, most] = range_of(dtype);
  const bool held = ir::is_floating(dtype) || ir::is_complex(dtype)
                        ? !std::isfinite(number) || (number >= least && number <= most)
                        : number == std::trunc(number) && number >= least && number <= most;
  if (!held) throw Misuse{std::string(ir::name(dtype)) + " holds no " + std::to_string(number)};
}

compatcheck_status integer_scalar(compatcheck_call* call, compatcheck_dtype dtype, std::int64_t number,
                                  compatcheck_value* answer) {
  return valued(call, answer, [&](auto&, Emission& e) {
    if (known_dtype(dtype) != ir::DType::i64) demand_in_range(known_dtype(dtype), static_cast<double>(number));
    return e.scalar(known_dtype(dtype), number);
  });
}
compatcheck_status floating_scalar(compatcheck_call* call, compatcheck_dtype dtype, double number, compatcheck_value* answer) {
  return valued(call, answer, [&](auto&, Emission& e) {
    demand_in_range(known_dtype(dtype), number);
    return e.scalar(known_dtype(dtype), number);
  });
}
compatcheck_status int_constant(compatcheck_call* call, const std::int64_t* numbers, std::size_t count,
                                compatcheck_value* answer) {
  return valued(call, answer, [&](auto&, Emission& e) { return e.integers(onnx::Ints(numbers, numbers + count)); });
}

onnx::TensorData tensor_data(ir::DType dtype, const std::int64_t* dims, std::size_t rank, const void* bytes, std::size_t size) {
  std::uint64_t expected = ir::element_bytes(dtype);
  for (std::size_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) throw Misuse{"a constant has a size below 0"};
    if (__builtin_mul_overflow(expected, static_cast<std::uint64_t>(dims[i]), &expected)) throw Misuse{"a constant is too large"};
  }
  if (expected != size)
    throw Misuse{"a constant has " + spell_count(size, "byte") + ", its dtype and sizes make " + std::to_string(expected)};
  const auto* first = static_cast<const std::uint8_t*>(bytes);
  return {.dtype = dtype, .dims = {dims, dims + rank}, .bytes = {first, first + size}};
}
compatcheck_status constant(compatcheck_call* call, compatcheck_dtype dtype, const std::int64_t* dims, std::size_t rank,
                            const void* bytes, std::size_t size, compatcheck_value* answer) {
  return valued(call, answer, [&](compatcheck_call& of, Emission& e) {
    return of_rank(of, e.build.constant(tensor_data(known_dtype(dtype), dims, rank, bytes, size)), rank);
  });
}

// ---- Nodes

template <class T>
const T* elements(const compatcheck_attribute& attribute, bool one) {
  if (one && attribute.count != 1) throw Misuse{"attribute '" + std::string(view(attribute.name)) + "' isn't one thing"};
  return static_cast<const T*>(attribute.data);
}

onnx::Argument argument_of(const compatcheck_call& call, const compatcheck_attribute& attribute) {
  switch (attribute.kind) {
    case compatcheck_attribute_int: return *elements<std::int64_t>(attribute, true);
    case compatcheck_attribute_float: return *elements<double>(attribute, true);
    case compatcheck_attribute_text: return std::string(view(*elements<compatcheck_text>(attribute, true)));
    case compatcheck_attribute_value: return present(call, *elements<compatcheck_value>(attribute, true));
    case compatcheck_attribute_ints: {
      const auto* first = elements<std::int64_t>(attribute, false);
      return onnx::Ints(first, first + attribute.count);
    }
    case compatcheck_attribute_floats: {
      const auto* first = elements<double>(attribute, false);
      return std::vector<double>(first, first + attribute.count);
    }
    case compatcheck_attribute_texts: {
      std::vector<std::string> texts;
      for (std::size_t i = 0; i < attribute.count; ++i) texts.emplace_back(view(elements<compatcheck_text>(attribute, false)[i]));
      return texts;
    }
    default: throw Misuse{"attribute '" + std::string(view(attribute.name)) + "' is of no kind"};
  }
}

compatcheck_status node(compatcheck_call* call, compatcheck_text op, const compatcheck_value* inputs, std::size_t count,
                        const compatcheck_attribute* attributes, std::size_t attribute_count, compatcheck_dtype dtype,
                        compatcheck_value* answer, std::size_t outputs) {
  return emitting(call, [&](compatcheck_call& of, Emission& e) {
    onnx::Arguments arguments;
    for (std::size_t i = 0; i < attribute_count; ++i)
      arguments.push_back({view(attributes[i].name), argument_of(of, attributes[i])});
    if (!mapping::reading::is_onnx_name(view(op)))
      throw Misuse{"`" + std::string(view(op)) + "` isn't the name of an ONNX operator"};
    if (outputs == 0) throw Misuse{std::string(view(op)) + " without outputs"};
    const auto made = e.build.nodes(view(op), values_at(of, inputs, count), outputs, arguments, dtype_at(dtype));
    for (std::size_t i = 0; i < outputs; ++i) answer[i] = put(of, made[i]);
  });
}

compatcheck_status cast(compatcheck_call* call, compatcheck_value value, compatcheck_dtype dtype, compatcheck_value* answer) {
  return valued(call, answer, [&](compatcheck_call& of, Emission& e) { return e.cast(present(of, value), known_dtype(dtype)); });
}

compatcheck_status reshape(compatcheck_call* call, compatcheck_value value, const std::int64_t* dims, std::size_t count,
                           compatcheck_value* answer) {
  return valued(call, answer, [&](compatcheck_call& of, Emission& e) {
    return of_rank(of, e.build.reshape(present(of, value), onnx::Ints(dims, dims + count)), count);
  });
}

std::optional<std::size_t> rank_of(const compatcheck_call& call, const onnx::Value& value) {
  const auto found = call.ranks.find(value.id);
  return found == call.ranks.end() ? std::nullopt : std::optional(found->second);
}

// Checks axes of a tensor with that many dimensions, where the rank is known.
void demand_axes(const onnx::Ints& axes, std::optional<std::size_t> rank) {
  for (const std::int64_t axis : axes) {
    if (axis < 0 || (rank && axis >= static_cast<std::int64_t>(*rank)))
      throw Misuse{"there is no dimension " + std::to_string(axis)};
    if (std::ranges::count(axes, axis) > 1) throw Misuse{"dimension " + std::to_string(axis) + " is named twice"};
  }
}

template <onnx::Value (onnx::Builder::*member)(const onnx::Value&, const onnx::Ints&), bool adds>
compatcheck_status on_axes(compatcheck_call* call, compatcheck_value value, const std::int64_t* first, std::size_t count,
                           compatcheck_value* answer) {
  return valued(call, answer, [&](compatcheck_call& of, Emission& e) {
    const onnx::Ints axes(first, first + count);
    const onnx::Value operand = present(of, value);
    auto rank = rank_of(of, operand);
    if (rank && adds) *rank += count;
    demand_axes(axes, rank);
    if (rank && !adds) *rank -= count;
    return of_rank(of, (e.build.*member)(operand, axes), rank);
  });
}

compatcheck_status transpose(compatcheck_call* call, compatcheck_value value, const std::int64_t* order, std::size_t count,
                             compatcheck_value* answer) {
  return valued(call, answer, [&](compatcheck_call& of, Emission& e) {
    const onnx::Value moved = present(of, value);
    const onnx::Ints permutation(order, order + count);
    for (std::size_t axis = 0; axis < count; ++axis)
      if (std::ranges::find(permutation, static_cast<std::int64_t>(axis)) == permutation.end())
        throw Misuse{"transpose: its order isn't each dimension once"};
    const auto rank = rank_of(of, moved);
    if (!rank) return of_rank(of, e.build.node("Transpose", {moved}, {{"perm", permutation}}), count);  // onnx looks at the order
    if (*rank != count)
      throw Misuse{"transpose: its order has " + spell_count(count, "dimension") + ", the tensor " + std::to_string(*rank)};
    return of_rank(of, e.build.transpose(moved, permutation), count);
  });
}

compatcheck_status concat(compatcheck_call* call, const compatcheck_value* parts, std::size_t count, std::int64_t axis,
                          compatcheck_value* answer) {
  return valued(call, answer, [&](compatcheck_call& of, Emission& e) {
    onnx::Values values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(present(of, parts[i]));
    if (values.empty()) throw Misuse{"nothing to concatenate"};
    demand_axes({axis}, rank_of(of, values.front()));
    return e.build.concat(values, axis);
  });
}
compatcheck_status gather(compatcheck_call* call, compatcheck_value data, compatcheck_value indices, std::int64_t axis,
                          compatcheck_value* answer) {
  return valued(call, answer, [&](compatcheck_call& of, Emission& e) {
    demand_axes({axis}, rank_of(of, present(of, data)));
    return e.build.gather(present(of, data), present(of, indices), axis);
  });
}

// ---- Results

compatcheck_status give(compatcheck_call* call, std::size_t output, compatcheck_value value) {
  return emitting(call, [&](compatcheck_call& of, Emission& e) { e.give(output, present(of, value)); });
}
compatcheck_status give_list(compatcheck_call* call, std::size_t output, const compatcheck_value* values, std::size_t count) {
  return emitting(call, [&](compatcheck_call& of, Emission& e) {
    if (output >= e.results().size()) throw Misuse{std::string(e.call.op()) + " has no output " + std::to_string(output)};
    onnx::Values given;
    for (std::size_t i = 0; i < count; ++i) given.push_back(present(of, values[i]));
    e.give_list(output, given);
  });
}

}  // namespace

void add_nodes(compatcheck_host& host) {
  host.tensor = tensor;
  host.tensors = tensors;
  host.number_value = number_value;
  host.int_vector = int_vector;
  host.shape_of = shape_of;
  host.size_of = size_of;
  host.dtype_of = dtype_of;
  host.integer_scalar = integer_scalar;
  host.floating_scalar = floating_scalar;
  host.int_constant = int_constant;
  host.constant = constant;
  host.node = node;
  host.cast = cast;
  host.reshape = reshape;
  host.transpose = transpose;
  host.unsqueeze = on_axes<&onnx::Builder::unsqueeze, true>;
  host.squeeze = on_axes<&onnx::Builder::squeeze, false>;
  host.concat = concat;
  host.gather = gather;
  host.give = give;
  host.give_list = give_list;
}

}  // namespace compatcheck::plugins
