// Writing a plugin: a shared library that brings handlers, facts, conditions and rows (docs/plugins.md). Header only: a plugin
// links nothing of compatcheck, and nothing but C types crosses (compatcheck/plugin_abi.h).
//
//   #include <compatcheck/plugin.h>
//   namespace plugin = compatcheck::plugin;
//
//   static void swish(plugin::Emission& e) {
//     const auto x = e.tensor("self");
//     e.give(e.node("Mul", {x, e.node("Sigmoid", {x})}));
//   }
//   static void enter(plugin::Registry& registry) {
//     registry.handler("acme::swish",
//                      {.emits = {"Mul", "Sigmoid"}, .facts = "same", .schema = "acme::swish(Tensor self) -> Tensor"},
//                      swish);
//   }
//   extern "C" const compatcheck_plugin_entry compatcheck_plugin = compatcheck::plugin::entry<enter>();
//
// Functions are called from several threads at once, each with its own call: data that they share must be thread-safe.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "compatcheck/plugin_abi.h"

extern "C" __attribute__((visibility("default"))) const compatcheck_plugin_entry compatcheck_plugin;

namespace compatcheck::plugin {

enum class DType : compatcheck_dtype {  // the numbers are ONNX's
  unknown = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  c64 = 14,
  c128 = 15,
  bf16 = 16
};

// Throw it if the call can't become ONNX. The model's report has the reason, and the hint as what to do.
struct Refusal {
  std::string reason, hint{};
};
// Reads throw it for a fact that isn't known. If a handler doesn't catch it, the call isn't converted, or needs --input; a
// handler that catches it may write other nodes.
struct Unknown : std::exception {
  const char* what() const noexcept override { return "not known"; }
};

namespace detail {

// compatcheck keeps what went wrong; this carries the status back to it.
struct Stopped {
  compatcheck_status status;
};

inline compatcheck_text text(std::string_view view) { return {view.data(), view.size()}; }
inline std::string_view view(compatcheck_text text) { return {text.data, text.size}; }

inline void check(compatcheck_status status) {
  if (status == compatcheck_unknown) throw Unknown();
  if (status != compatcheck_ok) throw Stopped{status};
}

}  // namespace detail

using Ints = std::vector<std::int64_t>;

// One call of an operator: its arguments by the names in its schema. Reads throw Unknown for facts that aren't known. A wrong
// argument name ends the call with an error.
class Call {
 public:
  Call(const compatcheck_host& host, compatcheck_call* call) : host_(host), call_(call) {}
  Call(const Call&) = delete;

  std::string op() const { return std::string(detail::view(host_.op(call_))); }
  bool given(std::string_view argument) const { return read<std::int32_t>(host_.given, argument) != 0; }  // there, and not None
  DType dtype(std::string_view tensor) const { return static_cast<DType>(read<compatcheck_dtype>(host_.dtype, tensor)); }
  std::int64_t rank(std::string_view tensor) const { return read<std::int64_t>(host_.rank, tensor); }
  std::int64_t known_size(std::string_view tensor, std::int64_t axis) const {
    std::int64_t answer = 0;
    detail::check(host_.known_size(call_, detail::text(tensor), axis, &answer));
    return answer;
  }
  std::int64_t integer(std::string_view argument) const { return read<std::int64_t>(host_.integer, argument); }
  std::int64_t integer(std::string_view argument, std::int64_t if_none) const {
    return given(argument) ? integer(argument) : if_none;
  }
  double number(std::string_view argument) const { return read<double>(host_.number, argument); }
  double number(std::string_view argument, double if_none) const { return given(argument) ? number(argument) : if_none; }
  bool boolean(std::string_view argument) const { return read<std::int32_t>(host_.boolean, argument) != 0; }
  std::string string(std::string_view argument) const {
    return std::string(detail::view(read<compatcheck_text>(host_.string, argument)));
  }
  Ints ints(std::string_view argument) const { return list<std::int64_t>(host_.integers, argument); }
  std::vector<double> floats(std::string_view argument) const { return list<double>(host_.numbers, argument); }
  // A dimension as an axis of `tensor` that isn't negative; of axes: sorted, None or an empty list mean all.
  std::int64_t axis(std::string_view argument, std::string_view tensor = "self") const {
    std::int64_t answer = 0;
    detail::check(host_.axis(call_, detail::text(argument), detail::text(tensor), &answer));
    return answer;
  }
  Ints axes(std::string_view argument, std::string_view tensor = "self") const {
    const std::int64_t* first = nullptr;
    std::size_t count = 0;
    detail::check(host_.axes(call_, detail::text(argument), detail::text(tensor), &first, &count));
    return {first, first + count};
  }
  // Runs one of the reads above, with nullopt instead of Unknown.
  template <class Read>
  static auto if_known(Read&& read) -> std::optional<decltype(read())> {
    try {
      return read();
    } catch (const Unknown&) {
      return std::nullopt;
    }
  }
  // Ends the call: it needs a fact that --input can state, or that the facts of another node should state.
  [[noreturn]] void want(std::string_view argument, std::string_view what) const {
    host_.want(call_, detail::text(argument), detail::text(what));
    throw Unknown();
  }

