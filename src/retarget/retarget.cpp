#include "retarget/retarget.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <tuple>

#include "compatcheck/error.h"
#include "onnx/function_text.h"
#include "onnx/proto.h"
#include "onnx/schema.h"
#include "onnx_file/functions.h"
#include "onnx_file/graph_index.h"
#include "onnx_file/repeated.h"
#include "onnx_file/validity.h"
#include "retarget/function_body.h"
#include "retarget/torch_calls.h"
#include "retarget/versions.h"

namespace compatcheck::retarget {
namespace {

using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using onnx::Refusal;

constexpr int deepest = 16;            // bodies in bodies
constexpr int most_written = 100'000;  // nodes of definitions
constexpr int first_unlisted_ir = 4;   // initializers need not be inputs

// Operators that change the form of values.
bool is_form(const NodeProto& node) {
  static constexpr std::array<std::string_view, 8> operators{"Cast",  "Constant", "Identity",  "Reshape",
                                                             "Shape", "Squeeze",  "Unsqueeze", "ConstantOfShape"};
  return onnx::is_own_domain(node.domain()) && std::ranges::find(operators, node.op_type()) != operators.end();
}

using Cost = std::pair<int, int>;  // nodes that engines don't support, nodes that they may not support

Cost cost_of(const std::vector<Fit>& fits) {
  Cost cost;
  for (const Fit& fit : fits) cost.first += fit.unsupported, cost.second += fit.unknown;
  return cost;
}

bool suits(const Form& form) { return cost_of(form.fits) == Cost{}; }

void add_operators(const auto& nodes, std::vector<std::string>& operators) {
  for (const auto& node : nodes) {
    operators.push_back(onnx::row_name(node.domain(), node.op_type()));
    onnx_file::for_each_body(node, [&](const GraphProto& body) { add_operators(body.node(), operators); });
  }
}

// Raises a count while it lives.
class Raised {
 public:
  explicit Raised(int& count) : count_(count) { ++count_; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;
  ~Raised() { --count_; }

 private:
  int& count_;
};

class Writer {
 public:
  Writer(const ModelProto& model, int opset, const Tables& tables, const ir::Watch& watch, const Judge& judge = nullptr)
      : judge_(judge),
        model_(model),
        to_(opset),
        tables_(tables),
        watch_(watch),
        moved_(conversion::moved_attributes(tables.table)),
        names_(model) {
    for (const auto& function : model.functions())
      functions_.emplace(std::tuple(function.domain(), function.name(), function.overload()), &function);
  }

  // Stops at the first node that doesn't.
  bool converts() {
    lazy_ = true;
    try {
      return run().converts();
    } catch (const Refusal&) {
      return false;
    }
  }

  Retargeted run() {
    Retargeted made;
    outcomes_ = &made.outcomes;
    made.model = model_;
    if (is_at_opset() && !judge_) {
      keep_all(model_.graph());
      return made;
    }
    onnx_file::ValueTypes types(model_);
    GraphProto changed = graph(model_.graph(), types, nullptr, opset_of(model_), model_.ir_version() < first_unlisted_ir);
    const auto kept = [](const NodeOutcome& outcome) { return outcome.form == 0; };
    if (!made.converts() || (is_at_opset() && std::ranges::all_of(made.outcomes, kept))) return made;
    *made.model.mutable_graph() = std::move(changed);
    if (is_at_opset())
      onnx_file::keep_used_functions(made.model);
    else
      made.model.clear_functions();
    set_imports(made.model);
    made.model.set_ir_version(ir_version());
    return made;
  }

 private:
  bool is_at_opset() const { return opset_of(model_) == to_; }

  std::int64_t ir_version() const {
    const std::int64_t own = std::max<std::int64_t>(model_.ir_version(), first_unlisted_ir);
    if (is_at_opset()) return own;
    const auto needed = std::max<std::int64_t>(onnx::ir_version(to_), first_unlisted_ir);
    return to_ > opset_of(model_) ? std::max(own, needed) : std::min(own, needed);
  }

