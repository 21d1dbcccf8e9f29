#include "analysis/baked_in.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "analysis/site.h"
#include "analysis/size_places.h"
#include "analysis/traced_numbers.h"
#include "schema/traits.h"
#include "symbolic/evaluate.h"
#include "symbolic/fact.h"
#include "symbolic/shapes.h"

namespace compatcheck::analysis {
namespace {

using symbolic::Dim;
using symbolic::Fact;

void add_names(const Dim& dim, std::set<std::string>& names) {
  for (std::string& name : symbolic::names_in(dim)) names.insert(std::move(name));
}

void add_names(const Fact& fact, std::set<std::string>& names) {
  if (const auto* tensor = fact.tensor()) {
    if (tensor->shape)
      for (const Dim& dim : *tensor->shape) add_names(dim, names);
    if (tensor->contents)
      for (const Dim& dim : *tensor->contents) add_names(dim, names);
  } else if (const auto* number = fact.number()) {
    if (number->integer) add_names(*number->integer, names);
  } else if (const auto* list = fact.list(); list && list->items) {
    for (const Fact& item : *list->items) add_names(item, names);
  }
}

// A size that has a name now, and what it was when the model was traced; 0 and 1 say nothing.
struct Named {
  std::string name, input;
  std::int64_t traced = 0;
};

constexpr const char* advice =
    "run `compatcheck verify` to test other sizes; if the code has int(x.shape[0]), remove the int() and trace again";

constexpr std::array reshapes{"aten::view", "aten::reshape", "aten::_unsafe_view", "aten::unflatten"};

// Whether a reshape to sizes with these numbers always fits: they come from other sizes than the named ones.
bool fits_whatever_names_are(const Fact& self, const std::vector<std::int64_t>& sizes) {
  const auto* tensor = self.tensor();
  if (!tensor || !tensor->shape) return true;
  const Dim elements = symbolic::product(*tensor->shape);
  Dim fixed = 1;
  for (const std::int64_t size : sizes)
    if (size > 0) fixed = fixed * Dim(size);
  return elements.is_unknown() || provably_equal(floor_div(elements, fixed) * fixed, elements);
}

bool has_unknown_size(const Fact& fact) {
  const auto* tensor = fact.tensor();
  if (!tensor) return std::holds_alternative<std::monostate>(fact.value);
  return !tensor->shape || std::ranges::any_of(*tensor->shape, &Dim::is_unknown);
}

class SizesBakedIn {
 public:
  SizesBakedIn(const Model::State& model, const Prepared& prepared) : model_(model), prepared_(prepared) {}

  std::vector<BakedIn> run() {
    find_names();
    if (names_.empty()) return {};
    unused_inputs();
    for (const ir::Value* output : prepared_.graph.outputs()) add_names(prepared_.facts.of(output), followed_);
    std::uint32_t index = 0;
    ir::for_each_node(*prepared_.graph.top(), [&](const ir::Node* node) {
      follow(*node);
      constants(*node, index);
      repeated(*node, index);
      traced(*node, index);
      indexed(*node, index);
      ++index;
    });
    for (const Named& named : names_)
      if (!followed_.contains(named.name) && reported_.insert(named.name).second)
        add("input '" + named.input + "': the graph reads only parts of its dimension '" + named.name +
                "' (such as x[0]), or only its size",
            "if the result should depend on all of it, script the model, or trace it with another size and compare the results")
            .names = {named.name};
    return std::move(found_);
  }

