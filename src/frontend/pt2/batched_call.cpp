#include "frontend/pt2/batched_call.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

#include "schema/traits.h"

namespace compatcheck::frontend::pt2 {
namespace {

using Numbers = std::vector<std::int64_t>;
using Names = std::span<const std::string_view>;

bool is_among(Names names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

bool is_tensor(const ir::Value* value) { return ir::is(value->type(), ir::TypeKind::tensor); }

// bool, integers, floats, complex numbers
int kind_of(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::boolean: return 0;
    case ir::DType::u8:
    case ir::DType::i8:
    case ir::DType::i16:
    case ir::DType::i32:
    case ir::DType::i64: return 1;
    case ir::DType::f16:
    case ir::DType::bf16:
    case ir::DType::f32:
    case ir::DType::f64: return 2;
    default: return 3;
  }
}

// Elementwise operators that broadcast all tensors they read.
constexpr auto pointwise_names = std::to_array<std::string_view>({"abs",
                                                                  "absolute",
                                                                  "acos",
                                                                  "acosh",
                                                                  "add",
                                                                  "addcdiv",
                                                                  "addcmul",
                                                                  "angle",
                                                                  "asin",
                                                                  "asinh",
                                                                  "atan",
                                                                  "atan2",
                                                                  "atanh",
                                                                  "arctan2",
                                                                  "bitwise_and",
                                                                  "bitwise_not",
                                                                  "bitwise_or",
                                                                  "bitwise_xor",
                                                                  "bitwise_left_shift",
                                                                  "bitwise_right_shift",
                                                                  "ceil",
                                                                  "celu",
                                                                  "clamp",
                                                                  "clamp_max",
                                                                  "clamp_min",
                                                                  "clip",
                                                                  "copysign",
                                                                  "cos",
                                                                  "cosh",
                                                                  "deg2rad",
                                                                  "div",
                                                                  "divide",
                                                                  "elu",
                                                                  "eq",
                                                                  "erf",
                                                                  "erfc",
                                                                  "erfinv",
                                                                  "exp",
                                                                  "exp2",
                                                                  "expm1",
                                                                  "floor",
                                                                  "floor_divide",
                                                                  "fmax",
                                                                  "fmin",
                                                                  "fmod",
                                                                  "frac",
                                                                  "ge",
                                                                  "gelu",
                                                                  "greater",
                                                                  "greater_equal",
                                                                  "gt",
                                                                  "hardshrink",
                                                                  "hardsigmoid",
                                                                  "hardswish",
                                                                  "hardtanh",
                                                                  "heaviside",
                                                                  "hypot",
                                                                  "isfinite",
                                                                  "isinf",
                                                                  "isnan",
                                                                  "isneginf",
                                                                  "isposinf",
                                                                  "le",
                                                                  "leaky_relu",
                                                                  "lerp",
                                                                  "less",
                                                                  "less_equal",
                                                                  "lgamma",
                                                                  "log",
                                                                  "log10",
                                                                  "log1p",
                                                                  "log2",
                                                                  "log_sigmoid",
                                                                  "logaddexp",
                                                                  "logaddexp2",
                                                                  "logical_and",
                                                                  "logical_not",
                                                                  "logical_or",
                                                                  "logical_xor",
                                                                  "logit",
                                                                  "lt",
                                                                  "masked_fill",
                                                                  "maximum",
                                                                  "minimum",
                                                                  "mish",
                                                                  "mul",
                                                                  "multiply",
                                                                  "nan_to_num",
                                                                  "ne",
                                                                  "neg",
                                                                  "negative",
                                                                  "not_equal",
                                                                  "pow",
                                                                  "rad2deg",
                                                                  "reciprocal",
                                                                  "relu",
                                                                  "relu6",
                                                                  "remainder",
                                                                  "round",
                                                                  "rsqrt",
                                                                  "rsub",
                                                                  "selu",
                                                                  "sgn",
                                                                  "sigmoid",
                                                                  "sign",
                                                                  "signbit",
                                                                  "silu",
                                                                  "sin",
                                                                  "sinc",
                                                                  "sinh",
                                                                  "softplus",
                                                                  "softshrink",
                                                                  "sqrt",
                                                                  "square",
                                                                  "sub",
                                                                  "subtract",
                                                                  "tan",
                                                                  "tanh",
                                                                  "tanhshrink",
                                                                  "threshold",
                                                                  "true_divide",
                                                                  "trunc",
                                                                  "where",
                                                                  "xlogy",
                                                                  "__and__",
                                                                  "__or__",
                                                                  "__xor__",
                                                                  "__lshift__",
                                                                  "__rshift__"});

// These give a tensor like the first, and take of other tensors no more than their dtype.
constexpr auto like_first = std::to_array<std::string_view>(
    {"clone",           "contiguous",    "detach",     "alias",     "to",           "_to_copy",   "type_as",
     "lift_fresh_copy", "lift_fresh",    "zeros_like", "ones_like", "full_like",    "empty_like", "dropout",
     "feature_dropout", "alpha_dropout", "one_hot",    "bucketize", "resolve_conj", "resolve_neg"});

// These have the dimensions in which they work as arguments, whose names are `dimensions`.
constexpr auto along_names = std::to_array<std::string_view>({"sum",
                                                              "mean",
                                                              "amax",
                                                              "amin",
                                                              "max",
                                                              "min",
                                                              "argmax",
                                                              "argmin",
                                                              "any",
                                                              "all",
                                                              "prod",
                                                              "var",
                                                              "std",
                                                              "logsumexp",
                                                              "cumsum",
                                                              "cumprod",
                                                              "cummax",
                                                              "cummin",
                                                              "logcumsumexp",
                                                              "softmax",
                                                              "log_softmax",
                                                              "_softmax",
                                                              "_log_softmax",
                                                              "select",
                                                              "slice",
                                                              "narrow",
                                                              "unsqueeze",
                                                              "squeeze",
                                                              "transpose",
                                                              "swapaxes",
                                                              "swapdims",
                                                              "permute",
                                                              "movedim",
                                                              "moveaxis",
                                                              "flip",
                                                              "roll",
                                                              "flatten",
                                                              "unflatten",
                                                              "split",
                                                              "split_with_sizes",
                                                              "chunk",
                                                              "unbind",
                                                              "tensor_split",
                                                              "sort",
                                                              "topk",
                                                              "argsort",
                                                              "glu",
                                                              "diagonal",
                                                              "index_select",
                                                              "unfold",
                                                              "kthvalue",
                                                              "median",
                                                              "linalg_vector_norm",
                                                              "norm",
                                                              "nansum",
                                                              "nanmean",
                                                              "var_mean",
                                                              "std_mean",
                                                              "count_nonzero",
                                                              "diff",
                                                              "rot90",
                                                              "repeat_interleave"});
constexpr auto dimensions = std::to_array<std::string_view>({"dim", "dims", "dim0", "dim1", "dim2", "axis", "axis0", "axis1",
                                                             "start_dim", "end_dim", "source", "destination", "dimension"});
// Without dimensions these reduce all of them.
constexpr auto reductions = std::to_array<std::string_view>(
    {"sum", "mean", "amax", "amin", "any", "all", "var", "std", "logsumexp", "linalg_vector_norm", "nansum", "nanmean"});

// These work in the last dimensions, whatever stands before them.
constexpr auto trailing_names =
    std::to_array<std::string_view>({"tril", "triu", "layer_norm", "rms_norm", "linalg_inv", "inverse", "linalg_det", "det",
                                     "linalg_cholesky", "cholesky", "mT", "matrix_exp", "linalg_matrix_exp", "embedding"});

// (batch, channels, …): other dimensions before these become part of the batch.
constexpr auto spatial_names = std::to_array<std::pair<std::string_view, std::size_t>>({{"conv1d", 1},
                                                                                        {"conv2d", 2},
                                                                                        {"conv3d", 3},
                                                                                        {"conv_transpose1d", 1},
                                                                                        {"conv_transpose2d", 2},
                                                                                        {"conv_transpose3d", 3},
                                                                                        {"max_pool1d", 1},
                                                                                        {"max_pool2d", 2},
                                                                                        {"max_pool3d", 3},
                                                                                        {"avg_pool1d", 1},
                                                                                        {"avg_pool2d", 2},
                                                                                        {"avg_pool3d", 3},
                                                                                        {"adaptive_avg_pool1d", 1},
                                                                                        {"adaptive_avg_pool2d", 2},
                                                                                        {"adaptive_avg_pool3d", 3}});

class BatchedCall {
 public:
  BatchedCall(NodeWriter& nodes, Batches& batches, const HiddenCall& call)
      : nodes_(nodes), batches_(batches), call_(call), arguments_(call.arguments) {
    name_ = call.schema.name.substr(call.schema.name.find("::") + 2);
    for (const ir::Value* argument : arguments_)
      for (const std::int64_t level : batches.of(argument).levels)
        if (std::ranges::find(all_, level) == all_.end()) all_.push_back(level);
    std::ranges::sort(all_);
  }

