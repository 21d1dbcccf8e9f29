#include "conversion/settle_dimensions.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "passes/effects.h"
#include "passes/rewrite.h"
#include "symbolic/dimensions.h"

namespace compatcheck::conversion {
namespace {

constexpr std::int64_t most_dimensions = 8;  // each gets a copy of the call
constexpr std::size_t most_copies = 2000;    // copies in one graph

constexpr auto dimension_arguments =
    std::to_array<std::string_view>({"dim", "dims", "dim0", "dim1", "dim2", "axis0", "axis1", "source", "destination"});

bool among(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

// A number of which neither facts nor a statement about the inputs can tell more.
bool is_open(const ir::Value* value, const symbolic::FactTable& facts) {
  const symbolic::Fact& fact = facts.of(value);
  const auto* number = fact.number();
  const bool is_known = number && number->integer && number->integer->is_number();
  return ir::is(value->type(), ir::TypeKind::integer) && number && !is_known && fact.wants.empty() && !fact.blame;
}

std::optional<std::int64_t> known_dim(const ir::Value* value, const symbolic::FactTable& facts) {
  const auto* number = facts.of(value).number();
  return number && number->integer ? number->integer->number() : std::nullopt;
}

const symbolic::Shape* shape_of_self(const ir::Node& node, const symbolic::FactTable& facts) {
  const auto* tensor = facts.of(node.input(0)).tensor();
  return tensor && tensor->shape ? &*tensor->shape : nullptr;
}

class Dispatch {
 public:
  Dispatch(ir::Node* node, const symbolic::FactTable& facts, const schema::Registry& schemas)
      : node_(node), facts_(facts), schemas_(schemas) {}

  // How many copies of the call it takes; 0 if it stays.
  std::size_t find() {
    const bool tensors = !node_->outputs().empty() && std::ranges::all_of(node_->outputs(), passes::is_tensor);
    if (!node_->schema() || !tensors || !node_->blocks().empty() || node_->is("aten::permute")) return 0;
    if (!find_argument()) return 0;
    const auto rank = symbolic::counted_rank(symbolic::Call(*node_, facts_));
    if (!rank) return 0;
    count_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(*rank));
    if (count_ > most_dimensions) return 0;
    const symbolic::Shape* shape = shape_of_self(*node_, facts_);
    if (node_->is("aten::squeeze") && shape && squeezes_known(*shape)) return std::max<std::size_t>(1, ones_.size());
    const std::vector<std::int64_t> others = excluded();
    for (std::int64_t dim = 0; dim < count_; ++dim)
      if (std::ranges::find(others, dim) == others.end()) dims_.push_back(dim);
    return dims_.size();
  }

  void settle() {
    ir::Value* dim = from_front();
    const Values results = dims_.empty() ? squeezed(dim) : chosen(node_, dim, dims_);
    for (std::size_t i = 0; i < results.size(); ++i) passes::replace(node_->output(i), results[i]);
    node_->erase();
  }

 private:
  using Values = std::vector<ir::Value*>;

  bool find_argument() {
    const auto& arguments = node_->schema()->arguments;
    for (std::size_t i = 0; i < std::min(arguments.size(), node_->inputs().size()); ++i) {
      if (!among(dimension_arguments, arguments[i].name)) continue;
      argument_ = i;
      ir::Value* given = node_->input(i);
      if (is_open(given, facts_)) return dim_ = given, true;
      const ir::Node* list = given->producer();
      if (!list || !list->is("prim::ListConstruct") || node_->op().find("roll") != std::string::npos) continue;
      for (std::size_t item = 0; item < list->inputs().size(); ++item)
        if (is_open(list->input(item), facts_)) return item_ = item, dim_ = list->input(item), true;
    }
    return false;
  }

  // Dimensions that the call already has elsewhere: PyTorch refuses them twice.
  std::vector<std::int64_t> excluded() const {
    std::vector<std::int64_t> dims;
    const auto exclude = [&](const ir::Value* value) {
      if (const auto dim = known_dim(value, facts_)) dims.push_back(*dim < 0 ? *dim + count_ : *dim);
    };
    const std::string_view name = node_->schema()->arguments[argument_].name;
    if (item_) {
      for (const ir::Value* item : node_->input(argument_)->producer()->inputs()) exclude(item);
    } else if (name == "dim1" || name == "dim2") {
      const auto other = node_->schema()->argument_index(name == "dim1" ? "dim2" : "dim1");
      const bool distinct = node_->op().find("diag") != std::string::npos;
      if (distinct && other && *other < node_->inputs().size()) exclude(node_->input(*other));
    }
    return dims;
  }

  // Only dimensions of size 1 go, and all results that they leave have one rank.
  bool squeezes_known(const symbolic::Shape& shape) {
    if (item_ || !std::ranges::all_of(shape, &symbolic::Dim::is_number)) return false;
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
      if (shape[dim].number() == 1) ones_.push_back(static_cast<std::int64_t>(dim));
    return true;
  }

  Values squeezed(ir::Value* dim) {
    ir::Value* self = node_->input(0);
    if (ones_.empty()) return {self};
    if (static_cast<std::int64_t>(ones_.size()) == count_) return chosen(node_, dim, ones_);
    ir::Value* is_one = nullptr;
    for (const std::int64_t one : ones_) {
      ir::Value* equal = call(node_, "aten::eq", {dim, number(node_, one)}, ir::TypeKind::boolean);
      is_one = is_one ? call(node_, "aten::__or__", {is_one, equal}, ir::TypeKind::boolean) : equal;
    }
    return branches(
        node_, is_one, [&](ir::Node* end) { return chosen(end, dim, ones_); }, [&](ir::Node*) { return Values{self}; });
  }

  ir::Value* from_front() { return call(node_, "aten::remainder", {dim_, number(node_, count_)}, ir::TypeKind::integer); }

  Values chosen(ir::Node* place, ir::Value* dim, std::span<const std::int64_t> dims) {
    if (dims.size() == 1) return copied(place, dims.front());
    ir::Value* equal = call(place, "aten::eq", {dim, number(place, dims.front())}, ir::TypeKind::boolean);
    return branches(
        place, equal, [&](ir::Node* end) { return copied(end, dims.front()); },
        [&](ir::Node* end) { return chosen(end, dim, dims.subspan(1)); });
  }

  template <class Then, class Otherwise>
  Values branches(ir::Node* place, ir::Value* condition, Then&& then, Otherwise&& otherwise) {
    ir::Node* branch = node_->graph()->create("prim::If", std::span(&condition, 1));
    branch->copy_origin(*node_);
    branch->insert_before(place);
    for (const ir::Value* output : node_->outputs()) branch->add_output(output->type());
    const auto fill = [&](auto&& results) {
      ir::Block* block = branch->add_block();
      for (ir::Value* result : results(block->return_node())) block->add_output(result);
    };
    fill(then);
    fill(otherwise);
    return {branch->outputs().begin(), branch->outputs().end()};
  }

  Values copied(ir::Node* place, std::int64_t dim) {
    std::unordered_map<const ir::Value*, ir::Value*> values;
    ir::Value* chosen = number(place, dim);
    if (item_) {
      ir::Node* list = node_->graph()->copy_node(*node_->input(argument_)->producer(), values);
      list->insert_before(place);
      list->replace_input(*item_, chosen);
      chosen = list->output();
    }
    values.clear();
    ir::Node* copy = node_->graph()->copy_node(*node_, values);
    copy->insert_before(place);
    copy->replace_input(argument_, chosen);
    return {copy->outputs().begin(), copy->outputs().end()};
  }

  ir::Value* number(ir::Node* place, std::int64_t value) {
    ir::Value* constant = passes::constant_before(place, {value});
    constant->producer()->copy_origin(*node_);
    return constant;
  }

  ir::Value* call(ir::Node* place, std::string op, std::initializer_list<ir::Value*> inputs, ir::TypeKind type) {
    const ir::TypeRef result = ir::simple_type(type);
    const Values given(inputs);
    ir::Node* made = passes::node_before(place, std::move(op), given, std::span(&result, 1));
    made->copy_origin(*node_);
    const schema::Schema* schema = schema::match(*made, schemas_);
    made->set_schema(schema);
    if (schema) made->set_overload(schema->overload);
    return made->output();
  }

  ir::Node* node_;
  const symbolic::FactTable& facts_;
  const schema::Registry& schemas_;
  std::size_t argument_ = 0;         // argument that is or contains the dimension
  std::optional<std::size_t> item_;  // item of the argument, if it is a list
  ir::Value* dim_ = nullptr;
  std::int64_t count_ = 0;          // number of possible dimensions
  std::vector<std::int64_t> dims_;  // possible dimensions; empty for squeeze() of known sizes
  std::vector<std::int64_t> ones_;  // dimensions that squeeze() drops
};

}  // namespace

std::size_t settle_dimensions(ir::Graph& graph, const symbolic::FactTable& facts, const schema::Registry& schemas,
                              std::size_t& copies, const ir::Watch& watch) {
  std::size_t settled = 0;
  for (ir::Node* node : passes::all_nodes(graph, watch)) {
    Dispatch dispatch(node, facts, schemas);
    const std::size_t needed = dispatch.find();
    if (needed == 0 || copies + needed > most_copies) continue;
    dispatch.settle();
    copies += needed;
    ++settled;
  }
  return settled;
}

}  // namespace compatcheck::conversion
