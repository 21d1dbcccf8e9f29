#include "analysis/traced_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "symbolic/fact.h"
#include "symbolic/shapes.h"

namespace compatcheck::analysis {
namespace {

using symbolic::Call;
using symbolic::Dim;
using symbolic::Shape;

// Smaller sizes are near other small numbers by chance.
constexpr std::int64_t least_distinctive = 8;
constexpr std::int64_t most_enlarged = 8;
constexpr double reciprocal_rounding = 1e-6;

class Reading {
 public:
  Reading(const ir::Node& node, const symbolic::FactTable& facts, const symbolic::Sizes& traced)
      : node_(node), facts_(facts), traced_(traced), call_(node, facts) {}

  std::vector<TracedNumber> run() {
    if (!node_.schema() || node_.inputs().empty()) return {};
    cut();
    pooled();
    counted();
    averaged();
    resized();
    return std::move(found_);
  }

 private:
  static const Shape* shape_of(const symbolic::Fact& fact) {
    const auto* tensor = fact.tensor();
    return tensor && tensor->shape ? &*tensor->shape : nullptr;
  }

  // The size when the model was traced, where it depends on a name.
  std::optional<std::int64_t> traced(const Dim& size) const {
    if (size.is_number() || size.is_unknown()) return std::nullopt;
    const auto was = symbolic::evaluate(size, traced_);
    return was && *was > 1 ? was : std::nullopt;
  }

  std::optional<std::int64_t> any(const Dim& size) const { return size.is_number() ? size.number() : traced(size); }

  // The dimension that an argument names, of the first input.
  const Dim* dimension(std::string_view argument) const {
    const Shape* shape = shape_of(facts_.of(node_.input(0)));
    const auto dim = shape ? call_.integer(argument) : std::nullopt;
    const auto place = dim ? symbolic::wrap_dim(*dim, shape->size()) : std::nullopt;
    return place && *place < shape->size() ? &(*shape)[*place] : nullptr;
  }

  void add(std::string number, const std::string& because, const std::vector<Dim>& sizes) {
    std::set<std::string> names;
    for (const Dim& size : sizes)
      for (const std::string& name : symbolic::names_in(size))
        if (const auto was = traced_.find(name); was != traced_.end() && was->second > 1) names.insert(name);
    if (!names.empty()) found_.push_back({std::move(number), because, {names.begin(), names.end()}});
  }

  // `part`: "half of "; empty: the number is the size.
  void add_part(std::int64_t number, const std::string& part, const Dim& size) {
    const std::string was = size.to_string() + (part.empty() ? " was " : ", which was ") + std::to_string(*traced(size));
    add(std::to_string(number), (part.empty() ? "" : "it is " + part) + was, {size});
  }

  // x[:n], x[:n - 1], x[:n // 2]
  void cut() {
    const bool narrow = node_.is("aten::narrow");
    if (!node_.is("aten::slice") && !narrow) return;
    const char* argument = narrow ? "length" : "end";
    const Dim* size = dimension("dim");
    const auto was = size ? traced(*size) : std::nullopt;
    if (!was || call_.is_none(argument)) return;
    if (call_.has("start") && !call_.is_none("start") && call_.integer("start") != 0) return;
    const auto end = call_.integer(argument);
    if (end == was) add_part(*end, "", *size);
    if (!end || *was < least_distinctive) return;
    if (*end == *was - 1) add_part(*end, "1 less than ", *size);
    if (*end * 2 == *was) add_part(*end, "half of ", *size);
  }