 protected:
  template <class T, class Function>
  T read(Function function, std::string_view argument) const {
    T answer{};
    detail::check(function(call_, detail::text(argument), &answer));
    return answer;
  }
  template <class T, class Function>
  std::vector<T> list(Function function, std::string_view argument) const {
    const T* first = nullptr;
    std::size_t count = 0;
    detail::check(function(call_, detail::text(argument), &first, &count));
    return {first, first + count};
  }

  const compatcheck_host& host_;
  compatcheck_call* call_;
};

// ---- Handlers

// An ONNX value; false: absent.
struct Value {
  compatcheck_value id = 0;
  DType dtype = DType::unknown;
  explicit operator bool() const { return id != 0; }
};
using Values = std::vector<Value>;

// The value of an attribute; a Value if a later opset has an input instead of the attribute.
using Argument = std::variant<std::int64_t, double, std::string, Ints, std::vector<double>, std::vector<std::string>, Value>;
struct Attribute {
  template <class T>
  Attribute(std::string of, T&& set) : name(std::move(of)), value(made(std::forward<T>(set))) {}
  std::string name;
  Argument value;

 private:
  template <class T>
  static Argument made(T&& set) {
    using Plain = std::remove_cvref_t<T>;
    if constexpr (std::is_integral_v<Plain>)
      return static_cast<std::int64_t>(set);
    else if constexpr (std::is_floating_point_v<Plain>)
      return static_cast<double>(set);
    else if constexpr (std::is_convertible_v<T, std::string_view>)
      return std::string(std::string_view(set));
    else
      return Argument(std::forward<T>(set));
  }
};
using Attributes = std::vector<Attribute>;

// A call while it becomes ONNX nodes. Every output that is used must be given.
class Emission : public Call {
 public:
  using Call::Call;

  bool at_least(int opset) const { return host_.at_least(call_, opset) != 0; }
  bool row_has(std::string_view onnx_op) const { return host_.row_has(call_, detail::text(onnx_op)) != 0; }
  // nullopt: known when the model runs.
  std::optional<std::int64_t> size(std::string_view tensor, std::int64_t axis) const {
    return if_known([&] { return known_size(tensor, axis); });
  }
  DType output_dtype(std::size_t output = 0) const {
    compatcheck_dtype answer = 0;
    detail::check(host_.output_dtype(call_, output, &answer));
    return static_cast<DType>(answer);
  }
  std::int64_t output_rank(std::size_t output = 0) const {
    const compatcheck_dim* first = nullptr;
    std::size_t count = 0;
    detail::check(host_.output_shape(call_, output, &first, &count));
    return static_cast<std::int64_t>(count);
  }
  bool output_used(std::size_t output) const { return host_.output_used(call_, output) != 0; }

