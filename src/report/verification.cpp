#include "report/verification.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "compatcheck/printable.h"
#include "report/assumed.h"
#include "report/json_parts.h"
#include "report/style.h"
#include "report/text_parts.h"
#include "verification/conclusion.h"

namespace compatcheck::report {
namespace {

std::string verify_word(VerifyFailOn fail_on) {
  switch (fail_on) {
    case VerifyFailOn::error: return "unconvertible";
    case VerifyFailOn::mismatch: return "mismatch";
    case VerifyFailOn::warning: return "warning";
    case VerifyFailOn::never: return "never";
    case VerifyFailOn::missing: return "missing";
    case VerifyFailOn::conditional: return "conditional";
    case VerifyFailOn::composite: return "composite";
  }
  return {};
}

const char* verify_word(NamedDimension::Variation variation) {
  switch (variation) {
    case NamedDimension::Variation::alone: return "alone";
    case NamedDimension::Variation::together: return "together";
    case NamedDimension::Variation::fixed: return "fixed";
    case NamedDimension::Variation::none: return "none";
  }
  return "";
}

std::string scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value == 0 ? "%.0f" : "%.1e", value);
  return text;
}

std::string shape_of(const std::vector<std::int64_t>& sizes) {
  std::string text = "[";
  for (const std::int64_t size : sizes) text += (text.size() > 1 ? "," : "") + std::to_string(size);
  return text + "]";
}

std::string verdict(const Verification& verification, const Style& style) {
  if (verification.report) return style(Color::red, style(Color::bold, "NOT CONVERTIBLE"));
  if (verification.passed) return style(Color::green, style(Color::bold, "VERIFIED"));
  return style(Color::red, style(Color::bold, "NOT VERIFIED"));
}

std::string sizes_of(const Verification& verification) {
  std::string text;
  for (const RunInputs& run : verification.runs) {
    std::string sizes;
    for (const auto& [name, size] : run.sizes) sizes += (sizes.empty() ? "" : " ") + printable(name) + "=" + std::to_string(size);
    if (!sizes.empty() && text.find(sizes) == text.npos) text += (text.empty() ? "" : "; ") + sizes;
  }
  return text;
}

std::string output_lines(const Verification& verification, const Style& style) {
  std::size_t widest = 0;
  for (const auto& output : verification.outputs) widest = std::max(widest, columns(printable(output.name)));
  std::string lines;
  for (const auto& output : verification.outputs) {
    lines += "  " + (output.passed ? style(Color::green, "✓") : style(Color::red, "✗")) + " " +
             pad_right(printable(output.name), widest) + "  " + output.dtype;
    if (output.dtype == "None") {  // in every run
      lines += "\n";
      continue;
    }
    if (output.elements == 0 && !output.passed) {  // nothing was compared
      lines += shape_of(output.shape) + "\n      " + output.difference + "\n";
      continue;
    }
    lines += shape_of(output.shape) + "  max |Δ| " + scientific(output.max_abs) + "  rel " + scientific(output.max_rel) +
             "  mean " + scientific(output.mean_abs) + "  p99 " + scientific(output.p99_abs);
    char cosine[32];
    std::snprintf(cosine, sizeof cosine, "%.6f", output.cosine);
    lines += std::string("  cosine ") + cosine;
    if (output.snr_db) lines += "  SNR " + std::to_string(std::lround(*output.snr_db)) + " dB";
    if (output.nonfinite) lines += "  " + number(static_cast<long long>(output.nonfinite)) + " not finite";
    if (output.ties) lines += "  " + count(static_cast<long long>(output.ties), "tie");
    if (output.within_noise)
      lines += "  " + number(static_cast<long long>(output.within_noise)) + " within the model's own rounding noise";
    if (output.noise_abs > 0) lines += "  TorchScript's own noise " + scientific(output.noise_abs);
    lines += "\n";
    if (!output.passed) lines += "      " + output.difference + "\n";
  }
  return lines;
}

