// New tensors: full of one number, from numbers and lists, and grids.
#include <algorithm>
#include <numeric>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// ---- Full of one number

Value number_of(Emission& e, double number) { return e.scalar(e.output_dtype(), number); }

// The sizes of `self`, or those asked for.
Value sizes(Emission& e) { return e.call.has("size") ? e.int_vector("size") : e.shape_of("self"); }

void give_zeros(Emission& e) { e.give(filled(e, sizes(e), number_of(e, 0))); }
void ones(Emission& e) { e.give(filled(e, sizes(e), number_of(e, 1))); }

void full(Emission& e) {
  const Value number = e.number_value(e.call.has("fill_value") ? "fill_value" : "value", e.output_dtype());
  e.give(filled(e, sizes(e), number));
}

// Below opset 9 a constant, so the sizes must be known.
void eye(Emission& e) {
  const Value rows = int_value(e, "n"), columns = e.call.has("m") ? int_value(e, "m") : rows;
  if (e.variant("operator")) {
    const Value like = e.node("ConstantOfShape", {joined(e, {rows, columns})},
                              {{"value", onnx::make_tensor(DType::f32, {1}, Ints{0})}}, DType::f32);
    return e.give(e.node("EyeLike", {like}, {{"dtype", onnx::data_type(DType::f32)}}, DType::f32));
  }
  const std::int64_t n = e.integer("n"), m = e.call.has("m") ? e.integer("m") : n;
  Ints elements(static_cast<std::size_t>(n * m), 0);
  for (std::int64_t i = 0; i < std::min(n, m); ++i) elements[static_cast<std::size_t>(i * m + i)] = 1;
  e.give(e.build.constant(onnx::make_tensor(e.output_dtype(), {n, m}, elements)));
}

// ---- From numbers

void scalar_tensor(Emission& e) { e.give(e.number_value("s", e.output_dtype())); }

// Lists of lists have a dimension for each level.
Value tensor_of(Emission& e, const Operand& operand, DType dtype) {
  if (const auto* vector = std::get_if<Vector>(&operand.value)) return e.cast(vector->value, dtype);
  const List* list = operand.list();
  if (!list) {
    const Value one = e.as_tensor(operand, "data");
    return e.cast(one, dtype);
  }
  const bool nested =
      !list->items.empty() && (list->items.front().list() || std::holds_alternative<Vector>(list->items.front().value));
  if (!nested) return vector_of(*list, dtype, e.build);
  const auto marked = e.build.plumbing();
  Values rows;
  for (const Operand& item : list->items) {
    const Value row = tensor_of(e, item, dtype);
    rows.push_back(e.build.unsqueeze(row, {0}));
  }
  return e.build.concat(rows, 0);
}

void tensor(Emission& e) {
  const std::string_view argument = e.call.has("data") ? "data" : "t";
  const Operand& given = e.operand(argument);
  if (given.list() || std::holds_alternative<Vector>(given.value)) return e.give(tensor_of(e, given, e.output_dtype()));
  if (e.call.fact(argument).number()) return e.give(e.number_value(argument, e.output_dtype()));
  e.give(e.tensor(argument));
}

// ---- A grid of places in an image

// `count` positions from −1 to 1: corners if align_corners, else centers of pixels.
Doubles coordinates(std::int64_t count, bool align_corners) {
  Doubles places;
  for (std::int64_t i = 0; i < count; ++i) {
    const double place = count == 1 ? 0 : -1 + 2.0 * static_cast<double>(i) / static_cast<double>(count - 1);
    places.push_back(align_corners ? place : place * static_cast<double>(count - 1) / static_cast<double>(count));
  }
  return places;
}

// The same of a number of positions that only the model knows, an i64 vector of one: (2 i - (count - 1)) / count.
Value coordinates(Emission& e, const Value& count, bool align_corners, DType dtype) {
  const auto marked = e.build.plumbing();  // would be a constant if its size were known
  const Value one = e.scalar(dtype, 1), all = e.cast(count, dtype), last = e.node("Sub", {all, one});
  const Value place = e.node("Mul", {e.cast(places_of(e, count), dtype), e.scalar(dtype, 2)});
  return e.node("Div", {e.node("Sub", {place, last}), align_corners ? e.node("Max", {last, one}) : all});
}

