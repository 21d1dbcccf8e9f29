#include "frontend/pt2/vmap_region.h"

#include <algorithm>
#include <array>
#include <utility>

#include "frontend/pt2/batched_call.h"
#include "frontend/pt2/graph_reader.h"
#include "frontend/pt2/union.h"
#include "ir/exported_ops.h"

namespace compatcheck::frontend::pt2 {
namespace {

constexpr std::string_view begins = "torch._functorch.predispatch._vmap_increment_nesting",
                           ends = "torch._functorch.predispatch._vmap_decrement_nesting",
                           adds = "torch._functorch.predispatch._add_batch_dim",
                           removes = "torch._functorch.predispatch._remove_batch_dim",
                           prepares = "torch._functorch.predispatch.lazy_load_decompositions";
constexpr const char* not_first = "the batch dimension of a result that may not depend on the batch isn't the first";
constexpr std::size_t most_regions = 8;  // within each other: each is read at most twice

std::string_view target_of(const Json& node) { return node.at("target").text(); }

template <class Visit>
void for_each_name(const Json& value, Visit&& visit) {
  if (value.is(Json::Kind::array) || value.is(Json::Kind::object)) {
    for (const Json& member : value.members()) for_each_name(member, visit);
  } else if (value.is(Json::Kind::text)) {
    visit(value.text());
  }
}

Json input(const Json& node, std::size_t i) {
  const auto inputs = node.at("inputs").members();
  if (i >= inputs.size()) node.fail("has too few arguments for " + std::string(target_of(node)));
  return inputs[i].at("arg");
}

std::int64_t stated_number(const Json& node, std::size_t i) {
  const Tagged held = tagged(input(node, i));
  if (held.tag != "as_int") throw Unbatchable{"a dimension of torch.vmap isn't a constant"};
  return held.value.integer();
}

std::int64_t dimension_of(std::int64_t dim, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (dim < -size || dim >= size) throw Unbatchable{"a dimension of torch.vmap is out of range"};
  return dim < 0 ? dim + size : dim;
}

ir::Value* moved(NodeWriter& nodes, ir::Value* x, std::int64_t from, std::int64_t to, const ir::TypeRef& type) {
  ir::Value* made = nodes.add("aten::movedim", {x, nodes.constant({from}), nodes.constant({to})}, type);
  made->producer()->set_overload("int");
  return made;
}

// The state that reading changes, besides the nodes at the end of the block.
class Checkpoint {
 public:
  explicit Checkpoint(GraphReader& reader)
      : reader_(reader),
        block_(&reader.nodes().block()),
        bound_(reader.arguments().bound()),
        open_(reader.reading().batches.open),
        autocast_(reader.reading().autocast),
        assumed_(reader.reading().assumed) {
    if (!block_->last()) reader.nodes().constant({});  // at the graph's top, where constants would stand
    last_ = block_->last();
  }

  void restore() {
    reader_.nodes().enter(*block_);
    while (block_->last() != last_) block_->last()->erase();
    reader_.arguments().unbind_from(bound_);
    Reading& reading = reader_.reading();
    reading.batches.open = open_;
    reading.autocast = autocast_;
    reading.assumed = assumed_;
  }

 private:
  GraphReader& reader_;
  ir::Block* block_;
  ir::Node* last_ = nullptr;
  std::size_t bound_;
  std::vector<BatchRegion> open_;
  std::optional<Autocast> autocast_;
  AssumedCalls assumed_;
};

class Region {
 public:
  Region(GraphReader& reader, std::size_t first, std::size_t end)
      : reader_(reader), nodes_(reader.nodes()), batches_(reader.reading().batches), first_(first), end_(end) {}

  void read() {
    if (batches_.open.size() >= most_regions)
      throw Unbatchable{"more than " + std::to_string(most_regions) + " regions of torch.vmap stand within each other"};
    std::string reason;
    if (attempt([&] { read_explicitly(); }, reason)) return;
    const std::string explicit_reason = reason;
    if (attempt([&] { read_as_loop(); }, reason)) return;
    if (!batches_.open.empty()) throw Unbatchable{reason};
    if (reason != explicit_reason) reason = explicit_reason + "; " + reason;
    for (std::size_t i = first_; i < end_; ++i) {
      const std::string_view target = target_of(reader_.node(i));
      if (target == begins || target == ends) continue;
      reader_.read_one(i);
      if (target == adds || target == removes)
        nodes_.block().last()->set_attribute(std::string(ir::exported_ops::reason),
                                             {"torch.export left a region of torch.vmap: " + reason});
    }
  }