std::string verification_findings(const Verification& verification, const RenderOptions& options, const Style& style) {
  std::string lines;
  for (const auto& finding : verification.findings) {
    if (options.quiet && !verification::violates(finding, verification)) continue;
    const Color color = finding.severity == Severity::error ? Color::red : Color::magenta;
    lines += "  " + style(color, finding.id) + "  " +
             wrap(printable(finding.message), options.width - finding_indent, finding_indent) + "\n";
    if (!finding.help.empty())
      lines += std::string(finding_indent, ' ') + "→ " +
               wrap(printable(finding.help), options.width - finding_indent - 2, finding_indent + 2) + "\n";
  }
  return lines;
}

std::string first_bad_lines(const Verification& verification, const Style& style) {
  std::string lines;
  if (verification.first_bad) {
    const FirstBad& bad = *verification.first_bad;
    std::string place = bad.site.file.empty() ? "" : " at " + printable(bad.site.file) + ":" + std::to_string(bad.site.line);
    if (!bad.site.module.empty()) place += " in " + printable(bad.site.module);
    lines += "  first bad value  " + style(Color::bold, bad.op) + place + "\n";
    lines += "      " + printable(bad.value) + ": " + printable(bad.difference) + "\n";
    if (bad.execution > 0) lines += "      in execution " + std::to_string(bad.execution) + " of its body\n";
    std::string nodes;
    for (const std::string& node : bad.onnx_nodes) nodes += (nodes.empty() ? "" : ", ") + printable(node);
    if (!nodes.empty()) lines += "      ONNX nodes: " + nodes + "\n";
    if (!bad.repro.empty()) lines += "      failing nodes alone: " + printable(bad.repro) + "\n";
  }
  if (const auto& bisection = verification.bisection) {
    lines += "  bisection: " + count(static_cast<long long>(bisection->compared), "value") + " compared in " +
             count(static_cast<long long>(bisection->runs), "run");
    lines += (bisection->note.empty() ? "" : "; " + printable(bisection->note)) + "\n";
  }
  return lines.empty() ? lines : "\n" + lines;
}

std::string verification_exit_line(const Verification& verification) {
  const std::string setting =
      verification.fail_on == VerifyFailOn::error ? "" : " (--fail-on " + verify_word(verification.fail_on) + ")";
  return "exit " + std::to_string(verification.exit_code) + setting + "\n";
}

Json first_bad(const FirstBad& bad) {
  Json made = {{"value", bad.value},           {"onnx_node", bad.onnx_nodes.empty() ? std::string() : bad.onnx_nodes.back()},
               {"onnx_nodes", bad.onnx_nodes}, {"op", bad.op},
               {"overload", bad.overload},     {"module", bad.site.module},
               {"file", bad.site.file},        {"line", bad.site.line},
               {"args", bad.site.args},        {"execution", bad.execution},
               {"difference", bad.difference}};
  if (!bad.repro.empty()) made["repro"] = bad.repro;
  return made;
}

Json outputs(const Verification& verification) {
  Json list = Json::array();
  for (const auto& output : verification.outputs) {
    Json made = {{"name", output.name},         {"dtype", output.dtype},           {"shape", output.shape},
                 {"max_abs", output.max_abs},   {"max_rel", output.max_rel},       {"mean_abs", output.mean_abs},
                 {"p99_abs", output.p99_abs},   {"cosine", output.cosine},         {"snr_db", or_null(output.snr_db)},
                 {"elements", output.elements}, {"mismatched", output.mismatched}, {"nonfinite", output.nonfinite},
                 {"ties", output.ties},         {"noise_abs", output.noise_abs},   {"within_noise", output.within_noise},
                 {"passed", output.passed}};
    if (!output.difference.empty()) made["difference"] = output.difference;
    list.push_back(std::move(made));
  }
  return list;
}

