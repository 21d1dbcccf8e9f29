#include "analysis/prepare.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "analysis/asserting_graph.h"
#include "analysis/assumed.h"
#include "analysis/custom_opsets.h"
#include "analysis/exported_inputs.h"
#include "analysis/given_inputs.h"
#include "analysis/input_spec.h"
#include "compatcheck/error.h"
#include "conversion/facts.h"
#include "conversion/interface.h"
#include "inference/infer.h"
#include "inference/sizes.h"
#include "ir/value_name.h"
#include "passes/budget.h"
#include "passes/loops.h"
#include "passes/normalize.h"
#include "passes/pad_sequences.h"
#include "passes/passes.h"
#include "passes/stack_in_loops.h"
#include "passes/write_causes.h"
#include "symbolic/shapes.h"

namespace compatcheck::analysis {
namespace {

// Each round of folding can only settle what the last one left open; many rounds mean that nothing is gained.
constexpr int fold_rounds = 16;

// Tensors of several dtypes in a traced list: ONNX has no such sequence, and the file knows each.
std::vector<std::string> members_of_mixed_lists(const Model::State& model, const std::vector<std::string>& given) {
  std::vector<std::string> names;
  if (!model.program || model.method != "forward") return names;
  for (const ir::RecordedInput& list : model.program->recorded_inputs) {
    if (!ir::is_tensor_list(list.type) || list.type->elements.front()->tensor.dtype) continue;
    if (std::ranges::any_of(given, [&](const std::string& name) { return covers(list.name, name); })) continue;
    for (const ir::RecordedInput& member : model.program->recorded_inputs)
      if (member.name != list.name && covers(list.name, member.name)) names.push_back(member.name);
  }
  return names;
}

const ir::Program* program_of(const Model::State& model) { return model.program ? &*model.program : nullptr; }

const symbolic::TensorFact* tensor_or_member(const symbolic::Fact& fact) {
  const auto* list = fact.list();
  if (!list) return fact.tensor();
  return list->element ? list->element->tensor() : nullptr;
}

// The same with f32 instead of an unknown dtype.
symbolic::Fact with_usual_dtype(symbolic::Fact fact) {
  if (auto* tensor = std::get_if<symbolic::TensorFact>(&fact.value)) tensor->dtype = ir::DType::f32;
  if (const auto* list = fact.list()) return symbolic::list_of(with_usual_dtype(*list->element));
  return fact;
}

void state_ranges(symbolic::Fact& fact, const symbolic::NamedRanges& ranges) {
  if (auto* tensor = std::get_if<symbolic::TensorFact>(&fact.value); tensor && tensor->shape)
    for (symbolic::Dim& dim : *tensor->shape) dim = with_ranges(dim, ranges);
  auto* list = std::get_if<symbolic::ListFact>(&fact.value);
  if (!list) return;
  if (list->items)
    for (symbolic::Fact& item : *list->items) state_ranges(item, ranges);
  if (!list->element) return;
  symbolic::Fact element = *list->element;
  state_ranges(element, ranges);
  list->element = std::make_shared<const symbolic::Fact>(std::move(element));
}

bool is_untyped(const conversion::InputFact& given) {
  const auto* tensor = tensor_or_member(given.fact);
  return tensor && !tensor->dtype;
}

class Preparation {
 public:
  Preparation(const Model::State& model, ir::Graph graph, const std::vector<conversion::InputFact>& given, const ir::Watch& watch,
              const PrepareOptions& how = {})
      : model_(model),
        given_(given),
        watch_(watch),
        how_(how),
        prepared_{.graph = std::move(graph),
                  .facts = {},
                  .steps = model.steps,
                  .warnings = {},
                  .unresolved_writes = {},
                  .state = model.state,
                  .lost_writes = model.lost_writes} {
    state();
  }

  void fold() {
    if (!std::exchange(begun_, true)) number_instead_of_unrolling();
    fold_in_rounds();
  }

