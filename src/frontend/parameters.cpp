#include "frontend/parameters.h"

#include <unordered_set>

namespace compatcheck::frontend {
namespace {

class Count {
 public:
  explicit Count(const ir::Program* program) : program_(program) {}

  void add(const ir::Constant& constant) {
    if (const auto* tensor = constant.get<ir::TensorView>()) return add(*tensor);
    if (const auto* list = constant.get<ir::ListConstant>()) return add(list->items);
    if (const auto* tuple = constant.get<ir::TupleConstant>()) return add(tuple->items);
    if (const auto* object = constant.get<ir::ObjectConstant>()) return add_object(object->object);
    if (const auto* dict = constant.get<ir::DictConstant>())
      for (const auto& [key, value] : dict->items) add(value);
  }
  void add(const ir::Constants& constants) {
    for (const ir::Constant& constant : constants) add(constant);
  }
  void add(const ir::Graph& graph) {
    ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
      for (const ir::Attribute& attribute : node->attributes()) add(attribute.value);
    });
  }
  // With a list of what is still to be visited: modules may be nested deeply.
  void add_object(std::uint32_t object) {
    if (program_ && object < program_->objects.size() && seen_objects_.insert(object).second) waiting_.push_back(object);
  }
  Parameters finish() {
    while (!waiting_.empty()) {
      const std::uint32_t object = waiting_.back();
      waiting_.pop_back();
      add(program_->objects[object].attributes);
    }
    return found_;
  }

 private:
  void add(const ir::TensorView& tensor) {
    if (!tensor.storage || !seen_storages_.insert(tensor.storage.get()).second) return;
    const std::size_t element = ir::element_bytes(tensor.dtype);
    found_.bytes += tensor.storage->bytes;
    found_.count += element ? tensor.storage->bytes / element : static_cast<std::uint64_t>(tensor.elements());
  }

  const ir::Program* program_;
  Parameters found_;
  std::unordered_set<const ir::Storage*> seen_storages_;
  std::unordered_set<std::uint32_t> seen_objects_;
  std::vector<std::uint32_t> waiting_;
};

}  // namespace

Parameters count_parameters(const ir::Program& program) {
  Count count(&program);
  count.add_object(program.root);
  for (const auto& [name, function] : program.functions) count.add(function.graph);
  return count.finish();
}

Parameters count_parameters(const ir::Graph& graph) {
  Count count(nullptr);
  count.add(graph);
  return count.finish();
}

}  // namespace compatcheck::frontend
