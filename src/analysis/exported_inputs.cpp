#include "analysis/exported_inputs.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>

#include "analysis/input_spec.h"
#include "compatcheck/error.h"
#include "frontend/pt2/guards.h"
#include "ir/value_name.h"
#include "symbolic/evaluate.h"

namespace compatcheck::analysis {
namespace {

using frontend::pt2::ExportedInput;
using frontend::pt2::Expression;
using frontend::pt2::SymbolRange;
using symbolic::Dim;
using Kind = Expression::Kind;

// What stands for a symbol: a name or a number, as text.
using Stands = std::map<std::string, std::string>;

bool is_plain(const Expression& size) {
  return size.kind == Kind::symbol || (size.kind == Kind::number && std::holds_alternative<std::int64_t>(size.value));
}

// Ranges of expressions stand beside those of symbols.
bool is_name_of_size(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

const ir::Value* value_of(const Model::State& model, const ExportedInput& input) {
  const auto inputs = model.graph.inputs();
  const auto found = std::ranges::find_if(inputs, [&](const ir::Value* each) { return ir::input_name(*each) == input.name; });
  return found == inputs.end() ? nullptr : *found;
}

const std::string& spelled(const std::string& symbol, const Stands& stands) {
  const auto found = stands.find(symbol);
  return found == stands.end() ? symbol : found->second;
}

std::string text_of(const Expression& size, const Stands& stands) {
  if (size.kind == Kind::symbol) return spelled(size.name, stands);
  return std::to_string(std::get<std::int64_t>(size.value));
}

Dim dim_of(const Expression& size, const Stands& stands) {
  if (size.kind == Kind::number) {
    const auto* whole = std::get_if<std::int64_t>(&size.value);
    return whole ? Dim(*whole) : Dim::unknown();
  }
  if (size.kind == Kind::symbol) {
    const std::string& text = spelled(size.name, stands);
    if (!is_number(text)) return Dim::symbol(text);
    const auto number = number_in(text);
    return number ? Dim(*number) : Dim::unknown();
  }
  std::vector<Dim> dims;
  for (const Expression& argument : size.arguments) dims.push_back(dim_of(argument, stands));
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

class Settling {
 public:
  Settling(const Model::State& model, const CheckOptions& options) : model_(model), options_(options) {}

  CheckOptions settle() {
    take_names();
    const auto stated = stated_sizes(options_.inputs, model_.graph);
    const auto facts = match_inputs(options_.inputs, model_.graph);  // refuses what no model takes
    for (std::size_t i = 0; i < stated.size(); ++i) take(options_.inputs[i], stated[i], facts[i].fact);
    refuse_by_guards(with_numbers());
    CheckOptions settled = options_;
    settled.dims.clear();
    for (const std::string& text : sizes_) settled.dims.push_back(with_name(text));
    for (const auto& [symbol, by] : stands_)
      if (by != symbol && !is_number(by)) settled.dims.push_back(symbol + "=" + by);  // for sizes that are expressions
    settled.inputs.clear();
    for (std::size_t i = 0; i < stated.size(); ++i)  // of state
      if (std::ranges::find(model_.exported->inputs, stated[i].input, &ExportedInput::name) == model_.exported->inputs.end())
        settled.inputs.push_back(options_.inputs[i]);
    for (const ExportedInput& input : model_.exported->inputs)
      if (const auto text = option_of(input)) settled.inputs.push_back(*text);
    return settled;
  }

 private:
  // --dim s77=batch
  void take_names() {
    for (const std::string& text : options_.dims) {
      const auto equals = text.find('=');
      const std::string name = text.substr(0, equals), size = equals == text.npos ? "" : text.substr(equals + 1);
      if (size.empty() || is_number(size)) {
        sizes_.push_back(text);
        continue;
      }
      const std::string option = "CheckOptions::dims " + text;
      if (!is_symbol(name)) throw UsageError(option + ": the program has no symbol of that name" + symbols());
      replace(name, size, option);
    }
  }

  void take(const std::string& text, const StatedSizes& stated, const symbolic::Fact& fact) {
    const std::string option = "CheckOptions::inputs " + text;
    const auto input = std::ranges::find(model_.exported->inputs, stated.input, &ExportedInput::name);
    const auto* tensor = fact.tensor();
    if (input == model_.exported->inputs.end() || !tensor) return;
    const ir::Value* value = value_of(model_, *input);
    if (value && ir::is(value->type(), ir::TypeKind::tensor) && value->type()->tensor.dtype != tensor->dtype)
      throw UsageError(option + ": the program takes " + std::string(ir::name(*value->type()->tensor.dtype)));
    if (stated.dims.size() != input->sizes.size())
      throw UsageError(option + ": the program takes " + std::to_string(input->sizes.size()) + " dimensions");
    for (std::size_t dim = 0; dim < stated.dims.size(); ++dim) {
      const Expression& size = input->sizes[dim];
      const std::string& given = stated.dims[dim];
      const std::string place = "dimension " + std::to_string(dim);
      if (size.kind == Kind::symbol) {
        replace(size.name, given, option);
      } else if (is_plain(size)) {
        if (given != text_of(size, {}))
          throw UsageError(option + ": " + place + " is " + text_of(size, {}) +
                           " in the program; export the model again with another example or a dynamic dimension");
      } else {
        take_expression(size, given, option, place);
      }
    }
  }

  // 8 for 2*s40: s40 is 4.
  void take_expression(const Expression& size, const std::string& given, const std::string& option, const std::string& place) {
    const Dim dim = dim_of(size, {});
    if (given == dim.to_string()) return;
    const std::string what = option + ": " + place + " is " + dim.to_string() + " in the program";
    const auto names = symbolic::names_in(dim);
    const auto wanted = number_in(given);
    if (!is_number(given) || !wanted || names.size() != 1)
      throw UsageError(what + ", which gets no other name: CheckOptions::dims " + (names.empty() ? "SYMBOL" : names[0]) +
                       "=NAME names the size that it is made of");
    const auto solved = symbolic::solve(dim, *wanted);
    if (!solved)
      throw UsageError(what + ", and " + given + " for no " + names[0] + " up to " + std::to_string(symbolic::most_solved));
    replace(names[0], std::to_string(*solved), option);
  }

  // s77=4 → batch=4, where another option gave the symbol that name.
  std::string with_name(const std::string& text) const {
    const auto equals = text.find('=');
    const auto stand = stands_.find(text.substr(0, equals));
    return stand == stands_.end() || equals == text.npos ? text : stand->second + text.substr(equals);
  }

  // --dim batch=4, also for a name that another option gave.
  Stands with_numbers() const {
    Stands stands = stands_;
    for (const std::string& text : sizes_) {
      const std::string named = with_name(text), option = "CheckOptions::dims " + text;
      const auto equals = named.find('=');
      const std::string name = named.substr(0, equals), size = equals == named.npos ? "" : named.substr(equals + 1);
      if (!is_number(size) || number_in(size).value_or(0) < 1) throw UsageError(option + ": expected NAME=N, N at least 1");
      if (is_symbol(name)) stands.emplace(name, name);
      bool found = false;
      for (auto& [symbol, by] : stands) {
        if (by != name) continue;
        must_be_in_range(symbol, size, option);
        by = size;
        found = true;
      }
      if (!found) throw UsageError(option + ": no input has a dimension of that name" + symbols());
    }
    return stands;
  }

  // Where options state numbers.
  void refuse_by_guards(const Stands& stands) const {
    std::map<std::string, std::vector<std::int64_t>> sizes;
    for (const ExportedInput& input : model_.exported->inputs) {
      std::vector<std::int64_t> numbers;
      for (const Expression& size : input.sizes)
        if (const auto number = dim_of(size, stands).number()) numbers.push_back(*number);
      if (numbers.size() == input.sizes.size()) sizes.emplace(input.name, std::move(numbers));
    }
    if (std::string why = frontend::pt2::violation(*model_.exported, sizes); !why.empty())
      throw UsageError("CheckOptions::inputs: " + why);
  }

  void replace(const std::string& symbol, const std::string& by, const std::string& option) {
    if (const auto [known, added] = stands_.emplace(symbol, by); !added && known->second != by)
      throw UsageError(option + ": the size is " + known->second +
                       " in another option, and both are one symbol of the program, " + symbol);
    must_be_in_range(symbol, by, option);
  }

  void must_be_in_range(const std::string& symbol, const std::string& by, const std::string& option) const {
    if (!is_number(by)) return;
    const auto range = model_.exported->ranges.find(symbol);
    if (range == model_.exported->ranges.end()) return;
    const std::int64_t size = number_in(by).value_or(-1);
    const SymbolRange& bounds = range->second;
    if ((bounds.least && size < *bounds.least) || (bounds.most && size > *bounds.most))
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
      const std::string size = dim_of(input.sizes[dim], stands_).to_string();
      if (!is_name_of_size(size)) return std::nullopt;
      text += (dim ? "," : "") + size;
    }
    return input.sizes.empty() ? text + "scalar" : text;
  }

  bool is_symbol(const std::string& name) const {
    return std::ranges::any_of(model_.exported->inputs, [&](const ExportedInput& input) {
      return std::ranges::any_of(input.sizes, [&](const Expression& size) {
        bool found = false;
        frontend::pt2::for_each_leaf(size, [&](const Expression& leaf) { found = found || leaf.name == name; });
        return found;
      });
    });
  }

  std::string symbols() const {
    std::string text;
    for (const ExportedInput& input : model_.exported->inputs)
      for (const Expression& size : input.sizes)
        frontend::pt2::for_each_leaf(size, [&](const Expression& leaf) {
          if (text.find(leaf.name) == text.npos) text += (text.empty() ? "; it has " : ", ") + leaf.name;
        });
    return text;
  }

  const Model::State& model_;
  const CheckOptions& options_;
  Stands stands_;
  std::vector<std::string> sizes_;  // dims with numbers
};

// Names in the options' texts, by the symbols in their places.
Stands stands_in(const Model::State& model, const CheckOptions& options) {
  Stands stands;
  for (const StatedSizes& stated : stated_sizes(options.inputs, model.graph)) {
    const auto input = std::ranges::find(model.exported->inputs, stated.input, &ExportedInput::name);
    if (input == model.exported->inputs.end()) continue;
    for (std::size_t dim = 0; dim < std::min(stated.dims.size(), input->sizes.size()); ++dim)
      if (input->sizes[dim].kind == Kind::symbol) stands.emplace(input->sizes[dim].name, stated.dims[dim]);
  }
  for (const std::string& text : options.dims)
    if (const auto equals = text.find('='); equals != text.npos && !is_number(text.substr(equals + 1)))
      stands.emplace(text.substr(0, equals), text.substr(equals + 1));
  return stands;
}

}  // namespace

CheckOptions with_exported_inputs(const Model::State& model, CheckOptions options) {
  if (!model.exported) return options;
  return Settling(model, options).settle();
}

std::vector<std::string> as_the_program_has(const Model::State& model, std::vector<std::string> inputs) {
  if (!model.exported) return inputs;
  std::vector<std::string> kept;
  const auto all = stated_sizes(inputs, model.graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto input = std::ranges::find(model.exported->inputs, all[i].input, &ExportedInput::name);
    if (input == model.exported->inputs.end() || input->sizes.size() != all[i].dims.size() || input->sizes.empty()) {
      kept.push_back(inputs[i]);
      continue;
    }
    std::string text;
    bool follows = false;  // from other sizes, which are stated where they stand
    for (std::size_t dim = 0; dim < input->sizes.size(); ++dim) {
      const Expression& size = input->sizes[dim];
      const std::string& given = all[i].dims[dim];
      follows = follows || (!is_plain(size) && !is_number(given));
      text += (dim ? "," : "") + (size.kind == Kind::number && !is_number(given) ? text_of(size, {}) : given);
    }
    if (!follows) kept.push_back(inputs[i].substr(0, inputs[i].find(':') + 1) + text);
  }
  return kept;
}

std::vector<symbolic::SizeDemand> exported_ranges(const Model::State& model, const CheckOptions& options) {
  std::vector<symbolic::SizeDemand> demands;
  if (!model.exported) return demands;
  const Stands stands = stands_in(model, options);
  const auto at_least = [&](const Dim& size, const Dim& bound) {
    demands.push_back({.size = size, .other = bound, .relation = symbolic::SizeDemand::Relation::at_least});
  };
  for (const auto& [symbol, range] : model.exported->ranges) {
    const Dim size = dim_of({.kind = Kind::symbol, .name = symbol}, stands);
    if (size.is_number() || !is_name_of_size(symbol)) continue;
    if (range.least) at_least(size, *range.least);
    if (range.most) at_least(Dim(*range.most), size);
  }
  return demands;
}

std::vector<conversion::InputFact> exported_facts(const Model::State& model, const CheckOptions& options) {
  std::vector<conversion::InputFact> facts;
  if (!model.exported) return facts;
  const Stands stands = stands_in(model, options);
  for (const ExportedInput& input : model.exported->inputs) {
    if (std::ranges::all_of(input.sizes, is_plain)) continue;  // stated by an option
    const ir::Value* value = value_of(model, input);
    if (!value) continue;
    symbolic::TensorFact tensor{.dtype = value->type()->tensor.dtype, .shape = symbolic::Shape{}};
    for (const Expression& size : input.sizes) tensor.shape->push_back(dim_of(size, stands));
    facts.push_back({input.name, {.value = std::move(tensor)}});
  }
  return facts;
}

}  // namespace compatcheck::analysis