  Values results() {
    const std::string_view name = name_;
    if (!call_.schema.name.starts_with("aten::")) fail();
    drop_memory_format();
    if (is_among(pointwise_names, name)) return pointwise();
    if (name.ends_with('_') && !name.ends_with("__")) return in_place();
    if (name == "size") return along();
    if (is_among(like_first, name)) return of_first();
    if (is_among(along_names, name)) return along();
    if (is_among(trailing_names, name)) return trailing();
    if (const auto found = std::ranges::find(spatial_names, name, &decltype(spatial_names)::value_type::first);
        found != spatial_names.end())
      return spatial(found->second);
    if (const auto rule = rules().find(name); rule != rules().end()) return (this->*rule->second)();
    fail();
  }

 private:
  using Rule = Values (BatchedCall::*)();
  static const std::unordered_map<std::string_view, Rule>& rules() {
    static const std::unordered_map<std::string_view, Rule> all{{"view", &BatchedCall::sized},
                                                                {"reshape", &BatchedCall::sized},
                                                                {"_unsafe_view", &BatchedCall::sized},
                                                                {"expand", &BatchedCall::sized},
                                                                {"broadcast_to", &BatchedCall::sized},
                                                                {"repeat", &BatchedCall::sized},
                                                                {"new_zeros", &BatchedCall::sized},
                                                                {"new_ones", &BatchedCall::sized},
                                                                {"new_full", &BatchedCall::sized},
                                                                {"new_empty", &BatchedCall::sized},
                                                                {"cat", &BatchedCall::joined},
                                                                {"concat", &BatchedCall::joined},
                                                                {"concatenate", &BatchedCall::joined},
                                                                {"stack", &BatchedCall::joined},
                                                                {"gather", &BatchedCall::together},
                                                                {"scatter", &BatchedCall::together},
                                                                {"scatter_add", &BatchedCall::together},
                                                                {"scatter_reduce", &BatchedCall::together},
                                                                {"index", &BatchedCall::index},
                                                                {"matmul", &BatchedCall::matmul},
                                                                {"mm", &BatchedCall::matmul},
                                                                {"bmm", &BatchedCall::matmul},
                                                                {"mv", &BatchedCall::matmul},
                                                                {"dot", &BatchedCall::matmul},
                                                                {"linear", &BatchedCall::linear},
                                                                {"addmm", &BatchedCall::addmm},
                                                                {"baddbmm", &BatchedCall::addmm},
                                                                {"outer", &BatchedCall::outer},
                                                                {"einsum", &BatchedCall::einsum},
                                                                {"t", &BatchedCall::transposed},
                                                                {"numpy_T", &BatchedCall::transposed}};
    return all;
  }

