// Where a node of an exported program comes from: the user's source and the module, by the node's metadata.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "frontend/pt2/json.h"
#include "ir/location.h"

namespace compatcheck::frontend::pt2 {

struct Origin {
  ir::LocationRef location;
  std::string_view module;  // its text belongs to Origins
};

// The document must outlive it.
class Origins {
 public:
  Origin of(const Json& node);

 private:
  // By the texts of the metadata, which nodes share.
  std::unordered_map<std::string_view, ir::LocationRef> locations_;
  std::unordered_map<std::string_view, std::string> modules_;
};

// A line of a Python stack: `File "models/net.py", line 12, in forward`. The exporter to ONNX writes the same ones.
std::optional<ir::Location> stack_frame(std::string_view line);

}  // namespace compatcheck::frontend::pt2
