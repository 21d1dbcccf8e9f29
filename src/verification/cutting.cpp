#include "verification/cutting.h"

#include "compatcheck/error.h"
#include "onnx/model.h"
#include "onnx/wire.h"
#include "onnx_file/functions.h"

namespace compatcheck::verification {
namespace {

using onnx_file::FarElements;
using onnx_file::Skeleton;

// Whether the name is the condition that a Loop passes to its body: always true, or the body wouldn't run.
bool is_condition(const onnx_file::Scope& body, const std::string& name) {
  return body.owner->op_type() == "Loop" && body.graph->input_size() > 1 && body.graph->input(1).name() == name;
}

void add_weight_input(const ::onnx::TensorProto& weight, ::onnx::ValueInfoProto& input) {
  input.set_name(weight.name());
  auto& tensor = *input.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(weight.data_type());
  tensor.mutable_shape();
  for (const auto dim : weight.dims()) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
}

}  // namespace

std::string name_of(const ::onnx::NodeProto& node) { return node.name().empty() ? node.op_type() : node.name(); }

CutModel::CutModel(const std::filesystem::path& file, const ir::Watch& watch)
    : skeleton(Skeleton::read(std::make_shared<const files::InputFile>(file), watch)),
      scopes(skeleton.model.graph()),
      externals(file.parent_path()),
      types(skeleton.model) {}

std::uint64_t CutModel::weight_bytes(const onnx_file::Origin& weight) const {
  if (!weight.initializer) return weight.sparse_initializer->ByteSizeLong();
  if (const FarElements* far = skeleton.far(*weight.initializer)) return far->bytes();
  return onnx_file::is_external(*weight.initializer) ? externals.elements(*weight.initializer).bytes()
                                                     : weight.initializer->ByteSizeLong();
}

std::optional<Segment> Cutting::run() {
  for (const std::string& value : request_.requested) {
    const Origin* origin = model_.scopes.find(value);
    if (!origin || !origin->node) return std::nullopt;
    take(*origin);
  }
  while (!waiting_.empty()) {
    const Origin& origin = *waiting_.back();
    waiting_.pop_back();
    for (const std::string& name : onnx_file::reads_of(*origin.node))
      if (!reach(*origin.scope, name)) return std::nullopt;
  }
  return made();
}

void Cutting::take(const Origin& origin) {
  if (nodes_.insert(origin.node).second) waiting_.push_back(&origin);
}

bool Cutting::reach(const Scope& scope, const std::string& name) {
  const Origin* origin = onnx_file::Scopes::find(scope, name);
  if (!origin) return false;
  if (request_.cut.contains(name)) return read_.emplace(name, origin->scope->graph), true;
  if (origin->is_initializer()) return weights_.emplace(name, origin), true;
  if (origin->node) return take(*origin), true;
  if (!origin->scope->around) return read_.emplace(name, origin->scope->graph), true;
  return is_condition(*origin->scope, name) && (conditions_.insert(name), true);
}

void Cutting::add_nodes(const ::onnx::GraphProto& graph, ::onnx::ModelProto& model, Segment& made) const {
  for (const auto& node : graph.node()) {
    if (!nodes_.contains(&node)) {
      onnx_file::for_each_body(node, [&](const ::onnx::GraphProto& body) { add_nodes(body, model, made); });
      continue;
    }
    auto& added = *model.mutable_graph()->add_node() = node;
    made.nodes.push_back(name_of(node));
    for (std::string& output : *added.mutable_output())
      if (read_.contains(output)) output = computed(output);
  }
}

std::string Cutting::computed(const std::string& name) const {
  std::string other = name + ".computed";
  while (model_.scopes.is_used(other)) other += "_";
  return other;
}

void Cutting::declare(const std::string& name, const ::onnx::GraphProto& graph, ::onnx::ValueInfoProto& value) const {
  auto& type = *value.mutable_type();
  if (const auto* known = model_.types.find(graph, name)) type = *known;
  auto& tensor = *(type.has_sequence_type() || request_.sequences.contains(name)
                       ? type.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()
                       : type.mutable_tensor_type());
  tensor.clear_shape();  // inferred shapes of a body's values need not be valid outside of the body
  if (const auto dtype = request_.dtypes.find(name); tensor.elem_type() == 0 && dtype != request_.dtypes.end())
    tensor.set_elem_type(onnx::data_type(dtype->second));
  if (const auto sizes = request_.sizes.find(name); sizes != request_.sizes.end() && !type.has_sequence_type()) {
    tensor.mutable_shape();
    for (const std::int64_t size : sizes->second) tensor.mutable_shape()->add_dim()->set_dim_value(size);
  }
}

void Cutting::add_weights(::onnx::ModelProto& model) const {
  auto& graph = *model.mutable_graph();
  for (const auto& [name, origin] : weights_) {
    if (origin->sparse_initializer) {
      *graph.add_sparse_initializer() = *origin->sparse_initializer;
      continue;
    }
    *graph.add_initializer() = *origin->initializer;
    // Before IR version 4 every initializer is an input, too.
    if (model.ir_version() < 4) add_weight_input(*origin->initializer, *graph.add_input());
  }
  for (const std::string& name : conditions_) {
    auto& yes = *graph.add_initializer();
    yes.set_name(name);
    yes.set_data_type(::onnx::TensorProto::BOOL);
    yes.add_int32_data(1);
  }
}

Segment Cutting::made() const {
  Segment made;
  const auto& whole = model_.skeleton.model;
  ::onnx::ModelProto model;
  model.set_ir_version(whole.ir_version());
  model.set_producer_name("compatcheck");
  *model.mutable_opset_import() = whole.opset_import();
  *model.mutable_functions() = whole.functions();
  auto& graph = *model.mutable_graph();
  graph.set_name("part");
  add_nodes(whole.graph(), model, made);
  onnx_file::keep_used_functions(model);
  for (const auto& [name, of] : read_) {
    auto& input = *graph.add_input();
    input.set_name(name);
    declare(name, *of, input);
    made.inputs.push_back(name);
  }
  add_weights(model);
  std::set<std::string> given;
  for (const std::string& name : request_.requested) {
    made.results.push_back(read_.contains(name) ? computed(name) : name);
    if (!given.insert(name).second) continue;
    auto& output = *graph.add_output();
    declare(name, *model_.scopes.find(name)->scope->graph, output);
    output.set_name(made.results.back());
    if (const auto& type = output.type(); type.has_tensor_type() && type.tensor_type().elem_type() == 0) output.clear_type();
  }
  made.bytes = written(std::move(model));
  return made;
}

// With the elements of all its tensors.
std::string Cutting::written(::onnx::ModelProto model) const {
  Skeleton part = model_.skeleton.with(std::move(model));
  onnx_file::for_each_tensor(part.model, [&](::onnx::TensorProto& tensor) {
    if (!onnx_file::is_external(tensor)) return;
    part.set_far(tensor, model_.externals.elements(tensor));
    tensor.clear_external_data();
    tensor.clear_data_location();
  });
  const onnx_file::Layout layout = lay_out(part);
  if (layout.bytes > onnx::most_message_bytes) throw ModelError("a part of the ONNX model has more than 2 GB of weights");
  return bytes_of(layout);
}

}  // namespace compatcheck::verification
