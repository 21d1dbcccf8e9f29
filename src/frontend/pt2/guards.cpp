#include "frontend/pt2/guards.h"

#include <algorithm>
#include <set>

#include "compatcheck/error.h"

namespace compatcheck::frontend::pt2 {
namespace {

using Kind = Expression::Kind;
using Sizes = std::map<std::string, std::int64_t>;

constexpr std::int64_t tried_sizes = 64;  // from the least one on, and around the example's
constexpr std::int64_t greatest_size = std::int64_t{1} << 31;
constexpr std::size_t most_parts = 4096, most_symbols = 8;  // of a guard that is evaluated
constexpr std::size_t most_work = 50'000'000;               // parts that are evaluated, in all

bool same_name(std::string_view left, std::string_view right) {
  const auto plain = [](char c) { return c == '.' ? '_' : c; };
  return std::ranges::equal(left, right, {}, plain, plain);
}

std::size_t parts_of(const Expression& expression) {
  std::size_t parts = 1;
  for (const Expression& argument : expression.arguments) parts += parts_of(argument);
  return parts;
}

// With symbols in the places of inputs. Nullopt for an input that the program doesn't have, and where that takes more than
// `parts`.
std::optional<Expression> over_symbols(const Expression& guard, const ExportedInterface& exported, std::size_t& parts) {
  if (parts-- <= 1) return std::nullopt;
  if (guard.kind == Kind::source) {
    auto input = std::ranges::find(exported.inputs, guard.name, &ExportedInput::name);
    if (input == exported.inputs.end())
      input = std::ranges::find_if(exported.inputs, [&](const auto& each) { return same_name(each.name, guard.name); });
    if (input == exported.inputs.end()) return std::nullopt;
    const auto dimension = std::get<std::int64_t>(guard.value);
    if (dimension < 0) return input->number;
    if (static_cast<std::size_t>(dimension) >= input->sizes.size()) return std::nullopt;
    const Expression& size = input->sizes[static_cast<std::size_t>(dimension)];
    if (const std::size_t more = parts_of(size); more >= parts)
      return std::nullopt;
    else
      parts -= more;
    return size;
  }
  Expression made = guard;
  for (Expression& argument : made.arguments) {
    auto inner = over_symbols(argument, exported, parts);
    if (!inner) return std::nullopt;
    argument = std::move(*inner);
  }
  return made;
}

std::optional<Expression> over_symbols(const std::string& guard, const ExportedInterface& exported) {
  try {
    std::size_t parts = most_parts;
    return over_symbols(parse_expression(guard), exported, parts);
  } catch (const ModelError&) {  // not about sizes, or of a grammar that isn't known
    return std::nullopt;
  }
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
  const std::int64_t least = std::clamp<std::int64_t>(range.least.value_or(2), 2, greatest_size);
  const std::int64_t most = std::clamp<std::int64_t>(range.most.value_or(greatest_size), 0, greatest_size);
  std::set<std::int64_t> sizes{hint};
  for (std::int64_t i = 0; i < tried_sizes; ++i)
    for (const std::int64_t size : {least + i, hint + i, hint - i, hint * (i + 1)})
      if (size >= least && size <= most) sizes.insert(size);
  return {sizes.begin(), sizes.end()};
}

bool divides(const Expression& guard) { return guard.name == "Mod" || std::ranges::any_of(guard.arguments, divides); }

// Numbers by which the guard divides: it may hold at their multiples.
void add_periods(const Expression& guard, std::int64_t hint, std::set<std::int64_t>& sizes) {
  for (const Expression& argument : guard.arguments) {
    const auto* period = std::get_if<std::int64_t>(&argument.value);
    if (argument.kind == Kind::number && period && *period > 0 && *period < greatest_size)
      for (std::int64_t i = 1; i <= 4; ++i) {
        sizes.insert(hint + i * *period);
        sizes.insert(hint - i * *period);
      }
    add_periods(argument, hint, sizes);
  }
}

}  // namespace

Sizes apply_guards(ExportedInterface& exported, const std::vector<std::string>& guards, const Sizes& hints) {
  Sizes fixed;
  std::size_t work = 0;
  for (const std::string& text : guards) {
    const auto guard = over_symbols(text, exported);
    const auto symbols = guard ? symbols_of(*guard) : std::set<std::string>();
    const bool known =
        guard && symbols.size() <= most_symbols && work < most_work && std::ranges::all_of(symbols, [&](const auto& name) {
          return hints.contains(name) && hints.at(name) >= 0 && hints.at(name) < greatest_size;
        });
    if (!known) {
      exported.conditions.push_back(text);
      continue;
    }
    bool always = true, unknown = holds(*guard, hints) != true;
    std::size_t fits = 0, tries = 0;
    for (const std::string& symbol : symbols) {
      const auto range = exported.ranges.find(symbol);
      const SymbolRange bounds = range == exported.ranges.end() ? SymbolRange() : range->second;
      const auto tried = sizes_to_try(bounds, hints.at(symbol));
      std::set<std::int64_t> all(tried.begin(), tried.end());
      add_periods(*guard, hints.at(symbol), all);
      Sizes sizes = hints;
      for (const std::int64_t size : all) {
        if (size < bounds.least.value_or(2) || size > bounds.most.value_or(INT64_MAX)) continue;
        work += parts_of(*guard);
        sizes[symbol] = size;
        const auto truth = holds(*guard, sizes);
        unknown = unknown || !truth;
        fits += truth.value_or(false);
        ++tries;
        always = always && truth.value_or(false);
      }
    }
    if (always && !unknown) continue;
    // A relation of several sizes may hold at many: only one symbol alone is a number then.
    // An equation such as `n // 2 == 3` holds at a few sizes, for which the program is made.
    const bool few = fits == 1 || (guard->name == "Eq" && !divides(*guard) && 4 * fits <= tries);
    if (!unknown && symbols.size() == 1 && few)
      fixed.emplace(*symbols.begin(), hints.at(*symbols.begin()));
    else
      exported.conditions.push_back(text);
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
  for (const std::string& condition : exported.conditions)
    if (const auto guard = over_symbols(condition, exported); guard && holds(*guard, symbols) == false)
      return "the program is only valid where " + condition;
  return {};
}

}  // namespace compatcheck::frontend::pt2
