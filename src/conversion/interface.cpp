#include "conversion/interface.h"

#include <algorithm>
#include <set>
#include <utility>

#include "handlers/emission.h"
#include "ir/quantized.h"
#include "ir/quantizer_text.h"
#include "ir/value_name.h"
#include "onnx/builder_call.h"
#include "symbolic/condition.h"
#include "symbolic/quantizer.h"

namespace compatcheck::conversion {
namespace {

using handlers::List;
using handlers::Number;
using handlers::Operand;
using onnx::Value;
using symbolic::Fact;
using symbolic::ListFact;

onnx::Dimension dimension(const symbolic::Dim& dim) {
  if (const auto number = dim.number()) return {*number, {}};
  return {std::nullopt, dim.is_unknown() ? std::string() : dim.to_string()};
}

handlers::Wanting unknown_rank(const Fact& fact, const std::string& what) {
  return {{.truth = symbolic::Truth::unknown,
           .message = "the rank of the model's " + what + " isn't known, and ONNX has none without one",
           .wants = fact.wants,
           .blame = fact.blame}};
}

bool is_quantized(const Fact& fact) {
  const auto* tensor = fact.tensor();
  return tensor && tensor->dtype && ir::is_quantized(*tensor->dtype);
}

// Why a quantized tensor whose numbers are known can't be an input.
std::optional<onnx::Refusal> quantized_obstacle(const Fact& fact, const std::string& name, onnx::Builder& builder) {
  const ir::DType dtype = *fact.tensor()->dtype;
  if (!builder.at_least(10)) return onnx::Refusal{"ONNX has no quantized tensors before opset 10", "use opset 10"};
  if (fact.tensor()->quantizer->per_channel && !builder.at_least(13))
    return onnx::Refusal{"ONNX has no scale for each channel before opset 13", "use opset 13"};
  if (!ir::quantizes_to_8_bits(dtype))
    return onnx::Refusal{"the model's input " + name + " is " + std::string(ir::name(dtype)) + ", but ONNX quantizes to 8 bits",
                         "use torch.qint8 or torch.quint8"};
  return std::nullopt;
}

bool can_be_input(const Fact& fact, const ir::TypeRef& type, ComplexIo complex_io, onnx::Builder& builder) {
  const auto* tensor = fact.tensor();
  if (tensor && !tensor->shape) return false;
  if (is_quantized(fact) && (!symbolic::known_quantizer(fact) || quantized_obstacle(fact, {}, builder))) return false;
  if (complex_io == ComplexIo::refuse && symbolic::is_complex(fact)) return false;
  bool can = true;
  try {
    handlers::operand_of(fact, type, [&](ir::DType dtype, bool) { return can = can && onnx::data_type(dtype), Value{1, dtype}; });
  } catch (const handlers::Wanting&) {
    return false;
  }
  return can;
}

Operand declare_pairs(const Fact& fact, const std::string& name, ComplexIo complex_io, onnx::Builder& builder) {
  if (complex_io == ComplexIo::refuse)
    throw onnx::Refusal{"the model's input " + name + " is complex, and ONNX operators don't compute with complex numbers",
                        "give it real and imaginary parts in a last dimension of 2: --complex-io pairs"};
  auto shape = shape_of(fact);
  if (!shape) throw unknown_rank(fact, "input " + name);
  const auto rank = static_cast<std::int64_t>(shape->size());
  shape->push_back({2, {}});
  const Value pairs = builder.add_input(symbolic::real_part(*fact.tensor()->dtype), std::move(shape), name);
  builder.model().pairs.push_back(pairs.id);
  return {handlers::parted(pairs, rank, builder)};
}

Operand declare_quantized(const Fact& fact, const std::string& name, std::uint32_t input, QuantizedIo form,
                          onnx::Builder& builder) {
  const ir::Quantizer* quantizer = symbolic::known_quantizer(fact);
  if (!quantizer)
    throw handlers::Wanting{{.truth = symbolic::Truth::unknown,
                             .message = "the scale and the zero point of the model's quantized input " + name + " aren't known",
                             .wants = {input},
                             .blame = nullptr}};
  auto shape = shape_of(fact);
  if (!shape) throw unknown_rank(fact, "input " + name);
  if (auto obstacle = quantized_obstacle(fact, name, builder)) throw *std::move(obstacle);
  const ir::DType dtype = *fact.tensor()->dtype, stored = ir::stored_dtype(dtype);
  const bool integers = form == QuantizedIo::integers;
  const Value given = builder.add_input(integers ? stored : ir::DType::f32, std::move(shape), name);
  builder.model().quantized_inputs.emplace_back(given.id, ir::to_string(dtype, *quantizer));
  const auto count = static_cast<std::int64_t>(quantizer->scales.size());
  handlers::Quantized made{given, {}, {}, {}};
  onnx::Arguments attributes;
  if (quantizer->per_channel) {
    made.axis = quantizer->axis;
    attributes.push_back({"axis", quantizer->axis});
    made.scale = builder.constant(onnx::make_tensor(ir::DType::f32, {count}, quantizer->scales));
    made.zero_point = builder.constant(onnx::make_tensor(stored, {count}, quantizer->zero_points));
  } else {
    made.scale = builder.scalar(ir::DType::f32, quantizer->scale);
    made.zero_point = builder.scalar(stored, quantizer->zero_point);
  }
  if (!integers) made.integers = builder.node("QuantizeLinear", {given, made.scale, made.zero_point}, attributes);
  return {made};
}

Operand declare(const Fact& fact, const ir::TypeRef& type, const std::string& name, std::uint32_t input, const Context& context,
                onnx::Builder& builder) {
  if (const auto* list = fact.list(); list && list->items) {
    List made;
    for (std::size_t i = 0; i < list->items->size(); ++i) {
      const ir::TypeRef element =
          !type || type->elements.empty() ? nullptr : type->elements[std::min(i, type->elements.size() - 1)];
      made.items.push_back(declare((*list->items)[i], element, name + "." + std::to_string(i), input, context, builder));
    }
    return {std::move(made)};
  }
  if (symbolic::is_complex(fact)) return declare_pairs(fact, name, context.complex_io, builder);
  if (is_quantized(fact)) return declare_quantized(fact, name, input, context.quantized_io, builder);
  return handlers::operand_of(fact, type, [&](ir::DType dtype, bool sequence) {
    if (!onnx::data_type(dtype))
      throw onnx::Refusal{"the model's input " + name + " is " + std::string(ir::name(dtype)) + ", which ONNX has no tensors of"};
    const ListFact* members = sequence ? fact.list() : nullptr;
    auto shape = !sequence ? shape_of(fact) : members && members->element ? shape_of(*members->element) : std::nullopt;
    if (!sequence && !shape) throw unknown_rank(fact, "input " + name);
    return builder.add_input(dtype, std::move(shape), name, sequence);
  });
}

class Collector {
 public:
  Collector(const Context& context, onnx::Builder& builder, const OperandOf& operand_of)
      : context_(context), builder_(builder), operand_of_(operand_of) {}

