#include "passes/normalize.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>

#include "compatcheck/error.h"
#include "passes/assertions.h"
#include "passes/rewrite.h"
#include "passes/state_containers.h"
#include "process/log.h"
#include "process/spell_count.h"

namespace compatcheck::passes {
namespace {

constexpr int most_rounds = 50;

// The state that passes share.
struct Work {
  ir::Graph& graph;
  const ir::Program* program;  // null for a graph from text
  const schema::Registry& registry;
  KnownValue known;
  ir::Watch watch;
  Budget budget{};
  std::vector<ir::LostWrite> lost_writes = {};
  bool keep_assertions = false;
  bool gradients = false;
};

struct Pass {
  enum Trait : unsigned {
    first = 1,     // also runs in the rounds that shrink the graph before memory is analysed
    by_known = 2,  // new facts alone may let it change something
    tidies = 4,    // the program's meaning stays, and nothing more becomes known
  };
  std::string_view name;
  std::size_t (*run)(Work&);
  // Text of the reported step before and after the count, singular and plural; empty: not reported.
  std::string_view verb, one, many;
  unsigned traits = 0;
  bool has(unsigned trait) const { return (traits & trait) != 0; }
};

constexpr Pass inline_pass{"inline_calls", [](Work& w) { return w.program ? inline_calls(w.graph, *w.program, w.watch) : 0; },
                           "inlined ", " call", " calls"};

constexpr Pass numbers_pass{"numbers_as_operands", [](Work& w) { return numbers_as_operands(w.graph, w.watch); }, "", "", ""};

constexpr Pass gradients_pass{"settle_gradients", [](Work& w) { return settle_gradients(w.graph, w.gradients, w.watch); },
                              "settled ", " question whether gradients are on", " questions whether gradients are on"};
constexpr Pass nested_pass{"pad_nested_tensors", [](Work& w) { return pad_nested_tensors(w.graph, w.watch); }, "padded ",
                           " nested tensor", " nested tensors"};

// Once more and more, until nothing changes.
constexpr auto passes = std::to_array<Pass>({
    {"read_training_as_false", [](Work& w) { return read_training_as_false(w.graph, w.program, w.watch); },
     "read `training` as false in ", " place, saved as true", " places, saved as true", Pass::first},
    {"drop_remarks", [](Work& w) { return drop_remarks(w.graph, w.watch); }, "dropped ", " print, warning or the like",
     " prints, warnings and the like", Pass::first},
    {"plain_attributes_to_constants",
     [](Work& w) { return w.program ? plain_attributes_to_constants(w.graph, *w.program, w.watch) : 0; }, "made constants of ",
     " plain attribute", " plain attributes", Pass::first},
    {"attributes_to_constants", [](Work& w) { return w.program ? attributes_to_constants(w.graph, *w.program, w.watch) : 0; },
     "made constants of ", " tensor or list attribute", " tensor and list attributes"},
    {"devices_to_cpu", [](Work& w) { return devices_to_cpu(w.graph, w.watch); }, "moved ", " constant from cuda to cpu",
     " constants from cuda to cpu"},
    {"pool_constants", [](Work& w) { return pool_constants(w.graph, w.watch); }, "", "", "", Pass::first | Pass::tidies},
    {"drop_type_refinements", [](Work& w) { return drop_type_refinements(w.graph, w.watch); }, "", "", "",
     Pass::first | Pass::tidies},
    {"simplify_loops", [](Work& w) { return simplify_loops(w.graph, w.watch); }, "", "", ""},
    {"unroll_loops", [](Work& w) { return unroll_loops(w.graph, w.budget, w.watch); }, "unrolled ", " loop", " loops"},
    {"expand_foreach", [](Work& w) { return expand_foreach(w.graph, w.program, w.registry, w.budget, w.watch); }, "wrote out ",
     " call of torch._foreach", " calls of torch._foreach"},
    {"forward_attributes", [](Work& w) { return w.program ? forward_attributes(w.graph, w.watch) : 0; }, "", "", ""},
    {"settle_text_keys", [](Work& w) { return settle_text_keys(w.graph, w.program, w.watch); }, "made constants of ",
     " text as a key", " texts as keys"},
    {"follow_containers",
     [](Work& w) {
       return follow_containers(w.graph, w.program, w.registry, w.budget, w.lost_writes, w.keep_assertions, w.watch);
     },
     "followed ", " use of a list, dictionary, tuple or object", " uses of lists, dictionaries, tuples and objects"},
    {"expand_sparse_tensors", [](Work& w) { return expand_sparse_tensors(w.graph, w.program, w.registry, w.watch); },
     "wrote out ", " sparse tensor", " sparse tensors"},
    {"fold_numbers", [](Work& w) { return fold_numbers(w.graph, w.budget, w.watch); }, "computed ", " number beforehand",
     " numbers beforehand", Pass::first},
    {"fold_constants", [](Work& w) { return fold_constants(w.graph, w.program, w.budget, w.known, w.watch); }, "computed ",
     " other value beforehand", " other values beforehand", Pass::by_known},
    {"drop_assertions", [](Work& w) { return w.keep_assertions ? 0 : drop_assertions(w.graph, w.watch); }, "dropped ",
     " assertion", " assertions", Pass::first},
    {"prune_branches", [](Work& w) { return prune_branches(w.graph, w.watch); }, "settled ", " branch", " branches", Pass::first},
    {"remove_unused", [](Work& w) { return remove_unused(w.graph, w.watch); }, "", "", "", Pass::first | Pass::tidies},
    {"merge_common_subexpressions", [](Work& w) { return merge_common_subexpressions(w.graph, w.program, w.watch); }, "merged ",
     " node that was computed before", " nodes that were computed before", Pass::tidies},
    {"remove_dead_code", [](Work& w) { return remove_dead_code(w.graph, w.program, w.watch); }, "", "", "", Pass::tidies},
    {"settle_reshapes", [](Work& w) { return settle_reshapes(w.graph, w.registry, w.watch); }, "took ", " reshape for a view",
     " reshapes for views"},
    {"make_overwritten_attributes",
     [](Work& w) { return w.program ? make_overwritten_attributes(w.graph, *w.program, w.registry, w.watch) : 0; }, "made anew ",
     " attribute that each call fills before it reads it", " attributes that each call fills before it reads them"},
    {"make_refilled_dictionaries", [](Work& w) { return w.program ? make_refilled_dictionaries(w.graph, w.watch) : 0; },
     "made anew ", " dictionary that each call fills before it reads it",
     " dictionaries that each call fills before it reads them"},
    {"functionalize_writes",
     [](Work& w) { return functionalize_writes(w.graph, w.program, w.registry, &w.lost_writes, w.watch); }, "made new values of ",
     " in-place write", " in-place writes"},
});

std::size_t apply(const Pass& pass, Work& work, const NormalizeOptions& options) {
  work.watch.look();
  const std::size_t changed = pass.run(work);
  if (changed > 0 && logging::enabled(LogLevel::debug))
    logging::debug("pass {}: changed {}, {} now", pass.name, changed, spell_count(node_count(work.graph), "node"));
  if (options.verify_between) {
    try {
      work.graph.verify();
    } catch (const InternalError& error) {
      throw InternalError("after " + std::string(pass.name) + ": " + error.what());
    }
  }
  if (options.after_pass) options.after_pass(work.graph, pass.name);
  return changed;
}

void report(const Pass& pass, std::size_t count, std::vector<std::string>& steps) {
  if (count == 0 || pass.verb.empty()) return;
  steps.push_back(std::string(pass.verb) + std::to_string(count) + std::string(count == 1 ? pass.one : pass.many));
}

// How often each pass changed something, in the table's order.
using Counts = std::array<std::size_t, passes.size()>;

// Runs the passes until none changes anything. One that found nothing to do runs again only after another one did.
class Rounds {
 public:
  Rounds(Work& work, const NormalizeOptions& options) : work_(work), options_(options) {}

