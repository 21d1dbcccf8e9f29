#include "analysis/deciding_sizes.h"

#include <algorithm>
#include <array>
#include <optional>

#include "analysis/required_input.h"
#include "compatcheck/error.h"
#include "inference/infer.h"
#include "ir/value_name.h"
#include "passes/passes.h"
#include "symbolic/evaluate.h"
#include "symbolic/quantizer.h"

namespace compatcheck::analysis {
namespace {

using conversion::Outcome;
using conversion::Status;

bool has_names(const AssumedInput& input) {
  return !input.option.empty() && !std::ranges::all_of(*input.tensor.shape, is_number);
}

// Sizes to try: plausible for a batch, a sequence and an image, and the smallest that branches ask for. Null: the batch keeps its
// name, which models usually allow.
struct TriedNumbers {
  const char *batch, *front, *spatial;
};
constexpr std::array tried_numbers = {TriedNumbers{nullptr, "16", "224"}, TriedNumbers{"16", "16", "224"},
                                      TriedNumbers{"2", "2", "2"}};

// Puts the numbers into `made_up`.
std::string with_numbers(const AssumedInput& input, const TriedNumbers& chosen, std::set<std::string>& made_up) {
  std::string text = input.tensor.name + "=" + input.tensor.dtype + ":";
  const auto& sizes = *input.tensor.shape;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    const char* number = dim == 0 ? chosen.batch : dim == 1 ? chosen.front : chosen.spatial;
    const bool keeps = is_number(sizes[dim]) || !number;
    if (!keeps) made_up.insert(number);
    text += (dim ? "," : "") + (keeps ? sizes[dim] : std::string(number));
  }
  return text;
}

// The option with other sizes; `other` is called with each of them.
template <class Other>
std::string with_sizes(const std::string& option, const Other& other) {
  const std::size_t lead = option.find(':') + 1;
  if (lead == 0) return option;
  std::string text = option.substr(0, lead);
  for (std::size_t at = lead; at < option.size();) {
    const std::size_t end = std::min(option.find(',', at), option.size());
    text += (at > lead ? "," : "") + other(option.substr(at, end - at));
    at = end + 1;
  }
  return text;
}

// The option with a large number in the place of each of these.
std::string enlarged(const std::string& option, const std::set<std::string>& made_up, std::int64_t large) {
  return with_sizes(option, [&](const std::string& size) { return made_up.contains(size) ? std::to_string(large) : size; });
}

// " with your sizes instead of 16 and 224".
std::string instead_of(const std::set<std::string>& made_up) {
  std::string numbers;
  for (const std::string& number : made_up) numbers += (numbers.empty() ? "" : " and ") + number;
  return " with your sizes instead of " + numbers;
}

std::string with_rank(const AssumedInput& input, std::size_t rank) {
  std::string text = input.tensor.name + "=" + input.tensor.dtype + ":";
  for (std::size_t dim = 0; dim < rank; ++dim) text += (dim ? "," : "") + inference::dimension_name(input.tensor.name, dim);
  return rank ? text : text + "scalar";
}

// Ranks to try: those of images, sequences and rows.
constexpr std::array ranks = {std::size_t{4}, std::size_t{3}, std::size_t{1}, std::size_t{2}};

void add_names_of(std::set<std::string>& names, const symbolic::Fact& fact) {
  const auto add = [&](const symbolic::Dim& size) {
    for (const auto& name : symbolic::names_in(size)) names.insert(name);
  };
  if (const auto* tensor = fact.tensor(); tensor && tensor->shape) std::ranges::for_each(*tensor->shape, add);
  if (const auto* number = fact.number(); number && number->integer) add(*number->integer);
  if (const auto* list = fact.list(); list && list->items)
    for (const symbolic::Fact& item : *list->items) add_names_of(names, item);
}

// Returns the names in the sizes of failing calls' arguments.
std::set<std::string> names_in_failing(const conversion::Assessment& assessment, const symbolic::FactTable& facts) {
  std::set<std::string> names;
  for (const Outcome& outcome : assessment.outcomes)
    if (conversion::is_failure(outcome.status) && outcome.wants.empty())
      for (const ir::Value* input : outcome.node->inputs()) add_names_of(names, facts.of(input));
  return names;
}

bool has_one_of(const std::vector<AssumedInput>& assumed, const std::string& input, const std::set<std::string>& names) {
  const auto found = std::ranges::find(assumed, input, [](const AssumedInput& each) { return each.tensor.name; });
  return found != assumed.end() &&
         std::ranges::any_of(*found->tensor.shape, [&](const std::string& size) { return names.contains(size); });
}

}  // namespace

