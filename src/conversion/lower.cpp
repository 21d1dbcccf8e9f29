#include "conversion/lower.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "compatcheck/error.h"
#include "conversion/branches.h"
#include "conversion/calls.h"
#include "conversion/defect.h"
#include "conversion/foreign.h"
#include "conversion/interface.h"
#include "conversion/structural.h"
#include "ir/control_flow.h"
#include "passes/rewrite.h"
#include "passes/stack_in_loops.h"
#include "process/spell_count.h"
#include "schema/traits.h"
#include "symbolic/condition.h"
#include "symbolic/quantizer.h"

namespace compatcheck::conversion {
namespace {

using handlers::Known;
using handlers::List;
using handlers::Number;
using handlers::Operand;
using onnx::Value;
using onnx::Values;
using symbolic::Fact;

std::string describe(const ir::Node& node) {
  std::string text = node.op();
  if (!node.module().empty()) text += " in " + node.module();
  return text;
}

class Lowering {
 public:
  Lowering(const ir::Graph& graph, const Context& context, const LowerOptions& options)
      : graph_(graph),
        context_(context),
        options_(options),
        model_(empty_model(context, options.opset)),
        builder_(model_, context.moved, {options.opset, options.opset}),
        lookups_(context) {}

  onnx::Model run() {
    explained("the model's inputs", [&] { inputs(); });
    block(*graph_.top());
    settle_hollow();
    explained("the model's outputs", [&] { outputs(); });
    name_weights();
    return std::move(model_);
  }

  // In the body: the ONNX value is the row that the iteration adds.
  static bool is_growing_stack(const ir::Value& value) { return value.producer() && value.producer()->is(passes::stack_append); }

  std::vector<Stand> stands() const {
    std::vector<Stand> made, hollow;
    for (const auto& [value, operand] : operands_)
      if (!ir::constant_of(value) && !is_growing_stack(*value))
        collect_stands(operand, {value, {}, onnx::absent}, hollow_.contains(value) ? hollow : made);
    // A value that may be absent shares its ONNX value with its refinement, whose facts hold only there.
    std::unordered_set<onnx::ValueId> open;
    for (const Stand& stand : hollow) open.insert(stand.onnx);
    std::erase_if(made, [&](const Stand& stand) { return open.contains(stand.onnx); });
    // The table's order depends on addresses.
    std::ranges::stable_sort(made, {}, [](const Stand& stand) { return stand.value->id(); });
    return made;
  }

 private:
  // ---- Inputs and outputs

  void inputs() {
    operands_ = declare_inputs(graph_, context_, builder_);
    if (!options_.input_names.empty() && options_.input_names.size() != model_.graph.inputs.size())
      throw UsageError("ConvertOptions::input_names has " + spell_count(options_.input_names.size(), "name") +
                       ", and the number of the ONNX model's inputs is " + std::to_string(model_.graph.inputs.size()));
    for (std::size_t i = 0; i < options_.input_names.size(); ++i)
      model_.values[model_.graph.inputs[i]].name = options_.input_names[i];
  }

