#include "analysis/deciding_sizes.h"

#include <algorithm>
#include <array>
#include <optional>

#include "compatcheck/error.h"
#include "inference/infer.h"

namespace compatcheck::analysis {
namespace {

using conversion::Outcome;
using conversion::Status;

bool is_number(const std::string& size) { return !size.empty() && size.find_first_not_of("0123456789") == std::string::npos; }

bool has_names(const AssumedInput& input) {
  return !input.option.empty() && !std::ranges::all_of(*input.tensor.shape, is_number);
}

// A picture's sides, and a batch, a sequence's length or the like; and the smallest that branches ask for.
struct Numbers {
  const char *front, *spatial;
};
constexpr std::array numbers = {Numbers{"16", "224"}, Numbers{"2", "2"}};

std::string with_numbers(const AssumedInput& input, const Numbers& chosen) {
  std::string text = input.tensor.name + "=" + input.tensor.dtype + ":";
  const auto& sizes = *input.tensor.shape;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim)
    text += (dim ? "," : "") + (is_number(sizes[dim]) ? sizes[dim] : std::string(dim < 2 ? chosen.front : chosen.spatial));
  return text;
}

std::string with_rank(const AssumedInput& input, std::size_t rank) {
  std::string text = input.tensor.name + "=" + input.tensor.dtype + ":";
  for (std::size_t dim = 0; dim < rank; ++dim) text += (dim ? "," : "") + inference::dimension_name(input.tensor.name, dim);
  return rank ? text : text + "scalar";
}

// Those that images, sequences and rows have.
constexpr std::array ranks = {std::size_t{4}, std::size_t{3}, std::size_t{1}, std::size_t{2}};

bool fails(const Outcome& outcome) {
  return (outcome.status == Status::missing || outcome.status == Status::refused) && outcome.wants.empty();
}

// Each try prepares and assesses the model once more.
bool is_large(const ir::Graph& graph) {
  constexpr std::size_t most_nodes = 2000;
  std::size_t nodes = 0;
  ir::for_each_node(*graph.top(), [&](const ir::Node*) { ++nodes; });
  return nodes > most_nodes;
}

}  // namespace

DecidingSizes::Call DecidingSizes::call_of(const ir::Node& node) { return {node.op(), node.location(), node.module()}; }

DecidingSizes::Calls DecidingSizes::failing(const conversion::Assessment& assessment) {
  Calls calls;
  for (const Outcome& outcome : assessment.outcomes)
    if (outcome.status != Status::ok) calls.insert(call_of(*outcome.node));
  return calls;
}

// A model of its own, which is let go before the next one is made.
void DecidingSizes::try_with(CheckOptions asked, std::string option) {
  const Prepared prepared = prepare(model_, asked, watch_);
  const conversion::Context context = context_of(model_, prepared, watch_, asked.export_type);
  conversion::Assessor assessor(prepared.graph, context);
  Try& made = tries_->emplace_back();
  made.option = std::move(option);
  for (const int opset : opsets_) made.failing.emplace(opset, failing(assessor.assess(opset)));
}

void DecidingSizes::try_all() {
  tries_.emplace();
  for (const Numbers& chosen : numbers) {
    CheckOptions asked = options_;
    asked.dims.clear();
    std::string option;
    for (const AssumedInput& input : prepared_.assumed) {
      if (!has_names(input)) continue;
      asked.inputs.push_back(with_numbers(input, chosen));
      option += (option.empty() ? "--input " : " --input ") + asked.inputs.back();
    }
    if (!option.empty()) try_with(std::move(asked), std::move(option));
  }
  for (const std::size_t rank : ranks) {
    CheckOptions asked = options_;
    asked.dims.clear();
    std::string option;
    for (const AssumedInput& input : prepared_.assumed) {
      if (std::ranges::find(prepared_.open_ranks, input.tensor.name) == prepared_.open_ranks.end() || input.option.empty() ||
          input.tensor.shape->size() == rank)
        continue;
      asked.inputs.push_back(with_rank(input, rank));
      option += (option.empty() ? "--input " : " --input ") + asked.inputs.back();
    }
    if (!option.empty()) try_with(std::move(asked), std::move(option));
  }
}

std::vector<std::uint32_t> DecidingSizes::named_inputs() const {
  std::vector<std::uint32_t> inputs;
  for (const ir::Value* input : prepared_.graph.inputs()) {
    const auto is_of = [&](const AssumedInput& each) {
      return has_names(each) && (each.tensor.name == input->name() || each.tensor.name.starts_with(input->name() + "."));
    };
    if (std::ranges::any_of(prepared_.assumed, is_of)) inputs.push_back(static_cast<std::uint32_t>(input->index()));
  }
  return inputs;
}

void DecidingSizes::leave_to_inputs(conversion::Assessment& assessment, int opset) {
  const auto inputs = std::ranges::any_of(assessment.outcomes, fails) ? named_inputs() : std::vector<std::uint32_t>();
  if (inputs.empty() || is_large(prepared_.graph)) return;
  if (!tries_) try_all();
  for (const Try& each : *tries_) {
    const Calls& still = each.failing.at(opset);
    for (Outcome& outcome : assessment.outcomes) {
      if (!fails(outcome) || still.contains(call_of(*outcome.node))) continue;
      outcome.wants = inputs;
      outcome.hint = each.option + ", with your own sizes";
      if (outcome.status == Status::missing) {
        outcome.reason += "; sizes say whether it runs";
      } else {
        outcome.status = Status::needs_input;
      }
    }
  }
}

}  // namespace compatcheck::analysis
