#include "analysis/exported_inputs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "analysis/input_spec.h"
#include "compatcheck/error.h"
#include "frontend/pt2/guards.h"
#include "ir/value_name.h"
#include "process/spell_count.h"
#include "symbolic/evaluate.h"

namespace compatcheck::analysis {
namespace {

using frontend::pt2::ExportedInput;
using frontend::pt2::Expression;
using ir::SizeRange;
using symbolic::Dim;
using ExpressionKind = Expression::Kind;

// The name or number of each symbol, as text.
using SymbolNames = std::map<std::string, std::string>;

bool is_plain_size(const Expression& size) {
  return size.kind == ExpressionKind::symbol ||
         (size.kind == ExpressionKind::number && std::holds_alternative<std::int64_t>(size.value));
}

const ir::Value* value_of(const Model::State& model, const ExportedInput& input) {
  const auto inputs = model.graph.inputs();
  const auto found = std::ranges::find_if(inputs, [&](const ir::Value* each) { return ir::input_name(*each) == input.name; });
  return found == inputs.end() ? nullptr : *found;
}

const std::string& name_of(const std::string& symbol, const SymbolNames& names) {
  const auto found = names.find(symbol);
  return found == names.end() ? symbol : found->second;
}

std::string text_of_size(const Expression& size, const SymbolNames& names) {
  if (size.kind == ExpressionKind::symbol) return name_of(size.name, names);
  return std::to_string(std::get<std::int64_t>(size.value));
}

Dim dim_of(const Expression& size, const SymbolNames& names) {
  if (size.kind == ExpressionKind::number) {
    const auto* whole = std::get_if<std::int64_t>(&size.value);
    return whole ? Dim(*whole) : Dim::unknown();
  }
  if (size.kind == ExpressionKind::symbol) {
    const std::string& text = name_of(size.name, names);
    if (!is_number(text)) return Dim::symbol(text);
    const auto number = number_in(text);
    return number ? Dim(*number) : Dim::unknown();
  }
  std::vector<Dim> dims;
  for (const Expression& argument : size.arguments) dims.push_back(dim_of(argument, names));
  if (dims.size() < 2) return Dim::unknown();
  Dim result = dims.front();
  for (std::size_t i = 1; i < dims.size(); ++i) {
    if (size.name == "Add")
      result = result + dims[i];
    else if (size.name == "Mul")
      result = result * dims[i];
    else if (size.name == "FloorDiv" && dims[i].number().value_or(0) > 0)
      result = floor_div(result, dims[i]);
    else if (size.name == "Mod" && dims[i].number().value_or(0) > 0)
      result = modulo(result, dims[i]);
    else
      return Dim::unknown();
  }
  return result;
}

std::set<std::string> symbols_of(const frontend::pt2::ExportedInterface& exported) {
  std::set<std::string> symbols;
  for (const ExportedInput& input : exported.inputs)
    for (const Expression& size : input.sizes)
      frontend::pt2::for_each_leaf(size, [&](const Expression& leaf) { symbols.insert(leaf.name); });
  return symbols;
}

class StatedInputs {
 public:
  StatedInputs(const Model::State& model, const CheckOptions& options)
      : model_(model), options_(options), symbols_(symbols_of(*model.exported)) {}

  CheckOptions options() {
    apply_names();
    const auto stated = stated_sizes(options_.inputs, model_.graph, model_.defaults);
    const auto facts = match_inputs(options_.inputs, model_.graph, model_.defaults);  // throws for inputs that no model accepts
    for (std::size_t i = 0; i < stated.size(); ++i) apply_input(options_.inputs[i], stated[i], facts[i].fact);
    refuse_by_guards(with_numbers());
    CheckOptions settled = options_;
    settled.dims.clear();
    for (const std::string& text : sizes_) settled.dims.push_back(with_name(text));
    add_ranges(settled.dims);
    for (const auto& [symbol, by] : names_)
      if (by != symbol && !is_number(by)) settled.dims.push_back(symbol + "=" + by);  // used in sizes that are expressions
    settled.inputs.clear();
    for (std::size_t i = 0; i < stated.size(); ++i)  // inputs for state
      if (std::ranges::find(model_.exported->inputs, stated[i].input, &ExportedInput::name) == model_.exported->inputs.end())
        settled.inputs.push_back(options_.inputs[i]);
    for (const ExportedInput& input : model_.exported->inputs)
      if (const auto text = option_of(input)) settled.inputs.push_back(*text);
    return settled;
  }