  void outputs() {
    const auto given =
        collect_outputs(graph_, context_, builder_, [this](const ir::Value* value) -> const Operand& { return operand(value); });
    if (!options_.output_names.empty() && options_.output_names.size() != given.size())
      throw UsageError("ConvertOptions::output_names has " + spell_count(options_.output_names.size(), "name") +
                       ", and the number of the ONNX model's outputs is " + std::to_string(given.size()));
    std::set<onnx::ValueId> declared(model_.graph.inputs.begin(), model_.graph.inputs.end());
    std::set<std::string> names;  // a dictionary's key may equal an input's name
    for (const onnx::ValueId input : model_.graph.inputs) names.insert(model_.values[input].name);
    for (std::size_t i = 0; i < given.size(); ++i) {
      Value value = given[i].value;
      // A value has one name, and an input or a constant can't be an output directly.
      if (!declared.insert(value.id).second || builder_.constant_of(value)) {
        const bool untyped = builder_.is_untyped(value);
        value = builder_.again(value);
        model_.values[value.id].untyped = untyped;
      }
      onnx::ValueInfo& info = model_.values[value.id];
      if (!options_.output_names.empty() && names.contains(options_.output_names[i]))
        throw UsageError("ConvertOptions::output_names: '" + options_.output_names[i] + "' is the name of an input");
      info.name = options_.output_names.empty() ? unique_name(given[i].name, names) : options_.output_names[i];
      if (!info.shape) info.shape = given[i].shape;
      if (!given[i].quantized.empty()) model_.quantized_outputs.emplace_back(model_.graph.outputs.size(), given[i].quantized);
      model_.graph.outputs.push_back(value.id);
    }
  }

  // By their parameters, also those that were transposed, reshaped or cast on the way.
  void name_weights() {
    std::map<std::pair<const ir::Storage*, std::int64_t>, const std::string*> paths;
    std::map<const ir::Storage*, const std::string*> only;  // null: several parameters lie in it
    for_each_node(*graph_.top(), [&](const ir::Node* node) {
      const ir::Constant* path = node->is("prim::Constant") ? node->attribute("path") : nullptr;
      const ir::Constant* value = path ? ir::constant_of(node->output()) : nullptr;
      const auto* view = value ? value->get<ir::TensorView>() : nullptr;
      if (!view) return;
      paths.emplace(std::pair(view->storage.get(), view->offset), path->get<std::string>());
      const auto [known, first] = only.emplace(view->storage.get(), path->get<std::string>());
      if (!first && known->second && *known->second != *path->get<std::string>()) known->second = nullptr;
    });
    for (const auto& initializer : model_.initializers) {
      std::string& name = model_.values[initializer.value].name;
      if (!name.empty() || !initializer.data.view) continue;
      const ir::TensorView& view = *initializer.data.view;
      if (const auto exact = paths.find({view.storage.get(), view.offset}); exact != paths.end())
        name = *exact->second;
      else if (const auto part = only.find(view.storage.get()); part != only.end() && part->second)
        name = *part->second;
    }
  }

  static void collect_stands(const Operand& operand, Stand at, std::vector<Stand>& into) {
    const auto stands = [&](const Value& value) {
      at.onnx = value.id;
      if (value.id != onnx::absent) into.push_back(at);
    };
    const auto member = [&](std::size_t place, const Operand& held) {
      Stand inner = at;
      inner.path.push_back(place);
      collect_stands(held, std::move(inner), into);
    };
    const auto* complex = operand.complex();
    if (const Value* tensor = operand.tensor())
      stands(*tensor);
    else if (complex)
      member(0, {complex->real}), member(1, {complex->imag});
    else if (const auto* vector = std::get_if<handlers::Vector>(&operand.value))
      stands(vector->value);
    else if (const auto* sequence = std::get_if<handlers::Sequence>(&operand.value))
      stands(sequence->value);
    else if (const Number* number = operand.number(); number && std::holds_alternative<Value>(number->value))
      stands(std::get<Value>(number->value));
    else if (const List* list = operand.list())
      for (std::size_t i = 0; i < list->items.size(); ++i) member(i, list->items[i]);
    else if (const auto* dict = std::get_if<handlers::Dict>(&operand.value))
      for (std::size_t i = 0; i < dict->items.size(); ++i) member(i, dict->items[i].value);
  }

  // ---- Values

  const Operand& operand(const ir::Value* value) {
    const auto [at, added] = operands_.try_emplace(value);
    if (!added) return at->second;
    const ir::Constant* constant = ir::constant_of(value);
    if (!constant) throw InternalError("%" + value->name() + " is used before it is made");
    const std::size_t before = model_.initializers.size();
    Operand made = handlers::operand_of(*constant, context_.program, builder_);
    const ir::Constant* path = value->producer()->attribute("path");
    if (path && model_.initializers.size() == before + 1)
      model_.values[model_.initializers.back().value].name = *path->get<std::string>();
    return operands_[value] = std::move(made);  // `at` may have moved
  }