  void keep_all(const GraphProto& graph) {
    for (const auto& node : graph.node()) {
      outcomes_->push_back({.node = &node, .reason = {}, .hint = {}, .kept = true});
      outcomes_->back().emitted[onnx::row_name(node.domain(), node.op_type())] = 1;
      outcomes_->back().work = 1;
      onnx_file::for_each_body(node, [&](const GraphProto& body) { keep_all(body); });
    }
  }

  void set_imports(ModelProto& model) const {
    std::map<std::string, std::int64_t> domains = domains_;
    for (const auto& import : model.opset_import()) domains.erase(import.domain());
    bool has_own = false;  // a graph that only calls functions need not import ONNX's operators
    for (auto& import : *model.mutable_opset_import())
      if (onnx::is_own_domain(import.domain())) import.set_version(to_), has_own = true;
    if (!has_own) model.add_opset_import()->set_version(to_);
    for (const auto& [domain, version] : domains) {
      auto* import = model.add_opset_import();
      import->set_domain(domain);
      import->set_version(version);
    }
  }

  GraphProto graph(const GraphProto& graph, onnx_file::ValueTypes& types, const Scope* around, int from, bool defaults_count) {
    const Scope scope(graph, types, around, defaults_count);
    GraphProto made = graph;
    made.clear_node();
    for (const auto& node : graph.node()) {
      watch_.step();
      add(node, scope, types, from, made);
    }
    return made;
  }

  static void append(Piece piece, GraphProto& into) {
    for (auto& node : piece.nodes) *into.add_node() = std::move(node);
    for (auto& tensor : piece.initializers) *into.add_initializer() = std::move(tensor);
  }

  // Nodes of the model itself have outcomes, those of a definition don't.
  bool is_listed() const { return depth_ == 0; }

  void add(const NodeProto& node, const Scope& scope, onnx_file::ValueTypes& types, int from, GraphProto& into) {
    std::size_t place = 0;
    if (is_listed()) {
      place = outcomes_->size();
      outcomes_->push_back({.node = &node, .reason = {}, .hint = {}});
    }
    try {
      const std::size_t mark = names_.mark();
      Written made{.piece = usual_form(node, scope, types, from), .forms = {}};
      if (is_choosing()) choose(made, node, scope, from, mark);
      if (is_listed()) {
        NodeOutcome& outcome = (*outcomes_)[place];
        note(outcome, node, made.piece);
        outcome.forms = std::move(made.forms);
        outcome.form = made.form;
      }
      append(std::move(made.piece), into);
    } catch (const Refusal& refusal) {
      if (!is_listed() || lazy_) throw;
      NodeOutcome& outcome = (*outcomes_)[place];
      outcome.converts = false;
      outcome.reason = refusal.reason;
      outcome.hint = refusal.hint;
    }
  }

  static void note(NodeOutcome& outcome, const NodeProto& node, const Piece& piece) {
    for (const auto& made : piece.nodes) {
      ++outcome.emitted[onnx::row_name(made.domain(), made.op_type())];
      outcome.work += !is_form(made);
    }
    outcome.work = std::max(outcome.work, 1);
    outcome.kept = piece.nodes.size() == 1 && piece.nodes.front().SerializeAsString() == node.SerializeAsString();
  }

  Setting setting_from(int from, std::optional<int> form = {}) const {
    return {.from = from, .to = to_, .tables = tables_, .moved = moved_, .watch = watch_, .form = form};
  }

  Piece usual_form(const NodeProto& node, const Scope& scope, onnx_file::ValueTypes& types, int from) {
    const bool own = onnx::is_own_domain(node.domain());
    if (from != to_ || depth_ > 0)
      if (const auto* function = own ? nullptr : local_function(node))
        return by_body(node, body_of(node, *function, scope, from));
    if (!own || from == to_) {
      Piece piece;
      piece.nodes.push_back(with_bodies(node, scope, types, from));
      return piece;
    }
    const Setting setting = setting_from(from);
    Refusal why;
    try {
      return in_version(with_bodies(node, scope, types, from), scope, setting, names_);
    } catch (const Refusal& refusal) {
      why = refusal;
    }
    try {
      if (auto piece = by_torch_call(node, scope, setting, names_)) return std::move(*piece);
    } catch (const Refusal& refusal) {
      why.reason += "; " + refusal.reason;
    }
    try {
      if (auto body = definition_of(node, scope, from, to_)) return by_body(node, std::move(*body));
    } catch (const Refusal& refusal) {
      why.reason += "; by ONNX's definition of it: " + refusal.reason;
    }
    throw why;
  }

