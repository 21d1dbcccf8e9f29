#include "compatcheck/diff.h"

#include <algorithm>
#include <set>

#include "analysis/boundary.h"
#include "analysis/run.h"
#include "compatcheck/render.h"
#include "files/naming.h"
#include "frontend/foreign.h"
#include "model_tools/compared.h"
#include "model_tools/inspect_onnx.h"
#include "model_tools/onnx_difference.h"
#include "model_tools/torchscript_difference.h"

namespace compatcheck {
namespace {

using model_tools::Compared;

constexpr std::uint64_t most_report_bytes = 256 << 20;

enum class Kind : std::uint8_t { report, onnx, torchscript };

struct DiffSide {
  Kind kind = Kind::torchscript;
  std::vector<Compared> models;  // TorchScript: empty until it is checked
  std::optional<Model> model{};  // set for TorchScript
};

Kind kind_of(const files::InputFile& file, const std::filesystem::path& path) {
  const auto head = file.head(64);
  const auto first =
      std::ranges::find_if(head, [](std::uint8_t byte) { return byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t'; });
  if (first != head.end() && *first == '{') return Kind::report;
  if (path.extension() == ".onnx" || frontend::recognise(file, path).format == frontend::Format::onnx) return Kind::onnx;
  return Kind::torchscript;
}

DiffSide read(const std::filesystem::path& path) {
  return files::naming(path.string(), [&]() -> DiffSide {
    const files::InputFile file(path);
    const Kind kind = kind_of(file, path);
    if (kind != Kind::report) return {.kind = kind, .models = {}};
    if (file.size() > most_report_bytes) throw ModelError("is larger than a report can be");
    const auto bytes = file.head(file.size());
    DiffSide side{.kind = kind, .models = {}};
    for (const Report& report : read_reports({reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
      side.models.push_back(model_tools::compared(report));
    if (side.models.empty()) throw ModelError("holds no report");
    return side;
  });
}

Compared read_onnx(const std::filesystem::path& path, const DiffOptions& options) {
  return files::naming(path.string(), [&] {
    Inspection found = model_tools::inspect_onnx(std::make_shared<const files::InputFile>(path), path.parent_path(),
                                                 {.load = options.load}, model_tools::Listed::initializers);
    found.path = path.string();
    return model_tools::compared(found);
  });
}

// A TorchScript model is checked at the opsets of the other side, so that like is compared with like.
void complete(DiffSide& side, const DiffSide& other, const std::filesystem::path& path, const DiffOptions& options) {
  if (side.kind == Kind::onnx) side.models = {read_onnx(path, options)};
  if (side.kind != Kind::torchscript) return;
  std::vector<int> opsets;
  if (options.opset)
    opsets = {*options.opset};
  else if (other.kind == Kind::report)
    for (const auto& report : other.models)
      if (report.opset && std::ranges::find(opsets, *report.opset) == opsets.end()) opsets.push_back(*report.opset);
  if (opsets.empty()) opsets = {default_opset};
  side.model = load(path, options.load);
  for (const Report& report :
       check(*side.model, opsets, {.timeout_seconds = options.load.timeout_seconds, .run = options.load.run}))
    side.models.push_back(model_tools::compared(report));
}

std::string label(const Compared& side) { return side.path + (side.opset ? " (opset " + std::to_string(*side.opset) + ")" : ""); }

std::vector<PropertyChange> compare_properties(const Compared& before, const Compared& after) {
  std::vector<PropertyChange> changes;
  const auto value_of = [](const Compared& side, const std::string& name) -> std::optional<std::string> {
    for (const auto& [key, value] : side.properties)
      if (key == name) return value;
    return std::nullopt;
  };
  for (const auto& [name, value] : before.properties)
    if (const auto now = value_of(after, name); now != value) changes.push_back({name, value, now});
  for (const auto& [name, value] : after.properties)
    if (!value_of(before, name)) changes.push_back({name, std::nullopt, value});
  return changes;
}

std::vector<OperatorChange> compare_operators(const Compared& before, const Compared& after) {
  std::map<std::string, OperatorChange> all;
  for (const auto& [op, nodes] : before.operators) all[op].before = nodes;
  for (const auto& [op, nodes] : after.operators) all[op].after = nodes;
  std::vector<OperatorChange> changes;
  for (auto& [op, change] : all) {
    change.op = op;
    if (change.before != change.after) changes.push_back(change);
  }
  return changes;
}

bool blocks(const Compared& side, const std::pair<std::string, std::string>& key) {
  const auto found = side.findings.find(key);
  return found != side.findings.end() && found->second.severity == "error";
}

std::vector<FindingChange> compare_findings(const Compared& before, const Compared& after) {
  std::set<std::pair<std::string, std::string>> keys;
  for (const auto* side : {&before, &after})
    for (const auto& [key, finding] : side->findings) keys.insert(key);
  std::vector<FindingChange> changes;
  for (const auto& key : keys) {
    const auto was = before.findings.find(key), is = after.findings.find(key);
    const bool had = was != before.findings.end(), has = is != after.findings.end();
    if (had && has && was->second.nodes == is->second.nodes && was->second.severity == is->second.severity) continue;
    const auto& shown = has ? is->second : was->second;
    changes.push_back({.id = key.first,
                       .severity = shown.severity,
                       .op = key.second,
                       .message = shown.message,
                       .before = had ? was->second.nodes : 0,
                       .after = has ? is->second.nodes : 0,
                       .blocks = blocks(after, key) && !blocks(before, key)});
  }
  std::ranges::stable_sort(changes, [](const auto& a, const auto& b) { return a.blocks > b.blocks; });
  return changes;
}

ModelDifference compare_models(const Compared* before, const Compared* after, bool models) {
  const Compared nothing;
  ModelDifference made;
  if (before) made.before = label(*before);
  if (after) made.after = label(*after);
  const Compared &was = before ? *before : nothing, &is = after ? *after : nothing;
  made.properties = compare_properties(was, is);
  made.operators = compare_operators(was, is);
  made.findings = compare_findings(was, is);
  made.something_new = std::ranges::any_of(made.findings, &FindingChange::blocks) ||
                       (models && std::ranges::any_of(made.operators, [](const auto& change) { return change.before == 0; }));
  return made;
}

// Pairs by path and opset; the rest in order if both sides have the same sequence of opsets: the same models in another
// folder.
std::vector<std::pair<const Compared*, const Compared*>> pair_models(const DiffSide& before, const DiffSide& after) {
  if (before.models.size() == 1 && after.models.size() == 1) return {{&before.models[0], &after.models[0]}};
  std::vector<std::pair<const Compared*, const Compared*>> pairs;
  std::set<const Compared*> met;
  for (const Compared& model : before.models) {
    const auto other = std::ranges::find_if(after.models, [&](const Compared& each) {
      return each.path == model.path && each.opset == model.opset && !met.contains(&each);
    });
    pairs.emplace_back(&model, other == after.models.end() ? nullptr : &*other);
    if (other != after.models.end()) met.insert(&*other);
  }
  std::vector<std::pair<const Compared*, const Compared*>*> lone;
  std::vector<const Compared*> rest;
  for (auto& pair : pairs)
    if (!pair.second) lone.push_back(&pair);
  for (const Compared& model : after.models)
    if (!met.contains(&model)) rest.push_back(&model);
  const auto same_opset = [](const auto* pair, const Compared* model) {
    return pair->first->opset == model->opset || !pair->first->opset || !model->opset;
  };
  if (met.empty() && std::ranges::equal(lone, rest, same_opset)) {
    for (std::size_t i = 0; i < rest.size(); ++i) lone[i]->second = rest[i];
    return pairs;
  }
  for (const Compared* model : rest) pairs.emplace_back(nullptr, model);
  return pairs;
}

// Finds differences that counts and reports don't show.
void look_inside(const DiffSide& was, const DiffSide& is, const std::filesystem::path& before, const std::filesystem::path& after,
                 const ir::Watch& watch, ModelDifference& made) {
  if (was.model && is.model) model_tools::compare_torchscript(was.model->state(), is.model->state(), watch, made);
  if (was.kind != Kind::onnx || is.kind != Kind::onnx) return;
  auto inner = model_tools::compare_onnx(before, after, watch);
  made.nodes = std::move(inner.nodes);
  made.weights = std::move(inner.weights);
  made.properties.insert(made.properties.end(), inner.properties.begin(), inner.properties.end());
  if (made.empty() && inner.elsewhere)
    made.properties.push_back({"the rest", "", "types of inner values, documentation or the order of nodes changed"});
}

}  // namespace

Difference diff(const std::filesystem::path& before, const std::filesystem::path& after, const DiffOptions& options) {
  return analysis::guarded(before.string() + ", " + after.string(), [&] {
    const ir::Watch watch = analysis::watch_of(options.load.run, options.load.timeout_seconds);
    DiffSide was = read(before), is = read(after);
    complete(was, is, before, options);
    complete(is, was, after, options);
    Difference made{.before = before.string(), .after = after.string(), .models = {}};
    const bool models = was.kind != Kind::report && is.kind != Kind::report;
    for (const auto& [a, b] : pair_models(was, is)) {
      made.models.push_back(compare_models(a, b, models));
      if (made.models.size() == 1) look_inside(was, is, before, after, watch, made.models.back());
      if (made.models.back().something_new) made.exit_code = exit_findings;
    }
    const auto unread = [](const ModelDifference& model) {
      return std::ranges::any_of(model.weights, [](const auto& change) { return !change.problem.empty(); });
    };
    if (std::ranges::any_of(made.models, unread)) made.exit_code = exit_unreadable;
    return made;
  });
}

}  // namespace compatcheck