 private:
  void find_names() {
    const auto now = prepared_.graph.inputs();
    const auto traced = model_.graph.inputs();
    for (std::size_t i = 0; i < now.size(); ++i) {
      const auto* tensor = prepared_.facts.of(now[i]).tensor();
      const bool assumed =
          std::ranges::any_of(prepared_.assumed, [&](const AssumedInput& each) { return each.tensor.name == now[i]->name(); });
      if (now[i]->unused() || !tensor || !tensor->shape || assumed) continue;  // assumed sizes have no names of the user's
      const ir::TypeRef type = i < traced.size() ? traced[i]->type() : nullptr;
      const auto* sizes = ir::is(type, ir::TypeKind::tensor) && type->tensor.sizes ? &*type->tensor.sizes : nullptr;
      for (std::size_t dim = 0; dim < tensor->shape->size(); ++dim) {
        const auto names = symbolic::names_in((*tensor->shape)[dim]);
        if (names.size() != 1 || *names.begin() != (*tensor->shape)[dim].to_string()) continue;
        const auto seen = sizes && dim < sizes->size() ? (*sizes)[dim].value_or(0) : 0;
        names_.push_back({*names.begin(), now[i]->name(), seen > 1 ? seen : 0});
        if (seen > 0) traced_.emplace(*names.begin(), seen);
      }
    }
  }

  // Names of the sizes of the model's outputs, and those that are read whole: a mean over a dimension is right at every size of
  // it. Nothing is known about a result of unknown sizes.
  void follow(const ir::Node& node) {
    const bool whole = !schema::has_trait(node.op(), schema::Trait::reads_part);  // in a part, another size goes unnoticed
    bool unknown = false;
    for (const ir::Value* output : node.outputs()) {
      if (whole) add_names(prepared_.facts.of(output), followed_);
      unknown |= has_unknown_size(prepared_.facts.of(output));
    }
    if (node.outputs().empty() || !(whole || unknown) || node.is("prim::ListConstruct") || node.is("prim::TupleConstruct"))
      return;
    for (const ir::Value* input : node.inputs()) add_names(prepared_.facts.of(input), followed_);
  }

  void unused_inputs() {
    for (const ir::Value* input : prepared_.graph.inputs())
      if (input->unused() && (!input->type() || input->type()->kind == ir::TypeKind::tensor))
        add("nothing in the graph reads input '" + input->name() + "': tracing may have made constants of what depends on it",
            "if the model must read it, script the model; otherwise remove the argument");
  }

  void constants(const ir::Node& node, std::uint32_t index) {
    const bool reshape = std::ranges::find(reshapes, node.op()) != reshapes.end();
    if (!reshape && !schema::has_trait(node.op(), schema::Trait::given_sizes)) return;
    std::vector<std::int64_t> numbers;
    std::set<std::string> named;  // sizes that stand by their names among the numbers
    const auto take = [&](const Fact& one) {
      if (const auto* number = one.number();
          number && number->kind == symbolic::NumberFact::Kind::integer && number->integer && number->integer->number())
        numbers.push_back(*number->integer->number());
    };
    const std::set<std::int64_t> own =
        node.is("aten::expand") || node.is("aten::broadcast_to") ? sizes_of(node.input(0)) : std::set<std::int64_t>();
    for (const ir::Value* input : node.inputs()) {
      const Fact& fact = prepared_.facts.of(input);
      if (fact.list() || fact.number()) add_names(fact, named);
      if (const auto* list = fact.list(); list && list->items)
        std::ranges::for_each(*list->items, take);
      else if (node.is("aten::arange") || node.is("aten::eye"))
        take(fact);
    }
    std::set<std::string> explained;
    if (reshape) explained = stands(node, index, named);
    if (reshape && fits_whatever_names_are(prepared_.facts.of(node.inputs().front()), numbers)) return;
    for (const Named& size : names_) {
      if (size.traced == 0 || std::ranges::find(numbers, size.traced) == numbers.end()) continue;
      if (named.contains(size.name) || own.contains(size.traced)) continue;  // the number is another size's
      if (!explained.contains(size.name)) note(size, node, index);
    }
  }