  [[noreturn]] void fail() const { throw Unbatchable{call_.schema.name + " isn't followed with these arguments"}; }

  // ---- arguments

  std::optional<std::size_t> place(std::string_view argument) const { return call_.schema.argument_index(argument); }
  std::size_t place_of(std::string_view argument) const {
    const auto found = place(argument);
    if (!found) fail();
    return *found;
  }
  const ir::Constant* constant(std::string_view argument) const {
    const auto found = place(argument);
    return found ? ir::constant_of(arguments_[*found]) : nullptr;
  }
  bool is_none(std::string_view argument) const {
    const ir::Constant* value = constant(argument);
    return value && value->is_none();
  }
  Levels levels(const ir::Value* value) const { return batches_.of(value).levels; }
  std::size_t rank(const ir::Value* value) const {
    const auto known = batches_.of(value).rank;
    if (!known) fail();
    return *known;
  }
  std::int64_t count() const { return static_cast<std::int64_t>(all_.size()); }
  std::int64_t signed_rank(const ir::Value* value) const { return static_cast<std::int64_t>(rank(value)); }

  // Fails unless only the first argument has batch dimensions, all of them.
  void expect_first_only() const {
    for (std::size_t i = 1; i < arguments_.size(); ++i)
      if (batches_.is_batched(arguments_[i])) fail();
    if (arguments_.empty() || levels(arguments_[0]) != all_) fail();
  }

  Values members(ir::Value* list) const {
    if (const ir::Node* made = list->producer(); made && made->is("prim::ListConstruct"))
      return {made->inputs().begin(), made->inputs().end()};
    const ir::Constant* value = ir::constant_of(list);
    const auto* items = value ? value->get<ir::ListConstant>() : nullptr;
    if (!items) fail();
    Values found;
    for (const ir::Constant& item : items->items) found.push_back(nodes_.constant(item));
    return found;
  }

  void drop_memory_format() {
    if (const auto format = place("memory_format")) arguments_[*format] = nodes_.constant({});
  }