  void fold_in_rounds() {
    for (int round = 0; round < fold_rounds; ++round) {
      const bool changed = conversion::fold_with_facts(prepared_.graph, facts_->facts(), model_.schemas, watch_,
                                                       {.keep_assertions = how_.keep_assertions,
                                                        .folded = folded_,
                                                        .lost_writes = &prepared_.lost_writes,
                                                        .program = program_of(model_),
                                                        .copies = &copies_,
                                                        .most_unrolled = most_unrolled_});
      folded_ = true;
      if (!changed) return;
      prepared_.steps.emplace_back("folded what the inputs' dtypes and shapes settle");
      facts_.reset();
      state();
    }
  }

  // Folding leaves fewer readers of an input, and inferred facts settle branches, so both are repeated.
  // `asserting` are the facts of the same model with its assertions, which say more.
  void infer(const inference::Inferred& asserting = {}) {
    take_over(asserting);
    const inference::Sources sources{model_.table, model_.schemas, model_.registry, watch_};
    for (int round = 0; round < fold_rounds; ++round) {
      if (!inference::infer(prepared_.graph, *facts_, given_, sources, inferred_)) break;
      fold();
    }
    prepared_.assumed = assumed_inputs(inferred_);
    leave_out_usual();
    for (const auto& assumption : inferred_.assumptions)
      if (assumption.open_rank) prepared_.open_ranks.push_back(assumption.leaf.name);
  }

  // Inputs are f32 if an option omits the dtype and no reader decides, as where nothing reads them. `given`: the caller's, which
  // this object refers to.
  void take_usual_dtypes(std::vector<conversion::InputFact>& given) {
    bool any = false;
    for (conversion::InputFact& fact : given) {
      const auto is_typed = [&](const inference::Assumption& made) {
        return made.leaf.name == fact.name && made.fact.tensor() && made.fact.tensor()->dtype;
      };
      if (!is_untyped(fact) || std::ranges::any_of(inferred_.assumptions, is_typed)) continue;
      fact.fact = with_usual_dtype(std::move(fact.fact));
      std::erase_if(inferred_.facts, [&](const auto& made) { return covers(made.name, fact.name); });
      std::erase_if(inferred_.assumptions, [&](const auto& made) { return covers(made.leaf.name, fact.name); });
      any = true;
    }
    if (!any) return;
    state();
    fold();
    infer();
  }

  // Smaller sizes than calls demand that always run need no nodes: PyTorch refuses them.
  void take_least_sizes() {
    const auto varies = [&](const ir::Value* input) {
      const auto* tensor = tensor_or_member(facts_->facts().of(input));
      return tensor && tensor->shape &&
             std::ranges::any_of(*tensor->shape, [](const symbolic::Dim& dim) { return !dim.is_number(); });
    };
    if (std::ranges::none_of(prepared_.graph.inputs(), varies)) return;
    const inference::Sources sources{model_.table, model_.schemas, model_.registry, watch_};
    bool any = false;
    for (const auto& [name, demanded] : inference::least_sizes(inference::demands_of(prepared_.graph, sources, *facts_))) {
      auto& known = how_.ranges[name].least;
      if (known.value_or(0) >= *demanded.least) continue;
      known = demanded.least;
      any = true;
    }
    if (!any) return;
    facts_.reset();  // ranges are no part of what sizes are compared by
    state();
    fold();
  }

  // Only what is still left when all facts are known: where sizes settle how often a loop runs, its containers can be followed.
  // A loop that was unrolled leaves objects that come apart, and another one that wasn't can't hold these: they are followed once
  // more, as the lengths of their lists are known by now, or the loops stay.
  void number_what_is_left() {
    if (number() || !rolled_) return;
    if (follows_all()) {
      folded_ = false;
      fold();
      infer();
      return;
    }
    change_to_rolled();
    if (number()) return;
    change_to_rolled();  // back
  }

