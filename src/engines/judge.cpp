#include "engines/judge.h"

#include <algorithm>
#include <array>
#include <optional>

#include "compatcheck/check.h"
#include "engines/condition.h"
#include "engines/expand.h"

namespace compatcheck::engines {
namespace {

constexpr int deepest_function = 8;  // functions in functions

Verdict verdict(Support support, std::string_view rule, std::string message, SettledBy settled_by = SettledBy::nothing) {
  return {support, std::string(rule), std::move(message), {}, settled_by};
}

// How far an entry went before it refused tells which refusal says most.
int progress(const Verdict& one) {
  const int step = one.rule == "CC104" ? 3 : one.rule == "CC103" ? 2 : one.rule == "CC105" ? 1 : 0;
  return one.support == Support::yes ? 100 : one.support == Support::unknown ? 10 + step : step;
}

bool is_typed(const Operand& operand) { return operand.dtype || !operand.other_type.empty(); }

std::string type_name(const Operand& operand) {
  const std::string name(operand.dtype ? ir::name(*operand.dtype) : operand.other_type);
  return operand.sequence ? "seq(" + name + ")" : name;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool lists(const TypeList& list, const std::string& type) {
  const bool named = contains(list.names, type) || (type.starts_with("seq(") && contains(list.names, "seq"));
  return named != list.excluded;
}

// "1 to 12, 16": of all entries.
std::string ranges(const OperatorEntries& entries) {
  std::vector<Versions> all;
  for (const Entry& entry : entries.entries) all.insert(all.end(), entry.versions.begin(), entry.versions.end());
  std::ranges::sort(all, {}, &Versions::first);
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Versions one = all[i];
    while (i + 1 < all.size() && one.last != no_end && all[i + 1].first <= one.last + 1)
      one.last = std::max(one.last, all[++i].last);
    text += (text.empty() ? "" : ", ") + std::to_string(one.first) +
            (one.last == no_end      ? " and later"
             : one.last == one.first ? ""
                                     : " to " + std::to_string(one.last));
  }
  return text;
}

const onnx::Formal* formal_at(std::span<const onnx::Formal> formals, std::size_t index) {
  if (index < formals.size()) return &formals[index];
  return !formals.empty() && formals.back().option == onnx::Formal::Option::variadic ? &formals.back() : nullptr;
}

using Dtypes = std::vector<std::pair<std::string, std::string>>;  // each dtype and the one read instead

std::optional<ir::DType> other_of(const Operand& operand, const Dtypes& others) {
  if (!operand.dtype || operand.sequence) return std::nullopt;
  const auto found = std::ranges::find(others, ir::name(*operand.dtype), &Dtypes::value_type::first);
  return found == others.end() ? std::nullopt : ir::dtype_from_name(found->second);
}

Node with_others(const Node& node, const Dtypes& others) {
  Node made = node;
  for (auto* operands : {&made.inputs, &made.outputs})
    for (Operand& operand : *operands)
      if (const auto other = other_of(operand, others)) operand.dtype = other;
  return made;
}

// "the engine reads f64 as f32": of the node's operands that are others to it; empty if none is.
std::string what_is_read(const Node& node, const Dtypes& others) {
  for (const auto* operands : {&node.inputs, &node.outputs})
    for (const Operand& operand : *operands)
      if (const auto other = other_of(operand, others))
        return "the engine reads " + std::string(ir::name(*operand.dtype)) + " as " + std::string(ir::name(*other));
  return {};
}

// Returns a node that reads the dtype in its cast form; one that only makes it stays.
std::optional<Node> cast(const Node& node, const Dtypes& casts) {
  if (std::ranges::none_of(node.inputs, [&](const Operand& operand) { return other_of(operand, casts).has_value(); }))
    return std::nullopt;
  return with_others(node, casts);
}

// Whether the operator leaves a choice: indices, shapes and conditions are of one kind.
bool leaves_open(const Operand& operand, const onnx::Formal* formal) {
  constexpr std::array<std::string_view, 3> kinds = {"tensor(int64)", "tensor(int32)", "tensor(bool)"};
  if (!formal || operand.sequence) return true;
  return formal->types.size() != 1 && !std::ranges::all_of(formal->types, [&](std::string_view type) {
           return std::ranges::find(kinds, type) != kinds.end();
         });
}

// An output's type, where nobody says it: that of the inputs of its type parameter.
void complete_type(Operand& operand, const Node& node, const onnx::Formal* formal) {
  if (is_typed(operand) || !formal) return;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto* other = formal_at(node.schema->inputs, i);
    if (!other || other->type != formal->type || !is_typed(node.inputs[i])) continue;
    operand.dtype = node.inputs[i].dtype;
    operand.other_type = node.inputs[i].other_type;
    return;
  }
}

}  // namespace

