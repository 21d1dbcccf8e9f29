// Profiles from text, and models of a few nodes from ONNX's own notation.
#pragma once

#include <onnx/defs/parser.h>
#include <onnx/shape_inference/implementation.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "engines/judge.h"
#include "engines/reading/read_profile.h"
#include "mapping/table.h"

namespace compatcheck::engines {

inline Profile profile_from(const std::string& text) { return decode(encode(read_profile({text, "acme.yaml"}))); }

inline std::vector<Node> nodes_from(const std::string& text) {
  ::onnx::ModelProto model;
  if (const auto status = ::onnx::OnnxParser::Parse(model, text.c_str()); !status.IsOK())
    throw std::runtime_error(status.ErrorMessage());
  ::onnx::shape_inference::InferShapes(model);
  return nodes_of(model);
}

// Of the text's first node.
inline Verdict verdict_of(const std::string& profile_text, const std::string& body, int opset) {
  const Profile profile = profile_from("engine: acme\nversion: \"1\"\n" + profile_text);
  const auto table = mapping::Table::shipped();
  const auto nodes = nodes_from("<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]> g " + body);
  return Judge(profile, table.onnx_changes())(nodes.front(), opset);
}

inline SettledBy settled(const std::string& profile_text, const std::string& body) {
  return verdict_of(profile_text, body, 17).settled_by;
}

// "no CC103: X of Conv is f64; the engine supports f32", "yes".
inline std::string judged(const std::string& profile_text, const std::string& body, int opset = 17) {
  const Verdict verdict = verdict_of(profile_text, body, opset);
  if (verdict.support == Support::yes) return verdict.note.empty() ? "yes" : "yes: " + verdict.note;
  return std::string(verdict.support == Support::no ? "no " : "unknown ") + verdict.rule + ": " + verdict.message;
}

}  // namespace compatcheck::engines
