#include "cli/option_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>

namespace compatcheck::cli {
namespace {

enum class Least : std::uint8_t { zero, above_zero, one };

template <class Number>
Number number(const char* option, const std::string& text, Least least) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool enough = least == Least::zero  ? value >= Number{}
                      : least == Least::one ? value >= Number{1}
                                            : value > Number{};  // of NaN, none
  if (error == std::errc() && end == text.data() + text.size() && enough && value <= std::numeric_limits<Number>::max())
    return value;
  throw UsageError(std::string(option) + " " + text + ": expected a number, " +
                   (least == Least::zero  ? "at least 0"
                    : least == Least::one ? "at least 1"
                                          : "above 0"));
}

template <class Number>
Number not_negative(const char* option, const std::string& text) {
  return number<Number>(option, text, Least::zero);
}
template <class Number>
Number at_least_one(const char* option, const std::string& text) {
  return number<Number>(option, text, Least::one);
}

std::filesystem::path named_file(const char* option, const std::string& text) {
  if (text.empty()) throw UsageError(std::string(option) + ": no file is named");
  return text;
}

std::filesystem::path existing_folder(const char* option, const std::string& text) {
  const auto folder = named_file(option, text);
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    throw UsageError(std::string(option) + " " + text + ": there is no such folder");
  return folder;
}

When parse_when(const char* option, const std::string& text) {
  if (text == "auto") return When::automatic;
  if (text == "always") return When::always;
  if (text == "never") return When::never;
  throw UsageError(std::string(option) + " " + text + ": expected one of auto, always, never");
}

Scaffold parse_scaffold(const std::string& text) {
  if (text == "yaml") return Scaffold::yaml;
  if (text == "plugin") return Scaffold::plugin;
  throw UsageError("--scaffold " + text + ": expected one of yaml, plugin");
}

ExternalData parse_external_data(const std::string& text) {
  if (text == "auto") return ExternalData::automatic;
  if (text == "always") return ExternalData::always;
  if (text == "never") return ExternalData::never;
  throw UsageError("--external-data " + text + ": expected one of auto, always, never");
}

// "a,b"; every name is given, and none twice.
std::vector<std::string> split_names(const char* option, const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, comma - at));
    at = comma + 1;
    if (names.back().empty()) throw UsageError(std::string(option) + " " + text + ": a name is empty");
    if (std::find(names.begin(), names.end() - 1, names.back()) != names.end() - 1)
      throw UsageError(std::string(option) + " " + text + ": '" + names.back() + "' stands there twice");
  }
  return names;
}

void append_names(std::vector<std::string>& names, const char* option, const std::string& text) {
  for (auto& name : split_names(option, text)) names.push_back(std::move(name));
}

double parse_requirement(const std::string& text) {
  constexpr std::string_view lead = "cosine>=";
  if (!text.starts_with(lead)) throw UsageError("--require " + text + ": expected cosine>=X");
  return not_negative<double>("--require cosine>=", text.substr(lead.size()));
}