  // The passes with one of these traits; 0: all.
  void run(unsigned traits = 0) {
    bool changed = true;
    for (int round = 0; changed && round < most_rounds; ++round) {
      changed = false;
      for (std::size_t i = 0; i < passes.size(); ++i)
        if ((traits == 0 || passes[i].has(traits)) && rested_[i] != changes_ && !rests_until_known(i))
          changed = apply_at(i) || changed;
    }
  }
  void graph_changed() { ++changes_, ++known_; }
  // How often containers are followed, from now on.
  void most_walks(int walks) { walks_left_ = walks; }
  // The passes have found nothing more to do since the graph last changed.
  void rest() {
    for (std::size_t i = 0; i < passes.size(); ++i)
      if (!passes[i].has(Pass::by_known)) rested_[i] = changes_;
    walked_ = known_;
  }
  const Counts& counts() const { return counts_; }

 private:
  bool apply_at(std::size_t i) {
    const std::size_t count = apply(passes[i], work_, options_);
    counts_[i] += count;
    changes_ += count;
    if (count == 0) rested_[i] = changes_;
    if (is_walk(i)) {
      walked_ = known_;
      --walks_left_;
    } else if (!passes[i].has(Pass::tidies)) {
      known_ += count;
    }
    return count > 0;
  }