  // ---- Forms for engines

  struct Written {
    Piece piece;
    std::vector<Form> forms;  // as in NodeOutcome
    std::size_t form = 0;
  };

  // Nodes of the model have forms, and those of a form that doesn't suit.
  bool is_choosing() const { return judge_ && refining_ == depth_; }

  // A model of the nodes alone, which stand for `node`.
  ModelProto alone(const Piece& piece, const NodeProto& node, const Scope& scope) const {
    ModelProto model;
    *model.mutable_opset_import() = model_.opset_import();
    set_imports(model);
    model.set_ir_version(ir_version());
    auto& graph = *model.mutable_graph();
    graph.set_name("form");
    const auto add_value = [&](auto* value, const std::string& name) {
      value->set_name(name);
      if (const auto* type = scope.type(name)) *value->mutable_type() = *type;
    };
    std::set<std::string> known{""};
    for (const auto& tensor : piece.initializers) {
      *graph.add_initializer() = tensor;
      known.insert(tensor.name());
    }
    for (const auto& made : piece.nodes) {
      for (const auto& name : onnx_file::reads_of(made)) {
        if (!known.insert(name).second) continue;
        const auto* constant = scope.initializer(name);
        if (!constant) constant = scope.constant(name);
        if (constant) {
          *graph.add_initializer() = *constant;
          graph.mutable_initializer()->rbegin()->set_name(name);
        } else {
          add_value(graph.add_input(), name);
        }
      }
      known.insert(made.output().begin(), made.output().end());
      if (local_function(made)) *model.mutable_functions() = model_.functions();
      *graph.add_node() = made;
    }
    for (const auto& output : node.output())
      if (!output.empty()) add_value(graph.add_output(), output);
    return model;
  }

