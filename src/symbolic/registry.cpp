#include "symbolic/registry.h"

#include "compatcheck/error.h"
#include "symbolic/fact_words.h"
#include "symbolic/stated_facts.h"

namespace compatcheck::symbolic {
namespace {

template <class Map, class Function>
void add_new(Map& map, std::string_view name, Function function, const char* what) {
  if (!map.emplace(std::string(name), std::move(function)).second)
    throw InternalError(std::string(what) + " of " + std::string(name) + " registered twice");
}

template <class Map>
auto find(const Map& map, std::string_view name) -> typename Map::mapped_type {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : found->second;
}

template <class Map>
std::vector<std::string_view> keys_of(const Map& map) {
  std::vector<std::string_view> result;
  for (const auto& entry : map) result.push_back(entry.first);
  return result;
}

}  // namespace

void Registry::facts(std::string_view op, FactFunction function) { add_new(facts_, op, function, "facts"); }
void Registry::number_facts(std::string_view op, FactFunction function) { add_new(numbers_, op, function, "facts of numbers"); }
void Registry::fact_word(std::string_view word, FactFunction function, ConditionFunction demand) {
  add_new(words_, word, function, "fact word");
  if (demand) demands_.emplace(word, demand);
}
void Registry::condition(std::string_view name, ConditionFunction function) { add_new(conditions_, name, function, "condition"); }

void Registry::replace_facts(std::string_view op, const FactFunction& function) {
  facts_.insert_or_assign(std::string(op), function);
  if (op.find('.') != std::string_view::npos) return;
  std::erase_if(facts_, [lead = std::string(op) + "."](const auto& entry) { return entry.first.starts_with(lead); });
  numbers_.try_emplace(std::string(op), function);  // overloads on numbers share no more than the name with those on tensors
}

FactFunction Registry::find_overload_facts(std::string_view op, std::string_view overload) const {
  return overload.empty() ? nullptr : find(facts_, std::string(op) + "." + std::string(overload));
}
FactFunction Registry::find_facts(std::string_view op, std::string_view overload) const {
  const auto function = find_overload_facts(op, overload);
  return function ? function : find(facts_, op);
}
FactFunction Registry::find_number_facts(std::string_view op) const { return find(numbers_, op); }
std::vector<std::string_view> Registry::fact_names() const { return keys_of(facts_); }

FactFunction Registry::find_fact_word(std::string_view word) const {
  const auto words = words_of_results(word);
  if (words.size() == 1) return spells_facts(word) ? spelled_facts(word, *this) : find(words_, word);
  std::vector<FactFunction> functions;
  for (const auto one : words) functions.push_back(find_fact_word(one));
  return [functions = std::move(functions)](const Call& call) {
    std::vector<Fact> facts;
    for (const auto& function : functions) facts.push_back(function ? function(call).at(0) : Fact());
    return facts;
  };
}

ConditionFunction Registry::find_word_demand(std::string_view word) const {
  const auto words = words_of_results(word);
  if (words.size() == 1) return find(demands_, word);
  std::vector<ConditionFunction> demands;
  for (const auto one : words)
    if (auto demand = find(demands_, one)) demands.push_back(std::move(demand));
  if (demands.empty()) return nullptr;
  return [demands = std::move(demands)](const Call& call) {
    Verdict verdict{.truth = Truth::yes};
    for (const auto& demand : demands)
      if (auto one = demand(call); one.truth == Truth::no || verdict.truth == Truth::yes) verdict = std::move(one);
    return verdict;
  };
}

ConditionFunction Registry::find_condition(std::string_view name) const { return find(conditions_, name); }
std::vector<std::string_view> Registry::condition_names() const { return keys_of(conditions_); }
std::vector<std::string_view> Registry::fact_words() const { return keys_of(words_); }

}  // namespace compatcheck::symbolic
