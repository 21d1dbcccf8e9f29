// Checks the ONNX operators, attributes and numbers of inputs in rows, at every opset of the entry.
#include <algorithm>

#include "handlers/row_arguments.h"
#include "lint/checks.h"
#include "lint/kinds.h"
#include "mapping/reading/suggest.h"
#include "onnx/schema.h"

namespace compatcheck::lint {

using ir::TypeKind;
using mapping::Binding;
using mapping::Literal;
using mapping::OperatorRows;
using mapping::Row;
using onnx::AttributeType;

namespace {

// An attribute as a row may name it: the operator's own, or one that became an input (the builder emits either).
struct Named {
  const onnx::Attribute* attribute = nullptr;
  bool moved = false;
};

std::optional<Named> find_attribute(const mapping::Table& table, const onnx::Schema& schema, std::string_view name) {
  if (const onnx::Attribute* attribute = schema.attribute(name)) return Named{attribute, false};
  for (const mapping::OnnxChange& change : table.onnx_changes()) {
    if (change.op != schema.name || change.to > schema.since) continue;
    for (const auto& [attribute, input] : change.moved)
      if (attribute == name)
        if (const onnx::Schema* before = onnx::find(change.op, change.from)) return Named{before->attribute(name), true};
  }
  return std::nullopt;
}

std::vector<std::string_view> attribute_names(const onnx::Schema& schema) {
  std::vector<std::string_view> names;
  for (const onnx::Attribute& attribute : schema.attributes) names.push_back(attribute.name);
  return names;
}

struct Interval {
  const Context& context;
  const OperatorRows& rows;
  const Row& row;
  int from, end;  // opsets [from, end)

  // The versions of the operator that the interval meets; reports what makes it unusable.
  std::vector<const onnx::Schema*> schemas(const std::string& op) const {
    const auto [domain, name] = mapping::split_domain(op);
    if (!onnx::is_onnx_domain(domain)) return {};
    const auto versions = onnx::versions(name, domain);
    const auto refuse = [&](const std::string& why) {
      context.report(row.place, why);
      return std::vector<const onnx::Schema*>();
    };
    if (versions.empty())
      return refuse("ONNX has no operator " + quote(op) + mapping::did_you_mean(name, onnx::operator_names(domain)));
    if (!onnx::is_own_domain(domain)) return of_domain(domain, op, versions);
    std::vector<const onnx::Schema*> met;
    for (const onnx::Schema& schema : versions) {
      if (schema.since >= end) break;
      if (schema.since <= from) met.clear();
      met.push_back(&schema);
    }
    if (met.empty() || met.front()->since > from) {
      const int since = versions.front().since;
      return refuse(quote(op) +
                    (since > mapping::highest_opset ? " isn't in any opset up to " + std::to_string(mapping::highest_opset)
                                                    : " is in ONNX from opset " + std::to_string(since)) +
                    ", this entry holds from " + std::to_string(from));
    }
    for (const onnx::Schema* schema : met)
      if (schema->deprecated)
        return refuse(quote(op) + " is deprecated from opset " + std::to_string(schema->since) + ", this entry holds " +
                      range_text());
    return met;
  }
  // Other domains count versions of their own; --custom-opset may still ask for another.
  std::vector<const onnx::Schema*> of_domain(std::string_view domain, const std::string& op,
                                             std::span<const onnx::Schema> versions) const {
    const auto stated = context.table.domains().find(domain);
    const int version = stated == context.table.domains().end() ? 1 : stated->second;
    const onnx::Schema* found = nullptr;
    for (const onnx::Schema& schema : versions)
      if (schema.since <= version) found = &schema;
    if (found) return {found};
    context.report(row.place, quote(op) + " is in its domain from version " + std::to_string(versions.front().since) +
                                  ", the file has " + std::to_string(version) + "; state `domains: {" + std::string(domain) +
                                  ": " + std::to_string(versions.front().since) + "}`");
    return {};
  }
  std::string range_text() const { return "from " + std::to_string(from) + " to " + std::to_string(end - 1); }

  // In every version; with several operators, in any of one of them.
  void check_attribute(const std::string& name, const Binding& binding, const std::vector<const onnx::Schema*>& of) const {
    std::vector<std::string_view> known;
    const onnx::Attribute* typed = nullptr;
    const onnx::Schema* holder = nullptr;
    for (const onnx::Schema* schema : of) {
      const auto found = find_attribute(context.table, *schema, name);
      if (found && !holder) holder = schema, typed = found->attribute;
      if (found || row.to.size() > 1) {
        for (const std::string_view other : attribute_names(*schema)) known.push_back(other);
        continue;
      }
      return context.report(row.place,
                            std::string(schema->name) + " has no attribute " + quote(name) +
                                (schema->since > 7 ? " at opset " + std::to_string(std::max(from, schema->since)) : "") +
                                mapping::did_you_mean(name, attribute_names(*schema)));
    }
    if (!holder)
      context.report(row.place,
                     "none of the operators in `to` has an attribute " + quote(name) + mapping::did_you_mean(name, known));
    else if (typed)
      check_type(name, binding, *holder, typed->type);
  }

