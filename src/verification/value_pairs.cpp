#include "verification/value_pairs.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "compatcheck/error.h"
#include "verification/compare.h"

namespace compatcheck::verification {
namespace {

constexpr std::uint64_t sketched = 64;      // elements
constexpr std::size_t most_partners = 8;    // values of the file that may pair with one value
constexpr std::size_t first_compared = 16;  // values of the file compared at a time before any of their sizes is known
constexpr int most_failures = 16;
constexpr double rounding_of_largest = 1e-4;  // small elements of sums of large ones

std::unordered_set<const ir::Value*> as_set(const std::vector<const ir::Value*>& values) {
  return {values.begin(), values.end()};
}

// Items in order, as many together as have no more than these bytes.
template <class Items, class BytesOf>
auto portions(const Items& items, std::uint64_t most_bytes, const BytesOf& bytes_of) {
  std::vector<std::vector<typename Items::value_type>> made;
  std::uint64_t bytes = 0;
  for (const auto& item : items) {
    const std::uint64_t more = bytes_of(item);
    if (made.empty() || bytes + more > most_bytes) {
      made.emplace_back();
      bytes = 0;
    }
    made.back().push_back(item);
    bytes += more;
  }
  return made;
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

Sketch sketch_of(const ir::TensorView& tensor) {
  const auto count = static_cast<std::uint64_t>(tensor.elements());
  Sketch sketch{.dtype = tensor.dtype, .sizes = tensor.sizes, .elements = {}, .bytes = count * ir::element_bytes(tensor.dtype)};
  const std::uint64_t count_sampled = std::min(count, sketched);
  for (std::uint64_t i = 0; i < count_sampled; ++i) {
    const double element = element_of(tensor, i * count / count_sampled);
    sketch.elements.push_back(element);
    if (std::isfinite(element)) sketch.largest = std::max(sketch.largest, std::abs(element));
  }
  sketch.is_even = true;
  for (std::uint64_t i = 1; i < count && sketch.is_even; ++i)
    sketch.is_even = is_same(element_of(tensor, i), sketch.elements.front());
  return sketch;
}

std::vector<const ir::Value*> made_tensors(const ir::Graph& graph) {
  std::vector<const ir::Value*> values;
  for (const ir::Node* node : *graph.top())
    for (const ir::Value* output : node->outputs())
      if (!ir::constant_of(output) && ir::is(output->type(), ir::TypeKind::tensor)) values.push_back(output);
  return values;
}

ValuePairs::ValuePairs(const BisectInput& in, const NamedValues& inputs)
    : in_(in),
      inputs_(inputs),
      values_(made_tensors(in.prepared.graph)),
      inner_(in, as_set(values_)),
      failures_left_(most_failures) {
  sketch_values();
  sketch_file();
  pair();
}

bool ValuePairs::is_even(const ir::Value* value) const {
  const Sketch* found = sketch(value);
  return found && found->is_even;
}

const Sketch* ValuePairs::sketch(const std::string& name) const {
  const auto found = of_file_.find(name);
  return found == of_file_.end() ? nullptr : &found->second;
}

const Sketch* ValuePairs::sketch(const ir::Value* value) const {
  const auto found = of_values_.find(value);
  return found == of_values_.end() ? nullptr : &found->second;
}

const std::vector<const ir::Value*>* ValuePairs::partners(const std::string& name) const {
  const auto found = partners_.find(name);
  return found == partners_.end() ? nullptr : &found->second;
}

bool ValuePairs::agree(const ir::TensorView& expected, const ir::TensorView& found) const {
  const Comparison comparison = compare(expected, found, in_.tolerance(expected.dtype));
  if (comparison.passed()) return true;
  return comparison.same_form() && ir::is_floating(expected.dtype) && comparison.nonfinite_differ == 0 &&
         comparison.max_abs <= rounding_of_largest * comparison.largest;
}

bool ValuePairs::may_agree(const Sketch& expected, const Sketch& found) const {
  if (expected.dtype != found.dtype || expected.sizes != found.sizes) return false;
  const Tolerance allowed = in_.tolerance(expected.dtype);
  // The largest element may be none of those sketched, so that its share of the tolerance is left to the comparison of all.
  const double slack = ir::is_floating(expected.dtype) ? 0.01 * std::max(expected.largest, found.largest) : 0;
  for (std::size_t i = 0; i < expected.elements.size(); ++i) {
    const double a = expected.elements[i], b = found.elements[i];
    if (is_same(a, b)) continue;
    if (!(std::abs(a - b) <= allowed.absolute + allowed.relative * std::abs(a) + slack)) return false;
  }
  return true;
}

std::vector<std::vector<const ir::Value*>> ValuePairs::portions_of_values() const {
  return portions(values_, in_.memory / 2, [&](const ir::Value* value) { return inner_.bytes_of(value); });
}

void ValuePairs::sketch_values() {
  for (const auto& portion : portions_of_values()) {
    const auto executions = inner_.of(*in_.prepared.graph.top(), 0, 1, portion);
    for (const auto& held : executions.each())
      for (const ir::Value* value : portion)
        if (const auto found = held.find(value); found != held.end())
          if (const auto* tensor = found->second->get<ir::TensorView>()) of_values_.emplace(value, sketch_of(*tensor));
  }
  std::erase_if(values_, [&](const ir::Value* value) { return !of_values_.contains(value); });
}

// Sketches some of the file's values and returns the bytes that they used. Values that fail together are tried one by one.
std::uint64_t ValuePairs::sketch_names(const std::vector<std::string>& requested) {
  if (failures_left_ <= 0) return 0;
  try {
    std::uint64_t bytes = 0;
    for (const auto& [name, tensor] : run(requested, {})) {
      of_file_.emplace(name, sketch_of(tensor));
      bytes += tensor.storage->bytes;
    }
    return bytes;
  } catch (const ModelError&) {
    if (requested.size() == 1) return --failures_left_, 0;
  }
  const auto middle = requested.begin() + std::ssize(requested) / 2;
  return sketch_names({requested.begin(), middle}) + sketch_names({middle, requested.end()});
}

void ValuePairs::sketch_file() {
  const std::vector<MainValue> all = in_.onnx.main_values();
  for (const MainValue& value : all) order_.push_back(value.name);
  std::size_t together = first_compared;
  for (std::size_t at = 0; at < all.size();) {
    in_.watch.look();
    const std::size_t end = std::min(all.size(), at + together);
    const std::uint64_t bytes =
        1 + sketch_names({order_.begin() + static_cast<std::ptrdiff_t>(at), order_.begin() + static_cast<std::ptrdiff_t>(end)});
    const double fitting = static_cast<double>(in_.memory / 2) / static_cast<double>(bytes) * static_cast<double>(end - at);
    together = static_cast<std::size_t>(std::clamp(fitting, 1.0, static_cast<double>(4 * together)));
    at = end;
  }
}

void ValuePairs::pair() {
  std::unordered_map<const ir::Value*, std::vector<std::string>> likely;
  for (const ir::Value* value : values_)
    for (const std::string& name : order_)
      if (const Sketch* other = sketch(name);
          other && likely[value].size() < most_partners && may_agree(of_values_.at(value), *other))
        likely[value].push_back(name);
  for (const auto& portion : portions_of_values()) {
    std::set<std::string> requested;
    for (const ir::Value* value : portion) requested.insert(likely[value].begin(), likely[value].end());
    if (requested.empty()) continue;
    const auto executions = inner_.of(*in_.prepared.graph.top(), 0, 1, portion);
    const auto bytes_of = [&](const std::string& name) { return of_file_.at(name).bytes; };
    for (const std::vector<std::string>& names : portions(requested, in_.memory / 2, bytes_of)) {
      in_.watch.look();
      const Tensors file = run(names, {});
      for (const auto& held : executions.each())
        for (const ir::Value* value : portion)
          for (const std::string& name : likely[value]) pair_if_alike(value, held, name, file);
    }
  }
}

void ValuePairs::pair_if_alike(const ir::Value* value, const InnerValues::Values& held, const std::string& name,
                               const Tensors& file) {
  const auto own = held.find(value);
  const auto other = file.find(name);
  if (own == held.end() || other == file.end()) return;
  const auto* tensor = own->second->get<ir::TensorView>();
  if (!tensor || !agree(*tensor, other->second)) return;
  names_[value].push_back(name);
  partners_[name].push_back(value);
  paired_.insert(name);
}

std::optional<ir::TensorView> ValuePairs::value_of(const ir::Value* value) {
  const auto executions = inner_.of(*in_.prepared.graph.top(), 0, 1, {value});
  for (const auto& held : executions.each())
    if (const auto found = held.find(value); found != held.end())
      if (const auto* tensor = found->second->get<ir::TensorView>()) return *tensor;
  return std::nullopt;
}

std::optional<ir::Constant> ValuePairs::input(const std::string& name) const {
  const auto found = std::ranges::find(inputs_, name, &NamedValues::value_type::first);
  return found == inputs_.end() ? std::nullopt : std::optional(found->second);
}

ValuePairs::Tensors ValuePairs::run(const std::vector<std::string>& names, const Tensors& given) const {
  std::set<std::string> cut;
  const std::set<std::string> no_sequences;
  std::map<std::string, ir::DType> dtypes;
  for (const auto& [name, tensor] : given) {
    cut.insert(name);
    dtypes.emplace(name, tensor.dtype);
  }
  const auto part = in_.onnx.segment({names, cut, dtypes, no_sequences, {}});
  if (!part) throw ModelError("a part of the ONNX model can't run on its own");
  const Session session = in_.runtime.open_bytes(part->bytes, {.optimize = Optimize::no});
  ir::Constants values;
  for (const std::string& name : session.inputs()) {
    if (const auto found = given.find(name); found != given.end()) {
      values.push_back(ir::Constant{found->second});
      continue;
    }
    auto whole = input(name);
    if (!whole) throw ModelError("the ONNX model's input " + name + " has no value");
    values.push_back(*std::move(whole));
  }
  const ir::Constants results = session.run(values);
  Tensors made;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto at = std::ranges::find(session.outputs(), part->results[i]);
    if (at == session.outputs().end()) continue;
    if (const auto* tensor = results[static_cast<std::size_t>(at - session.outputs().begin())].get<ir::TensorView>())
      made.emplace(names[i], *tensor);
  }
  return made;
}

}  // namespace compatcheck::verification