 private:
  template <class Read>
  bool attempt(Read&& read, std::string& reason) {
    Checkpoint before(reader_);
    try {
      read();
      return true;
    } catch (const Unbatchable& failed) {
      before.restore();
      reason = failed.reason;
      return false;
    }
  }

  BatchRegion begin() {
    const Json node = reader_.node(first_);
    const Tagged randomness = tagged(input(node, 1));
    return {.level = static_cast<std::int64_t>(batches_.open.size()) + 1,
            .size = reader_.arguments().value_of(input(node, 0)),
            .randomness = std::string(randomness.tag == "as_string" ? randomness.value.text() : "error")};
  }

  void read_explicitly() {
    batches_.open.push_back(begin());
    reader_.read(first_ + 1, end_ - 1);
    batches_.open.pop_back();
  }

  // The lists of the results stand before the loop, which appends to them.
  void read_as_loop() {
    if (reader_.vmap_regions().is_open(first_, end_, reader_.graph()))
      throw Unbatchable{"what a region of torch.vmap computes is read outside of it, without its batch dimension"};
    BatchRegion region = begin();
    const ir::Constant* size = ir::constant_of(region.size);
    if (size && (!size->get<std::int64_t>() || *size->get<std::int64_t>() < 1))
      throw Unbatchable{"the batch dimension has no elements"};
    ir::Block& around = nodes_.block();
    ir::Node* loop = nodes_.add_node("prim::Loop", std::array{region.size, nodes_.constant({true})}, {});
    ir::Block* body = loop->add_block();
    region.iteration = body->add_input(ir::simple_type(ir::TypeKind::integer));
    batches_.open.push_back(std::move(region));
    nodes_.enter(*body);
    reader_.read(first_ + 1, end_ - 1);
    body->add_output(nodes_.constant({true}));
    std::vector<BatchResult> results = std::move(batches_.open.back().results);
    batches_.open.pop_back();
    for (BatchResult& result : results) {
      nodes_.enter(around);
      ir::Value* list = nodes_.list({}, ir::tensor_type());
      list->producer()->move_before(loop);
      nodes_.enter(*body);
      nodes_.add("aten::append", {list, result.value}, ir::list_of(ir::tensor_type()));
      nodes_.enter(around);
      bind(result, list);
    }
    nodes_.enter(around);
  }

  void bind(const BatchResult& result, ir::Value* list) {
    const auto outer = static_cast<std::int64_t>(result.batch.levels.size());
    ir::Value* value = nodes_.add("aten::stack", {list, nodes_.constant({std::int64_t{0}})}, ir::tensor_type());
    if (outer > 0) value = moved(nodes_, value, 0, outer, ir::tensor_type());
    value->set_type(reader_.type_of(result.name));
    batches_.set(value, {result.batch.levels, *result.batch.rank + 1});
    reader_.arguments().bind(result.name, value);
  }

