#include "report/inspection.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "compatcheck/printable.h"
#include "report/style.h"

namespace compatcheck::report {
namespace {

constexpr std::size_t shown_values = 16, longest_string = 200;

std::string number_text(double value) {
  char written[40];
  // An attribute's float, in as few digits as name it.
  const auto single = static_cast<float>(value);
  const auto end = static_cast<double>(single) == value ? std::to_chars(written, written + sizeof written, single)
                                                        : std::to_chars(written, written + sizeof written, value);
  return {written, end.ptr};
}

std::string scalar_text(const Scalar& scalar) {
  if (const auto* text = std::get_if<std::string>(&scalar))
    return "\"" + fit(printable(text->substr(0, 4 * longest_string)), longest_string) + "\"";
  if (const auto* whole = std::get_if<std::int64_t>(&scalar)) return std::to_string(*whole);
  if (const auto* truth = std::get_if<bool>(&scalar)) return *truth ? "true" : "false";
  return number_text(std::get<double>(scalar));
}

std::string list_text(const std::vector<Scalar>& values, std::uint64_t all) {
  std::string text;
  const std::size_t shown = std::min(values.size(), shown_values);
  for (std::size_t i = 0; i < shown; ++i) text += (i ? ", " : "") + scalar_text(values[i]);
  if (all > shown) text += (shown ? ", " : "") + ("… (" + number(static_cast<long long>(all)) + ")");
  return text;
}

std::string sizes_text(const std::vector<std::int64_t>& sizes) {
  std::vector<std::string> texts;
  for (const auto size : sizes) texts.push_back(std::to_string(size));
  return shape(texts);
}

std::string tensor_text(const TensorContents& tensor) {
  std::string text = tensor.dtype + sizes_text(tensor.shape);
  if (!tensor.problem.empty()) return text + " " + tensor.problem;
  if (tensor.external) return text + " in " + printable(tensor.external->location);
  return text + (tensor.elements > 0 ? " {" + list_text(tensor.values, tensor.elements) + "}" : "");
}

std::string short_number(double value) {
  char written[40];
  std::snprintf(written, sizeof written, "%.6g", value);
  return written;
}

std::string statistics_text(const TensorStatistics& statistics) {
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    text += (text.empty() ? "" : " · ") + (name + (" " + value));
  };
  if (statistics.min) add("min", short_number(*statistics.min));
  if (statistics.max) add("max", short_number(*statistics.max));
  if (statistics.mean) add("mean", short_number(*statistics.mean));
  if (statistics.std) add("std", short_number(*statistics.std));
  add("zeros", number(static_cast<long long>(statistics.zeros)));
  if (statistics.nan) add("NaN", number(static_cast<long long>(statistics.nan)));
  if (statistics.inf) add("inf", number(static_cast<long long>(statistics.inf)));
  return text;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i ? ", " : "") + (names[i].empty() ? std::string("-") : printable(names[i]));
  return text;
}