  // `keyed`: a dictionary's key or a NamedTuple's field names it already.
  void collect(const ir::Value* value, const std::string& name, bool keyed = false) {
    const ir::Node* maker = value->producer();
    if (maker && maker->is("prim::OptionalConstruct")) return collect_option(*maker, name, keyed);
    if (!maker || !maker->op().ends_with("Construct")) {
      source_ = value;
      return collect(operand_of_(value), context_.facts.of(value), keyed ? name : output_name(*value, name));
    }
    const auto members = maker->inputs();
    if (maker->is("prim::ColumnsConstruct")) return collect(members[0], name, keyed || ir::is(value->type(), ir::TypeKind::dict));
    if (maker->is("prim::DictConstruct")) {
      for (std::size_t i = 0; i + 1 < members.size(); i += 2)
        collect(members[i + 1], key_name(operand_of_(members[i]), name), true);
      return;
    }
    const auto* fields = value->type() ? &value->type()->field_names : nullptr;
    const bool named = fields && fields->size() == members.size();
    for (std::size_t i = 0; i < members.size(); ++i)
      if (named)
        collect(members[i], keyed ? name + "." + (*fields)[i] : (*fields)[i], true);
      else
        collect(members[i], name + "." + std::to_string(i), keyed);
  }

  // Collects the value of an attribute after the call, which is the input of the next call.
  void collect_state(const ir::Value* value, const ir::Value& input, const passes::StateAttribute& state) {
    demand_same_form(input, *value, state);
    if (ir::is(input.type(), ir::TypeKind::list)) return collect_list(value, input, state.output);
    collect(value, state.output, true);
    if (ir::is(input.type(), ir::TypeKind::tensor)) return;
    onnx::Values number;
    handlers::spill(operand_of_(&input), handlers::value_form(operand_of_(&input)), builder_, number);
    outputs_.back().value = builder_.cast(outputs_.back().value, number.front().dtype);
  }

