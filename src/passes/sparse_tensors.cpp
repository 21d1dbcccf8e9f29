// Sparse tensors in coordinate form become dense computations: ONNX has no operators for them. A product with a dense matrix
// gathers the matrix's rows and adds them up, so the dense form of the sparse tensor is made only where the program asks for it.
#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "passes/alias.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "schema/schema.h"

namespace compatcheck::passes {
namespace {

// Without dense dimensions: a vector of positions for each dimension. Positions may repeat: their values add up.
struct Sparse {
  std::vector<ir::Value*> positions, sizes;
  ir::Value* values = nullptr;
  bool merged = false;  // by coalesce(): in PyTorch, `positions` and `values` are others then
};

bool makes_sparse(const ir::Node& node) {
  return (node.is("aten::sparse_coo_tensor") && node.overload() == "indices_size") || node.is("aten::_sparse_coo_tensor_unsafe");
}

// The items of a list of numbers that is made with a known length.
std::optional<std::vector<ir::Value*>> items_of(ir::Value* list, ir::Node* place) {
  std::vector<ir::Value*> items;
  if (const auto* constant = known<ir::ListConstant>(list)) {
    for (const ir::Constant& item : constant->items) items.push_back(constant_before(place, item));
    return items;
  }
  const ir::Node* made = list->producer();
  if (!made || !made->is("prim::ListConstruct")) return std::nullopt;
  return std::vector<ir::Value*>(made->inputs().begin(), made->inputs().end());
}

std::optional<std::vector<std::size_t>> dims_of(const ir::Value* list, std::size_t rank) {
  std::vector<const ir::Value*> items;
  std::vector<std::size_t> dims;
  const auto add = [&](const std::int64_t* dim) {
    const auto count = static_cast<std::int64_t>(rank);
    if (!dim || *dim < -count || *dim >= count) return false;
    dims.push_back(static_cast<std::size_t>(*dim < 0 ? *dim + count : *dim));
    return true;
  };
  if (const auto* constant = known<ir::ListConstant>(list)) {
    for (const ir::Constant& item : constant->items)
      if (!add(item.get<std::int64_t>())) return std::nullopt;
    return dims;
  }
  const ir::Node* made = list->producer();
  if (!made || !made->is("prim::ListConstruct")) return std::nullopt;
  for (const ir::Value* item : made->inputs())
    if (!add(known<std::int64_t>(item))) return std::nullopt;
  return dims;
}

// Nodes before the one whose place they take.
class Writer {
 public:
  Writer(ir::Node* place, const schema::Registry& registry) : place_(place), registry_(registry) {}

  ir::Value* number(std::int64_t value) const { return constant_before(place_, {value}); }

  ir::Value* call(const char* op, const std::vector<ir::Value*>& inputs) const { return call(op, inputs, tensor_); }

  ir::Value* call(const char* op, const std::vector<ir::Value*>& inputs, const ir::TypeRef& type) const {
    ir::Node* made = node_before(place_, op, inputs, std::span(&type, 1));
    if (!complete_call(made, registry_))
      throw InternalError(std::string("no schema of ") + op + " fits what a sparse tensor becomes");
    return made->output();
  }

  ir::Value* list(const std::vector<ir::Value*>& items, const ir::TypeRef& type) const {
    const ir::TypeRef of = ir::list_of(type);
    return node_before(place_, "prim::ListConstruct", items, std::span(&of, 1))->output();
  }

  ir::Value* zeros(const Sparse& like, const std::vector<ir::Value*>& sizes) const {
    return call("aten::new_zeros", {like.values, list(sizes, integer_)});
  }

  Sparse made_by(ir::Node* node) const {
    Sparse made{{}, *items_of(node->input(2), place_), node->input(1), false};
    for (std::size_t i = 0; i < made.sizes.size(); ++i)
      made.positions.push_back(call("aten::select", {node->input(0), number(0), number(static_cast<std::int64_t>(i))}));
    if (!ir::constant_of(node->input(3)) || !ir::constant_of(node->input(3))->is_none())
      made.values = call("aten::to", {made.values, node->input(3)});
    return made;
  }

  ir::Value* dense(const Sparse& sparse) const {
    return call("aten::index_put", {zeros(sparse, sparse.sizes), list(sparse.positions, ir::optional_of(tensor_)), sparse.values,
                                    constant_before(place_, {true})});
  }