std::string attribute_text(const AttributeContents& attribute) {
  std::string text = printable(attribute.name) + "  " + attribute.type + " ";
  if (!attribute.reference.empty()) return text + "= the function's " + printable(attribute.reference);
  const bool list = attribute.type.ends_with("s");
  if (!attribute.values.empty() || list) {
    const std::string values = list_text(attribute.values, attribute.values.size());
    if (attribute.tensors.empty() && attribute.graphs.empty() && attribute.types.empty())
      text += list ? "[" + values + "]" : values;
  }
  for (const auto& tensor : attribute.tensors)
    text += tensor_text(tensor) + (tensor.statistics ? "  " + statistics_text(*tensor.statistics) : "") + " ";
  for (const auto& graph : attribute.graphs) text += printable(graph) + " ";
  for (const auto& each : attribute.types) text += printable(each) + " ";
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

Table tensor_table(const std::string& title, const std::vector<TensorInfo>& tensors) {
  Table table{title, {"name", "type"}, {}};
  for (const auto& tensor : tensors) table.rows.push_back({{printable(tensor.name), printable(type(tensor))}});
  return table;
}

Table pair_table(const std::string& title, const std::vector<std::pair<std::string, std::string>>& pairs) {
  Table table{title, {"key", "value"}, {}};
  for (const auto& [key, value] : pairs)
    table.rows.push_back({{printable(key), fit(printable(value.substr(0, 4 * longest_string)), longest_string)}});
  return table;
}

Table operator_table(const std::vector<OperatorCount>& operators) {
  Table table{"operators", {"operator", "nodes"}, {}};
  for (const auto& op : operators) table.rows.push_back({{printable(op.op), number(static_cast<long long>(op.nodes))}});
  return table;
}

Table size_table(const std::vector<SizePart>& parts) {
  Table table{"size", {"part", "bytes"}, {}};
  for (const auto& part : parts) table.rows.push_back({{part.part, bytes(part.bytes)}});
  return table;
}

Table external_table(const std::vector<ExternalFile>& files) {
  Table table{"external data", {"file", "tensors", "bytes", "state"}, {}};
  for (const auto& file : files) {
    const std::string held = file.file_bytes ? "of " + bytes(*file.file_bytes) : "not there";
    table.rows.push_back(
        {{printable(file.location), number(static_cast<long long>(file.tensors)), bytes(file.bytes),
          held + (file.problems ? ", " + count(static_cast<long long>(file.problems), "tensor") + " not in it" : "")}});
  }
  return table;
}

Table subgraph_table(const std::vector<SubgraphContents>& subgraphs) {
  Table table{"bodies", {"body", "nodes", "inputs", "outputs"}, {}};
  const auto names = [](const std::vector<TensorInfo>& tensors) {
    std::vector<std::string> all;
    for (const auto& tensor : tensors) all.push_back(tensor.name + (tensor.dtype == "?" ? "" : " " + type(tensor)));
    return joined(all);
  };
  for (const auto& body : subgraphs)
    table.rows.push_back({{printable(body.scope), count(static_cast<long long>(body.nodes), "node"),
                           "(" + names(body.inputs) + ") → " + names(body.outputs)}});
  table.columns = {"body", "nodes", "signature"};
  return table;
}

Table function_table(const std::vector<FunctionContents>& functions) {
  Table table{"functions", {"function", "nodes", "calls", "signature"}, {}};
  for (const auto& function : functions) {
    TableRow row{{printable(function.domain + "::" + function.name + (function.overload.empty() ? "" : "." + function.overload)),
                  count(static_cast<long long>(function.nodes), "node"), count(static_cast<long long>(function.calls), "call"),
                  "(" + joined(function.inputs) + ") → " + joined(function.outputs)}};
    if (!function.attributes.empty()) row.details.push_back("attributes  " + joined(function.attributes));
    for (const auto& attribute : function.defaults) row.details.push_back("default  " + attribute_text(attribute));
    table.rows.push_back(std::move(row));
  }
  return table;
}

TableRow onnx_row(const NodeContents& node) {
  TableRow row{{(node.scope.empty() ? "" : printable(node.scope) + " ") + std::to_string(node.index),
                printable(node.op + (node.overload.empty() ? "" : "." + node.overload)), printable(node.name),
                "(" + joined(node.inputs) + ") → " + joined(node.outputs)}};
  for (const auto& attribute : node.attributes) row.details.push_back(attribute_text(attribute));
  for (const auto& output : node.output_types) row.details.push_back("→ " + printable(output.name + " " + type(output)));
  for (const auto& [key, value] : node.metadata) row.details.push_back(printable(key + " = " + value));
  return row;
}

TableRow torchscript_row(const NodeContents& node) {
  const std::string place = node.file.empty() ? ""
                                              : node.file + (node.line ? ":" + std::to_string(node.line) : "") +
                                                    (node.function.empty() ? "" : " in " + node.function);
  return {{std::to_string(node.index), printable(node.op), printable(node.module), printable(place), printable(node.args)}};
}

Table node_table(const Inspection& inspection) {
  Table table{"nodes", {"index", "operator", "name", "values", "attributes"}, {}};
  if (inspection.onnx)
    table.columns.pop_back();  // the details' column has no head
  else
    table.columns = {"index", "operator", "module", "source", "call"};
  for (const auto& node : inspection.node_list) table.rows.push_back(inspection.onnx ? onnx_row(node) : torchscript_row(node));
  return table;
}

Table weight_table(const Inspection& inspection, const std::set<std::string>& only) {
  Table table{inspection.onnx ? "initializers" : "tensors", {"name", "kind", "type", "bytes", "where"}, {}};
  for (const auto& tensor : inspection.tensors) {
    if (inspection.filtered && !only.contains(tensor.name)) continue;
    TableRow row{{(tensor.scope.empty() ? "" : printable(tensor.scope) + " ") + printable(tensor.name), tensor.kind,
                  tensor.dtype + sizes_text(tensor.shape), bytes(tensor.bytes)}};
    if (tensor.external)
      row.cells.push_back(printable(tensor.external->location) + " from byte " + std::to_string(tensor.external->offset));
    if (tensor.external && !tensor.external->problem.empty()) row.details.push_back(printable(tensor.external->problem));
    if (!tensor.problem.empty()) row.details.push_back(tensor.problem);
    if (tensor.statistics)
      row.details.push_back(statistics_text(*tensor.statistics));
    else if (!tensor.values.empty())
      row.details.push_back("{" + list_text(tensor.values, tensor.elements) + "}");
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table module_table(const std::vector<ModuleContents>& modules) {
  Table table{"modules", {"module", "class", "elements", "bytes"}, {}};
  for (const auto& module : modules)
    table.rows.push_back({{module.path.empty() ? "(the model)" : printable(module.path), printable(module.class_name),
                           number(static_cast<long long>(module.count)), bytes(module.bytes)}});
  return table;
}

std::string onnx_title(const Inspection& inspection) {
  std::string title = " · ONNX · IR version " + std::to_string(inspection.onnx->ir_version);
  for (const auto& [domain, version] : inspection.onnx->opsets)
    title += " · " + (domain.empty() ? "opset" : printable(domain)) + " " + std::to_string(version);
  return title;
}

std::string torchscript_title(const Inspection& inspection) {
  if (inspection.format == "exported_program") return " · exported program";
  if (!inspection.torchscript) return " · TorchScript graph";
  return std::string(" · TorchScript · ") + (inspection.torchscript->traced ? "traced" : "scripted") +
         (inspection.torchscript->training ? " · training mode" : "");
}

void add_onnx(Page& page, const Inspection& inspection) {
  const OnnxContents& onnx = *inspection.onnx;
  std::string line = "graph " + (onnx.graph.empty() ? "without a name" : printable(onnx.graph));
  if (!onnx.domain.empty()) line += " · domain " + printable(onnx.domain);
  if (onnx.model_version != 0) line += " · model version " + std::to_string(onnx.model_version);
  if (onnx.training_graphs) line += " · " + count(static_cast<long long>(onnx.training_graphs), "training graph");
  page.lines.push_back(line);
  if (!onnx.documentation.empty())
    page.lines.push_back(fit(printable(onnx.documentation.substr(0, 4 * longest_string)), longest_string));
}

void add_torchscript(Page& page, const TorchScriptContents& torchscript) {
  page.lines.push_back("class " + printable(torchscript.class_name) + " · " +
                       count(static_cast<long long>(torchscript.parameter_count), "element") + " of parameters and constants, " +
                       bytes(torchscript.parameter_bytes));
  for (const auto& note : torchscript.notes) page.lines.push_back(printable(note));
}

}  // namespace

Page page(const Inspection& inspection, const RenderOptions& options) {
  Page page;
  page.title = printable(inspection.path.substr(inspection.path.find_last_of('/') + 1)) +
               (inspection.onnx ? onnx_title(inspection) : torchscript_title(inspection));
  if (!inspection.producer.empty()) page.title += " · " + printable(inspection.producer);
  page.lines.push_back(count(static_cast<long long>(inspection.nodes), "node") + " of " +
                       count(static_cast<long long>(inspection.operators.size()), "operator") + " · " +
                       count(static_cast<long long>(inspection.tensors.size()), inspection.onnx ? "initializer" : "tensor") +
                       " · " + bytes(inspection.bytes));
  if (inspection.onnx)
    add_onnx(page, inspection);
  else if (inspection.torchscript)
    add_torchscript(page, *inspection.torchscript);
  if (inspection.filtered) {
    if (!inspection.unmatched.empty()) page.lines.push_back(printable(inspection.unmatched));
    page.tables.push_back(node_table(inspection));
    std::set<std::string> read;
    for (const auto& node : inspection.node_list) read.insert(node.inputs.begin(), node.inputs.end());
    page.tables.push_back(weight_table(inspection, read));
    return page;
  }
  page.tables = {tensor_table("inputs", inspection.inputs), tensor_table("outputs", inspection.outputs)};
  if (inspection.onnx) page.tables.push_back(pair_table("metadata", inspection.onnx->metadata));
  if (inspection.torchscript) {
    Table methods{"methods", {"signature"}, {}};
    for (const auto& method : inspection.torchscript->methods) methods.rows.push_back({{printable(method)}});
    page.tables.push_back(std::move(methods));
  }
  page.tables.push_back(operator_table(inspection.operators));
  page.tables.push_back(size_table(inspection.sizes));
  if (inspection.onnx) {
    page.tables.push_back(external_table(inspection.onnx->external_files));
    page.tables.push_back(function_table(inspection.onnx->functions));
  }
  if (options.quiet) return page;
  if (inspection.torchscript) page.tables.push_back(module_table(inspection.torchscript->modules));
  if (inspection.onnx) page.tables.push_back(subgraph_table(inspection.onnx->subgraphs));
  page.tables.push_back(node_table(inspection));
  page.tables.push_back(weight_table(inspection, {}));
  return page;
}

}  // namespace compatcheck::report