  // The last changes: nothing is folded after them.
  void write_loops() {
    const auto report = [&](std::size_t count, const char* before, const char* one, const char* many) {
      if (count > 0) prepared_.steps.push_back(before + std::to_string(count) + (count == 1 ? one : many));
    };
    const std::size_t padded = passes::expand_pad_sequence(prepared_.graph, model_.schemas, watch_);
    report(padded, "wrote as loops ", " pad_sequence of a list of unknown length", " pad_sequences of lists of unknown length");
    const std::size_t stacked = passes::stack_in_loops(prepared_.graph, model_.schemas, watch_);
    report(stacked, "stacked in loops what ", " list would hold", " lists would hold");
    if (padded + stacked == 0) return;
    facts_.reset();
    state();
  }

  const ir::Graph& graph() const { return prepared_.graph; }
  const inference::Inferred& inferred() const { return inferred_; }

  void forget_facts() { facts_.reset(); }

  Prepared take() {
    prepared_.facts = facts_->take();
    facts_.reset();
    for (const auto& write : passes::unresolved_writes(prepared_.graph, program_of(model_), model_.schemas, watch_))
      prepared_.unresolved_writes.emplace(write.node, write.why);
    if (!prepared_.unresolved_writes.empty())
      prepared_.write_causes = passes::write_causes(prepared_.graph, program_of(model_), model_.schemas, watch_);
    return std::move(prepared_);
  }

 private:
  // An option that omits the dtype states all of an input that is f32.
  void leave_out_usual() {
    std::erase_if(prepared_.assumed, [&](const AssumedInput& assumed) {
      const auto given = std::ranges::find(given_, assumed.tensor.name, &conversion::InputFact::name);
      const auto* tensor = given == given_.end() ? nullptr : tensor_or_member(given->fact);
      return tensor && tensor->shape && assumed.tensor.dtype == ir::name(ir::DType::f32);
    });
  }

  bool follows_all() {
    return passes::follows_all_containers(prepared_.graph, program_of(model_), model_.schemas, {}, how_.keep_assertions, watch_);
  }

  void change_to_rolled() {
    std::swap(prepared_.graph, *rolled_);
    std::swap(most_unrolled_, most_unrolled_of_rolled_);
    for (auto& assumption : inferred_.assumptions)
      assumption.leaf.input = prepared_.graph.inputs()[assumption.leaf.input->index()];
    facts_.reset();
    state();
  }

  bool number() {
    if (!passes::number_references(prepared_.graph, program_of(model_), model_.schemas, {.unrolled = most_unrolled_},
                                   how_.keep_assertions, watch_))
      return false;
    prepared_.steps.emplace_back("made numbers of objects and containers with several names");
    folded_ = false;
    facts_.reset();
    state();
    fold();
    infer();
    return true;
  }

  // Following many copies of a loop takes long, and containers of which only some come apart are refused.
  void number_instead_of_unrolling() {
    constexpr std::size_t few = 2'000;
    if (!passes::has_references(prepared_.graph)) return;
    most_unrolled_ = 0;
    fold_in_rounds();
    const std::size_t copied = passes::nodes_in_copies(*prepared_.graph.top());
    if (copied > few && number()) return;
    if (copied > 0) rolled_ = prepared_.graph.clone();
    most_unrolled_ = passes::Budget{}.unrolled;
    folded_ = false;
  }

  void take_over(const inference::Inferred& asserting) {
    if (asserting.assumptions.empty()) return;
    inferred_ = asserting;
    for (auto& assumption : inferred_.assumptions)
      assumption.leaf.input = prepared_.graph.inputs()[assumption.leaf.input->index()];
    state();
    fold();
  }

  void state() {
    std::vector<conversion::InputFact> inputs = inferred_.facts;
    inputs.insert(inputs.end(), given_.begin(), given_.end());
    if (!how_.ranges.empty())
      for (conversion::InputFact& input : inputs) state_ranges(input.fact, how_.ranges);
    if (!facts_) facts_.emplace(prepared_.graph, model_.table, model_.schemas, model_.registry, program_of(model_), watch_);
    facts_->state(inputs);
  }