  // ---- Arguments
  Value tensor(std::string_view argument) const { return value(read<compatcheck_value>(host_.tensor, argument)); }
  Value tensor(std::string_view argument, DType dtype) const { return cast(tensor(argument), dtype); }
  Value optional_tensor(std::string_view argument) const {
    return given(argument) ? tensor(argument) : Value{};
  }                                                  // absent if None
  Values tensors(std::string_view argument) const {  // the argument is a list
    Values made;
    for (const compatcheck_value id : list<compatcheck_value>(host_.tensors, argument)) made.push_back(value(id));
    return made;
  }
  Value number_value(std::string_view argument, DType dtype) const {
    return value_from([&](auto* answer) {
      return host_.number_value(call_, detail::text(argument), static_cast<compatcheck_dtype>(dtype), answer);
    });
  }
  Value int_vector(std::string_view argument) const {
    return value(read<compatcheck_value>(host_.int_vector, argument));
  }                                                                                                                 // int[], i64
  Value shape_of(std::string_view tensor) const { return value(read<compatcheck_value>(host_.shape_of, tensor)); }  // i64 vector
  Value size_of(std::string_view tensor, std::int64_t axis) const {  // i64 vector of one element
    return value_from([&](auto* answer) { return host_.size_of(call_, detail::text(tensor), axis, answer); });
  }

  // ---- Constants
  Value scalar(DType dtype, std::int64_t number) const {
    return value_from(
        [&](auto* answer) { return host_.integer_scalar(call_, static_cast<compatcheck_dtype>(dtype), number, answer); });
  }
  Value scalar(DType dtype, int number) const { return scalar(dtype, std::int64_t{number}); }
  Value scalar(DType dtype, double number) const {
    return value_from(
        [&](auto* answer) { return host_.floating_scalar(call_, static_cast<compatcheck_dtype>(dtype), number, answer); });
  }
  Value integers(const Ints& numbers) const {
    return value_from([&](auto* answer) { return host_.int_constant(call_, numbers.data(), numbers.size(), answer); });
  }
  // Elements row-major; T is the dtype's own type.
  template <class T>
  Value constant(DType dtype, const Ints& dims, const std::vector<T>& elements) const {
    return value_from([&](auto* answer) {
      return host_.constant(call_, static_cast<compatcheck_dtype>(dtype), dims.data(), dims.size(), elements.data(),
                            elements.size() * sizeof(T), answer);
    });
  }

  // ---- Nodes. "Conv", or "com.acme::Swish"; `dtype` is the result's if it doesn't follow from an input
  Value node(std::string_view op, const Values& inputs, const Attributes& attributes = {}, DType dtype = DType::unknown) const {
    return nodes(op, inputs, 1, attributes, dtype).front();
  }
  Values nodes(std::string_view op, const Values& inputs, std::size_t outputs, const Attributes& attributes = {},
               DType dtype = DType::unknown) const {
    std::vector<Passed> passed(attributes.size());
    std::vector<compatcheck_attribute> crossing;
    for (std::size_t i = 0; i < attributes.size(); ++i) crossing.push_back(pass(attributes[i], passed[i]));
    const auto value_ids = ids(inputs);
    std::vector<compatcheck_value> made(outputs);
    detail::check(host_.node(call_, detail::text(op), value_ids.data(), value_ids.size(), crossing.data(), crossing.size(),
                             static_cast<compatcheck_dtype>(dtype), made.data(), outputs));
    Values results;
    for (const compatcheck_value id : made) results.push_back(value(id));
    return results;
  }
  Value cast(const Value& of, DType dtype) const {
    return value_from([&](auto* answer) { return host_.cast(call_, of.id, static_cast<compatcheck_dtype>(dtype), answer); });
  }
  Value reshape(const Value& of, const Ints& dims) const { return placed(host_.reshape, of, dims); }  // dims as Reshape's
  Value transpose(const Value& of, const Ints& order) const { return placed(host_.transpose, of, order); }
  Value unsqueeze(const Value& of, const Ints& axes) const { return placed(host_.unsqueeze, of, axes); }
  Value squeeze(const Value& of, const Ints& axes) const { return placed(host_.squeeze, of, axes); }
  Value concat(const Values& parts, std::int64_t axis) const {
    const auto value_ids = ids(parts);
    return value_from([&](auto* answer) { return host_.concat(call_, value_ids.data(), value_ids.size(), axis, answer); });
  }
  Value gather(const Value& data, const Value& indices, std::int64_t axis) const {
    return value_from([&](auto* answer) { return host_.gather(call_, data.id, indices.id, axis, answer); });
  }