  ir::Value* stacked(const std::vector<ir::Value*>& positions) const {
    return call("aten::stack", {list(positions, tensor_), number(0)});
  }

  ir::Value* sum(const Sparse& sparse) const { return call("aten::sum", {sparse.values}); }

  ir::Value* product(const Sparse& sparse, ir::Value* matrix, bool is_vector) const {
    ir::Value* rows = call("aten::index_select", {matrix, number(0), sparse.positions[1]});
    std::vector<ir::Value*> sizes{sparse.sizes[0]};
    ir::Value* values = sparse.values;
    if (!is_vector) {
      sizes.push_back(call("aten::size", {matrix, number(1)}, integer_));
      values = call("aten::unsqueeze", {values, number(1)});
    }
    return call("aten::index_add", {zeros(sparse, sizes), number(0), sparse.positions[0], call("aten::mul", {rows, values})});
  }

  // Facts settle the rank of `other`.
  ir::Value* matmul(const Sparse& sparse, ir::Value* other) const {
    ir::Value* rank = call("aten::dim", {other}, integer_);
    ir::Value* is_vector = call("aten::eq", {rank, number(1)}, ir::simple_type(ir::TypeKind::boolean));
    ir::Node* branch = node_before(place_, "prim::If", std::span(&is_vector, 1), std::span(&tensor_, 1));
    for (const bool vector : {true, false}) {
      ir::Block* block = branch->add_block();
      block->add_output(Writer(block->return_node(), registry_).product(sparse, other, vector));
    }
    return branch->output();
  }