  // ---- nodes

  ir::Value* number(std::int64_t value) { return nodes_.constant({value}); }
  ir::Value* numbers(const Numbers& values) {
    ir::ListConstant list{ir::simple_type(ir::TypeKind::integer), {}};
    for (const std::int64_t value : values) list.items.push_back({value});
    return nodes_.constant({std::move(list)}, ir::list_of(ir::simple_type(ir::TypeKind::integer)));
  }
  ir::Value* list_of_numbers(const Values& values) { return nodes_.list(values, ir::simple_type(ir::TypeKind::integer)); }
  Values sizes(const Levels& levels) const {
    Values found;
    for (const std::int64_t level : levels) found.push_back(batches_.region(level)->size);
    return found;
  }
  Numbers range(std::int64_t first, std::int64_t end) {
    Numbers found(static_cast<std::size_t>(std::max<std::int64_t>(end - first, 0)));
    std::iota(found.begin(), found.end(), first);
    return found;
  }

  ir::Value* make(const char* op, const char* overload, const Values& inputs, Batch batch) {
    ir::Value* made = nodes_.add(op, inputs, ir::tensor_type());
    made->producer()->set_overload(overload);
    batches_.set(made, std::move(batch));
    return made;
  }

  // The call itself, of these arguments.
  Values finish(const Values& arguments) { return finish(call_.schema.name, call_.overload, arguments); }
  Values finish(const std::string& op, const std::string& overload, const Values& arguments) {
    ir::Node* made = nodes_.add_node(op, arguments, call_.results);
    made->set_overload(overload);
    Values results{made->outputs().begin(), made->outputs().end()};
    for (ir::Value* result : results) state(result);
    return results;
  }
  void state(ir::Value* result) {
    if (is_tensor(result)) {
      if (!result->type()->tensor.sizes) fail();
      batches_.set(result, {all_, result->type()->tensor.sizes->size()});
    } else if (ir::is_tensor_list(result->type())) {
      batches_.set(result, {all_, std::nullopt});
    }
  }
  // A value made by other nodes stands for the result of the call.
  Values finished(ir::Value* result) {
    if (call_.results.size() != 1) fail();
    result->set_type(call_.results.front());
    state(result);
    return {result};
  }

  // With a dimension for each level, of size 1 where the value has none, and `to` dimensions of its own, the first of size 1. A
  // value without any level stays: it broadcasts.
  ir::Value* aligned(ir::Value* value, std::size_t to) {
    Batch batch = batches_.of(value);
    if (batch.levels.empty()) return value;
    const std::size_t own = rank(value);
    if (own > to) fail();
    for (std::size_t i = own; i < to; ++i) {
      batch.rank = i + 1;
      value = make("aten::unsqueeze", "", {value, number(static_cast<std::int64_t>(batch.levels.size()))}, batch);
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (std::ranges::find(batch.levels, all_[i]) != batch.levels.end()) continue;
      batch.levels.insert(batch.levels.begin() + static_cast<std::ptrdiff_t>(i), all_[i]);
      value = make("aten::unsqueeze", "", {value, number(static_cast<std::int64_t>(i))}, batch);
    }
    return value;
  }

  // With all batch dimensions in their sizes.
  ir::Value* spread(ir::Value* value) {
    if (levels(value) == all_) return value;
    const std::size_t own = rank(value);
    ir::Value* full = aligned(value, own);
    Values to = sizes(all_);
    to.insert(to.end(), own, number(-1));
    return make("aten::expand", "", {full, list_of_numbers(to), nodes_.constant({false})}, {all_, own});
  }

  ir::Value* permuted(ir::Value* value, const Numbers& order, std::size_t own) {
    return make("aten::permute", "", {value, numbers(order)}, {all_, own});
  }

  // ---- rules