  void check_type(const std::string& name, const Binding& binding, const onnx::Schema& schema, AttributeType type) const {
    const auto why = attribute_misfit(binding, "attribute " + quote(name) + " of " + std::string(schema.name), type,
                                      overloads_of(context, rows.name));
    if (!why.empty()) context.report(row.place, why);
  }

  bool is_list_argument(const std::string& name) const {
    return std::ranges::any_of(overloads_of(context, rows.name), [&](const schema::Schema* overload) {
      const auto index = overload->argument_index(name);
      return index && ir::is(overload->arguments[*index].type, TypeKind::list);
    });
  }

  // `~` and {none: …} stand where ONNX may do without.
  bool gives_what_is_needed(const onnx::Schema& schema) const {
    const auto inputs = row.inputs.value_or(std::vector<Binding>());
    for (std::size_t i = 0; i < std::min(inputs.size(), static_cast<std::size_t>(schema.min_inputs)); ++i) {
      if (inputs[i].kind != mapping::ArgumentKind::none) continue;
      context.report(row.place, std::string(schema.name) + " needs its input " +
                                    (i < schema.inputs.size() ? quote(schema.inputs[i].name) : std::to_string(i)) +
                                    ", which the row leaves out");
      return false;
    }
    return true;
  }

  bool fits_input_count(const onnx::Schema& schema) const {
    if (!row.inputs || std::ranges::any_of(*row.inputs, [&](const Binding& input) { return is_list_argument(input.argument); }))
      return true;
    auto count = static_cast<int>(handlers::given_inputs(row));
    for (const auto& [name, binding] : row.attributes)
      if (const auto found = find_attribute(context.table, schema, name); found && found->moved) ++count;
    if (count >= schema.min_inputs && count <= schema.max_inputs) return true;
    const std::string range = schema.min_inputs == schema.max_inputs ? std::to_string(schema.min_inputs)
                              : schema.max_inputs == onnx::any_number
                                  ? "at least " + std::to_string(schema.min_inputs)
                                  : std::to_string(schema.min_inputs) + " to " + std::to_string(schema.max_inputs);
    context.report(row.place, std::string(schema.name) + " takes " + range + (range == "1" ? " input" : " inputs") +
                                  " at opset " + std::to_string(std::max(from, schema.since)) + ", the row gives " +
                                  std::to_string(count));
    return false;
  }

  void check() const {
    for (const Binding& input : row.inputs.value_or(std::vector<Binding>()))
      if (const auto why = input_misfit(input, overloads_of(context, rows.name)); !why.empty()) context.report(row.place, why);
    if (row.inputs && !row.inputs->empty() && handlers::given_inputs(row) == 0)
      context.report(row.place, "`inputs` leaves out every input; write `inputs: []` where the node takes none");
    if (row.body) return;  // check_bodies
    std::vector<const onnx::Schema*> all;
    bool own_domain = true;
    for (const std::string& op : row.to) {
      const auto met = schemas(op);
      own_domain = own_domain && !met.empty();
      all.insert(all.end(), met.begin(), met.end());
    }
    if (!own_domain) {  // unknown operators may have any attribute
      for (const auto& [name, binding] : row.attributes)
        if (const auto why =
                attribute_misfit(binding, "attribute " + quote(name), AttributeType::undefined, overloads_of(context, rows.name));
            !why.empty())
          context.report(row.place, why);
      return;
    }
    for (const auto& [name, binding] : row.attributes) check_attribute(name, binding, all);
    if (row.to.size() > 1) return;
    for (const onnx::Schema* schema : all)
      if (!gives_what_is_needed(*schema) || !fits_input_count(*schema)) return;  // the first version is enough
  }
};

}  // namespace

void check_onnx(const Context& context, const OperatorRows& rows) {
  for (std::size_t i = 0; i < rows.history.size(); ++i)
    for (const Row& row : rows.history[i].rows)
      if (row.kind == Row::Kind::mapped)
        Interval{context, rows, row, rows.history[i].opset, end_of(context.table, rows, i)}.check();
}

}  // namespace compatcheck::lint
