#include "conversion/defect.h"

#include <new>
#include <string>

namespace compatcheck::conversion {
namespace {

// The innermost one that the model recorded, and where it was called from.
std::string place_of(const ir::Node& node) {
  std::string places;
  for (const ir::Location* place = node.location().get(); place; place = place->caller.get())
    if (!place->file.empty())
      places += (places.empty() ? " at " : ", called at ") + place->file + ":" + std::to_string(place->line);
  return places;
}

}  // namespace

bool is_defect(const std::exception& fault) {
  if (dynamic_cast<const InternalError*>(&fault)) return true;
  return !dynamic_cast<const Error*>(&fault) && !dynamic_cast<const std::bad_alloc*>(&fault);
}

DefectOfCall defect_at(const ir::Node& node, std::optional<int> opset, const std::exception& fault) {
  return DefectOfCall(node.op() + (node.overload().empty() ? "" : "." + node.overload()) + place_of(node) +
                      (opset ? ", opset " + std::to_string(*opset) : "") + ": " + fault.what() +
                      " (this is a defect of compatcheck; please report it)");
}

}  // namespace compatcheck::conversion
