// ONNX functions that rows write: their operators, attributes, values and calls, and what the row binds to them.
#include <algorithm>
#include <map>
#include <set>

#include "handlers/row_arguments.h"
#include "lint/checks.h"
#include "lint/kinds.h"
#include "mapping/reading/suggest.h"
#include "onnx/function_text.h"

namespace compatcheck::lint {
namespace {

using mapping::OperatorRows;
using mapping::Row;
using ::onnx::AttributeProto;
using onnx::AttributeType;
using ::onnx::FunctionProto;
using onnx::FunctionText;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using onnx::TextFault;

// Names that can be read at some place of a function, from the outside in.
using Names = std::set<std::string, std::less<>>;

class BodyCheck {
 public:
  BodyCheck(const Context& context, const OperatorRows& rows, const Row& row, int from, int end)
      : context_(context), rows_(rows), row_(row), text_(*row.body->functions), from_(from), end_(end) {}

  void check() {
    check_functions();
    for (const FunctionProto& function : text_.functions()) check_function(function);
    check_calls();
    check_bindings();
  }

 private:
  void report(const TextFault& fault) const {
    context_.report(mapping::place_in(*row_.body, fault.line, fault.column), fault.message);
  }
  void report(const NodeProto& node, std::string message) const { report(text_.at(node, std::move(message))); }
  void report(const FunctionProto& function, std::string message) const { report(text_.at(function, std::move(message))); }

  // ---- Functions as such

  void check_functions() const {
    Names seen;
    for (const FunctionProto& function : text_.functions()) {
      if (!seen.insert(onnx::row_name(function.domain(), function.name())).second)
        report(function, "the function " + quote(function.name()) + " is defined twice");
      if (!row_.body->is_inlined && function.domain().empty())
        report(function, quote(function.name()) + " has no domain: write <domain: \"acme\", opset_import: [\"\" : " +
                             std::to_string(from_) + "]> before it");
      else if (!row_.body->is_inlined && onnx::is_onnx_domain(function.domain()))
        report(function, quote(function.domain()) + " is a domain of ONNX's own; a function takes another");
      else if (!row_.body->is_inlined && !mapping::is_custom_domain(function.domain()))
        report(function, quote(function.domain()) + " isn't the name of a domain");
      check_opset(function);
    }
  }

  void check_opset(const FunctionProto& function) const {
    const int written = FunctionText::opset(function).value_or(from_);
    if (written < mapping::lowest_opset || written > mapping::highest_opset)
      return report(function, "written for opset " + std::to_string(written) + ": opsets are " +
                                  std::to_string(mapping::lowest_opset) + " to " + std::to_string(mapping::highest_opset));
    if (written > from_)
      return report(function, quote(function.name()) + " is written for opset " + std::to_string(written) +
                                  ", this entry holds from " + std::to_string(from_) + ": put it under " +
                                  std::to_string(written));
    for (const mapping::OnnxChange& change : context_.table.onnx_changes()) {
      if (change.change != mapping::Change::meaning || change.to <= written || change.to > from_) continue;
      onnx::for_each_proto(function.node(), [&](const NodeProto& node) {
        if (node.domain().empty() && node.op_type() == change.op)
          report(node, change.op + " changed its meaning at opset " + std::to_string(change.to) + " (" + change.why +
                           "); the function is written for opset " + std::to_string(written));
      });
    }
  }

  // ---- Values

  void check_function(const FunctionProto& function) {
    function_ = &function;
    types_.clear();
    for (const auto& attribute : text_.attributes(function)) types_[attribute.name] = attribute.type;
    Names seen;
    for (const std::string& input : function.input())
      if (!seen.insert(input).second)
        report(function, "the input " + quote(input) + " of " + quote(function.name()) + " is listed twice");
    check_nodes(function.node(), seen);
    for (const std::string& output : function.output())
      if (!seen.contains(output))
        report(function,
               "nothing in " + quote(function.name()) + " gives its output " + quote(output) + did_you_mean(output, seen));
  }

  static std::string did_you_mean(std::string_view name, const Names& names) {
    const std::vector<std::string_view> known(names.begin(), names.end());
    return mapping::did_you_mean(name, known);
  }

  template <class Nodes>
  void check_nodes(const Nodes& nodes, Names& names) {
    for (const NodeProto& node : nodes) {
      for (const std::string& input : node.input())
        if (!input.empty() && !names.contains(input))
          report(node, "nothing gives " + quote(input) + ", which " + node.op_type() + " reads" + did_you_mean(input, names));
      check_node(node);
      for (const AttributeProto& attribute : node.attribute())
        if (attribute.has_g()) check_graph(node, attribute.g(), names);
      for (const std::string& output : node.output())
        if (!output.empty() && !names.insert(output).second) report(node, quote(output) + " is defined twice");
    }
  }