// The columns of theta, each times its coordinate; the last one is added.
void affine_grid_of_open_size(Emission& e) {
  const auto sizes = e.call.dims("size");
  if (!sizes) e.want("size", "the length");
  if (sizes->size() != 4 && sizes->size() != 5) throw Refusal{"a grid is one of images or volumes"};
  const auto dims = static_cast<std::int64_t>(sizes->size()) - 2;
  const Value theta = widened(e, e.tensor("theta")), size = e.int_vector("size");
  Ints places = all_axes(dims + 1);  // axes added to a column (batch, dims), one for each dimension of the image
  places.erase(places.begin());
  const auto column = [&](std::int64_t i) { return e.build.unsqueeze(e.build.gather(theta, e.build.integer(i), 2), places); };
  Value made = column(dims);
  for (std::int64_t i = 0; i < dims; ++i) {  // x first, which changes fastest
    const std::int64_t at = dims + 1 - i;
    const auto known = (*sizes)[static_cast<std::size_t>(at)].number();
    const Value count = known ? e.integers({*known}) : e.build.gather(size, e.integers({at}), 0);
    Ints behind(static_cast<std::size_t>(i + 1));
    std::iota(behind.begin(), behind.end(), 1);
    const Value along = e.build.unsqueeze(coordinates(e, count, e.boolean("align_corners"), theta.dtype), behind);
    made = e.node("Add", {e.node("Mul", {column(i), along}), made});
  }
  e.give(made);
}

void affine_grid(Emission& e) {
  if (e.variant("of_open_size")) return affine_grid_of_open_size(e);
  const Value theta = e.tensor("theta");
  const bool align = e.boolean("align_corners");
  if (e.variant("operator")) {  // ONNX Runtime has no f16 kernel and doesn't expand the function
    return e.give(e.node("AffineGrid", {widened(e, theta), e.int_vector("size")}, {{"align_corners", align ? 1 : 0}}));
  }
  const Ints size = e.ints("size");
  if (size.size() != 4 && size.size() != 5) throw Refusal{"a grid is one of images or volumes"};
  const std::size_t dims = size.size() - 2;  // (x, y, 1) or (x, y, z, 1) for each pixel, x changes fastest
  std::int64_t count = 1;
  for (std::size_t i = 2; i < size.size(); ++i) count = Emission::few(count * Emission::few(size[i]));
  std::vector<Doubles> along;  // x first, which changes fastest
  for (std::size_t d = 0; d < dims; ++d) along.push_back(coordinates(size[size.size() - 1 - d], align));
  Doubles base;
  base.reserve(static_cast<std::size_t>(count) * (dims + 1));
  for (std::int64_t pixel = 0; pixel < count; ++pixel) {
    std::int64_t rest = pixel;
    for (const Doubles& places : along) {
      const auto length = static_cast<std::int64_t>(places.size());
      base.push_back(places[static_cast<std::size_t>(rest % length)]);
      rest /= length;
    }
    base.push_back(1);
  }
  const auto width = static_cast<std::int64_t>(dims) + 1;
  const Value pixels = e.build.constant(onnx::make_tensor(theta.dtype, {1, count, width}, base));
  Ints shape{size.front()};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(static_cast<std::int64_t>(dims));
  e.give(e.build.reshape(e.node("MatMul", {pixels, e.build.transpose(theta, {0, 2, 1})}), shape));
}

}  // namespace

void register_creation(Registry& registry) {
  for (const char* op : {"aten::zeros", "aten::empty", "aten::new_zeros", "aten::new_empty", "aten::zeros_like", "aten::zero"})
    registry.handler(op, give_zeros);
  for (const char* op : {"aten::ones", "aten::new_ones", "aten::ones_like"}) registry.handler(op, ones);
  for (const char* op : {"aten::full", "aten::new_full", "aten::full_like", "aten::fill"}) registry.handler(op, full);
  registry.handler("aten::eye", eye, {"operator"});
  registry.handler("aten::scalar_tensor", scalar_tensor);
  for (const char* op : {"aten::tensor", "aten::as_tensor"}) registry.handler(op, tensor);
  registry.handler("aten::affine_grid_generator", affine_grid, {"operator", "of_open_size"});
}

}  // namespace compatcheck::handlers
