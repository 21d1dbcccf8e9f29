#include "conversion/raw.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "compatcheck/error.h"
#include "conversion/foreign.h"
#include "conversion/foreign_values.h"
#include "conversion/interface.h"
#include "process/spell_count.h"

namespace compatcheck::conversion {
namespace {

using onnx::Refusal;
using onnx::Value;
using onnx::ValueInfo;
using onnx::Values;

bool is_plain_tensor(const ir::Constant& constant) {
  const auto* view = constant.get<ir::TensorView>();
  return view && view->storage && onnx::data_type(view->dtype);
}

// A list of tensors: initializers, and a node that makes the list.
const ir::ListConstant* tensors_of(const ir::Constant& constant) {
  const auto* list = constant.get<ir::ListConstant>();
  return list && !list->items.empty() && std::ranges::all_of(list->items, is_plain_tensor) ? list : nullptr;
}

std::string body_name(const ir::Node& node, std::size_t block) {
  if (node.is("prim::If")) return block == 0 ? "then_branch" : "else_branch";
  return node.is("prim::Loop") ? "body" : "block_" + std::to_string(block);
}

class Raw {
 public:
  Raw(const ir::Graph& graph, const Context& context, const LowerOptions& options)
      : graph_(graph),
        context_(context),
        options_(options),
        model_(empty_model(context, options.opset)),
        builder_(model_, context.moved, {options.opset, options.opset}) {}

  onnx::Model run() {
    const auto inputs = graph_.inputs(), outputs = graph_.outputs();
    demand_count("ConvertOptions::input_names", options_.input_names.size(), inputs.size(), "inputs");
    demand_count("ConvertOptions::output_names", options_.output_names.size(), outputs.size(), "outputs");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Value made = take(*inputs[i]);
      if (!options_.input_names.empty())
        model_.values[made.id].name = options_.input_names[i];
      else if (model_.values[made.id].name.empty())
        model_.values[made.id].name = "input_" + std::to_string(i);
      model_.graph.inputs.push_back(made.id);
    }
    block(*graph_.top());
    const std::size_t own = outputs.size() - context_.state.size();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Value made = leaving(*outputs[i], model_.graph);
      if (!options_.output_names.empty())
        model_.values[made.id].name = options_.output_names[i];
      else if (model_.values[made.id].name.empty())
        model_.values[made.id].name = i < own ? "output_" + std::to_string(i) : context_.state[i - own].output;
      model_.graph.outputs.push_back(made.id);
    }
    return std::move(model_);
  }

 private:
  static void demand_count(const char* option, std::size_t given, std::size_t expected, const char* what) {
    if (given && given != expected)
      throw UsageError(std::string(option) + " has " + spell_count(given, "name") + ", the graph has " +
                       std::to_string(expected) + " " + what);
  }

  // The type as far as it is known, under the graph's own name.
  ValueInfo info_of(const ir::Value& value) {
    ValueInfo info{.untyped = true, .shape = {}, .name = {}};
    try {
      const symbolic::Fact& fact = context_.facts.of(&value);
      if (auto known = fact.number() ? number_type(*fact.number()) : foreign_output(fact, value)) info = *std::move(known);
    } catch (const Refusal&) {  // a type that ONNX lacks
    }
    if (!value.name().empty() && names_.insert(value.name()).second) info.name = value.name();
    return info;
  }

  Value take(const ir::Value& value) {
    const ValueInfo info = info_of(value);
    return values_[&value] = {model_.add_value(info), info.dtype, info.kind == ValueInfo::Kind::sequence};
  }

  void block(const ir::Block& block) {
    for (const ir::Node* node : block) {
      context_.watch.step();
      builder_.set_origin(node);
      this->node(*node);
    }
  }

