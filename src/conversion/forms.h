// The forms in which calls are written. A call's form at an opset is what its rows and its handler make of it there; nodes of an
// older form that a newer opset still has are as valid, and an engine may take them where it lacks the newer operator.
#pragma once

#include <map>
#include <unordered_map>

#include "ir/graph.h"

namespace compatcheck::conversion {

// The opset of each call's form; calls that aren't named have the form of the model's opset.
using Forms = std::unordered_map<const ir::Node*, int>;

// By the model's opset.
struct FormTable {
  std::map<int, Forms> at;

  int of(const ir::Node& node, int opset) const {
    const auto forms = at.find(opset);
    if (forms == at.end()) return opset;
    const auto form = forms->second.find(&node);
    return form == forms->second.end() ? opset : form->second;
  }
};

}  // namespace compatcheck::conversion
