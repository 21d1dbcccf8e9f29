// Matrix products: facts.
#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

#include "process/spell_count.h"
#include "symbolic/demands.h"
#include "symbolic/emptiness.h"
#include "symbolic/families.h"
#include "symbolic/matrix.h"
#include "symbolic/promotion.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

std::optional<DType> product_dtype(const Call& call, std::string_view argument) {
  return call.is_none("out_dtype") ? call.dtype_of(argument) : call.dtype("out_dtype");
}

constexpr const char* rows_of_second = "the number of rows of the second matrix";

// torch.matmul of any ranks.
std::optional<Shape> multiplied(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if ((a && a->empty()) || (b && b->empty())) throw Impossible{"a factor of a matrix product has no dimensions"};
  if (!a || !b) return std::nullopt;
  const std::size_t m = a->size(), n = b->size();
  demand_equal((*b)[n - std::min<std::size_t>(n, 2)], a->back(), rows_of_second);
  auto shape = broadcast(Shape(a->begin(), a->end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(m, 2))),
                         Shape(b->begin(), b->end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(n, 2))));
  if (m >= 2) shape->push_back((*a)[m - 2]);
  if (n >= 2) shape->push_back((*b)[n - 1]);
  return shape;
}

Facts matmul(const Call& call) {
  const bool named_other = call.has("other");
  const char* second = named_other ? "other" : call.has("mat2") ? "mat2" : "vec";
  const auto &self = self_of(call), &other = tensor_of(call, second);
  if (!named_other) {
    const std::size_t rank = call.op().starts_with("aten::bmm") ? 3 : 2;
    demand_rank(call, "self", rank, rank);
    demand_rank(call, second, call.has("mat2") ? rank : 1, call.has("mat2") ? rank : 1);
  }
  return {tensor_fact(product_dtype(call, "self"), multiplied(self.shape, other.shape))};
}

Facts dot(const Call& call) {
  const char* other = call.has("tensor") ? "tensor" : "other";
  demand_rank(call, "self", 1, 1);
  demand_rank(call, other, 1, 1);
  demand_equal(size_at(self_of(call), 0), size_at(tensor_of(call, other), 0), "the length of 'self'");
  return {tensor_fact(call.dtype_of("self") ? call.dtype_of("self") : call.dtype_of(other), Shape{})};
}

Facts linear(const Call& call) {
  const TensorFact &input = tensor_of(call, "input"), &weight = tensor_of(call, "weight");
  demand_rank(call, "weight", 1, 2);
  if (input.shape && input.shape->empty()) throw Impossible{"'input' has no dimensions"};
  if (!input.shape || !weight.shape || input.shape->empty()) return {tensor_fact(input.dtype, std::nullopt)};
  demand_equal(input.shape->back(), size_at(weight, weight.shape->size() - 1), "the last dimension of 'input'");
  Shape shape(input.shape->begin(), input.shape->end() - 1);
  if (weight.shape->size() == 2) shape.push_back(weight.shape->front());
  demand_broadcast(tensor_of(call, "bias").shape, shape, "'bias'");
  return {tensor_fact(input.dtype, std::move(shape))};
}

// beta·self + alpha·(a · b), self broadcast to the product.
Facts added(const Call& call, const char* a, std::size_t row, const char* b, std::size_t column) {
  demand_rank(call, a, row + 2, row + 2);
  demand_rank(call, b, row + 2, row + 2);
  const TensorFact &first = tensor_of(call, a), &second = tensor_of(call, b);
  if (row == 1) demand_equal(size_at(second, 0), size_at(first, 0), "the number of matrices");
  demand_equal(size_at(second, row), size_at(first, column), rows_of_second);
  Shape product{size_at(first, row), size_at(second, column)};
  demand_broadcast(self_of(call).shape, product, "'self'");
  return {tensor_fact(product_dtype(call, a), std::move(product))};
}