  // ---- Results, cast to the dtype that the facts state
  void give(const Value& result) const { give(0, result); }
  void give(std::size_t output, const Value& result) const { detail::check(host_.give(call_, output, result.id)); }
  void give_list(std::size_t output, const Values& results) const {
    const auto value_ids = ids(results);
    detail::check(host_.give_list(call_, output, value_ids.data(), value_ids.size()));
  }

 private:
  struct Passed {
    compatcheck_text one{};
    std::vector<compatcheck_text> texts{};
  };

  Value value(compatcheck_value id) const { return {id, id ? static_cast<DType>(host_.dtype_of(call_, id)) : DType::unknown}; }
  template <class Request>
  Value value_from(Request&& request) const {
    compatcheck_value id = 0;
    detail::check(request(&id));
    return value(id);
  }
  template <class Function>
  Value placed(Function function, const Value& of, const Ints& places) const {
    return value_from([&](auto* answer) { return function(call_, of.id, places.data(), places.size(), answer); });
  }
  static std::vector<compatcheck_value> ids(const Values& values) {
    std::vector<compatcheck_value> made;
    for (const Value& one : values) made.push_back(one.id);
    return made;
  }
  static compatcheck_attribute pass(const Attribute& attribute, Passed& passed) {
    const auto name = detail::text(attribute.name);
    if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) return {compatcheck_attribute_int, name, integer, 1};
    if (const auto* floating = std::get_if<double>(&attribute.value)) return {compatcheck_attribute_float, name, floating, 1};
    if (const auto* ints = std::get_if<Ints>(&attribute.value))
      return {compatcheck_attribute_ints, name, ints->data(), ints->size()};
    if (const auto* floats = std::get_if<std::vector<double>>(&attribute.value))
      return {compatcheck_attribute_floats, name, floats->data(), floats->size()};
    if (const auto* other = std::get_if<Value>(&attribute.value)) return {compatcheck_attribute_value, name, &other->id, 1};
    if (const auto* words = std::get_if<std::vector<std::string>>(&attribute.value)) {
      for (const auto& word : *words) passed.texts.push_back(detail::text(word));
      return {compatcheck_attribute_texts, name, passed.texts.data(), passed.texts.size()};
    }
    passed.one = detail::text(std::get<std::string>(attribute.value));
    return {compatcheck_attribute_text, name, &passed.one, 1};
  }
};

// ---- Facts

// A size of a tensor: a number, or an expression over named dimensions, or unknown.
class Dim {
 public:
  Dim(const compatcheck_host& host, compatcheck_call* call, compatcheck_dim id) : host_(&host), call_(call), id_(id) {}
  std::optional<std::int64_t> number() const {
    std::int64_t answer = 0;
    return host_->number_of_size(call_, id_, &answer) == compatcheck_ok ? std::optional(answer) : std::nullopt;
  }
  compatcheck_dim id() const { return id_; }

