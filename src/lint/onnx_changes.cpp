// mappings/onnx_changes.yaml against the version steps of the linked onnx.
#include <algorithm>

#include "lint/checks.h"
#include "onnx/schema.h"

namespace compatcheck::lint {

using mapping::Change;
using mapping::OnnxChange;

namespace {

// Names the parts of a row for the earlier version that the later version lacks; empty if there are none.
std::string lost(const onnx::Schema& before, const onnx::Schema& after, const OnnxChange& change) {
  if (after.deprecated) return "the operator is deprecated";
  for (const onnx::Attribute& attribute : before.attributes) {
    if (after.attribute(attribute.name)) continue;
    if (std::ranges::none_of(change.moved, [&](const auto& moved) { return moved.first == attribute.name; }))
      return "attribute " + quote(attribute.name) + " went";
  }
  if (after.max_inputs < before.max_inputs) return "inputs went";
  return {};
}

bool same_signature(const onnx::Schema& a, const onnx::Schema& b) {
  return std::ranges::equal(a.attributes, b.attributes, {}, &onnx::Attribute::name, &onnx::Attribute::name) &&
         a.inputs.size() == b.inputs.size() && a.outputs.size() == b.outputs.size() && a.deprecated == b.deprecated;
}

void check_moved(const Context& context, const OnnxChange& change, const onnx::Schema& before, const onnx::Schema& after) {
  for (const auto& [attribute, input] : change.moved) {
    if (!before.attribute(attribute))
      context.report(change.place, change.op + " has no attribute " + quote(attribute) + " at " + std::to_string(change.from));
    if (after.attribute(attribute))
      context.report(change.place,
                     change.op + " still has the attribute " + quote(attribute) + " at " + std::to_string(change.to));
    if (!after.input_index(input))
      context.report(change.place, change.op + " has no input " + quote(input) + " at " + std::to_string(change.to));
  }
}

void check_class(const Context& context, const OnnxChange& change, const onnx::Schema& before, const onnx::Schema& after) {
  check_moved(context, change, before, after);
  if (change.change == Change::meaning) return;
  if (const std::string what = lost(before, after, change); !what.empty())
    context.report(change.place, what + ": a row for the old form is wrong from opset " + std::to_string(change.to) +
                                     "; that is `meaning`, or `moved`");
  else if (change.change == Change::types && !same_signature(before, after))
    context.report(change.place, "more than the types changed: attributes, inputs or outputs differ");
}

}  // namespace

void check_onnx_changes(const Context& context) {
  const auto changes = context.table.onnx_changes();
  std::vector<const OnnxChange*> seen;
  for (const std::string_view op : onnx::operator_names()) {
    const auto versions = onnx::versions(op);
    for (std::size_t i = 1; i < versions.size(); ++i) {
      const onnx::Schema& before = versions[i - 1];
      const onnx::Schema& after = versions[i];
      if (after.since <= mapping::lowest_opset || after.since > mapping::highest_opset) continue;
      const auto stated = std::ranges::find_if(
          changes, [&](const OnnxChange& c) { return c.op == op && c.from == before.since && c.to == after.since; });
      if (stated == changes.end()) {
        context.report({"mappings/onnx_changes.yaml", 1, 1}, std::string(op) + " " + std::to_string(before.since) + "-" +
                                                                 std::to_string(after.since) + " isn't classed");
        continue;
      }
      seen.push_back(&*stated);
      check_class(context, *stated, before, after);
    }
  }
  for (const OnnxChange& change : changes)
    if (std::ranges::find(seen, &change) == seen.end())
      context.report(change.place,
                     change.op + " has no version step " + std::to_string(change.from) + "-" + std::to_string(change.to));
}

}  // namespace compatcheck::lint
