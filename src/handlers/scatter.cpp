#include "handlers/scatter.h"

#include <algorithm>
#include <limits>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/padding.h"

namespace compatcheck::handlers {
namespace {

bool is_extreme(Reduction reduction) { return reduction == Reduction::greatest || reduction == Reduction::least; }

}  // namespace

Value neutral(Emission& e, DType dtype, Reduction reduction) {
  if (reduction == Reduction::product) return e.scalar(dtype, 1);
  if (!is_extreme(reduction)) return e.scalar(dtype, 0);
  const bool least = reduction == Reduction::greatest;
  if (ir::is_floating(dtype))
    return e.scalar(dtype, least ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
  std::int64_t low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();
  if (dtype == DType::u8)
    low = 0, high = 255;
  else if (dtype == DType::i8)
    low = -128, high = 127;
  else if (dtype == DType::i16)
    low = -32768, high = 32767;
  else if (dtype == DType::i32)
    low = std::numeric_limits<std::int32_t>::min(), high = std::numeric_limits<std::int32_t>::max();
  return e.scalar(dtype, least ? low : high);
}

Value divided(Emission& e, const Value& number, const Value& by) {
  const Value made = e.node("Div", {number, by});
  if (ir::is_floating(number.dtype)) return made;
  const Value rest = e.node("Sub", {number, e.node("Mul", {made, by})});
  return e.node("Sub", {made, e.cast(e.node("Less", {rest, e.scalar(number.dtype, 0)}), number.dtype)});
}

namespace {

// ---- By the operator itself

const char* name_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::product: return "mul";
    case Reduction::greatest: return "max";
    case Reduction::least: return "min";
    default: return "add";
  }
}

Value stretched(Emission& e, const Value& number, const Value& like) { return e.node("Expand", {number, sizes_of(e, like)}); }

Value scattered(Emission& e, const Writing& w, const Value& data, const Value& source, Reduction reduction) {
  Arguments attributes{{"axis", w.axis}};
  if (reduction != Reduction::none) attributes.push_back({"reduction", name_of(reduction)});
  return e.node(e.at_least(11) ? "ScatterElements" : "Scatter", {data, w.index, source}, attributes);
}

Value counted(Emission& e, const Writing& w, bool include_data) {
  const DType dtype = w.data.dtype;
  const Value start = stretched(e, e.scalar(dtype, include_data ? 1 : 0), w.data);
  const Value count = scattered(e, w, start, stretched(e, e.scalar(dtype, 1), w.index), Reduction::sum);
  if (include_data) return count;
  return e.node("Where", {e.cast(count, DType::boolean), count, e.scalar(dtype, 1)});
}

// The runtime's extremes leave NaN out: where one is written, or stood, it stands.
Value with_nan(Emission& e, const Writing& w, const Value& made, const Value& is_nan, bool include_data) {
  const Value none = stretched(e, e.scalar(DType::f32, 0), w.data);
  Value hit = e.cast(scattered(e, w, none, e.cast(is_nan, DType::f32), Reduction::greatest), DType::boolean);
  if (include_data) hit = e.node("Or", {hit, e.node("IsNaN", {w.data})});
  return e.node("Where", {hit, e.scalar(made.dtype, std::numeric_limits<double>::quiet_NaN()), made});
}

Value reduced(Emission& e, const Writing& w, Reduction reduction, bool include_data) {
  Value data = w.data, source = w.source;
  if (!include_data) data = scattered(e, w, data, stretched(e, neutral(e, data.dtype, reduction), w.index), Reduction::none);
  if (reduction == Reduction::mean) return divided(e, scattered(e, w, data, source, Reduction::sum), counted(e, w, include_data));
  if (!is_extreme(reduction) || !ir::is_floating(data.dtype) || w.no_nan) return scattered(e, w, data, source, reduction);
  const Value is_nan = e.node("IsNaN", {source});
  source = e.node("Where", {is_nan, neutral(e, source.dtype, reduction), source});
  return with_nan(e, w, scattered(e, w, data, source, reduction), is_nan, include_data);
}

// ---- By comparing every place with every index, before ScatterElements reduces

// Pads to the data's size in the dimensions that the index doesn't fill.
Value filled_up(Emission& e, const Writing& w, const Value& value, const Value& fill) {
  if (w.fills) return value;
  Shape from = w.index_shape;
  from[static_cast<std::size_t>(w.axis)] = w.shape[static_cast<std::size_t>(w.axis)];
  Ints before(from.size(), 0), after = before;
  bool same = true, known = true;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (provably_equal(from[i], w.shape[i]) || static_cast<std::int64_t>(i) == w.axis) continue;
    same = false;
    if (!from[i].is_number() || !w.shape[i].is_number())
      known = false;
    else
      after[i] = *w.shape[i].number() - *from[i].number();
  }
  if (same) return value;
  if (known) return padded(e, value, &from, before, after, fill);
  if (!e.at_least(11)) throw Refusal{"Pad takes its widths as constants before opset 11", "use opset 11"};
  const Value more = e.node("Sub", {sizes_of(e, w.data), sizes_of(e, value)});
  return e.node("Pad", {value}, {{"pads", e.build.concat({e.integers(before), more}, 0)}, {"value", fill}});
}