  // ---- Nodes

  void block(const ir::Block& block) {
    for (const ir::Node* node : block) {
      context_.watch.step();
      builder_.set_origin(node);
      this->node(*node);
    }
  }

  void node(const ir::Node& node) {
    reporting_defects(node, options_.opset, [&] { explained(describe(node), [&] { lower(node); }); });
  }

  void lower(const ir::Node& node) {
    if (options_.foreign.contains(&node)) return foreign(node);
    if (node.is("prim::If")) return branch(node);
    if (node.is("prim::Loop")) return loop(node);
    if (context_.table.find_structural(node.op())) return structural(node);
    call(node);
  }

  // Names the part of the model in errors about values that can't become ONNX.
  template <class Work>
  static void explained(const std::string& what, Work&& work) {
    try {
      work();
    } catch (const onnx::Refusal& refusal) {
      throw ModelError(what + ": " + refusal.reason);
    } catch (const handlers::Wanting& wanting) {
      throw ModelError(what + ": " + wanting.verdict.message);
    }
  }

  void call(const ir::Node& node) {
    const int form = context_.forms ? context_.forms->of(node, options_.opset) : options_.opset;
    const mapping::Lookup& found = lookups_.find(node, form);
    const symbolic::Call call(node, context_.facts);
    const mapping::Row* row = applying_row(found, call, context_);
    if (!row || row->kind != mapping::Row::Kind::mapped) throw InternalError("no row maps " + describe(node));
    if (auto known = known_results(call, *row, builder_)) {
      for (std::size_t i = 0; i < known->size(); ++i) operands_[node.output(i)] = std::move((*known)[i]);
      return;
    }
    const RowEmitter emitter(call, *row, *found.op, context_, form);
    if (!emitter.exists()) throw ModelError(describe(node) + ": no C++ handler writes the nodes of this operator's row");
    handlers::Emission emission(call, row, context_.table.facts(node.op(), node.overload(), context_.schemas), builder_,
                                [this](const ir::Value* value) -> const Operand& { return operand(value); });
    if (form != options_.opset) builder_.write_as(form);
    emitter.emit(emission);
    builder_.write_as({});
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const auto& result = emission.results()[i];
      if (result)
        operands_[node.output(i)] = *result;
      else if (!node.output(i)->unused())
        throw InternalError("the handler of " + describe(node) + " gave no output " + std::to_string(i));
    }
  }

  void foreign(const ir::Node& node) {
    auto results =
        write_foreign(node, context_, builder_, [this](const ir::Value* value) -> const Operand& { return operand(value); });
    for (std::size_t i = 0; i < results.size(); ++i) operands_[node.output(i)] = std::move(results[i]);
  }

  // ---- Operators that compute nothing