  // The walk over containers takes long, and finds all that there is to know at once.
  static bool is_walk(std::size_t i) { return passes[i].name == "follow_containers"; }
  bool rests_until_known(std::size_t i) const { return is_walk(i) && (walked_ == known_ || walks_left_ == 0); }

  Work& work_;
  const NormalizeOptions& options_;
  Counts counts_{}, rested_{};  // rested_: how many changes there had been when the pass last found nothing
  std::size_t changes_ = 1;
  // Changes that made more known, and how many there were when containers were followed last.
  std::size_t known_ = 1, walked_ = 0;
  int walks_left_ = std::numeric_limits<int>::max();
};

// The passes that follow lists and objects, until they find nothing more. The memory that tensors share isn't known yet, and
// writes to tensors are ignored.
void follow_state(Work& work, const NormalizeOptions& options) {
  constexpr auto following =
      std::to_array<std::string_view>({"drop_type_refinements", "simplify_loops", "unroll_loops", "follow_containers",
                                       "fold_numbers", "prune_branches", "remove_unused"});
  constexpr int most_walks = 4;
  for (int round = 0; round < most_walks; ++round) {
    std::size_t changed = 0;
    for (const Pass& pass : passes)
      if (std::ranges::find(following, pass.name) != following.end()) {
        schema::resolve(work.graph, work.registry);
        changed += apply(pass, work, options);
      }
    if (changed == 0) return;
  }
}

// Attributes become state. `containers` holds the program in which members of containers are attributes.
MadeState take_state(Work& work, std::optional<ContainerState>& containers, ContainerDecisions& decided,
                     const NormalizeOptions& options) {
  const ir::Graph before = work.graph.clone();
  const Budget budget = work.budget;
  const std::vector<ir::LostWrite> lost = work.lost_writes;
  for (;;) {
    containers.emplace(*work.program, decided, work.watch);
    if (!containers->open(work.graph)) {
      containers.reset();
      return attributes_to_state(work.graph, *work.program, decided, work.watch);
    }
    follow_state(work, options);
    if (containers->close(work.graph)) {
      remove_unused(work.graph, work.watch);
      MadeState made = attributes_to_state(work.graph, containers->program(), decided, work.watch);
      if (containers->settle(work.graph, made)) {
        std::erase_if(work.lost_writes, [&](const ir::LostWrite& write) { return containers->is_input(write.name); });
        return made;
      }
    }
    work.graph = before.clone();
    work.budget = budget;
    work.lost_writes = lost;
  }
}

// Makes state of the writes that the passes couldn't remove.
void make_state(Normalized& normalized, Work& work, const NormalizeOptions& options, Rounds& rounds) {
  if (!options.state_as_inputs || !work.program) return;
  auto& state = normalized.state;
  const ir::Program* program = work.program;
  std::optional<ContainerState> containers;
  ContainerDecisions decided;
  state = take_state(work, containers, decided, options).attributes;
  if (containers) work.program = &containers->program();
  const bool any = !state.empty() || containers;
  bool changed = any;
  while (changed) {
    schema::resolve(work.graph, work.registry);
    rounds.graph_changed();
    rounds.most_walks(1);
    rounds.run();
    changed = drop_idle_state(work.graph, state) > 0;
  }
  work.program = program;
  if (any && options.after_pass) options.after_pass(work.graph, "attributes_to_state");
}

void report_state(const std::vector<StateAttribute>& state, std::vector<std::string>& steps) {
  for (const StateAttribute& attribute : state)
    steps.push_back("attribute " + attribute.path + " keeps its value between calls: it is input " + attribute.input +
                    " and output " + attribute.output);
}

// A graph's text may leave out arguments at the end of a call, which then have their defaults.
void add_all_defaults(const ir::Graph& graph, const ir::Watch& watch) {
  for (ir::Node* node : all_nodes(graph, watch))
    if (node->schema()) add_defaults(node);
}

// `mode is Mode.FAST` is false in TorchScript even where `==` is true: each place that names a member has an object of its own.
void settle_enum_identity(const ir::Graph& graph, const ir::Watch& watch) {
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!compares_identity(*node) || node->outputs().size() != 1) continue;
    const auto is_named_here = [](const ir::Value* input) { return known<ir::EnumConstant>(input) && input->uses().size() == 1; };
    if (std::ranges::none_of(node->inputs(), is_named_here)) continue;
    replace(node->output(), constant_before(node, {node->is("aten::__isnot__")}));
    node->erase();
  }
}