// hits[..., source's place, data's place, ...]
struct Table {
  Value hits, source;
  std::int64_t axis;  // axis of the source's positions
  Value none;         // number used where nothing hits
};

Value gathered(Emission& e, const char* op, const Value& values, const Table& table) {
  return reduce(e, op, values, {table.axis}, false);
}

Value any_hit(Emission& e, const Writing& w, const Value& hits, const Table& table) {
  const Value none = e.scalar(DType::i32, 0), found = gathered(e, "ReduceMax", e.cast(hits, DType::i32), table);
  return e.node("Greater", {filled_up(e, w, found, none), none});  // the maximum of no places is below 0
}

Value extreme_by_table(Emission& e, const Writing& w, Table table, bool include_data, Reduction reduction) {
  const bool floats = ir::is_floating(w.data.dtype) && !w.no_nan, greatest = reduction == Reduction::greatest;
  const Value is_nan = floats ? e.node("IsNaN", {table.source}) : Value{};
  const Value usable = floats ? e.node("And", {table.hits, e.node("Not", {is_nan})}) : table.hits;
  Value found = gathered(e, greatest ? "ReduceMax" : "ReduceMin", e.node("Where", {usable, table.source, table.none}), table);
  found = filled_up(e, w, found, table.none);
  const Value take = include_data ? e.node(greatest ? "Less" : "Greater", {w.data, found}) : any_hit(e, w, table.hits, table);
  found = e.node("Where", {take, found, w.data});
  if (!floats) return found;
  const Value nan = e.scalar(found.dtype, std::numeric_limits<double>::quiet_NaN());
  return e.node("Where", {any_hit(e, w, e.node("And", {table.hits, is_nan}), table), nan, found});
}

Value compared(Emission& e, const Writing& w, Reduction reduction, bool include_data) {
  const DType dtype = w.data.dtype;
  const auto rank = static_cast<std::int64_t>(w.shape.size());
  Ints behind;
  for (std::int64_t i = w.axis + 1; i < rank; ++i) behind.push_back(i - w.axis);
  const auto size = w.shape[static_cast<std::size_t>(w.axis)].number();
  const Value places_count = size ? e.integers({*size}) : size_at(e, w.data, w.axis);
  const Value places = e.build.unsqueeze(w.counted ? counting(e, places_count) : places_of(e, places_count), behind);
  const Value hits = e.node("Equal", {e.build.unsqueeze(w.index, {w.axis + 1}), places});
  const Table table{hits, e.build.unsqueeze(w.source, {w.axis + 1}), w.axis, neutral(e, dtype, reduction)};
  if (is_extreme(reduction)) return extreme_by_table(e, w, table, include_data, reduction);
  const Value held = e.node("Where", {hits, table.source, table.none});
  Value made =
      filled_up(e, w, gathered(e, reduction == Reduction::product ? "ReduceProd" : "ReduceSum", held, table), table.none);
  if (include_data) made = e.node(reduction == Reduction::product ? "Mul" : "Add", {w.data, made});
  if (reduction == Reduction::mean) {
    const Value one = e.scalar(dtype, 1);
    Value count = filled_up(e, w, gathered(e, "ReduceSum", e.cast(hits, dtype), table), e.scalar(dtype, 0));
    count = include_data ? e.node("Add", {count, one}) : e.node("Where", {e.cast(count, DType::boolean), count, one});
    made = divided(e, made, count);
  }
  return include_data ? made : e.node("Where", {any_hit(e, w, hits, table), made, w.data});
}

}  // namespace