Facts addmm(const Call& call) { return added(call, "mat1", 0, "mat2", 1); }
Facts scaled_mm(const Call& call) {
  const auto &self = self_of(call), &other = tensor_of(call, "mat2");
  demand_rank(call, "self", 2, 2);
  demand_rank(call, "mat2", 2, 2);
  const auto stated = call.dtype("out_dtype");
  return {tensor_fact(stated ? stated : self.dtype, multiplied(self.shape, other.shape))};
}
Facts addbmm(const Call& call) { return added(call, "batch1", 1, "batch2", 2); }
Facts addmv(const Call& call) {
  demand_rank(call, "mat", 2, 2);
  demand_rank(call, "vec", 1, 1);
  demand_equal(size_at(tensor_of(call, "vec"), 0), size_at(tensor_of(call, "mat"), 1), "the length of 'vec'");
  Shape product{size_at(tensor_of(call, "mat"), 0)};
  demand_broadcast(self_of(call).shape, product, "'self'");
  return {tensor_fact(call.dtype_of("vec"), std::move(product))};
}

Facts outer_product(const Call& call, bool with_self) {
  const char* a = with_self ? "vec1" : "self";
  demand_rank(call, a, 1, 1);
  demand_rank(call, "vec2", 1, 1);
  Shape product{size_at(tensor_of(call, a), 0), size_at(tensor_of(call, "vec2"), 0)};
  Promotion promotion;  // self is expanded first
  promotion.add(with_self ? tensor_fact(self_of(call).dtype, product) : call.fact("self"));
  if (with_self) promotion.add(call.fact("vec1"));
  promotion.add(call.fact("vec2"));
  if (with_self) demand_broadcast(self_of(call).shape, product, "'self'");
  return {tensor_fact(promotion.result(), std::move(product))};
}

Facts addr(const Call& call) { return outer_product(call, true); }
Facts outer(const Call& call) { return outer_product(call, false); }

Facts baddbmm(const Call& call) {
  const TensorFact &a = tensor_of(call, "batch1"), &b = tensor_of(call, "batch2");
  demand_rank(call, "batch1", 3, 3);
  demand_rank(call, "batch2", 3, 3);
  demand_equal(size_at(b, 1), size_at(a, 2), rows_of_second);
  Shape product{agreed_dim(size_at(a, 0), size_at(b, 0)), size_at(a, 1), size_at(b, 2)};
  demand_broadcast(self_of(call).shape, product, "'self'");
  return {tensor_fact(product_dtype(call, "batch1"), std::move(product))};
}

// Sums over the last dimensions; a 0-d operand scales the other.
Facts inner(const Call& call) {
  const TensorFact &self = self_of(call), &other = tensor_of(call, "other");
  if (!self.shape || !other.shape) return {tensor_fact(self.dtype, std::nullopt)};
  if (self.shape->empty() || other.shape->empty()) {
    Promotion promotion;
    promotion.add(call.fact("self"));
    promotion.add(call.fact("other"));
    return {tensor_fact(promotion.result(), broadcast(self.shape, other.shape))};
  }
  demand_equal(other.shape->back(), self.shape->back(), "the last dimension of 'other'");
  Demands demands;
  demands.one_dtype(call, {"self", "other"});
  demands.hold();
  Shape shape(self.shape->begin(), self.shape->end() - 1);
  shape.insert(shape.end(), other.shape->begin(), other.shape->end() - 1);
  return {tensor_fact(self.dtype, std::move(shape))};
}

// Both get dimensions before they are multiplied.
Facts kron(const Call& call) {
  const TensorFact &self = self_of(call), &other = tensor_of(call, "other");
  const auto dtype = self.dtype && other.dtype ? promote_types(*self.dtype, *other.dtype) : std::nullopt;
  if (!self.shape || !other.shape) return {tensor_fact(dtype, std::nullopt)};
  Shape shape(std::max(self.shape->size(), other.shape->size()), Dim(1));
  for (const Shape* factor : {&*self.shape, &*other.shape})
    for (std::size_t i = 0; i < factor->size(); ++i) {
      Dim& size = shape[shape.size() - factor->size() + i];
      size = size * (*factor)[i];
    }
  return {tensor_fact(dtype, std::move(shape))};
}