  // An operand without dimensions decides the dtype of the result only if its kind of number is a higher one. With batch
  // dimensions it would always. Source: ResultTypeState in ATen/native/TypeProperties.cpp (torch 2.13).
  void keep_promotion(std::size_t first) {
    std::optional<ir::DType> of_dimensioned, any;
    bool differ = false, of_several = false;
    for (std::size_t i = first; i < arguments_.size(); ++i) {
      if (!is_tensor(arguments_[i])) continue;
      const auto dtype = arguments_[i]->type()->tensor.dtype;
      if (!dtype || kind_of(*dtype) > 2) fail();
      differ = differ || (any && dtype != any);
      any = dtype;
      if (rank(arguments_[i]) == 0) continue;
      if (of_dimensioned && of_dimensioned != dtype) of_several = true;
      of_dimensioned = dtype;
    }
    if (!differ) return;
    for (std::size_t i = first; i < arguments_.size(); ++i) {
      ir::Value*& argument = arguments_[i];
      if (!is_tensor(argument) || rank(argument) != 0) continue;
      if (!of_dimensioned) {  // those that get no batch dimension get another one
        if (!batches_.is_batched(argument)) {
          ir::TensorType type = argument->type()->tensor;
          type.sizes.emplace(1, 1);
          argument = nodes_.add("aten::unsqueeze", {argument, number(0)}, ir::tensor_type(type));
        }
      } else if (of_several) {
        fail();
      } else if (batches_.is_batched(argument) && argument->type()->tensor.dtype != of_dimensioned &&
                 kind_of(*argument->type()->tensor.dtype) <= kind_of(*of_dimensioned)) {
        ir::TensorType type;
        type.dtype = of_dimensioned;
        ir::Value* cast = nodes_.cast(argument, number(static_cast<std::int64_t>(*of_dimensioned)), type);
        batches_.set(cast, batches_.of(argument));
        argument = cast;
      }
    }
  }

  Values pointwise() {
    std::size_t most = 0;
    for (const ir::Value* argument : arguments_)
      if (is_tensor(argument)) most = std::max(most, rank(argument));
    if (name_ == "masked_fill") {
      if (const auto value = place("value"); value && batches_.is_batched(arguments_[*value])) fail();
    } else if (std::ranges::count_if(arguments_, is_tensor) > 1) {
      keep_promotion(name_ == "where" ? 1 : 0);
    }
    for (ir::Value*& argument : arguments_)
      if (is_tensor(argument)) argument = aligned(argument, most);
    return finish(arguments_);
  }

  // The tensor that is written keeps its place in memory.
  Values in_place() {
    const std::string_view functional = std::string_view(name_).substr(0, name_.size() - 1);
    if (!is_among(pointwise_names, functional) && functional != "copy" && functional != "fill" && functional != "zero") fail();
    if (functional == "masked_fill")
      if (const auto value = place("value"); value && batches_.is_batched(arguments_[*value])) fail();
    const std::size_t own = rank(arguments_[0]);
    if (levels(arguments_[0]) != all_) fail();
    for (std::size_t i = 1; i < arguments_.size(); ++i) {
      if (functional == "fill" && batches_.is_batched(arguments_[i])) fail();
      if (is_tensor(arguments_[i])) arguments_[i] = aligned(arguments_[i], own);
    }
    return finish(arguments_);
  }

  Values of_first() {
    if (arguments_.empty() || !is_tensor(arguments_[0])) fail();
    if (levels(arguments_[0]) != all_) fail();
    return finish(arguments_);
  }

  std::int64_t shifted(std::int64_t dim, std::int64_t own) const {
    if (dim < -own || dim >= own) fail();
    return (dim < 0 ? dim + own : dim) + count();
  }
  std::int64_t known(const ir::Value* value) const {
    const ir::Constant* held = ir::constant_of(value);
    const auto* whole = held ? held->get<std::int64_t>() : nullptr;
    if (!whole) fail();
    return *whole;
  }

  // Shifts the arguments that name dimensions. `own`: how many there are to name.
  bool shift_dimensions(std::int64_t own) {
    bool any = false;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (!is_among(dimensions, call_.schema.arguments[i].name)) continue;
      const ir::Constant* held = ir::constant_of(arguments_[i]);
      if (!held) fail();
      if (const auto* dim = held->get<std::int64_t>()) {
        arguments_[i] = number(shifted(*dim, own));
      } else if (const auto* list = held->get<ir::ListConstant>(); list && !list->items.empty()) {
        Numbers dims = name_ == "permute" ? range(0, count()) : Numbers();
        for (const ir::Constant& item : list->items) {
          const auto* each = item.get<std::int64_t>();
          if (!each) fail();
          dims.push_back(shifted(*each, own));
        }
        arguments_[i] = numbers(dims);
      } else if (is_among(reductions, name_)) {
        arguments_[i] = numbers(range(count(), count() + own));
      } else {
        fail();
      }
      any = true;
    }
    return any;
  }

  Values along() {
    expect_first_only();
    if (!is_tensor(arguments_[0])) fail();
    const std::int64_t own = signed_rank(arguments_[0]);
    if (own == 0 && name_ != "unsqueeze") fail();
    const bool reduces_to_place = name_ == "argmax" || name_ == "argmin";
    if (reduces_to_place && is_none("dim")) return of_all("", own);
    if (shift_dimensions(name_ == "unsqueeze" ? own + 1 : own)) return finish(arguments_);
    return without_dimensions(own);
  }