  const Model::State& model_;
  const std::vector<conversion::InputFact>& given_;
  const ir::Watch& watch_;
  PrepareOptions how_;
  inference::Inferred inferred_;
  bool begun_ = false, folded_ = false;
  std::size_t copies_ = 0;
  std::optional<ir::Graph> rolled_;  // with the loops that prepared_.graph has unrolled, if they may have to stay
  std::size_t most_unrolled_ = passes::Budget{}.unrolled, most_unrolled_of_rolled_ = 0;
  Prepared prepared_;
  std::optional<conversion::FactTrials> facts_;  // facts for the current prepared_.graph
};

// An input that neither the file nor the caller describes completely.
bool leaves_open(const Model::State& model, const std::vector<conversion::InputFact>& given) {
  using enum ir::TypeKind;
  const auto is_open = [&](const ir::Value* input) {
    const ir::TypeRef& type = input->type();
    const bool holds_tensors = !type || ir::is(type, tensor) || ir::is(type, optional) || ir::is(type, list) ||
                               ir::is(type, tuple) || ir::is(type, dict);
    const bool typed = type && type->tensor.dtype && type->tensor.sizes;
    const auto stated = std::ranges::find(given, input->name(), &conversion::InputFact::name);
    return !input->unused() && holds_tensors && !typed && (stated == given.end() || is_untyped(*stated));
  };
  return std::ranges::any_of(model.graph.inputs(), is_open);
}

bool same_inputs(const ir::Graph& one, const ir::Graph& other) {
  return std::ranges::equal(one.inputs(), other.inputs(), {}, &ir::Value::name, &ir::Value::name);
}

}  // namespace

Prepared prepare(const Model::State& model, ir::Graph graph, const std::vector<conversion::InputFact>& inputs,
                 const ir::Watch& watch, const PrepareOptions& how) {
  Preparation preparation(model, std::move(graph), inputs, watch, how);
  preparation.fold();
  preparation.number_what_is_left();
  return preparation.take();
}

namespace {

// Returns facts of states whose size may change: these dimensions get names, unless the caller states the input. Where nothing
// is known of the rank after the call, it is the rank before. Members of a list may have other sizes than each other.
std::vector<conversion::InputFact> named_growth(const Prepared& prepared, const std::vector<conversion::InputFact>& given) {
  std::vector<conversion::InputFact> named;
  const std::size_t states = prepared.state.size();
  for (std::size_t i = 0; i < states; ++i) {
    const symbolic::Fact& input = prepared.facts.of(prepared.graph.inputs()[prepared.graph.inputs().size() - states + i]);
    const bool list = input.list() != nullptr;
    const auto* before = tensor_or_member(input);
    const auto* after =
        tensor_or_member(prepared.facts.of(prepared.graph.outputs()[prepared.graph.outputs().size() - states + i]));
    const std::string& name = prepared.state[i].input;
    const bool given_names = std::ranges::find(given, name, &conversion::InputFact::name) != given.end();
    if (given_names || !before || !after || !before->shape || (after->shape && before->shape->size() != after->shape->size()))
      continue;
    symbolic::TensorFact tensor = *before;
    bool changes = false;
    for (std::size_t dim = 0; dim < tensor.shape->size(); ++dim) {
      const symbolic::Dim later = after->shape ? (*after->shape)[dim] : symbolic::Dim::unknown();
      if (!(*before->shape)[dim].is_number() || (*before->shape)[dim].number() == later.number()) continue;
      std::string size = inference::dimension_name(name, dim);
      std::ranges::replace(size, '.', '_');
      (*tensor.shape)[dim] = list ? symbolic::Dim::unknown() : symbolic::Dim::symbol(size);
      changes = true;
    }
    if (!changes) continue;
    symbolic::Fact fact{.value = std::move(tensor)};
    named.push_back({name, list ? symbolic::list_of(std::move(fact)) : std::move(fact)});
  }
  return named;
}

// Throws if an option states more of a kept value than the sizes of a tensor.
void check_stated(const passes::StateAttribute& state, const std::vector<std::string>& given_names) {
  const auto is_stated = [&](const auto& names) { return std::ranges::any_of(given_names, names); };
  const auto* list = state.initial.get<ir::ListConstant>();
  const auto refuse = [&](const std::string& why) { throw UsageError("CheckOptions::inputs " + state.input + ": " + why); };
  const bool tensors = state.initial.get<ir::TensorView>() || (list && ir::is(list->element, ir::TypeKind::tensor));
  const bool whole = is_stated([&](const std::string& name) { return name == state.input; });
  const bool member = list && is_stated([&](const std::string& name) { return name.starts_with(state.input + "."); });
  if (!tensors && (whole || member))
    refuse(list ? "it is a list of numbers that the model keeps between calls, and no option can state it"
                : "it is a number that the model keeps between calls, which has no size");
  if (member)
    refuse("it is a list that the model keeps between calls, and its length may change: state what each member is, as " +
           state.input + "=f32:3");
}

// Makes a list that may be None a list if it is stated as a whole.
void take_lists(ir::Graph& graph, const std::vector<conversion::InputFact>& given) {
  for (ir::Value* input : graph.inputs()) {
    const auto fact = std::ranges::find(given, ir::input_name(*input), &conversion::InputFact::name);
    const ir::TypeRef held = ir::without_optional(input->type());
    if (fact != given.end() && fact->fact.list() && ir::is(held, ir::TypeKind::list)) input->set_type(held);
  }
}

// Members that are texts: only a constant decides a branch.
Defaults stated_texts(const ir::Graph& graph, const std::vector<conversion::InputFact>& given) {
  Defaults texts;
  for (const ir::Value* input : graph.inputs()) {
    const auto fact = std::ranges::find(given, ir::input_name(*input), &conversion::InputFact::name);
    const auto* held = fact == given.end() ? nullptr : std::get_if<symbolic::ConstantFact>(&fact->fact.value);
    if (held) texts.emplace_back(input->index(), held->value);
  }
  return texts;
}

Prepared prepare_given(const Model::State& model, const CheckOptions& options, const ir::Watch& watch,
                       const std::vector<std::string>& members, std::vector<conversion::InputFact> growth) {
  auto domain_versions = custom_opsets(options.custom_opsets, model.table, model.graph, options.export_type);
  ir::Graph graph = model.graph.clone();
  std::vector<std::string> options_of;
  for (const std::string& text : options.inputs) options_of.push_back(text.substr(0, text.find('=')));
  for (const passes::StateAttribute& state : model.state) check_stated(state, options_of);
  auto given = given_inputs(options, graph, model.defaults);
  for (auto& fact : exported_facts(model, options))
    if (std::ranges::find(given.facts, fact.name, &conversion::InputFact::name) == given.facts.end())
      given.facts.push_back(std::move(fact));
  std::vector<std::string> names;
  for (const conversion::InputFact& fact : given.facts) names.push_back(fact.name);
  for (const passes::StateAttribute& state : model.state) check_stated(state, names);
  const std::vector<conversion::InputFact> stated = given.facts;
  given.facts.insert(given.facts.end(), growth.begin(), growth.end());
  std::vector<std::string> given_names = members;
  for (const auto& fact : given.facts) given_names.push_back(fact.name);
  for (const passes::StateAttribute& state : model.state) given_names.push_back(state.input);  // a list stays whole
  for (std::string& name : members_of_mixed_lists(model, given_names)) given_names.push_back(std::move(name));
  const auto part = [&](ir::Graph& whole) {
    for (const auto& [name, type] : given.chosen)
      for (ir::Value* input : whole.inputs())
        if (ir::input_name(*input) == name) input->set_type(type);
    take_values(whole, given.left_out);
    take_values(whole, given.numbers);
    take_lists(whole, given.facts);
    const bool any = passes::part_inputs(whole, given_names) > 0;
    if (any) take_values(whole, stated_texts(whole, given.facts));
    if (any && model.program && model.method == "forward") take_recorded_types(whole.inputs(), model.program->recorded_inputs);
    return any;
  };
  const symbolic::NamedRanges ranges = named_ranges(options.dims);
  std::optional<Preparation> asserting;
  if (has_asserting_graph(model) && leaves_open(model, given.facts)) try {
      ir::Graph whole = asserting_graph(model, watch).clone();
      part(whole);
      asserting.emplace(model, std::move(whole), given.facts, watch, PrepareOptions{.keep_assertions = true, .ranges = ranges});
      asserting->fold();
      asserting->infer();
      asserting->forget_facts();
    } catch (const ModelError&) {  // with its branches the graph may exceed a limit that it doesn't exceed without them
      watch.look();
      asserting.reset();
    }
  const bool parted = part(graph);
  Preparation preparation(model, std::move(graph), given.facts, watch, PrepareOptions{.ranges = ranges});
  preparation.fold();
  const bool takes_over = asserting && same_inputs(asserting->graph(), preparation.graph());
  preparation.infer(takes_over ? asserting->inferred() : inference::Inferred());
  preparation.take_usual_dtypes(given.facts);
  preparation.take_least_sizes();
  preparation.number_what_is_left();
  if (options.export_type != ExportType::raw && options.export_type != ExportType::onnx_aten) preparation.write_loops();
  Prepared prepared = preparation.take();
  prepared.values = std::move(given.values);
  prepared.constants = given.left_out;
  prepared.constants.insert(prepared.constants.end(), given.numbers.begin(), given.numbers.end());
  if (const auto more = named_growth(prepared, stated); !more.empty()) {
    for (const conversion::InputFact& fact : more) {
      std::erase_if(growth, [&](const conversion::InputFact& before) { return before.name == fact.name; });
      growth.push_back(fact);
    }
    return prepare_given(model, options, watch, members, std::move(growth));
  }
  if (!model.exported && !options.dims.empty())
    check_dims(options.dims, stated_sizes(options.inputs, model.graph, model.defaults), prepared.assumed);
  if (parted)
    prepared.steps.insert(prepared.steps.begin() + static_cast<std::ptrdiff_t>(model.steps.size()),
                          "took apart what the model is given in lists and dictionaries");
  for (const auto& [input, value] : given.left_out)
    prepared.steps.push_back("took the default of " + model.graph.inputs()[input]->name() + ": --input gives another");
  prepared.warnings = std::move(given.warnings);
  prepared.domain_versions = std::move(domain_versions);
  prepared.inline_functions = options.inline_functions;
  prepared.complex_io = options.complex_io;
  prepared.quantized_io = options.quantized_io;
  prepared.prefer = options.prefer;
  for (const conversion::InputFact& state : growth)
    prepared.steps.push_back("the size of input " + state.name + ", which is state, changes from call to call: it has a name");
  return prepared;
}

}  // namespace

Prepared prepare(const Model::State& model, const CheckOptions& options, const ir::Watch& watch,
                 const std::vector<std::string>& members) {
  return prepare_given(model, with_exported_inputs(model, options), watch, members, {});
}

conversion::Context context_of(const Model::State& model, const Prepared& prepared, const ir::Watch& watch, ExportType type) {
  return {.table = model.table,
          .schemas = model.schemas,
          .registry = model.registry,
          .handlers = model.handlers,
          .moved = model.moved,
          .facts = prepared.facts,
          .unresolved_writes = prepared.unresolved_writes,
          .program = program_of(model),
          .watch = watch,
          .domain_versions = prepared.domain_versions,
          .inline_functions = prepared.inline_functions,
          .export_type = type,
          .complex_io = prepared.complex_io,
          .quantized_io = prepared.quantized_io,
          .prefer = prepared.prefer,
          .state = prepared.state,
          .forms = &prepared.forms};
}

}  // namespace compatcheck::analysis