Json runs(const Verification& verification) {
  Json list = Json::array();
  for (const auto& run : verification.runs) {
    Json sizes = Json::object();
    for (const auto& [name, size] : run.sizes) sizes[name] = size;
    list.push_back({{"sizes", std::move(sizes)}, {"inputs", tensors(run.inputs)}});
  }
  return list;
}

Json dimensions(const Verification& verification) {
  Json list = Json::array();
  for (const auto& dimension : verification.dimensions) {
    Json made = {{"name", dimension.name}, {"variation", verify_word(dimension.variation)}, {"sizes", dimension.sizes}};
    if (!dimension.reason.empty()) made["reason"] = dimension.reason;
    list.push_back(std::move(made));
  }
  return list;
}

}  // namespace

std::string text(const Verification& verification, const RenderOptions& options) {
  const Style style(options.color);
  if (options.quiet && verification.report) return render(*verification.report, Format::text, options);
  if (options.quiet) return verification_findings(verification, options, style) + verification_exit_line(verification);
  std::string page = printable(verification.model) + (verification.onnx.empty() ? "" : " · " + printable(verification.onnx)) +
                     (verification.opset ? " · opset " + std::to_string(*verification.opset) : "") + "\n\n";
  std::string line = "  " + verdict(verification, style);
  if (!verification.report) {
    line += "    " + count(static_cast<long long>(verification.runs.size()), "run") + " · seed " +
            std::to_string(verification.seed) + " · ONNX Runtime " + verification.runtime;
    if (const std::string sizes = sizes_of(verification); !sizes.empty()) line += " · " + sizes;
  }
  page += line + "\n";
  if (verification.report) return page + "\n" + render(*verification.report, Format::text, options);
  for (const AssumedInput& input : verification.assumed)
    page += "\n  assumed " + wrap(printable(assumption(input)), options.width - 2, 4) + "   (--input overrides)\n";
  if (!verification.outputs.empty()) page += "\n" + output_lines(verification, style);
  if (!verification.findings.empty()) page += "\n" + verification_findings(verification, options, style);
  if (!verification.note.empty()) page += "\n  note: " + wrap(verification.note, options.width - 2, 2) + "\n";
  page += first_bad_lines(verification, style);
  if (verification.dumped > 0) page += "\n  " + count(static_cast<long long>(verification.dumped), "value") + " saved\n";
  return page + "\n" + verification_exit_line(verification);
}

std::string json(const Verification& verification, bool on_one_line) {
  Json object = {{"schema_version", Verification::schema_version},
                 {"model", verification.model},
                 {"onnx", verification.onnx},
                 {"opset", or_null(verification.opset)},
                 {"runtime", verification.runtime},
                 {"seed", verification.seed},
                 {"runs", runs(verification)},
                 {"dimensions", dimensions(verification)},
                 {"passed", verification.passed},
                 {"outputs", outputs(verification)},
                 {"findings", findings(verification.findings)}};
  if (!verification.assumed.empty()) object["assumed"] = assumed_inputs(verification.assumed);
  if (!verification.note.empty()) object["note"] = verification.note;
  if (verification.first_bad) object["first_bad"] = first_bad(*verification.first_bad);
  if (verification.dumped > 0) object["dumped"] = verification.dumped;
  if (const auto& bisection = verification.bisection)
    object["bisection"] = {
        {"compared", bisection->compared}, {"runs", bisection->runs}, {"bytes", bisection->bytes}, {"note", bisection->note}};
  if (verification.report) object["report"] = report::object(*verification.report);
  object["gate"] = {{"passed", verification.violations == 0},
                    {"fail_on", verify_word(verification.fail_on)},
                    {"violations", verification.violations}};
  object["exit_code"] = verification.exit_code;
  return object.dump(on_one_line ? -1 : 2, ' ', false, replace_bad_utf8) + "\n";
}

}  // namespace compatcheck::report