constexpr std::array table{
    Option{"--opset", "", "N", "", false, "check", "opset to check for: N, a list N,M, a range N-M, or all (default 17)",
           [](Options& o, const std::string& v) { o.opsets = parse_opsets(v); }},
    Option{"--opset", "", "N", "", false, "ops explain", "opset (default: 17 of ops, all of explain)",
           [](Options& o, const std::string& v) { o.opset = parse_opset(v); }},
    Option{"--opset", "", "N", "", false, "convert verify", "opset of the ONNX model (default 17)",
           [](Options& o, const std::string& v) { o.opset = parse_opset(v); }},
    Option{"--opset", "", "N", "", false, "diff",
           "opset at which TorchScript models are checked (default: that of the other side's report, or 17)",
           [](Options& o, const std::string& v) { o.opset = parse_opset(v); }},
    Option{"--op", "", "OPERATOR", "", true, "inspect", "nodes of this operator alone: Conv, com.microsoft::Gelu, aten::conv2d",
           [](Options& o, const std::string& v) { o.inspect.operators.push_back(v); }},
    Option{"--node", "", "NAME", "", true, "inspect",
           "the node of this name, or that gives the value of this name; TorchScript: or the calls of this module",
           [](Options& o, const std::string& v) { o.inspect.nodes.push_back(v); }},
    Option{"--weights", "", "", "", false, "inspect", "statistics of all weights, those in other files too",
           [](Options& o, const std::string&) { o.inspect.weights = true; }},
    Option{"--from", "", "V,...", "", true, "extract",
           "values, or modules whose inputs are, to be the new model's inputs (default: the model's own)",
           [](Options& o, const std::string& v) { append_names(o.extract.from, "--from", v); }},
    Option{"--to", "", "V,...", "", true, "extract",
           "values, or modules whose outputs are, to be the new model's outputs (default: the model's own)",
           [](Options& o, const std::string& v) { append_names(o.extract.to, "--to", v); }},
    Option{"--add-outputs", "", "V,...|all", "", true, "extract",
           "values that become outputs besides; all: every one whose type is known",
           [](Options& o, const std::string& v) { append_names(o.extract.add_outputs, "--add-outputs", v); }},
    Option{"--output", "-o", "FILE", "<file>", false, "convert", "the ONNX file to write; '-': stdout, if it is no terminal",
           [](Options& o, const std::string& v) { o.output = named_file("--output", v); }},
    Option{"--output", "-o", "FILE", "<file>", false, "extract", "the ONNX file to write",
           [](Options& o, const std::string& v) { o.output = named_file("--output", v); }},
    Option{"--input", "", "[NAME=][DTYPE:]DIM,..", "", true, "check convert verify",
           "dtype and sizes of an input, in order or by name; a DIM is a number or a name for a size that varies",
           [](Options& o, const std::string& v) { o.check.inputs.push_back(v); }},
    Option{"--inputs-from", "", "FILE", "<file>", false, "check convert verify",
           "example inputs, for dtypes and sizes that no --input tells: .pt (torch.save), .npz, or a folder of input_0.pb, ...",
           [](Options& o, const std::string& v) { o.check.inputs_from = named_file("--inputs-from", v); }},
    Option{"--dim", "", "NAME=N", "", true, "check convert verify",
           "size of a dimension that --input or the report names, where something must be run; verify doesn't vary it then",
           [](Options& o, const std::string& v) { o.check.dims.push_back(v); }},
    Option{"--custom-opset", "", "DOMAIN=N", "", true, "check convert verify",
           "version of a custom ONNX domain (default: the mapping tables', else 1)",
           [](Options& o, const std::string& v) { o.check.custom_opsets.push_back(v); }},
    Option{"--inline-functions", "", "", "", false, "convert verify",
           "put in the nodes of the ONNX functions that mapping rows write, in the place of their calls",
           [](Options& o, const std::string&) { o.convert.inline_functions = true; }},
    Option{"--export-type", "", "TYPE", "onnx onnx-aten onnx-aten-fallback onnx-fallthrough raw", false, "check convert verify",
           "what is written for operators that ONNX lacks (default onnx: nothing, the model doesn't convert)",
           [](Options& o, const std::string& v) { o.check.export_type = parse_export_type(v); }},
    Option{"--input-names", "", "A,B", "", false, "convert", "names of the ONNX model's inputs, in order",
           [](Options& o, const std::string& v) { o.convert.input_names = split_names("--input-names", v); }},
    Option{"--output-names", "", "A,B", "", false, "convert", "names of the ONNX model's outputs, in order",
           [](Options& o, const std::string& v) { o.convert.output_names = split_names("--output-names", v); }},
    Option{"--external-data", "", "WHEN", "auto always never", false, "convert extract",
           "weights in a file of their own (auto: above 2 GB; of extract also as they were)",
           [](Options& o, const std::string& v) { o.convert.external_data = parse_external_data(v); }},
    Option{"--keep-initializers-as-inputs", "", "", "", false, "convert verify",
           "weights are inputs too, whose values a caller may replace",
           [](Options& o, const std::string&) { o.convert.keep_initializers_as_inputs = true; }},
    Option{"--no-fold", "", "", "", false, "convert verify",
           "keep the nodes that compute with weights alone, and BatchNormalization beside Conv",
           [](Options& o, const std::string&) { o.convert.fold = false; }},
    Option{"--no-optimize", "", "", "", false, "convert verify", "leave out every clean-up of the result, folding too",
           [](Options& o, const std::string&) { o.convert.optimize = false; }},
    Option{"--rtol", "", "X", "", false, "verify", "relative tolerance of floating outputs (default: by dtype, f32 1e-3)",
           [](Options& o, const std::string& v) { o.verify.rtol = not_negative<double>("--rtol", v); }},
    Option{"--atol", "", "X", "", false, "verify", "absolute tolerance of floating outputs (default: by dtype, f32 1e-5)",
           [](Options& o, const std::string& v) { o.verify.atol = not_negative<double>("--atol", v); }},
    Option{"--require", "", "cosine>=X", "", false, "verify", "what outputs must reach besides",
           [](Options& o, const std::string& v) { o.verify.least_cosine = parse_requirement(v); }},
    Option{"--seed", "", "N", "", false, "verify", "seed of the inputs that are made (default 0)",
           [](Options& o, const std::string& v) { o.verify.seed = not_negative<std::uint64_t>("--seed", v); }},
    Option{"--runs", "", "N", "", false, "verify",
           "runs with inputs of their own, at least (default 3): named dimensions have other sizes together, and one by one",
           [](Options& o, const std::string& v) { o.verify.runs = at_least_one<int>("--runs", v); }},
    Option{"--bisect", "", "", "", false, "verify", "of a mismatch, find the operator that makes it",
           [](Options& o, const std::string&) { o.verify.bisect = true; }},
    Option{"--repro", "", "DIR", "<folder>", false, "verify",
           "write the smallest failing case there, as a folder of ONNX's backend tests (its model.onnx and test_data_set_0 are "
           "replaced)",
           [](Options& o, const std::string& v) { o.verify.repro = named_file("--repro", v); }},
    Option{"--dump", "", "DIR", "<folder>", false, "verify",
           "save the ONNX model's values in the first run there (.npy), and a table of their statistics",
           [](Options& o, const std::string& v) { o.verify.dump = named_file("--dump", v); }},
    Option{"--ort-library", "", "FILE", "<file>", false, "verify", "ONNX Runtime's library (default: searched for)",
           [](Options& o, const std::string& v) { o.verify.ort_library = named_file("--ort-library", v); }},
    Option{"--ort-custom-ops", "", "LIB.so", "<file>", true, "verify",
           "shared library of custom operators for ONNX Runtime (1.14 or later)",
           [](Options& o, const std::string& v) { o.verify.ort_custom_ops.push_back(named_file("--ort-custom-ops", v)); }},
    Option{"--method", "", "NAME", "", false, "check convert verify inspect diff", "method to check (default forward)",
           [](Options& o, const std::string& v) { o.load.method = v; }},
    Option{"--mappings", "", "FILE|DIR", "<file>", true, "check convert verify inspect diff ops explain",
           "mapping tables of your own; later ones win",
           [](Options& o, const std::string& v) { o.load.mappings.emplace_back(v); }},
    Option{"--plugin", "", "LIB.so", "<file>", true, "check convert verify inspect diff ops explain lint",
           "shared library with handlers and rows of your own; later ones win, --mappings over all",
           [](Options& o, const std::string& v) { o.load.plugins.emplace_back(v); }},
    Option{"--op-library", "", "LIB.so", "<file>", true, "check convert verify inspect diff ops explain",
           "shared library that registers custom operators",
           [](Options& o, const std::string& v) { o.load.op_libraries.emplace_back(v); }},
    Option{"--libtorch", "", "DIR", "<folder>", false, "check convert verify inspect diff ops explain",
           "libtorch to load models and operator libraries with (default: searched for)",
           [](Options& o, const std::string& v) { o.load.libtorch = v; }},
    Option{"--format", "", "FORMAT", "text json jsonl sarif junit github gitlab markdown html allowlist-yaml", false,
           "check render", "format of stdout", [](Options& o, const std::string& v) { o.format = parse_format(v); }},
    Option{"--format", "", "FORMAT", "text json jsonl junit markdown", false, "verify", "format of stdout",
           [](Options& o, const std::string& v) { o.format = parse_verify_format(v); }},
    Option{"--output", "-o", "FILE", "<file>", false, "render",
           "write there what would go to stdout, in the format of its ending if none is named; '-': stdout",
           [](Options& o, const std::string& v) { o.output = named_file("--output", v); }},
    Option{"--scaffold", "", "FORM", "yaml plugin", false, "explain",
           "a mapping file or a plugin for the operator, to start from",
           [](Options& o, const std::string& v) { o.scaffold = parse_scaffold(v); }},
    Option{"--format", "", "FORMAT", "text json markdown", false, "inspect diff ops explain", "format of stdout",
           [](Options& o, const std::string& v) { o.reference_format = parse_reference_format(v); }},
    Option{"--report", "", "[FORMAT=]FILE", "<file>", true, "check verify render",
           "write a report to a file too, in the format named or that of its ending; FORMAT=-: to stdout",
           [](Options& o, const std::string& v) { o.reports.push_back(parse_report(v)); }},
    Option{"--source-root", "", "DIR", "<folder>", false, "check render",
           "where the model's Python files lie: reports point into them",
           [](Options& o, const std::string& v) { o.source_root = existing_folder("--source-root", v); }},
    Option{"--target", "", "ENGINE[@VERSION]", "<engine>", true, "check",
           "engine to hold the ONNX model against, or a profile of your own (FILE.yaml); list: which there are",
           [](Options& o, const std::string& v) { o.check.targets.push_back(v); }},
    Option{"--fail-on", "", "WHAT", "unconvertible missing conditional composite warning never", false, "check",
           "what makes the exit code 1 (default unconvertible)",
           [](Options& o, const std::string& v) { o.check.fail_on = parse_fail_on(v); }},
    Option{"--fail-on", "", "WHAT", "unconvertible mismatch missing conditional composite warning never", false, "verify",
           "what makes the exit code 1 (default unconvertible: every error; mismatch, missing: not a named dimension that can't "
           "vary; warning: warnings, too)",
           [](Options& o, const std::string& v) { o.verify.fail_on = parse_verify_fail_on(v); }},
    Option{"--fail-on", "", "WHAT", "unconvertible missing conditional composite warning never", false, "convert",
           "findings that keep a model that converts from being written, with exit code 1 (default unconvertible)",
           [](Options& o, const std::string& v) { o.check.fail_on = parse_fail_on(v); }},
    Option{"--max-missing", "", "N", "", false, "check", "exit 1 when more than N operators are missing",
           [](Options& o, const std::string& v) { o.check.max_missing = not_negative<int>("--max-missing", v); }},
    Option{"--config", "", "FILE", "<file>", false, "check convert verify inspect diff ops explain",
           "configuration (default: the nearest compatcheck.yaml, going up from here)",
           [](Options& o, const std::string& v) { o.configuration.file = named_file("--config", v); }, true},
    Option{"--no-config", "", "", "", false, "check convert verify inspect diff ops explain", "read no configuration",
           [](Options& o, const std::string&) { o.no_configuration = true; }, true},
    Option{"--print-config", "", "", "", false, "check convert verify",
           "print the values in force and where each comes from, and end",
           [](Options& o, const std::string&) { o.print_configuration = true; }},
    Option{"--baseline", "", "FILE", "<file>", false, "check", "findings that are known already, and don't count",
           [](Options& o, const std::string& v) { o.baseline = named_file("--baseline", v); }},
    Option{"--write-baseline", "", "FILE", "<file>", false, "check",
           "write what is found as a baseline, with which this run passes",
           [](Options& o, const std::string& v) { o.write_baseline = named_file("--write-baseline", v); }},
    Option{"--prune-baseline", "", "", "", false, "check", "take what is no longer found out of the --baseline file",
           [](Options& o, const std::string&) { o.prune_baseline = true; }},
    Option{"--models-from", "", "FILE", "<file>", true, "check", "models from a list, one a line; '-': from stdin",
           [](Options& o, const std::string& v) { o.models_from.push_back(named_file("--models-from", v)); }},
    Option{"--exclude", "", "GLOB", "", true, "check",
           "leave out files and folders of a searched folder: by name, or by path where GLOB has a slash",
           [](Options& o, const std::string& v) { o.exclude.push_back(v); }},
    Option{"--skip-foreign", "", "", "", false, "check",
           "files that are recognised as something else (weights without code, pickled objects, ONNX without --target ...) are "
           "listed on stderr and left out of the reports",
           [](Options& o, const std::string&) { o.skip_foreign = true; }},
    Option{"--changed-since", "", "REVISION", "", false, "check",
           "only models that git says have changed since then, or doesn't track; all, if a table or the configuration has",
           [](Options& o, const std::string& v) { o.changed_since = v; }},
    Option{"--shard", "", "K/N", "", false, "check", "every Nth model, beginning with the Kth",
           [](Options& o, const std::string& v) { o.shard = parse_shard(v); }},
    Option{"--jobs", "-j", "N", "", false, "check", "models that are checked at a time (default: one for each processor)",
           [](Options& o, const std::string& v) { o.jobs = at_least_one<std::size_t>("--jobs", v); }},
    Option{"--resume", "", "", "", false, "check",
           "go on with the run that had --resume and --report FILE.jsonl, too: what is unchanged isn't checked again",
           [](Options& o, const std::string&) { o.resume = true; }},
    Option{"--exit-zero", "", "", "", false, "check", "exit 0 where it would be 1",
           [](Options& o, const std::string&) { o.check.exit_zero = true; }},
    Option{"--hash", "", "", "", false, "check", "put the model's SHA-256 into the report",
           [](Options& o, const std::string&) { o.check.hash = true; }},
    Option{"--graph", "", "", "", false, "check", "put the graph's nodes into JSON reports (html has them anyway)",
           [](Options& o, const std::string&) { o.check.graph = true; }},
    Option{"--timeout", "", "S", "", false, "check convert verify inspect extract diff",
           "seconds for reading a model, and again for checking it (default 120)",
           [](Options& o,
              const std::string&
                  v) { o.check.timeout_seconds = o.load.timeout_seconds = number<double>("--timeout", v, Least::above_zero); }},
    Option{"--memory", "", "MB", "", false, "check convert verify inspect diff",
           "memory for loading one model, weights not counted (default 8192)",
           [](Options& o, const std::string& v) { o.load.memory_mb = at_least_one<std::uint64_t>("--memory", v); }},
    Option{"--progress", "", "WHEN", "auto always never", false, "check convert verify extract", "show progress on stderr",
           [](Options& o, const std::string& v) { o.progress = parse_when("--progress", v); }},
    Option{"--color", "", "WHEN", "auto always never", false, "check convert verify inspect diff render ops explain lint",
           "colours", [](Options& o, const std::string& v) { o.color = parse_when("--color", v); }},
    Option{"--quiet", "-q", "", "", false, "check convert verify render", "only findings that fail the gate, and the last line",
           [](Options& o, const std::string&) { o.quiet = true; }},
    Option{"--list", "", "", "", false, "man", "the names of all commands, one a line",
           [](Options& o, const std::string&) { o.list_commands = true; }},
    Option{"--quiet", "-q", "", "", false, "inspect", "without nodes and weights",
           [](Options& o, const std::string&) { o.quiet = true; }},
    Option{"--quiet", "-q", "", "", false, "extract", "no word of what was written",
           [](Options& o, const std::string&) { o.quiet = true; }},
    Option{"--verbose", "-v", "", "", true, "check convert verify render",
           "every site and operator, and a log of the work on stderr; twice: normalisation steps and details too",
           [](Options& o, const std::string&) { ++o.verbosity; }},
    Option{"--log", "", "LEVEL", "off warning info debug", false, "check convert verify inspect extract diff",
           "log of the work on stderr, from this level on (default off; -v: info, -vv: debug)",
           [](Options& o, const std::string& v) { o.log = parse_log_level(v); }},
    Option{"--log-file", "", "FILE", "<file>", false, "check convert verify inspect extract diff",
           "append the log to a file, with times (level debug, or as --log says)",
           [](Options& o, const std::string& v) { o.log_file = named_file("--log-file", v); }},
};

}  // namespace

std::span<const Option> option_table() { return table; }

bool serves(const Option& option, std::string_view command) {
  return (" " + std::string(option.commands) + " ").find(" " + std::string(command) + " ") != std::string::npos;
}

std::vector<const Option*> options_of(std::string_view command) {
  std::vector<const Option*> result;
  for (const Option& option : table)
    if (serves(option, command)) result.push_back(&option);
  return result;
}

std::string environment_name(const Option& option) {
  std::string name = "COMPATCHECK_" + std::string(option.name.substr(2));
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace compatcheck::cli