bool Judge::is_initializer(const Node& node) const { return contains(profile_.initializers, node.name()); }

Verdict Judge::judge(const Node& node, int opset, int depth) const {
  if (is_initializer(node)) return {};
  const std::string read = what_is_read(node, profile_.reads);
  if (read.empty()) return as_read(node, node, opset, depth);
  Verdict judged = as_read(with_others(node, profile_.reads), node, opset, depth);
  if (judged.support != Support::yes) return judged;
  judged.note += (judged.note.empty() ? "" : "; ") + read;
  judged.rule = "CC104";
  return judged;
}

Verdict Judge::as_read(const Node& node, const Node& original, int opset, int depth) const {
  const OperatorEntries* entries = profile_.find(node.name());
  Verdict judged;
  if (entries)
    judged = by_entries(*entries, node, opset);
  else if (contains(profile_.own, node.name()))
    return {};
  else if (profile_.unlisted == Support::no)
    judged = verdict(Support::no, "CC101", "the engine doesn't support " + node.name());
  else
    judged = verdict(Support::unknown, "CC105", "the engine's profile doesn't list " + node.name());
  if (judged.support == Support::yes) return judged;
  if (const auto other = entries ? cast(node, profile_.casts) : std::nullopt)
    if (const Verdict again = by_entries(*entries, *other, opset); progress(again) > progress(judged)) judged = again;
  if (judged.support == Support::yes || judged.of_body_too) return judged;
  if (auto body = by_body(original, opset, depth); body && (!entries || progress(*body) > progress(judged)))
    return *std::move(body);
  return judged;
}

// A function that the model carries is no operator of its own; ONNX's functions are its bodies where the profile says so.
std::optional<Verdict> Judge::by_body(const Node& node, int opset, int depth) const {
  const bool carried = !node.schema;
  if (depth >= deepest_function || (!carried && !profile_.functions)) return std::nullopt;
  const Verdict whole = carried ? Verdict{.support = Support::no} : by_engine_behind(node, opset);
  if (whole.support == Support::yes) return std::nullopt;
  const auto nodes = expand(node);
  if (!nodes) return std::nullopt;
  if (carried && !profile_.local_functions)
    return verdict(Support::no, "CC101", "the engine runs no functions that a model carries, such as " + node.name());
  Verdict worst;
  for (const Node& inner : *nodes) {
    Verdict one = judge(inner, opset, depth + 1);
    if (progress(one) < progress(worst) || (one.support == Support::no && worst.support != Support::no)) worst = std::move(one);
  }
  if (worst.support != Support::yes)
    worst.message = "in the body of " + node.name() + ": " + worst.message;
  else if (whole.support == Support::unknown)
    return verdict(Support::unknown, whole.rule,
                   "it isn't known whether the engine expands " + node.name() + " into its body: " + whole.message,
                   whole.settled_by);
  return worst;
}

// ONNX Runtime lets every provider take what it has a kernel for, the CPU's last, before it looks at functions.
Verdict Judge::by_engine_behind(const Node& node, int opset) const {
  const OperatorEntries* entries = profile_.profile_behind ? profile_.profile_behind->find(node.name()) : nullptr;
  return entries ? Judge(*profile_.profile_behind, changes_).by_entries(*entries, node, opset) : Verdict{.support = Support::no};
}