  // A window over the whole image: a mean of all of it, or the model's own window.
  void pooled() {
    static const std::map<std::string_view, std::size_t> pools = {{"aten::avg_pool1d", 1},
                                                                  {"aten::avg_pool2d", 2},
                                                                  {"aten::avg_pool3d", 3},
                                                                  {"aten::max_pool1d", 1},
                                                                  {"aten::max_pool2d", 2},
                                                                  {"aten::max_pool3d", 3},
                                                                  {"aten::max_pool1d_with_indices", 1},
                                                                  {"aten::max_pool2d_with_indices", 2},
                                                                  {"aten::max_pool3d_with_indices", 3}};
    const auto pool = pools.find(node_.op());
    const Shape* shape = shape_of(facts_.of(node_.input(0)));
    if (pool == pools.end() || !shape || shape->size() < pool->second) return;
    const auto window = call_.ints("kernel_size");
    if (!window || window->empty()) return;
    std::string number, image;
    std::vector<Dim> sizes(shape->end() - static_cast<std::ptrdiff_t>(pool->second), shape->end());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::int64_t side = (*window)[std::min(i, window->size() - 1)];
      if (any(sizes[i]) != side) return;
      number += (i ? "×" : "") + std::to_string(side);
      image += (i ? "×" : "") + sizes[i].to_string();
    }
    add(number, "the pooling window covered all of " + image, sizes);
  }

  // As many as there are: the best of all, or a part for each.
  void counted() {
    static const std::map<std::string_view, const char*> counts = {
        {"aten::topk", "k"}, {"aten::chunk", "chunks"}, {"aten::unsafe_chunk", "chunks"}, {"aten::tensor_split", "sections"}};
    const auto count = counts.find(node_.op());
    if (count == counts.end() || !call_.has(count->second)) return;
    const Dim* size = dimension("dim");
    const auto number = call_.integer(count->second);
    if (size && number && traced(*size) == number) add_part(*number, "", *size);
  }

  // A sum that is divided by the number of its summands.
  void averaged() {
    const bool product = node_.is("aten::mul");
    if ((!product && !node_.is("aten::div") && !node_.is("aten::true_divide")) || node_.inputs().size() < 2) return;
    const ir::Node* sum = node_.input(0)->producer();
    if (!sum || !sum->is("aten::sum") || !sum->schema()) return;
    const Shape* shape = shape_of(facts_.of(sum->input(0)));
    const auto factor = call_.number("other");
    if (!shape || !factor) return;
    std::vector<Dim> summed;
    std::int64_t count = 1;
    for (const std::size_t place : summed_places(*sum, shape->size())) {
      const Dim& size = (*shape)[place];
      const auto was = any(size);
      if (!was) return;
      count *= *was;
      summed.push_back(size);
    }
    if (count < 2) return;
    const auto expected = static_cast<double>(count);
    const bool divides = product ? std::abs(*factor * expected - 1) < reciprocal_rounding : *factor == expected;
    if (divides) add(std::to_string(count), "the sum had as many summands", summed);
  }

  std::vector<std::size_t> summed_places(const ir::Node& sum, std::size_t rank) const {
    const Call call(sum, facts_);
    std::vector<std::size_t> places(rank);
    std::iota(places.begin(), places.end(), 0);
    if (!call.has("dim") || call.is_none("dim")) return places;
    const auto dims = call.ints("dim");
    if (dims && dims->empty()) return places;
    places.clear();
    for (std::size_t i = 0; dims && i < dims->size(); ++i)
      if (const auto place = symbolic::wrap_dim((*dims)[i], rank); place && *place < rank) places.push_back(*place);
    return places;
  }

  // An image of the size that it had, or of some times that.
  void resized() {
    if (!node_.op().starts_with("aten::upsample_") || !call_.has("output_size") || call_.is_none("output_size")) return;
    const Shape* shape = shape_of(facts_.of(node_.input(0)));
    const auto sizes = call_.ints("output_size");
    if (!shape || !sizes || sizes->size() > shape->size()) return;
    for (std::size_t i = 0; i < sizes->size(); ++i) {
      const Dim& size = (*shape)[shape->size() - sizes->size() + i];
      const auto was = traced(size);
      const std::int64_t made = (*sizes)[i];
      if (!was || made % *was != 0 || made / *was < 1 || made / *was > most_enlarged) continue;
      add_part(made, made == *was ? "" : std::to_string(made / *was) + " times ", size);
    }
  }

  const ir::Node& node_;
  const symbolic::FactTable& facts_;
  const symbolic::Sizes& traced_;
  Call call_;
  std::vector<TracedNumber> found_;
};

}  // namespace

std::vector<TracedNumber> traced_numbers(const ir::Node& node, const symbolic::FactTable& facts, const symbolic::Sizes& traced) {
  return Reading(node, facts, traced).run();
}

}  // namespace compatcheck::analysis
