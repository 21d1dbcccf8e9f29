#include "report/json.h"

#include <algorithm>
#include <charconv>

#include "compatcheck/check.h"
#include "report/fields.h"
#include "report/read.h"
#include "report/totals.h"

namespace compatcheck::report {
namespace {

void put_shape(FieldWriter& io, const std::optional<std::vector<std::string>>& shape) {
  Json& json = io.json["shape"];
  if (!shape) return;
  json = Json::array();
  for (const std::string& size : *shape) {
    const bool number = !size.empty() && size.size() < 19 && size.find_first_not_of("0123456789") == size.npos;
    json.push_back(number ? Json(std::stoll(size)) : size == "?" ? Json(nullptr) : Json(size));
  }
}

void put_shape(FieldReader& io, std::optional<std::vector<std::string>>& shape) {
  const auto found = io.place.maybe("shape");
  if (!found) return;
  shape.emplace();
  found->each([&](const JsonPlace& size) {
    shape->push_back(size.json().is_null()     ? "?"
                     : size.json().is_string() ? size.text()
                                               : std::to_string(size.count<std::int64_t>()));
  });
}

}  // namespace

template <class Io, is<Quantization> T>
void fields(Io& io, T& held) {
  io("scales", held.scales, "zero_points", held.zero_points);
  io.unless_empty("axis", held.axis);
  io("onnx_dtype", held.onnx_dtype);
  if constexpr (!Io::writes) {
    const std::size_t count = held.scales.size();
    if (held.zero_points.size() != count) io.place.at("zero_points").fail("as many items as \"scales\" has");
    if (held.axis ? count == 0 : count != 1)
      io.place.at("scales").fail(held.axis ? "at least one item" : "one item without \"axis\"");
    if (held.axis && *held.axis < 0) io.place.at("axis").fail("a dimension from 0");
  }
}

template <class Io, is<TensorInfo> T>
void fields(Io& io, T& info) {
  io("name", info.name, "dtype", info.dtype);
  put_shape(io, info.shape);
  io.unless_empty("assumed", info.assumed);
  io.unless_empty("quantization", info.quantization);
}

template <class Io, is<AssumedInput::Reason> T>
void fields(Io& io, T& reason) {
  io("what", reason.what, "op", reason.op, "module", reason.module, "file", reason.file, "line", reason.line);
}

template <class Io, is<AssumedInput> T>
void fields(Io& io, T& input) {
  fields(io, input.tensor);
  io.unless_empty("option", input.option);
  io("because", input.because);
}

template <class Io, is<StateInfo> T>
void fields(Io& io, T& state) {
  io("attribute", state.attribute, "input", state.input.name, "output", state.output, "dtype", state.input.dtype);
  put_shape(io, state.input.shape);
}

template <class Io, is<ModelInfo> T>
void fields(Io& io, T& info) {
  io("path", info.path, "identity", info.identity);
  io.unless_empty("sha256", info.sha256);
  io("format", info.format);
  io.added("description", info.description);
  io("bytes", info.bytes);
  io.object("parameters", [&](Io& inner) { inner("count", info.parameters.count, "bytes", info.parameters.bytes); });
  io("inputs", info.inputs, "outputs", info.outputs);
  io.unless_empty("state", info.state);
  io.unless_empty("assumed", info.assumed);
  io("steps", info.steps);
  io.unless_empty("warnings", info.warnings);
}

template <class Io, is<Summary> T>
void fields(Io& io, T& summary) {
  io("nodes", summary.nodes, "operators", summary.operators, "one_to_one", summary.one_to_one, "one_to_many", summary.one_to_many,
     "missing", summary.missing, "refused", summary.refused, "needs_input", summary.needs_input, "unassessed", summary.unassessed,
     "structural", summary.structural, "convertible", summary.convertible);
  io.share("coverage_nodes", summary.coverage_nodes);
  io.share("coverage_operators", summary.coverage_operators);
  io("lowest_opset", summary.lowest_opset);
  io.if_kept("kept", summary.kept);
}

// "mappings/operators/pooling.yaml:5"
static void split_place(const JsonPlace& json, RowUse& use) {
  const auto colon = use.place.find_last_of(':');
  const char* const end = use.place.data() + use.place.size();
  if (colon == std::string::npos || std::from_chars(use.place.data() + colon + 1, end, use.line).ptr != end)
    json.fail("FILE:LINE");
  use.source = use.place.substr(0, colon);
}

template <class Io, is<RowUse> T>
void fields(Io& io, T& use) {
  io("place", use.place, "nodes", use.nodes);
  io.unless_empty("lifted", use.lifted);
  io.unless_empty("users", use.users);
  if constexpr (!Io::writes) split_place(io.place.at("place"), use);
}

template <class Io, is<OperatorSummary> T>
void fields(Io& io, T& op) {
  io("op", op.op, "overload", op.overload, "class", op.operator_class, "verified", op.verified, "onnx", op.onnx, "since",
     op.since, "available_from", op.available_from, "nodes", op.nodes, "blocked", op.blocked);
  io.added("rows", op.rows);
  io("emitted", op.emitted);
  if constexpr (Io::writes)
    if (const auto use = std::ranges::find(op.rows, true, &RowUse::users); use != op.rows.end())
      io.json["mapping"] = {{"source", use->source}, {"line", use->line}};
  io.if_kept("kept", op.kept);
}

template <class Io, is<Site> T>
void fields(Io& io, T& site) {
  io("index", site.index, "module", site.module, "file", site.file, "line", site.line, "function", site.function, "args",
     site.args);
}

template <class Io, is<Suppression> T>
void fields(Io& io, T& suppression) {
  io("reason", suppression.reason, "expires", suppression.expires, "source", suppression.source);
}

template <class Io, is<Finding> T>
void fields(Io& io, T& finding) {
  io("id", finding.id, "severity", finding.severity, "op", finding.op, "overload", finding.overload, "message", finding.message,
     "help", finding.help, "available_from", finding.available_from, "nodes", finding.nodes, "sites", finding.sites);
  io.unless_empty("input", finding.input);
  io.unless_empty("row", finding.row);
  io.unless_empty("target", finding.target);
  io.unless_empty("suppressed", finding.suppressed);
  io.unless_empty("baseline", finding.baseline);
}

template <class Io, is<TargetSummary::Operator> T>
void fields(Io& io, T& op) {
  io("onnx", op.onnx, "support", op.support, "nodes", op.nodes);
}

template <class Io, is<TargetSummary::OlderForm> T>
void fields(Io& io, T& form) {
  io("op", form.op, "overload", form.overload, "opset", form.opset, "calls", form.calls, "more_nodes", form.more_nodes, "newer",
     form.newer, "older", form.older, "limit", form.limit);
}

template <class Io, is<TargetSummary> T>
void fields(Io& io, T& summary) {
  io("target", summary.target, "engine", summary.engine, "version", summary.version, "source", summary.source, "date",
     summary.date, "support", summary.support, "nodes", summary.nodes, "supported", summary.supported, "unsupported",
     summary.unsupported, "unknown", summary.unknown, "partitions", summary.partitions, "lowest_opset", summary.lowest_opset,
     "operators", summary.operators);
  io.unless_empty("older_forms", summary.older_forms);
  io.unless_empty("best_opset", summary.best_opset);
}

// A node is a list: there may be many.
static void fields(FieldWriter& io, const GraphSummary& graph) {
  Json nodes = Json::array();
  for (const auto& node : graph.nodes)
    nodes.push_back(Json::array({node.op, node.module, word(node.outcome), node.inputs, node.type, node.call, node.onnx}));
  io("operators", graph.operators, "modules", graph.modules, "types", graph.types, "calls", graph.calls, "onnx", graph.emissions);
  io.json["nodes"] = std::move(nodes);
}

static std::uint32_t index_below(const JsonPlace& json, std::size_t end) {
  const auto index = json.count<std::uint32_t>();
  if (index >= end) json.fail("a place in a list of " + std::to_string(end));
  return index;
}

static void fields(FieldReader& io, GraphSummary& graph) {
  io("operators", graph.operators, "modules", graph.modules);
  io.added("types", graph.types);
  io.added("calls", graph.calls);
  io.added("onnx", graph.emissions);
  const bool described = !graph.types.empty();  // earlier versions wrote four fields of a node
  if (!described) graph.types = graph.calls = graph.emissions = {""};
  const JsonPlace nodes = io.place.at("nodes");
  nodes.each([&](const JsonPlace& each) {
    GraphSummary::Node& node = graph.nodes.emplace_back();
    node.op = index_below(each.item(0), graph.operators.size());
    node.module = index_below(each.item(1), graph.modules.size());
    FieldReader::read(each.item(2), node.outcome);
    each.item(3).each([&](const JsonPlace& input) { node.inputs.push_back(index_below(input, nodes.size())); });
    if (!described) return;
    node.type = index_below(each.item(4), graph.types.size());
    node.call = index_below(each.item(5), graph.calls.size());
    node.onnx = index_below(each.item(6), graph.emissions.size());
  });
}

template <class Io, is<Gate> T>
void fields(Io& io, T& gate) {
  io("passed", gate.passed, "fail_on", gate.fail_on, "violations", gate.violations);
  io.unless_empty("max_missing", gate.max_missing);
  io.unless_empty("one_opset_is_enough", gate.one_opset_is_enough);
}

template <class Io, is<Signature::Value> T>
void fields(Io& io, T& value) {
  io("name", value.name, "type", value.type);
}

template <class Io, is<Signature> T>
void fields(Io& io, T& signature) {
  io("inputs", signature.inputs, "outputs", signature.outputs);
  io.unless_empty("traced_batches", signature.traced_batches);
}

template <class Io, class T>
void checked_fields(Io& io, T& report) {
  io("model", report.model, "opset", report.opset);
  io.if_kept("export_type", report.export_type);
  io("verdict", report.verdict, "summary", report.summary, "operators", report.operators, "findings", report.findings);
  io.unless_empty("targets", report.targets);
  if (!report.targets.empty()) io("targets_lowest_opset", report.targets_lowest_opset);
  io.unless_empty("graph", report.graph);
  io.unless_empty("signature", report.signature);
  io("gate", report.gate);
  io.unless_empty("settings", report.settings);
}

template <class Io, is<Report> T>
void fields(Io& io, T& report) {
  if constexpr (Io::writes) io.json["schema_version"] = Report::schema_version;
  io.object("tool", [&](Io& tool) {
    tool("name", report.tool.name, "version", report.tool.version, "libtorch", report.tool.libtorch, "onnx", report.tool.onnx);
  });
  if constexpr (!Io::writes)
    if (io.place.maybe("error")) report.error.emplace();
  if (report.error) {
    io.object("model", [&](Io& model) { model("path", report.model.path); });
    io.object("error", [&](Io& error) { error("message", *report.error); });
  } else {
    checked_fields(io, report);
  }
  io("exit_code", report.exit_code);
}

static Json totals_json(const Totals& totals) {
  Json missing = Json::array();
  for (const auto& op : totals.missing) missing.push_back({{"op", op.op}, {"models", op.models}, {"nodes", op.nodes}});
  Json made = {{"models", totals.models},
               {"yes", totals.yes},
               {"no", totals.no},
               {"needs_input", totals.needs_input},
               {"not_checked", totals.not_checked}};
  if (totals.onnx) made["onnx"] = totals.onnx;
  made["missing"] = std::move(missing);
  return made;
}

Json tensors(const std::vector<TensorInfo>& infos) { return FieldWriter().of(infos); }
Json assumed_inputs(const std::vector<AssumedInput>& all) { return FieldWriter().of(all); }
Json findings(const std::vector<Finding>& all) { return FieldWriter().of(all); }
Json object(const Report& report) { return FieldWriter(report.export_type != ExportType::onnx).of(report); }

Report read_report(const JsonPlace& json) {
  Report report;
  FieldReader::read(json, report);
  return report;
}

Json list(std::span<const Report> reports) {
  Json all = Json::array();
  for (const auto& report : reports) all.push_back(object(report));
  return {{"schema_version", Report::schema_version},
          {"reports", std::move(all)},
          {"totals", totals_json(totals_of(reports))},
          {"exit_code", exit_code_of(reports)}};
}

std::string json(std::span<const Report> reports, bool as_list) {
  return (reports.size() == 1 && !as_list ? object(reports.front()) : list(reports)).dump(2, ' ', false, replace_bad_utf8) + "\n";
}

std::string json_lines(std::span<const Report> reports) {
  const auto line = [](const Json& json) { return json.dump(-1, ' ', false, replace_bad_utf8) + "\n"; };
  if (reports.empty()) return line(list(reports));  // a run without models: an empty file would mean that it was cut short
  std::string lines;
  for (const auto& report : reports) lines += line(object(report));
  return lines;
}

}  // namespace compatcheck::report
