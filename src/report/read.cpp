// Saved reports back to what they were rendered from. Keys that this version doesn't know are passed over: a later one may have
// added them.
#include <charconv>
#include <nlohmann/json.hpp>

#include "analysis/boundary.h"
#include "analysis/json_place.h"
#include "compatcheck/render.h"
#include "report/enumerator_names.h"

namespace compatcheck {
namespace report {
namespace {

using analysis::JsonPlace;
using SavedJson = JsonPlace::Json;

template <class Enumerator>
Enumerator word_at(const JsonPlace& place) {
  const auto found = spelled<Enumerator>(place.text());
  if (!found) place.fail("one of " + words_of<Enumerator>());
  return *found;
}

std::string text_or_empty(const std::optional<JsonPlace>& place) { return place ? place->text() : std::string(); }

std::optional<int> opset_or_null(const std::optional<JsonPlace>& place) {
  return place ? std::optional(place->count()) : std::nullopt;
}

std::vector<std::string> texts(const std::optional<JsonPlace>& place) {
  std::vector<std::string> list;
  if (place) place->each([&](const JsonPlace& each) { list.push_back(each.text()); });
  return list;
}

std::string dimension(const JsonPlace& dim) {
  if (dim.json().is_null()) return "?";
  return dim.json().is_string() ? dim.text() : std::to_string(dim.count<std::int64_t>());
}

Quantization read_quantization(const JsonPlace& json) {
  Quantization held{.scales = {}, .zero_points = {}, .onnx_dtype = json.at("onnx_dtype").text()};
  json.at("scales").each([&](const JsonPlace& scale) { held.scales.push_back(scale.number()); });
  json.at("zero_points").each([&](const JsonPlace& zero) { held.zero_points.push_back(zero.integer()); });
  if (const auto axis = json.maybe("axis")) held.axis = axis->count<std::int64_t>();
  return held;
}

TensorInfo read_tensor(const JsonPlace& json, std::string_view name) {
  TensorInfo info{.name = json.at(name).text(), .dtype = json.at("dtype").text(), .shape = {}};
  if (const auto assumed = json.maybe("assumed")) info.assumed = assumed->boolean();
  if (const auto quantized = json.maybe("quantization")) info.quantization = read_quantization(*quantized);
  const auto shape = json.maybe("shape");
  if (!shape) return info;
  info.shape.emplace();
  shape->each([&](const JsonPlace& dim) { info.shape->push_back(dimension(dim)); });
  return info;
}

std::vector<TensorInfo> read_tensors(const JsonPlace& list) {
  std::vector<TensorInfo> all;
  list.each([&](const JsonPlace& each) { all.push_back(read_tensor(each, "name")); });
  return all;
}

StateInfo state_info(const JsonPlace& json) {
  return {.attribute = json.at("attribute").text(), .input = read_tensor(json, "input"), .output = json.at("output").text()};
}

std::vector<AssumedInput> read_assumed_inputs(const JsonPlace& list) {
  std::vector<AssumedInput> all;
  for (TensorInfo& tensor : read_tensors(list)) all.push_back({.tensor = std::move(tensor), .option = {}, .because = {}});
  std::size_t index = 0;
  list.each([&](const JsonPlace& each) {
    AssumedInput& input = all[index++];
    input.option = text_or_empty(each.maybe("option"));
    each.at("because").each([&](const JsonPlace& reason) {
      input.because.push_back({.what = texts(reason.at("what")),
                               .op = reason.at("op").text(),
                               .module = reason.at("module").text(),
                               .file = reason.at("file").text(),
                               .line = reason.at("line").count()});
    });
  });
  return all;
}

ModelInfo read_model(const JsonPlace& json) {
  ModelInfo info;
  info.path = json.at("path").text();
  info.identity = json.at("identity").text();
  if (const auto sha256 = json.maybe("sha256")) info.sha256 = sha256->text();
  info.format = json.at("format").text();
  info.description = text_or_empty(json.maybe("description"));
  info.bytes = json.at("bytes").count<std::uint64_t>();
  const JsonPlace parameters = json.at("parameters");
  info.parameters = {parameters.at("count").count<std::uint64_t>(), parameters.at("bytes").count<std::uint64_t>()};
  info.inputs = read_tensors(json.at("inputs"));
  info.outputs = read_tensors(json.at("outputs"));
  if (const auto state = json.maybe("state")) state->each([&](const JsonPlace& each) { info.state.push_back(state_info(each)); });
  if (const auto assumed = json.maybe("assumed")) info.assumed = read_assumed_inputs(*assumed);
  info.steps = texts(json.at("steps"));
  info.warnings = texts(json.maybe("warnings"));
  return info;
}

Summary read_summary(const JsonPlace& json) {
  Summary summary;
  summary.nodes = json.at("nodes").count();
  summary.operators = json.at("operators").count();
  summary.one_to_one = json.at("one_to_one").count();
  summary.one_to_many = json.at("one_to_many").count();
  summary.missing = json.at("missing").count();
  summary.refused = json.at("refused").count();
  summary.needs_input = json.at("needs_input").count();
  summary.unassessed = json.at("unassessed").count();
  summary.structural = json.at("structural").count();
  if (const auto kept = json.maybe("kept")) summary.kept = kept->count();
  summary.convertible = json.at("convertible").boolean();
  summary.coverage_nodes = json.at("coverage_nodes").share();
  summary.coverage_operators = json.at("coverage_operators").share();
  summary.lowest_opset = opset_or_null(json.maybe("lowest_opset"));
  return summary;
}

// "mappings/operators/pooling.yaml:5"
void split_place(const JsonPlace& json, RowUse& use) {
  use.place = json.text();
  const auto colon = use.place.find_last_of(':');
  const char* const end = use.place.data() + use.place.size();
  if (colon == std::string::npos || std::from_chars(use.place.data() + colon + 1, end, use.line).ptr != end)
    json.fail("FILE:LINE");
  use.source = use.place.substr(0, colon);
}

RowUse row(const JsonPlace& json) {
  RowUse use;
  split_place(json.at("place"), use);
  use.nodes = json.at("nodes").count();
  use.lifted = text_or_empty(json.maybe("lifted"));
  if (const auto users = json.maybe("users")) use.users = users->boolean();
  return use;
}

OperatorSummary operator_summary(const JsonPlace& json) {
  OperatorSummary op;
  op.op = json.at("op").text();
  op.overload = json.at("overload").text();
  op.operator_class = word_at<OperatorClass>(json.at("class"));
  op.verified = json.at("verified").boolean();
  op.onnx = texts(json.at("onnx"));
  op.since = opset_or_null(json.maybe("since"));
  op.available_from = opset_or_null(json.maybe("available_from"));
  op.nodes = json.at("nodes").count();
  op.blocked = json.at("blocked").count();
  if (const auto kept = json.maybe("kept")) op.kept = kept->count();
  if (const auto rows = json.maybe("rows")) rows->each([&](const JsonPlace& each) { op.rows.push_back(row(each)); });
  json.at("emitted").members([&](const std::string& onnx, const JsonPlace& nodes) { op.emitted[onnx] = nodes.count(); });
  return op;
}

Site site(const JsonPlace& json) {
  return {.index = json.at("index").count<std::uint32_t>(),
          .module = json.at("module").text(),
          .file = json.at("file").text(),
          .line = json.at("line").count(),
          .function = json.at("function").text(),
          .args = json.at("args").text()};
}

Suppression suppression(const JsonPlace& json) {
  Suppression made{.reason = json.at("reason").text(), .expires = {}, .source = json.at("source").text()};
  if (const auto expires = json.maybe("expires")) made.expires = expires->text();
  return made;
}

Finding finding(const JsonPlace& json) {
  Finding made;
  made.id = json.at("id").text();
  made.severity = word_at<Severity>(json.at("severity"));
  made.op = json.at("op").text();
  made.overload = json.at("overload").text();
  made.message = json.at("message").text();
  made.help = json.at("help").text();
  made.row = text_or_empty(json.maybe("row"));
  made.available_from = opset_or_null(json.maybe("available_from"));
  made.nodes = json.at("nodes").count();
  json.at("sites").each([&](const JsonPlace& each) { made.sites.push_back(site(each)); });
  if (const auto target = json.maybe("target")) made.target = target->text();
  if (const auto suppressed = json.maybe("suppressed")) made.suppressed = suppression(*suppressed);
  if (const auto baseline = json.maybe("baseline")) made.baseline = word_at<BaselineState>(*baseline);
  return made;
}

TargetSummary read_target(const JsonPlace& json) {
  TargetSummary summary;
  summary.target = json.at("target").text();
  summary.engine = json.at("engine").text();
  summary.version = json.at("version").text();
  summary.source = json.at("source").text();
  summary.date = json.at("date").text();
  summary.support = word_at<Support>(json.at("support"));
  summary.nodes = json.at("nodes").count();
  summary.supported = json.at("supported").count();
  summary.unsupported = json.at("unsupported").count();
  summary.unknown = json.at("unknown").count();
  summary.partitions = json.at("partitions").count();
  summary.lowest_opset = opset_or_null(json.maybe("lowest_opset"));
  json.at("operators").each([&](const JsonPlace& op) {
    summary.operators.push_back({op.at("onnx").text(), word_at<Support>(op.at("support")), op.at("nodes").count()});
  });
  return summary;
}

std::uint32_t index_below(const JsonPlace& json, std::size_t end) {
  const auto index = json.count<std::uint32_t>();
  if (index >= end) json.fail("a place in a list of " + std::to_string(end));
  return index;
}

GraphSummary read_graph(const JsonPlace& json) {
  GraphSummary made{.operators = texts(json.at("operators")), .modules = texts(json.at("modules")), .nodes = {}};
  const JsonPlace nodes = json.at("nodes");
  nodes.each([&](const JsonPlace& each) {
    GraphSummary::Node& node = made.nodes.emplace_back();
    node.op = index_below(each.item(0), made.operators.size());
    node.module = index_below(each.item(1), made.modules.size());
    node.outcome = word_at<GraphSummary::Outcome>(each.item(2));
    each.item(3).each([&](const JsonPlace& input) { node.inputs.push_back(index_below(input, nodes.size())); });
  });
  return made;
}

void read_checked(const JsonPlace& json, Report& report) {
  report.model = read_model(json.at("model"));
  report.opset = json.at("opset").count();
  if (const auto type = json.maybe("export_type")) report.export_type = word_at<ExportType>(*type);
  report.verdict = word_at<Verdict>(json.at("verdict"));
  report.summary = read_summary(json.at("summary"));
  json.at("operators").each([&](const JsonPlace& op) { report.operators.push_back(operator_summary(op)); });
  json.at("findings").each([&](const JsonPlace& each) { report.findings.push_back(finding(each)); });
  if (const auto targets = json.maybe("targets"))
    targets->each([&](const JsonPlace& each) { report.targets.push_back(read_target(each)); });
  report.targets_lowest_opset = opset_or_null(json.maybe("targets_lowest_opset"));
  if (const auto nodes = json.maybe("graph")) report.graph = read_graph(*nodes);
  const JsonPlace gate = json.at("gate");
  report.gate = {.passed = gate.at("passed").boolean(),
                 .fail_on = word_at<FailOn>(gate.at("fail_on")),
                 .violations = gate.at("violations").count()};
  if (const auto most = gate.maybe("max_missing")) report.gate.max_missing = most->count();
  if (const auto one = gate.maybe("one_opset_is_enough")) report.gate.one_opset_is_enough = one->boolean();
  if (const auto settings = json.maybe("settings")) report.settings = settings->text();
}

Report report_in(const JsonPlace& json) {
  Report report;
  const JsonPlace tool = json.at("tool");
  report.tool = {tool.at("name").text(), tool.at("version").text(), tool.at("libtorch").text(), tool.at("onnx").text()};
  report.exit_code = json.at("exit_code").count();
  if (const auto error = json.maybe("error")) {
    report.model.path = json.at("model").at("path").text();
    report.error = error->at("message").text();
  } else {
    read_checked(json, report);
  }
  return report;
}

// The first number of the version is that of the keys' meaning.
void check_version(const JsonPlace& json) {
  if (!json.json().is_object() || !json.json().contains("schema_version"))
    throw ModelError("is JSON, but no report of compatcheck check");
  const JsonPlace version = json.at("schema_version");
  if (!version.text().starts_with("1."))
    version.fail("\"" + std::string(Report::schema_version) + "\", this version's, not \"" + version.text() + "\"");
}

void add_reports(const SavedJson& whole, std::vector<Report>& reports) {
  const JsonPlace json(whole);
  check_version(json);
  if (const auto list = json.maybe("reports")) {
    list->each([&](const JsonPlace& each) {
      check_version(each);
      reports.push_back(report_in(each));
    });
  } else {
    reports.push_back(report_in(json));
  }
}

bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

// One report a line.
std::vector<Report> read_lines(std::string_view text) {
  std::vector<Report> reports;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    ++number;
    if (blank(line)) continue;
    const std::string place = "line " + std::to_string(number);
    const SavedJson json = SavedJson::parse(line, nullptr, false);
    if (json.is_discarded()) throw ModelError(place + ": is no JSON object, or cut short");
    try {
      add_reports(json, reports);
    } catch (const ModelError& error) {
      throw ModelError(place + ": " + error.what());
    }
  }
  return reports;
}

std::vector<Report> read(std::string_view text) {
  std::vector<Report> reports;
  if (blank(text)) throw ModelError("holds no report");
  try {
    add_reports(JsonPlace::parse(text), reports);
    return reports;
  } catch (const SavedJson::parse_error& error) {
    // JSON lines begin with a whole object in a line; what render() indents doesn't.
    if (text.starts_with("{\"")) return read_lines(text);
    throw ModelError("is no saved report: no JSON, or cut short, at byte " + std::to_string(error.byte));
  }
}

}  // namespace
}  // namespace report

std::vector<Report> read_reports(std::string_view text) {
  return analysis::guarded("the report", [&] { return report::read(text); });
}

}  // namespace compatcheck