Facts tensordot(const Call& call) {
  const TensorFact &self = self_of(call), &other = tensor_of(call, "other");
  const auto first = call.ints("dims_self"), second = call.ints("dims_other");
  if (!self.shape || !other.shape || !first || !second) return {tensor_fact(self.dtype, std::nullopt)};
  auto shape = reduce_shape(*self.shape, first, false);
  const auto rest = reduce_shape(*other.shape, second, false);
  if (!shape || !rest) return {tensor_fact(self.dtype, std::nullopt)};
  shape->insert(shape->end(), rest->begin(), rest->end());
  return {tensor_fact(self.dtype, std::move(shape))};
}

Facts vecdot(const Call& call) {
  const TensorFact &x = tensor_of(call, "x"), &y = tensor_of(call, "y");
  const auto dim = call.integer("dim");
  const auto shape = broadcast(x.shape, y.shape);
  if (!dim || !shape) return {tensor_fact(x.dtype, std::nullopt)};
  return {tensor_fact(x.dtype, reduce_shape(*shape, std::vector{*dim}, false))};
}

// A chain of matrices, of which the first and the last may be vectors.
Facts chain(const Call& call) {
  const auto factors = call.list(call.has("tensors") ? "tensors" : "matrices");
  if (!factors || factors->size() < 2) return {tensor_fact(std::nullopt, std::nullopt)};
  const auto *first = factors->front()->tensor(), *last = factors->back()->tensor();
  if (!first || !last) return {tensor_fact(std::nullopt, std::nullopt)};
  for (std::size_t i = 0; i + 1 < factors->size(); ++i) {  // neighbours fit, or PyTorch refuses
    const auto *left = (*factors)[i]->tensor(), *right = (*factors)[i + 1]->tensor();
    if (left && right) multiplied(left->shape, right->shape);
  }
  if (!first->shape || !last->shape) return {tensor_fact(first->dtype, std::nullopt)};
  Shape shape;
  if (first->shape->size() == 2) shape.push_back(first->shape->front());
  if (last->shape->size() == 2) shape.push_back(last->shape->back());
  return {tensor_fact(first->dtype, std::move(shape))};
}

// Each tensor with new dimensions of size 1, multiplied, and summed over some.
Facts trilinear(const Call& call) {
  std::optional<Shape> product;
  for (const std::string number : {"1", "2", "3"}) {
    std::optional<Shape> shape = tensor_of(call, "i" + number).shape;
    auto axes = call.ints("expand" + number);
    if (!shape || !axes) return {tensor_fact(call.dtype_of("i1"), std::nullopt)};
    std::ranges::sort(*axes);
    for (const std::int64_t axis : *axes) {
      if (axis < 0 || axis > static_cast<std::int64_t>(shape->size())) throw Impossible{"a dimension is out of range"};
      shape->insert(shape->begin() + axis, Dim(1));
    }
    product = product ? broadcast(product, shape) : shape;
  }
  const auto sums = call.ints("sumdim");
  if (!sums) return {tensor_fact(call.dtype_of("i1"), std::nullopt)};
  const std::vector<std::int64_t> dims(sums->begin(), sums->end());
  return {tensor_fact(call.dtype_of("i1"), dims.empty() ? product : reduce_shape(*product, dims, false))};
}

