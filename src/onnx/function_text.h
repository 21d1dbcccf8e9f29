// ONNX functions in ONNX's own text notation, as mapping rows hold them. onnx's parser reads them; this file adds the places of
// their parts.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/schema.h"

namespace compatcheck::onnx {

// An error in a text, at a line and column of it, from 1.
struct TextFault {
  int line = 1, column = 1;
  std::string message;
};

class FunctionText {
 public:
  struct Attribute {
    std::string name;
    AttributeType type = AttributeType::undefined;          // type of its default, else type at the first reference to it
    const ::onnx::AttributeProto* default_value = nullptr;  // null: a call must set it
  };

  // At least one function. Names without a domain that ONNX lacks and the text defines are the text's. Throws TextFault.
  explicit FunctionText(std::string text);
  FunctionText(const FunctionText&) = delete;
  FunctionText& operator=(const FunctionText&) = delete;

  const std::vector<::onnx::FunctionProto>& functions() const { return functions_; }
  const ::onnx::FunctionProto& called() const { return functions_.back(); }
  const ::onnx::FunctionProto* find(std::string_view domain, std::string_view name) const;  // null if there is none
  std::string name() const;  // the called function's: "acme::Selu", or "Selu"

  std::vector<Attribute> attributes(const ::onnx::FunctionProto& function) const;
  // The opset that a function says it is written for; nullopt if it doesn't say.
  static std::optional<int> opset(const ::onnx::FunctionProto& function);
  // Operators of every function, bodies inside them included, that no function of the text is; each once, as rows name them.
  std::vector<std::string> operators() const;

  // Where a node's operator stands, or a function.
  TextFault at(const ::onnx::NodeProto& node, std::string message) const;
  TextFault at(const ::onnx::FunctionProto& function, std::string message) const;

 private:
  TextFault at(std::size_t position, std::string message) const;
  void index_nodes();

  std::string text_;
  std::vector<::onnx::FunctionProto> functions_;
  std::vector<std::size_t> starts_;                        // where each function begins
  std::map<const ::onnx::NodeProto*, std::size_t> nodes_;  // where each node stands
};

// "Relu", "acme::Selu".
std::string row_name(std::string_view domain, std::string_view name);
// `<q: int>` has a type and no value; `<q: int = 0>` has both.
bool has_value(const ::onnx::AttributeProto& attribute);

template <class Nodes, class Visit>
void for_each_proto(const Nodes& nodes, Visit&& visit) {
  for (const ::onnx::NodeProto& node : nodes) {
    visit(node);
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) for_each_proto(attribute.g().node(), visit);
  }
}

}  // namespace compatcheck::onnx
