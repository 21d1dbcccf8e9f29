#include "analysis/named_sizes.h"

#include <algorithm>

#include "analysis/input_spec.h"

namespace compatcheck::analysis {
namespace {

bool is_number(const std::string& size) { return !size.empty() && size.find_first_not_of("0123456789") == std::string::npos; }

void add_once(std::vector<std::int64_t>& numbers, std::int64_t number) {
  if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
}

}  // namespace

NamedSizes::NamedSizes(std::span<const std::string> texts, const ir::Graph& graph) {
  const std::vector<InputLeaf> leaves = input_leaves(graph);
  std::size_t position = 0;
  for (const std::string& text : texts) {
    Spec spec{.input = {}, .lead = {}, .dims = {}, .text = text};
    const auto equals = text.find('=');
    spec.input = equals == text.npos ? leaves.at(position++).name : text.substr(0, equals);
    const auto colon = text.find(':', equals == text.npos ? 0 : equals);
    const std::size_t begin = colon != text.npos ? colon + 1 : equals != text.npos ? equals + 1 : 0;
    spec.lead = text.substr(0, begin);
    const std::string dims = text.substr(begin);
    for (std::size_t at = 0; dims != "scalar" && dims != "none" && at <= dims.size();) {
      const std::size_t comma = std::min(dims.find(',', at), dims.size());
      spec.dims.push_back(dims.substr(at, comma - at));
      at = comma + 1;
    }
    const InputLeaf* leaf = find_leaf(spec.input, leaves);
    add_names(spec, leaf && leaf->name == spec.input ? leaf->type : nullptr);
    specs_.push_back(std::move(spec));
  }
}

void NamedSizes::add_names(const Spec& spec, const ir::TypeRef& type) {
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

std::vector<NamedSizes::Said> NamedSizes::with(const std::map<std::string, std::int64_t>& numbers) const {
  std::vector<Said> all;
  for (const Spec& spec : specs_) {
    Said said{.input = spec.input, .text = spec.lead};
    for (std::size_t dim = 0; dim < spec.dims.size(); ++dim) {
      const auto number = numbers.find(spec.dims[dim]);
      said.changed = said.changed || number != numbers.end();
      said.text += (dim ? "," : "") + (number == numbers.end() ? spec.dims[dim] : std::to_string(number->second));
    }
    if (!said.changed) said.text = spec.text;
    all.push_back(std::move(said));
  }
  return all;
}

}  // namespace compatcheck::analysis
