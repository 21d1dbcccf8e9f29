#include "onnx/builder.h"

#include <algorithm>
#include <utility>

#include "compatcheck/error.h"
#include "onnx/builder_call.h"

namespace compatcheck::onnx {
namespace {

using ir::DType;

std::pair<std::string_view, std::string_view> split(std::string_view op) {
  const auto at = op.rfind("::");
  return at == std::string_view::npos ? std::pair(std::string_view(), op) : std::pair(op.substr(0, at), op.substr(at + 2));
}

// Narrows the range to the opsets with the same answer.
bool reaches(int opset, int least, OpsetRange& range) {
  const bool reached = opset >= least;
  if (reached)
    range.from = std::max(range.from, least);
  else
    range.to = std::min(range.to, least - 1);
  return reached;
}

}  // namespace

Builder::Builder(Model& model, const MovedAttributes& moved, OpsetRange all) : model_(model), moved_(moved), range_(all) {}

bool Builder::compact(std::string_view difference) {
  if (!model_.compact) return false;
  if (std::ranges::find(differences_, difference) == differences_.end()) differences_.emplace_back(difference);
  return true;
}

std::vector<std::string> Builder::take_differences() { return std::exchange(differences_, {}); }

void Builder::narrow(OpsetRange range) {
  range_.from = std::max(range_.from, range.from);
  range_.to = std::min(range_.to, range.to);
}

bool Builder::opset_at_least(int opset) { return reaches(model_.opset, opset, range_); }

bool Builder::at_least(int opset) { return form_ ? reaches(*form_, opset, form_range_) : opset_at_least(opset); }

void Builder::write_as(std::optional<int> form, OpsetRange all) {
  form_ = form;
  form_range_ = all;
}

const Schema* Builder::schema(std::string_view op, std::string_view domain) {
  const Schema* found = nullptr;
  for (const Schema& version : versions(op, domain))  // other domains count versions of their own
    if (is_own_domain(domain) ? opset_at_least(version.since) : model_.version_of(domain) >= version.since) found = &version;
  return found && !found->deprecated ? found : nullptr;
}

Value Builder::node(std::string_view op, const Values& inputs, const Arguments& attributes, std::optional<DType> dtype) {
  return nodes(op, inputs, 1, attributes, dtype).front();
}

Values Builder::nodes(std::string_view op, const Values& inputs, std::size_t outputs, const Arguments& attributes,
                      std::optional<DType> dtype) {
  const auto [domain, name] = split(op);
  Call call;
  call.node.op = name;
  call.node.domain = domain;
  call.inputs = inputs;
  if (is_onnx_domain(domain)) {
    call.schema = schema(name, domain);
    if (!call.schema) {
      if (versions(name, domain).empty()) throw InternalError("ONNX has no operator " + std::string(op));
      const Schema& first = versions(name, domain).front();
      if (!is_own_domain(domain))
        throw Refusal{std::string(op) + " isn't in version " + std::to_string(model_.version_of(domain)) + " of its domain",
                      "--custom-opset " + std::string(domain) + "=" + std::to_string(versions(name, domain).back().since)};
      if (first.since > model_.opset)
        throw Refusal{"ONNX has no " + std::string(op.ends_with("uantizeLinear") ? "quantized tensors" : op) + " before opset " +
                          std::to_string(first.since),
                      "use opset " + std::to_string(first.since)};
      throw Refusal{"ONNX no longer has " + std::string(op)};
    }
  }
  place_attributes(call, attributes);
  while (!call.inputs.empty() && !call.inputs.back()) call.inputs.pop_back();
  if (call.schema) {
    check_inputs(call);
    demand_attributes(call);
    widen(call);
  }
  return append(call, outputs, output_dtypes(call, outputs, dtype));
}

void Builder::add_node(Node node) {
  node.origin = origin_;
  const std::string& domain = node.domain;
  if (!is_own_domain(domain) &&
      std::ranges::find(model_.domains, domain, &std::pair<std::string, int>::first) == model_.domains.end())
    model_.domains.emplace_back(domain, model_.version_of(domain));
  record(node);
  (bodies_.empty() ? model_.graph : *bodies_.back()).nodes.push_back(std::move(node));
}

Values Builder::foreign(std::string_view op, const Values& inputs, std::vector<NodeAttribute> attributes,
                        std::vector<std::optional<ValueInfo>> outputs) {
  const auto [domain, name] = split(op);
  Node node{.op = std::string(name),
            .domain = std::string(domain),
            .inputs = {},
            .outputs = {},
            .attributes = std::move(attributes),
            .name = {}};
  for (const Value& input : inputs) node.inputs.push_back(input.id);
  while (!node.inputs.empty() && node.inputs.back() == absent) node.inputs.pop_back();
  Values made;
  for (auto& output : outputs) {
    Value value;
    if (output) value = {model_.add_value(*output), output->dtype, output->kind == ValueInfo::Kind::sequence};
    node.outputs.push_back(value.id);
    made.push_back(value);
  }
  while (!node.outputs.empty() && node.outputs.back() == absent) node.outputs.pop_back();
  add_node(std::move(node));
  return made;
}

Values Builder::append(Call& call, std::size_t outputs, const std::vector<DType>& dtypes) {
  for (const Value& input : call.inputs) call.node.inputs.push_back(input.id);
  Values made, given;
  for (std::size_t i = 0; i < outputs; ++i) {
    const Formal* formal = call.schema ? formal_at(call.schema->outputs, i) : nullptr;
    const bool like_input = formal && !call.inputs.empty() && call.inputs.front().sequence &&
                            call.schema->inputs.front().type == formal->type;  // Identity
    const bool sequence = like_input || (formal && is_sequence(*formal));
    Value value{model_.add_value({.kind = sequence ? ValueInfo::Kind::sequence : ValueInfo::Kind::tensor,
                                  .dtype = dtypes[i],
                                  .shape = {},
                                  .name = {}}),
                dtypes[i], sequence};
    if (call.schema) check_output(call, i, value);
    call.node.outputs.push_back(value.id);
    made.push_back(value);
  }
  add_node(std::move(call.node));
  const auto marked = plumbing();  // the casts back
  for (std::size_t i = 0; i < outputs; ++i) {
    const Formal* formal = call.schema ? formal_at(call.schema->outputs, i) : nullptr;
    const auto widened = formal ? call.widened.find(formal->type) : call.widened.end();
    given.push_back(formal && widened != call.widened.end() ? cast(made[i], widened->second) : made[i]);
  }
  return given;
}

// ---- Graphs

void Builder::add_functions(const std::shared_ptr<const FunctionText>& text) {
  if (std::ranges::find(model_.functions, text) == model_.functions.end()) model_.functions.push_back(text);
}

Value Builder::add_input(DType dtype, std::optional<std::vector<Dimension>> shape, std::string name, bool sequence) {
  const ValueId id = model_.add_value({.kind = sequence ? ValueInfo::Kind::sequence : ValueInfo::Kind::tensor,
                                       .dtype = dtype,
                                       .shape = std::move(shape),
                                       .name = std::move(name)});
  model_.graph.inputs.push_back(id);
  return {id, dtype, sequence};
}

}  // namespace compatcheck::onnx