// x1 · weight[k] · x2 for each output k, over the last dimensions.
Facts bilinear(const Call& call) {
  const TensorFact &input = tensor_of(call, "input1"), &weight = tensor_of(call, "weight");
  const TensorFact& other = tensor_of(call, "input2");
  demand_rank(call, "weight", 3, 3);
  if (!input.shape) return {tensor_fact(input.dtype, std::nullopt)};
  demand_rank(call, "input2", input.shape->size(), input.shape->size());
  if (input.shape->empty()) throw Impossible{"'input1' has no dimensions"};
  demand_equal(input.shape->back(), size_at(weight, 1), "the last dimension of 'input1'");
  Shape shape = *input.shape;
  if (other.shape) {
    demand_equal(other.shape->back(), size_at(weight, 2), "the last dimension of 'input2'");
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) shape[i] = agreed_dim(shape[i], (*other.shape)[i]);
  }
  shape.back() = size_at(weight, 0);
  if (!call.is_none("bias")) {
    demand_rank(call, "bias", 1, 1);
    demand_equal(size_at(tensor_of(call, "bias"), 0), shape.back(), "the number of biases");
  }
  return {tensor_fact(input.dtype, std::move(shape))};
}

Facts matrix_power(const Call&, const Matrix& a) { return {a.with({a.rows, a.columns})}; }

// ---- einsum

// The sizes that an equation's letters stand for, one for each use; those under "..." are broadcast.
struct Letters {
  std::array<Shape, 128> sizes;
  Shape ellipsis;
  std::string output;
};

bool read_operand(std::string_view letters, const Shape& shape, Letters& known) {
  const auto dots = letters.find("...");
  const std::size_t named = letters.size() - (dots == std::string_view::npos ? 0 : 3);
  if (named > shape.size() || (dots == std::string_view::npos && named != shape.size()))
    throw Impossible{"\"" + std::string(letters) + "\" in its equation doesn't fit an operand of rank " +
                     std::to_string(shape.size())};
  std::size_t dim = 0;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (i == dots) {
      const auto count = static_cast<std::ptrdiff_t>(shape.size() - named);
      const auto begin = shape.begin() + static_cast<std::ptrdiff_t>(dim);
      known.ellipsis = *broadcast(known.ellipsis, Shape(begin, begin + count));
      dim += static_cast<std::size_t>(count);
      i += 2;
      continue;
    }
    const auto letter = static_cast<unsigned char>(letters[i]);
    if (letter >= 128) return false;
    known.sizes[letter].push_back(shape[dim++]);
  }
  return true;
}

// Without "->": what occurs once, in the alphabet's order.
std::string implied_output(const Letters& known, bool dots) {
  std::string output = dots ? "..." : "";
  for (std::size_t letter = 0; letter < known.sizes.size(); ++letter)
    if (known.sizes[letter].size() == 1) output += static_cast<char>(letter);
  return output;
}

std::optional<Letters> read_equation(std::string equation, const std::vector<const Fact*>& operands) {
  std::erase(equation, ' ');
  const auto arrow = equation.find("->");
  std::string_view left = std::string_view(equation).substr(0, arrow);
  const bool dots = left.find("...") != std::string_view::npos;
  Letters known;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto* tensor = operands[i]->tensor();
    const auto comma = left.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == operands.size()))
      throw Impossible{"its equation isn't one of " + spell_count(operands.size(), "operand")};
    if (!tensor || !tensor->shape) return std::nullopt;
    if (!read_operand(left.substr(0, comma), *tensor->shape, known)) return std::nullopt;
    if (comma != std::string_view::npos) left.remove_prefix(comma + 1);
  }
  known.output = arrow == std::string::npos ? implied_output(known, dots) : equation.substr(arrow + 2);
  return known;
}

std::optional<Shape> einsum_shape(const Letters& known) {
  Shape shape;
  for (std::size_t i = 0; i < known.output.size(); ++i) {
    if (known.output.compare(i, 3, "...") == 0) {
      shape.insert(shape.end(), known.ellipsis.begin(), known.ellipsis.end());
      i += 2;
      continue;
    }
    const auto letter = static_cast<unsigned char>(known.output[i]);
    if (letter >= 128 || known.sizes[letter].empty()) return std::nullopt;
    const Shape& sizes = known.sizes[letter];
    shape.push_back(std::accumulate(sizes.begin() + 1, sizes.end(), sizes.front(), broadcast_dim));
  }
  return shape;
}