  static bool is_valid(ModelProto model) {
    try {
      onnx_file::infer_strictly(model);
      onnx_file::check_valid(model);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  void judge(Form& form, const Piece& piece, const ModelProto& model) const {
    form.operators.clear();
    add_operators(piece.nodes, form.operators);
    form.fits = judge_(model);
  }

  // The forms of the nodes of a form.
  Piece refined(const Piece& piece, const NodeProto& node, const Scope& scope) {
    const ModelProto model = alone(piece, node, scope);
    onnx_file::ValueTypes types(model);
    const Raised deeper(depth_), refining(refining_);
    const GraphProto made = graph(model.graph(), types, nullptr, to_, true);
    Piece done{.nodes = {made.node().begin(), made.node().end()}, .initializers = piece.initializers};
    for (int i = model.graph().initializer_size(); i < made.initializer_size(); ++i)
      done.initializers.push_back(made.initializer(i));
    return done;
  }

  // Replaces the usual form, whose names were given since `mark`, if another suits the engines better.
  void choose(Written& made, const NodeProto& node, const Scope& scope, int from, std::size_t mark) {
    if (node.op_type() == "If" || node.op_type() == "Loop" || node.op_type() == "Scan") return;  // their nodes have forms
    const ModelProto usual = alone(made.piece, node, scope);
    made.forms.emplace_back();
    judge(made.forms.front(), made.piece, usual);
    if (suits(made.forms.front()) || !is_valid(usual)) return made.forms.clear();
    const bool is_tried = trying_ > 0;
    const auto attempt = [&](std::string text, int opset, auto&& make) {
      if (suits(made.forms[made.form])) return;
      watch_.step();
      auto imports = domains_;
      const int written = written_;
      try {
        if (std::optional<Piece> piece = make()) {
          names_.keep(*piece);
          if (piece->nodes.size() > 1 && !is_tried) {
            const Raised trying(trying_);
            *piece = refined(*piece, node, scope);
          }
          const ModelProto model = alone(*piece, node, scope);
          Form form{.text = std::move(text), .opset = opset, .operators = {}, .fits = {}};
          judge(form, *piece, model);
          made.forms.push_back(std::move(form));
          if (cost_of(made.forms.back().fits) < cost_of(made.forms[made.form].fits) && is_valid(model)) {
            made.form = made.forms.size() - 1;
            made.piece = std::move(*piece);
            imports = domains_;
          }
        }
      } catch (const Refusal&) {  // this form can't be written
      } catch (const ModelError&) {
      }
      domains_ = std::move(imports);
      written_ = written;
      names_.forget_since(mark);
    };
    if (made.piece.nodes.size() > 1 && !is_tried) refine(made, node, scope);
    names_.forget_since(mark);
    if (onnx::is_own_domain(node.domain())) {
      std::vector<int> older;
      const auto call = [&](std::optional<int> form, std::vector<int>* others) {
        return [&, form, others] { return by_torch_call(node, scope, setting_from(from, form), names_, others); };
      };
      attempt("the form of opset " + std::to_string(to_), to_, call({}, &older));
      for (const int form : older) attempt("the form of opset " + std::to_string(form), form, call(form, nullptr));
      if (std::optional<Body> body = definition_of(node, scope, from, to_))
        attempt("ONNX's definition of opset " + std::to_string(body->opset), body->opset,
                [&] { return std::optional(by_body(node, std::move(*body))); });
    } else if (const auto* function = local_function(node)) {
      attempt("the nodes of its function", to_,
              [&] { return std::optional(by_body(node, body_of(node, *function, scope, from))); });
    }
    names_.keep(made.piece);
    if (made.form != 0 && !is_tried) refine(made, node, scope);
  }

  // Nodes of the form that don't suit have forms as the file's nodes have them.
  void refine(Written& made, const NodeProto& node, const Scope& scope) {
    while (made.piece.nodes.size() > 1 && !suits(made.forms[made.form])) {
      Piece piece = refined(made.piece, node, scope);
      const ModelProto model = alone(piece, node, scope);
      Form form = made.forms[made.form];
      judge(form, piece, model);
      if (!(cost_of(form.fits) < cost_of(made.forms[made.form].fits)) || !is_valid(model)) return;
      if (form.text.empty()) form.text = "older forms of its nodes";
      made.forms.push_back(std::move(form));
      made.form = made.forms.size() - 1;
      made.piece = std::move(piece);
    }
  }

  NodeProto with_bodies(const NodeProto& node, const Scope& scope, onnx_file::ValueTypes& types, int from) {
    NodeProto made = node;
    for (auto& attribute : *made.mutable_attribute()) {
      const auto* given = attribute_of(node, attribute.name());
      if (attribute.has_g()) *attribute.mutable_g() = graph(given->g(), types, &scope, from, false);
      for (int i = 0; i < attribute.graphs_size(); ++i)
        *attribute.mutable_graphs(i) = graph(given->graphs(i), types, &scope, from, false);
    }
    return made;
  }

  const ::onnx::FunctionProto* local_function(const NodeProto& node) const {
    const auto found = functions_.find({node.domain(), node.op_type(), node.overload()});
    return found == functions_.end() ? nullptr : found->second;
  }

  Piece by_body(const NodeProto& node, Body body) {
    if (depth_ >= deepest) throw Refusal{"definitions call each other more than " + std::to_string(deepest) + " deep"};
    for (const auto& import : body.model.opset_import())
      if (!onnx::is_own_domain(import.domain())) domains_[import.domain()] = import.version();
    if (std::ranges::any_of(body.model.graph().node(), [&](const auto& inner) { return local_function(inner) != nullptr; }))
      *body.model.mutable_functions() = model_.functions();
    written_ += body.model.graph().node_size();
    watch_.step();
    if (written_ > most_written) throw Refusal{"its definitions become more than " + std::to_string(most_written) + " nodes"};
    onnx_file::ValueTypes types(body.model);
    GraphProto made = deeper_graph(body, types);
    tidy(made, types, body.model.graph());
    // Constants among the inputs are those of the graph around.
    auto& initializers = *made.mutable_initializer();
    initializers.erase(std::remove_if(initializers.begin(), initializers.end(),
                                      [&](const auto& tensor) {
                                        return std::ranges::any_of(
                                            made.input(), [&](const auto& input) { return input.name() == tensor.name(); });
                                      }),
                       initializers.end());
    return splice(std::move(made), node, body.inputs, names_);
  }

  GraphProto deeper_graph(const Body& body, onnx_file::ValueTypes& types) {
    const Raised deeper(depth_);
    return graph(body.model.graph(), types, nullptr, body.opset, true);
  }

  // Definitions cast to a dtype that their call has already, and have nodes for constants.
  static void tidy(GraphProto& made, onnx_file::ValueTypes& types, const GraphProto& body) {
    const auto dtype = [&](const std::string& value) {
      const auto* type = types.find(body, value);
      return type && type->has_tensor_type() ? type->tensor_type().elem_type() : 0;
    };
    std::map<std::string, std::string> same;
    bool has_bodies = false;  // which may read a cast
    for (const auto& node : made.node()) onnx_file::for_each_body(node, [&](const GraphProto&) { has_bodies = true; });
    onnx_file::keep_if(*made.mutable_node(), [&](NodeProto& node) {
      for (auto& input : *node.mutable_input())
        if (const auto found = same.find(input); found != same.end()) input = found->second;
      if (is_own(node, "Constant") && node.attribute_size() == 1 && node.attribute(0).name() == "value") {
        auto* tensor = made.add_initializer();
        *tensor = node.attribute(0).t();
        tensor->set_name(node.output(0));
        return false;
      }
      const bool leaves = std::ranges::any_of(
          made.output(), [&](const auto& output) { return node.output_size() > 0 && output.name() == node.output(0); });
      if (!is_own(node, "Cast") || node.input_size() != 1 || leaves || has_bodies ||
          dtype(node.input(0)) != int_of(node, "to", -1))
        return true;
      same[node.output(0)] = node.input(0);
      return false;
    });
  }

  const Judge judge_;
  const ModelProto& model_;
  const int to_;
  const Tables& tables_;
  const ir::Watch& watch_;
  const onnx::MovedAttributes moved_;
  Names names_;
  std::map<std::tuple<std::string, std::string, std::string>, const ::onnx::FunctionProto*> functions_;
  std::vector<NodeOutcome>* outcomes_ = nullptr;
  std::map<std::string, std::int64_t> domains_;  // that definitions import
  int depth_ = 0, refining_ = 0, trying_ = 0, written_ = 0;
  bool lazy_ = false;
};

// The reason why onnx's strict inference refuses the model; nullopt if it doesn't.
std::optional<std::string> refusal_of_inference(ModelProto model) {
  try {
    onnx_file::infer_strictly(model);
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  }
}

// onnx's checker and its inference accept the new model as they do the old one.
void demand_valid(const ModelProto& before, const ModelProto& after) {
  try {
    onnx_file::check_valid(after);
  } catch (const ModelError& error) {
    throw ModelError(std::string("can't be written at this opset: the result ") + error.what());
  }
  if (refusal_of_inference(before)) return;
  if (const auto why = refusal_of_inference(after))
    throw ModelError("can't be written at this opset: onnx's inference refuses the result: " + *why);
}

}  // namespace

bool Retargeted::converts() const { return std::ranges::all_of(outcomes, &NodeOutcome::converts); }

int opset_of(const ModelProto& model) {
  for (const auto& import : model.opset_import())
    if (onnx::is_own_domain(import.domain())) return static_cast<int>(import.version());
  return 0;
}

Retargeted retarget(const ModelProto& model, int opset, const Tables& tables, const ir::Watch& watch, const Judge& judge) {
  Retargeted made = Writer(model, opset, tables, watch, judge).run();
  const bool kept = opset == opset_of(model) && std::ranges::all_of(made.outcomes, &NodeOutcome::kept);
  if (made.converts() && !kept) demand_valid(model, made.model);
  return made;
}

std::vector<NodeOutcome> outcomes_at(const ModelProto& model, int opset, const Tables& tables, const ir::Watch& watch) {
  return Writer(model, opset, tables, watch).run().outcomes;
}

std::optional<int> lowest_opset(const ModelProto& model, const Tables& tables, const ir::Watch& watch) {
  for (int opset = mapping::lowest_opset; opset <= mapping::highest_opset; ++opset)
    if (Writer(model, opset, tables, watch).converts()) return opset;
  return std::nullopt;
}

}  // namespace compatcheck::retarget
