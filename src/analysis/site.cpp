#include "analysis/site.h"

#include "analysis/findings.h"
#include "ir/origin.h"

namespace compatcheck::analysis {
namespace {

// The lowest rank wins. A place in a library is more useful than the script that called the tracer.
int rank_of(const ir::Location& place, bool behind_tracer) {
  switch (ir::origin_of(place)) {
    case ir::Origin::user: return behind_tracer ? 2 : 0;
    case ir::Origin::library: return behind_tracer ? 4 : 1;
    case ir::Origin::torch: return behind_tracer ? 4 : 3;
    case ir::Origin::tracer: return 4;
    case ir::Origin::archive: return 5;
  }
  return 5;
}

// The innermost place in the user's code, else in a library's, and so on.
const ir::Location* place_to_name(const ir::LocationRef& innermost) {
  const ir::Location* found = nullptr;
  int best = 6;
  bool behind_tracer = false;
  for (const ir::Location* place = innermost.get(); place; place = place->caller.get()) {
    behind_tracer |= ir::origin_of(*place) == ir::Origin::tracer;
    const int rank = rank_of(*place, behind_tracer);
    if (rank < best) found = place, best = rank;
    if (best == 0) break;
  }
  return found;
}

// The end of a path is its most useful part.
std::string shortened(const std::string& file) {
  constexpr std::size_t longest_file = 1000;
  return file.size() > longest_file ? "…" + file.substr(file.size() - longest_file) : file;
}

// The node that has a place for this one: libtorch saves none for what sets an attribute, and nothing for what the model returns.
// The node that makes the value has one.
const ir::Node& placed(const ir::Node& node) {
  if (node.is("prim::Return") || (node.is("prim::SetAttr") && !node.location()))
    for (const ir::Value* input : node.inputs())
      if (const ir::Node* producer = input->producer(); producer && producer->location()) return *producer;
  return node;
}

// A branch or loop that a return or a break makes has no place of its own: that of a call in it is near.
const ir::LocationRef& location_of(const ir::Node& node) {
  const ir::Node& shown = placed(node);
  if (!shown.blocks().empty() && (!shown.location() || ir::origin_of(*shown.location()) == ir::Origin::archive))
    for (const ir::Block* block : shown.blocks())
      for (const ir::Node* inner : *block)
        if (const ir::LocationRef& place = inner->location(); place && ir::origin_of(*place) != ir::Origin::archive) return place;
  return shown.location();
}

}  // namespace

Site site_of(const ir::Node& node, std::uint32_t index) {
  Site site = site_of(location_of(node), index);
  site.module = node.module();
  site.args = spell_call(node);
  return site;
}

Site site_of(const ir::LocationRef& location, std::uint32_t index) {
  Site site;
  site.index = index;
  if (const ir::Location* place = place_to_name(location)) {
    site.file = shortened(place->file);
    site.line = place->line;
    site.function = place->function;
  }
  return site;
}

std::string place_text(const Site& site) {
  return site.file.empty() ? std::string() : " at " + site.file + ":" + std::to_string(site.line);
}

std::string place_text(const ir::Node& node) { return node.op() + place_text(site_of(node, 0)); }

}  // namespace compatcheck::analysis