// Whether a key of a dictionary may be missing: the walk over containers raises there, then.
bool may_lack_keys(const ir::Graph& graph) {
  bool may = false;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    if (node->inputs().empty() || !ir::is(node->input(0)->type(), ir::TypeKind::dict)) return;
    may =
        may || node->is("aten::__getitem__") || node->is("aten::Delete") || (node->is("aten::pop") && node->inputs().size() == 2);
    if (!node->is("aten::_set_item")) return;
    for (const ir::Node* owner = node->owner()->owner(); owner; owner = owner->owner()->owner())
      may = may || owner->is("prim::Loop");
  });
  return may;
}

// Settles as much as possible with assertions, once for the graphs with and without them.
void settle_with_assertions(Normalized& normalized, Work& work, Rounds& rounds) {
  const bool may_gain = may_lack_keys(work.graph);
  if (!keep_exceptions(work.graph) && !may_gain) return;
  work.keep_assertions = true;
  rounds.run(Pass::first);
  work.keep_assertions = false;
  ir::Graph settled = work.graph.clone();
  if (release_exceptions(work.graph) || may_gain) normalized.with_assertions = std::move(settled);
  rounds.graph_changed();
}

void finish(Normalized& normalized, Work& work, const NormalizeOptions& options) {
  if (options.keep_assertions) keep_exceptions(work.graph);
  work.gradients = options.gradients;
  for (const Pass& pass : {gradients_pass, nested_pass}) report(pass, apply(pass, work, options), normalized.steps);
  schema::resolve(work.graph, work.registry);
  add_all_defaults(work.graph, work.watch);
  settle_enum_identity(work.graph, work.watch);
  if (apply(numbers_pass, work, options) > 0) schema::resolve(work.graph, work.registry);
  Rounds rounds(work, options);
  rounds.most_walks(1);  // code that needs facts of the inputs is followed once they are stated
  if (!options.keep_assertions) settle_with_assertions(normalized, work, rounds);
  rounds.run(Pass::first);
  rounds.run();
  make_state(normalized, work, options, rounds);
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const std::size_t count = rounds.counts()[i];
    report(passes[i], count, normalized.steps);
  }
  report_state(normalized.state, normalized.steps);
  normalized.lost_writes = std::move(work.lost_writes);
  schema::resolve(work.graph, work.registry);
  normalized.unresolved_writes = unresolved_writes(work.graph, work.program, work.registry, work.watch);
}

// "; it has forward__0, encode (--method)", at most five.
std::string methods_of(const ir::Class& type) {
  std::string names;
  std::size_t shown = 0;
  for (const bool forward : {true, false})
    for (const auto& [name, function] : type.methods)
      if (name.starts_with("forward") == forward && !name.starts_with("__") && shown++ < 5)
        names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "" : "; it has " + names + (shown > 5 ? " and others" : "") + " (LoadOptions::method)";
}

