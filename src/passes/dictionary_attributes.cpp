#include "passes/dictionary_attributes.h"

namespace compatcheck::passes {

DictionaryAttributes dictionary_attributes(const ir::Graph& graph, const ir::Watch& watch) {
  DictionaryAttributes found;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!is_attribute_access(*node)) continue;
    const auto* object = known<ir::ObjectConstant>(node->input(0));
    if (node->is("prim::SetAttr") || !object)
      found.elsewhere.insert(attribute_name(*node));
    else if (ir::is(node->output()->type(), ir::TypeKind::dict))
      found.reads[{object->object, attribute_name(*node)}].push_back(node);
  }
  return found;
}

void make_own(const ir::Graph& graph, std::span<ir::Node* const> reads) {
  ir::Node* place = node_in(graph.top(), reads.front());
  ir::Value* own = node_before(place, "prim::DictConstruct", {}, {&reads.front()->output()->type(), 1})->output();
  for (ir::Node* read : reads) {
    replace(read->output(), own);
    read->erase();
  }
}

}  // namespace compatcheck::passes
