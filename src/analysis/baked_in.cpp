#include "analysis/baked_in.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "analysis/site.h"
#include "symbolic/fact.h"
#include "symbolic/shapes.h"

namespace compatcheck::analysis {
namespace {

using symbolic::Dim;
using symbolic::Fact;

std::set<std::string> names_in(const Dim& dim) {
  std::set<std::string> names;
  if (dim.is_number() || dim.is_unknown()) return names;
  std::string word;
  for (const char letter : dim.to_string() + " ") {
    if (std::isalnum(static_cast<unsigned char>(letter)) || letter == '_' || letter == '.')
      word += letter;
    else if (!word.empty()) {
      if (!std::isdigit(static_cast<unsigned char>(word.front()))) names.insert(word);
      word.clear();
    }
  }
  return names;
}

void add_names(const Fact& fact, std::set<std::string>& names) {
  if (const auto* tensor = fact.tensor()) {
    if (tensor->shape)
      for (const Dim& dim : *tensor->shape) names.merge(names_in(dim));
    if (tensor->contents)
      for (const Dim& dim : *tensor->contents) names.merge(names_in(dim));
  } else if (const auto* number = fact.number()) {
    if (number->integer) names.merge(names_in(*number->integer));
  } else if (const auto* list = fact.list(); list && list->items) {
    for (const Fact& item : *list->items) add_names(item, names);
  }
}

// A size that has a name now, and what it was when the model was traced; 0 and 1 say nothing.
struct Named {
  std::string name, input;
  std::int64_t traced = 0;
};

constexpr std::array reshapes{"aten::view", "aten::reshape", "aten::_unsafe_view", "aten::unflatten"};
constexpr std::array makes_sizes{"aten::expand",    "aten::broadcast_to", "aten::zeros",    "aten::ones",
                                 "aten::full",      "aten::empty",        "aten::rand",     "aten::randn",
                                 "aten::new_zeros", "aten::new_ones",     "aten::new_full", "aten::arange"};

// What is reshaped to sizes with these numbers always fits: they come from other sizes than the named ones.
bool fits_whatever_names_are(const Fact& self, const std::vector<std::int64_t>& sizes) {
  const auto* tensor = self.tensor();
  if (!tensor || !tensor->shape) return true;
  const Dim elements = symbolic::product(*tensor->shape);
  Dim fixed = 1;
  for (const std::int64_t size : sizes)
    if (size > 0) fixed = fixed * Dim(size);
  return elements.is_unknown() || provably_equal(floor_div(elements, fixed) * fixed, elements);
}

class Collector {
 public:
  Collector(const Model::State& model, const Prepared& prepared) : model_(model), prepared_(prepared) {}

  std::vector<Finding> run() {
    find_names();
    if (names_.empty()) return {};
    unused_inputs();
    std::uint32_t index = 0;
    ir::for_each_node(*prepared_.graph.top(), [&](const ir::Node* node) {
      for (const ir::Value* output : node->outputs()) add_names(prepared_.facts.of(output), followed_);
      constants(*node, index);
      ++index;
    });
    for (const Named& named : names_)
      if (!followed_.contains(named.name) && reported_.insert(named.name).second)
        add("input '" + named.input + "': nothing in the graph follows its size " + named.name,
            "if results should, trace with an input of another size and compare, or script the model");
    return std::move(findings_);
  }

 private:
  void find_names() {
    const auto now = prepared_.graph.inputs();
    const auto traced = model_.graph.inputs();
    for (std::size_t i = 0; i < now.size(); ++i) {
      const auto* tensor = prepared_.facts.of(now[i]).tensor();
      if (now[i]->unused() || !tensor || !tensor->shape) continue;
      const ir::TypeRef type = i < traced.size() ? traced[i]->type() : nullptr;
      const auto* sizes = ir::is(type, ir::TypeKind::tensor) && type->tensor.sizes ? &*type->tensor.sizes : nullptr;
      for (std::size_t dim = 0; dim < tensor->shape->size(); ++dim) {
        const auto names = names_in((*tensor->shape)[dim]);
        if (names.size() != 1 || *names.begin() != (*tensor->shape)[dim].to_string()) continue;
        const auto seen = sizes && dim < sizes->size() ? (*sizes)[dim].value_or(0) : 0;
        names_.push_back({*names.begin(), now[i]->name(), seen > 1 ? seen : 0});
      }
    }
  }

  void unused_inputs() {
    for (const ir::Value* input : prepared_.graph.inputs())
      if (input->unused() && (!input->type() || input->type()->kind == ir::TypeKind::tensor))
        add("input '" + input->name() + "' isn't used: what hangs on it was fixed when the model was traced, or nothing does",
            "leave it out of the calls, or trace a model that reads it");
  }

  void constants(const ir::Node& node, std::uint32_t index) {
    const bool reshape = std::ranges::find(reshapes, node.op()) != reshapes.end();
    if (!reshape && std::ranges::find(makes_sizes, node.op()) == makes_sizes.end()) return;
    std::vector<std::int64_t> numbers;
    const auto take = [&](const Fact& one) {
      if (const auto* number = one.number();
          number && number->kind == symbolic::NumberFact::Kind::integer && number->integer && number->integer->number())
        numbers.push_back(*number->integer->number());
    };
    for (const ir::Value* input : node.inputs()) {
      const Fact& fact = prepared_.facts.of(input);
      if (const auto* list = fact.list(); list && list->items)
        std::ranges::for_each(*list->items, take);
      else if (node.is("aten::arange"))
        take(fact);
    }
    if (reshape && fits_whatever_names_are(prepared_.facts.of(node.inputs().front()), numbers)) return;
    for (const Named& named : names_) {
      if (named.traced == 0 || std::ranges::find(numbers, named.traced) == numbers.end()) continue;
      Finding& finding = add(std::to_string(named.traced) + " looks baked in: it is the size that '" + named.input + "' had as " +
                                 named.name + " when the model was traced",
                             "`compatcheck verify` shows whether other sizes work; where Python made the number "
                             "(int(x.shape[0])), use x.shape[0] or x.size(0) as it is",
                             &node);
      ++finding.nodes;
      finding.sites.push_back(site_of(node, index));
    }
  }

  Finding& add(const std::string& message, const std::string& help, const ir::Node* node = nullptr) {
    const std::string op = node ? node->op() : "";
    for (Finding& finding : findings_)
      if (finding.message == message && finding.op == op) return finding;
    Finding& finding = findings_.emplace_back();
    finding.id = "CC012";
    finding.severity = Severity::note;
    finding.op = op;
    if (node) finding.overload = node->overload();
    finding.message = message;
    finding.help = help;
    return finding;
  }

  const Model::State& model_;
  const Prepared& prepared_;
  std::vector<Named> names_;
  std::set<std::string> followed_, reported_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> collect_baked_in(const Model::State& model, const Prepared& prepared) {
  return Collector(model, prepared).run();
}

}  // namespace compatcheck::analysis
