#include "report/text_targets.h"

#include <algorithm>
#include <cstdlib>

#include "report/enumerator_names.h"
#include "report/report_text.h"

namespace compatcheck::report {
namespace {

std::string supported_nodes(const TargetSummary& target) {
  return number(target.supported) + " of " + count(target.nodes, "node") +
         (target.unknown ? ", " + number(target.unknown) + " unknown" : "");
}

// "3 calls in older forms, 18 nodes more"; empty if there is none.
std::string older_forms(const TargetSummary& target) {
  const int calls = calls_in_older_forms(target);
  if (calls == 0) return {};
  int nodes = 0;
  for (const auto& form : target.older_forms) nodes += form.more_nodes;
  return count(calls, "call") + (calls == 1 ? " in an older form, " : " in older forms, ") + count(std::abs(nodes), "node") +
         (nodes < 0 ? " less" : " more");
}

// The opset to try where no opset suits the engine whole.
std::string best(const Report& report, const TargetSummary& target) {
  return target.lowest_opset || !target.best_opset || *target.best_opset == report.opset
             ? ""
             : "supports most at opset " + std::to_string(*target.best_opset);
}

std::string lowest(const std::string& opset) { return opset == "none" ? "no opset" : "lowest opset " + opset; }

}  // namespace

Color color_of_support(Support support) {
  return support == Support::yes ? Color::green : support == Support::no ? Color::red : Color::magenta;
}

std::string targets_table(const Report& report, const RenderOptions& options, const Style& style) {
  if (report.targets.empty()) return {};
  std::size_t name_width = 0, nodes_width = 0;
  for (const auto& target : report.targets) {
    name_width = std::max(name_width, columns(target.target));
    nodes_width = std::max(nodes_width, columns(supported_nodes(target)));
  }
  std::string lines = "\n" + style(Color::bold, "targets") + "\n";
  for (const auto& target : report.targets) {
    const std::string lead = "  " + pad_right(target.target, name_width) + "  " +
                             style(color_of_support(target.support), pad_right(word(target.support), 7)) + "  ";
    const std::string opset = is_onnx(report) ? std::string() : lowest(lowest_opset_words(report, target));
    const std::string rest = pad_left(supported_nodes(target), nodes_width) + "   " +
                             pad_left(count(target.partitions, "partition"), 13) + (opset.empty() ? "" : "   " + opset);
    const bool fits = name_width + 13 + columns(rest) <= options.width;
    lines += lead +
             (fits ? rest
                   : "\n" + wrap("    " + supported_nodes(target) + " · " + count(target.partitions, "partition") +
                                     (opset.empty() ? "" : " · " + opset),
                                 options.width, 4)) +
             "\n";
    for (const std::string& more : {older_forms(target), best(report, target)})
      if (!more.empty()) lines += "    " + style(Color::dim, more) + "\n";
  }
  if (report.targets.size() > 1 && !is_onnx(report))
    lines += "  " + style(Color::dim, "all of them: " + lowest(targets_lowest_opset_words(report))) + "\n";
  return lines;
}

}  // namespace compatcheck::report
