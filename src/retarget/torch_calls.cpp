#include "retarget/torch_calls.h"

#include <limits>
#include <map>
#include <numeric>

#include "retarget/torch_graph.h"

namespace compatcheck::retarget {
namespace {

using onnx::Refusal;
using Results = std::vector<ir::Value*>;
using None = TorchGraph::None;
using Ints = std::vector<std::int64_t>;
using std::string;

// Sizes of the dimensions that a normalization works along, from `axis` on.
Ints normalized(TorchGraph& g) {
  const std::int64_t rank = g.rank(0), axis = axis_of(int_of(g.node, "axis", -1), rank);
  const auto known = g.scope.sizes(g.node.input(0));
  Ints sizes;
  for (auto i = static_cast<std::size_t>(axis); i < known->size(); ++i) {
    if (!(*known)[i]) throw Refusal{"the sizes that it normalizes aren't known"};
    sizes.push_back(*(*known)[i]);
  }
  const auto scale = g.scope.sizes(g.node.input(1));
  if (!scale || scale->size() != sizes.size()) throw Refusal{"its scale isn't of the sizes that it normalizes"};
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if ((*scale)[i] != sizes[i]) throw Refusal{"its scale isn't of the sizes that it normalizes"};
  return sizes;
}

template <class Value>
const Value& one_of(const std::map<string, Value>& names, const string& name) {
  const auto found = names.find(name);
  if (found == names.end()) throw Refusal{"PyTorch has no " + name};
  return found->second;
}

Results layer_normalization(TorchGraph& g) {
  for (int i = 1; i < g.node.output_size(); ++i)
    if (!g.node.output(i).empty()) throw Refusal{"it gives mean and deviation"};
  return {g.call("aten::layer_norm",
                 {g.input(0), normalized(g), g.input(1), g.optional(2), float_of(g.node, "epsilon", 1e-5), false})};
}

Results rms_normalization(TorchGraph& g) {
  return {g.call("aten::rms_norm", {g.input(0), normalized(g), g.input(1), float_of(g.node, "epsilon", 1e-5)})};
}

Results group_normalization(TorchGraph& g) {
  const auto channels = g.scope.sizes(g.node.input(0)), scale = g.scope.sizes(g.node.input(1));
  if (!channels || !scale || channels->size() < 2 || scale->size() != 1 || !(*channels)[1] || (*channels)[1] != scale->front())
    throw Refusal{"its scale isn't known to be per channel"};
  return {g.call("aten::group_norm", {g.input(0), int_of(g.node, "num_groups", 1), g.input(1), g.input(2),
                                      float_of(g.node, "epsilon", 1e-5), false})};
}

Results gelu(TorchGraph& g) { return {g.call("aten::gelu", {g.input(0), string_of(g.node, "approximate", "none")})}; }

Results celu(TorchGraph& g) { return {g.call("aten::celu", {g.input(0), float_of(g.node, "alpha", 1)})}; }

Results swish(TorchGraph& g) {
  if (float_of(g.node, "alpha", 1) != 1) throw Refusal{"its alpha isn't 1"};
  return {g.call("aten::silu", {g.input(0)})};
}

Results cumsum(TorchGraph& g) {
  const std::int64_t axis = g.number(1, "axis");
  const bool reversed = int_of(g.node, "reverse", 0) != 0;
  ir::Value* x = g.input(0);
  if (reversed) x = g.call("aten::flip", {x, Ints{axis}});
  // Integers become i64.
  static const std::map<ir::DType, std::int64_t> torch_numbers{
      {ir::DType::i32, 3}, {ir::DType::i64, 4}, {ir::DType::f16, 5}, {ir::DType::f32, 6}, {ir::DType::f64, 7}};
  const auto dtype = torch_numbers.find(g.dtype(0));
  if (dtype == torch_numbers.end()) throw Refusal{"PyTorch doesn't sum this dtype"};
  ir::Value* sum = g.call("aten::cumsum", {x, axis, dtype->second});
  if (int_of(g.node, "exclusive", 0) != 0) {
    if (!ir::is_floating(g.dtype(0)))
      sum = g.call("aten::sub", {sum, x, std::int64_t{1}});
    else
      throw Refusal{"an exclusive sum of floats would lose digits"};
  }
  if (reversed) sum = g.call("aten::flip", {sum, Ints{axis}});
  return {sum};
}

Results trilu(TorchGraph& g) {
  const std::int64_t k = g.has(1) ? g.number(1, "diagonal") : 0;
  return {g.call(int_of(g.node, "upper", 1) ? "aten::triu" : "aten::tril", {g.input(0), k})};
}

Results einsum(TorchGraph& g) {
  Results operands;
  for (int i = 0; i < g.node.input_size(); ++i) operands.push_back(g.input(i));
  return {g.call("aten::einsum", {string_of(g.node, "equation", ""), operands, None{}})};
}

Results sampled(TorchGraph& g) {
  static const std::map<string, std::int64_t> modes{{"bilinear", 0}, {"linear", 0}, {"nearest", 1}, {"bicubic", 2}, {"cubic", 2}};
  static const std::map<string, std::int64_t> paddings{{"zeros", 0}, {"border", 1}, {"reflection", 2}};
  return {g.call("aten::grid_sampler",
                 {g.input(0), g.input(1), one_of(modes, string_of(g.node, "mode", "linear")),
                  one_of(paddings, string_of(g.node, "padding_mode", "zeros")), int_of(g.node, "align_corners", 0) != 0})};
}

// The columns of the last dimension of the indices: one tensor for each dimension that they index.
Results columns(TorchGraph& g) {
  const auto sizes = g.scope.sizes(g.node.input(1));
  if (!sizes || sizes->empty() || !sizes->back() || *sizes->back() < 1)
    throw Refusal{"how many dimensions it indexes isn't known"};
  if (*sizes->back() > g.rank(0)) throw Refusal{"it indexes more dimensions than there are"};
  Results all;
  for (std::int64_t i = 0; i < *sizes->back(); ++i) all.push_back(g.call("aten::select", {g.input(1), std::int64_t{-1}, i}));
  return all;
}

Results gather_nd(TorchGraph& g) {
  if (int_of(g.node, "batch_dims", 0) != 0) throw Refusal{"it has batch dimensions"};
  return {g.call("aten::index", {g.input(0), columns(g)})};
}

Results scatter_nd(TorchGraph& g) {
  const string reduction = string_of(g.node, "reduction", "none");
  if (reduction != "none" && reduction != "add") throw Refusal{"it reduces by " + reduction};
  return {g.call("aten::index_put", {g.input(0), columns(g), g.input(2), reduction == "add"})};
}

// Integers of 64 bits without a sign are compared as such only by ONNX's own operators.
ir::Value* compared(TorchGraph& g, const string& call) {
  if (g.scope.dtype(g.node.input(0)) == ir::DType::u64) throw Refusal{g.node.op_type() + " has no u64 at this opset"};
  return g.call(call, {g.input(0), g.input(1)});
}

Results not_less(TorchGraph& g) { return {compared(g, "aten::ge")}; }
Results not_greater(TorchGraph& g) { return {compared(g, "aten::le")}; }

// Indices along the axis that count from the start: PyTorch's calls take no others.
ir::Value* from_start(TorchGraph& g) {
  const auto known = g.scope.ints(g.node.input(1));
  if (known && std::ranges::all_of(*known, [](std::int64_t index) { return index >= 0; })) return g.input(1);
  const auto sizes = g.scope.sizes(g.node.input(0));
  if (!sizes) throw Refusal{"its indices may be negative"};
  const auto size = (*sizes)[static_cast<std::size_t>(axis_of(int_of(g.node, "axis", 0), g.rank(0)))];
  if (!size || *size < 1) throw Refusal{"its indices may be negative, and the size along the axis isn't known"};
  return g.call("aten::remainder", {g.input(1), *size});
}

Results gather_elements(TorchGraph& g) {
  return {g.call("aten::gather", {g.input(0), int_of(g.node, "axis", 0), from_start(g), false})};
}

Results scatter_elements(TorchGraph& g) {
  static const std::map<string, string> reductions{{"add", "sum"}, {"mul", "prod"}, {"max", "amax"}, {"min", "amin"}};
  const string reduction = string_of(g.node, "reduction", "none");
  const std::int64_t axis = int_of(g.node, "axis", 0);
  ir::Value* index = from_start(g);
  if (reduction == "none") return {g.call("aten::scatter", {g.input(0), axis, index, g.input(2)})};
  return {g.call("aten::scatter_reduce", {g.input(0), axis, index, g.input(2), one_of(reductions, reduction), true})};
}

Results top_k(TorchGraph& g) {
  return g.calls(
      "aten::topk",
      {g.input(0), g.number(1, "number of elements"), int_of(g.node, "axis", -1), int_of(g.node, "largest", 1) != 0, true}, 2);
}

// The last of equal elements: the first one of the reversed axis.
Results last_index(TorchGraph& g) {
  if (int_of(g.node, "select_last_index", 0) == 0) throw Refusal{"it selects the first index"};
  const std::int64_t rank = g.rank(0), axis = axis_of(int_of(g.node, "axis", 0), rank);
  const std::int64_t last = g.sizes(0)[static_cast<std::size_t>(axis)] - 1;
  ir::Value* reversed = g.call("aten::flip", {g.input(0), Ints{axis}});
  ir::Value* found = g.call(g.node.op_type() == "ArgMax" ? "aten::argmax" : "aten::argmin",
                            {reversed, axis, int_of(g.node, "keepdims", 1) != 0});
  return {g.call("aten::rsub", {found, last, std::int64_t{1}})};
}

Results mod(TorchGraph& g) {
  return {g.call(int_of(g.node, "fmod", 0) ? "aten::fmod" : "aten::remainder", {g.input(0), g.input(1)})};
}

Results bit_shift(TorchGraph& g) {
  if (g.dtype(0) != ir::DType::u8) throw Refusal{"PyTorch shifts no such integers"};
  return {g.call(string_of(g.node, "direction", "") == "LEFT" ? "aten::bitwise_left_shift" : "aten::bitwise_right_shift",
                 {g.input(0), g.input(1)})};
}

Results where(TorchGraph& g) { return {g.call("aten::where", {g.input(0), g.input(1), g.input(2)})}; }

Results depth_to_space(TorchGraph& g) {
  if (string_of(g.node, "mode", "DCR") != "CRD") throw Refusal{"PyTorch has no such order of depth"};
  return {g.call("aten::pixel_shuffle", {g.input(0), int_of(g.node, "blocksize", 1)})};
}

Results col2im(TorchGraph& g) {
  const Ints image = g.ints(1, "sizes"), block = g.ints(2, "sizes");
  const auto list = [&](const char* name, std::int64_t otherwise) {
    const auto* given = attribute_of(g.node, name);
    return given ? Ints(given->ints().begin(), given->ints().end()) : Ints(image.size(), otherwise);
  };
  const auto* pads = attribute_of(g.node, "pads");
  if (image.size() != 2) throw Refusal{"PyTorch has it only for two dimensions"};
  if (pads && pads->ints_size() != 4) throw Refusal{"it has another number of pads than two dimensions need"};
  Ints padding(image.size(), 0);
  for (std::size_t i = 0; pads && i < image.size(); ++i) {
    padding[i] = pads->ints(static_cast<int>(i));
    if (padding[i] != pads->ints(static_cast<int>(i + image.size()))) throw Refusal{"its padding differs at both ends"};
  }
  return {g.call("aten::col2im", {g.input(0), image, block, list("dilations", 1), padding, list("strides", 1)})};
}

// Images with batch and channels, whose sizes change as PyTorch computes them.
Results resized(TorchGraph& g) {
  const bool upsample = g.node.op_type() == "Upsample";
  const string mode = string_of(g.node, "mode", "nearest");
  const string coordinates = string_of(g.node, "coordinate_transformation_mode", upsample ? "asymmetric" : "half_pixel");
  if (int_of(g.node, "antialias", 0) || int_of(g.node, "exclude_outside", 0) || attribute_of(g.node, "axes") ||
      string_of(g.node, "keep_aspect_ratio_policy", "stretch") != "stretch")
    throw Refusal{"PyTorch has no such resizing"};
  const auto given = g.scope.sizes(g.node.input(0)), wanted = g.scope.sizes(g.node.output(0));
  if (!given || !wanted || given->size() != wanted->size() || given->size() < 3 || given->size() > 5)
    throw Refusal{"its sizes aren't known, or PyTorch resizes no such tensors"};
  Ints sizes;
  const std::size_t spatial = given->size() - 2;
  for (std::size_t i = 0; i < given->size(); ++i) {
    if (!(*given)[i] && i < 2 && g.node.input_size() > 2 && !input_of(g.node, 2).empty()) {
      const auto* scales = g.scope.constant(g.node.input(2));
      const auto factors = scales ? floats_of(*scales) : std::nullopt;
      if (factors && i < factors->size() && (*factors)[i] == 1) continue;
    }
    if (i < 2 && (!(*given)[i] || (*given)[i] != (*wanted)[i])) throw Refusal{"it may resize batch or channels"};
    if (i >= 2 && (!(*given)[i] || !(*wanted)[i])) throw Refusal{"its sizes aren't known"};
    if (i >= 2) sizes.push_back(*(*wanted)[i]);
  }
  // Factors that don't give the sizes exactly would be other numbers than PyTorch computes with.
  if (const string& scales = input_of(g.node, upsample ? 1 : 2); !scales.empty()) {
    const auto* constant = g.scope.constant(scales);
    const auto factors = constant ? floats_of(*constant) : std::nullopt;
    if (!factors) throw Refusal{"its factors are known only when the model runs"};
    if (!factors->empty() && factors->size() != given->size()) throw Refusal{"it has another number of factors than dimensions"};
    for (std::size_t i = 2; i < given->size() && !factors->empty(); ++i)
      if (static_cast<double>(*(*given)[i]) * (*factors)[i] != static_cast<double>(*(*wanted)[i]))
        throw Refusal{"its factors don't give whole sizes"};
  }
  const bool align = coordinates == "align_corners";
  const bool half = coordinates == "half_pixel" || coordinates == "pytorch_half_pixel";
  for (const std::int64_t size : sizes)
    if (size == 1 && coordinates == "pytorch_half_pixel") throw Refusal{"PyTorch places a single pixel elsewhere"};
  if (mode == "linear" && (align || half)) {
    static const char* const calls[] = {"aten::upsample_linear1d", "aten::upsample_bilinear2d", "aten::upsample_trilinear3d"};
    if (spatial == 1) return {g.call(calls[0], {g.input(0), sizes, align, None{}})};
    if (spatial == 2) return {g.call(calls[1], {g.input(0), sizes, align, None{}, None{}})};
    return {g.call(calls[2], {g.input(0), sizes, align, None{}, None{}, None{}})};
  }
  if (mode == "cubic" && spatial == 2 && (align || half) && float_of(g.node, "cubic_coeff_a", -0.75) == -0.75)
    return {g.call("aten::upsample_bicubic2d", {g.input(0), sizes, align, None{}, None{}})};
  if (mode == "nearest" && coordinates == "asymmetric" && string_of(g.node, "nearest_mode", "round_prefer_floor") == "floor") {
    if (spatial == 1) return {g.call("aten::upsample_nearest1d", {g.input(0), sizes, None{}})};
    if (spatial == 2) return {g.call("aten::upsample_nearest2d", {g.input(0), sizes, None{}, None{}})};
    return {g.call("aten::upsample_nearest3d", {g.input(0), sizes, None{}, None{}, None{}})};
  }
  throw Refusal{"PyTorch has no such resizing"};
}

// Every so many elements, from bounds that are constant.
Results sliced(TorchGraph& g) {
  const Ints starts = g.ints(1, "bounds"), ends = g.ints(2, "bounds");
  const Ints steps = g.has(4) ? g.ints(4, "steps") : Ints(starts.size(), 1);
  Ints axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (g.has(3)) axes = g.ints(3, "axes");
  if (ends.size() != starts.size() || steps.size() != starts.size() || axes.size() != starts.size())
    throw Refusal{"Slice has bounds of different lengths"};
  ir::Value* x = g.input(0);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (steps[i] > 0)
      x = g.call("aten::slice", {x, axes[i], starts[i], ends[i], steps[i]});
    else if (steps[i] == -1 && starts[i] == -1 && ends[i] <= std::numeric_limits<std::int32_t>::min())
      x = g.call("aten::flip", {x, Ints{axes[i]}});
    else
      throw Refusal{"PyTorch has no such slices"};
  }
  return {x};
}

Results expand(TorchGraph& g) {
  const Ints wanted = g.ints(1, "sizes"), given = g.sizes(0);
  Ints sizes(std::max(wanted.size(), given.size()), 1);
  for (std::size_t i = 0; i < given.size(); ++i) sizes[sizes.size() - given.size() + i] = given[i];
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto& size = sizes[sizes.size() - wanted.size() + i];
    if (wanted[i] != 1) size = wanted[i];
  }
  return {g.call("aten::expand", {g.input(0), sizes, false})};
}

