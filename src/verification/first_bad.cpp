#include "verification/first_bad.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/onnx_model.h"
#include "analysis/site.h"
#include "compatcheck/error.h"
#include "process/callback.h"
#include "process/spell_count.h"
#include "verification/by_value.h"
#include "verification/match.h"

namespace compatcheck::verification {
namespace {

// The conversion once more, for what its values stand for.
struct Known {
  std::vector<NamedStand> stands;
  std::map<std::string, const ir::Node*> origins;  // keyed by the name of the ONNX node
  struct Made {
    std::vector<std::string> read;  // values that its node reads, without weights
    std::optional<ir::DType> dtype;
    std::optional<std::size_t> rank;
  };
  std::map<std::string, Made> made;  // keyed by the name of the value
  std::vector<std::string> outputs;
};

void note_made(const onnx::Model& model, Known& known) {
  std::set<onnx::ValueId> weights;
  for (const auto& initializer : model.initializers) weights.insert(initializer.value);
  onnx::for_each_node(model.graph, [&](const onnx::Node& node) {
    std::vector<std::string> read;
    for (const onnx::ValueId input : node.inputs)
      if (input != onnx::absent && !weights.contains(input)) read.push_back(model.values[input].name);
    for (const onnx::ValueId output : node.outputs) {
      const onnx::ValueInfo& info = model.values[output];
      const bool typed = info.kind == onnx::ValueInfo::Kind::tensor && !info.untyped;
      known.made[info.name] = {read, typed ? std::optional(info.dtype) : std::nullopt,
                               typed && info.shape ? std::optional(info.shape->size()) : std::nullopt};
    }
  });
}

Known know(const Mismatch& mismatch, int opset) {
  ConvertOptions options = mismatch.options.convert;
  if (opset > 0) options.opset = opset;
  std::vector<conversion::Stand> stands;
  const onnx::Model model = analysis::onnx_model(mismatch.model, mismatch.prepared, options, mismatch.watch, &stands);
  Known known;
  for (const auto& stand : stands) {
    const std::string& name = model.values[model.left_of(stand.onnx)].name;
    if (!name.empty()) known.stands.push_back({stand.value, stand.path, name});
  }
  note_made(model, known);
  for (const onnx::ValueId output : model.graph.outputs) known.outputs.push_back(model.values[output].name);
  onnx::for_each_node(model.graph, [&](const onnx::Node& node) { known.origins.emplace(node.name, node.origin); });
  return known;
}

// "/encoder/Relu_3" → "/encoder/Relu"
std::string without_number(const std::string& name) {
  const auto dash = name.rfind('_');
  const bool numbered =
      dash != std::string::npos && dash + 1 < name.size() && name.find_first_not_of("0123456789", dash + 1) == std::string::npos;
  return numbered ? name.substr(0, dash) : name;
}

// A name means the same in both only if the value is computed in the same way, or if both have as many nodes of its kind: names
// contain counts of nodes, and other exporters name nodes much as we do. Returns how many values differ from ours in dtype or
// rank, which shows that the names mislead.
std::size_t keep_common(std::vector<NamedStand>& stands, const Known& known, const OnnxGraph& onnx) {
  std::map<std::string, std::size_t> ours, theirs;
  for (const auto& [name, origin] : known.origins) ++ours[without_number(name)];
  for (const std::string& name : onnx.node_names()) ++theirs[without_number(name)];
  std::size_t others = 0;
  std::erase_if(stands, [&](const NamedStand& stand) {
    const auto made = known.made.find(stand.name);
    if (!onnx.is_made(stand.name) || made == known.made.end()) return false;
    const auto dtype = onnx.dtype_of(stand.name);
    const auto rank = onnx.rank_of(stand.name);
    if ((dtype && made->second.dtype && *dtype != *made->second.dtype) ||
        (rank && made->second.rank && *rank != *made->second.rank))
      return ++others, true;
    const std::string kind = without_number(onnx.maker_of(stand.name));
    return ours[kind] != theirs[kind] && onnx.read_for(stand.name) != made->second.read;
  });
  return others;
}

// compatcheck wrote the file, and it still contains most of the names.
bool names_fit(const Known& known, const OnnxGraph& onnx) {
  if (onnx.producer() != "compatcheck") return false;
  std::size_t made = 0, there = 0;
  for (const NamedStand& stand : known.stands)
    if (known.made.contains(stand.name)) ++made, there += onnx.is_made(stand.name);
  return made > 0 && 2 * there >= made;
}

// Outputs are compared by position, whatever the file calls them.
void pair_outputs(std::vector<NamedStand>& stands, const std::vector<std::string>& ours, const NamedValues& theirs,
                  const OnnxGraph& onnx) {
  if (ours.size() != theirs.size()) return;
  for (NamedStand& stand : stands) {
    const auto at = std::ranges::find(ours, stand.name);
    if (at != ours.end() && !onnx.is_made(stand.name)) stand.name = theirs[static_cast<std::size_t>(at - ours.begin())].first;
  }
}

std::uint32_t number_of(const ir::Node* searched, const ir::Graph& graph) {
  std::uint32_t number = 0, found = 0;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    if (node == searched) found = number;
    ++number;
  });
  return found;
}

