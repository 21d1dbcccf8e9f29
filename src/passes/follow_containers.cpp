// The pass that follows containers: which attributes it follows, and the walks on copies that find out what can't be followed.
#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "compatcheck/error.h"
#include "ir/control_flow.h"
#include "passes/alias.h"
#include "passes/assertions.h"
#include "passes/attributes.h"
#include "passes/container_walk.h"
#include "passes/effects.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/same_calls.h"

namespace compatcheck::passes {
namespace {

// A tensor in it is written in place.
bool holds_written_tensor(const ir::Value* value, const Aliases& aliases) {
  for (const LocationId id : aliases.reach(value))
    for (const ir::Node* writer : aliases.writers_of(id))
      for (const std::size_t i : written_operands(*writer))
        if (ir::is(writer->input(i)->type(), ir::TypeKind::tensor)) return true;
  return false;
}

// Returns the attributes that share a list or dictionary of the file, or hold one twice.
std::set<AttributeKey> attributes_of_one_list(const std::map<AttributeKey, std::string>& keys, const ir::Program& program) {
  std::map<ir::ContainerIdentity, AttributeKey> holders;
  std::set<AttributeKey> shared;
  const auto look = [&](const auto& self, const ir::Constant& value, const AttributeKey& key) -> void {
    if (const ir::ContainerIdentity identity = ir::identity_of(value))
      if (const auto [other, added] = holders.emplace(identity, key); !added) shared.insert({key, other->second});
    if (const auto* list = value.get<ir::ListConstant>())
      for (const ir::Constant& item : list->items) self(self, item, key);
    if (const auto* tuple = value.get<ir::TupleConstant>())
      for (const ir::Constant& item : tuple->items) self(self, item, key);
    if (const auto* dict = value.get<ir::DictConstant>())
      for (const auto& [name, item] : dict->items) self(self, item, key);
  };
  for (const auto& [key, path] : keys) look(look, *stored_attribute(program, key.first, key.second), key);
  return shared;
}

// Attributes that calls write, and containers that may be written.
std::map<AttributeKey, std::string> attributes_to_follow(ir::Graph& graph, const ir::Program* program, const ir::Watch& watch) {
  std::map<AttributeKey, std::string> keys;
  if (!program) return keys;
  std::set<std::string_view> of_unknown_objects;
  std::vector<ir::Node*> reads;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!is_attribute_access(*node)) continue;
    const auto key = key_of_access(*node);
    const ir::Node* maker = node->input(0)->producer();
    if (!key && !(maker && maker->is("prim::CreateObject"))) of_unknown_objects.insert(attribute_name(*node));
    if (!key) continue;
    if (node->is("prim::GetAttr")) reads.push_back(node);
    if (node->is("prim::SetAttr") || is_container_type(node->output()->type())) keys.emplace(*key, parameter_name(*node));
  }
  if (keys.empty()) return keys;
  const auto aliases = Aliases::of(graph, program, watch);
  const auto leave_out = [&](const AttributeKey& key) {
    const ir::Constant* value = stored_attribute(*program, key.first, key.second);
    return !value || value->get<ir::OpaqueConstant>() || of_unknown_objects.contains(key.second);
  };
  std::erase_if(keys, [&](const auto& entry) { return leave_out(entry.first); });
  for (const ir::Node* read : reads)
    if (holds_written_tensor(read->output(), *aliases)) keys.erase(*key_of_access(*read));
  for (const AttributeKey& key : attributes_of_one_list(keys, *program)) keys.erase(key);
  return keys;
}

constexpr int most_joins = 8;  // depth limit: branches and loops that a list passes through

bool is_constructed(const ir::Value* value, int joins = 0);

// Whether the result of a loop or branch is made of known items on one path.
bool is_joined(const ir::Node& owner, std::size_t result, int joins) {
  if (joins == most_joins) return true;
  const auto constructs = [&](std::span<ir::Value* const> values) {
    return result < values.size() && is_constructed(values[result], joins + 1);
  };
  if (owner.is("prim::Loop") && constructs(ir::LoopView(owner).initial_values())) return true;
  return std::ranges::any_of(owner.blocks(), [&](const ir::Block* block) { return constructs(ir::returned_results(*block)); });
}