  std::vector<Output> take() { return std::move(outputs_); }

 private:
  // Each tensor of the value that it is if it isn't None becomes an optional.
  void collect_option(const ir::Node& maker, const std::string& name, bool keyed) {
    const Value outer = present_;
    onnx::Values flag;
    handlers::spill(operand_of_(maker.input(0)), {Number{Value{1, ir::DType::boolean}}}, builder_, flag);
    present_ = outer ? builder_.node("And", {outer, flag.front()}) : flag.front();
    collect(maker.input(1), name, keyed);
    present_ = outer;
  }

  void add(Output output) {
    if (present_) try {
        output.value = builder_.optional(present_, output.value);
      } catch (const onnx::Refusal& refusal) {
        throw onnx::Refusal{
            "only the running model knows whether the model's output " + output.name + " is None, and " + refusal.reason,
            refusal.hint};
      }
    outputs_.push_back(std::move(output));
  }

  // One value, as the input is, also where its length is known.
  void collect_list(const ir::Value* value, const ir::Value& input, const std::string& name) {
    onnx::Values values;
    handlers::spill(operand_of_(value), handlers::value_form(operand_of_(&input)), builder_, values);
    const Value list = values.front();
    demand_tensors(list);
    add({name, list, list.sequence ? std::nullopt : known_shape(list, context_.facts.of(&input))});
  }

  static const symbolic::TensorFact* tensor_or_member(const Fact& fact) {
    const ListFact* list = fact.list();
    if (!list) return fact.tensor();
    return list->element ? list->element->tensor() : nullptr;
  }

  void demand_same_form(const ir::Value& input, const ir::Value& value, const passes::StateAttribute& state) const {
    const auto *before = tensor_or_member(context_.facts.of(&input)), *after = tensor_or_member(context_.facts.of(&value));
    if (!before || !after) return;
    if (before->dtype && after->dtype && before->dtype != after->dtype)
      throw onnx::Refusal{"attribute " + state.path + " is " + std::string(ir::name(*before->dtype)) + " before the call and " +
                              std::string(ir::name(*after->dtype)) + " after it, but a value of ONNX has one dtype",
                          "keep the attribute's dtype"};
    if (!before->shape) return;
    if (!after->shape)
      throw onnx::Refusal{"how many dimensions attribute " + state.path + " has after the call is known only when the model runs",
                          "keep the attribute's rank"};
    if (before->shape->size() != after->shape->size())
      throw onnx::Refusal{"attribute " + state.path + " has rank " + std::to_string(before->shape->size()) +
                              " before the call and rank " + std::to_string(after->shape->size()) + " after it",
                          "keep the attribute's rank"};
    for (std::size_t dim = 0; dim < before->shape->size(); ++dim)
      if (changes_size((*before->shape)[dim], (*after->shape)[dim]))
        throw onnx::Refusal{"attribute " + state.path + " has size " + (*before->shape)[dim].to_string() + " in dimension " +
                                std::to_string(dim) + " before the call and " + (*after->shape)[dim].to_string() + " after it",
                            "name that dimension: --input " + state.input + "=" + spell(*before, dim)};
  }