// Whether an operand has a letter that neither another operand nor the result has: the operand is summed by itself, and sums
// of small integers are i64. A product keeps their dtype.
bool sums_alone(std::string equation, std::size_t operands) {
  std::erase(equation, ' ');
  const auto arrow = equation.find("->");
  if (arrow == std::string::npos) return false;  // a letter that occurs once is in the result
  for (std::size_t i = 0; i < arrow; ++i) {
    const char letter = equation[i];
    if (letter == ',' || letter == '.' || equation.find(letter, arrow) != std::string::npos) continue;
    const auto in_this = [&](std::size_t at) { return equation.substr(0, at).rfind(',') == equation.substr(0, i).rfind(','); };
    bool alone = true;
    for (std::size_t at = 0; at < arrow; ++at) alone = alone && (equation[at] != letter || operands == 1 || in_this(at));
    if (alone) return true;
  }
  return false;
}

// Small integers: an operand that is summed before the product, because the other operand has size 1 there, is summed as i64.
// A product of sums of both kinds is an error in PyTorch, as are products of bools with sums.
std::optional<DType> dtype_of_products(DType dtype, const Letters& known, std::size_t operands) {
  bool as_sum = false, as_product = false;
  for (std::size_t letter = 0; letter < known.sizes.size(); ++letter) {
    if (known.output.find(static_cast<char>(letter)) != std::string::npos) continue;
    const Shape& sizes = known.sizes[letter];
    const auto is_one = [](const Dim& size) { return size.number() == 1; };
    if (std::ranges::all_of(sizes, is_one)) continue;
    const bool broadcasts = std::ranges::any_of(sizes, is_one);
    if (broadcasts && !std::ranges::all_of(sizes, [](const Dim& size) { return size.is_number(); })) return std::nullopt;
    const bool nothing = std::ranges::any_of(sizes, [](const Dim& size) { return size.number() == 0; });
    if (!broadcasts && !nothing && dtype == DType::boolean) throw Impossible{"PyTorch multiplies no matrices of bool"};
    (broadcasts ? as_sum : as_product) = true;
  }
  if (!as_sum) return dtype;
  return as_product || operands > 2 ? std::nullopt : std::optional(DType::i64);
}

Facts einsum(const Call& call) {
  const auto equation = call.string("equation");
  const auto operands = call.list("tensors");
  const auto* first = operands && !operands->empty() ? operands->front()->tensor() : nullptr;
  Promotion promotion;
  if (operands)
    for (const Fact* operand : *operands) promotion.add(*operand);
  auto dtype = first ? promotion.result() : std::nullopt;
  if (!equation || !operands) return {tensor_fact(dtype, std::nullopt)};
  const auto known = read_equation(*equation, *operands);
  if (dtype && !ir::is_floating(*dtype) && !ir::is_complex(*dtype) && *dtype != DType::i64) {
    if (sums_alone(*equation, operands->size()))
      dtype = DType::i64;
    else if (known)
      dtype = dtype_of_products(*dtype, *known, operands->size());
  }
  return {tensor_fact(dtype, known ? einsum_shape(*known) : std::nullopt)};
}