bool DecidingSizes::fails_at(const Outcome& outcome) { return conversion::is_failure(outcome.status) && outcome.wants.empty(); }

bool DecidingSizes::is_large() const {
  constexpr std::size_t most_nodes = 2000;
  std::size_t nodes = 0;
  ir::for_each_node(*prepared_.graph.top(), [&](const ir::Node*) { ++nodes; });
  return nodes > most_nodes;
}

void DecidingSizes::append_option(std::string& options, const std::string& stated) {
  options += (options.empty() ? "--input " : " --input ") + stated;
}

DecidingSizes::Call DecidingSizes::call_of(const ir::Node& node) { return {node.op(), node.location(), node.module()}; }

DecidingSizes::Calls DecidingSizes::calls_with(const conversion::Assessment& assessment, bool converting) {
  Calls calls;
  for (const Outcome& outcome : assessment.outcomes)
    if ((outcome.status == Status::ok) == converting) calls.insert(call_of(*outcome.node));
  return calls;
}

bool DecidingSizes::Try::breaks_nothing(int opset, const Calls& before) const {
  return std::ranges::includes(before, failing.at(opset));
}

bool DecidingSizes::Try::settles(const Call& call, int opset, const Calls& before) const {
  if (failing.at(opset).contains(call)) return false;
  return breaks_nothing(opset, before) || (!of_given && converting.at(opset).contains(call));
}

bool DecidingSizes::Try::asks_for_others(const Call& call, const std::string& than, int opset, const Calls& before) const {
  const auto& needed_by = asking.at(opset);
  return std::ranges::all_of(failing.at(opset), [&](const Call& fails) {
    if (fails != call && before.contains(fails)) return true;
    const auto needed = needed_by.find(fails);
    return needed != needed_by.end() &&
           std::ranges::none_of(needed->second, [&](const std::string& input) { return covers(than, input); });
  });
}

void DecidingSizes::add_input(Try& made, const std::string& input, const std::string& option) const {
  append_option(made.option, option);
  if (const auto index = index_of(input); index && std::ranges::find(made.inputs, *index) == made.inputs.end())
    made.inputs.push_back(*index);
}

void DecidingSizes::try_with(const std::vector<std::pair<std::string, std::string>>& inputs, const std::string& remark,
                             const std::set<std::string>& made_up) {
  if (inputs.empty()) return;
  std::vector<std::string> tried_options = options_.inputs;
  Try made;
  const bool counts = !made_up.empty() && !counts_.sizes.empty();
  if (counts) made.larger = tried_options;
  for (const auto& [name, stated] : inputs) {
    tried_options.push_back(stated);
    if (counts) made.larger.push_back(enlarged(stated, made_up, large_number));
    add_input(made, name, stated);
  }
  made.option += remark;
  if (const Try* tried = try_options(std::move(made), tried_options)) tries_.push_back(tried);
}

bool DecidingSizes::counts_loops(const std::string& size) const {
  return counts_.sizes.contains(size) ||
         std::ranges::any_of(given_.with({{size, large_number}}), [&](const NamedSizes::Stated& stated) {
           const auto input = stated.changed ? index_of(stated.input) : std::nullopt;
           return input && counts_.inputs.contains(prepared_.graph.inputs()[*input]);
         });
}

void DecidingSizes::try_given(const std::map<std::string, std::int64_t>& numbers) {
  std::vector<std::string> tried_options;
  Try made;
  for (const NamedSizes::Stated& stated : given_.with(numbers)) {
    tried_options.push_back(stated.text);
    if (!stated.changed) continue;
    add_input(made, stated.input, stated.text);
  }
  std::string names;
  for (const auto& [name, number] : numbers) names += (names.empty() ? "'" : ", '") + name + "'";
  made.option += (numbers.size() == 1 ? " with your number for " : " with your numbers for ") + names;
  made.of_given = true;
  std::map<std::string, std::int64_t> larger = numbers;
  for (auto& [name, number] : larger)
    if (counts_loops(name)) number = large_number;
  if (larger != numbers)
    for (const NamedSizes::Stated& stated : given_.with(larger)) made.larger.push_back(stated.text);
  const Try* tried = try_options(std::move(made), tried_options);
  if (!tried) return;
  tries_.push_back(tried);
  if (std::ranges::all_of(tried->failing, [](const auto& at) { return at.second.empty(); })) given_settled_ = true;
}