  static std::string spell(const symbolic::TensorFact& tensor, std::size_t named) {
    std::string text = std::string(ir::name(*tensor.dtype)) + ":";
    for (std::size_t dim = 0; dim < tensor.shape->size(); ++dim)
      text += (dim ? "," : "") + (dim == named ? "n" : (*tensor.shape)[dim].to_string());
    return text;
  }

  void collect(const Operand& operand, const Fact& fact, const std::string& name) {
    if (operand.is_none()) return;
    if (const List* list = operand.list()) {
      const auto* facts = fact.list();
      for (std::size_t i = 0; i < list->items.size(); ++i)
        collect(list->items[i], facts && facts->items && i < facts->items->size() ? (*facts->items)[i] : Fact{},
                name + "." + std::to_string(i));
      return;
    }
    if (const auto* dict = std::get_if<handlers::Dict>(&operand.value)) {
      for (const auto& [key, member] : dict->items) collect(member, Fact{}, key_name({handlers::Known{key}}, name));
      return;
    }
    if (const handlers::Complex* complex = operand.complex()) return collect_pairs(*complex, fact, name);
    onnx::Values values;
    std::string stands_for;
    if (const auto* quantized = std::get_if<handlers::Quantized>(&operand.value)) {
      const ir::Quantizer* known = symbolic::known_quantizer(fact);
      if (known) stands_for = ir::to_string(*fact.tensor()->dtype, *known);
      values.push_back(context_.quantized_io == QuantizedIo::integers ? integers(*quantized, known, name)
                                                                      : dequantized(*quantized));
    } else
      handlers::spill(operand, handlers::value_form(operand), builder_, values);
    if (values.empty()) throw onnx::Refusal{"the model's output " + name + " is no tensor: ONNX has no value for it"};
    const Value value = values.front();
    demand_tensors(value);
    auto shape = value.sequence ? std::nullopt : known_shape(value, fact);
    const bool open = !value.sequence && !shape;
    if (open && !fact.wants.empty()) throw unknown_rank(fact, "output " + name);
    add({name, value, std::move(shape), std::move(stands_for), open ? source_ : nullptr});
  }

  static Value integers(const handlers::Quantized& quantized, const ir::Quantizer* known, const std::string& name) {
    if (!known)
      throw onnx::Refusal{"the scale of the model's quantized output " + name +
                              " is computed when the model runs, so its integers alone mean nothing",
                          "use --quantized-io float"};
    return quantized.integers;
  }

  void collect_pairs(const handlers::Complex& complex, const Fact& fact, const std::string& name) {
    if (context_.complex_io == ComplexIo::refuse)
      throw onnx::Refusal{"the model's output " + name + " is complex, and ONNX operators don't compute with complex numbers",
                          "give it real and imaginary parts in a last dimension of 2: --complex-io pairs"};
    auto shape = shape_of(fact);
    if (!shape) throw unknown_rank(fact, "output " + name);
    const Value pairs = handlers::paired(complex, static_cast<std::int64_t>(shape->size()), builder_);
    shape->push_back({2, {}});
    add({name, pairs, std::move(shape)});
  }

  // An output may be an input as it is, or a second name of another's value, which no other node judges.
  void demand_tensors(const Value& value) {
    const onnx::Schema* reader = builder_.schema(value.sequence ? "SequenceAt" : "Identity");
    if (!reader) throw onnx::Refusal{"ONNX has no lists of tensors before opset 11", "use opset 11"};
    const auto takes = [&](const onnx::Schema& version) { return onnx::accepts(version.inputs.front(), value); };
    if (!takes(*reader))
      throw onnx::refusal_until(
          *reader,
          "ONNX has no " + std::string(value.sequence ? "lists of " : "") + "tensors of " + std::string(ir::name(value.dtype)),
          takes);
  }

