// Groups of rows or columns, each multiplied by a matrix of its own, as mixtures of experts do. Where a group ends, only the
// running model knows.
#include <limits>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/loop.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

constexpr std::int64_t end_of_axis = std::numeric_limits<std::int64_t>::max();

struct Groups {
  Value starts, ends;  // of each
  Value last;          // of all, [1]
};

Groups groups_of(Emission& e) {
  const Value ends = e.tensor("offs", DType::i64), bounds = e.build.concat({e.integers({0}), ends}, 0);
  return {e.build.slice(bounds, {0}, {-1}, {0}), ends, e.build.slice(bounds, {-1}, {end_of_axis}, {0})};
}

// The part of `value` along `axis` that belongs to group `number`, which has no dimensions. Before opset 10 Slice takes no bounds
// that are computed: `places` are those along the axis.
Value part(Emission& e, const Groups& groups, const Value& number, const Value& value, std::int64_t axis, const Value& places) {
  const Value at = e.build.reshape(number, {1}), start = e.build.gather(groups.starts, at, 0),
              end = e.build.gather(groups.ends, at, 0);
  if (e.at_least(10)) return sliced(e, value, axis, start, end);
  const Value inside = e.node("And", {e.node("Not", {e.node("Less", {places, start})}), e.node("Less", {places, end})});
  return e.build.gather(value, e.build.reshape(e.node("NonZero", {inside}), {-1}), axis);
}

// `count` pieces and zeros of the sizes `rest`, joined along `axis`. As a sequence no piece is copied twice.
Value joined_pieces(Emission& e, DType dtype, std::int64_t axis, const Value& count, const Values& rest,
                    const std::function<Value(const Value& iteration)>& piece) {
  const auto zeros = [&](const Values& sizes) { return filled(e, e.build.concat(sizes, 0), e.scalar(dtype, 0)); };
  if (e.at_least(13) && !e.variant("growing")) {
    const Value pieces = with_more(e, empty_sequence(e, dtype), count, piece);
    return e.node("ConcatFromSequence", {e.node("SequenceInsert", {pieces, zeros(rest)})}, {{"axis", axis}}, dtype);
  }
  Values none = rest;
  none[static_cast<std::size_t>(axis)] = e.integers({0});
  const Value pieces = repeat(e, count, {zeros(none)}, [&](const Value& iteration, const Values& before) {
                         return Values{e.build.concat({before.front(), piece(iteration)}, axis)};
                       }).front();
  return e.build.concat({pieces, zeros(rest)}, axis);
}

struct Operands {
  const char *left, *right;
};

// Groups without rows are left out. A matrix is read once for each group, whatever the number of its rows.
void give_groups(Emission& e, const Operands& names) {
  const bool columns = e.rank(names.left) == 3;
  const char *parted = columns ? names.right : names.left, *several = columns ? names.left : names.right;
  const std::int64_t axis = columns ? 1 : 0;
  const Value x = e.tensor(parted, e.output_dtype()), matrices = e.tensor(several, e.output_dtype());
  const Groups groups = groups_of(e);
  const Value size = e.size_of(parted, axis), places = e.at_least(10) ? Value{} : places_of(e, size);
  const Value used = e.build.squeeze(e.node("NonZero", {difference(e, groups.ends, groups.starts)}), {0});
  const Value count = e.node("Size", {used}), rest = difference(e, size, groups.last);
  const Values sizes = columns ? Values{e.size_of(several, 1), rest} : Values{rest, e.size_of(several, 2)};
  e.give(joined_pieces(e, x.dtype, axis, count, sizes, [&](const Value& iteration) {
    const Value number = e.build.gather(used, iteration, 0), own = part(e, groups, number, x, axis, places);
    const Value matrix = e.build.gather(matrices, number, 0);
    return columns ? e.node("MatMul", {matrix, own}) : e.node("MatMul", {own, matrix});
  }));
}

// The sum over each group is a matrix of its own.
void give_sums(Emission& e, const Operands& names) {
  const Value left = e.tensor(names.left, e.output_dtype()), right = e.tensor(names.right, e.output_dtype());
  const Groups groups = groups_of(e);
  const Value places = e.at_least(10) ? Value{} : places_of(e, e.size_of(names.left, 1));
  const Value count = e.build.squeeze(e.size_of("offs", 0), {0});
  const Values none{e.integers({0}), e.size_of(names.left, 0), e.size_of(names.right, 1)};
  e.give(joined_pieces(e, left.dtype, 0, count, none, [&](const Value& number) {
    const Value rows = part(e, groups, number, right, 0, places), columns = part(e, groups, number, left, 1, places);
    return e.build.unsqueeze(e.node("MatMul", {columns, rows}), {0});
  }));
}

// Without NonZero: each row with a copy of its matrix; what no group has is multiplied by zeros.
void give_gathered(Emission& e, const Operands& names) {
  const bool columns = e.rank(names.left) == 3;
  const char *parted = columns ? names.right : names.left, *several = columns ? names.left : names.right;
  const Value x = e.tensor(parted, e.output_dtype()), matrices = e.tensor(several, e.output_dtype());
  const Value places = places_of(e, e.integers({e.known_size(parted, columns ? 1 : 0)}));
  const std::int64_t height = e.known_size(several, 1), width = e.known_size(several, 2);
  const Value nothing =
      e.node("Tile", {e.build.constant(onnx::make_tensor(x.dtype, {1, 1, 1}, Doubles{0})), e.integers({1, height, width})});
  const Value row = e.cast(e.build.unsqueeze(places, {1}), DType::f64);  // Less compares no integers yet
  const Value before = e.node("Not", {e.node("Less", {row, e.build.unsqueeze(e.tensor("offs", DType::f64), {0})})});
  const Value number = reduce(e, "ReduceSum", e.cast(before, DType::i64), {1}, false);
  const Value own = e.build.gather(e.build.concat({matrices, nothing}, 0), number, 0);
  if (!columns) return e.give(e.build.squeeze(e.node("MatMul", {e.build.unsqueeze(x, {1}), own}), {1}));
  const Value vectors = e.build.unsqueeze(e.build.transpose(x, {1, 0}), {2});
  e.give(e.build.transpose(e.build.squeeze(e.node("MatMul", {own, vectors}), {2}), {1, 0}));
}

void give_product(Emission& e, const Operands& names) {
  const bool left = e.rank(names.left) == 3, right = e.rank(names.right) == 3;
  if (left && right) return e.give(e.node("MatMul", {e.tensor(names.left), e.tensor(names.right)}));
  if (e.variant("gathered")) return give_gathered(e, names);
  left == right ? give_sums(e, names) : give_groups(e, names);
}

void grouped_mm(Emission& e) { give_product(e, {"self", "mat2"}); }
void grouped_mm_fallback(Emission& e) { give_product(e, {"input", "weight"}); }

}  // namespace

void register_matmul_grouped(Registry& registry) {
  registry.handler("aten::_grouped_mm", grouped_mm, {"gathered", "growing"});
  registry.handler("transformers::grouped_mm_fallback", grouped_mm_fallback, {"gathered", "growing"});
}

}  // namespace compatcheck::handlers