  void structural(const ir::Node& node) {
    const auto give = [&](Operand operand) { operands_[node.output()] = std::move(operand); };
    if (node.is("prim::Constant")) return;  // made where it is used
    if (node.is("prim::Uninitialized")) return give({handlers::Uninitialized{}});
    if (node.is("prim::ListConstruct") || node.is("prim::TupleConstruct")) {
      List list;
      for (const ir::Value* input : node.inputs()) list.items.push_back(operand(input));
      return give({std::move(list)});
    }
    if (node.is("prim::DictConstruct")) {
      handlers::Dict dict;
      for (std::size_t i = 0; i + 1 < node.inputs().size(); i += 2)
        dict.items.push_back({key_of(node.input(i)), operand(node.input(i + 1))});
      return give({std::move(dict)});
    }
    if (node.is("prim::ColumnsConstruct")) return give(operand(node.input(0)));
    if (node.is("prim::OptionalConstruct")) return give(operand(node.input(1)));  // the model's outputs ask for the flag
    if (node.is("prim::ListUnpack") || node.is("prim::TupleUnpack")) return unpack(node);
    if (node.is("prim::TupleIndex")) {
      const auto index = symbolic::Call(node, context_.facts).facts().of(node.input(1)).number();
      const List* list = operand(node.input(0)).list();
      if (!list || !index || !index->integer || !index->integer->is_number())
        throw onnx::Refusal{"which member of the tuple isn't known"};
      std::int64_t at = *index->integer->number();
      if (at < 0) at += static_cast<std::int64_t>(list->items.size());
      return give(list->items.at(static_cast<std::size_t>(at)));
    }
    if (node.is(passes::stack_append)) return give(operand(node.input(1)));  // the Loop stacks
    if (node.is("prim::NumToTensor")) {
      Values values;
      const auto* tensor = context_.facts.of(node.output()).tensor();
      handlers::spill(operand(node.input(0)), handlers::value_form(operand(node.input(0))), builder_, values);
      return give({tensor && tensor->dtype ? builder_.cast(values.front(), *tensor->dtype) : values.front()});
    }
    if (!node.outputs().empty() && schema::has_trait(node.op(), schema::Trait::same_tensor)) return give(operand(node.input(0)));
    // Known while converting, or without a value that anything computed reads.
    for (const ir::Value* output : node.outputs()) {
      const Fact& fact = context_.facts.of(output);
      operands_[output] = handlers::operand_of(fact, output->type(), [&](ir::DType, bool) -> Value {
        if (output->unused()) return {};
        throw ModelError(describe(node) + ": its value isn't known while converting");
      });
    }
  }

  ir::Constant key_of(const ir::Value* value) {
    if (const ir::Constant* constant = ir::constant_of(value)) return *constant;
    if (const auto* known = std::get_if<Known>(&operand(value).value)) return known->value;
    throw onnx::Refusal{"a dictionary's key is known only when the model runs"};
  }

  void unpack(const ir::Node& node) {
    auto members = unpacked(operand(node.input(0)), node.outputs().size(), builder_);
    for (std::size_t i = 0; i < members.size(); ++i) operands_[node.output(i)] = std::move(members[i]);
  }

  // ---- Control flow

  // The form of what leaves an If or goes round a Loop; its values are only counted.
  Operand form_of(const ir::Value* value) {
    return handlers::operand_of(context_.facts.of(value), value->type(), [](ir::DType dtype, bool sequence) {
      return Value{1, dtype, sequence};
    });
  }

  Value boolean(const ir::Value* value) {
    Values values;
    handlers::spill(operand(value), {Number{Value{1, ir::DType::boolean}}}, builder_, values);
    return values.front();
  }

  // Values that leave a body must be made in it.
  Values in_body(const onnx::Graph& body, Values values) {
    std::set<onnx::ValueId> made;
    for (const onnx::Node& node : body.nodes) made.insert(node.outputs.begin(), node.outputs.end());
    for (Value& value : values)
      if (!made.erase(value.id)) value = builder_.again(value);
    return values;
  }

  // Before opset 13 ONNX Runtime needs the rank of an If's outputs from both branches, even if nothing reads them.
  Operand leaving(const ir::Value* inner, const ir::Value* outer) {
    const Operand& given = operand(inner);
    const auto* known = context_.facts.of(outer).tensor();
    if (!std::holds_alternative<handlers::Uninitialized>(given.value) || !known || !known->dtype || !known->shape) return given;
    const auto same = builder_.at_least(11) ? std::nullopt : stand_in_sizes(context_.facts.of(outer));
    const onnx::Ints sizes = same.value_or(onnx::Ints(known->shape->size(), 1));
    std::int64_t elements = 1;
    for (const std::int64_t size : sizes) elements *= size;
    const Value zeros = builder_.constant(
        onnx::make_tensor(symbolic::real_part(*known->dtype), sizes, onnx::Ints(static_cast<std::size_t>(elements), 0)));
    return ir::is_complex(*known->dtype) ? Operand{handlers::Complex{zeros, zeros}} : Operand{zeros};
  }