  // A reduction of all dimensions by its form with a list of them.
  Values without_dimensions(std::int64_t own) {
    ir::Value *const x = arguments_[0], *const all = numbers(range(count(), count() + own)), *const no = nodes_.constant({false});
    if (name_ == "sum" || name_ == "mean" || name_ == "nansum")
      return finish(call_.schema.name,
                    name_ == "sum"    ? "dim_IntList"
                    : name_ == "mean" ? "dim"
                                      : "",
                    {x, all, no, arguments_[place_of("dtype")]});
    if ((name_ == "max" || name_ == "min") && arguments_.size() == 1)
      return finish(name_ == "max" ? "aten::amax" : "aten::amin", "", {x, all, no});
    if (name_ == "any" || name_ == "all") return finish(call_.schema.name, "dims", {x, all, no});
    if (name_ == "var" || name_ == "std") return finish(call_.schema.name, "dim", {x, all, arguments_[place_of("unbiased")], no});
    if (name_ == "prod") return of_all("dim_int", own);
    fail();
  }

  // prod, argmax and argmin of all dimensions, as one.
  Values of_all(const char* overload, std::int64_t own) {
    ir::Value *x = arguments_[0], *const no = nodes_.constant({false});
    if (own > 1) x = make("aten::flatten", "using_ints", {x, number(count()), number(-1)}, {all_, 1});
    if (name_ == "prod") return finish(call_.schema.name, overload, {x, number(count()), no, arguments_[place_of("dtype")]});
    const ir::Constant* keeps = constant("keepdim");
    if (!keeps || !keeps->get<bool>() || *keeps->get<bool>()) fail();
    return finish(call_.schema.name, overload, {x, number(count()), no});
  }

  Values trailing() {
    if (name_ == "embedding") {
      if (batches_.is_batched(arguments_[0])) fail();
      return finish(arguments_);
    }
    if (name_ == "layer_norm" || name_ == "rms_norm") return normalized();
    expect_first_only();
    if (rank(arguments_[0]) < 2) fail();
    return finish(arguments_);
  }

  // Weights with batch dimensions are applied afterwards.
  Values normalized() {
    const std::size_t weight = place_of("weight"), own = rank(arguments_[0]);
    const auto bias = place("bias");
    const bool apart = batches_.is_batched(arguments_[weight]) || (bias && batches_.is_batched(arguments_[*bias]));
    if (!apart) {
      expect_first_only();
      return finish(arguments_);
    }
    const auto dtype = arguments_[0]->type()->tensor.dtype;
    Values plain = arguments_;
    plain[weight] = nodes_.constant({});
    if (bias) plain[*bias] = nodes_.constant({});
    ir::Value* result = make(call_.schema.name.c_str(), "", plain, {levels(arguments_[0]), own});
    const auto apply = [&](const char* op, ir::Value* by, Values more) {
      if (!is_tensor(by)) return;
      if (by->type()->tensor.dtype != dtype || !dtype) fail();
      Values operands{aligned(result, own), aligned(by, own)};
      operands.insert(operands.end(), more.begin(), more.end());
      result = make(op, "Tensor", operands, {all_, own});
    };
    apply("aten::mul", arguments_[weight], {});
    if (bias) apply("aten::add", arguments_[*bias], {number(1)});
    return finished(result);
  }

  Values spatial(std::size_t dims) {
    expect_first_only();
    const std::size_t own = rank(arguments_[0]);
    const bool has_batch = own == dims + 2;
    if (!has_batch && own != dims + 1) fail();
    ir::Value* const x = arguments_[0];
    Values outer = sizes(all_);
    if (has_batch) outer.push_back(nodes_.add("aten::size", {x, number(count())}, ir::simple_type(ir::TypeKind::integer)));
    if (outer.size() > 1)
      arguments_[0] = make("aten::flatten", "using_ints", {x, number(0), number(static_cast<std::int64_t>(outer.size()) - 1)},
                           {{}, dims + 2});
    ir::Value* result = make(call_.schema.name.c_str(), call_.overload.c_str(), arguments_, {{}, dims + 2});
    if (outer.size() > 1) result = make("aten::unflatten", "int", {result, number(0), list_of_numbers(outer)}, {all_, own});
    return finished(result);
  }

