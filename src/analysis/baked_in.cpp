#include "analysis/baked_in.h"

#include <algorithm>
#include <array>
#include <set>

#include "analysis/site.h"
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

// What reads some of a tensor's elements, or only its size: another size goes unnoticed.
constexpr std::array reads_parts{"aten::select",       "aten::slice",        "aten::unbind",
                                 "aten::split",        "aten::chunk",        "aten::split_with_sizes",
                                 "aten::narrow",       "aten::index_select", "aten::index",
                                 "aten::tensor_split", "aten::unsafe_split", "aten::unsafe_chunk",
                                 "aten::take",         "prim::ListUnpack",   "aten::__getitem__",
                                 "aten::size",         "aten::dim",          "prim::dtype",
                                 "prim::device",       "prim::shape",        "aten::len"};
constexpr std::array reshapes{"aten::view", "aten::reshape", "aten::_unsafe_view", "aten::unflatten"};
constexpr std::array makes_sizes{"aten::expand",
                                 "aten::broadcast_to",
                                 "aten::zeros",
                                 "aten::ones",
                                 "aten::full",
                                 "aten::empty",
                                 "aten::rand",
                                 "aten::randn",
                                 "aten::new_zeros",
                                 "aten::new_ones",
                                 "aten::new_full",
                                 "aten::arange",
                                 "aten::upsample_nearest1d",
                                 "aten::upsample_nearest2d",
                                 "aten::upsample_nearest3d",
                                 "aten::upsample_linear1d",
                                 "aten::upsample_bilinear2d",
                                 "aten::upsample_bicubic2d",
                                 "aten::upsample_trilinear3d"};

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

bool has_unknown_size(const Fact& fact) {
  const auto* tensor = fact.tensor();
  if (!tensor) return std::holds_alternative<std::monostate>(fact.value);
  return !tensor->shape || std::ranges::any_of(*tensor->shape, &Dim::is_unknown);
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
      follow(*node);
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
      const bool assumed =
          std::ranges::any_of(prepared_.assumed, [&](const AssumedInput& each) { return each.tensor.name == now[i]->name(); });
      if (now[i]->unused() || !tensor || !tensor->shape || assumed) continue;  // nobody named what is assumed
      const ir::TypeRef type = i < traced.size() ? traced[i]->type() : nullptr;
      const auto* sizes = ir::is(type, ir::TypeKind::tensor) && type->tensor.sizes ? &*type->tensor.sizes : nullptr;
      for (std::size_t dim = 0; dim < tensor->shape->size(); ++dim) {
        const auto names = symbolic::names_in((*tensor->shape)[dim]);
        if (names.size() != 1 || *names.begin() != (*tensor->shape)[dim].to_string()) continue;
        const auto seen = sizes && dim < sizes->size() ? (*sizes)[dim].value_or(0) : 0;
        names_.push_back({*names.begin(), now[i]->name(), seen > 1 ? seen : 0});
      }
    }
  }

  // Names that results have, and those that are read whole: a mean over a dimension is right at every size of it. Of a result
  // whose sizes aren't known nothing can be said.
  void follow(const ir::Node& node) {
    const bool whole = std::ranges::find(reads_parts, node.op()) == reads_parts.end();
    bool unknown = false;
    for (const ir::Value* output : node.outputs()) {
      add_names(prepared_.facts.of(output), followed_);
      unknown |= has_unknown_size(prepared_.facts.of(output));
    }
    if (node.outputs().empty() || !(whole || unknown) || node.is("prim::ListConstruct") || node.is("prim::TupleConstruct"))
      return;
    for (const ir::Value* input : node.inputs()) add_names(prepared_.facts.of(input), followed_);
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
      else if (node.is("aten::arange"))
        take(fact);
    }
    if (reshape && fits_whatever_names_are(prepared_.facts.of(node.inputs().front()), numbers)) return;
    for (const Named& size : names_) {
      if (size.traced == 0 || std::ranges::find(numbers, size.traced) == numbers.end()) continue;
      if (named.contains(size.name) || own.contains(size.traced)) continue;  // the number is another size's
      Finding& finding = add(std::to_string(size.traced) + " looks baked in: it is the size that '" + size.input + "' had as " +
                                 size.name + " when the model was traced",
                             "`compatcheck verify` shows whether other sizes work; where Python made the number "
                             "(int(x.shape[0])), use x.shape[0] or x.size(0) as it is",
                             &node);
      ++finding.nodes;
      finding.sites.push_back(site_of(node, index));
    }
  }

  std::set<std::int64_t> sizes_of(const ir::Value* value) const {
    std::set<std::int64_t> sizes;
    if (const auto* tensor = prepared_.facts.of(value).tensor(); tensor && tensor->shape)
      for (const Dim& dim : *tensor->shape)
        if (dim.is_number() && *dim.number() != 1) sizes.insert(*dim.number());
    return sizes;
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
  if (model.exported) return {};  // torch.export proves what it calls dynamic, and fixes the rest in the input's shape
  return Collector(model, prepared).run();
}

}  // namespace compatcheck::analysis
