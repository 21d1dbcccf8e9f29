#include "frontend/pt2/guards.h"

#include <algorithm>
#include <set>

#include "compatcheck/error.h"

namespace compatcheck::frontend::pt2 {
namespace {

using Kind = Expression::Kind;
using Sizes = std::map<std::string, std::int64_t>;

constexpr std::int64_t tried_sizes = 64;  // from the least one on, and around the example's

bool same_name(std::string_view left, std::string_view right) {
  const auto plain = [](char c) { return c == '.' ? '_' : c; };
  return std::ranges::equal(left, right, {}, plain, plain);
}

// With symbols in the places of inputs. Nullopt for an input that the program doesn't have.
std::optional<Expression> over_symbols(const Expression& guard, const ExportedInterface& exported) {
  if (guard.kind == Kind::source) {
    const auto input = std::ranges::find_if(exported.inputs, [&](const auto& each) { return same_name(each.name, guard.name); });
    if (input == exported.inputs.end()) return std::nullopt;
    const auto dimension = std::get<std::int64_t>(guard.value);
    if (dimension < 0) return input->number;
    if (static_cast<std::size_t>(dimension) >= input->sizes.size()) return std::nullopt;
    return input->sizes[static_cast<std::size_t>(dimension)];
  }
  Expression made = guard;
  for (Expression& argument : made.arguments) {
    auto inner = over_symbols(argument, exported);
    if (!inner) return std::nullopt;
    argument = std::move(*inner);
  }
  return made;
}

std::set<std::string> symbols_of(const Expression& expression) {
  std::set<std::string> symbols;
  for_each_leaf(expression, [&](const Expression& leaf) {
    if (leaf.kind == Kind::symbol) symbols.insert(leaf.name);
  });
  return symbols;
}

std::optional<bool> holds(const Expression& guard, const Sizes& sizes) {
  const auto value = evaluate(guard, [&](const Expression& leaf) -> std::optional<Expression::Number> {
    const auto found = sizes.find(leaf.name);
    return found == sizes.end() ? std::nullopt : std::optional<Expression::Number>(found->second);
  });
  if (!value) return std::nullopt;
  return std::visit([](auto number) { return number != 0; }, *value);
}

std::vector<std::int64_t> sizes_to_try(const SymbolRange& range, std::int64_t hint) {
  // The exporter specialises 0 and 1 and then takes sizes of at least 2 for granted.
  const std::int64_t least = std::max<std::int64_t>(range.least.value_or(2), 2);
  const std::int64_t most = range.most.value_or(INT64_MAX);
  std::set<std::int64_t> sizes{hint};
  for (std::int64_t i = 0; i < tried_sizes; ++i)
    for (const std::int64_t size : {least + i, hint + i, hint - i, hint * (i + 1)})
      if (size >= least && size <= most) sizes.insert(size);
  return {sizes.begin(), sizes.end()};
}

}  // namespace

Sizes apply_guards(ExportedInterface& exported, const std::vector<std::string>& guards, const Sizes& hints) {
  Sizes fixed;
  for (const std::string& text : guards) {
    std::optional<Expression> guard;
    try {
      guard = over_symbols(parse_expression(text), exported);
    } catch (const ModelError&) {  // not about sizes, or of a grammar that isn't known
    }
    const auto symbols = guard ? symbols_of(*guard) : std::set<std::string>();
    const bool known = guard && std::ranges::all_of(symbols, [&](const std::string& name) { return hints.contains(name); });
    if (!known) {
      exported.conditions.push_back(text);
      continue;
    }
    bool condition = false;
    for (const std::string& symbol : symbols) {
      const auto range = exported.ranges.find(symbol);
      Sizes sizes = hints;
      std::size_t fits = 0, fails = 0;
      for (const std::int64_t size : sizes_to_try(range == exported.ranges.end() ? SymbolRange() : range->second, hints.at(symbol))) {
        sizes[symbol] = size;
        const auto truth = holds(*guard, sizes);
        (truth.value_or(false) ? fits : fails) += 1;
      }
      if (fits <= 1 && fails > 0) fixed.emplace(symbol, hints.at(symbol));
      condition = condition || fails > 0;
    }
    if (condition || (symbols.empty() && !holds(*guard, hints).value_or(false))) exported.conditions.push_back(text);
  }
  return fixed;
}

std::string violation(const ExportedInterface& exported, const std::map<std::string, std::vector<std::int64_t>>& sizes) {
  Sizes symbols;
  for (const bool symbols_alone : {true, false})  // an expression's symbols may stand in another input
    for (const ExportedInput& input : exported.inputs) {
      const auto given = sizes.find(input.name);
      if (given == sizes.end() || given->second.size() != input.sizes.size()) continue;
      for (std::size_t dim = 0; dim < input.sizes.size(); ++dim) {
        const Expression& stated = input.sizes[dim];
        const std::int64_t size = given->second[dim];
        if (symbols_alone && stated.kind == Kind::symbol) symbols.emplace(stated.name, size);
        if (symbols_alone) continue;
        const auto value = evaluate(stated, [&](const Expression& leaf) -> std::optional<Expression::Number> {
          const auto found = symbols.find(leaf.name);
          return found == symbols.end() ? std::nullopt : std::optional<Expression::Number>(found->second);
        });
        if (const auto* wanted = value ? std::get_if<std::int64_t>(&*value) : nullptr; wanted && *wanted != size)
          return "dimension " + std::to_string(dim) + " of " + input.name + " must be " + std::to_string(*wanted) + ", not " +
                 std::to_string(size);
      }
    }
  for (const auto& [symbol, size] : symbols)
    if (const auto range = exported.ranges.find(symbol); range != exported.ranges.end())
      if ((range->second.least && size < *range->second.least) || (range->second.most && size > *range->second.most))
        return "the size " + symbol + " = " + std::to_string(size) + " is out of the program's range";
  for (const std::string& condition : exported.conditions) try {
      const auto guard = over_symbols(parse_expression(condition), exported);
      if (guard && holds(*guard, symbols) == false) return "the program is only valid where " + condition;
    } catch (const ModelError&) {  // of a grammar that isn't known: nobody can evaluate it
    }
  return {};
}

}  // namespace compatcheck::frontend::pt2
