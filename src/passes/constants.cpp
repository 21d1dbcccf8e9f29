#include <cstring>
#include <unordered_map>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

struct Hash {
  std::size_t operator()(const ir::Constant& constant) const {
    return mix(constant.value.index(), std::visit(*this, constant.value));
  }
  std::size_t operator()(std::monostate) const { return 0; }
  std::size_t operator()(std::int64_t value) const { return std::hash<std::int64_t>()(value); }
  std::size_t operator()(bool value) const { return value; }
  std::size_t operator()(double value) const { return value == value ? std::hash<double>()(value) : 1; }
  std::size_t operator()(const std::complex<double>& value) const { return mix((*this)(value.real()), (*this)(value.imag())); }
  std::size_t operator()(const std::string& value) const { return std::hash<std::string>()(value); }
  std::size_t operator()(const ir::TensorView& value) const {
    // Bytes that are carried along may be equal in two storages.
    std::size_t seed = static_cast<std::size_t>(value.dtype);
    if (value.storage && value.storage->in_file) seed = mix(seed, value.storage->file_offset);
    for (std::int64_t size : value.sizes) seed = mix(seed, static_cast<std::size_t>(size));
    return mix(seed, static_cast<std::size_t>(value.offset));
  }
  std::size_t operator()(const ir::ListConstant& value) const { return items(value.items); }
  std::size_t operator()(const ir::TupleConstant& value) const { return items(value.items); }
  std::size_t operator()(const ir::DictConstant& value) const {
    std::size_t seed = value.items.size();
    for (const auto& [key, item] : value.items) seed = mix(mix(seed, (*this)(key)), (*this)(item));
    return seed;
  }
  std::size_t operator()(const ir::ObjectConstant& value) const { return value.object; }
  std::size_t operator()(const ir::EnumConstant& value) const { return (*this)(value.name); }
  std::size_t operator()(const ir::DeviceConstant& value) const { return (*this)(value.device); }
  std::size_t operator()(const ir::FunctionConstant& value) const { return (*this)(value.name); }
  std::size_t operator()(const ir::OpaqueConstant& value) const { return (*this)(value.type_name); }

  std::size_t items(const ir::Constants& constants) const {
    std::size_t seed = constants.size();
    for (const ir::Constant& item : constants) seed = mix(seed, (*this)(item));
    return seed;
  }
};

bool same_constant(const ir::Value* a, const ir::Value* b) {
  return (a->type() == b->type() || (a->type() && b->type() && ir::equal(*a->type(), *b->type()))) &&
         ir::equal(*ir::constant_of(a), *ir::constant_of(b));
}

// Two opaque values or tensors without data may differ in what we don't see.
bool comparable(const ir::Constant& constant) {
  if (constant.get<ir::OpaqueConstant>()) return false;
  const auto* tensor = constant.get<ir::TensorView>();
  return !tensor || tensor->storage;
}

}  // namespace

std::size_t pool_constants(ir::Graph& graph, const ir::Watch& watch) {
  std::unordered_multimap<std::size_t, ir::Value*> pool;
  ir::Node* last = nullptr;  // last constant of the pool, which stands at the head of the graph
  std::size_t merged = 0;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!node->is("prim::Constant")) continue;
    ir::Value* value = node->output();
    if (value->unused()) {
      node->erase();
      continue;
    }
    ir::Value* known = nullptr;
    if (comparable(*ir::constant_of(value))) {
      const std::size_t hash = Hash()(*ir::constant_of(value));
      for (auto [at, end] = pool.equal_range(hash); at != end && !known; ++at)
        if (same_constant(at->second, value)) known = at->second;
      if (!known) pool.emplace(hash, value);
    }
    if (known) {
      replace(value, known);
      node->erase();
      ++merged;
      continue;
    }
    ir::Node* head = last ? last->next() : graph.top()->first();
    if (node != head) node->move_before(head ? head : graph.top()->return_node());
    last = node;
  }
  return merged;
}

}  // namespace compatcheck::passes