  GraphReader& reader_;
  NodeWriter& nodes_;
  Batches& batches_;
  std::size_t first_, end_;
};

const BatchRegion& region_of(const Batches& batches, std::int64_t level) {
  const BatchRegion* region = batches.region(level);
  if (!region) throw Unbatchable{"a level of torch.vmap isn't open"};
  return *region;
}

std::size_t rank_of(const Batch& batch) {
  if (!batch.rank) throw Unbatchable{"the rank of a tensor in a region of torch.vmap isn't known"};
  return *batch.rank;
}

void add_dimension(GraphReader& reader, const Json& node) {
  Batches& batches = reader.reading().batches;
  NodeWriter& nodes = reader.nodes();
  ir::Value* x = reader.arguments().value_of(input(node, 0));
  Batch batch = batches.of(x);
  const std::size_t rank = rank_of(batch);
  const std::int64_t dim = dimension_of(stated_number(node, 1), rank), outer = static_cast<std::int64_t>(batch.levels.size());
  const BatchRegion& region = region_of(batches, stated_number(node, 2));
  const auto number = [&](std::int64_t value) { return nodes.constant({value}); };
  const Json result = node.at("outputs").members().front();
  batch.rank = rank - 1;
  if (region.iteration) {
    x = nodes.add("aten::select", {x, number(outer + dim), region.iteration}, reader.type_of(value_name(result)));
    x->producer()->set_overload("int");
  } else {
    if (!batch.levels.empty() && batch.levels.back() >= region.level)
      throw Unbatchable{"a tensor has two batch dimensions of one region"};
    batch.levels.push_back(region.level);
    // A value of its own: the tensor itself keeps this dimension.
    x = moved(nodes, x, outer + dim, outer, reader.type_of(value_name(result)));
  }
  batches.set(x, std::move(batch));
  reader.arguments().bind_result(result, x);
}

void remove_dimension(GraphReader& reader, const Json& node) {
  Batches& batches = reader.reading().batches;
  NodeWriter& nodes = reader.nodes();
  ir::Value* x = reader.arguments().value_of(input(node, 0));
  Batch batch = batches.of(x);
  const std::size_t rank = rank_of(batch);
  const std::int64_t level = stated_number(node, 1), place = dimension_of(stated_number(node, 3), rank + 1);
  region_of(batches, level);
  const Json result = node.at("outputs").members().front();
  for (BatchRegion& region : batches.open)
    if (region.level == level && region.iteration) {
      if (place != 0) throw Unbatchable{not_first};
      return region.results.push_back({value_name(result), x, batch});
    }
  const auto number = [&](std::int64_t value) { return nodes.constant({value}); };
  const auto held = std::ranges::find(batch.levels, level);
  const bool has_it = held != batch.levels.end();
  // PyTorch then expands the tensor without a new dimension in that place (_remove_batch_dim in
  // ATen/functorch/BatchedTensorImpl).
  if (!has_it && place != 0) throw Unbatchable{not_first};
  const auto from = static_cast<std::int64_t>(held - batch.levels.begin());
  if (has_it) batch.levels.erase(held);
  const auto outer = static_cast<std::int64_t>(batch.levels.size());
  const ir::TypeRef type = reader.type_of(value_name(result));
  if (has_it) {
    x = moved(nodes, x, from, outer + place, type);
  } else {
    x = nodes.add("aten::unsqueeze", {x, number(outer)}, ir::tensor_type());
    Values sizes(batch.levels.size() + rank + 1, number(-1));
    sizes[batch.levels.size()] = region_of(batches, level).size;
    x = nodes.add("aten::expand", {x, nodes.list(sizes, ir::simple_type(ir::TypeKind::integer)), nodes.constant({false})}, type);
  }
  batch.rank = rank + 1;
  batches.set(x, std::move(batch));
  reader.arguments().bind_result(result, x);
}

}  // namespace

VmapRegions::VmapRegions(std::span<const Json> nodes) : nodes_(nodes) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string_view target = target_of(nodes[i]);
    if (target == begins) open.push_back(i);
    if (target != ends || open.empty()) continue;
    ends_.emplace(open.back(), i + 1);
    open.pop_back();
  }
}

std::size_t VmapRegions::end_of(std::size_t i) const {
  const auto found = ends_.find(i);
  return found == ends_.end() ? 0 : found->second;
}

bool VmapRegions::is_open(std::size_t first, std::size_t end, const Json& graph) {
  if (last_read_.empty()) {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for_each_name(nodes_[i].at("inputs"), [&](std::string_view name) { last_read_[name] = i; });
    for_each_name(graph.at("outputs"), [&](std::string_view name) { last_read_[name] = nodes_.size(); });
  }
  std::size_t depth = 0;
  for (std::size_t i = first; i < end; ++i) {
    const std::string_view target = target_of(nodes_[i]);
    depth += target == begins;
    const bool gives = target == removes && depth == 1;
    depth -= target == ends && depth > 0;
    bool read = false;
    for_each_name(nodes_[i].at("outputs"), [&](std::string_view name) {
      const auto found = last_read_.find(name);
      read = read || (found != last_read_.end() && (gives ? found->second < end : found->second >= end));
    });
    if (read) return true;
  }
  return false;
}

void read_vmap_region(GraphReader& reader, std::size_t first, std::size_t end) { Region(reader, first, end).read(); }

bool read_vmap_node(GraphReader& reader, const Json& node, std::string_view target) {
  if (target == prepares) return true;
  if (reader.reading().batches.open.empty() || (target != adds && target != removes)) return false;
  if (target == adds)
    add_dimension(reader, node);
  else
    remove_dimension(reader, node);
  return true;
}

}  // namespace compatcheck::frontend::pt2