 private:
  // --dim s77=batch
  void apply_names() {
    for (const std::string& text : options_.dims) {
      const auto [name, size] = named_size(text);
      if (size.empty() || is_number(size)) {
        sizes_.push_back(text);
        continue;
      }
      if (range_in(size)) {
        ranges_.push_back(text);
        continue;
      }
      const std::string option = "CheckOptions::dims " + text;
      if (!symbols_.contains(name)) throw UsageError(option + ": the program has no symbol of that name" + known_symbols());
      if (!is_name(size)) throw UsageError(option + ": '" + size + "' is neither a size nor a name");
      replace(name, size, option);
    }
  }

  void apply_input(const std::string& text, const StatedSizes& stated, const symbolic::Fact& fact) {
    const std::string option = "CheckOptions::inputs " + text;
    const auto input = std::ranges::find(model_.exported->inputs, stated.input, &ExportedInput::name);
    const auto* tensor = fact.tensor();
    if (input == model_.exported->inputs.end() || !tensor) return;
    const ir::Value* value = value_of(model_, *input);
    if (value && ir::is(value->type(), ir::TypeKind::tensor) && value->type()->tensor.dtype != tensor->dtype)
      throw UsageError(option + ": the program takes " + std::string(ir::name(*value->type()->tensor.dtype)));
    if (stated.dims.size() != input->sizes.size())
      throw UsageError(option + ": the program takes " + spell_count(input->sizes.size(), "dimension"));
    for (std::size_t dim = 0; dim < stated.dims.size(); ++dim) {
      const Expression& size = input->sizes[dim];
      const std::string& given = stated.dims[dim];
      const std::string place = "dimension " + std::to_string(dim);
      if (size.kind == ExpressionKind::symbol) {
        replace(size.name, given, option);
      } else if (is_plain_size(size)) {
        if (given != text_of_size(size, {}))
          throw UsageError(option + ": " + place + " is " + text_of_size(size, {}) +
                           " in the program; export the model again with another example or a dynamic dimension");
      } else {
        solve_expression(size, given, option, place);
      }
    }
  }

  // Ranges that PyTorch enforces: it takes sizes of 0 and 1 where the file says from 2 on. Those of options are narrower.
  void add_ranges(std::vector<std::string>& dims) const {
    std::map<std::string, SizeRange> ranges;
    for (const std::string& symbol : symbols_)
      if (const auto found = model_.exported->ranges.find(symbol); found != model_.exported->ranges.end())
        ranges.emplace(symbol, found->second.least.value_or(0) > 2 ? found->second : SizeRange{{}, found->second.most});
    for (const std::string& text : ranges_) {
      const auto [name, size] = named_size(text);
      const SizeRange stated = range_in(size).value();
      bool found = false;
      for (const std::string& symbol : symbols_) {
        if (symbol != name && name_of(symbol, names_) != name) continue;
        for (const auto& end : {stated.least, stated.most})
          if (end) must_be_in_range(symbol, std::to_string(*end), "CheckOptions::dims " + text);
        SizeRange& range = ranges[symbol];
        if (stated.least) range.least = stated.least;
        if (stated.most) range.most = stated.most;
        found = true;
      }
      if (!found) throw UsageError("CheckOptions::dims " + text + ": no input has a dimension of that name" + known_symbols());
    }
    for (const auto& [symbol, range] : ranges) {
      const std::string& name = name_of(symbol, names_);
      const std::string text = to_string(range);
      if (range_in(text) && !is_number(name)) dims.push_back(name + "=" + text);  // a damaged file's range may hold nothing
    }
  }