bool Judge::takes_body(const Node& node, int opset) const {
  const auto nodes = expand(node);
  return nodes && std::ranges::all_of(*nodes, [&](const Node& inner) {
           return inner.op == "Constant" || judge(inner, opset, 1).support == Support::yes;
         });
}

Verdict Judge::by_entries(const OperatorEntries& entries, const Node& node, int opset) const {
  if (profile_.match == Match::since) return by_translator(entries, node);
  const int counted = profile_.match == Match::model ? opset : node.version;
  std::optional<Verdict> best;
  Verdict limit;
  const auto is_of_version = [&](const Entry& entry) {
    return entry.versions.empty() || std::ranges::any_of(entry.versions, [&](Versions one) { return one.holds(counted); });
  };
  for (const Entry& entry : entries.entries) {
    if (!entry.decides || !is_of_version(entry)) continue;
    Verdict one = by_limit(entry, node);
    if (one.support == Support::no) return one;
    if (limit.support == Support::yes) limit = std::move(one);
  }
  for (const Entry& entry : entries.entries) {
    if (entry.decides || !is_of_version(entry)) continue;
    Verdict one = by_entry(entry, node);
    if (one.support == Support::yes) return limit.support == Support::yes ? one : limit;
    if (!best || progress(one) > progress(*best)) best = std::move(one);
  }
  return best ? *std::move(best) : version_gap(entries, node, opset);
}

Verdict Judge::version_gap(const OperatorEntries& entries, const Node& node, int opset) const {
  const std::string supported = ranges(entries);
  if (profile_.match == Match::model)
    return verdict(
        Support::no, "CC102",
        "the engine supports " + node.name() + " in models of opset " + supported + ", not of opset " + std::to_string(opset));
  const bool one = supported.find_first_not_of("0123456789") == std::string::npos;
  return verdict(Support::no, "CC102",
                 std::string("the engine supports ") + (one ? "version " : "versions ") + supported + " of " + node.name() +
                     "; opset " + std::to_string(opset) + " has version " + std::to_string(node.version));
}

// An entry that decides: yes for a node that it isn't about.
Verdict Judge::by_limit(const Entry& entry, const Node& node) const {
  const Verdict types = types_fit(entry, node);
  if (types.support == Support::no) return {};
  const Fit fit = fits(entry.when, node);
  if (fit.support == Support::no) return {};
  if (types.support == Support::unknown) return types;
  if (fit.support == Support::unknown)
    return verdict(Support::unknown, "CC104", node.name() + ": " + entry.words + ", and " + fit.message, fit.settled_by);
  Verdict made = verdict(entry.support, "CC104", node.name() + ": " + entry.words);
  made.of_body_too = true;
  return made;
}

Verdict Judge::by_entry(const Entry& entry, const Node& node) const {
  if (entry.support == Support::no) {
    Verdict made = verdict(Support::no, "CC101",
                           "the engine doesn't support " + node.name() + (entry.words.empty() ? "" : ": " + entry.words));
    made.of_body_too = true;
    return made;
  }
  Verdict judged = types_fit(entry, node);
  if (judged.support == Support::no) return judged;
  if (const Fit fit = fits(entry.when, node); fit.support != Support::yes) {
    if (judged.support == Support::yes || fit.support == Support::no)
      judged = verdict(fit.support, "CC104", node.name() + ": " + fit.message, fit.settled_by);
  }
  if (judged.support != Support::yes) return judged;
  if (entry.support != Support::yes)
    return verdict(entry.support, entry.words.empty() ? "CC105" : "CC104",
                   entry.words.empty() ? "the profile doesn't say whether the engine supports " + node.name()
                                       : node.name() + ": " + entry.words);
  return {.rule = entry.note.empty() ? "" : "CC104", .note = entry.note};
}