  // Operators that are told the sizes of their result.
  Values sized() {
    const auto place_of_sizes = place("size") ? place("size") : place("shape") ? place("shape") : place("repeats");
    if (!place_of_sizes || !is_tensor(arguments_[0])) fail();
    expect_first_only();
    const Values stated = members(arguments_[*place_of_sizes]);
    Values to = name_ == "repeat" ? Values(all_.size(), number(1)) : sizes(all_);
    to.insert(to.end(), stated.begin(), stated.end());
    if (name_ == "expand" || name_ == "broadcast_to" || name_ == "repeat") arguments_[0] = aligned(arguments_[0], stated.size());
    arguments_[*place_of_sizes] = list_of_numbers(to);
    return finish(arguments_);
  }

  Values joined() {
    Values parts = members(arguments_[0]);
    if (parts.empty()) fail();
    const std::int64_t own = signed_rank(parts.front());
    for (ir::Value*& part : parts) {
      if (signed_rank(part) != own) fail();
      part = spread(part);
    }
    if (own == 0 && name_ != "stack") fail();
    arguments_[0] = nodes_.list(parts, ir::tensor_type());
    if (!shift_dimensions(name_ == "stack" ? own + 1 : own)) fail();
    return finish(arguments_);
  }

  // All tensors have dimensions of the same meaning.
  Values together() {
    const std::int64_t own = signed_rank(arguments_[0]);
    if (own == 0) fail();
    for (ir::Value*& argument : arguments_) {
      if (!is_tensor(argument)) continue;
      if (signed_rank(argument) != own) fail();
      argument = spread(argument);
    }
    if (!shift_dimensions(own)) fail();
    return finish(arguments_);
  }

  // x[…, i, j, …]: the dimensions of the indices stand where the first index does, or first if a slice parts the indices.
  Values index() {
    ir::Value* const x = arguments_[0];
    Values indices = members(arguments_[1]);
    std::size_t most = 0, first = indices.size(), last = 0;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (!is_tensor(indices[i])) continue;
      const auto dtype = indices[i]->type()->tensor.dtype;
      if (!dtype || *dtype == ir::DType::boolean || *dtype == ir::DType::u8) fail();
      most = std::max(most, rank(indices[i]));
      first = std::min(first, i);
      last = i;
    }
    if (first == indices.size()) fail();
    bool adjacent = true;
    for (std::size_t i = first; i <= last; ++i) adjacent = adjacent && is_tensor(indices[i]);
    // A batch dimension of x is indexed by its own numbers, so that all that is indexed stands first.
    const Levels of_x = levels(x);
    for (ir::Value*& index : indices)
      if (is_tensor(index)) index = aligned(index, most);
    Values all;
    for (const std::int64_t level : of_x) {
      ir::Value* place = make(
          "aten::arange", "",
          {batches_.region(level)->size, number(4), nodes_.constant({}), nodes_.constant({}), nodes_.constant({})}, {{level}, 0});
      all.push_back(aligned(place, most));
    }
    all.insert(all.end(), indices.begin(), indices.end());
    const std::size_t own = rank(x), indexed = static_cast<std::size_t>(std::ranges::count_if(indices, is_tensor));
    if (indices.size() > own) fail();
    const std::size_t outside = own - indexed;  // dimensions that stay
    const std::size_t wanted = adjacent ? first : 0;
    if (of_x.empty() && wanted > 0) fail();
    ir::Value* result =
        make("aten::index", "Tensor", {x, nodes_.list(all, ir::optional_of(ir::tensor_type()))}, {all_, most + outside});
    // Now: batch dimensions, those of the indices, and what stays.
    Numbers order = range(0, static_cast<std::int64_t>(all_.size() + most + outside));
    const auto moved = order.begin() + count();
    std::rotate(moved, moved + static_cast<std::ptrdiff_t>(most), moved + static_cast<std::ptrdiff_t>(most + wanted));
    if (!std::ranges::is_sorted(order)) result = permuted(result, order, most + outside);
    return finished(result);
  }

  ir::Value* product(ir::Value* a, ir::Value* b) {
    const std::size_t of_a = rank(a), of_b = rank(b);
    if (of_a == 0 || of_b == 0) fail();
    const auto unsqueezed = [&](ir::Value* value, std::int64_t dim, std::size_t to) {
      return make("aten::unsqueeze", "", {value, number(dim)}, {levels(value), to});
    };
    if (of_a == 1) a = unsqueezed(a, -2, 2);
    if (of_b == 1) b = unsqueezed(b, -1, 2);
    const std::size_t most = std::max(rank(a), rank(b));
    std::size_t own = most;
    ir::Value* result = make("aten::matmul", "", {aligned(a, most), aligned(b, most)}, {all_, own});
    if (of_a == 1) result = make("aten::squeeze", "dim", {result, number(-2)}, {all_, --own});
    if (of_b == 1) result = make("aten::squeeze", "dim", {result, number(-1)}, {all_, --own});
    return result;
  }