  // Returns the named sizes that a reshape fixes to the numbers of the trace. Where all sizes are numbers, another size
  // doesn't fit, and needs no note.
  std::set<std::string> stands(const ir::Node& node, std::uint32_t index, const std::set<std::string>& named) {
    std::set<std::string> explained;
    const symbolic::Call call(node, prepared_.facts);
    const auto* tensor = prepared_.facts.of(node.inputs().front()).tensor();
    if (!tensor || !tensor->shape || !node.schema()) return explained;
    symbolic::Shape shape = *tensor->shape;
    if (node.is("aten::unflatten")) {
      const auto dim = call.integer("dim");
      const auto place = dim ? symbolic::wrap_dim(*dim, shape.size()) : std::nullopt;
      if (!place || shape.empty()) return explained;
      shape = {shape[*place]};
    }
    const auto* list = prepared_.facts.of(node.inputs().back()).list();
    if (!list || !list->items) return explained;
    std::vector<Dim> sizes;
    for (const Fact& item : *list->items)
      sizes.push_back(item.number() && item.number()->integer ? *item.number()->integer : Dim::unknown());
    for (const SizePlace& place : size_places(shape, sizes, traced_)) {
      std::vector<std::string> names;
      for (const std::string& name : place.names)
        if (!named.contains(name) && traced_of(name) > 1) names.push_back(name);
      if (names.empty()) continue;
      const auto plain = std::ranges::find(names_, place.size.to_string(), &Named::name);
      if (place.whole && plain != names_.end()) {
        note(*plain, node, index, place.text, place.surely);
      } else {
        const std::string size = place.size.to_string();
        constexpr std::size_t most_letters = 60;
        const std::string was = size.size() <= most_letters ? size : "a product of sizes that depend on " + joined(names);
        const std::string multiple = "is a multiple of " + std::to_string(place.traced) + ", the value of " + was;
        BakedIn& found =
            add_constant(place.text, place.whole ? was + " was " + std::to_string(place.traced) : "it " + multiple, node);
        found.origin = place.whole ? "was " + was : multiple;
        add_site(found, node, index, names, place.surely);
      }
      explained.insert(names.begin(), names.end());
    }
    return explained;
  }

  // Notes dimensions of size 1 that are repeated as often as a named size was.
  void repeated(const ir::Node& node, std::uint32_t index) {
    if (!node.is("aten::repeat") || node.inputs().size() != 2) return;
    const auto* tensor = prepared_.facts.of(node.input(0)).tensor();
    const auto* list = prepared_.facts.of(node.input(1)).list();
    if (!tensor || !tensor->shape || !list || !list->items || list->items->size() < tensor->shape->size()) return;
    const std::size_t more = list->items->size() - tensor->shape->size();
    for (std::size_t i = 0; i < list->items->size(); ++i) {
      const auto times = number_of((*list->items)[i]);
      if (times && (i < more || (*tensor->shape)[i - more].number() == 1)) note_all(*times, node, index);
    }
  }

  void traced(const ir::Node& node, std::uint32_t index) {
    for (const TracedNumber& one : traced_numbers(node, prepared_.facts, traced_)) {
      BakedIn& found = add_constant(one.number, one.because, node);
      add_site(found, node, index, one.names, false);
    }
  }

  // All of a dimension, by indices that were counted when the model was traced.
  void indexed(const ir::Node& node, std::uint32_t index) {
    const auto* tensor = node.inputs().empty() ? nullptr : prepared_.facts.of(node.input(0)).tensor();
    if (!tensor || !tensor->shape || !node.schema()) return;
    const auto look = [&](std::size_t dim, const ir::Value* indices) {
      if (const auto count = counted(indices); count && dim < tensor->shape->size())
        note_own((*tensor->shape)[dim], *count, node, index);
    };
    if (node.is("aten::index_select")) {
      const auto dim = symbolic::Call(node, prepared_.facts).integer("dim");
      const auto place = dim ? symbolic::wrap_dim(*dim, tensor->shape->size()) : std::nullopt;
      if (place) look(*place, node.input(2));
    } else if (node.is("aten::index") && node.inputs().size() == 2) {
      const ir::Node* list = node.input(1)->producer();
      if (!list || !list->is("prim::ListConstruct")) return;
      for (std::size_t i = 0; i < list->inputs().size(); ++i) look(i, list->input(i));
    }
  }