  void declare_rank(const Value& value, const ir::Value* outer) {
    const auto* known = context_.facts.of(outer).tensor();
    onnx::ValueInfo& info = model_.values[value.id];
    if (known && known->shape && !info.shape && !value.sequence) info.shape.emplace(known->shape->size());
  }

  void branch(const ir::Node& node) {
    const ir::IfView branch(node);
    const Value condition = boolean(branch.condition());
    std::vector<Operand> forms;
    for (const ir::Value* output : node.outputs()) forms.push_back(form_of(output));
    std::shared_ptr<onnx::Graph> bodies[2];
    std::vector<ir::DType> dtypes;
    std::vector<bool> sequences;
    for (std::size_t i = 0; i < 2; ++i) {
      bodies[i] = builder_.begin_body();
      block(*node.blocks()[i]);
      builder_.set_origin(&node);
      Values values;
      std::vector<const ir::Value*> whose;  // null for values that aren't tensors
      for (std::size_t o = 0; o < forms.size(); ++o) {
        handlers::spill(leaving(node.blocks()[i]->outputs()[o], node.output(o)), forms[o], builder_, values);
        whose.resize(values.size(), forms[o].tensor() || forms[o].complex() ? node.output(o) : nullptr);
      }
      values = in_body(*bodies[i], std::move(values));
      for (std::size_t v = 0; v < values.size(); ++v)
        if (whose[v]) declare_rank(values[v], whose[v]);
      if (i == 0)
        for (const Value& value : values) dtypes.push_back(value.dtype), sequences.push_back(value.sequence);
      builder_.end_body(values);
    }
    Values results =
        builder_.control("If", {condition}, {{"then_branch", bodies[0]}, {"else_branch", bodies[1]}}, dtypes, sequences);
    std::size_t at = 0;
    for (std::size_t o = 0; o < forms.size(); ++o) {
      operands_[node.output(o)] = handlers::refill(forms[o], results, at);
    }
  }

  bool may_be_hollow(const ir::Value* value) const { return hollow_.contains(value) || passes::is_undefined(value); }

  // The outputs of ONNX's Loop are the carried values, then the stacked ones.
  void loop(const ir::Node& node) {
    const ir::LoopView loop(node);
    std::vector<Operand> forms;
    std::vector<std::size_t> carries, stacks;
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      forms.push_back(form_of(node.output(i)));
      (passes::is_stacked(node, i) ? stacks : carries).push_back(i);
    }
    Values given{trip_count(loop.trip_count()), boolean(loop.condition())};
    for (const std::size_t i : carries) handlers::spill(operand(loop.initial_values()[i]), forms[i], builder_, given);
    const bool pads = carries.empty() && !builder_.at_least(11);  // before, a Loop carries something
    if (pads) given.push_back(builder_.scalar(ir::DType::boolean, 0));
    const auto body = builder_.begin_body();
    const std::vector<onnx::Dimension> single;  // ONNX Runtime requires a count and a condition without dimensions
    operands_[loop.iteration()] = {Number{builder_.body_input(ir::DType::i64, false, single)}};
    builder_.body_input(ir::DType::boolean, false, single);
    Values carried;
    for (std::size_t i = 2; i < given.size(); ++i) carried.push_back(builder_.body_input(given[i].dtype, given[i].sequence));
    std::size_t at = 0;
    for (const std::size_t i : carries) operands_[loop.parameters()[i]] = handlers::refill(forms[i], carried, at);
    for (const std::size_t i : stacks) operands_[loop.parameters()[i]] = {handlers::Uninitialized{}};
    block(loop.body());
    builder_.set_origin(&node);
    Values leaving{boolean(loop.next_condition())};
    if (pads) leaving.push_back(carried.front());
    for (const auto* part : {&carries, &stacks})
      for (const std::size_t i : *part) handlers::spill(operand(loop.next_values()[i]), forms[i], builder_, leaving);
    leaving = in_body(*body, std::move(leaving));
    builder_.end_body(leaving);
    std::vector<ir::DType> dtypes;
    std::vector<bool> sequences;
    for (std::size_t i = 1; i < leaving.size(); ++i) dtypes.push_back(leaving[i].dtype), sequences.push_back(leaving[i].sequence);
    Values results = builder_.control("Loop", given, {{"body", body}}, dtypes, sequences);
    at = pads ? 1 : 0;
    for (const auto* part : {&carries, &stacks})
      for (const std::size_t o : *part) operands_[node.output(o)] = handlers::refill(forms[o], results, at);
    for (const std::size_t o : stacks) unite_scales(node.output(o));
  }

