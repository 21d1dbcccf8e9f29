// The page of one report.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "ir/number_text.h"
#include "mapping/row.h"
#include "report/assumed.h"
#include "report/enumerator_names.h"
#include "report/page.h"
#include "report/report_text.h"
#include "report/style.h"
#include "report/text_parts.h"
#include "report/text_targets.h"
#include "report/written.h"

namespace compatcheck::report {
namespace {

constexpr std::size_t narrowest_bar = 6, widest_bar = 34;

std::string verdict_words(const Report& report, const Style& style) {
  if (is_onnx(report)) return style(Color::bold, "ONNX MODEL");
  switch (report.verdict) {
    case Verdict::yes: return style(Color::green, style(Color::bold, "CONVERTIBLE"));
    case Verdict::no: return style(Color::red, style(Color::bold, "NOT CONVERTIBLE"));
    case Verdict::needs_input: return style(Color::magenta, style(Color::bold, "NEEDS INPUT"));
  }
  return {};
}

struct ClassLine {
  OperatorClass operator_class;
  const char* name;
  Color color;
};
constexpr std::array class_lines{ClassLine{OperatorClass::one_to_one, "one-to-one", Color::green},
                                 ClassLine{OperatorClass::one_to_many, "one-to-many", Color::cyan},
                                 ClassLine{OperatorClass::missing, "missing", Color::red}};

struct ClassTotals {
  long long operators = 0, nodes = 0, emitted = 0;
  bool several = false;  // calls become other than one node each
};

std::string emitted_words(const ClassTotals& totals) {
  return totals.several ? " → " + count(totals.emitted, "ONNX node") : std::string();
}

// A line has 45 columns, its bar, and the emitted nodes.
std::string bars(const Report& report, const RenderOptions& options, const Style& style) {
  std::map<OperatorClass, ClassTotals> totals;
  long long most = 1;
  for (const auto& op : report.operators) {
    ClassTotals& of_class = totals[op.operator_class];
    ++of_class.operators;
    of_class.nodes += op.nodes;
    of_class.emitted += emitted_nodes(op);
    of_class.several |= !emission_words(op).empty();
    if (op.operator_class != OperatorClass::structural) most = std::max(most, of_class.operators);
  }
  std::size_t beside = 45;
  for (const auto& line : class_lines) beside = std::max(beside, 45 + columns(emitted_words(totals[line.operator_class])));
  const bool fits = beside + narrowest_bar <= options.width;
  if (!fits) beside = 45;
  const std::size_t bar_width =
      std::clamp<std::size_t>(options.width > beside ? options.width - beside : 0, narrowest_bar, widest_bar);
  std::string lines;
  for (const auto& line : class_lines) {
    const auto& [operators, nodes, emitted, several] = totals[line.operator_class];
    std::size_t cells = static_cast<std::size_t>(operators) * bar_width / static_cast<std::size_t>(most);
    if (operators) cells = std::max<std::size_t>(cells, 1);
    std::string bar;
    for (std::size_t i = 0; i < cells; ++i) bar += "█";
    lines +=
        "  " + pad_right(line.name, 12) + " " + style(line.color, bar) + std::string(bar_width - cells, ' ') + "  " +
        pad_left(count(operators, "operator"), 13) + "  " + pad_left(count(nodes, "node"), 13) +
        style(Color::dim, (fits || !several ? "" : "\n" + std::string(15, ' ')) + emitted_words(totals[line.operator_class])) +
        "\n";
  }
  return lines;
}

std::string kept_words(const OperatorSummary& op) {
  if (!op.kept) return {};
  return op.kept == op.nodes ? "  (kept)" : "  (kept in " + count(op.kept, "call") + ")";
}

// Describes the refused calls of an operator that isn't missing.
std::string refused_words(const OperatorSummary& op, const Style& style) {
  if (op.operator_class == OperatorClass::missing || !op.blocked) return {};
  return style(Color::red, op.blocked == op.nodes ? "  (refused)" : "  (" + count(op.blocked, "call") + " refused)");
}

std::string operator_table(const Report& report, const RenderOptions& options, const Style& style) {
  std::string lines = "\n" + style(Color::bold, "operators") + "\n";
  for (const auto& op : report.operators) {
    if (op.operator_class == OperatorClass::structural) continue;
    const std::string name = full_name(op.op, op.overload);
    lines += "  " + pad_right(name, options.width < 80 ? 24 : 44) + " " + pad_left(count(op.nodes, "node"), 12) + "   " +
             (op.operator_class == OperatorClass::missing ? style(Color::red, "missing") : mapping::joined(op.onnx)) +
             (emission_words(op).empty() ? "" : style(Color::dim, "  (" + emission_words(op) + ")")) + refused_words(op, style) +
             kept_words(op) +
             (op.verified || op.operator_class == OperatorClass::missing ? "" : style(Color::dim, "  (not verified)")) + "\n";
  }
  return lines;
}

// Lists the rows that users' files decided.
std::string users_rows(const Report& report, const Style& style) {
  std::string lines;
  for (const auto& op : report.operators)
    for (const auto& use : op.rows) {
      if (!use.users) continue;
      const std::string name = full_name(op.op, op.overload);
      lines += "  " + pad_right(name, 44) + " " + pad_left(count(use.nodes, "node"), 12) + "   " +
               (op.operator_class == OperatorClass::missing ? style(Color::red, "missing") : mapping::joined(op.onnx)) +
               style(Color::dim, "  (your row, " + use.place + ")") + "\n";
    }
  return lines.empty() ? lines : "\n" + style(Color::bold, "your rows") + "\n" + lines;
}

// The verdict is about the model with such inputs.
std::string assumed_lines(const Report& report, const RenderOptions& options, const Style& style) {
  if (report.model.assumed.empty()) return {};
  std::string lines = "\n" + style(Color::bold, "assumed") + style(Color::dim, "  --input overrides") + "\n";
  const std::size_t room = std::max<std::size_t>(options.width, 40);
  for (const AssumedInput& input : report.model.assumed) {
    lines += "  " + wrap(assumption(input), room - 2, 4) + "\n";
    for (const auto& because : input.because) lines += "    " + style(Color::dim, wrap(reason(because), room - 4, 6)) + "\n";
    if (options.verbosity > 0 && !input.option.empty()) lines += "    --input " + input.option + "\n";
  }
  return lines;
}

// Lists the values that a caller passes from call to call.
std::string state_lines(const Report& report, const Style& style) {
  if (report.model.state.empty()) return {};
  std::string lines = "\n" + style(Color::bold, "state") +
                      style(Color::dim, "  pass the output of each call as the input of the next call") + "\n";
  for (const StateInfo& each : report.model.state)
    lines += "  input " + each.input.name + " (" + type(each.input) + "), output " + each.output + "\n";
  return lines;
}

std::string spelled_quantization(const Quantization& held) {
  if (!held.axis)
    return "scale " + ir::shortest(held.scales.front()) + ", zero point " + std::to_string(held.zero_points.front());
  return std::to_string(held.scales.size()) + (held.scales.size() == 1 ? " scale and zero point" : " scales and zero points") +
         " along dimension " + std::to_string(*held.axis);
}

// Lists the inputs and outputs where PyTorch has quantized tensors.
std::string quantized_lines(const Report& report, const Style& style) {
  std::string lines;
  const auto add = [&](const char* kind, const std::vector<TensorInfo>& tensors) {
    for (const TensorInfo& each : tensors)
      if (each.quantization)
        lines += "  " + std::string(kind) + " " + each.name + " (" + type(each) +
                 "): " + spelled_quantization(*each.quantization) + "; " + each.quantization->onnx_dtype + " in the ONNX model\n";
  };
  add("input", report.model.inputs);
  add("output", report.model.outputs);
  if (lines.empty()) return {};
  return "\n" + style(Color::bold, "quantized") + style(Color::dim, "  --quantized-io chooses between integers and floats") +
         "\n" + lines;
}

std::string steps(const Report& report, const Style& style) {
  if (report.model.steps.empty()) return {};
  std::string lines = "\n" + style(Color::bold, "steps") + "\n";
  for (const auto& step : report.model.steps) lines += "  " + step + "\n";
  return lines;
}

int unverified(const Report& report) {
  return static_cast<int>(std::count_if(report.operators.begin(), report.operators.end(), [](const OperatorSummary& op) {
    return !op.verified && op.blocked < op.nodes &&
           (op.operator_class == OperatorClass::one_to_one || op.operator_class == OperatorClass::one_to_many);
  }));
}

std::string counts_line(const Report& report, const RenderOptions& options, const Style& style) {
  if (report.findings.empty()) return {};
  const bool hides = options.verbosity == 0 && hidden_notes(report) > 0;
  return style(Color::dim, spell(counts_of(report)) + (hides ? " (-v shows all notes)" : "")) + "\n";
}

std::string exit_line(const Report& report) {
  return "exit " + std::to_string(report.exit_code) + " (" + gate_options(report) + ")\n";
}

// Why a model could not be checked; a graph's error goes on with the line and a caret.
std::string failure_page(const Report& report, const ModelNames& names, const Style& style) {
  std::string page =
      style(Color::bold, names.of(report)) + "\n\n  " + style(Color::red, style(Color::bold, "NOT CHECKED")) + "\n";
  for (std::string_view rest = *report.error; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    page += "    " + std::string(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return page + "\nexit " + std::to_string(report.exit_code) + "\n";
}

}  // namespace

std::string report_title(const Report& report, const ModelNames& names, const Style& style) {
  const std::string& description = report.model.description;  // older reports have none
  return style(Color::bold, names.of(report)) + (description.empty() ? "" : " · " + description);
}

std::string export_type(const Report& report) {
  return report.export_type == ExportType::onnx ? std::string() : " · " + std::string(word(report.export_type));
}

std::string report_page(const Report& report, const ModelNames& names, const RenderOptions& options) {
  const Style style(options.color);
  if (report.error) return failure_page(report, names, style);
  const std::string verdict = verdict_words(report, style) + "    ";
  const std::size_t beside = 2 + columns(verdict), room = std::max<std::size_t>(options.width, beside + 20) - beside;
  const std::string title = report_title(report, names, style) + " · opset " + std::to_string(report.opset) + export_type(report);
  std::string page = wrap(title, options.width, 2) + "\n\n  " + verdict + wrap(headline(report), room, beside) + "\n";
  if (options.quiet)
    return (report.gate.passed ? std::string() : page + findings(report, options, style) + "\n") + exit_line(report);
  page += (is_onnx(report) ? std::string() : "\n" + bars(report, options, style)) + targets_table(report, options, style) +
          findings(report, options, style) + allowed(report, options, style) + assumed_lines(report, options, style) +
          state_lines(report, style) + quantized_lines(report, style) + users_rows(report, style);
  if (options.verbosity > 0) page += operator_table(report, options, style);
  if (options.verbosity > 1) page += steps(report, style);
  if (const int rows = unverified(report))
    page += "\n" +
            style(Color::dim,
                  wrap(count(rows, "operator") + " by table row alone: no handler has proved the row yet (verified: false)",
                       options.width, 0)) +
            "\n";
  if (report.signature) page += "\n" + text(*report.signature, options.width, 0) + "\n";
  return page + "\n" + counts_line(report, options, style) + exit_line(report);
}

}  // namespace compatcheck::report