  // A body reads what stands around it.
  void check_graph(const NodeProto& around, const GraphProto& graph, Names names) {
    for (const auto& input : graph.input()) names.insert(input.name());
    for (const auto& initializer : graph.initializer()) names.insert(initializer.name());
    check_nodes(graph.node(), names);
    for (const auto& output : graph.output())
      if (!names.contains(output.name()))
        report(around, "nothing in the body " + quote(graph.name()) + " gives its output " + quote(output.name()) +
                           did_you_mean(output.name(), names));
  }

  // ---- Nodes

  void check_node(const NodeProto& node) {
    if (!node.overload().empty()) return report(node, "overloads of functions aren't supported");
    for (const AttributeProto& attribute : node.attribute()) check_reference(node, attribute);
    if (const FunctionProto* called = text_.find(node.domain(), node.op_type())) return check_call(node, *called);
    if (!onnx::is_onnx_domain(node.domain())) return;
    const auto met = schemas(node);
    for (const onnx::Schema* schema : met)
      if (!check_against(node, *schema)) return;
  }

  void check_reference(const NodeProto& node, const AttributeProto& attribute) {
    if (attribute.ref_attr_name().empty()) return;
    const auto declared = types_.find(attribute.ref_attr_name());
    if (declared == types_.end()) {
      std::vector<std::string_view> known;
      for (const auto& [name, type] : types_) known.push_back(name);
      report(node,
             quote(function_->name()) + " has no attribute " + quote(attribute.ref_attr_name()) +
                 mapping::did_you_mean(attribute.ref_attr_name(), known) +
                 (known.empty() ? ": declare it, " + function_->name() + " <" + attribute.ref_attr_name() + "> (…) => (…)" : ""));
    } else if (declared->second != static_cast<AttributeType>(attribute.type())) {
      report(node, "attribute " + quote(attribute.ref_attr_name()) + " of " + quote(function_->name()) + " is " +
                       std::string(onnx::name(declared->second)) + ", here it is " +
                       std::string(onnx::name(static_cast<AttributeType>(attribute.type()))));
    }
  }

  void check_call(const NodeProto& node, const FunctionProto& called) const {
    if (node.input_size() > called.input_size())
      report(node, quote(called.name()) + " takes " + range(called.input_size(), called.input_size(), "input") +
                       ", here it is given " + std::to_string(node.input_size()));
    if (node.output_size() > called.output_size())
      report(node, quote(called.name()) + " gives " + range(called.output_size(), called.output_size(), "output") + ", " +
                       "here it must give " + std::to_string(node.output_size()));
    const auto declared = text_.attributes(called);
    for (const AttributeProto& attribute : node.attribute()) {
      const auto found = std::ranges::find(declared, attribute.name(), &FunctionText::Attribute::name);
      if (found == declared.end())
        report(node, quote(called.name()) + " has no attribute " + quote(attribute.name()));
      else if (found->type != AttributeType::undefined && found->type != static_cast<AttributeType>(attribute.type()))
        report(node, "attribute " + quote(attribute.name()) + " of " + quote(called.name()) + " is " +
                         std::string(onnx::name(found->type)) + ", here it is " +
                         std::string(onnx::name(static_cast<AttributeType>(attribute.type()))));
    }
    for (const auto& attribute : declared)
      if (!attribute.default_value &&
          std::ranges::none_of(node.attribute(), [&](const AttributeProto& given) { return given.name() == attribute.name; }))
        report(node, quote(called.name()) + " needs the attribute " + quote(attribute.name));
  }

  // The versions of the node's operator that the entry meets; empty after a report.
  std::vector<const onnx::Schema*> schemas(const NodeProto& node) const {
    const std::string name = onnx::row_name(node.domain(), node.op_type());
    const auto versions = onnx::versions(node.op_type(), node.domain());
    const auto refuse = [&](const std::string& why) {
      report(node, why);
      return std::vector<const onnx::Schema*>();
    };
    if (versions.empty() && name == "TODO") return refuse("`TODO` is left to fill in: write ONNX operators that compute it");
    if (versions.empty())
      return refuse("ONNX has no operator " + quote(name) +
                    mapping::did_you_mean(node.op_type(), onnx::operator_names(node.domain())));
    const bool own = onnx::is_own_domain(node.domain());
    const auto stated = context_.table.domains().find(node.domain());
    const int from = own ? from_ : stated == context_.table.domains().end() ? 1 : stated->second, end = own ? end_ : from + 1;
    std::vector<const onnx::Schema*> met;
    for (const onnx::Schema& schema : versions) {
      if (schema.since >= end) break;
      if (schema.since <= from) met.clear();
      met.push_back(&schema);
    }
    if (met.empty() || met.front()->since > from)
      return refuse(quote(name) + " is in ONNX from " + (own ? "opset " : "version ") + std::to_string(versions.front().since) +
                    ", " +
                    (own ? "this entry holds from " + std::to_string(from_)
                         : "the file has its domain in version " + std::to_string(from)));
    for (const onnx::Schema* schema : met)
      if (schema->deprecated)
        return refuse(quote(name) + " is deprecated from opset " + std::to_string(schema->since) + ", this entry holds " +
                      range_text());
    return met;
  }
  std::string range_text() const { return "from " + std::to_string(from_) + " to " + std::to_string(end_ - 1); }

