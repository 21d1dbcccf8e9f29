// Cutting a tensor into a list: facts.
#include <algorithm>

#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

// More pieces than this are not listed one by one.
constexpr std::int64_t most_pieces = 4096;

// A list that is unpacked has as many members as it is unpacked into.
std::optional<std::int64_t> unpacked_into(const Call& call) {
  if (call.node().outputs().size() != 1) return std::nullopt;
  for (const ir::Use& use : call.node().output()->uses())
    if (use.user->is("prim::ListUnpack")) return static_cast<std::int64_t>(use.user->outputs().size());
  return std::nullopt;
}

struct Cut {
  const TensorFact& self;
  std::optional<std::size_t> dim;
  std::optional<std::int64_t> used{};  // number of pieces, if their use shows it

  Fact piece(Dim size) const {
    if (!self.shape) return tensor_fact(self.dtype, std::nullopt);
    if (!dim || *dim >= self.shape->size()) return tensor_fact(self.dtype, unknown_sizes(self.shape->size()));
    Shape shape = *self.shape;
    shape[*dim] = std::move(size);
    return tensor_fact(self.dtype, std::move(shape));
  }
  Fact unknown_pieces() const {
    if (used) return pieces(std::vector<Dim>(static_cast<std::size_t>(*used), Dim::unknown()));
    return list_of(piece(Dim::unknown()));
  }
  Fact pieces(const std::vector<Dim>& sizes) const {
    Facts items;
    for (const Dim& size : sizes) items.push_back(piece(size));
    return list_fact(std::move(items));
  }
  Dim size() const { return dim ? size_at(self, *dim) : Dim::unknown(); }

  // Pieces of `step` elements; the last one has the rest.
  Fact steps(const Dim& step) const {
    const auto whole = size().number(), by = step.number();
    if (whole == 0 && by == 0) return pieces({Dim(0)});
    if (whole && by && *by > 0 && *whole / *by < most_pieces) {
      std::vector<Dim> sizes;
      std::int64_t left = *whole;
      do {
        sizes.emplace_back(std::min(*by, left));
        left -= std::min(*by, left);
      } while (left > 0);
      return pieces(sizes);
    }
    const Dim count = floor_div(size(), step);
    if (count.is_number() && *count.number() > 0 && *count.number() < most_pieces && provably_equal(count * step, size()))
      return pieces(std::vector<Dim>(static_cast<std::size_t>(*count.number()), step));
    if (!used || *used < 1) return unknown_pieces();
    std::vector<Dim> sizes(static_cast<std::size_t>(*used), step);
    sizes.back() = size() - Dim(*used - 1) * step;
    return pieces(sizes);
  }
};

Cut cut_of(const Call& call) {
  const TensorFact& self = self_of(call);
  if (self.shape && self.shape->empty()) throw Impossible{"a tensor without dimensions can't be cut"};
  return {self, dim_index(call, "dim", self), unpacked_into(call)};
}

Facts chunk(const Call& call) {
  const Cut cut = cut_of(call);
  const auto chunks = call.integer("chunks");
  Demands demands;
  if (chunks) demands.at_least(*chunks, 1, "chunks");
  demands.hold();
  if (!chunks || *chunks < 1) return {cut.unknown_pieces()};
  if (cut.size().number() == 0 && *chunks < most_pieces)
    return {cut.pieces(std::vector<Dim>(static_cast<std::size_t>(*chunks), Dim(0)))};
  if (cut.size().is_number()) return {cut.steps(ceil_div(cut.size(), *chunks))};
  const Dim size = floor_div(cut.size(), *chunks);  // if it divides; otherwise the use shows the number of pieces
  return {provably_equal(size * Dim(*chunks), cut.size()) ? cut.steps(size) : cut.steps(ceil_div(cut.size(), *chunks))};
}

// The pieces are all of it.
void demand_whole(const Shape& pieces, const Dim& size) {
  Demands demands;
  Dim sum = 0;
  for (const Dim& piece : pieces) {
    demands.at_least(piece, 0, "the size of a piece");
    demands.at_most(piece, size, "the size of a piece");  // the sum may be more than 64 bits hold
    sum = sum + piece;
  }
  demands.equal(sum, size, "the sum of the pieces' sizes");
  demands.hold();
}

Facts split(const Call& call) {
  const Cut cut = cut_of(call);
  const char* argument = call.has("split_size") ? "split_size" : "split_sizes";
  if (call.fact(argument).list()) {
    const auto sizes = call.dims(argument);
    if (sizes) demand_whole(*sizes, cut.size());
    return {sizes ? cut.pieces(*sizes) : cut.unknown_pieces()};
  }
  const auto step = call.dim(argument);
  Demands demands;
  if (step) demands.at_least(*step, 0, argument);
  if (step && step->number() == 0) demands.equal(cut.size(), Dim(0), "the size that is split by 0");
  demands.hold();
  return {step ? cut.steps(*step) : cut.unknown_pieces()};
}

