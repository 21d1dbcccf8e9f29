#include "analysis/named_sizes.h"

#include <algorithm>

namespace compatcheck::analysis {
namespace {

void add_once(std::vector<std::int64_t>& numbers, std::int64_t number) {
  if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
}

}  // namespace

NamedSizes::NamedSizes(std::span<const std::string> texts, const ir::Graph& graph, Defaulted defaults)
    : texts_(texts.begin(), texts.end()), stated_(stated_sizes(texts, graph, defaults)) {
  const std::vector<InputLeaf> leaves = input_leaves(graph);
  for (const StatedSizes& stated : stated_) {
    const InputLeaf* leaf = find_leaf(stated.input, leaves);
    add_names(stated, leaf && leaf->name == stated.input ? leaf->type : nullptr);
  }
}

void NamedSizes::add_names(const StatedSizes& spec, const ir::TypeRef& type) {
  for (std::size_t dim = 0; dim < spec.dims.size(); ++dim) {
    if (is_number(spec.dims[dim])) continue;
    auto name = std::ranges::find(names_, spec.dims[dim], &Name::name);
    if (name == names_.end()) name = names_.insert(names_.end(), {.name = spec.dims[dim], .likely = {}});
    name->batch = name->batch || (dim == 0 && spec.dims.size() > 1);
    if (ir::is(type, ir::TypeKind::tensor) && type->tensor.sizes && type->tensor.sizes->size() == spec.dims.size())
      if (const auto recorded = (*type->tensor.sizes)[dim]) add_once(name->likely, *recorded);
    add_once(name->likely, dim >= 2 ? 224 : 16);
  }
}

std::vector<NamedSizes::Stated> NamedSizes::with(const std::map<std::string, std::int64_t>& numbers) const {
  std::vector<Stated> all;
  for (std::size_t i = 0; i < stated_.size(); ++i) {
    const StatedSizes& spec = stated_[i];
    Stated with_sizes{.input = spec.input, .text = spec.lead};
    for (std::size_t dim = 0; dim < spec.dims.size(); ++dim) {
      const auto number = numbers.find(spec.dims[dim]);
      with_sizes.changed = with_sizes.changed || number != numbers.end();
      with_sizes.text += (dim ? "," : "") + (number == numbers.end() ? spec.dims[dim] : std::to_string(number->second));
    }
    if (!with_sizes.changed) with_sizes.text = texts_[i];
    all.push_back(std::move(with_sizes));
  }
  return all;
}

}  // namespace compatcheck::analysis