using Function = Results (*)(TorchGraph&);

// Operators with the tensors of PyTorch's, in their order.
const std::map<std::string_view, const char*>& plain_calls() {
  static const std::map<std::string_view, const char*> all{
      {"Acosh", "aten::acosh"},
      {"Asinh", "aten::asinh"},
      {"Atanh", "aten::atanh"},
      {"BitwiseAnd", "aten::bitwise_and"},
      {"BitwiseNot", "aten::bitwise_not"},
      {"BitwiseOr", "aten::bitwise_or"},
      {"BitwiseXor", "aten::bitwise_xor"},
      {"Cosh", "aten::cosh"},
      {"Det", "aten::det"},
      {"Equal", "aten::eq"},
      {"Erf", "aten::erf"},
      {"HardSwish", "aten::hardswish"},
      {"IsNaN", "aten::isnan"},
      {"Mish", "aten::mish"},
      {"Round", "aten::round"},
      {"Sign", "aten::sign"},
      {"Sinh", "aten::sinh"},
  };
  return all;
}

const std::map<std::string_view, Function>& calls_with_attributes() {
  static const std::map<std::string_view, Function> all{
      {"ArgMax", last_index},
      {"ArgMin", last_index},
      {"BitShift", bit_shift},
      {"Celu", celu},
      {"Col2Im", col2im},
      {"CumSum", cumsum},
      {"DepthToSpace", depth_to_space},
      {"Einsum", einsum},
      {"Expand", expand},
      {"GatherElements", gather_elements},
      {"GatherND", gather_nd},
      {"Gelu", gelu},
      {"GridSample", sampled},
      {"GroupNormalization", group_normalization},
      {"GreaterOrEqual", not_less},
      {"LayerNormalization", layer_normalization},
      {"LessOrEqual", not_greater},
      {"Mod", mod},
      {"RMSNormalization", rms_normalization},
      {"Resize", resized},
      {"ScatterElements", scatter_elements},
      {"ScatterND", scatter_nd},
      {"Slice", sliced},
      {"Swish", swish},
      {"TopK", top_k},
      {"Trilu", trilu},
      {"Where", where},
  };
  return all;
}

}  // namespace

std::optional<Piece> by_torch_call(const ::onnx::NodeProto& node, const Scope& scope, const Setting& setting, Names& names,
                                   std::vector<int>* older) {
  TorchGraph graph(node, scope, setting, older);
  if (const auto plain = plain_calls().find(node.op_type()); plain != plain_calls().end()) {
    if (node.input_size() == 1) return graph.lower({graph.call(plain->second, {graph.input(0)})}, names);
    return graph.lower({graph.call(plain->second, {graph.input(0), graph.input(1)})}, names);
  }
  if (const auto function = calls_with_attributes().find(node.op_type()); function != calls_with_attributes().end())
    return graph.lower(function->second(graph), names);
  return std::nullopt;
}

}  // namespace compatcheck::retarget