  friend Dim operator+(const Dim& a, const Dim& b) { return a.with('+', b); }
  friend Dim operator-(const Dim& a, const Dim& b) { return a.with('-', b); }
  friend Dim operator*(const Dim& a, const Dim& b) { return a.with('*', b); }
  friend Dim operator+(const Dim& a, std::int64_t b) { return a.with('+', a.of(b)); }
  friend Dim operator-(const Dim& a, std::int64_t b) { return a.with('-', a.of(b)); }
  friend Dim operator*(const Dim& a, std::int64_t b) { return a.with('*', a.of(b)); }
  friend Dim floor_div(const Dim& a, const Dim& b) { return a.with('/', b); }
  friend Dim floor_div(const Dim& a, std::int64_t b) { return a.with('/', a.of(b)); }
  friend Dim modulo(const Dim& a, const Dim& b) { return a.with('%', b); }
  friend bool provably_equal(const Dim& a, const Dim& b) { return a.host_->sizes_equal(a.call_, a.id_, b.id_) != 0; }

 private:
  Dim of(std::int64_t number) const { return {*host_, call_, host_->size_of_number(call_, number)}; }
  Dim with(char operation, const Dim& other) const {
    return {*host_, call_, host_->combine_sizes(call_, operation, id_, other.id_)};
  }

  const compatcheck_host* host_;
  compatcheck_call* call_;
  compatcheck_dim id_;
};
using Shape = std::vector<Dim>;

// A call that states the dtypes and shapes of its results. Unknown ones may be left out.
class Facts : public Call {
 public:
  using Call::Call;

  Dim dim(std::int64_t number) const { return {host_, call_, host_.size_of_number(call_, number)}; }
  Dim unknown_dim() const { return {host_, call_, 0}; }
  Dim dim(std::string_view integer_argument) const {
    return {host_, call_, read<compatcheck_dim>(host_.integer_as_size, integer_argument)};
  }
  Shape shape(std::string_view tensor) const { return dims(list<compatcheck_dim>(host_.shape, tensor)); }
  // As operands broadcast; where they can't, the call is one that PyTorch refuses.
  Shape broadcast(const Shape& a, const Shape& b) const {
    const auto first = ids(a), second = ids(b);
    const compatcheck_dim* made = nullptr;
    std::size_t count = 0;
    detail::check(host_.broadcast(call_, first.data(), first.size(), second.data(), second.size(), &made, &count));
    return dims({made, made + count});
  }

  // All results, by a word of the tables: "same", "pointwise".
  void by_word(std::string_view word) const { detail::check(host_.state_by_word(call_, detail::text(word))); }
  void tensor(std::size_t output, DType dtype, const Shape& shape) const {
    const auto sizes = ids(shape);
    static constexpr compatcheck_dim none[1] = {};  // null means an unknown rank
    detail::check(host_.state_tensor(call_, output, static_cast<compatcheck_dtype>(dtype), sizes.empty() ? none : sizes.data(),
                                     sizes.size()));
  }
  void tensor(std::size_t output, DType dtype) const {  // the rank is unknown
    detail::check(host_.state_tensor(call_, output, static_cast<compatcheck_dtype>(dtype), nullptr, 0));
  }
  void integer(std::size_t output, const Dim& value) const { detail::check(host_.state_integer(call_, output, value.id())); }

 private:
  Shape dims(const std::vector<compatcheck_dim>& made) const {
    Shape shape;
    for (const compatcheck_dim id : made) shape.push_back({host_, call_, id});
    return shape;
  }
  static std::vector<compatcheck_dim> ids(const Shape& shape) {
    std::vector<compatcheck_dim> made;
    for (const Dim& one : shape) made.push_back(one.id());
    return made;
  }
};

// ---- Registering

