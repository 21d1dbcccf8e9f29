// TorchScript's own notation: what print(model.graph) writes, read and printed.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace compatcheck::ir {

struct ParseOptions {
  std::string file = "<text>";  // for messages
};

// Reads one graph, with nested blocks, types with shapes, attributes in brackets, `^MyRelu()(%x)` and `prim::PythonOp`.
// Comments such as `# file.py:12:3` become locations, and `scope: …` comments become module paths. Throws ModelError
// "file:line:column: what was expected", then the line and a caret under the place.
Graph parse_graph(std::string_view text, const ParseOptions& options = {});

// A type alone: "Float(2, 3, strides=[3, 1])", "Tensor?", "int[]".
TypeRef parse_type(std::string_view text);

struct PrintOptions {
  bool locations = true;  // the comments
};

// parse_graph(print(graph)) is the same graph; tensors of more than a few elements print as torch does and come
// back without data.
std::string print(const Graph& graph, const PrintOptions& options = {});
std::string print(const Node& node);  // one line, without its blocks
std::string print(const Constant& constant);

}  // namespace compatcheck::ir
