// Rules of single operators: changes of meaning that a node can be written around, and values that older versions don't have.
#include <onnx/defs/attr_proto_util.h>
#include <onnx/defs/tensor_proto_util.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>

#include "onnx/builder.h"
#include "retarget/adapting.h"

namespace compatcheck::retarget {
namespace {

using ::onnx::MakeAttribute;
using onnx::Refusal;
using Ints = std::vector<std::int64_t>;
using std::string;

::onnx::TensorProto number_like(ir::DType dtype, std::int64_t value) {
  const onnx::TensorData data = onnx::make_tensor(dtype, {}, Ints{value});
  ::onnx::TensorProto tensor;
  tensor.set_data_type(onnx::data_type(dtype));
  tensor.set_raw_data(string(data.bytes.begin(), data.bytes.end()));
  return tensor;
}

bool has_output(const Adapting& a, int index) { return index < a.node.output_size() && !a.node.output(index).empty(); }

ir::DType dtype_of(const Adapting& a, const string& value) {
  const auto dtype = a.scope.dtype(value);
  if (!dtype) throw Refusal{"the dtype of '" + value + "' isn't known, which " + a.node.op_type() + " needs at this opset"};
  return *dtype;
}

// Until opset 12: everything from `axis` on as one dimension, by default 1. From 13 on: the axis alone, by default the last.
void softmax(Adapting& a) {
  if (!a.crosses(13)) return;
  a.settled = true;
  const auto known = a.scope.rank(a.node.input(0));
  const bool falls = a.falls_below(13);
  std::int64_t axis = int_of(a.node, "axis", falls ? -1 : 1);
  if (falls && !known) a.rank_of_first();
  if (known) axis = axis_of(axis, *known);
  if (known && axis == *known - 1) return a.set(MakeAttribute("axis", falls ? axis : std::int64_t{-1}));
  a.done = true;
  const string& op = a.node.op_type();
  if (falls) {
    Ints swapped(static_cast<std::size_t>(*known));
    std::iota(swapped.begin(), swapped.end(), 0);
    std::swap(swapped[static_cast<std::size_t>(axis)], swapped.back());
    const string last = a.writer.node("Transpose", {a.node.input(0)}, {MakeAttribute("perm", swapped)});
    const string given = a.writer.node(op, {last}, {MakeAttribute("axis", *known - 1)});
    return a.writer.node_as("Transpose", {given}, a.node.output(0), {MakeAttribute("perm", swapped)});
  }
  if (axis < 0) a.rank_of_first();
  const string shape = a.writer.node("Shape", {a.node.input(0)});
  const string flat = a.writer.node("Flatten", {a.node.input(0)}, {MakeAttribute("axis", axis)});
  const string given = a.writer.node(op, {flat}, {MakeAttribute("axis", std::int64_t{-1})});
  a.writer.node_as("Reshape", {given, shape}, a.node.output(0));
}

void batch_normalization(Adapting& a) {
  if (!a.crosses(9) && !a.crosses(14)) return;
  for (int i = 1; i < a.node.output_size(); ++i)
    if (has_output(a, i)) throw Refusal{"BatchNormalization gives other statistics in training at other opsets"};
  a.settled = true;
}

bool is_false(const ::onnx::TensorProto& tensor) {
  if (tensor.data_type() != ::onnx::TensorProto::BOOL || elements_of(tensor) != 1) return false;
  return tensor.has_raw_data() ? tensor.raw_data() == string(1, '\0')
                               : tensor.int32_data_size() == 1 && tensor.int32_data(0) == 0;
}

void dropout(Adapting& a) {
  if (a.falls_below(12)) {
    const string training = a.input("training_mode");
    const auto* constant = a.scope.constant(training);
    const bool off = training.empty() || (constant && is_false(*constant));
    if (!off) throw from_opset("Dropout has no input that asks for training", 12);
    if (!training.empty()) a.set_input("training_mode", "");
    if (!a.scope.constant(a.input("ratio")) && !a.input("ratio").empty()) a.set_input("ratio", "");
    a.drop("seed");
  }
  if (a.crosses(12) || a.crosses(10)) a.settled = true;
  if (!has_output(a, 1) || !(a.crosses(10) || a.falls_below(12))) return;
  if (a.rises_over(10) || a.setting.to < 9) throw Refusal{"Dropout's mask is another one at other opsets"};
  a.done = true;  // in inference the mask is true everywhere, which runtimes don't say before opset 12
  ::onnx::TensorProto yes;
  yes.set_data_type(::onnx::TensorProto::BOOL);
  yes.add_dims(1);
  yes.set_raw_data(string(1, '\1'));
  if (has_output(a, 0)) a.writer.node_as("Identity", {a.node.input(0)}, a.node.output(0));
  const string sizes = a.writer.node("Shape", {a.node.input(0)});
  a.writer.node_as("ConstantOfShape", {sizes}, a.node.output(1), {MakeAttribute("value", yes)});
}

constexpr std::int64_t most_size = 1 << 30;  // of what is computed with here

// Whether no window would start in the padding at the end: then both roundings give the same size.
bool rounds_alike(const Adapting& a) {
  const auto sizes = a.scope.sizes(a.node.input(0));
  const auto* kernel = attribute_of(a.node, "kernel_shape");
  if (!sizes || !kernel || string_of(a.node, "auto_pad", "NOTSET") != "NOTSET") return false;
  const int spatial = kernel->ints_size();
  if (sizes->size() < static_cast<std::size_t>(spatial)) return false;
  const auto at = [&](std::string_view name, int i, std::int64_t otherwise) {
    const auto* given = attribute_of(a.node, name);
    return given && i < given->ints_size() ? given->ints(i) : otherwise;
  };
  for (int i = 0; i < spatial; ++i) {
    const auto size = (*sizes)[sizes->size() - static_cast<std::size_t>(spatial - i)];
    if (!size) return false;
    const std::int64_t begin = at("pads", i, 0), end = at("pads", i + spatial, 0), stride = at("strides", i, 1);
    for (const std::int64_t number : {*size, begin, end, stride, at("dilations", i, 1), kernel->ints(i)})
      if (number < 0 || number > most_size) return false;
    if (stride < 1) return false;
    const std::int64_t window = at("dilations", i, 1) * (kernel->ints(i) - 1) + 1;
    const std::int64_t given = (*size + begin + end - window + stride - 1) / stride + 1;
    if ((given - 1) * stride >= *size + begin) return false;
  }
  return true;
}

void pool(Adapting& a) {
  if (a.crosses(22) && (int_of(a.node, "ceil_mode", 0) == 0 || rounds_alike(a))) a.settled = true;
}

void grid_sample_version(Adapting& a) {
  if (!a.crosses(20)) return;
  a.settled = true;
  static const std::map<string, string> newer{{"bilinear", "linear"}, {"bicubic", "cubic"}, {"nearest", "nearest"}};
  if (a.rises_over(20)) {
    const auto name = newer.find(string_of(a.node, "mode", "bilinear"));
    if (name == newer.end()) throw Refusal{"GridSample has no such mode"};
    return a.set(MakeAttribute("mode", name->second));
  }
  if (a.rank_of_first() != 4) throw from_opset("GridSample has only images of two dimensions", 20);
  const string mode = string_of(a.node, "mode", "linear");
  for (const auto& [older, name] : newer)
    if (name == mode) a.set(MakeAttribute("mode", older));
}

// Before opset 11 indices below 0 gave rows of the off value; now they count from the end.
void one_hot(Adapting& a) {
  if (!a.crosses(11)) return;
  a.settled = true;
  const string indices = a.node.input(0);
  if (const auto known = a.scope.ints(indices); known && std::ranges::all_of(*known, [](auto i) { return i >= 0; })) return;
  const auto depth = a.scope.constant(a.node.input(1));
  const auto count = depth ? floats_of(*depth) : std::nullopt;
  if (!count || count->size() != 1)
    throw Refusal{"OneHot's negative indices mean something else at other opsets, and its depth isn't constant"};
  const std::int64_t i64 = onnx::data_type(ir::DType::i64);
  const string wide =
      dtype_of(a, indices) == ir::DType::i64 ? indices : a.writer.node("Cast", {indices}, {MakeAttribute("to", i64)});
  const string size = a.writer.constant(number_like(ir::DType::i64, static_cast<std::int64_t>(count->front())), "depth");
  const string below = a.writer.node("Less", {wide, a.writer.constant(number_like(ir::DType::i64, 0), "zero")});
  // An index of `depth` gives a row of the off value at any opset.
  const string moved = a.rises_over(11) ? size : a.writer.node("Add", {wide, size});
  a.node.set_input(0, a.writer.node("Where", {below, moved, wide}));
}

void roi_align(Adapting& a) {
  if (!a.crosses(16)) return;
  const string old = "output_half_pixel";
  if (a.falls_below(16) && string_of(a.node, "coordinate_transformation_mode", "half_pixel") != old)
    throw from_opset("RoiAlign doesn't shift boxes by half a pixel", 16);
  a.settled = true;
  if (a.falls_below(16))
    a.drop("coordinate_transformation_mode");
  else
    a.set(MakeAttribute("coordinate_transformation_mode", old));
}

void dft(Adapting& a) {
  if (!a.crosses(20)) return;
  a.settled = true;
  if (a.rises_over(20)) {
    if (!attribute_of(a.node, "axis")) a.set(MakeAttribute("axis", std::int64_t{1}));
    return;
  }
  std::int64_t axis = -2;
  if (!a.input("axis").empty()) {
    const auto given = a.ints("axis");
    if (!given || given->size() != 1) throw from_opset("DFT takes its axis only as a constant", 20);
    axis = given->front();
    a.set_input("axis", "");
  }
  a.set(MakeAttribute("axis", axis < 0 ? axis + a.rank_of_first() : axis));
}

void pad(Adapting& a) {
  if (a.falls_below(19) && string_of(a.node, "mode", "constant") == "wrap") throw from_opset("Pad has no mode wrap", 19);
  if (!a.falls_below(18) || a.input("axes").empty()) return;
  const auto axes = a.ints("axes"), pads = a.ints("pads");
  if (!axes || (pads && pads->size() != 2 * axes->size())) throw from_opset("Pad has no input axes", 18);
  const std::int64_t rank = a.rank_of_first();
  Ints all(static_cast<std::size_t>(2 * rank), 0);
  if (!pads) {
    if (a.setting.to < 11) throw from_opset("Pad takes pads only as constants", 11);
    Ints places;
    for (const std::int64_t end : {std::int64_t{0}, rank})
      for (const std::int64_t axis : *axes) places.push_back(axis_of(axis, rank) + end);
    a.set_input("axes", "");
    return a.set_input("pads", a.writer.node("ScatterElements",
                                             {a.writer.constant(ints_tensor(all), "pads"),
                                              a.writer.constant(ints_tensor(places), "places"), a.input("pads")},
                                             {MakeAttribute("axis", std::int64_t{0})}));
  }
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = static_cast<std::size_t>(axis_of((*axes)[i], rank));
    all[axis] = (*pads)[i];
    all[axis + static_cast<std::size_t>(rank)] = (*pads)[i + axes->size()];
  }
  a.set_input("axes", "");
  if (a.setting.to < 11)
    a.set(MakeAttribute("pads", all)), a.set_input("pads", "");
  else
    a.set_input("pads", a.writer.constant(ints_tensor(all), "pads"));
}

// Parts by their ends, which the model computes.
class PartsByEnds {
 public:
  PartsByEnds(Adapting& a, std::int64_t axis) : a_(a) {
    if (a.setting.to < 10) throw from_opset("Split needs the sizes of its parts as constants", 13);
    place_ = vector(axis < 0 && a.setting.to < 11 ? axis + a.rank_of_first() : axis);
    a.done = true;
  }

