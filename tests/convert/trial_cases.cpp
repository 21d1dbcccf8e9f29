// Tries calls at every opset, for check_rows_reached.py: which operators of the rows handlers emit (COMPATCHECK_CHECK_ROWS).
//   trial_cases --graphs OPSETS < graphs as text, each after a line "# id[<tab>--input texts…]"
// tries the calls as they stand: no pass folds them. Prints a JSON line of each graph with a call that no opset takes, {id,
// opset, reason}.
//   trial_cases --rows
// prints what every shipped row names: lines of "FILE:LINE:COLUMN operator@opset#number name", the row's number in its entry
// from 1.
#include <set>

#include "analysis/input_spec.h"
#include "compatcheck/check.h"
#include "conversion/assess.h"
#include "conversion/facts.h"
#include "ir/text.h"
#include "mapping/table.h"
#include "model_tools/model_list.h"

namespace {

using namespace compatcheck;

nlohmann::json failure(const std::exception& error) { return {{"reason", error.what()}}; }

void print_rows() {
  for (const auto* rows : mapping::Table::shipped().operators())
    for (const auto& entry : rows->history)
      for (std::size_t i = 0; i < entry.rows.size(); ++i) {
        const mapping::Place& place = entry.rows[i].place;
        for (const std::string& name : entry.rows[i].to) {
          if (entry.rows[i].body && name == "Shape") continue;  // the text's names are derived, those of plumbing, too
          std::cout << place.file << ':' << place.line << ':' << place.column << ' ' << rows->name << '@' << entry.opset << '#'
                    << i + 1 << ' ' << name << '\n';
        }
      }
}

class GraphTrials {
 public:
  explicit GraphTrials(std::vector<int> opsets) : opsets_(std::move(opsets)) {
    for (const auto& schema : table_.schemas()) schemas_.add(schema);
  }

  // `head`: "id[<tab>--input texts…]"
  void attempt(const std::string& head, const std::string& text) const {
    auto words = split(head, '\t');
    const std::string id = words.front();
    words.erase(words.begin());
    try {
      if (const std::string reason = failing(text, words); !reason.empty()) print_line(id, 0, {{"reason", reason}});
    } catch (const std::exception& error) {
      print_line(id, 0, failure(error));
    }
  }

 private:
  std::string failing(const std::string& text, const std::vector<std::string>& inputs) const {
    ir::Graph graph = ir::parse_graph(text);
    schema::resolve(graph, schemas_);
    const auto facts = conversion::state_facts(graph, analysis::match_inputs(inputs, graph), table_, schemas_, registry_);
    const std::unordered_map<const ir::Node*, std::string> writes;
    const conversion::Context context{table_, schemas_, registry_, handlers_, moved_, facts, writes};
    conversion::Assessor assessor(graph, context);
    std::map<const ir::Node*, std::string> reasons;
    std::set<const ir::Node*> seen;
    for (const int opset : opsets_)
      for (const auto& outcome : assessor.assess(opset).outcomes)
        if (outcome.status == conversion::Status::ok ||
            outcome.node->is("prim::Return"))  // a call may be all that the graph shows
          seen.insert(outcome.node);
        else
          reasons[outcome.node] = outcome.node->op() + ": " + outcome.reason;
    for (const auto& [node, reason] : reasons)
      if (!seen.contains(node)) return reason;
    return {};
  }

  std::vector<int> opsets_;
  mapping::Table table_ = mapping::Table::shipped();
  schema::Registry schemas_;
  symbolic::Registry registry_ = symbolic::shipped_registry();
  handlers::Registry handlers_ = handlers::shipped_handlers();
  onnx::MovedAttributes moved_ = conversion::moved_attributes(table_);
};

void try_graphs(const std::vector<int>& opsets) {
  const GraphTrials trials(opsets);
  std::string head, text;
  const auto attempt = [&] {
    if (!text.empty()) trials.attempt(head, text);
    text.clear();
  };
  for (std::string line; std::getline(std::cin, line);) {
    if (line.starts_with("# ")) {
      attempt();
      head = line.substr(2);
    } else {
      text += line + '\n';
    }
  }
  attempt();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (argc == 2 && mode == "--rows") {
    print_rows();
  } else if (argc == 3 && mode == "--graphs") {
    try_graphs(opsets_of(argv[2]));
  } else {
    std::cerr << "usage: trial_cases --graphs OPSETS < graphs\n       trial_cases --rows\n";
    return 2;
  }
}