  // Attributes that became inputs are named as they were in `inline` alone, whose nodes are made anew at each opset.
  bool became_input(const onnx::Schema& schema, std::string_view attribute) const {
    return std::ranges::any_of(context_.table.onnx_changes(), [&](const mapping::OnnxChange& change) {
      return change.op == schema.name && change.to <= schema.since &&
             std::ranges::any_of(change.moved, [&](const auto& moved) { return moved.first == attribute; });
    });
  }

  bool check_against(const NodeProto& node, const onnx::Schema& schema) const {
    const std::string at =
        schema.since > mapping::lowest_opset ? " at opset " + std::to_string(std::max(from_, schema.since)) : "";
    const auto refuse = [&](const std::string& why) {
      report(node, why);
      return false;
    };
    int moved = 0;
    for (const AttributeProto& attribute : node.attribute()) {
      const onnx::Attribute* known = schema.attribute(attribute.name());
      if (!known && became_input(schema, attribute.name())) {
        if (row_.body->is_inlined && ++moved) continue;
        return refuse(quote(attribute.name()) + " of " + node.op_type() + " is an input from opset " +
                      std::to_string(schema.since) + " on; an entry for opset " + std::to_string(schema.since) +
                      " is missing; or write `inline` instead of `function`");
      }
      if (!known) {
        std::vector<std::string_view> names;
        for (const onnx::Attribute& one : schema.attributes) names.push_back(one.name);
        return refuse(node.op_type() + " has no attribute " + quote(attribute.name()) + at +
                      mapping::did_you_mean(attribute.name(), names));
      }
      const auto type = static_cast<AttributeType>(attribute.type());
      if (type != known->type && !is_empty_list(attribute, known->type))
        return refuse("attribute " + quote(attribute.name()) + " of " + node.op_type() + " is " +
                      std::string(onnx::name(known->type)) + ", here it is " + std::string(onnx::name(type)));
    }
    for (const onnx::Attribute& attribute : schema.attributes)
      if (attribute.required &&
          std::ranges::none_of(node.attribute(), [&](const AttributeProto& given) { return given.name() == attribute.name; }))
        return refuse(node.op_type() + " needs the attribute " + quote(attribute.name) + at);
    const int inputs = node.input_size() + moved;
    if (inputs < schema.min_inputs || inputs > schema.max_inputs)
      return refuse(node.op_type() + " takes " + range(schema.min_inputs, schema.max_inputs, "input") + at +
                    ", here it is given " + std::to_string(inputs));
    if (node.output_size() < schema.min_outputs || node.output_size() > schema.max_outputs)
      return refuse(node.op_type() + " gives " + range(schema.min_outputs, schema.max_outputs, "output") + at + ", " +
                    "here it must give " + std::to_string(node.output_size()));
    return true;
  }

  static bool is_empty_list(const AttributeProto& attribute, AttributeType expected) {
    return attribute.ref_attr_name().empty() && attribute.ints().empty() && attribute.floats().empty() &&
           attribute.strings().empty() &&
           (expected == AttributeType::integers || expected == AttributeType::floats || expected == AttributeType::strings) &&
           (attribute.type() == AttributeProto::INTS || attribute.type() == AttributeProto::FLOATS ||
            attribute.type() == AttributeProto::STRINGS);
  }

  static std::string range(int least, int most, const std::string& what) {
    const std::string count = least == most              ? std::to_string(least)
                              : most == onnx::any_number ? "at least " + std::to_string(least)
                                                         : std::to_string(least) + " to " + std::to_string(most);
    return count + " " + what + (count == "1" ? "" : "s");
  }

  // ---- Calls between functions

  void check_calls() {
    std::set<const FunctionProto*> around, done;
    visit(text_.called(), around, done);
    for (const FunctionProto& function : text_.functions())
      if (!done.contains(&function))
        report(function, "nothing calls " + quote(function.name()) + "; the last function is what the row calls");
  }

