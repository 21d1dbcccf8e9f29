#include "frontend/pt2/autocast.h"

#include <algorithm>
#include <array>

#include "ir/exported_ops.h"

namespace compatcheck::frontend::pt2 {
namespace {

// Source: ATen/autocast_mode.h, AT_FORALL_LOWER_PRECISION_FP (torch 2.13); lstm and gru stand for the cells that it lists.
constexpr auto lower = std::to_array<std::string_view>({"aten::_convolution",
                                                        "aten::addbmm",
                                                        "aten::addmm",
                                                        "aten::addmv",
                                                        "aten::baddbmm",
                                                        "aten::bmm",
                                                        "aten::chain_matmul",
                                                        "aten::conv1d",
                                                        "aten::conv2d",
                                                        "aten::conv3d",
                                                        "aten::conv_tbc",
                                                        "aten::conv_transpose1d",
                                                        "aten::conv_transpose2d",
                                                        "aten::conv_transpose3d",
                                                        "aten::convolution",
                                                        "aten::einsum",
                                                        "aten::gru",
                                                        "aten::linalg_multi_dot",
                                                        "aten::linalg_vecdot",
                                                        "aten::linear",
                                                        "aten::lstm",
                                                        "aten::matmul",
                                                        "aten::mm",
                                                        "aten::mv",
                                                        "aten::prelu",
                                                        "aten::scaled_dot_product_attention"});

// These compute by operators of that list.
constexpr auto by_lower =
    std::to_array<std::string_view>({"aten::bilinear", "aten::cdist", "aten::gru_cell", "aten::inner", "aten::linalg_matmul",
                                     "aten::linalg_matrix_power", "aten::lstm_cell", "aten::matrix_power", "aten::rnn_relu",
                                     "aten::rnn_relu_cell", "aten::rnn_tanh", "aten::rnn_tanh_cell", "aten::tensordot"});

// These have the dtype that they are called for, in autocast too.
constexpr auto conversions =
    std::to_array<std::string_view>({"aten::to", "aten::_to_copy", "aten::type_as", "aten::copy_", "aten::where", "aten::view"});

// These have the dtype of what they normalize, whatever dtype their weights and statistics have. Autocast on CPU doesn't cast
// them.
constexpr auto normalizations =
    std::to_array<std::string_view>({"aten::layer_norm", "aten::native_layer_norm", "aten::group_norm", "aten::native_group_norm",
                                     "aten::rms_norm", "aten::_fused_rms_norm", "aten::instance_norm", "aten::batch_norm",
                                     "aten::native_batch_norm", "aten::_native_batch_norm_legit",
                                     "aten::_native_batch_norm_legit_no_training", "aten::_native_batch_norm_legit_functional"});

bool contains(std::span<const std::string_view> list, const std::string& op) { return std::ranges::find(list, op) != list.end(); }

bool is_half(std::optional<ir::DType> dtype) { return dtype == ir::DType::f16 || dtype == ir::DType::bf16; }

bool is_list_made_here(const ir::Value* value) {
  return ir::is_tensor_list(value->type()) && value->producer() && value->producer()->is("prim::ListConstruct");
}

// The first member of a list stands for all.
template <class Accepts>
bool reads(const ir::Node& node, Accepts&& accepts) {
  return std::ranges::any_of(node.inputs(), [&](const ir::Value* operand) {
    if (is_list_made_here(operand) && !operand->producer()->inputs().empty()) operand = operand->producer()->input(0);
    return ir::is(operand->type(), ir::TypeKind::tensor) && accepts(operand->type()->tensor.dtype);
  });
}

// The operand `i`, or the members of the list that was made for it.
void cast_operand(NodeWriter& nodes, ir::Node& user, std::size_t i, ir::DType to, bool lowers) {
  ir::Value* operand = user.input(i);
  if (is_list_made_here(operand)) {
    ir::Node* const list = operand->producer();
    for (std::size_t item = 0; item < list->inputs().size(); ++item) cast_operand(nodes, *list, item, to, lowers);
    return;
  }
  if (!ir::is(operand->type(), ir::TypeKind::tensor)) return;
  const auto from = operand->type()->tensor.dtype;
  if (from == to || !(is_half(from) || (lowers && from == ir::DType::f32))) return;
  ir::TensorType type = operand->type()->tensor;
  type.dtype = to;
  ir::Value* result = nodes.cast(operand, nodes.constant({static_cast<std::int64_t>(to)}), type);
  result->producer()->move_before(&user);
  user.replace_input(i, result);
}

}  // namespace

// Operators of lower precision have halves as results, others that have single precision were given it.
void cast_as_autocast(NodeWriter& nodes, const Autocast& autocast, ir::Node& made, std::optional<ir::DType> result) {
  if (contains(conversions, made.op())) return;
  const ir::TypeRef normalized = made.inputs().empty() ? nullptr : made.input(0)->type();
  if (contains(normalizations, made.op()) && is_half(result) && ir::is(normalized, ir::TypeKind::tensor) &&
      normalized->tensor.dtype == result && !autocast.is_strict)
    return;
  const bool is_listed = contains(lower, made.op()), is_lower = result == autocast.lower, lowers = is_listed && is_lower;
  const bool of_singles = reads(made, [](auto dtype) { return dtype == ir::DType::f32; });
  const bool of_halves = reads(made, is_half);
  const bool lowers_unlisted = !is_listed && is_lower && of_singles;
  const bool may_lower = is_listed || contains(by_lower, made.op());
  if (lowers_unlisted || (autocast.is_strict && (of_halves || (of_singles && may_lower)))) {
    made.set_op(std::string(ir::exported_ops::autocast) + made.op());
    made.set_overload("");
    return;
  }
  if (!lowers && result != ir::DType::f32) return;
  const ir::DType to = lowers ? autocast.lower : ir::DType::f32;
  for (std::size_t i = 0; i < made.inputs().size(); ++i) cast_operand(nodes, made, i, to, lowers);
}

}  // namespace compatcheck::frontend::pt2
