#include "report/text_targets.h"

#include <algorithm>

#include "report/enumerator_names.h"
#include "report/report_text.h"

namespace compatcheck::report {
namespace {

std::string supported_nodes(const TargetSummary& target) {
  return number(target.supported) + " of " + count(target.nodes, "node") +
         (target.unknown ? ", " + number(target.unknown) + " unknown" : "");
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
  }
  if (report.targets.size() > 1 && !is_onnx(report))
    lines += "  " + style(Color::dim, "all of them: " + lowest(targets_lowest_opset_words(report))) + "\n";
  return lines;
}

}  // namespace compatcheck::report