 private:
  ir::Node* place_;
  const schema::Registry& registry_;
  const ir::TypeRef tensor_ = ir::simple_type(ir::TypeKind::tensor), integer_ = ir::simple_type(ir::TypeKind::integer);
};

// The sparse tensor of `rank` dimensions, for the node that reads it.
enum class Reader : std::uint8_t {
  none,
  dense,
  matmul,
  product,
  vector_product,
  added,
  sum,
  part_sum,
  merged,
  turned,
  values,
  indices,
  size
};

bool is_zero(const ir::Value* scalar) {
  const auto* whole = known<std::int64_t>(scalar);
  const auto* real = known<double>(scalar);
  return (whole && *whole == 0) || (real && *real == 0);
}

Reader reader_of(const ir::Use& use, std::size_t rank, bool merged) {
  const ir::Node& node = *use.user;
  if (use.operand == 1 && rank == 2 && (node.is("aten::_sparse_addmm") || (node.is("aten::addmm") && node.inputs().size() == 5)))
    return ir::constant_of(node.input(3)) ? Reader::added : Reader::none;  // beta of 0 ignores what is added
  if (use.operand != 0) return Reader::none;
  const bool plain = node.inputs().size() < 2 || (ir::constant_of(node.input(1)) && ir::constant_of(node.input(1))->is_none());
  if (node.is("aten::to_dense") || node.is("aten::_to_dense")) return plain ? Reader::dense : Reader::none;
  if (rank == 2 && (node.is("aten::_sparse_mm") || node.is("aten::mm")))
    return node.inputs().size() == 2 ? Reader::product : Reader::none;
  if (rank == 2 && node.is("aten::matmul")) return Reader::matmul;
  if (rank == 2 && node.is("aten::mv")) return Reader::vector_product;
  if (node.is("aten::_sparse_sum") && node.inputs().size() == 1) return Reader::sum;
  if (node.is("aten::_sparse_sum") && node.overload() == "dim")
    return dims_of(node.input(1), rank) ? Reader::part_sum : Reader::none;
  if (node.is("aten::coalesce")) return Reader::merged;
  if (rank == 2 && node.is("aten::t")) return Reader::turned;
  if (node.is("aten::_values")) return merged ? Reader::none : Reader::values;
  if (node.is("aten::_indices")) return merged ? Reader::none : Reader::indices;
  if (node.is("aten::size") && node.inputs().size() == 2) {
    const auto* dim = known<std::int64_t>(node.input(1));
    return dim && *dim >= 0 && *dim < static_cast<std::int64_t>(rank) ? Reader::size : Reader::none;
  }
  return Reader::none;
}

// The tensors that follow from a sparse one without its dense form; empty if the reader gives none.
std::optional<std::size_t> rank_after(const ir::Node& reader, Reader how, std::size_t rank) {
  if (how == Reader::merged || how == Reader::turned) return rank;
  if (how != Reader::part_sum) return std::nullopt;
  const std::size_t left = rank - dims_of(reader.input(1), rank)->size();
  return left > 0 ? std::optional(left) : std::nullopt;
}

// Whether all that reads it can be written without it.
bool is_replaceable(const ir::Value* sparse, std::size_t rank, bool merged) {
  return std::ranges::all_of(sparse->uses(), [&](const ir::Use& use) {
    const Reader how = reader_of(use, rank, merged);
    if (how == Reader::none) return false;
    const auto left = rank_after(*use.user, how, rank);
    return !left || is_replaceable(use.user->output(), *left, merged || how != Reader::turned);
  });
}

Sparse following(const ir::Node& reader, Reader how, Sparse sparse) {
  sparse.merged = sparse.merged || how != Reader::turned;
  if (how == Reader::turned) {
    std::swap(sparse.positions[0], sparse.positions[1]);
    std::swap(sparse.sizes[0], sparse.sizes[1]);
  } else if (how == Reader::part_sum) {
    auto dims = *dims_of(reader.input(1), sparse.sizes.size());
    std::ranges::sort(dims, std::greater());
    for (const std::size_t dim : dims) {
      sparse.positions.erase(sparse.positions.begin() + static_cast<std::ptrdiff_t>(dim));
      sparse.sizes.erase(sparse.sizes.begin() + static_cast<std::ptrdiff_t>(dim));
    }
  }
  return sparse;
}

ir::Value* replacement(const Writer& writer, const ir::Node& reader, Reader how, const Sparse& sparse) {
  switch (how) {
    case Reader::dense: return writer.dense(sparse);
    case Reader::matmul: return writer.matmul(sparse, reader.input(1));
    case Reader::product: return writer.product(sparse, reader.input(1), false);
    case Reader::vector_product: return writer.product(sparse, reader.input(1), true);
    case Reader::added: {
      ir::Value* product = writer.product(sparse, reader.input(2), false);
      if (is_zero(reader.input(3))) return writer.call("aten::mul", {product, reader.input(4)});
      return writer.call("aten::add", {writer.call("aten::mul", {reader.input(0), reader.input(3)}), product, reader.input(4)});
    }
    case Reader::values: return sparse.values;
    case Reader::indices: return writer.stacked(sparse.positions);
    case Reader::size: return sparse.sizes[static_cast<std::size_t>(*known<std::int64_t>(reader.input(1)))];
    default: return writer.sum(sparse);
  }
}

void replace_readers(ir::Value* tensor, const Sparse& sparse, const schema::Registry& registry) {
  const std::vector<ir::Use> uses(tensor->uses().begin(), tensor->uses().end());
  for (const ir::Use& use : uses) {
    ir::Node* reader = use.user;
    const Reader how = reader_of(use, sparse.sizes.size(), sparse.merged);
    if (rank_after(*reader, how, sparse.sizes.size()))
      replace_readers(reader->output(), following(*reader, how, sparse), registry);
    else
      replace(reader->output(), replacement(Writer(reader, registry), *reader, how, sparse));
    reader->erase();
  }
}

}  // namespace

std::size_t expand_sparse_tensors(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry,
                                  const ir::Watch& watch) {
  std::vector<ir::Node*> makers;
  for (ir::Node* node : all_nodes(graph, watch))
    if (makes_sparse(*node)) makers.push_back(node);
  if (makers.empty()) return 0;
  const auto aliases = Aliases::of(graph, program, watch);
  return static_cast<std::size_t>(std::ranges::count_if(makers, [&](ir::Node* node) {
    const auto sizes = items_of(node->input(2), node);
    if (!sizes || sizes->empty() || aliases->written(node->input(0)) || aliases->written(node->input(1)) ||
        !is_replaceable(node->output(), sizes->size(), false))
      return false;
    replace_readers(node->output(), Writer(node, registry).made_by(node), registry);
    node->erase();
    return true;
  }));
}

}  // namespace compatcheck::passes