// Equal parts, the first ones longer by one.
Fact sections(const Cut& cut, const std::optional<Dim>& count) {
  if (!count || !count->is_number() || *count->number() < 1 || *count->number() >= most_pieces) {
    if (!cut.used || *cut.used < 1) return cut.unknown_pieces();
    return sections({cut.self, cut.dim}, Dim(*cut.used));
  }
  const Dim short_size = floor_div(cut.size(), *count), extra = cut.size() - short_size * *count;
  if (!extra.is_number()) return cut.pieces(std::vector<Dim>(static_cast<std::size_t>(*count->number()), Dim::unknown()));
  std::vector<Dim> sizes;
  for (std::int64_t i = 0; i < *count->number(); ++i) sizes.push_back(i < *extra.number() ? short_size + Dim(1) : short_size);
  return cut.pieces(sizes);
}

// Cuts at `places`, as Python slices count.
Fact at_places(const Cut& cut, const std::vector<Dim>& places) {
  std::vector<Dim> sizes;
  const auto whole = cut.size().number();
  const bool known = whole && std::all_of(places.begin(), places.end(), [](const Dim& place) { return place.is_number(); });
  if (!known) return cut.pieces(std::vector<Dim>(places.size() + 1, Dim::unknown()));
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + *whole : at, 0, *whole); };
  std::int64_t start = 0;
  for (const Dim& next : places) {
    const std::int64_t end = place(*next.number());
    sizes.emplace_back(std::max<std::int64_t>(0, end - start));
    start = end;
  }
  sizes.emplace_back(*whole - start);
  return cut.pieces(sizes);
}

Fact cut_by(const Call& call, const Cut& cut) {
  if (call.has("sections")) return sections(cut, call.dim("sections"));
  if (call.has("indices")) {
    const auto places = call.dims("indices");
    return places ? at_places(cut, *places) : cut.unknown_pieces();
  }
  const TensorFact& given = tensor_of(call, "tensor_indices_or_sections");
  if (!given.contents || !given.shape) return cut.unknown_pieces();
  return given.shape->empty() ? sections(cut, given.contents->front()) : at_places(cut, *given.contents);
}

Facts tensor_split(const Call& call) { return {cut_by(call, cut_of(call))}; }

// A number of parts divides the size.
Facts split_evenly(const Call& call, std::optional<std::size_t> dim) {
  const Cut cut{self_of(call), dim, unpacked_into(call)};
  if (const auto count = call.has("sections") ? call.dim("sections") : std::nullopt) {
    Demands demands;
    demands.at_least(*count, 1, "sections");
    demands.multiple(cut.size(), *count, "the size that is split");
    demands.hold();
  }
  return {cut_by(call, cut)};
}

// Along the second dimension, of vectors the first.
Facts hsplit(const Call& call) {
  const auto& shape = self_of(call).shape;
  return split_evenly(call, shape ? std::optional<std::size_t>(shape->size() == 1 ? 0 : 1) : std::nullopt);
}
Facts vsplit(const Call& call) { return split_evenly(call, 0); }
Facts dsplit(const Call& call) { return split_evenly(call, 2); }

Facts unbind(const Call& call) {
  const Cut cut = cut_of(call);
  if (!cut.dim || cut.self.shape->empty()) return {list_of(tensor_fact(cut.self.dtype, std::nullopt))};
  Shape shape = *cut.self.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*cut.dim));
  Fact item = tensor_fact(cut.self.dtype, std::move(shape));
  const auto count = cut.size().number();
  if (!count && cut.used) return {list_fact(Facts(static_cast<std::size_t>(*cut.used), item))};
  if (!count || *count < 0 || *count >= most_pieces) return {list_of(std::move(item))};
  Facts items(static_cast<std::size_t>(*count), item);
  if (cut.self.contents && cut.self.shape->size() == 1 && cut.self.contents->size() == items.size())
    for (std::size_t i = 0; i < items.size(); ++i)
      std::get<TensorFact>(items[i].value).contents = std::vector<Dim>{(*cut.self.contents)[i]};
  return {list_fact(std::move(items))};
}

// ---- Conditions

Verdict pieces_known(const Call& call) {
  const auto* list = call.facts().of(call.node().output()).list();
  if (list && list->items) return {.truth = Truth::yes};
  return {.truth = Truth::no, .message = "how many pieces there are isn't known"};
}

}  // namespace

void register_split(Registry& registry) {
  for (const char* op : {"aten::chunk", "aten::unsafe_chunk", "prim::ConstantChunk"}) registry.facts(op, chunk);
  for (const char* op : {"aten::split", "aten::unsafe_split", "aten::split_copy", "aten::split_with_sizes",
                         "aten::unsafe_split_with_sizes", "aten::split_with_sizes_copy", "prim::ConstantSplit"})
    registry.facts(op, split);
  registry.facts("aten::tensor_split", tensor_split);
  registry.facts("aten::hsplit", hsplit);
  registry.facts("aten::vsplit", vsplit);
  registry.facts("aten::dsplit", dsplit);
  for (const char* op : {"aten::unbind", "aten::unbind_copy"}) registry.facts(op, unbind);
  registry.condition("pieces_known", pieces_known);
}

}  // namespace compatcheck::symbolic
