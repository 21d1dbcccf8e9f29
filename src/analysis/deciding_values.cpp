// Options that state numbers, lists of numbers and Optionals among the inputs, where trials show that they decide a call.
#include <algorithm>

#include "analysis/container_advice.h"
#include "analysis/deciding_sizes.h"
#include "analysis/example_inputs.h"
#include "analysis/given_inputs.h"
#include "analysis/input_spec.h"
#include "analysis/required_input.h"
#include "ir/value_name.h"
#include "passes/passes.h"
#include "symbolic/condition.h"

namespace compatcheck::analysis {
namespace {

using conversion::Outcome;
using conversion::Status;

constexpr int most_tried_members = 6;
constexpr std::size_t most_spelled = 8;  // options for members in one piece of advice

// The --input option of a number; empty for other types.
std::string number_option(const ir::TypeRef& type) {
  if (ir::is(type, ir::TypeKind::integer)) return "i64:scalar";
  if (ir::is(type, ir::TypeKind::floating)) return "f64:scalar";
  return ir::is(type, ir::TypeKind::boolean) ? "bool:scalar" : "";
}

// How many members of a list the graph reads at least, at known places or by taking it apart: for lists of which it also reads
// others.
int member_count_read(const ir::Value& list) {
  std::int64_t most = 0;
  for (const ir::Use& use : list.uses()) {
    if (use.user->is("prim::ListUnpack")) most = std::max(most, static_cast<std::int64_t>(use.user->outputs().size()));
    const ir::Constant* index = use.user->is("aten::__getitem__") ? ir::constant_of(use.user->input(1)) : nullptr;
    if (const auto* place = index ? index->get<std::int64_t>() : nullptr)
      most = std::max(most, *place < 0 ? -(*place + 1) + 1 : *place + 1);
  }
  constexpr std::int64_t most_options = 64;
  return static_cast<int>(std::min(most, most_options));
}

// Those that a model reads of a list, in order.
std::vector<std::string> places_read(std::optional<std::vector<std::string>> members) {
  std::vector<std::string> places = std::move(members).value_or(std::vector<std::string>());
  std::ranges::sort(places, {}, [](const std::string& place) { return std::pair(place.size(), place); });
  return places;
}

// Two variants of numbers to try: a call that converts with both probably doesn't depend on which they are.
constexpr int variants = 2;
std::string made_up_number(const ir::TypeRef& type, int place, int variant) {
  if (ir::is(type, ir::TypeKind::boolean)) return variant == 0 ? "true" : "false";
  const std::string integer = std::to_string(variant == 0 ? place : (3 * place + 2) % 7);
  return ir::is(type, ir::TypeKind::floating) ? integer + ".5" : integer;
}

std::string spelled(const std::vector<std::string>& options) {
  std::string text;
  for (const std::string& option : options) DecidingSizes::append_option(text, option);
  return text;
}

// A list of numbers: any number of them, so many, and known ones. `read`: how many the model reads at least. `only`: the places
// that the model reads, if it reads no others.
template <class Add>
void add_tries_of_numbers(const std::string& name, const ir::TypeRef& type, int read, const std::vector<std::string>& only,
                          const Add& add) {
  const std::string member = ir::is(type, ir::TypeKind::list) ? number_option(type->elements.front()) : std::string();
  if (member.empty()) return;
  const std::string whole = name + "=" + member.substr(0, member.find(':') + 1) + inference::dimension_name(name, 0);
  add({whole}, "--input " + whole);
  if (!only.empty()) {
    const auto add_members = [&](const auto& text_of, const std::string& values) {
      std::vector<std::string> members;
      for (const std::string& place : only) members.push_back(ir::member_name(name, place) + "=" + text_of(members.size()));
      const bool all = members.size() <= most_spelled;
      add(members, all ? spelled(members) + values
                       : "--input " + members.front() + " and one such option for each member that the model reads" + values);
    };
    add_members([&](std::size_t) { return member; }, "");
    add_members([&](std::size_t at) { return made_up_number(type->elements.front(), static_cast<int>(at), 0); },
                only.size() == 1 ? " with your own value" : " with your own values");
    return;
  }
  // More than one member first: what converts with a single one may not convert with more.
  const auto add_members = [&](const auto& text_of, const std::string& of_several, const std::string& of_one) {
    std::vector<std::string> members{name + ".0=" + text_of(0)};
    const std::string first = "--input " + members.front();
    for (int count = 1; count < std::max(most_tried_members, read); ++count) {
      members.push_back(name + "." + std::to_string(count) + "=" + text_of(count));
      if (count + 1 >= read) add(members, first + of_several);
    }
    members.resize(1);
    if (read <= 1) add(members, first + of_one);
  };
  add_members([&](int) { return member; },
              " and one such option for each member of the list, or --inputs-from FILE with an example of " + name,
              " if the list has one member");
  add_members([&](int place) { return made_up_number(type->elements.front(), place, 0); },
              " and one such option for each member of the list, with your own values",
              " with your own value if the list has one member");
}

bool needs_only(const Outcome& outcome, std::size_t input) {
  return outcome.status == Status::needs_input && outcome.wants.size() == 1 && outcome.wants.front() == input;
}

// Whether the tries cover everything that options can state about such an input.
bool states_all(const ir::TypeRef& type) {
  const ir::TypeRef& held = ir::without_optional(type);
  const ir::TypeRef& number = ir::is(held, ir::TypeKind::list) ? held->elements.front() : held;
  return !number_option(number).empty() || instead_of_option({}, held).has_value();
}

}  // namespace

const std::vector<StatedSizes>& DecidingSizes::stated() {
  if (!stated_) stated_ = stated_sizes(options_.inputs, model_.graph, model_.defaults);
  return *stated_;
}

// The user's options without those that state one of these inputs or a member of it, each with its name.
std::vector<std::string> DecidingSizes::options_without(const std::vector<std::string>& inputs) {
  std::vector<std::string> others;
  for (std::size_t i = 0; i < stated().size(); ++i) {
    const std::string &name = stated()[i].input, &text = options_.inputs[i];
    if (std::ranges::any_of(inputs, [&](const std::string& input) { return covers(input, name); })) continue;
    others.push_back(name.empty() || text.starts_with(name + "=") ? text : name + "=" + text);
  }
  return others;
}

bool DecidingSizes::is_stated_by_option(const std::string& input) {
  return std::ranges::any_of(stated(), [&](const StatedSizes& each) { return covers(input, each.input); });
}

// The value of an input in the user's examples; null if no example states it, or an option does.
const ir::Constant* DecidingSizes::example_of(const std::string& input) {
  if (options_.inputs_from.empty() || is_stated_by_option(input)) return nullptr;
  if (!examples_) examples_ = example_leaves(options_.inputs_from, model_.graph, examples::Elements::leave);
  const auto found = std::ranges::find(*examples_, input, &ExampleLeaf::name);
  return found == examples_->end() ? nullptr : &found->value;
}

bool DecidingSizes::is_stated(const std::string& input) { return is_stated_by_option(input) || example_of(input); }

// Options that make constants of a number or of the members of a list of numbers; nullopt for other inputs, and for what is
// constant already.
std::optional<DecidingSizes::Constants> DecidingSizes::constants_of(const ir::Value& input, int variant) {
  const ir::TypeRef& type = ir::without_optional(input.type());
  const symbolic::Fact& fact = prepared_.facts.of(&input);
  const bool list = ir::is_list_of_numbers(type);
  if ((!list && number_option(type).empty()) || symbolic::is_constant(fact) || fact.is_none()) return std::nullopt;
  const std::string name = ir::input_name(input);
  const ir::Constant* example = example_of(name);
  Constants made{.options = {}, .exact = example != nullptr};
  if (!list) {
    made.options.push_back(name + "=" + (example ? value_text(*example) : made_up_number(type, 1, variant)));
    return made;
  }
  const auto* items = example ? example->get<ir::ListConstant>() : nullptr;
  if (example && (!items || items->items.empty())) return std::nullopt;
  constexpr std::size_t likely = 3;
  const std::size_t count = items ? items->items.size() : fact.list() && fact.list()->items ? fact.list()->items->size() : likely;
  for (std::size_t i = 0; i < count; ++i)
    made.options.push_back(
        name + "." + std::to_string(i) + "=" +
        (items ? value_text(items->items[i]) : made_up_number(type->elements.front(), static_cast<int>(i), variant)));
  return made;
}

const std::vector<const DecidingSizes::Try*>& DecidingSizes::tries_of_value(const ir::Value& input) {
  const auto [known, fresh] = of_values_.try_emplace(&input);
  if (!fresh || is_large()) return known->second;
  const std::string name = ir::input_name(input);
  const std::vector<std::string> others = options_without({name});
  const auto add = [&](const std::vector<std::string>& stated, const std::string& option, const std::string& larger = {}) {
    std::vector<std::string> tried_options = others;
    tried_options.insert(tried_options.end(), stated.begin(), stated.end());
    Try made;
    made.option = option;
    if (!larger.empty() && counts_.inputs.contains(&input)) {
      made.larger = others;
      made.larger.push_back(larger);
    }
    if (const Try* tried = try_options(std::move(made), tried_options)) known->second.push_back(tried);
  };
  if (const auto constants = constants_of(input, 0); constants && constants->exact) {  // an example states the rest
    add(constants->options, spelled(constants->options));
    return known->second;
  }
  const bool may_be_none = ir::is(input.type(), ir::TypeKind::optional);
  const ir::TypeRef& type = ir::without_optional(input.type());
  if (may_be_none) add({name + "=none"}, "--input " + name + "=none");
  if (const std::string number = number_option(type); !number.empty())
    add({name + "=" + number}, "--input " + name + "=" + number);
  const bool dict = ir::is(type, ir::TypeKind::dict) && ir::is(type->elements.front(), ir::TypeKind::string);
  if (const bool list = ir::is_tensor_list(type); may_be_none && (list || dict || ir::is(type, ir::TypeKind::tuple)))
    if (const auto& members = options_of_members(input); !members.empty()) {
      std::string text;
      for (const std::string& option : members) append_option(text, option);
      const bool keys = dict && members.front().starts_with(name + ".KEY=");
      add(members, text + (list   ? " and one such option for each member of the list"
                           : keys ? " for each KEY with its dtype and sizes"
                                  : ""));
    }
  if (const std::string number = number_option(type); may_be_none && !number.empty()) {
    const std::string constant = name + "=" + made_up_number(type, 1, 0);
    add({constant}, "--input " + constant + " with your own value", name + "=" + std::to_string(large_number));
  }
  if (ir::is_list_of_numbers(type))
    add_tries_of_numbers(name, type, member_count_read(input), places_read(passes::read_members_of(model_.graph, name)), add);
  return known->second;
}

void DecidingSizes::suggest_values(conversion::Assessment& assessment, int opset) {
  for (Outcome& outcome : assessment.outcomes) {
    if (outcome.status != Status::needs_input || outcome.wants.size() != 1 || !outcome.option.empty()) continue;
    const ir::Value& input = *prepared_.graph.inputs()[outcome.wants.front()];
    const std::vector<const Try*>& tries = tries_of_value(input);
    if (tries.empty()) continue;
    const Calls before = calls_with(assessment, false);
    const std::string name = ir::input_name(input);
    std::vector<const Try*> helpful;
    for (const bool all : {true, false}) {  // prefer options that help every call that needs this input
      for (const Try* each : tries)
        if (each->breaks_nothing(opset, before) && std::ranges::none_of(assessment.outcomes, [&](const Outcome& other) {
              return (&other == &outcome || (all && needs_only(other, input.index()))) &&
                     each->failing.at(opset).contains(call_of(*other.node));
            }))
          if (std::ranges::find(helpful, each) == helpful.end()) helpful.push_back(each);
      if (helpful.size() > (ir::is(input.type(), ir::TypeKind::optional) ? 1 : 0)) break;
    }
    if (helpful.empty()) {  // what the call needs besides is asked for next
      const auto leads_on = std::ranges::find_if(
          tries, [&](const Try* each) { return each->asks_for_others(call_of(*outcome.node), name, opset, before); });
      if (leads_on != tries.end()) helpful.push_back(*leads_on);
    }
    if (helpful.empty()) {
      // Sizes or members that weren't tried may decide it, or a try that was given up.
      if (!states_all(input.type()) || gave_up_) continue;
      outcome.status = Status::refused;
      outcome.wants.clear();
      if (container_advice(outcome) || is_stated(name)) continue;
      const auto instead = instead_of_option(name, input.type());
      if (!instead) outcome.reason += "; no option states the value of input '" + name + "'";
      outcome.hint = instead ? *instead : set_in_init({name});
      continue;
    }
    std::ranges::stable_partition(helpful, [&](const Try* each) { return !each->open.contains(opset); });
    const auto option_of = [&](const Try& each) { return each.option + limit_of(each, call_of(*outcome.node), opset, before); };
    outcome.option = option_of(*helpful.front());  // None, and the most general of the others
    if (helpful.size() > 1 && helpful.front()->option.ends_with("=none"))
      outcome.option += " or " + option_of(*helpful[1]);
    else if (ir::is(ir::without_optional(input.type()), ir::TypeKind::string))
      outcome.option += " or " + text_option(name);
  }
}

// Tries these inputs as constants.
void DecidingSizes::try_constants(const std::vector<const ir::Value*>& inputs) {
  Suggested suggested;
  std::vector<std::string> names;
  for (const ir::Value* input : inputs) names.push_back(ir::input_name(*input));
  bool exact = true, lists = false, open_lists = false, stated = false;
  for (int variant = 0; variant < variants && (variant == 0 || !exact); ++variant) {
    std::vector<std::string> tried_options = options_without(names), larger = tried_options, shown;
    for (const ir::Value* input : inputs) {
      const auto constants = constants_of(*input, variant);
      if (!constants) return;
      const bool list = ir::is_list_of_numbers(ir::without_optional(input->type()));
      exact = exact && constants->exact;
      lists = lists || list;
      open_lists = open_lists || (list && !constants->exact);
      stated = stated || is_stated_by_option(ir::input_name(*input));
      tried_options.insert(tried_options.end(), constants->options.begin(), constants->options.end());
      const bool counts = !constants->exact && !list && counts_.inputs.contains(input);
      if (counts)
        larger.push_back(ir::input_name(*input) + "=" + std::to_string(large_number));
      else
        larger.insert(larger.end(), constants->options.begin(), constants->options.end());
      const auto last = list && !constants->exact ? constants->options.begin() + 1 : constants->options.end();
      shown.insert(shown.end(), constants->options.begin(), last);
    }
    Try made;
    if (larger != tried_options) made.larger = std::move(larger);
    const Try* tried = try_options(std::move(made), tried_options);
    if (!tried) return;
    suggested.tries.push_back(tried);
    if (variant == 0) suggested.option = spelled(shown);
  }
  std::string quoted;
  for (const std::string& name : names) quoted += (quoted.empty() ? "'" : ", '") + name + "'";
  const bool one = names.size() == 1;
  suggested.option = "if " + quoted + (one ? " has" : " have") + " the same " + (one && !lists ? "value" : "values") +
                     " in each call, state " + (one && !lists ? "it as a constant" : "them as constants") +
                     (stated ? " instead: " : ": ") + suggested.option +
                     (open_lists ? " and one such option for each member of the list" : "") +
                     (exact           ? ""
                      : one && !lists ? " with your own value"
                                      : ", with your own values");
  constants_.push_back(std::move(suggested));
}

// Each input alone, then all together.
void DecidingSizes::try_constants() {
  constexpr std::size_t most_alone = 4;
  std::vector<const ir::Value*> inputs;
  const auto all = prepared_.graph.inputs();
  for (std::size_t i = 0; i + prepared_.state.size() < all.size(); ++i)
    if (constants_of(*all[i], 0)) inputs.push_back(all[i]);
  for (std::size_t i = 0; i < std::min(inputs.size(), most_alone); ++i) try_constants({inputs[i]});
  if (inputs.size() > 1) try_constants(inputs);
}

void DecidingSizes::suggest_constants(conversion::Assessment& assessment, int opset) {
  const auto is_open = [](const Outcome& outcome) {
    return fails_at(outcome) && outcome.option.empty() && outcome.hint.find("--input ") == std::string::npos;
  };
  if (std::ranges::none_of(assessment.outcomes, is_open) || is_large()) return;
  if (!std::exchange(tried_constants_, true)) try_constants();
  if (constants_.empty()) return;
  const Calls before = calls_with(assessment, false);
  for (Outcome& outcome : assessment.outcomes) {
    if (!is_open(outcome)) continue;
    const Call call = call_of(*outcome.node);
    const auto found = std::ranges::find_if(constants_, [&](const Suggested& each) {
      return std::ranges::all_of(each.tries, [&](const Try* tried) { return tried->settles(call, opset, before); });
    });
    if (found != constants_.end()) outcome.option = found->option + limit_of(*found->tries.front(), call, opset, before);
  }
}

}  // namespace compatcheck::analysis