  // 8 for 2*s40: s40 is 4.
  void solve_expression(const Expression& size, const std::string& given, const std::string& option, const std::string& place) {
    const Dim dim = dim_of(size, {});
    if (given == dim.to_string()) return;
    const std::string what = option + ": " + place + " is " + dim.to_string() + " in the program";
    const auto names = symbolic::names_in(dim);
    const auto stated = number_in(given);
    if (!is_number(given) || !stated || names.size() != 1)
      throw UsageError(what + "; only its symbol can be renamed: CheckOptions::dims " + (names.empty() ? "SYMBOL" : names[0]) +
                       "=NAME");
    const auto solved = symbolic::solve(dim, *stated);
    if (!solved)
      throw UsageError(what + "; no " + names[0] + " up to " + std::to_string(symbolic::most_solved) + " gives " + given);
    replace(names[0], std::to_string(*solved), option);
  }

  // s77=4 → batch=4, if another option gave the symbol that name.
  std::string with_name(const std::string& text) const {
    const auto [symbol, size] = named_size(text);
    const auto found = names_.find(symbol);
    return found == names_.end() || size.empty() ? text : found->second + "=" + size;
  }

  // --dim batch=4, also for a name that another option gave.
  SymbolNames with_numbers() const {
    SymbolNames names = names_;
    for (const std::string& text : sizes_) {
      const std::string option = "CheckOptions::dims " + text;
      const auto [name, size] = named_size(with_name(text));
      if (!is_number(size) || number_in(size).value_or(0) < 1) throw UsageError(option + ": expected NAME=N, N at least 1");
      if (symbols_.contains(name)) names.emplace(name, name);
      bool found = false;
      for (auto& [symbol, by] : names) {
        if (by != name) continue;
        must_be_in_range(symbol, size, option);
        by = size;
        found = true;
      }
      if (!found) throw UsageError(option + ": no input has a dimension of that name" + known_symbols());
    }
    return names;
  }

  // Where options state numbers.
  void refuse_by_guards(const SymbolNames& names) const {
    std::map<std::string, std::vector<std::int64_t>> sizes;
    for (const ExportedInput& input : model_.exported->inputs) {
      std::vector<std::int64_t> numbers;
      for (const Expression& size : input.sizes)
        if (const auto number = dim_of(size, names).number()) numbers.push_back(*number);
      if (numbers.size() == input.sizes.size()) sizes.emplace(input.name, std::move(numbers));
    }
    if (std::string why = frontend::pt2::violation(*model_.exported, sizes); !why.empty())
      throw UsageError("the sizes of CheckOptions::inputs and CheckOptions::dims don't fit: " + why);
  }

  void replace(const std::string& symbol, const std::string& by, const std::string& option) {
    if (const auto [known, added] = names_.emplace(symbol, by); !added && known->second != by)
      throw UsageError(option + ": the size is " + known->second +
                       " in another option, and both are one symbol of the program, " + symbol);
    must_be_in_range(symbol, by, option);
  }

  void must_be_in_range(const std::string& symbol, const std::string& by, const std::string& option) const {
    if (!is_number(by)) return;
    const auto range = model_.exported->ranges.find(symbol);
    if (range == model_.exported->ranges.end()) return;
    const std::int64_t size = number_in(by).value_or(-1);
    const SizeRange& bounds = range->second;
    if (!bounds.contains(size))
      throw UsageError(option + ": the program takes sizes " +
                       (bounds.least ? "from " + std::to_string(*bounds.least) + " " : "") +
                       (bounds.most ? "to " + std::to_string(*bounds.most) : "on") + " there");
  }

  // Nullopt: a number, None, or sizes that are expressions.
  std::optional<std::string> option_of(const ExportedInput& input) const {
    const ir::Value* value = value_of(model_, input);
    if (!value || !ir::is(value->type(), ir::TypeKind::tensor) || !value->type()->tensor.dtype) return std::nullopt;
    std::string text = input.name + "=" + std::string(ir::name(*value->type()->tensor.dtype)) + ":";
    for (std::size_t dim = 0; dim < input.sizes.size(); ++dim) {
      const std::string size = dim_of(input.sizes[dim], names_).to_string();
      if (!is_number(size) && !is_name(size)) return std::nullopt;
      text += (dim ? "," : "") + size;
    }
    return input.sizes.empty() ? text + "scalar" : text;
  }

  std::string known_symbols() const {
    std::string text;
    for (const std::string& symbol : symbols_) text += (text.empty() ? "; it has " : ", ") + symbol;
    return text;
  }

