#include "symbolic/indices.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "schema/traits.h"

namespace compatcheck::symbolic {
namespace {

using IndexKind = IndexArgument::Kind;

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

class IndexFinder {
 public:
  explicit IndexFinder(const Call& call) : call_(call), op_(schema::without_in_place(call.op())) {}

  std::vector<IndexArgument> find() {
    if (one_of(op_, {"aten::index", "aten::index_put", "aten::_index_put_impl"}))
      members("indices");
    else if (one_of(op_, {"aten::embedding", "aten::embedding_bag"}))
      rows_of_weight();
    else if (op_ == "aten::take")
      indices("index", size_of(call_.fact("self"), -1));
    else if (op_ == "aten::take_along_dim")
      indices("indices", along_dim());
    else if (op_ == "aten::one_hot")
      indices("self", call_.dim("num_classes"));
    else if (one_of(op_, {"aten::nll_loss", "aten::nll_loss_nd", "aten::nll_loss2d", "aten::nll_loss_forward",
                          "aten::nll_loss2d_forward", "aten::multi_margin_loss"}))
      indices("target", size_of(call_.fact("self"), call_.rank("self") == 1 ? 0 : 1));
    else if (op_.starts_with("torch_nn::_linear_cross_entropy"))
      indices("target", size_of(call_.fact("linear_weight"), 0));
    else if (one_of(op_, {"aten::masked_fill", "aten::masked_select", "aten::masked_scatter"}))
      add(IndexKind::masks, call_.value("mask"), std::nullopt);
    else if (op_ == "aten::where" && call_.has("self") && call_.has("condition"))
      add(IndexKind::masks, call_.value("condition"), std::nullopt);
    else if (op_.starts_with("aten::bitwise_") || one_of(op_, {"aten::__and__", "aten::__or__", "aten::__xor__"}))
      bits();
    else if (is_indexing())
      indices("index", along_dim());
    return std::move(found_);
  }

 private:
  bool is_indexing() const {
    static const std::set<std::string_view> names = {"aten::gather",         "aten::scatter",      "aten::scatter_add",
                                                     "aten::scatter_reduce", "aten::index_select", "aten::index_add",
                                                     "aten::index_copy",     "aten::index_fill",   "aten::index_reduce"};
    return names.contains(op_);
  }

  std::optional<Dim> along_dim() const {
    return size_of(call_.fact("self"), call_.has("dim") ? call_.integer("dim") : std::nullopt);
  }

  void indices(std::string_view argument, std::optional<Dim> below) { add(IndexKind::indices, call_.value(argument), below); }

  // Bags begin at places among the indices.
  void rows_of_weight() {
    indices("indices", size_of(call_.fact("weight"), 0));
    if (call_.has("offsets") && !call_.is_none("offsets")) indices("offsets", std::nullopt);
  }

  void add(IndexKind kind, const ir::Value* value, std::optional<Dim> below) {
    if (value) found_.push_back({.kind = kind, .value = value, .below = std::move(below)});
  }

  // x[i, j]: each member of the list indexes a dimension of its own.
  void members(std::string_view argument) {
    const ir::Value* list = call_.value(argument);
    const ir::Node* maker = list ? list->producer() : nullptr;
    if (!maker || !maker->is("prim::ListConstruct")) return;
    for (std::size_t i = 0; i < maker->inputs().size(); ++i)
      add(IndexKind::indices_or_masks, maker->input(i), size_of(call_.fact("self"), static_cast<std::int64_t>(i)));
  }

  void bits() {
    for (const ir::Value* value : call_.node().inputs())
      if (call_.facts().of(value).tensor()) add(IndexKind::bits, value, std::nullopt);
  }

  const Call& call_;
  std::string_view op_;
  std::vector<IndexArgument> found_;
};

bool takes(IndexKind kind, ir::DType dtype) {
  const bool whole = ir::is_integral(dtype), truth = dtype == ir::DType::boolean;
  switch (kind) {
    case IndexKind::indices: return whole;
    case IndexKind::masks: return truth || dtype == ir::DType::u8;
    case IndexKind::indices_or_masks:
    case IndexKind::bits: return whole || truth;
  }
  return true;
}

std::string_view requirement_of(IndexKind kind) {
  switch (kind) {
    case IndexKind::indices: return "indices must be whole numbers, but are ";
    case IndexKind::masks: return "a mask must be bool, but is ";
    case IndexKind::indices_or_masks: return "indices must be whole numbers or bool, but are ";
    case IndexKind::bits: return "an operator on bits supports only whole numbers and bool, not ";
  }
  return {};
}

}  // namespace

std::optional<Dim> size_of(const Fact& fact, std::optional<std::int64_t> dim) {
  const auto* tensor = fact.tensor();
  if (!tensor || !tensor->shape || !dim) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(tensor->shape->size());
  const std::int64_t axis = *dim < 0 ? *dim + rank : *dim;
  if (axis < 0 || axis >= rank) return std::nullopt;
  return (*tensor->shape)[static_cast<std::size_t>(axis)];
}

std::vector<IndexArgument> index_arguments(const Call& call) {
  return call.node().schema() ? IndexFinder(call).find() : std::vector<IndexArgument>();
}

Verdict indices_have_dtypes(const Call& call) {
  for (const IndexArgument& argument : index_arguments(call)) {
    const auto* tensor = call.facts().of(argument.value).tensor();
    if (tensor && tensor->dtype && !takes(argument.kind, *tensor->dtype))
      return {.truth = Truth::no, .message = std::string(requirement_of(argument.kind)) + std::string(ir::name(*tensor->dtype))};
  }
  return {.truth = Truth::yes};
}

}  // namespace compatcheck::symbolic