// The call whose nodes made the value; those of several may have become one.
const ir::Node* culprit(const BadValue& bad, const Known& known) {
  const ir::Node* producer = bad.value->producer();
  if (bad.nodes.empty()) return producer;
  const auto origin = known.origins.find(bad.nodes.back());
  return origin == known.origins.end() || !origin->second ? producer : origin->second;
}

FirstBad described(const BadValue& bad, const ir::Node& node, const ir::Graph& graph) {
  return {.value = bad.name,
          .onnx_nodes = bad.nodes,
          .op = node.op(),
          .overload = node.overload(),
          .site = analysis::site_of(node, number_of(&node, graph)),
          .execution = bad.execution,
          .difference = bad.difference,
          .repro = {}};
}

// Writes the whole model if no part of it fails by itself.
void write_whole(const Mismatch& mismatch, const OnnxGraph& onnx, Verification& made) {
  std::vector<std::string> requested;
  NamedValues outputs;
  for (const auto& [name, value] : mismatch.outputs)
    if (onnx.is_made(name)) requested.push_back(name), outputs.emplace_back(name, value);
  const auto whole = requested.empty() ? std::nullopt : onnx.segment({requested, {}, {}, {}, {}});
  std::string& note = made.bisection->note;
  if (!note.empty()) note += "; ";
  if (!whole) return void(note += "no failing case was written: the model's outputs aren't tensors that it makes");
  NamedValues inputs;
  for (const std::string& name : whole->inputs) {
    const auto given = std::ranges::find(mismatch.inputs, name, &NamedValues::value_type::first);
    if (given != mismatch.inputs.end()) inputs.push_back(*given);
  }
  write_repro(mismatch.options.repro, whole->bytes, inputs, outputs);
  note += "the whole model is the failing case in " + mismatch.options.repro.string();
}

// Another program's file: its names may be ours and mean something else.
void explain_by_value(const Mismatch& mismatch, const BisectInput& input, Verification& made) {
  const auto leaves = leaves_of(mismatch.prepared.graph);
  PairedOutputs outputs;
  for (std::size_t i = 0; leaves.size() == mismatch.outputs.size() && i < leaves.size(); ++i)
    outputs.emplace_back(leaves[i], mismatch.outputs[i].first);
  auto [found, note] = bisect_by_value(input, mismatch.inputs, outputs);
  made.bisection = {.compared = found.compared, .runs = found.runs, .bytes = found.bytes, .note = note};
  if (found.bad) made.first_bad = described(*found.bad, *found.bad->value->producer(), mismatch.prepared.graph);
  if (mismatch.options.repro.empty()) return;
  if (!found.bad || found.bad->segment.bytes.empty()) return write_whole(mismatch, input.onnx, made);
  write_repro(mismatch.options.repro, found.bad->segment.bytes, found.bad->inputs,
              {{found.bad->segment.results.front(), found.bad->expected}});
  made.first_bad->repro = mismatch.options.repro.string();
}

}  // namespace

