#include <cmath>

#include "report/inspection.h"
#include "report/json_parts.h"

namespace compatcheck::report {
namespace {

// JSON has no NaN and no infinity.
Json number_or_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json scalar(const Scalar& value) {
  if (const auto* floating = std::get_if<double>(&value)) return number_or_text(*floating);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  return std::get<std::string>(value);
}

Json scalars(const std::vector<Scalar>& values) {
  Json list = Json::array();
  for (const auto& value : values) list.push_back(scalar(value));
  return list;
}

Json pairs(const std::vector<std::pair<std::string, std::string>>& all) {
  Json list = Json::array();
  for (const auto& [key, value] : all) list.push_back({{"key", key}, {"value", value}});
  return list;
}

Json opsets(const std::vector<std::pair<std::string, std::int64_t>>& all) {
  Json list = Json::array();
  for (const auto& [domain, version] : all) list.push_back({{"domain", domain}, {"version", version}});
  return list;
}

Json operators(const std::vector<OperatorCount>& all) {
  Json list = Json::array();
  for (const auto& op : all) list.push_back({{"op", op.op}, {"nodes", op.nodes}});
  return list;
}

Json tensor(const TensorContents& tensor) {
  Json json = {{"name", tensor.name},   {"scope", tensor.scope},       {"kind", tensor.kind},  {"dtype", tensor.dtype},
               {"shape", tensor.shape}, {"elements", tensor.elements}, {"bytes", tensor.bytes}};
  if (tensor.external) {
    json["external"] = {{"location", tensor.external->location},
                        {"offset", tensor.external->offset},
                        {"length", or_null(tensor.external->length)}};
    if (!tensor.external->problem.empty()) json["external"]["problem"] = tensor.external->problem;
  }
  if (!tensor.values.empty()) json["values"] = scalars(tensor.values);
  if (const auto& found = tensor.statistics)
    json["statistics"] = {{"min", or_null(found->min)}, {"max", or_null(found->max)}, {"mean", or_null(found->mean)},
                          {"std", or_null(found->std)}, {"zeros", found->zeros},      {"nan", found->nan},
                          {"inf", found->inf}};
  if (!tensor.problem.empty()) json["problem"] = tensor.problem;
  return json;
}

Json all_tensors(const std::vector<TensorContents>& all) {
  Json list = Json::array();
  for (const auto& each : all) list.push_back(tensor(each));
  return list;
}

// One value, or a list of them; a tensor is described.
Json value(const AttributeContents& attribute) {
  Json list = Json::array();
  for (const auto& each : attribute.values) list.push_back(scalar(each));
  for (const auto& each : attribute.tensors) list.push_back(tensor(each));
  for (const auto& each : attribute.graphs) list.push_back(each);
  for (const auto& each : attribute.types) list.push_back(each);
  const bool single = !attribute.type.ends_with("s");
  if (single && list.size() == 1) return std::move(list[0]);
  return list;
}

Json attributes(const std::vector<AttributeContents>& all) {
  Json list = Json::array();
  for (const auto& attribute : all) {
    Json json = {{"name", attribute.name}, {"type", attribute.type}};
    if (attribute.reference.empty())
      json["value"] = value(attribute);
    else
      json["reference"] = attribute.reference;
    list.push_back(std::move(json));
  }
  return list;
}

Json nodes(const Inspection& inspection) {
  Json list = Json::array();
  for (const auto& node : inspection.node_list) {
    Json json = {{"index", node.index}, {"op", node.op}, {"overload", node.overload}};
    if (inspection.onnx) {
      json["scope"] = node.scope;
      json["name"] = node.name;
    }
    json["inputs"] = node.inputs;
    json["outputs"] = node.outputs;
    if (inspection.onnx) {
      json["output_types"] = tensors(node.output_types);
      json["attributes"] = attributes(node.attributes);
      json["metadata"] = pairs(node.metadata);
    } else {
      json["module"] = node.module;
      json["file"] = node.file;
      json["line"] = node.line;
      json["function"] = node.function;
      json["args"] = node.args;
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json functions(const std::vector<FunctionContents>& all) {
  Json list = Json::array();
  for (const auto& function : all)
    list.push_back({{"domain", function.domain},
                    {"name", function.name},
                    {"overload", function.overload},
                    {"inputs", function.inputs},
                    {"outputs", function.outputs},
                    {"attributes", function.attributes},
                    {"defaults", attributes(function.defaults)},
                    {"opsets", opsets(function.opsets)},
                    {"operators", operators(function.operators)},
                    {"nodes", function.nodes},
                    {"calls", function.calls}});
  return list;
}

Json subgraphs(const std::vector<SubgraphContents>& all) {
  Json list = Json::array();
  for (const auto& body : all)
    list.push_back({{"scope", body.scope},
                    {"inputs", tensors(body.inputs)},
                    {"outputs", tensors(body.outputs)},
                    {"nodes", body.nodes},
                    {"initializers", body.initializers}});
  return list;
}

Json external_files(const std::vector<ExternalFile>& all) {
  Json list = Json::array();
  for (const auto& file : all)
    list.push_back({{"location", file.location},
                    {"tensors", file.tensors},
                    {"bytes", file.bytes},
                    {"file_bytes", or_null(file.file_bytes)},
                    {"problems", file.problems}});
  return list;
}

Json onnx(const OnnxContents& contents) {
  return {{"ir_version", contents.ir_version},
          {"opsets", opsets(contents.opsets)},
          {"model_version", contents.model_version},
          {"domain", contents.domain},
          {"graph", contents.graph},
          {"documentation", contents.documentation},
          {"metadata", pairs(contents.metadata)},
          {"subgraphs", subgraphs(contents.subgraphs)},
          {"functions", functions(contents.functions)},
          {"external_files", external_files(contents.external_files)},
          {"training_graphs", contents.training_graphs}};
}

Json torchscript(const TorchScriptContents& contents) {
  Json modules = Json::array();
  for (const auto& module : contents.modules)
    modules.push_back({{"path", module.path}, {"class", module.class_name}, {"elements", module.count}, {"bytes", module.bytes}});
  return {{"libtorch", contents.libtorch},
          {"traced", contents.traced},
          {"training", contents.training},
          {"class", contents.class_name},
          {"methods", contents.methods},
          {"modules", std::move(modules)},
          {"parameters", {{"count", contents.parameter_count}, {"bytes", contents.parameter_bytes}}},
          {"notes", contents.notes}};
}

Json sizes(const std::vector<SizePart>& parts) {
  Json list = Json::array();
  for (const auto& part : parts) list.push_back({{"part", part.part}, {"bytes", part.bytes}});
  return list;
}

}  // namespace

std::string json(const Inspection& inspection) {
  Json object = {{"schema_version", Inspection::schema_version},
                 {"path", inspection.path},
                 {"format", inspection.format},
                 {"producer", inspection.producer},
                 {"bytes", inspection.bytes},
                 {"inputs", tensors(inspection.inputs)},
                 {"outputs", tensors(inspection.outputs)},
                 {"node_count", inspection.nodes},
                 {"operators", operators(inspection.operators)},
                 {"sizes", sizes(inspection.sizes)}};
  if (inspection.onnx) object["onnx"] = onnx(*inspection.onnx);
  if (inspection.torchscript) object["torchscript"] = torchscript(*inspection.torchscript);
  if (inspection.filtered) object["unmatched"] = inspection.unmatched;
  object["nodes"] = nodes(inspection);
  object[inspection.onnx ? "initializers" : "tensors"] = all_tensors(inspection.tensors);
  return object.dump(2, ' ', false, replace_bad_utf8) + "\n";
}

}  // namespace compatcheck::report