const ir::Function& find_method(const ir::Program& program, const std::string& method) {
  if (program.root >= program.objects.size()) throw ModelError("the file holds no module");
  const std::string& name = program.objects[program.root].class_name;
  const auto type = program.classes.find(name);
  const auto found = type == program.classes.end() ? decltype(type->second.methods.end()){} : type->second.methods.find(method);
  if (type == program.classes.end() || found == type->second.methods.end())
    throw ModelError("the model's class " + name + " has no method " + method +
                     (type == program.classes.end() ? "" : methods_of(type->second)));
  const auto function = program.functions.find(found->second);
  if (function == program.functions.end()) throw ModelError("the file holds no code for " + found->second);
  return function->second;
}

// The method's graph with `self` as a constant.
ir::Graph method_graph(const ir::Program& program, const std::string& method) {
  ir::Graph graph = find_method(program, method).graph.clone();
  if (graph.inputs().empty()) throw ModelError(method + " has no `self`");
  ir::Value* self = graph.inputs()[0];
  ir::Node* root = graph.create_constant({ir::ObjectConstant{program.root}});
  root->output()->set_type(self->type());
  graph.top()->prepend(root);
  replace(self, root->output());
  graph.top()->erase_input(0);
  return graph;
}

// None, numbers, flags, texts, devices, and lists and tuples of these.
bool is_plain_default(const ir::Constant& value) {
  if (const auto* list = value.get<ir::ListConstant>()) return std::ranges::all_of(list->items, is_plain_default);
  if (const auto* tuple = value.get<ir::TupleConstant>()) return std::ranges::all_of(tuple->items, is_plain_default);
  return value.is_none() || value.get<bool>() || value.get<std::int64_t>() || value.get<double>() || value.get<std::string>() ||
         value.get<ir::DeviceConstant>();
}

std::vector<std::pair<std::size_t, ir::Constant>> defaults_of(const ir::Function& method) {
  std::vector<std::pair<std::size_t, ir::Constant>> defaults;
  for (std::size_t i = 1; i < method.parameters.size(); ++i)
    if (const auto& value = method.parameters[i].default_value; value && is_plain_default(*value))
      defaults.emplace_back(i - 1, *value);
  return defaults;
}

}  // namespace

std::size_t node_count(const ir::Graph& graph) {
  std::size_t count = 0;
  ir::for_each_node(*graph.top(), [&](const ir::Node*) { ++count; });
  return count;
}

Normalized normalize(const ir::Program& program, const schema::Registry& registry, const NormalizeOptions& options) {
  Normalized normalized{method_graph(program, options.method), defaults_of(find_method(program, options.method)), {}, {}};
  Work work{normalized.graph, &program, registry, {}, options.watch};
  work.keep_assertions = options.keep_assertions;
  work.lost_writes = program.lost_writes;
  report(inline_pass, apply(inline_pass, work, options), normalized.steps);
  finish(normalized, work, options);
  return normalized;
}

Normalized normalize(ir::Graph graph, const schema::Registry& registry, const NormalizeOptions& options) {
  return normalize(std::move(graph), nullptr, registry, options);
}

Normalized normalize(ir::Graph graph, const ir::Program* program, const schema::Registry& registry,
                     const NormalizeOptions& options) {
  Normalized normalized{std::move(graph), {}, {}, {}};
  Work work{normalized.graph, program, registry, {}, options.watch};
  if (program) work.lost_writes = program->lost_writes;
  work.keep_assertions = options.keep_assertions;
  finish(normalized, work, options);
  return normalized;
}

bool simplify(ir::Graph& graph, const schema::Registry& registry, const KnownValue& known, const SimplifyOptions& options,
              const ir::Watch& watch) {
  Work work{graph, options.program, registry, known, watch, {.unrolled = options.most_unrolled}};
  work.keep_assertions = options.keep_assertions;
  const NormalizeOptions defaults;
  Rounds rounds(work, defaults);
  if (options.at_rest) rounds.rest();
  rounds.run(Pass::first | Pass::by_known);  // what is known shrinks the graph before containers are followed
  rounds.run();
  const bool changed = std::ranges::any_of(rounds.counts(), [](std::size_t count) { return count > 0; });
  if (changed) schema::resolve(graph, registry);
  if (options.lost_writes) std::ranges::move(work.lost_writes, std::back_inserter(*options.lost_writes));
  return changed;
}

}  // namespace compatcheck::passes
