#include "conversion/written_memory.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "conversion/type_facts.h"
#include "schema/schema.h"

namespace compatcheck::conversion {
namespace {

using symbolic::Fact;
using symbolic::ListFact;
using symbolic::TensorFact;

bool resizes(const ir::Node& writer) {
  if (writer.is("prim::SetAttr")) return false;  // another tensor takes the attribute's place
  static const std::set<std::string_view> resizing = {"aten::resize_",    "aten::resize_as_", "aten::set_",      "aten::t_",
                                                      "aten::transpose_", "aten::swapaxes_",  "aten::swapdims_", "aten::squeeze_",
                                                      "aten::unsqueeze_", "aten::as_strided_"};
  return resizing.contains(writer.op()) || !writer.schema() || writer.schema()->is_out();
}

}  // namespace

WrittenMemory::WrittenMemory(std::shared_ptr<const passes::Aliases> aliases)
    : aliases_(std::move(aliases)), resized_(aliases_->location_count()) {
  for (passes::LocationId id = 0; id < resized_.size(); ++id) {
    const auto writers = aliases_->writers_of(id);
    resized_[id] = std::any_of(writers.begin(), writers.end(), [](const ir::Node* writer) { return resizes(*writer); });
  }
}

void WrittenMemory::forget(const ir::Value* value, Fact& fact) const {
  if (aliases_->any_writes() && aliases_->reach_written(value)) forget_part(value, fact);
}

void WrittenMemory::forget_part(const ir::Value* value, Fact& fact) const {
  if (auto* tensor = std::get_if<TensorFact>(&fact.value)) {
    tensor->contents.reset();
    tensor->known_constant = false;
    if (resized(value)) tensor->shape.reset();
  } else if (auto* list = std::get_if<ListFact>(&fact.value)) {
    const bool tuple = value->type() && value->type()->kind == ir::TypeKind::tuple;
    if ((!list->items && !list->element) || (!tuple && aliases_->written(value))) {
      fact.value = fact_of_type(value->type()).value;
    } else if (list->items) {
      for (Fact& item : *list->items) forget_member(value, item);
    } else {
      Fact element = *list->element;
      forget_member(value, element);
      list->element = std::make_shared<Fact>(std::move(element));
    }
  }
}

// Forgets facts of a member of a list whose length doesn't change.
void WrittenMemory::forget_member(const ir::Value* list, Fact& member) const {
  if (member.tensor())
    forget_part(list, member);
  else if (member.list())
    member.value = {};
}

bool WrittenMemory::resized(const ir::Value* value) const {
  const auto reached = aliases_->reach(value);
  return std::any_of(reached.begin(), reached.end(), [&](passes::LocationId id) { return resized_[id]; });
}

}  // namespace compatcheck::conversion