  std::optional<std::vector<onnx::Dimension>> known_shape(const Value& value, const Fact& fact) const {
    if (auto shape = shape_of(fact)) return shape;
    const onnx::TensorData* data = builder_.constant_of(value);
    if (!data) return std::nullopt;
    std::vector<onnx::Dimension> dims;
    for (const std::int64_t dim : data->dims) dims.push_back({dim, {}});
    return dims;
  }

  std::string key_name(const Operand& key, const std::string& name) const {
    if (const auto* known = std::get_if<handlers::Known>(&key.value)) {
      if (const auto* text = known->value.get<std::string>()) return *text;
      if (const auto* number = known->value.get<std::int64_t>()) return name + "." + std::to_string(*number);
    }
    if (const Number* number = key.number())
      if (const auto* whole = std::get_if<std::int64_t>(&number->value)) return name + "." + std::to_string(*whole);
    return name + "." + std::to_string(outputs_.size());
  }

  Value dequantized(const handlers::Quantized& quantized) {
    onnx::Arguments attributes;
    if (quantized.axis) attributes.push_back({"axis", *quantized.axis});
    return builder_.node("DequantizeLinear", {quantized.integers, quantized.scale, quantized.zero_point}, attributes,
                         ir::DType::f32);
  }

  const Context& context_;
  onnx::Builder& builder_;
  const OperandOf& operand_of_;
  Value present_;                      // whether what is collected has a value; absent: always
  const ir::Value* source_ = nullptr;  // the value that is collected
  std::vector<Output> outputs_;
};

using Seen = std::set<std::pair<const ir::Type*, const ir::Value*>>;

// A name as far as it is known: "scores.0", or ".1.0" behind a name.
struct PartOfName {
  std::string text;
  bool whole = false;
};

// `value`: null for a member whose value isn't in the graph. `seen`: tuples without a text, which may stand in many others.
std::optional<PartOfName> text_in(const ir::TypeRef& type, const ir::Value* value, Seen& seen) {
  if (ir::is(type, ir::TypeKind::string)) return PartOfName{};
  const ir::Node* maker = value ? value->producer() : nullptr;
  if (maker && maker->is("prim::OptionalConstruct")) return text_in(maker->input(1)->type(), maker->input(1), seen);
  if (ir::is(type, ir::TypeKind::list) && ir::is(type->elements.front(), ir::TypeKind::string)) {
    const ir::Constant* known = value ? ir::constant_of(value) : nullptr;
    const auto* list = known ? known->get<ir::ListConstant>() : nullptr;
    const bool empty = (list && list->items.empty()) || (maker && maker->is("prim::ListConstruct") && maker->inputs().empty());
    return empty ? std::nullopt : std::optional(PartOfName{});
  }
  if (!ir::is(type, ir::TypeKind::tuple) || !seen.emplace(type.get(), value).second) return std::nullopt;
  const bool made = maker && maker->is("prim::TupleConstruct") && maker->inputs().size() == type->elements.size();
  const bool named = type->field_names.size() == type->elements.size();
  for (std::size_t i = 0; i < type->elements.size(); ++i) {
    const ir::Value* held = made ? maker->input(i) : nullptr;
    auto found = text_in(held ? held->type() : type->elements[i], held, seen);
    if (!found) continue;
    if (!found->whole) *found = {(named ? type->field_names[i] : "." + std::to_string(i)) + found->text, named};
    return found;
  }
  return std::nullopt;
}

}  // namespace

bool changes_size(const symbolic::Dim& before, const symbolic::Dim& after) {
  return before.is_number() && !after.is_unknown() && before.number() != after.number();
}

std::optional<std::string> text_output(const ir::Graph& graph) {
  const auto values = graph.outputs();
  Seen seen;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const auto name = text_in(values[i]->type(), values[i], seen))
      return name->whole ? name->text : "output_" + std::to_string(i) + name->text;
  return std::nullopt;
}