  // n where the value is 0, 1, … n − 1 whatever the inputs are.
  std::optional<std::int64_t> counted(const ir::Value* value) const {
    if (const ir::Node* made = value->producer(); made && made->is("aten::arange") && made->schema()) {
      const symbolic::Call call(*made, prepared_.facts);
      if ((call.has("start") && call.integer("start") != 0) || (call.has("step") && call.integer("step") != 1))
        return std::nullopt;
      return call.integer("end");
    }
    const auto* tensor = prepared_.facts.of(value).tensor();
    if (!tensor || !tensor->contents || !tensor->shape || tensor->shape->size() != 1) return std::nullopt;
    std::int64_t next = 0;
    for (const Dim& item : *tensor->contents)
      if (item.number() != next++) return std::nullopt;
    return next;
  }

  static std::optional<std::int64_t> number_of(const Fact& fact) {
    const auto* number = fact.number();
    return number && number->integer ? number->integer->number() : std::nullopt;
  }

  std::int64_t traced_of(const std::string& name) const {
    const auto found = traced_.find(name);
    return found == traced_.end() ? 0 : found->second;
  }

  static std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  void note_all(std::int64_t number, const ir::Node& node, std::uint32_t index) {
    for (const Named& size : names_)
      if (size.traced == number) note(size, node, index);
  }

  // `size` is the named one alone, and was this number.
  void note_own(const Dim& size, std::int64_t number, const ir::Node& node, std::uint32_t index) {
    const auto named = std::ranges::find(names_, size.to_string(), &Named::name);
    if (named != names_.end() && named->traced == number && number > 1) note(*named, node, index, std::to_string(number), true);
  }

  void note(const Named& size, const ir::Node& node, std::uint32_t index, const std::string& text = {}, bool surely = false) {
    const std::string number = text.empty() ? std::to_string(size.traced) : text;
    BakedIn& found = add_constant(number, "it was the size '" + size.name + "' of input '" + size.input + "'", node);
    found.origin = "was the size '" + size.name + "' of '" + size.input + "'";
    add_site(found, node, index, {size.name}, surely);
  }

  static void add_site(BakedIn& found, const ir::Node& node, std::uint32_t index, const std::vector<std::string>& names,
                       bool surely) {
    Finding& finding = found.finding;
    ++finding.nodes;
    finding.sites.insert(surely && !found.surely ? finding.sites.begin() : finding.sites.end(), site_of(node, index));
    found.surely |= surely;
    found.names = names;
  }

  std::set<std::int64_t> sizes_of(const ir::Value* value) const {
    std::set<std::int64_t> sizes;
    if (const auto* tensor = prepared_.facts.of(value).tensor(); tensor && tensor->shape)
      for (const Dim& dim : *tensor->shape)
        if (dim.is_number() && *dim.number() != 1) sizes.insert(*dim.number());
    return sizes;
  }

  BakedIn& add_constant(const std::string& number, const std::string& because, const ir::Node& node) {
    BakedIn& found =
        add("the constant " + number + " may come from tracing: " + because + " when the model was traced", advice, &node);
    found.number = number;
    return found;
  }

  BakedIn& add(const std::string& message, const std::string& help, const ir::Node* node = nullptr) {
    const std::string op = node ? node->op() : "";
    for (BakedIn& found : found_)
      if (found.finding.message == message && found.finding.op == op) return found;
    BakedIn& found = found_.emplace_back();
    Finding& finding = found.finding;
    finding.id = "CC012";
    finding.severity = Severity::note;
    finding.op = op;
    if (node) finding.overload = node->overload();
    finding.message = message;
    finding.help = help;
    return found;
  }

  const Model::State& model_;
  const Prepared& prepared_;
  std::vector<Named> names_;
  symbolic::Sizes traced_;  // keyed by name
  std::set<std::string> followed_, reported_;
  std::vector<BakedIn> found_;
};

}  // namespace

std::vector<BakedIn> collect_baked_in(const Model::State& model, const Prepared& prepared) {
  if (model.exported) return {};  // torch.export proves what it calls dynamic, and fixes the rest in the input's shape
  if (model.program && !model.program->traced) return {};  // the code of a scripted model is all that its author wrote
  return SizesBakedIn(model, prepared).run();
}

}  // namespace compatcheck::analysis
