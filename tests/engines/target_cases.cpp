// What a target makes of every model of a list, and the ONNX models, for check_models.py.
//   target_cases HELPER OUT TARGET OPSETS < lines of "model.pt[<tab>--input texts…]"
// writes OUT/<stem>@<opset>.onnx of models that convert, and to stdout one JSON line each: {id, opset, converts, support, lowest,
// reason}, or {id, opset: 0, error}.
#include "compatcheck/convert.h"
#include "model_tools/model_list.h"

namespace {

using namespace compatcheck;

const char* word(Support support) { return support == Support::yes ? "yes" : support == Support::no ? "no" : "unknown"; }

nlohmann::json line_of(const Report& report) {
  std::string reason;
  for (const auto& finding : report.findings)
    if (finding.target && reason.empty()) reason = finding.id + " " + finding.message;
  return {{"converts", report.convertible()},
          {"support", word(report.targets.front().support)},
          {"lowest", report.targets.front().lowest_opset.value_or(0)},
          {"reason", reason}};
}

void look_at(const ListedModel& listed, const std::filesystem::path& out, const std::string& target,
             const std::vector<int>& opsets) {
  CheckOptions options;
  options.inputs = listed.inputs;
  options.targets = {target};
  for (const Report& report : check(listed.model, opsets, options)) {
    print_line(listed.id, report.opset, line_of(report));
    ConvertOptions settings;
    settings.opset = report.opset;
    settings.inputs = listed.inputs;
    if (report.convertible()) convert(listed.model, onnx_file(out, listed.id, report.opset), settings);
  }
}

nlohmann::json failure(const std::exception& error) { return {{"error", error.what()}}; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: target_cases HELPER OUT TARGET OPSETS < list of models\n";
    return 2;
  }
  const std::filesystem::path out = argv[2];
  const auto opsets = opsets_of(argv[4]);
  std::filesystem::create_directories(out);
  for_each_listed(
      argv[1], [&](const ListedModel& listed) { look_at(listed, out, argv[3], opsets); }, failure);
}