// Fixes as few names as possible: later dimensions first and the batch last, because it can usually vary.
void DecidingSizes::try_given() {
  constexpr std::size_t most_names = 6;
  std::vector<NamedSizes::Name> names = given_.names();
  std::ranges::reverse(names);
  std::ranges::stable_partition(names, [](const NamedSizes::Name& name) { return !name.batch; });
  names.resize(std::min(names.size(), most_names));
  for (const NamedSizes::Name& name : names)
    for (const std::int64_t number : name.likely)
      if (!given_settled_) try_given({{name.name, number}});
  std::map<std::string, std::int64_t> several;
  for (const bool batch : {false, true}) {
    for (const NamedSizes::Name& name : given_.names())
      if (name.batch == batch) several.emplace(name.name, name.likely.front());
    if (!given_settled_ && several.size() > 1) try_given(several);
  }
  constexpr std::int64_t few = 4;  // iterations that can be unrolled of long or nested loops
  for (const NamedSizes::Name& name : names)
    if (!given_settled_ && counts_loops(name.name)) try_given({{name.name, few}});
}

const DecidingSizes::Try* DecidingSizes::try_options(Try made, const std::vector<std::string>& inputs) {
  const auto [known, fresh] = tried_.try_emplace(inputs);
  if (fresh) known->second = assess(std::move(made), inputs, watch_of_tries_, gave_up_);
  return known->second ? &*known->second : nullptr;
}

// The remark on a try with numbers that decide how often loops run: these may be unrolled for small numbers only.
std::string DecidingSizes::limit_of(const Try& settled_by, const Call& call, int opset, const Calls& before) {
  if (settled_by.larger.empty()) return {};
  const auto [known, fresh] = tried_larger_.try_emplace(settled_by.larger);
  auto& [tried, exceeds] = known->second;
  if (fresh) tried = assess({}, settled_by.larger, watch_.within(most_steps_of_large), exceeds);
  const bool converts = tried ? tried->settles(call, opset, before) : !exceeds;
  return converts ? std::string() : " (small numbers only: " + std::to_string(large_number) + " doesn't convert)";
}

// Holds a prepared model of its own, which is freed before the next try.
std::optional<DecidingSizes::Try> DecidingSizes::assess(Try made, const std::vector<std::string>& inputs, const ir::Watch& watch,
                                                        bool& gave_up) const {
  CheckOptions tried_options = options_;
  tried_options.inputs = inputs;
  tried_options.dims.clear();
  try {
    const Prepared prepared = prepare(model_, tried_options, watch);
    const conversion::Context context = context_of(model_, prepared, watch, tried_options.export_type);
    conversion::Assessor assessor(prepared.graph, context);
    for (const int opset : opsets_) {
      const conversion::Assessment assessment = assessor.assess(opset);
      made.failing.emplace(opset, calls_with(assessment, false));
      made.converting.emplace(opset, calls_with(assessment, true));
      if (!assessment.open_outputs.empty()) made.open.insert(opset);
      auto& asking = made.asking[opset];
      for (const Outcome& outcome : assessment.outcomes)
        if (outcome.status == Status::needs_input)
          for (const std::uint32_t input : outcome.wants)
            asking[call_of(*outcome.node)].insert(ir::input_name(*prepared.graph.inputs()[input]));
      for (const Outcome& outcome : assessment.outcomes)
        if (fails_at(outcome)) asking.erase(call_of(*outcome.node));
    }
    return made;
  } catch (const UsageError&) {  // the model contradicts the options
  } catch (const ModelError&) {  // the graph exceeds a limit with these options
    watch_.look();
    gave_up = true;
  }
  return std::nullopt;
}