namespace detail {

template <class Of>
using Function = std::function<void(Of&)>;

template <class Of>
compatcheck_status called(void* state, const compatcheck_host* host, compatcheck_call* call) {
  try {
    Of context(*host, call);
    (*static_cast<Function<Of>*>(state))(context);
    return compatcheck_ok;
  } catch (const Refusal& refusal) {
    return host->refuse(call, text(refusal.reason), text(refusal.hint));
  } catch (const Stopped& stopped) {
    return stopped.status;
  } catch (const Unknown&) {
    return compatcheck_unknown;
  } catch (const std::exception& error) {
    return host->fail(call, text(error.what()));
  } catch (...) {
    return host->fail(call, text("something that is no std::exception was thrown"));
  }
}

template <class Of>
compatcheck_function crossing(Function<Of> function) {
  if (!function) return {};  // compatcheck reports it
  return {called<Of>, new Function<Of>(std::move(function)), [](void* state) { delete static_cast<Function<Of>*>(state); }};
}

}  // namespace detail

struct Handler {
  std::vector<std::string> emits{};  // the ONNX operators that the call becomes, as `to` of a row; empty: rows list them
  int from = 7, to = 26;             // opsets, both included
  std::string facts{};               // a word of docs/mappings.md
  std::string schema{};              // "acme::swish(Tensor self) -> Tensor"
};

class Registry {
 public:
  Registry(const compatcheck_host& host, compatcheck_registry* registry) : host_(host), registry_(registry) {}

  // The operator's name may have an overload: "aten::max.dim".
  void handler(std::string_view op, const Handler& about, std::function<void(Emission&)> function) const {
    std::vector<compatcheck_text> emits;
    for (const auto& name : about.emits) emits.push_back(detail::text(name));
    const compatcheck_handler crossing{sizeof(compatcheck_handler),
                                       about.from,
                                       about.to,
                                       detail::text(op),
                                       emits.data(),
                                       emits.size(),
                                       detail::text(about.facts),
                                       detail::text(about.schema),
                                       detail::crossing<Emission>(std::move(function))};
    detail::check(host_.add_handler(registry_, &crossing));
  }
  void facts(std::string_view op, std::function<void(Facts&)> function) const {
    detail::check(host_.add_facts(registry_, detail::text(op), detail::crossing<Facts>(std::move(function))));
  }
  // Registers a condition that rows name by `requires`. The function returns why the call doesn't meet it, or an empty text.
  void condition(std::string_view name, std::function<std::string(Call&)> function) const {
    detail::check(host_.add_condition(registry_, detail::text(name), detail::crossing<Call>(stating(std::move(function)))));
  }
  // As a file that --mappings names.
  void rows(std::string_view yaml) const { detail::check(host_.add_rows(registry_, detail::text(yaml))); }

 private:
  static detail::Function<Call> stating(std::function<std::string(Call&)> function) {
    if (!function) return {};
    return [made = std::move(function)](Call& call) {
      if (std::string reason = made(call); !reason.empty()) throw Refusal{std::move(reason)};
    };
  }

  const compatcheck_host& host_;
  compatcheck_registry* registry_;
};

namespace detail {

template <void (*enter)(Registry&)>
compatcheck_status entered(const compatcheck_host* host, compatcheck_registry* made) {
  const auto rejected = [&](std::string_view reason) {
    host->reject(made, text(reason));
    return compatcheck_failed;
  };
  try {
    Registry registry(*host, made);
    enter(registry);
    return compatcheck_ok;
  } catch (const Stopped& stopped) {
    return stopped.status;
  } catch (const Refusal& refusal) {
    return rejected(refusal.reason);
  } catch (const std::exception& error) {
    return rejected(error.what());
  } catch (...) {
    return rejected("something that is no std::exception was thrown");
  }
}

}  // namespace detail

// Returns the entry that the library exports; `enter` registers the plugin's operators.
template <void (*enter)(Registry&)>
constexpr compatcheck_plugin_entry entry() {
  return {compatcheck_abi, sizeof(compatcheck_host), detail::entered<enter>};
}

}  // namespace compatcheck::plugin
