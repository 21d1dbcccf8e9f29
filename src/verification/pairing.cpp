#include "verification/pairing.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "analysis/input_spec.h"

namespace compatcheck::verification {
namespace {

// Names of --input are letters, digits and underscores; two names of the file stay two.
class DimNames {
 public:
  std::string of(const std::string& name) {
    const auto known = names_.find(name);
    if (known != names_.end()) return known->second;
    std::string made;
    for (const char c : name) made += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
    if (made.empty() || std::isdigit(static_cast<unsigned char>(made.front()))) made = "d" + made;
    while (!taken_.insert(made).second) made += "_";
    return names_[name] = made;
  }

 private:
  std::map<std::string, std::string> names_;
  std::set<std::string> taken_;
};

bool contradicts(const OnnxGraph::Given& given, const ir::TypeRef& type) {
  if (given.sequence) return !ir::is_tensor_list(type);
  if (!type || type->kind != ir::TypeKind::tensor) return true;
  const bool dtype = type->tensor.dtype && given.dtype && *type->tensor.dtype != *given.dtype;
  const bool rank = type->tensor.sizes && given.shape && type->tensor.sizes->size() != given.shape->size();
  return dtype || rank;
}

std::string form(const ir::DType& dtype, std::size_t rank) {
  return std::string(ir::name(dtype)) + " of rank " + std::to_string(rank);
}

}  // namespace

std::vector<std::string> input_specs(const std::vector<OnnxGraph::Given>& inputs, const ir::Graph& graph) {
  const auto leaves = analysis::input_leaves(graph);
  std::vector<std::string> specs;
  DimNames names;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const OnnxGraph::Given& given = inputs[i];
    auto leaf = std::ranges::find(leaves, given.name, &analysis::InputLeaf::name);
    if (leaf == leaves.end() && leaves.size() == inputs.size()) leaf = leaves.begin() + static_cast<std::ptrdiff_t>(i);
    if (leaf == leaves.end() || !given.dtype || !given.shape || contradicts(given, leaf->type)) continue;
    std::string dims;
    for (std::size_t dim = 0; dim < given.shape->size(); ++dim) {
      const onnx::Dimension& size = (*given.shape)[dim];
      const bool is_number = size.size && *size.size > 0;
      dims += (dims.empty() ? "" : ",") +
              (is_number ? std::to_string(*size.size)
                         : names.of(size.name.empty() ? given.name + "_" + std::to_string(dim) : size.name));
    }
    specs.push_back(leaf->name + "=" + (given.quantized.empty() ? std::string(ir::name(*given.dtype)) : given.quantized) + ":" +
                    (dims.empty() ? "scalar" : dims));
  }
  return specs;
}

void unpair(std::vector<OnnxGraph::Given>& inputs, const std::string& metadata) {
  const std::string lines = "\n" + metadata + "\n";
  for (OnnxGraph::Given& input : inputs) {
    if (!input.shape || input.shape->empty() || !input.dtype || lines.find("\n" + input.name + "\n") == lines.npos) continue;
    input.shape->pop_back();
    input.dtype = *input.dtype == ir::DType::f64 ? ir::DType::c128 : ir::DType::c64;
  }
}

void keep_names(std::vector<std::string>& inputs, std::vector<std::string>& dims, const std::vector<std::string>& of_file,
                const ir::Graph& graph) {
  using analysis::is_number;
  const auto stated = analysis::stated_sizes(inputs, graph), in_file = analysis::stated_sizes(of_file, graph);
  std::map<std::string, std::string> fixed;
  std::set<std::string> free;
  std::vector<std::string> named = inputs;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const analysis::StatedSizes& own = stated[i];
    const auto other = std::ranges::find(in_file, own.lead, &analysis::StatedSizes::lead);
    if (other == in_file.end() || own.dims.empty() || own.dims.size() != other->dims.size()) continue;
    named[i] = own.lead;
    for (std::size_t dim = 0; dim < own.dims.size(); ++dim) {
      const std::string &ours = own.dims[dim], &theirs = other->dims[dim];
      const bool names = is_number(ours) && !is_number(theirs);
      if (names && !fixed.emplace(theirs, ours).second && fixed[theirs] != ours) return;
      if (!is_number(ours)) free.insert(ours);
      named[i] += (dim ? "," : "") + (names ? theirs : ours);
    }
  }
  if (std::ranges::any_of(fixed, [&](const auto& one) { return free.contains(one.first); })) return;
  inputs = std::move(named);
  for (const auto& [name, number] : fixed) dims.push_back(name + "=" + number);
}

Unpaired unpaired(const std::vector<OnnxGraph::Given>& inputs, const std::vector<std::string>& names,
                  const ir::Constants& values) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto given = std::ranges::find(inputs, names[i], &OnnxGraph::Given::name);
    const auto* view = values[i].get<ir::TensorView>();
    if (given == inputs.end() || !view || !given->dtype) continue;
    const std::size_t rank = given->shape ? given->shape->size() : view->sizes.size();
    if (*given->dtype == view->dtype && rank == view->sizes.size()) continue;
    return {*given->dtype == view->dtype ? "CC203" : "CC204",
            "the input '" + names[i] + "' is " + form(*given->dtype, rank) + " in the ONNX file and " +
                form(view->dtype, view->sizes.size()) + " in the TorchScript model: the two can't be paired"};
  }
  return {};
}

}  // namespace compatcheck::verification