// Tries each choice of numbers for one input before it tries all inputs together, so that the report asks for no more than is
// needed.
void DecidingSizes::try_all(const conversion::Assessment& assessment) {
  tries_.clear();
  given_settled_ = false;
  const std::set<std::string> deciding = names_in_failing(assessment, prepared_.facts);
  std::vector<std::pair<std::string, std::string>> inputs;
  for (const TriedNumbers& chosen : tried_numbers) {
    inputs.clear();
    std::vector<std::set<std::string>> made_up;  // one set for each input
    std::set<std::string> all_made_up;
    for (const AssumedInput& input : prepared_.assumed) {
      std::set<std::string> numbers;
      std::string stated = has_names(input) ? with_numbers(input, chosen, numbers) : input.option;
      if (stated == input.option) continue;
      inputs.emplace_back(input.tensor.name, std::move(stated));
      all_made_up.insert(numbers.begin(), numbers.end());
      made_up.push_back(std::move(numbers));
    }
    for (std::size_t i = 0; inputs.size() > 1 && i < inputs.size(); ++i)
      if (has_one_of(prepared_.assumed, inputs[i].first, deciding)) try_with({inputs[i]}, instead_of(made_up[i]), made_up[i]);
    try_with(inputs, instead_of(all_made_up), all_made_up);
  }
  for (const std::size_t rank : ranks) {
    inputs.clear();
    for (const AssumedInput& input : prepared_.assumed)
      if (std::ranges::find(prepared_.open_ranks, input.tensor.name) != prepared_.open_ranks.end() && !input.option.empty() &&
          input.tensor.shape->size() != rank)
        inputs.emplace_back(input.tensor.name, with_rank(input, rank));
    try_with(inputs, inputs.size() == 1 ? " if the input has this rank" : " if the inputs have these ranks");
  }
  try_given();
}

bool DecidingSizes::has_named_inputs() const {
  return !given_.names().empty() || std::ranges::any_of(prepared_.assumed, has_names);
}

// The input that this is, or is a member of.
std::optional<std::uint32_t> DecidingSizes::index_of(const std::string& name) const {
  for (const ir::Value* input : prepared_.graph.inputs()) {
    const std::string own = ir::input_name(*input);
    if (name == own || name.starts_with(own + ".")) return static_cast<std::uint32_t>(input->index());
  }
  return std::nullopt;
}

void DecidingSizes::suggest(Outcome& outcome, const Try& settled_by, int opset, const Calls& before) {
  const std::string option = settled_by.option + limit_of(settled_by, call_of(*outcome.node), opset, before);
  if (settled_by.of_given && outcome.available_from) {  // the names can stay at that opset
    if (outcome.hint.empty()) outcome.hint = option;
    return;
  }
  outcome.wants = settled_by.inputs;
  outcome.option = option;
  if (outcome.status == Status::missing)
    outcome.reason += "; for some sizes of the inputs this call doesn't run";
  else
    outcome.status = Status::needs_input;
}

// The first try that settles them all, rather one that breaks nothing else and leaves no output's rank open.
const DecidingSizes::Try* DecidingSizes::settling(const std::vector<Outcome*>& outcomes, int opset, const Calls& before) const {
  std::vector<const Try*> found;
  std::ranges::copy_if(tries_, std::back_inserter(found), [&](const Try* each) {
    return std::ranges::all_of(outcomes,
                               [&](const Outcome* outcome) { return each->settles(call_of(*outcome->node), opset, before); });
  });
  const auto cost = [&](const Try* each) { return std::pair(!each->breaks_nothing(opset, before), each->open.contains(opset)); };
  const auto best = std::ranges::min_element(found, {}, cost);
  return best == found.end() ? nullptr : *best;
}

// Calls that ask for the same input are in one group: their advice is one.
std::vector<DecidingSizes::Group> DecidingSizes::choose_tries(conversion::Assessment& assessment, int opset,
                                                              const Calls& before) const {
  std::vector<Group> groups;
  for (Outcome& outcome : assessment.outcomes) {
    const Try* settled_by = fails_at(outcome) ? settling({&outcome}, opset, before) : nullptr;
    if (!settled_by) continue;
    Group group{{settled_by->inputs.begin(), settled_by->inputs.end()}, {&outcome}, {settled_by}};
    std::erase_if(groups, [&](Group& other) {
      if (std::ranges::none_of(other.inputs, [&](std::uint32_t input) { return group.inputs.contains(input); })) return false;
      group.inputs.merge(other.inputs);
      group.outcomes.insert(group.outcomes.begin(), other.outcomes.begin(), other.outcomes.end());
      group.tries.insert(group.tries.begin(), other.tries.begin(), other.tries.end());
      return true;
    });
    groups.push_back(std::move(group));
  }
  return groups;
}

void DecidingSizes::leave_to_inputs(conversion::Assessment& assessment, int opset) {
  if (!std::ranges::any_of(assessment.outcomes, fails_at) || !has_named_inputs() || is_large()) return;
  try_all(assessment);
  const Calls before = calls_with(assessment, false);
  for (const Group& group : choose_tries(assessment, opset, before)) {
    const Try* for_all = settling(group.outcomes, opset, before);
    for (std::size_t i = 0; i < group.outcomes.size(); ++i)
      suggest(*group.outcomes[i], for_all ? *for_all : *group.tries[i], opset, before);
  }
}