bool is_constructed(const ir::Value* value, int joins) {
  const ir::Node* maker = value->producer();
  if (maker && !maker->blocks().empty()) return is_joined(*maker, value->index(), joins);
  if (maker) return maker->is("prim::Constant") || (maker->op().starts_with("prim::") && maker->op().ends_with("Construct"));
  const ir::Node* loop = ir::loop_entered_by(value);
  return loop && value->index() > 0 && is_joined(*loop, value->index() - 1, joins);
}

// Whether the result of a branch or loop of this type becomes its parts, or a number.
bool comes_apart(const ir::TypeRef& type) {
  using enum ir::TypeKind;
  return needs_columns(type) || ir::is(type, tuple) || ir::is(type, dict) || ir::is(type, optional) || ir::is(type, string) ||
         ir::is(type, named) || ir::is(type, device);
}

// Whether there is anything that the walk would do.
bool uses_containers(const ir::Graph& graph, const ir::Watch& watch) {
  const auto changes = [](const ir::Node& node) {
    return node.is("prim::SetAttr") || node.is("prim::CreateObject") || node.is("aten::dict") ||
           (writes(node) && !node.inputs().empty() && is_container_type(node.input(0)->type()));
  };
  const auto has_open_key = [](const ir::Node& node) {
    bool open = false;
    for (std::size_t i = 0; node.is("prim::DictConstruct") && i < node.inputs().size(); i += 2)
      open = open || (is_number(node.input(i)->type()) && !ir::constant_of(node.input(i)));
    return open;
  };
  const auto reads = [](const ir::Node& node) {
    if (node.is("prim::ColumnsConstruct")) return true;
    if (node.is("prim::ListConstruct") || node.is("prim::DictConstruct") || node.is("prim::TupleConstruct") ||
        node.inputs().empty())
      return false;
    const ir::Value* from = node.input(0);
    if (!is_container_or_tuple(from->type())) return false;
    const bool dict = ir::is(ir::without_optional(from->type()), ir::TypeKind::dict);
    const bool known = dict || node.op().starts_with("prim::Tuple") || node.is("prim::ListUnpack") ||
                       node.is("aten::__getitem__") || node.is("aten::len") || node.is("aten::slice") || node.is("aten::add") ||
                       node.is("aten::list") || node.is("aten::copy") || node.is("aten::any") || node.is("aten::all") ||
                       node.is("aten::mul");
    return known && is_constructed(from);
  };
  const auto cuts = [](const ir::Node& node) {
    return node.op().starts_with("aten::split") && node.inputs().size() > 1 && node.outputs().size() == 1 &&
           is_container_type(node.input(1)->type()) &&
           std::ranges::any_of(node.output()->uses(), [](const ir::Use& use) { return !use.user->is("prim::ListUnpack"); });
  };
  for (const ir::Node* node : all_nodes(graph, watch)) {
    if (changes(*node) || has_open_key(*node) || reads(*node) || cuts(*node)) return true;
    if (!node->blocks().empty())
      for (const ir::Value* output : node->outputs())
        if (comes_apart(output->type())) return true;
  }
  return false;
}

// Whether a loop with writes to containers was unrolled: its copies have the same places.
bool has_copies(const ir::Graph& graph) {
  std::set<std::tuple<std::string_view, ir::LocationRef, std::string_view>> writes_seen;
  bool copies = false;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    if (writes(*node) && !node->inputs().empty() && is_container_type(node->input(0)->type()))
      copies = !writes_seen.emplace(node->op(), node->location(), node->module()).second || copies;
  });
  return copies;
}

// Follows what a graph does; what can't be followed is found by trying on copies.
class Following {
 public:
  Following(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry, Budget& budget, const char* exception,
            const ir::Watch& watch)
      : graph_(graph), program_(program), registry_(registry), budget_(budget), watch_(watch), exception_(exception) {}

  std::size_t run(std::vector<ir::LostWrite>& lost) {
    try {
      const auto changes = try_all();
      if (!changes) return 0;
      mark_unfollowed();
      return *changes == 0 ? 0 : walk_itself(lost);
    } catch (const TooManySteps&) {
      if (unrolls_ || has_copies(graph_)) mark_all();
    } catch (const NotFollowed&) {
    }
    budget_.follows = false;
    return 0;
  }