  void visit(const FunctionProto& function, std::set<const FunctionProto*>& around, std::set<const FunctionProto*>& done) const {
    if (!done.insert(&function).second) return;
    around.insert(&function);
    onnx::for_each_proto(function.node(), [&](const NodeProto& node) {
      const FunctionProto* called = text_.find(node.domain(), node.op_type());
      if (!called) return;
      if (around.contains(called))
        report(node, quote(function.name()) + " calls " + quote(called->name()) +
                         ", which calls it: functions in a circle can't be put in");
      else
        visit(*called, around, done);
    });
    around.erase(&function);
  }

  // ---- What the row binds

  void check_bindings() const {
    const FunctionProto& called = text_.called();
    const auto overloads = overloads_of(context_, rows_.name);
    const auto declared = text_.attributes(called);
    std::vector<std::string_view> names;
    for (const auto& attribute : declared) names.push_back(attribute.name);
    for (const auto& [name, binding] : row_.attributes) {
      const auto found = std::ranges::find(declared, name, &FunctionText::Attribute::name);
      if (found == declared.end()) {
        context_.report(row_.place,
                        quote(called.name()) + " has no attribute " + quote(name) + mapping::did_you_mean(name, names));
        continue;
      }
      const auto why = attribute_misfit(binding, "attribute " + quote(name) + " of " + called.name(), found->type, overloads);
      if (!why.empty()) context_.report(row_.place, why);
    }
    for (const auto& attribute : declared)
      if (!attribute.default_value &&
          std::ranges::none_of(row_.attributes, [&](const auto& bound) { return bound.first == attribute.name; }))
        context_.report(row_.place, quote(called.name()) + " needs the attribute " + quote(attribute.name) + ": attributes: {" +
                                        attribute.name + ": …}, or a default in its text");
    check_counts(called, overloads);
  }

  void check_counts(const FunctionProto& called, const std::vector<const schema::Schema*>& overloads) const {
    const auto given = static_cast<int>(handlers::given_inputs(row_));
    if (given > called.input_size())
      context_.report(row_.place, quote(called.name()) + " takes " + range(called.input_size(), called.input_size(), "input") +
                                      ", the row gives " + std::to_string(given));
    const auto gives_enough = [&](const schema::Schema* overload) {
      return overload->variadic_returns || static_cast<int>(overload->returns.size()) <= called.output_size();
    };
    if (!overloads.empty() && std::ranges::none_of(overloads, gives_enough))
      context_.report(row_.place, quote(called.name()) + " gives " + range(called.output_size(), called.output_size(), "output") +
                                      ", " + quote(rows_.name) + " has " + std::to_string(overloads.front()->returns.size()));
  }

  const Context& context_;
  const OperatorRows& rows_;
  const Row& row_;
  const FunctionText& text_;
  int from_, end_;
  const FunctionProto* function_ = nullptr;
  std::map<std::string, AttributeType, std::less<>> types_;  // types of the function's attributes
};

// A function as some row writes it, and the opsets [from, end) at which that row holds.
struct Written {
  std::string bytes;
  int from, end;
  mapping::Place place;
};

}  // namespace

void check_bodies(const Context& context, const OperatorRows& rows) {
  for (std::size_t i = 0; i < rows.history.size(); ++i)
    for (const Row& row : rows.history[i].rows)
      if (row.body && row.body->functions)
        BodyCheck(context, rows, row, rows.history[i].opset, end_of(context.table, rows, i)).check();
}

void check_functions(const Context& context, std::span<const OperatorRows* const> all) {
  std::map<std::string, std::vector<Written>> known;
  for (const OperatorRows* rows : all)
    for (std::size_t i = 0; i < rows->history.size(); ++i)
      for (const Row& row : rows->history[i].rows) {
        if (!row.body || row.body->is_inlined) continue;
        for (const FunctionProto& function : row.body->functions->functions()) {
          FunctionProto plain = function;
          plain.clear_opset_import();
          const TextFault at = row.body->functions->at(function, {});
          Written one{plain.SerializeAsString(), rows->history[i].opset, end_of(context.table, *rows, i),
                      mapping::place_in(*row.body, at.line, at.column)};
          auto& others = known[onnx::row_name(function.domain(), function.name())];
          const auto other = std::ranges::find_if(
              others, [&](const Written& w) { return w.from < one.end && one.from < w.end && w.bytes != one.bytes; });
          if (other != others.end())
            context.report(one.place, quote(onnx::row_name(function.domain(), function.name())) + " has another body in " +
                                          other->place.file + ":" + std::to_string(other->place.line) +
                                          "; one of them takes another name");
          others.push_back(std::move(one));
        }
      }
}

}  // namespace compatcheck::lint