Verdict Judge::types_fit(const Entry& entry, const Node& node) const {
  Verdict total;
  const auto look = [&](const std::vector<Operand>& operands, bool inputs) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Operand operand = operands[i];
      if (inputs && !operand.given) continue;
      const std::string place = (inputs ? "inputs." : "outputs.") + std::to_string(i);
      const onnx::Formal* formal = node.schema ? formal_at(inputs ? node.schema->inputs : node.schema->outputs, i) : nullptr;
      const std::string what = formal ? std::string(formal->name) : (inputs ? "input " : "output ") + std::to_string(i);
      complete_type(operand, node, formal);
      bool listed = false;
      for (const TypeList& list : entry.types) {
        if (list.of != place && (!formal || (list.of != formal->type && list.of != formal->name))) continue;
        listed |= !list.excluded;
        if (!is_typed(operand)) {
          if (total.support == Support::yes && operand.given)
            total = verdict(Support::unknown, "CC103", "the dtype of " + what + " of " + node.name() + " isn't known",
                            SettledBy::inputs);
        } else if (!lists(list, type_name(operand))) {
          total = verdict(Support::no, "CC103",
                          what + " of " + node.name() + " is " + type_name(operand) + "; the engine supports " +
                              (list.excluded ? "all but " : "") + mapping::joined(list.names));
          return;
        }
      }
      if (listed || total.support != Support::yes || profile_.dtypes.empty() || !leaves_open(operand, formal)) continue;
      if (!is_typed(operand) && operand.given)
        total =
            verdict(Support::unknown, "CC103", "the dtype of " + what + " of " + node.name() + " isn't known", SettledBy::inputs);
      else if (is_typed(operand) && !contains(profile_.dtypes, type_name(operand)))
        total = verdict(Support::unknown, "CC105",
                        what + " of " + node.name() + " is " + type_name(operand) + ", but the profile lists no dtypes for it");
    }
  };
  look(node.inputs, true);
  if (total.support != Support::no) look(node.outputs, false);
  return total;
}

Verdict Judge::by_translator(const OperatorEntries& entries, const Node& node) const {
  const Entry* chosen = nullptr;
  const Entry* newest = nullptr;
  int version = 0, highest = 0;
  for (const Entry& entry : entries.entries) {
    if (entry.versions.empty()) return by_entry(entry, node);
    for (const Versions one : entry.versions) {
      if (one.first <= node.version && one.first > version) version = one.first, chosen = &entry;
      if (one.first > highest) highest = one.first, newest = &entry;
    }
  }
  if (!chosen) version = highest, chosen = newest;
  Verdict judged = by_entry(*chosen, node);
  const Verdict gap = node.schema ? across(node, version) : Verdict{};
  return progress(gap) < progress(judged) ? gap : judged;
}

// For an operator that the translator was written for at another version: whether the node uses anything in which the two
// versions differ.
Verdict Judge::across(const Node& node, int translator) const {
  const onnx::Schema* lowest = onnx::find(node.op, lowest_opset, node.domain);
  const int written = lowest ? std::max(translator, lowest->since) : translator;
  const int from = std::min(written, node.version), to = std::max(written, node.version);
  const auto gap = [&](const std::string& why) {
    return verdict(Support::unknown, "CC102",
                   "the engine has a translator for version " + std::to_string(translator) + " of " + node.name() +
                       ", the node has version " + std::to_string(node.version) + ": " + why);
  };
  bool extended = false;
  for (const auto& change : changes_) {
    if (change.op != node.name() || change.from < from || change.to > to) continue;
    if (change.change == mapping::Change::meaning) return gap(change.why);
    extended |= change.change == mapping::Change::extended;
    if (node.version < written && !change.moved.empty()) return gap(change.why);
  }
  if (!extended || node.version < written) return {};
  const onnx::Schema* old = onnx::find(node.op, written, node.domain);
  if (!old) return {};
  for (const Attribute& set : node.attributes) {
    if (old->attribute(set.name)) continue;
    const auto* now = node.schema->attribute(set.name);
    if (!now || !now->default_value || default_of(*now).values != set.values) return gap("the attribute " + set.name + " is new");
  }
  const auto given = std::ranges::count_if(node.inputs, &Operand::given);
  if (old->max_inputs != onnx::any_number && given > old->max_inputs) return gap("the node has more inputs");
  return {};
}

}  // namespace compatcheck::engines