  Values matmul() {
    if (arguments_.size() != 2) fail();
    return finished(product(arguments_[0], arguments_[1]));
  }

  ir::Value* plus(ir::Value* a, ir::Value* b) {
    if (a->type()->tensor.dtype && b->type()->tensor.dtype && a->type()->tensor.dtype != b->type()->tensor.dtype) fail();
    const std::size_t most = std::max(rank(a), rank(b));
    return make("aten::add", "Tensor", {aligned(a, most), aligned(b, most), number(1)}, {all_, most});
  }

  Values linear() {
    ir::Value *const x = arguments_[0], *const weight = arguments_[1], *const bias = arguments_[2];
    if (!batches_.is_batched(weight) && !batches_.is_batched(bias)) return finish(arguments_);
    if (rank(weight) != 2) fail();
    const Batch of_weight = batches_.of(weight);
    ir::Value* turned = make("aten::transpose", "int", {weight, number(-2), number(-1)}, of_weight);
    ir::Value* result = product(x, turned);
    if (is_tensor(bias)) result = plus(result, bias);
    return finished(result);
  }

  Values addmm() {
    for (const char* factor : {"beta", "alpha"}) {
      const ir::Constant* value = constant(factor);
      const auto* whole = value ? value->get<std::int64_t>() : nullptr;
      if (!whole || *whole != 1) fail();
    }
    return finished(plus(product(arguments_[1], arguments_[2]), arguments_[0]));
  }

  Values outer() {
    ir::Value *a = arguments_[0], *b = arguments_[1];
    if (rank(a) != 1 || rank(b) != 1) fail();
    a = make("aten::unsqueeze", "", {a, number(-1)}, {levels(a), 2});
    b = make("aten::unsqueeze", "", {b, number(-2)}, {levels(b), 2});
    return finished(make("aten::mul", "Tensor", {aligned(a, 2), aligned(b, 2)}, {all_, 2}));
  }

  // A letter for each batch dimension.
  Values einsum() {
    const ir::Constant* text = constant("equation");
    const auto* given = text ? text->get<std::string>() : nullptr;
    if (!given) fail();
    std::string equation = *given;
    std::erase(equation, ' ');
    const auto arrow = equation.find("->");
    if (arrow == equation.npos || equation.find('.') != equation.npos) fail();
    std::string free;
    for (char letter = 'A'; letter <= 'Z'; ++letter)
      if (equation.find(letter) == equation.npos) free += letter;
    if (free.size() < all_.size()) fail();
    const Values operands = members(arguments_[place_of("tensors")]);
    std::string made;
    std::size_t at = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto end = std::min(equation.find(',', at), arrow);
      for (const std::int64_t level : levels(operands[i]))
        made += free[static_cast<std::size_t>(std::ranges::find(all_, level) - all_.begin())];
      if (end < at) fail();
      made += equation.substr(at, end - at) + (i + 1 < operands.size() ? "," : "->");
      at = end + 1;
    }
    arguments_[place_of("equation")] = nodes_.constant({made + free.substr(0, all_.size()) + equation.substr(arrow + 2)});
    return finish(arguments_);
  }

  Values transposed() {
    expect_first_only();
    const std::size_t own = rank(arguments_[0]);
    if (own != 2) fail();
    return finish("aten::transpose", "int", {arguments_[0], number(count()), number(count() + 1)});
  }

  NodeWriter& nodes_;
  Batches& batches_;
  const HiddenCall& call_;
  Values arguments_;
  std::string name_;
  Levels all_;  // of all arguments
};

}  // namespace

Values batched_call(NodeWriter& nodes, Batches& batches, const HiddenCall& call) {
  return BatchedCall(nodes, batches, call).results();
}

// As passes::is_random, of a call that isn't written yet.
bool draws_random_numbers(const HiddenCall& call) {
  const std::string_view op = schema::without_in_place(call.schema.name);
  if (!schema::has_trait(op, schema::Trait::random) && !schema::has_trait(op, schema::Trait::dropout))
    return call.schema.argument_index("generator").has_value();
  const auto constant = [&](std::string_view argument) {
    const auto place = call.schema.argument_index(argument);
    return place ? ir::constant_of(call.arguments[*place]) : nullptr;
  };
  for (const char* flag : {"train", "training"})
    if (const ir::Constant* value = constant(flag); value && value->get<bool>() && !*value->get<bool>()) return false;
  const ir::Constant* share = constant("dropout_p");
  return !share || !share->get<double>() || *share->get<double>() != 0;
}

}  // namespace compatcheck::frontend::pt2