// Groups of rows of the one, or of columns of the other, or of what both sum; matrices of three dimensions have one for each.
Facts grouped(const Call& call) {
  const bool ours = call.has("self");
  const char *first = ours ? "self" : "input", *second = ours ? "mat2" : "weight";
  demand_rank(call, first, 2, ours ? 3 : 2);
  demand_rank(call, second, ours ? 2 : 3, 3);
  demand_rank(call, "offs", 1, 1);
  const TensorFact &left = tensor_of(call, first), &right = tensor_of(call, second);
  if (left.dtype && right.dtype && *left.dtype != *right.dtype)
    throw Impossible{"the dtypes are " + std::string(ir::name(*left.dtype)) + " and " + std::string(ir::name(*right.dtype))};
  if (!left.shape || !right.shape) return {tensor_fact(left.dtype, std::nullopt)};
  const Shape &a = *left.shape, &b = *right.shape;
  const Dim groups = size_at(tensor_of(call, "offs"), 0);
  demand_equal(b[b.size() - 2], a.back(), rows_of_second);
  if (a.size() == 3 && b.size() == 3) demand_equal(b.front(), a.front(), "the number of matrices");
  const bool parted = a.size() == 2 || b.size() == 2;
  if (ours && parted == call.is_none("offs")) throw Impossible{"groups of rows need 'offs', and matrices take none"};
  for (const Shape& shape : {a, b})
    if (parted && shape.size() == 3) demand_equal(groups, shape.front(), "the number of groups");
  Shape shape{a[a.size() - 2], b.back()};
  if (a.size() == b.size()) shape.insert(shape.begin(), parted ? groups : a.front());
  return {tensor_fact(left.dtype, std::move(shape))};
}

// ONNX Runtime's Einsum divides by the sizes of a second operand that it transposes, and by those of a diagonal.
Verdict einsum_has_elements(const Call& call) {
  const auto operands = call.list("tensors");
  const auto equation = call.string("equation");
  const auto repeats = [&] {
    const std::string_view left = std::string_view(*equation).substr(0, equation->find("->"));
    for (std::size_t i = 0; i < left.size(); ++i)
      if (std::isalpha(static_cast<unsigned char>(left[i])) && left.find(left[i], i + 1) != std::string_view::npos) return true;
    return false;
  };
  bool has = true;
  if (operands && (operands->size() > 1 || (equation && repeats())))
    for (const Fact* operand : *operands)
      if (const auto* tensor = operand->tensor(); tensor && tensor->shape)
        for (const Dim& size : *tensor->shape) has = has && provably_at_least_if_empty(size, 1);
  return {.truth = has ? Truth::yes : Truth::no, .message = has ? "" : "an operand may be empty"};
}

}  // namespace

void register_matmul(Registry& registry) {
  for (const char* op : {"aten::matmul", "aten::mm", "aten::bmm", "aten::mv", "aten::linalg_matmul"}) registry.facts(op, matmul);
  for (const char* op : {"aten::dot", "aten::vdot"}) registry.facts(op, dot);
  registry.condition("einsum_has_elements", einsum_has_elements);
  registry.facts("aten::linear", linear);
  registry.facts("aten::addmm", addmm);
  registry.facts("aten::_addmm_activation", addmm);
  registry.facts("aten::_scaled_mm", scaled_mm);
  registry.facts("aten::addbmm", addbmm);
  registry.facts("aten::addmv", addmv);
  registry.facts("aten::addr", addr);
  registry.facts("aten::outer", outer);
  registry.facts("aten::ger", outer);
  registry.facts("aten::baddbmm", baddbmm);
  registry.facts("aten::inner", inner);
  registry.facts("aten::kron", kron);
  registry.facts("aten::tensordot", tensordot);
  registry.facts("aten::linalg_vecdot", vecdot);
  registry.facts("aten::linalg_matrix_power", of_matrix<matrix_power>);
  registry.facts("aten::linalg_multi_dot", chain);
  registry.facts("aten::chain_matmul", chain);
  registry.facts("aten::bilinear", bilinear);
  registry.facts("aten::_trilinear", trilinear);
  registry.facts("aten::einsum", einsum);
  for (const char* op : {"aten::_grouped_mm", "transformers::grouped_mm_fallback"}) registry.facts(op, grouped);
}

}  // namespace compatcheck::symbolic
