#include "analysis/wanted_input.h"

#include <algorithm>

#include "inference/infer.h"
#include "inference/leaves.h"

namespace compatcheck::analysis {
namespace {

using symbolic::Dim;
using symbolic::TensorFact;

// Of a dimension that has no name yet: the input's.
TensorFact with_names(TensorFact tensor, const std::string& name) {
  for (std::size_t dim = 0; tensor.shape && dim < tensor.shape->size(); ++dim)
    if ((*tensor.shape)[dim].is_unknown()) (*tensor.shape)[dim] = Dim::symbol(inference::dimension_name(name, dim));
  return tensor;
}

std::string option_of(const inference::Leaf& leaf, const symbolic::Fact& fact) {
  TensorFact tensor = fact.tensor() ? *fact.tensor() : TensorFact{};
  const bool ranked = tensor.shape.has_value(), typed = tensor.dtype.has_value();
  if (!ranked) tensor.shape = symbolic::Shape(2, Dim::unknown());
  const std::string name = leaf.of_list ? leaf.name + ".0" : leaf.name;
  std::string text = "--input " + name + "=" + inference::spell(with_names(std::move(tensor), leaf.name));
  if (leaf.of_list) text += ", and so on for each member of the list";
  if (!typed) text += ", with its dtype in the place of f32";
  if (!ranked) text += ", with a number or a name for each of its dimensions";
  return text;
}

}  // namespace

WantedInput wanted_input(const ir::Graph& graph, std::uint32_t input, const symbolic::FactTable& facts) {
  const ir::Value* value = graph.inputs()[input];
  const std::string name = value->name().empty() ? "input_" + std::to_string(input) : value->name();
  const auto type = value->type() ? ir::to_string(*value->type()) : std::string("value");
  WantedInput wanted{"the " + type + " that input '" + name + "' is", {}};
  bool rank_alone = true;
  for (const inference::Leaf& leaf : inference::open_leaves(graph, facts)) {
    if (leaf.input != value) continue;
    const symbolic::Fact& fact = *leaf.in(facts.of(value));
    rank_alone = rank_alone && fact.tensor() && fact.tensor()->dtype && !fact.tensor()->shape && !leaf.of_list;
    wanted.option += (wanted.option.empty() ? "" : "; ") + option_of(leaf, fact);
  }
  if (wanted.option.empty() && facts.of(value).tensor()) {  // all is known but what the sizes are
    wanted.what = "the sizes of input '" + name + "'";
    wanted.option =
        "--input " + name + "=" + inference::spell(*facts.of(value).tensor()) + ", with numbers in the place of names";
  } else if (ir::is(value->type(), ir::TypeKind::dict) && ir::is(value->type()->elements.front(), ir::TypeKind::string) &&
             ir::is(value->type()->elements.back(), ir::TypeKind::tensor)) {
    wanted.what = "the keys of input '" + name + "'";
    wanted.option = "--input " + name + ".KEY=f32:" + inference::dimension_name(name, 0) + "," +
                    inference::dimension_name(name, 1) +
                    " for each KEY, with its dtype and sizes; or --inputs-from FILE, with an example of " + name;
  } else if (wanted.option.empty())
    wanted.option = "--inputs-from FILE, with an example of " + name;
  else
    wanted.what = (rank_alone ? "the rank of input '" : "the dtype and shape of input '") + name + "'";
  return wanted;
}

}  // namespace compatcheck::analysis