DType summing_dtype(DType dtype) {
  return dtype == DType::boolean ? DType::i32 : dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

bool compares(const Emission& e, Reduction reduction) { return reduction != Reduction::none && !e.variant("reduced"); }

Value stretched_index(Emission& e, const Writing& w, const Shape& source_shape) {
  return expand_to(e, w.index, &w.index_shape, &source_shape, [&] { return sizes_of(e, w.source); });
}

Value written(Emission& e, const Writing& writing, Reduction reduction, bool include_data) {
  if (reduction == Reduction::none) return scattered(e, writing, writing.data, writing.source, reduction);
  // Sums of bool are or, products and; halves the runtime only moves.
  if (const DType dtype = writing.data.dtype, wide = summing_dtype(dtype); wide != dtype) {
    Writing w = writing;
    w.data = e.cast(w.data, wide);
    w.source = e.cast(w.source, wide);
    return e.cast(written(e, w, reduction, include_data), dtype);
  }
  return compares(e, reduction) ? compared(e, writing, reduction, include_data) : reduced(e, writing, reduction, include_data);
}

// ---- The calls

namespace {

Value at_least_a_vector(Emission& e, const Value& value, std::int64_t rank) {
  return rank == 0 ? e.build.reshape(value, {1}) : value;
}

void give_written(Emission& e, const Value& made) { e.give(e.rank("self") == 0 ? e.build.reshape(made, {}) : made); }

Shape shape_with_dimensions(Emission& e, std::string_view tensor) { return e.rank(tensor) == 0 ? Shape{1} : e.shape(tensor); }

bool writes_nothing(const Writing& w) { return has_no_elements(w.index_shape) || has_no_elements(w.shape); }

Writing writing_of(Emission& e) {
  return {.data = at_least_a_vector(e, e.tensor("self"), e.rank("self")),
          .index = at_least_a_vector(e, e.tensor("index", DType::i64), e.rank("index")),
          .source = {},
          .axis = e.axis("dim"),
          .shape = shape_with_dimensions(e, "self"),
          .index_shape = shape_with_dimensions(e, "index")};
}

// Returns the part of the source that has the index's sizes.
Value source_of(Emission& e, const Writing& w, std::string_view argument) {
  const Value source = at_least_a_vector(e, e.tensor(argument, w.data.dtype), e.rank(argument));
  const Shape shape = shape_with_dimensions(e, argument);
  Ints axes, zeros;
  Values ends;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (provably_equal(shape[i], w.index_shape[i])) continue;
    axes.push_back(static_cast<std::int64_t>(i));
    zeros.push_back(0);
    ends.push_back(w.index_shape[i].is_number() ? e.integers({*w.index_shape[i].number()})
                                                : size_at(e, w.index, static_cast<std::int64_t>(i)));
  }
  if (axes.empty()) return source;
  return e.node("Slice", {source}, {{"starts", zeros}, {"ends", joined(e, ends)}, {"axes", axes}});
}

Reduction reduction_of(const std::string& word) {
  if (word == "add" || word == "sum") return Reduction::sum;
  if (word == "multiply" || word == "prod") return Reduction::product;
  if (word == "mean") return Reduction::mean;
  if (word == "amax") return Reduction::greatest;
  if (word == "amin") return Reduction::least;
  throw Refusal{"there is no reduction " + word};
}

// At every place of the index one element is written.
void demand_ranks(const Emission& e, const Writing& w) {
  const auto fits = [&](std::size_t rank) { return std::max<std::size_t>(1, rank) == w.shape.size(); };
  if (!fits(w.index_shape.size()) || (e.call.has("src") && !fits(e.shape("src").size())))
    throw symbolic::Impossible{"'index' and 'src' must have as many dimensions as 'self'"};
}

void scatter(Emission& e) {
  Writing w = writing_of(e);
  if (writes_nothing(w)) return e.give(e.tensor("self"));
  demand_ranks(e, w);
  if (e.call.has("src"))
    w.source = source_of(e, w, "src");
  else
    w.source = stretched(e, e.number_value("value", w.data.dtype), w.index);
  give_written(e, written(e, w, e.call.has("reduce") ? reduction_of(e.string("reduce")) : Reduction::none));
}

void scatter_add(Emission& e) {
  Writing w = writing_of(e);
  if (writes_nothing(w)) return e.give(e.tensor("self"));
  demand_ranks(e, w);
  w.source = source_of(e, w, "src");
  give_written(e, written(e, w, Reduction::sum));
}

void scatter_reduce(Emission& e) {
  Writing w = writing_of(e);
  if (writes_nothing(w)) return e.give(e.tensor("self"));
  demand_ranks(e, w);
  w.source = source_of(e, w, "src");
  give_written(e, written(e, w, reduction_of(e.string("reduce")), e.boolean("include_self")));
}

// ---- Whole rows: the index has one dimension

Writing rows_of(Emission& e, std::string_view source) {
  Writing w = writing_of(e);
  Ints others;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(w.shape.size()); ++i)
    if (i != w.axis) others.push_back(i);
  const Dim count = w.index_shape.front();
  w.index = e.build.unsqueeze(w.index, others);
  w.index_shape = Shape(w.shape.size(), Dim(1));
  w.index_shape[static_cast<std::size_t>(w.axis)] = count;
  if (!source.empty()) w.source = at_least_a_vector(e, e.tensor(source, w.data.dtype), e.rank(source));
  return w;
}