  const Model::State& model_;
  const CheckOptions& options_;
  const std::set<std::string> symbols_;
  SymbolNames names_;
  std::vector<std::string> sizes_, ranges_;  // dims with numbers, and with ranges
};

// Names in the options' texts, by the symbols in their places.
SymbolNames names_given(const Model::State& model, const CheckOptions& options) {
  SymbolNames names;
  for (const StatedSizes& stated : stated_sizes(options.inputs, model.graph, model.defaults)) {
    const auto input = std::ranges::find(model.exported->inputs, stated.input, &ExportedInput::name);
    if (input == model.exported->inputs.end()) continue;
    for (std::size_t dim = 0; dim < std::min(stated.dims.size(), input->sizes.size()); ++dim)
      if (input->sizes[dim].kind == ExpressionKind::symbol) names.emplace(input->sizes[dim].name, stated.dims[dim]);
  }
  for (const std::string& text : options.dims)
    if (const auto [symbol, name] = named_size(text); is_name(name)) names.emplace(symbol, name);
  return names;
}

}  // namespace

CheckOptions with_exported_inputs(const Model::State& model, CheckOptions options) {
  if (!model.exported) return options;
  return StatedInputs(model, options).options();
}

std::vector<std::string> with_fixed_sizes(const Model::State& model, std::vector<std::string> inputs) {
  if (!model.exported) return inputs;
  std::vector<std::string> kept;
  const auto all = stated_sizes(inputs, model.graph, model.defaults);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto input = std::ranges::find(model.exported->inputs, all[i].input, &ExportedInput::name);
    if (input == model.exported->inputs.end() || input->sizes.size() != all[i].dims.size() || input->sizes.empty()) {
      kept.push_back(inputs[i]);
      continue;
    }
    std::string text;
    bool follows = false;  // depends on other sizes, which are stated elsewhere
    for (std::size_t dim = 0; dim < input->sizes.size(); ++dim) {
      const Expression& size = input->sizes[dim];
      const std::string& given = all[i].dims[dim];
      follows = follows || (!is_plain_size(size) && !is_number(given));
      text += (dim ? "," : "") + (size.kind == ExpressionKind::number && !is_number(given) ? text_of_size(size, {}) : given);
    }
    if (!follows) kept.push_back(inputs[i].substr(0, inputs[i].find(':') + 1) + text);
  }
  return kept;
}

std::vector<symbolic::SizeDemand> stated_ranges(const Model::State& model, const CheckOptions& options) {
  std::vector<symbolic::SizeDemand> demands;
  const auto at_least = [&](const Dim& size, const Dim& bound) {
    demands.push_back({.size = size, .other = bound, .relation = symbolic::SizeDemand::Relation::at_least});
  };
  for (const auto& [name, range] : named_ranges(options.dims)) {
    if (range.least) at_least(Dim::symbol(name), *range.least);
    if (range.most) at_least(*range.most, Dim::symbol(name));
  }
  if (!model.exported) return demands;
  const SymbolNames names = names_given(model, options);
  for (const auto& [symbol, range] : model.exported->ranges) {
    const Dim size = dim_of({.kind = ExpressionKind::symbol, .name = symbol}, names);
    if (size.is_number() || !is_name(symbol)) continue;  // the file has ranges of expressions, too
    if (range.least) at_least(size, *range.least);
    if (range.most) at_least(Dim(*range.most), size);
  }
  return demands;
}

std::vector<conversion::InputFact> exported_facts(const Model::State& model, const CheckOptions& options) {
  std::vector<conversion::InputFact> facts;
  if (!model.exported) return facts;
  const SymbolNames names = names_given(model, options);
  for (const ExportedInput& input : model.exported->inputs) {
    if (std::ranges::all_of(input.sizes, is_plain_size)) continue;  // stated by an option
    const ir::Value* value = value_of(model, input);
    if (!value) continue;
    symbolic::TensorFact tensor{.dtype = value->type()->tensor.dtype, .shape = symbolic::Shape{}};
    for (const Expression& size : input.sizes) tensor.shape->push_back(dim_of(size, names));
    facts.push_back({input.name, {.value = std::move(tensor)}});
  }
  return facts;
}

}  // namespace compatcheck::analysis