  void node(const ir::Node& node) {
    demand_raw(node);
    const ir::Constant* constant = node.is("prim::Constant") ? node.attribute("value") : nullptr;
    if (constant && is_plain_tensor(*constant)) return give(node, initializer(*constant, node));
    if (const ir::ListConstant* list = constant ? tensors_of(*constant) : nullptr) {
      Values members;
      for (const ir::Constant& item : list->items) members.push_back(initializer(item, node));
      return give(node, builder_.foreign("org.pytorch.prim::ListConstruct", members, {}, {info_of(*node.output())}).front());
    }
    std::vector<onnx::NodeAttribute> attributes;
    if (!node.overload().empty() && !node.is("prim::PythonOp")) attributes.push_back({"overload_name", node.overload()});
    for (const ir::Attribute& attribute : node.attributes())
      if (auto value = is_carried(node, attribute) ? attribute_of(attribute.value) : std::nullopt)
        attributes.push_back({attribute.name, *std::move(value)});
    for (std::size_t i = 0; i < node.blocks().size(); ++i) attributes.push_back({body_name(node, i), body(*node.blocks()[i])});
    builder_.set_origin(&node);
    Values inputs;
    for (const ir::Value* input : node.inputs()) inputs.push_back(values_.at(input));
    std::vector<std::optional<ValueInfo>> outputs;
    for (const ir::Value* output : node.outputs()) outputs.emplace_back(info_of(*output));
    const Values made = builder_.foreign(foreign_name(node, ExportType::raw), inputs, std::move(attributes), std::move(outputs));
    for (std::size_t i = 0; i < made.size(); ++i) values_[node.output(i)] = made[i];
  }

  std::shared_ptr<onnx::Graph> body(const ir::Block& inner) {
    auto made = builder_.begin_body();
    for (const ir::Value* input : inner.inputs()) made->inputs.push_back(take(*input).id);
    block(inner);
    Values leaving;
    for (const ir::Value* output : inner.outputs()) leaving.push_back(this->leaving(*output, *made));
    builder_.end_body(leaving);
    return made;
  }

  // A value that leaves a graph must be made by a node of it, and may leave only once.
  Value leaving(const ir::Value& value, const onnx::Graph& graph) {
    const Value held = values_.at(&value);
    const bool made_here = std::ranges::any_of(
        graph.nodes, [&](const onnx::Node& node) { return std::ranges::find(node.outputs, held.id) != node.outputs.end(); });
    if (made_here && left_.insert(held.id).second) return held;
    return builder_.foreign("org.pytorch.prim::Return", {held}, {}, {info_of(value)}).front();
  }

  void give(const ir::Node& node, const Value& value) { values_[node.output()] = value; }

  // Called as in the model's file, or in the graph.
  Value initializer(const ir::Constant& constant, const ir::Node& node) {
    const std::size_t before = model_.initializers.size();
    const auto* view = constant.get<ir::TensorView>();
    const Value made = view && ir::is_complex(view->dtype) ? builder_.constant(handlers::data_of(*view))
                                                           : *handlers::operand_of(constant, context_.program, builder_).tensor();
    const ir::Constant* path = node.attribute("path");
    if (path && model_.initializers.size() == before + 1) model_.values[made.id].name = *path->get<std::string>();
    return made;
  }

  const ir::Graph& graph_;
  const Context& context_;
  const LowerOptions& options_;
  onnx::Model model_;
  onnx::Builder builder_;
  std::unordered_map<const ir::Value*, Value> values_;
  std::set<std::string> names_;
  std::set<onnx::ValueId> left_;
};

}  // namespace

void demand_raw(const ir::Node& node) {
  const bool constant = node.is("prim::Constant");
  for (const ir::Attribute& attribute : node.attributes()) {
    const ir::Constant& value = attribute.value;
    if (!is_carried(node, attribute) || value.is_none() || attribute_of(value) ||
        (constant && (is_plain_tensor(value) || tensors_of(value))))
      continue;
    throw Refusal{std::string(constant ? "the constant" : "the attribute `" + attribute.name + "`") + " is a " +
                  ir::to_string(*ir::type_of(value)) + ", which an ONNX file doesn't hold"};
  }
}

onnx::Model raw_model(const ir::Graph& graph, const Context& context, const LowerOptions& options) {
  return Raw(graph, context, options).run();
}

}  // namespace compatcheck::conversion