std::string unique_name(const std::string& name, std::set<std::string>& names) {
  std::string unique = name;
  for (int count = 1; !names.insert(unique).second; ++count) unique = name + "_" + std::to_string(count);
  return unique;
}

std::string spell(const onnx::ValueInfo& value) {
  std::string text(ir::name(value.dtype));
  if (value.shape) {
    std::string sizes;
    for (const onnx::Dimension& dim : *value.shape)
      sizes += (sizes.empty() ? "" : ",") + (dim.size ? std::to_string(*dim.size) : dim.name.empty() ? "?" : dim.name);
    text += "[" + sizes + "]";
  }
  if (value.kind == onnx::ValueInfo::Kind::sequence) text = "seq(" + text + ")";
  return value.optional ? "optional(" + text + ")" : text;
}

Interface interface_of(const onnx::Model& model, const std::vector<Output>& outputs) {
  Interface made;
  std::set<std::string> names;
  for (const onnx::ValueId input : model.graph.inputs) {
    made.inputs.push_back({model.values[input].name, spell(model.values[input])});
    names.insert(model.values[input].name);
  }
  for (const Output& output : outputs) {
    onnx::ValueInfo value = model.values[output.value.id];
    if (!value.shape) value.shape = output.shape;
    made.outputs.push_back({unique_name(output.name, names), spell(value)});
  }
  return made;
}

std::string output_name(const ir::Value& value, const std::string& otherwise) {
  const ir::Node* maker = value.producer();
  if (!maker || maker->is("prim::Constant") || maker->op().ends_with("Construct") || maker->module().empty()) return otherwise;
  return std::string(maker->module());
}

std::optional<std::vector<onnx::Dimension>> shape_of(const Fact& fact) {
  const auto* tensor = fact.tensor();
  if (!tensor || !tensor->shape) {
    if (fact.number()) return std::vector<onnx::Dimension>{};
    const auto* list = fact.list();  // a list of numbers becomes one tensor
    if (list && list->items) return std::vector<onnx::Dimension>{{static_cast<std::int64_t>(list->items->size()), {}}};
    if (list) return std::vector<onnx::Dimension>{{}};
    return std::nullopt;
  }
  std::vector<onnx::Dimension> dims;
  for (const auto& dim : *tensor->shape) dims.push_back(dimension(dim));
  return dims;
}

std::unordered_map<const ir::Value*, Operand> declare_inputs(const ir::Graph& graph, const Context& context,
                                                             onnx::Builder& builder) {
  std::unordered_map<const ir::Value*, Operand> operands;
  for (const ir::Value* input : graph.inputs()) {
    const Fact& fact = context.facts.of(input);
    const bool state = input->index() + context.state.size() >= graph.inputs().size();
    if (state || !input->unused() || can_be_input(fact, input->type(), context.complex_io, builder))
      operands[input] =
          declare(fact, input->type(), ir::input_name(*input), static_cast<std::uint32_t>(input->index()), context, builder);
  }
  return operands;
}

std::vector<Output> collect_outputs(const ir::Graph& graph, const Context& context, onnx::Builder& builder,
                                    const OperandOf& operand_of) {
  Collector collector(context, builder, operand_of);
  const auto values = graph.outputs();
  const std::size_t own = values.size() - context.state.size();
  for (std::size_t i = 0; i < own; ++i) collector.collect(values[i], "output_" + std::to_string(i));
  for (std::size_t i = 0; i < context.state.size(); ++i)
    collector.collect_state(values[own + i], *graph.inputs()[graph.inputs().size() - context.state.size() + i], context.state[i]);
  auto outputs = collector.take();
  if (outputs.empty()) throw onnx::Refusal{"the model's outputs hold no tensor: an ONNX model needs one"};
  return outputs;
}

}  // namespace compatcheck::conversion
