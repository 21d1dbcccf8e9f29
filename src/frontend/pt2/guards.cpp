#include "frontend/pt2/guards.h"

#include <algorithm>
#include <set>

#include "compatcheck/error.h"

namespace compatcheck::frontend::pt2 {
namespace {

using ExpressionKind = Expression::Kind;
using Sizes = std::map<std::string, std::int64_t>;

constexpr std::int64_t tried_sizes = 64;  // sizes tried from the least one up, and around the example's
constexpr std::int64_t greatest_size = (std::int64_t{1} << 31) - 1;
constexpr std::size_t most_parts = 4096, most_symbols = 8;  // limits for a guard that is evaluated
constexpr std::size_t most_work = 50'000'000;               // most parts evaluated in total

bool same_name(std::string_view left, std::string_view right) {
  const auto plain = [](char c) { return c == '.' ? '_' : c; };
  return std::ranges::equal(left, right, {}, plain, plain);
}

std::size_t parts_of(const Expression& expression) {
  std::size_t parts = 1;
  for (const Expression& argument : expression.arguments) parts += parts_of(argument);
  return parts;
}

// Puts symbols in the places of inputs. False for an input that the program doesn't have, and if that takes more than `parts`.
bool put_symbols(Expression& guard, const ExportedInterface& exported, std::size_t& parts) {
  if (parts-- <= 1) return false;
  if (guard.kind != ExpressionKind::source)
    return std::ranges::all_of(guard.arguments, [&](Expression& argument) { return put_symbols(argument, exported, parts); });
  auto input = std::ranges::find(exported.inputs, guard.name, &ExportedInput::name);
  if (input == exported.inputs.end())
    input = std::ranges::find_if(exported.inputs, [&](const auto& each) { return same_name(each.name, guard.name); });
  if (input == exported.inputs.end()) return false;
  const auto dimension = std::get<std::int64_t>(guard.value);
  if (dimension < 0) {
    if (input->number) guard = *input->number;
    return input->number.has_value();
  }
  if (static_cast<std::size_t>(dimension) >= input->sizes.size()) return false;
  const Expression& size = input->sizes[static_cast<std::size_t>(dimension)];
  const std::size_t more = parts_of(size);
  if (more >= parts) return false;
  parts -= more;
  guard = size;
  return true;
}

std::optional<Expression> over_symbols(const std::string& text, const ExportedInterface& exported) {
  try {
    std::size_t parts = most_parts;
    Expression guard = parse_expression(text);
    return put_symbols(guard, exported, parts) ? std::optional(std::move(guard)) : std::nullopt;
  } catch (const ModelError&) {  // not about sizes, or of a grammar that isn't known
    return std::nullopt;
  }
}

ValueOf values_in(const Sizes& sizes) {
  return [&sizes](const Expression& leaf) -> std::optional<Expression::Number> {
    const auto found = sizes.find(leaf.name);
    return found == sizes.end() ? std::nullopt : std::optional<Expression::Number>(found->second);
  };
}

std::optional<bool> guard_holds(const Expression& guard, const Sizes& sizes) {
  const auto value = evaluate(guard, values_in(sizes));
  if (!value) return std::nullopt;
  return std::visit([](auto number) { return number != 0; }, *value);
}

bool divides(const Expression& guard) { return guard.name == "Mod" || std::ranges::any_of(guard.arguments, divides); }

// Sizes beyond each constant of the guard, where its truth may change.
void add_constants(const Expression& guard, std::int64_t hint, std::set<std::int64_t>& sizes) {
  for (const Expression& argument : guard.arguments) {
    const auto* period = std::get_if<std::int64_t>(&argument.value);
    if (argument.kind == ExpressionKind::number && period && *period > 0 && *period < greatest_size)
      for (std::int64_t i = 1; i <= 4; ++i) {
        sizes.insert(hint + i * *period);
        sizes.insert(hint - i * *period);
      }
    add_constants(argument, hint, sizes);
  }
}

// A guard is evaluated, not proved: at the ends of the range, around the example's size, and at its multiples.
std::set<std::int64_t> sizes_to_try(const Expression& guard, const ir::SizeRange& range, std::int64_t hint) {
  // The exporter specialises 0 and 1 and then takes sizes of at least 2 for granted.
  const std::int64_t least = std::clamp<std::int64_t>(range.least.value_or(2), 2, greatest_size);
  const std::int64_t most = std::min(range.most.value_or(greatest_size), greatest_size);
  std::set<std::int64_t> sizes{most};
  for (std::int64_t i = 0; i < tried_sizes; ++i) sizes.insert({least + i, hint + i, hint - i, hint * (i + 1)});
  add_constants(guard, hint, sizes);
  std::erase_if(sizes, [&](std::int64_t size) { return size != hint && (size < least || size > most); });
  return sizes;
}

ir::SizeRange range_of(const ExportedInterface& exported, const std::string& symbol) {
  const auto range = exported.ranges.find(symbol);
  return range == exported.ranges.end() ? ir::SizeRange() : range->second;
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
          return hints.contains(name) && hints.at(name) >= 0 && hints.at(name) <= greatest_size;
        });
    if (!known) {
      exported.conditions.push_back(text);
      continue;
    }
    bool unknown = guard_holds(*guard, hints) != true;
    const std::size_t parts = parts_of(*guard);
    std::size_t fits = 0, tries = 0;
    for (const std::string& symbol : symbols) {
      Sizes sizes = hints;
      for (const std::int64_t size : sizes_to_try(*guard, range_of(exported, symbol), hints.at(symbol))) {
        work += parts;
        sizes[symbol] = size;
        const auto truth = guard_holds(*guard, sizes);
        unknown = unknown || !truth;
        fits += truth.value_or(false);
        ++tries;
      }
    }
    if (fits == tries && !unknown) continue;
    // A relation of several sizes may hold for many combinations, so only a guard with a single symbol fixes a size. An
    // equation that holds at a quarter of the sizes or fewer, such as `n // 2 == 3`, comes from the example; one that holds at
    // more, such as `n // 64 == 0`, is a range.
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
  const auto for_each_size = [&](auto&& visit) {
    for (const ExportedInput& input : exported.inputs)
      if (const auto given = sizes.find(input.name); given != sizes.end() && given->second.size() == input.sizes.size())
        for (std::size_t dim = 0; dim < input.sizes.size(); ++dim) visit(input, dim, given->second[dim]);
  };
  for_each_size([&](const ExportedInput& input, std::size_t dim, std::int64_t size) {
    if (input.sizes[dim].kind == ExpressionKind::symbol) symbols.emplace(input.sizes[dim].name, size);
  });
  std::string wrong;
  for_each_size([&](const ExportedInput& input, std::size_t dim, std::int64_t size) {
    const auto value = evaluate(input.sizes[dim], values_in(symbols));
    const auto* required = value ? std::get_if<std::int64_t>(&*value) : nullptr;
    if (wrong.empty() && required && *required != size)
      wrong = "dimension " + std::to_string(dim) + " of " + input.name + " must be " + std::to_string(*required) + ", not " +
              std::to_string(size);
  });
  if (!wrong.empty()) return wrong;
  for (const auto& [symbol, size] : symbols)
    if (const ir::SizeRange range = range_of(exported, symbol); !range.contains(size))
      return "the size " + symbol + " is " + std::to_string(size) + ", but must be " + to_string(range);
  for (const std::string& condition : exported.conditions)
    if (const auto guard = over_symbols(condition, exported); guard && guard_holds(*guard, symbols) == false)
      return "the program requires " + condition;
  return {};
}

}  // namespace compatcheck::frontend::pt2