  // Repeats through Ifs and Loops: a hollow carried value may make another one hollow an iteration later.
  void settle_hollow() {
    const auto settle = [&](const ir::Node* node) {
      if (node->is("prim::If"))
        for (const ir::Block* way : node->blocks())
          for (std::size_t o = 0; o < node->outputs().size(); ++o)
            if (may_be_hollow(way->outputs()[o])) hollow_.insert(node->output(o));
      if (!node->is("prim::Loop")) return;
      const ir::LoopView loop(*node);
      bool hollow = false;
      for (std::size_t i = 0; i < node->outputs().size(); ++i)
        hollow = hollow || (!passes::is_stacked(*node, i) &&
                            (may_be_hollow(loop.initial_values()[i]) || may_be_hollow(loop.next_values()[i])));
      for (std::size_t i = 0; i < node->outputs().size() && hollow; ++i)
        if (!passes::is_stacked(*node, i)) hollow_.insert({loop.parameters()[i], node->output(i)});
    };
    std::size_t before = 0;
    do {
      before = hollow_.size();
      ir::for_each_node(*graph_.top(), settle);
    } while (before != hollow_.size());
  }

  // Stacked tensors share one scale.
  void unite_scales(const ir::Value* stack) {
    auto* quantized = std::get_if<handlers::Quantized>(&operands_.at(stack).value);
    const ir::Quantizer* every = symbolic::known_quantizer(context_.facts.of(stack));
    if (!quantized || !every) return;
    quantized->scale = builder_.scalar(ir::DType::f32, every->scale);
    quantized->zero_point = builder_.scalar(quantized->zero_point.dtype, every->zero_point);
  }

  // Absent for a while loop, whose count is the greatest int.
  Value trip_count(const ir::Value* value) {
    const Number* number = operand(value).number();
    const auto* known = number ? std::get_if<std::int64_t>(&number->value) : nullptr;
    if (known && *known == std::numeric_limits<std::int64_t>::max()) return {};
    Values values;
    handlers::spill(operand(value), {Number{Value{1, ir::DType::i64}}}, builder_, values);
    return values.front();
  }

  const ir::Graph& graph_;
  const Context& context_;
  const LowerOptions& options_;
  onnx::Model model_;
  onnx::Builder builder_;
  Lookups lookups_;
  std::unordered_map<const ir::Value*, Operand> operands_;
  std::unordered_set<const ir::Value*> hollow_;  // may be anything, of any size, because nothing reads them
};

}  // namespace

onnx::Model lower(const ir::Graph& graph, const Context& context, const LowerOptions& options, std::vector<Stand>* stands) {
  Lowering lowering(graph, context, options);
  onnx::Model model = lowering.run();
  if (stands) *stands = lowering.stands();
  return model;
}

}  // namespace compatcheck::conversion
