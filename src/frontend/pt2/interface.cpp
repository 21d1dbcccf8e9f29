#include "frontend/pt2/interface.h"

namespace compatcheck::frontend::pt2 {

std::string to_string(const ir::SizeRange& range) {
  if (!range.least && !range.most) return "any number";
  if (!range.least) return "up to " + std::to_string(*range.most);
  return "from " + std::to_string(*range.least) + (range.most ? " to " + std::to_string(*range.most) : "");
}

}  // namespace compatcheck::frontend::pt2