  string vector(std::int64_t value) { return a_.writer.constant(ints_tensor({value}), "number"); }
  string size() { return a_.writer.node("Gather", {a_.writer.node("Shape", {a_.node.input(0)}), place_}); }
  void part(int output, const string& start, const string& end) {
    if (has_output(a_, output)) a_.writer.node_as("Slice", {a_.node.input(0), start, end, place_}, a_.node.output(output));
  }

 private:
  Adapting& a_;
  string place_;
};

// All parts alike, the last one perhaps smaller.
void split_evenly(Adapting& a, std::int64_t axis, std::int64_t parts) {
  PartsByEnds by_ends(a, axis);
  const string size = by_ends.size();
  const string raised = a.writer.node("Add", {size, by_ends.vector(parts - 1)});
  const string part = a.writer.node("Div", {raised, by_ends.vector(parts)});
  for (std::int64_t i = 0; i < parts; ++i) {
    const string start = a.writer.node("Mul", {part, by_ends.vector(i)});
    by_ends.part(static_cast<int>(i), start, i + 1 < parts ? a.writer.node("Mul", {part, by_ends.vector(i + 1)}) : size);
  }
}

void split_by_sizes(Adapting& a, const string& sizes) {
  PartsByEnds by_ends(a, int_of(a.node, "axis", 0));
  string start = by_ends.vector(0);
  for (int i = 0; i < a.node.output_size(); ++i) {
    const string size = a.writer.node("Gather", {sizes, by_ends.vector(i)});
    const string end = a.writer.node("Add", {start, size});
    by_ends.part(i, start, end);
    start = end;
  }
}

void split(Adapting& a) {
  if (a.rises_over(18) && a.input("split").empty() && !attribute_of(a.node, "split"))
    return a.set(MakeAttribute("num_outputs", static_cast<std::int64_t>(a.node.output_size())));
  if (const string sizes = a.input("split"); a.falls_below(13) && !sizes.empty()) {
    const auto known = a.ints("split");  // ONNX Runtime has no empty parts before opset 13
    if (!known || (std::ranges::find(*known, 0) != known->end() && a.setting.to >= 10)) return split_by_sizes(a, sizes);
  }
  if (!a.falls_below(18) || !attribute_of(a.node, "num_outputs")) return;
  const std::int64_t parts = int_of(a.node, "num_outputs", 1);
  if (parts != a.node.output_size()) throw Refusal{"Split has another number of outputs than num_outputs states"};
  a.drop("num_outputs");
  const auto sizes = a.scope.sizes(a.node.input(0));
  std::int64_t axis = int_of(a.node, "axis", 0);
  if (sizes) axis = axis_of(axis, static_cast<std::int64_t>(sizes->size()));
  const auto size = sizes ? (*sizes)[static_cast<std::size_t>(axis)] : std::nullopt;
  if (!size && parts != 1) return split_evenly(a, axis, parts);
  if (!size || *size % parts == 0) return;
  const std::int64_t part = (*size + parts - 1) / parts;
  Ints lengths;
  for (std::int64_t i = 0; i < parts; ++i) lengths.push_back(std::clamp<std::int64_t>(*size - part * i, 0, part));
  if (a.setting.to < 13)
    a.set(MakeAttribute("split", lengths));
  else
    a.set_input("split", a.writer.constant(ints_tensor(lengths), "split"));
}

void slice_version(Adapting& a) {
  if (!a.falls_below(10) || a.input("steps").empty()) return;
  const auto steps = a.ints("steps");
  if (!steps || std::ranges::any_of(*steps, [](auto step) { return step != 1; })) throw from_opset("Slice has no steps", 10);
  a.set_input("steps", "");
}

void clip(Adapting& a) {
  if (!a.falls_below(11)) return;
  const string low = a.input("min"), high = a.input("max");
  const auto is_known = [&](const string& bound) { return bound.empty() || a.scope.constant(bound); };
  if (is_known(low) && is_known(high)) return;
  if (a.setting.to < 8) throw from_opset("Clip takes its bounds only as constants", 11);
  a.done = true;
  string value = a.node.input(0);
  if (!low.empty() && !high.empty()) value = a.writer.node("Max", {value, low});
  a.writer.node_as(high.empty() ? "Max" : "Min", {value, high.empty() ? low : high}, a.node.output(0));
}

void reduce(Adapting& a) {
  if (!a.falls_below(a.node.op_type() == "ReduceSum" ? 13 : 18)) return;
  const auto axes = a.ints("axes");
  const bool whole = a.input("axes").empty() || (axes && axes->empty());
  const bool nothing = int_of(a.node, "noop_with_empty_axes", 0) != 0;
  if (whole && nothing) {
    static constexpr std::string_view same[] = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"};
    if (std::ranges::find(same, a.node.op_type()) == std::end(same))
      throw Refusal{a.node.op_type() + " reduces nothing only from opset 18 on"};
    a.done = true;
    return a.writer.node_as("Identity", {a.node.input(0)}, a.node.output(0));
  }
  a.drop("noop_with_empty_axes");
  if (whole && !a.input("axes").empty()) a.set_input("axes", "");
}

void quantize(Adapting& a) {
  if (!a.falls_below(13)) return;
  const auto scale = a.scope.sizes(a.node.input(1));
  if (!scale || !(scale->empty() || (scale->size() == 1 && scale->front() == 1)))
    throw from_opset(a.node.op_type() + " has no scales along an axis", 13);
  a.drop("axis");
}

void cast(Adapting& a) {
  if (a.falls_below(19)) a.drop("saturate");
  if (a.falls_below(24)) a.drop("round_mode");
}

void shape(Adapting& a) {
  if (!a.falls_below(15)) return;
  const auto* start = attribute_of(a.node, "start");
  const auto* end = attribute_of(a.node, "end");
  if ((!start || start->i() == 0) && !end) return a.drop("start");
  a.done = true;
  const Ints from{start ? start->i() : 0}, to{end ? end->i() : std::numeric_limits<std::int64_t>::max()};
  const string whole = a.writer.node("Shape", {a.node.input(0)});
  if (a.setting.to < 10)
    return a.writer.node_as("Slice", {whole}, a.node.output(0),
                            {MakeAttribute("starts", from), MakeAttribute("ends", to), MakeAttribute("axes", Ints{0})});
  const string first = a.writer.constant(ints_tensor(from), "start"), last = a.writer.constant(ints_tensor(to), "end");
  a.writer.node_as("Slice", {whole, first, last}, a.node.output(0));
}

void reshape(Adapting& a) {
  if (!a.falls_below(14) || int_of(a.node, "allowzero", 0) == 0) return;
  const auto sizes = a.ints("shape");
  if (!sizes || std::ranges::find(*sizes, 0) != sizes->end()) throw from_opset("Reshape has no allowzero", 14);
  a.drop("allowzero");
}

void scatter(Adapting& a) {
  const string reduction = string_of(a.node, "reduction", "none");
  if (a.falls_below(18) && (reduction == "max" || reduction == "min"))
    throw from_opset(a.node.op_type() + " has no reduction " + reduction, 18);
  if (a.node.op_type() == "ScatterElements" || a.node.op_type() == "Scatter") a.settled = true;
}

void gemm(Adapting& a) {
  if (!a.falls_below(11) || !a.input("C").empty()) return;
  a.set_input("C", a.writer.constant(number_like(dtype_of(a, a.node.input(0)), 0), "C"));
}

// Indices that only the running model knows stay: runtimes count negative ones from the end at every opset.
void gather(Adapting& a) {
  if (!a.falls_below(11)) return;
  const auto* indices = a.scope.constant(a.node.input(1));
  const auto known = indices ? ints_of(*indices) : std::nullopt;
  if (!known || std::ranges::all_of(*known, [](auto i) { return i >= 0; })) return;
  const auto sizes = a.scope.sizes(a.node.input(0));
  const std::int64_t rank = a.rank_of_first();
  const auto size = (*sizes)[static_cast<std::size_t>(axis_of(int_of(a.node, "axis", 0), rank))];
  if (!size) throw from_opset("Gather has no negative indices, and the size of the axis isn't known", 11);
  ::onnx::TensorProto counted;
  counted.set_data_type(::onnx::TensorProto::INT64);
  counted.mutable_dims()->CopyFrom(indices->dims());
  for (const std::int64_t index : *known) counted.add_int64_data(index < 0 ? index + *size : index);
  a.node.set_input(1, a.writer.constant(std::move(counted), "indices"));
}

void constant(Adapting& a) {
  if (!a.falls_below(12) || a.node.attribute_size() != 1) return;
  const ::onnx::AttributeProto given = a.node.attribute(0);
  ::onnx::TensorProto tensor;
  if (given.name() == "value") return;
  if (given.name() == "value_int" || given.name() == "value_ints")
    tensor = given.has_i() ? ints_tensor({given.i()}, true) : ints_tensor({given.ints().begin(), given.ints().end()});
  else if (given.name() == "value_float")
    tensor = ::onnx::ToTensor(given.f());
  else if (given.name() == "value_floats")
    tensor = floats_tensor({given.floats().begin(), given.floats().end()});
  else
    throw from_opset("Constant has no " + given.name(), 12);
  a.drop(given.name());
  tensor.clear_name();
  a.set(MakeAttribute("value", tensor));
}

// Before opset 12 both operands have one dtype.
void pow(Adapting& a) {
  if (!a.falls_below(12)) return;
  const ir::DType base = dtype_of(a, a.node.input(0)), exponent = dtype_of(a, a.node.input(1));
  if (base == exponent) return;
  const auto to = [](ir::DType dtype) { return MakeAttribute("to", std::int64_t{onnx::data_type(dtype)}); };
  if (ir::is_floating(base) || !ir::is_floating(exponent))
    return a.node.set_input(1, a.writer.node("Cast", {a.node.input(1)}, {to(base)}));
  a.done = true;
  const auto widened = [&](int input) { return a.writer.node("Cast", {a.node.input(input)}, {to(ir::DType::f64)}); };
  a.writer.node_as("Cast", {a.writer.node("Pow", {widened(0), widened(1)})}, a.node.output(0), {to(base)});
}

void broadcasting(Adapting& a) {
  const bool greatest = a.node.op_type() == "Max";
  if ((greatest || a.node.op_type() == "Min") && a.falls_below(12) && a.setting.to >= 9 &&
      a.scope.dtype(a.node.input(0)) == ir::DType::i64) {
    a.done = true;
    string value = a.node.input(0);
    for (int i = 1; i < a.node.input_size(); ++i) {
      const string first = a.writer.node(greatest ? "Greater" : "Less", {value, a.node.input(i)});
      value = a.writer.node("Where", {first, value, a.node.input(i)});
    }
    return a.writer.node_as("Identity", {value}, a.node.output(0));
  }
  if (!a.falls_below(8)) return;
  const auto first = a.scope.sizes(a.node.input(0));
  for (const auto& input : a.node.input()) {
    const auto sizes = a.scope.sizes(input);
    const bool known = sizes && std::ranges::all_of(*sizes, [](const auto& size) { return size.has_value(); });
    if (!known || sizes != first) throw from_opset(a.node.op_type() + " doesn't broadcast", 8);
  }
}

// Before opset 11 the trip count and the condition aren't optional.
void loop(Adapting& a) {
  if (!a.falls_below(11)) return;
  if (a.input("M").empty())
    a.set_input("M", a.writer.constant(ints_tensor({std::numeric_limits<std::int64_t>::max()}, true), "trip_count"));
  if (!a.input("cond").empty()) return;
  ::onnx::TensorProto yes;
  yes.set_data_type(::onnx::TensorProto::BOOL);
  yes.set_raw_data(string(1, '\1'));
  a.set_input("cond", a.writer.constant(std::move(yes), "condition"));
}

const std::map<std::string_view, VersionRule>& rules() {
  static const std::map<std::string_view, VersionRule> all = [] {
    std::map<std::string_view, VersionRule> made{
        {"AveragePool", pool},
        {"BatchNormalization", batch_normalization},
        {"Cast", cast},
        {"CastLike", cast},
        {"Clip", clip},
        {"Constant", constant},
        {"DFT", dft},
        {"DequantizeLinear", quantize},
        {"Dropout", dropout},
        {"Gather", gather},
        {"Gemm", gemm},
        {"GridSample", grid_sample_version},
        {"Hardmax", softmax},
        {"LogSoftmax", softmax},
        {"Loop", loop},
        {"MaxPool", pool},
        {"OneHot", one_hot},
        {"Pad", pad},
        {"Pow", pow},
        {"QuantizeLinear", quantize},
        {"Reshape", reshape},
        {"Resize", resize_version},
        {"RoiAlign", roi_align},
        {"Scatter", scatter},
        {"ScatterElements", scatter},
        {"ScatterND", scatter},
        {"Shape", shape},
        {"Slice", slice_version},
        {"Softmax", softmax},
        {"Split", split},
        {"Upsample", upsample_version},
    };
    for (const char* op : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
                           "ReduceProd", "ReduceSum", "ReduceSumSquare"})
      made[op] = reduce;
    for (const char* op : {"Max", "Mean", "Min", "Sum"}) made[op] = broadcasting;
    return made;
  }();
  return all;
}

}  // namespace

VersionRule find_version_rule(std::string_view op) {
  const auto found = rules().find(op);
  return found == rules().end() ? nullptr : found->second;
}

}  // namespace compatcheck::retarget