void explain(const Mismatch& mismatch, Verification& made) {
  const OnnxGraph onnx(mismatch.onnx, mismatch.watch);
  Known known = know(mismatch, onnx.opset());
  const bool by_name = names_fit(known, onnx);
  pair_outputs(known.stands, known.outputs, mismatch.outputs, onnx);
  const std::size_t all = known.stands.size(), others = by_name ? keep_common(known.stands, known, onnx) : 0;
  const auto progress = [&](std::uint64_t runs) {
    process::report_progress(mismatch.options.convert.run, {.stage = "bisect", .done = runs, .total = 0});
  };
  const BisectInput input{.model = mismatch.model,
                          .prepared = mismatch.prepared,
                          .arguments = mismatch.arguments,
                          .seed = mismatch.options.seed,
                          .stands = known.stands,
                          .onnx = onnx,
                          .runtime = mismatch.runtime,
                          .frontend = mismatch.frontend,
                          .tolerance = mismatch.tolerance,
                          .memory = mismatch.options.memory,
                          .watch = mismatch.watch,
                          .progress = progress};
  if (!by_name) return explain_by_value(mismatch, input, made);
  Bisected bisected = bisect(input);
  made.bisection = {.compared = bisected.compared, .runs = bisected.runs, .bytes = bisected.bytes, .note = {}};
  if (bisected.bad) {
    const ir::Node* node = culprit(*bisected.bad, known);
    made.first_bad = described(*bisected.bad, *node, mismatch.prepared.graph);
    if (node != bisected.bad->value->producer())
      made.bisection->note = bisected.bad->value->producer()->op() + " became part of the same node";
  } else if (bisected.tied) {
    const ir::Node& node = *bisected.tied->producer();
    const Site site = analysis::site_of(node, number_of(&node, mismatch.prepared.graph));
    made.bisection->note = "each operator by itself is within tolerance; " + node.op() + analysis::place_text(site) +
                           " meets equal elements, whose order PyTorch leaves open, and later values depend on it";
  } else if (mismatch.nones_differ) {
    made.bisection->note =
        "each operator by itself is within tolerance of TorchScript on TorchScript's own inputs; bisection doesn't search "
        "for what makes an output None";
  } else {
    made.bisection->note =
        "each operator by itself is within tolerance of TorchScript on TorchScript's own inputs, so rounding adds up, or ONNX "
        "Runtime's graph optimizations are at fault";
  }
  if (all > known.stands.size())
    made.bisection->note +=
        std::string(made.bisection->note.empty() ? "" : "; ") + std::to_string(all - known.stands.size()) + " of " +
        spell_count(all, "value") + (all == 1 ? " is" : " are") + " not paired" +
        (others > 0 ? ", " + std::to_string(others) + " of them with another dtype or rank in the file" : "") +
        ": the file was converted in another way than in this run";
  if (bisected.unfed > 0)
    made.bisection->note += std::string(made.bisection->note.empty() ? "" : "; ") + spell_count(bisected.unfed, "value") +
                            (bisected.unfed == 1 ? " is" : " are") +
                            " not compared: the file's nodes expect another dtype or rank than TorchScript's values have";
  if (mismatch.options.repro.empty()) return;
  if (!bisected.bad || bisected.bad->segment.bytes.empty() || bisected.bad->expected.is_none())
    return write_whole(mismatch, onnx, made);
  write_repro(mismatch.options.repro, bisected.bad->segment.bytes, bisected.bad->inputs,
              {{bisected.bad->segment.results.front(), bisected.bad->expected}});
  made.first_bad->repro = mismatch.options.repro.string();
}

}  // namespace compatcheck::verification