  // Whether nothing has to be left out.
  bool follows_all() {
    try {
      return try_all(true) && unfollowed_.empty();
    } catch (const NotFollowed&) {
      return false;
    }
  }

 private:
  static constexpr std::size_t most_listed = 150'000;  // items of lists that one walk makes

  // How much a walk changes that leaves out what can't be followed; nothing if no such walk was found. `whole`: only attributes
  // may be left out.
  std::optional<std::size_t> try_all(bool whole = false) {
    attributes_ = attributes_to_follow(graph_, program_, watch_);
    most_work_ = 20'000 + 40 * std::size_t{graph_.value_limit()};
    constexpr int most_tries = 100;
    for (int i = 0; i < most_tries; ++i) {
      if (const auto changes = try_on_copy()) return changes;
      if (whole && !unfollowed_.empty() && *unfollowed_.begin() < first_attribute_site) break;  // it stays left out
    }
    return std::nullopt;
  }

  // The graph and its copy get the same, so that both are walked alike.
  Budget of_one_walk() const {
    Budget budget = budget_;
    budget.listed = std::min(budget.listed, most_listed);
    return budget;
  }

  ContainerWalk::Options options(Budget& budget) {
    return {program_, registry_,   budget,     watch_,        unfollowed_, ordered_,
            marks_,   attributes_, most_work_, tracks_names_, exception_};
  }

  // Marks the nodes that make what isn't followed, where the reason is known.
  void mark_unfollowed() const {
    Site site = 0;
    ir::for_each_node(*graph_.top(), [&](ir::Node* node) {
      const auto why = marks_.find(++site);
      if (why != marks_.end() && unfollowed_.contains(site))
        node->set_attribute(std::string(unfollowed_mark), {why->second.mark()});
    });
  }

  // Marks from a graph with loops instead of their copies don't say why containers stay.
  void mark_all() const {
    constexpr UnfollowedMark mark{.why = Unfollowed::of_copies, .place = 1};
    ir::for_each_node(*graph_.top(), [&](ir::Node* node) {
      const bool makes = node->outputs().size() == 1 && node->blocks().empty() && is_container_or_tuple(node->output()->type()) &&
                         (node->op().ends_with("Construct") || node->is("aten::list") || node->is("aten::dict"));
      if (makes || node->is("prim::CreateObject")) node->set_attribute(std::string(unfollowed_mark), {mark.mark()});
    });
  }

  std::size_t walk_itself(std::vector<ir::LostWrite>& lost) {
    note_caches(lost);
    Budget budget = of_one_walk();
    const std::size_t listed = budget.listed;
    ContainerWalk walk(graph_, options(budget));
    bool ends = false;
    try {
      walk.run();
    } catch (const NotFollowed&) {
      ends = true;
    }
    if (ends || walk.has_failed()) throw InternalError("following containers: the graph isn't walked as its copy was");
    walk.finish();
    budget_.unrolled = budget.unrolled;
    budget_.listed -= listed - budget.listed;
    std::ranges::move(walk.lost_writes(), std::back_inserter(lost));
    return walk.changes();
  }

  // How much it changed; nothing if something turned out not to be followed: state, or what the walk fails at.
  std::optional<std::size_t> try_on_copy() {
    ir::Graph copy = graph_.clone();
    Budget budget = of_one_walk();
    ContainerWalk walk(copy, options(budget));
    try {
      walk.run();
    } catch (const TooManySteps&) {
      unrolls_ = budget.unrolled < budget_.unrolled;
      throw;
    } catch (const InternalError&) {  // beyond a failure the graph may be in any state
      if (!walk.has_failed()) throw;
    }
    if (walk.failed().empty() && walk.has_failed()) {
      tracks_names_ = tracks_names_ || walk.lacks_names();
      ordered_.insert(walk.lacks_order().begin(), walk.lacks_order().end());
      return std::nullopt;
    }
    if (!walk.failed().empty()) {
      const std::size_t before = unfollowed_.size();
      const std::set<Site> failed = walk.failed_with_contents();
      unfollowed_.insert(failed.begin(), failed.end());
      if (!leave_attributes(failed) && unfollowed_.size() == before) throw NothingToLeaveOut{};
      return std::nullopt;
    }
    const std::size_t changes = walk.changes();
    const auto first = walk.courses();
    caches_.clear();
    if (std::ranges::none_of(first, [](const auto& entry) { return entry.second.changed; })) {
      walk.finish();
      return changes;
    }
    const std::set<AttributeKey> state = find_state(walk, copy, first);
    for (const AttributeKey& key : state) attributes_.erase(key);
    return state.empty() ? std::optional(changes) : std::nullopt;
  }