const std::vector<std::string>& DecidingSizes::options_of_members(const ir::Value& input) {
  const auto [known, fresh] = members_.try_emplace(&input);
  std::vector<std::string>& options = known->second;
  if (!fresh || is_large()) return options;
  const std::string name = ir::input_name(input);
  const ir::TypeRef& type = ir::without_optional(input.type());
  std::vector<std::string> members;
  if (ir::is(type, ir::TypeKind::dict)) {
    for (const std::string& key : passes::read_members_of(model_.graph, name).value_or(std::vector<std::string>{"KEY"}))
      members.push_back(ir::member_name(name, key));
  } else {
    for (std::size_t i = 0; i < (ir::is(type, ir::TypeKind::tuple) ? type->elements.size() : 1); ++i)
      members.push_back(name + "." + std::to_string(i));
  }
  CheckOptions tried_options = options_;
  tried_options.dims.clear();  // the names may be numbers in this try
  try {
    for (const AssumedInput& assumed : prepare(model_, tried_options, watch_of_tries_, members).assumed)
      if (std::ranges::find(members, assumed.tensor.name) != members.end() && !assumed.option.empty())
        options.push_back(assumed.option);
  } catch (const ModelError&) {  // without the list the graph may exceed a limit
    watch_.look();
  }
  if (options.size() != members.size()) options.clear();
  return options;
}

// Returns the option for each member of a list, with numbers as sizes if the call converts only with them.
DecidingSizes::MemberOption DecidingSizes::option_of_member(const ir::Value& list, const std::string& named, const Call& call,
                                                            int opset) {
  const std::string name = ir::input_name(list);
  const std::string numbered =
      with_sizes(named, [](const std::string& size) { return is_number(size) || size == "scalar" ? size : std::string("16"); });
  const auto try_members = [&](const std::string& member) {
    std::vector<std::string> tried_options = options_without({name});
    tried_options.push_back(member);
    tried_options.push_back(name + ".1" + member.substr((name + ".0").size()));
    return try_options({}, tried_options);
  };
  const auto fails = [&](const Try* tried) { return !tried || tried->failing.at(opset).contains(call); };
  MemberOption option{.text = named, .tried = is_large() ? nullptr : try_members(named)};
  const Try* of_numbers = !is_large() && numbered != named && fails(option.tried) ? try_members(numbered) : nullptr;
  const bool needs_numbers = !fails(of_numbers);
  if (needs_numbers) option = {.text = numbered, .tried = of_numbers};
  option.text = "--input " + option.text + " and one such option for each member of the list" +
                (needs_numbers ? ", with your own sizes" : "");
  return option;
}

bool DecidingSizes::has_open_members(const ir::Value& input) const {
  const auto* list = prepared_.facts.of(&input).list();
  if (!list || list->items || !ir::is_tensor_list(input.type())) return false;
  return !list->element || !symbolic::lacks_scale(*list->element);  // no tried option states a scale
}

void DecidingSizes::suggest_members(conversion::Assessment& assessment, int opset) {
  for (Outcome& outcome : assessment.outcomes) {
    if (outcome.status != Status::needs_input || outcome.wants.size() != 1 || !outcome.option.empty()) continue;
    const ir::Value& input = *prepared_.graph.inputs()[outcome.wants.front()];
    if (!has_open_members(input)) continue;
    if (const auto& options = options_of_members(input); !options.empty())
      outcome.option = option_of_member(input, options.front(), call_of(*outcome.node), opset).text;
  }
  leave_to_members(assessment, opset);
}

// Calls that fail because nothing is known of the members need them, too: writes to attributes that depend on them, say.
void DecidingSizes::leave_to_members(conversion::Assessment& assessment, int opset) {
  const Calls before = calls_with(assessment, false);
  for (const ir::Value* input : prepared_.graph.inputs()) {
    if (!has_open_members(*input) || is_stated(ir::input_name(*input))) continue;
    for (Outcome& outcome : assessment.outcomes) {
      if (!fails_at(outcome)) continue;
      const auto& options = options_of_members(*input);
      if (options.empty()) break;
      const MemberOption option = option_of_member(*input, options.front(), call_of(*outcome.node), opset);
      if (!option.tried || !option.tried->settles(call_of(*outcome.node), opset, before)) continue;
      Try stated;
      stated.option = option.text;
      stated.inputs = {static_cast<std::uint32_t>(input->index())};
      suggest(outcome, stated, opset, before);
    }
  }
}

}  // namespace compatcheck::analysis
