// Checks and converts every model of a list at several opsets.
//   convert_cases HELPER OUT OPSETS [--operators] [--target ENGINE] < lines of "model.pt[<tab>--input texts…]"
// writes OUT/<stem>@<opset>.onnx, and to stdout one JSON line each: {id, opset, outcome, reason}. Outcomes: converted, refused,
// needs_input, disagree (check and convert), error. With --operators, lines of converted models hold `operators`, each with op,
// class and onnx as the report has them, and `differs`: why these aren't what the file holds.
#include "compatcheck/convert.h"
#include "corpus/class_check.h"
#include "model_tools/model_list.h"

namespace {

using namespace compatcheck;

struct Wanted {
  bool operators = false;
  std::vector<std::string> targets{};
};

nlohmann::json failure(const std::exception& error) { return {{"outcome", "error"}, {"reason", error.what()}}; }

nlohmann::json operators_of(const Report& report) {
  nlohmann::json operators = nlohmann::json::array();
  for (const OperatorSummary& op : report.operators) {
    if (op.operator_class == OperatorClass::structural) continue;
    const bool one = op.operator_class == OperatorClass::one_to_one;
    operators.push_back({{"op", op.op}, {"class", one ? "one-to-one" : "one-to-many"}, {"onnx", op.onnx}});
  }
  return operators;
}

nlohmann::json convert_one(const ListedModel& listed, const Report& checked, const std::filesystem::path& out, int opset,
                           const Wanted& wanted) {
  try {
    ConvertOptions options;
    options.opset = opset;
    options.inputs = listed.inputs;
    options.targets = wanted.targets;
    const auto file = onnx_file(out, listed.id, opset);
    const Report report = convert(listed.model, file, options);
    std::string reason;
    for (const auto& finding : report.findings)
      if (finding.severity == Severity::error && reason.empty()) reason = finding.id + " " + finding.op + ": " + finding.message;
    if (report.verdict != checked.verdict) return {{"outcome", "disagree"}, {"reason", "check and convert: " + reason}};
    if (report.convertible()) {
      if (!wanted.operators) return {{"outcome", "converted"}};
      return {
          {"outcome", "converted"}, {"operators", operators_of(checked)}, {"differs", corpus::class_disagreement(checked, file)}};
    }
    return {{"outcome", report.verdict == Verdict::needs_input ? "needs_input" : "refused"}, {"reason", reason}};
  } catch (const std::exception& error) {
    return failure(error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Wanted wanted;
  bool right = argc >= 4;
  for (int i = 4; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--operators")
      wanted.operators = true;
    else if (std::string_view(argv[i]) == "--target" && i + 1 < argc)
      wanted.targets.emplace_back(argv[++i]);
    else
      right = false;
  }
  if (!right) {
    std::cerr << "usage: convert_cases HELPER OUT OPSETS [--operators] [--target ENGINE] < list of models\n";
    return 2;
  }
  const std::filesystem::path out = argv[2];
  const auto opsets = opsets_of(argv[3]);
  std::filesystem::create_directories(out);
  for_each_listed(
      argv[1],
      [&](const ListedModel& listed) {
        CheckOptions options;
        options.inputs = listed.inputs;
        options.targets = wanted.targets;
        const auto reports = check(listed.model, opsets, options);
        for (std::size_t i = 0; i < opsets.size(); ++i)
          print_line(listed.id, opsets[i], convert_one(listed, reports[i], out, opsets[i], wanted));
      },
      failure);
}
