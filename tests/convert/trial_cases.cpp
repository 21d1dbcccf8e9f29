// Tries every call of many models at every opset, for check_rows_reached.py: what rows name and what handlers emit
// (COMPATCHECK_CHECK_ROWS).
//   trial_cases HELPER OPSETS < lines of "model.pt[<tab>--input texts…]"
// prints a JSON line of each model that can't be checked: {id, opset, reason}.
//   trial_cases --rows
// prints what every shipped row names: lines of "FILE:LINE:COLUMN operator@opset#number name", the row's number in its entry
// from 1.
#include "compatcheck/check.h"
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
        for (const std::string& name : entry.rows[i].to)
          std::cout << place.file << ':' << place.line << ':' << place.column << ' ' << rows->name << '@' << entry.opset << '#'
                    << i + 1 << ' ' << name << '\n';
      }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--rows") {
    print_rows();
    return 0;
  }
  if (argc != 3) {
    std::cerr << "usage: trial_cases HELPER OPSETS < list of models\n       trial_cases --rows\n";
    return 2;
  }
  const auto opsets = opsets_of(argv[2]);
  for_each_listed(
      argv[1],
      [&](const ListedModel& listed) {
        CheckOptions options;
        options.inputs = listed.inputs;
        check(listed.model, opsets, options);
      },
      failure);
}
