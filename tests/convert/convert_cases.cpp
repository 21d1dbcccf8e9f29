// Checks and converts every model of a list at several opsets.
//   convert_cases HELPER OUT OPSETS < lines of "model.pt[<tab>--input texts…]"
// writes OUT/<stem>@<opset>.onnx, and to stdout one JSON line each: {id, opset, outcome, reason}. Outcomes: converted, refused,
// needs_input, disagree (check and convert), error.
#include "compatcheck/convert.h"
#include "model_tools/model_list.h"

namespace {

using namespace compatcheck;

nlohmann::json failure(const std::exception& error) { return {{"outcome", "error"}, {"reason", error.what()}}; }

nlohmann::json convert_one(const ListedModel& listed, const Report& checked, const std::filesystem::path& out, int opset) {
  try {
    ConvertOptions options;
    options.opset = opset;
    options.inputs = listed.inputs;
    const Report report = convert(listed.model, onnx_file(out, listed.id, opset), options);
    std::string reason;
    for (const auto& finding : report.findings)
      if (finding.severity == Severity::error && reason.empty()) reason = finding.id + " " + finding.op + ": " + finding.message;
    if (report.verdict != checked.verdict) return {{"outcome", "disagree"}, {"reason", "check and convert: " + reason}};
    if (report.convertible()) return {{"outcome", "converted"}};
    return {{"outcome", report.verdict == Verdict::needs_input ? "needs_input" : "refused"}, {"reason", reason}};
  } catch (const std::exception& error) {
    return failure(error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: convert_cases HELPER OUT OPSETS < list of models\n";
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
        const auto reports = check(listed.model, opsets, options);
        for (std::size_t i = 0; i < opsets.size(); ++i)
          print_line(listed.id, opsets[i], convert_one(listed, reports[i], out, opsets[i]));
      },
      failure);
}