// Every operator except the comparison requires an index as large as the source.
void give_rows(Emission& e, Writing w, const Shape& source_shape, Reduction reduction, bool include_data = true) {
  if (writes_nothing(w)) return e.give(e.tensor("self"));
  if (!compares(e, reduction)) {
    w.index = stretched_index(e, w, source_shape);
    w.index_shape = source_shape;
  } else {
    w.fills = true;
  }
  give_written(e, written(e, w, reduction, include_data));
}

void index_copy(Emission& e) { give_rows(e, rows_of(e, "source"), shape_with_dimensions(e, "source"), Reduction::none); }

void index_add(Emission& e) {
  Writing w = rows_of(e, "source");
  if (e.call.number("alpha") != 1.0) w.source = e.node("Mul", {w.source, e.number_value("alpha", w.source.dtype)});
  give_rows(e, w, shape_with_dimensions(e, "source"), Reduction::sum);
}

void index_reduce(Emission& e) {
  give_rows(e, rows_of(e, "source"), shape_with_dimensions(e, "source"), reduction_of(e.string("reduce")),
            e.boolean("include_self"));
}

// One number in every row: as many as there are positions, which may count from the end.
void index_fill(Emission& e) {
  Writing w = rows_of(e, {});
  if (writes_nothing(w)) return e.give(e.tensor("self"));
  const auto axis = static_cast<std::size_t>(w.axis);
  w.index = wrapped_if_needed(
      e, w.index,
      e.build.squeeze(w.shape[axis].is_number() ? e.integers({*w.shape[axis].number()}) : size_at(e, w.data, w.axis), {0}));
  Shape source = w.shape;
  source[axis] = w.index_shape[axis];
  Value sizes;
  const auto computed = [&] {
    if (sizes) return sizes;
    Values parts;
    for (std::size_t i = 0; i < source.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      parts.push_back(source[i].is_number() ? e.integers({*source[i].number()}) : size_at(e, i == axis ? w.index : w.data, at));
    }
    return sizes = joined(e, parts);
  };
  const Shape none;
  w.source = expand_to(e, e.number_value("value", w.data.dtype), &none, &source, computed);
  w.index = expand_to(e, w.index, &w.index_shape, &source, computed);
  w.index_shape = source;
  give_written(e, written(e, w, Reduction::none));
}

// ---- By position in the flattened tensor

void put(Emission& e) {
  const auto flat = [&](const Value& value, std::string_view tensor) {
    return e.rank(tensor) == 1 ? value : e.build.reshape(value, {-1});
  };
  const Shape& shape = e.shape("self");
  if (has_no_elements(e.shape("index")) || has_no_elements(shape)) return e.give(e.tensor("self"));
  Writing w{.data = flat(e.tensor("self"), "self"),
            .index = flat(e.tensor("index", DType::i64), "index"),
            .source = {},
            .axis = 0,
            .shape = {symbolic::product(shape)},
            .index_shape = {symbolic::product(e.shape("index"))}};
  w.source = flat(e.tensor("source", w.data.dtype), "source");
  const Value size =
      e.build.squeeze(w.shape.front().is_number() ? e.integers({*w.shape.front().number()}) : sizes_of(e, w.data), {0});
  const Reduction reduction = e.boolean("accumulate") ? Reduction::sum : Reduction::none;
  w.index = compares(e, reduction) ? wrapped(e, w.index, size) : wrapped_if_needed(e, w.index, size);
  const Value made = written(e, w, reduction);
  e.give(reshape_to(e, made, nullptr, &shape, [&] { return e.shape_of("self"); }));
}

}  // namespace

void register_scatter(Registry& registry) {
  registry.handler("aten::scatter", scatter, {"reduced"});
  registry.handler("aten::scatter_add", scatter_add, {"reduced"});
  registry.handler("aten::scatter_reduce", scatter_reduce, {"reduced"});
  registry.handler("aten::index_copy", index_copy);
  registry.handler("aten::index_add", index_add, {"reduced"});
  registry.handler("aten::index_fill", index_fill);
  registry.handler("aten::index_reduce", index_reduce, {"reduced"});
  registry.handler("aten::put", put, {"reduced"});
}

}  // namespace compatcheck::handlers