  // Returns the attributes that a call changes and that are more than a cache. The other ones that are read are noted as caches.
  std::set<AttributeKey> find_state(ContainerWalk& walk, ir::Graph& copy, const std::map<AttributeKey, AttributeCourse>& first) {
    try {
      walk.run_again(graph_);
    } catch (const InternalError&) {
      if (!walk.has_failed()) throw;
    }
    const bool walked = !walk.has_failed();
    std::set<AttributeKey> state;
    const auto second = walk.courses();
    for (const auto& [key, course] : first) {
      if (!course.changed) continue;
      const AttributeCourse& next = second.at(key);
      // It is read before it is written: by the first call, by the second one, or nobody knows by which.
      if (!walked || course.read_before_write || next.read_before_write) caches_.insert(key);
      if (caches_.contains(key) && (!walked || next.changed || !walk.is_nearly_constant(key))) state.insert(key);
    }
    if (!state.empty() || caches_.empty()) return state;
    walk.finish();
    return are_same_calls(copy, *walk.second_call(), watch_) ? state : caches_;
  }

  // Each call computes what PyTorch's first call keeps. A cache that is filled item by item is noted where it is read.
  void note_caches(std::vector<ir::LostWrite>& lost) const {
    std::set<AttributeKey> noted;
    for (const std::string_view access : {"prim::SetAttr", "prim::GetAttr"})
      for (ir::Node* node : all_nodes(graph_, watch_)) {
        const auto key = node->is(access) ? key_of_access(*node) : std::nullopt;
        if (!key || !caches_.contains(*key) || (access == "prim::GetAttr" && !noted.insert(*key).second)) continue;
        noted.insert(*key);
        lost.push_back({attributes_.at(*key), node->op(), node->location(), node->module(), ir::LostWrite::Kind::cache});
      }
  }

  bool leave_attributes(const std::set<Site>& sites) {
    std::size_t left = 0;
    Site site = first_attribute_site;
    std::set<AttributeKey> keys;
    for (const auto& [key, path] : attributes_)
      if (sites.contains(site++)) keys.insert(key);
    for (const AttributeKey& key : keys) left += attributes_.erase(key);
    if (left > 0) std::erase_if(unfollowed_, [](Site found) { return found >= first_attribute_site; });
    return left > 0;
  }

  ir::Graph& graph_;
  const ir::Program* program_;
  const schema::Registry& registry_;
  Budget& budget_;
  const ir::Watch& watch_;
  std::map<AttributeKey, std::string> attributes_;
  std::set<AttributeKey> caches_;  // written by the first call alone
  std::set<Site> unfollowed_;
  std::set<Site> ordered_;  // of dictionaries that become tables before the order of their keys gets lost
  std::map<Site, UnfollowedMark> marks_;
  std::size_t most_work_ = 0;
  bool tracks_names_ = false;
  bool unrolls_ = false;  // the walk that took too many steps unrolled a loop
  const char* exception_;
};

const char* exception_of(bool keep_assertions) { return keep_assertions ? kept_exception.data() : "prim::RaiseException"; }

}  // namespace

std::size_t follow_containers(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry, Budget& budget,
                              std::vector<ir::LostWrite>& lost, bool keep_assertions, const ir::Watch& watch) {
  if (!budget.follows || !uses_containers(graph, watch)) return 0;
  return Following(graph, program, registry, budget, exception_of(keep_assertions), watch).run(lost);
}

bool follows_all_containers(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry, Budget budget,
                            bool keep_assertions, const ir::Watch& watch) {
  return Following(graph, program, registry, budget, exception_of(keep_assertions), watch).follows_all();
}

}  // namespace compatcheck::passes
