#include "cli/option_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>

#include "compatcheck/words.h"

namespace compatcheck::cli {
namespace {

enum class Least : std::uint8_t { zero, above_zero, one };

template <class Number>
Number number(const char* option, const std::string& text, Least least) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool enough = least == Least::zero  ? value >= Number{}
                      : least == Least::one ? value >= Number{1}
                                            : value > Number{};  // false for NaN, too
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

// "a,b"; every name is given, and none twice.
std::vector<std::string> split_names(const char* option, const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, comma - at));
    at = comma + 1;
    if (names.back().empty()) throw UsageError(std::string(option) + " " + text + ": a name is empty");
    if (std::find(names.begin(), names.end() - 1, names.back()) != names.end() - 1)
      throw UsageError(std::string(option) + " " + text + ": '" + names.back() + "' is listed twice");
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

constexpr std::array options_shipped{
    Option{"--opset", "", "N", "", false, "check scan",
           "check for this opset: N, a list N,M, a range N-M, or all (default 17; of an ONNX file: its own)",
           [](Options& o, const std::string& v) { o.opsets = parse_opsets(v); }},
    Option{"--opset", "", "N", "", false, "ops explain", "show this opset (default: 17 for ops, all for explain)",
           [](Options& o, const std::string& v) { o.opset = parse_opset(v); }},
    Option{"--opset", "", "N", "", false, "convert verify",
           "write the ONNX model for this opset (default 17; of an ONNX file: its own)",
           [](Options& o, const std::string& v) { o.opset = parse_opset(v); }},
    Option{"--opset", "", "N", "", false, "diff",
           "check TorchScript models at this opset (default: the opset of the other side's report, or 17)",
           [](Options& o, const std::string& v) { o.opset = parse_opset(v); }},
    Option{"--op", "", "OPERATOR", "", true, "inspect",
           "show only nodes of this operator: Conv, com.microsoft::Gelu, aten::conv2d",
           [](Options& o, const std::string& v) { o.inspect.operators.push_back(v); }},
    Option{"--node", "", "NAME", "", true, "inspect",
           "show only the node with this name or output name; TorchScript: or the calls of this module",
           [](Options& o, const std::string& v) { o.inspect.nodes.push_back(v); }},
    Option{"--weights", "", "", "", false, "inspect", "show statistics of all weights, also of weights in other files",
           [](Options& o, const std::string&) { o.inspect.weights = true; }},
    Option{"--from", "", "V,...", "", true, "extract",
           "values that become the new model's inputs, or modules whose inputs do (default: the model's own)",
           [](Options& o, const std::string& v) { append_names(o.extract.from, "--from", v); }},
    Option{"--to", "", "V,...", "", true, "extract",
           "values that become the new model's outputs, or modules whose outputs do (default: the model's own)",
           [](Options& o, const std::string& v) { append_names(o.extract.to, "--to", v); }},
    Option{"--add-outputs", "", "V,...|all", "", true, "extract",
           "values that become additional outputs; all: every value whose type is known",
           [](Options& o, const std::string& v) { append_names(o.extract.add_outputs, "--add-outputs", v); }},
    Option{"--output", "-o", "FILE", "<file>", false, "convert",
           "write the ONNX model to this file; '-': stdout, unless it is a terminal",
           [](Options& o, const std::string& v) { o.output = named_file("--output", v); }},
    Option{"--output", "-o", "FILE", "<file>", false, "extract", "write the ONNX model to this file",
           [](Options& o, const std::string& v) { o.output = named_file("--output", v); }},
    Option{"--output", "-o", "URI", "", false, "scan", "write reports, tables and totals to this folder",
           [](Options& o, const std::string& v) { o.output = named_file("--output", v); }},
    Option{"--input", "", "[NAME=][DTYPE:]DIM,..", "", true, "check convert verify scan",
           "state dtype and sizes of an input, in order or by name; a DIM is a number, or a name for a size that varies",
           [](Options& o, const std::string& v) { o.check.inputs.push_back(v); }},
    Option{"--inputs-from", "", "FILE", "<file>", false, "check convert verify scan",
           "read dtypes and sizes that no --input states from examples: .pt (torch.save), .npz, or a folder of input_0.pb, ...",
           [](Options& o, const std::string& v) { o.check.inputs_from = named_file("--inputs-from", v); }},
    Option{"--dim", "", "NAME=N", "", true, "check convert verify scan",
           "use this size for a named dimension when something must run; verify then doesn't vary it; NAME=1..64 states a range "
           "of sizes, which needs fewer nodes; SYMBOL=NAME names a symbolic dimension of a .pt2 file",
           [](Options& o, const std::string& v) { o.check.dims.push_back(v); }},
    Option{"--custom-opset", "", "DOMAIN=N", "", true, "check convert verify scan",
           "version of a custom ONNX domain (default: stated by a mapping table, else 1)",
           [](Options& o, const std::string& v) { o.check.custom_opsets.push_back(v); }},
    Option{"--inline-functions", "", "", "", false, "convert verify",
           "write the nodes of ONNX functions of mapping rows instead of calls of them",
           [](Options& o, const std::string&) { o.convert.inline_functions = true; }},
    Option{"--export-type", "", "TYPE", "onnx onnx-aten onnx-aten-fallback onnx-fallthrough raw", false,
           "check convert verify scan", "what to write for operators that ONNX lacks (default onnx: the model doesn't convert)",
           [](Options& o, const std::string& v) { o.check.export_type = parse_export_type(v); }},
    Option{"--state", "", "MODE", "refuse inputs-outputs", false, "check convert verify scan",
           "attributes that the model writes and later calls read: refuse them (default), or make each an input and an output",
           [](Options& o, const std::string& v) { o.check.state = parse_state(v); }},
    Option{"--complex-io", "", "FORM", "refuse pairs", false, "check convert verify scan",
           "complex inputs and outputs: refuse them (default), or give each a last dimension of 2, with real and imaginary parts",
           [](Options& o, const std::string& v) { o.check.complex_io = parse_complex_io(v); }},
    Option{"--quantized-io", "", "FORM", "float int", false, "check convert verify scan",
           "quantized inputs and outputs: give each as the f32 tensor that it stands for (default), or as its u8 or i8 integers",
           [](Options& o, const std::string& v) { o.check.quantized_io = parse_quantized_io(v); }},
    Option{
        "--prefer", "", "FORM", "exact compact", false, "check convert verify scan",
        "nodes that give PyTorch's result for every input unless CC010 names an exception (default), or fewer nodes that differ "
        "only for inputs such as NaN",
        [](Options& o, const std::string& v) { o.check.prefer = parse_preference(v); }},
    Option{"--input-names", "", "A,B", "", false, "convert", "names of the ONNX model's inputs, in order",
           [](Options& o, const std::string& v) { o.convert.input_names = split_names("--input-names", v); }},
    Option{"--output-names", "", "A,B", "", false, "convert", "names of the ONNX model's outputs, in order",
           [](Options& o, const std::string& v) { o.convert.output_names = split_names("--output-names", v); }},
    Option{"--external-data", "", "WHEN", "auto always never", false, "convert",
           "write weights to a separate file (auto: above 2 GB)",
           [](Options& o, const std::string& v) { o.convert.external_data = spelled<ExternalData>(v, "--external-data " + v); }},
    Option{"--external-data", "", "WHEN", "auto always never", false, "extract",
           "write weights to a separate file (auto: above 2 GB, or if the source does)",
           [](Options& o, const std::string& v) { o.convert.external_data = spelled<ExternalData>(v, "--external-data " + v); }},
    Option{"--keep-initializers-as-inputs", "", "", "", false, "convert verify",
           "make weights inputs too, so that a caller may replace them",
           [](Options& o, const std::string&) { o.convert.keep_initializers_as_inputs = true; }},
    Option{"--no-fold", "", "", "", false, "convert verify",
           "keep nodes that compute only with weights and constants, and BatchNormalization beside Conv",
           [](Options& o, const std::string&) { o.convert.fold = false; }},
    Option{"--no-optimize", "", "", "", false, "convert verify", "skip every clean-up of the result, including folding",
           [](Options& o, const std::string&) { o.convert.optimize = false; }},
    Option{"--rtol", "", "X", "", false, "verify", "relative tolerance of floating outputs (default: by dtype, f32 1e-3)",
           [](Options& o, const std::string& v) { o.verify.rtol = not_negative<double>("--rtol", v); }},
    Option{"--atol", "", "X", "", false, "verify", "absolute tolerance of floating outputs (default: by dtype, f32 1e-5)",
           [](Options& o, const std::string& v) { o.verify.atol = not_negative<double>("--atol", v); }},
    Option{"--require", "", "cosine>=X", "", false, "verify", "additional requirement on the outputs",
           [](Options& o, const std::string& v) { o.verify.least_cosine = parse_requirement(v); }},
    Option{"--seed", "", "N", "", false, "verify", "seed of the generated inputs (default 0)",
           [](Options& o, const std::string& v) { o.verify.seed = not_negative<std::uint64_t>("--seed", v); }},
    Option{"--runs", "", "N", "", false, "verify",
           "minimum number of runs, each with its own inputs (default 3); named dimensions vary together and one by one",
           [](Options& o, const std::string& v) { o.verify.runs = at_least_one<int>("--runs", v); }},
    Option{"--bisect", "", "", "", false, "verify", "if outputs differ, find the operator that causes it",
           [](Options& o, const std::string&) { o.verify.bisect = true; }},
    Option{"--repro", "", "DIR", "<folder>", false, "verify",
           "write the smallest failing case to this folder as an ONNX backend test (replaces its model.onnx and test_data_set_0)",
           [](Options& o, const std::string& v) { o.verify.repro = named_file("--repro", v); }},
    Option{"--dump", "", "DIR", "<folder>", false, "verify",
           "save the ONNX model's values in the first run to this folder (.npy), and a table of their statistics",
           [](Options& o, const std::string& v) { o.verify.dump = named_file("--dump", v); }},
    Option{"--ort-library", "", "FILE", "<file>", false, "verify", "the library of ONNX Runtime (default: search for it)",
           [](Options& o, const std::string& v) { o.verify.ort_library = named_file("--ort-library", v); }},
    Option{"--ort-custom-ops", "", "LIB.so", "<file>", true, "verify",
           "load custom operators of ONNX Runtime (1.14 or later) from this shared library",
           [](Options& o, const std::string& v) { o.verify.ort_custom_ops.push_back(named_file("--ort-custom-ops", v)); }},
    Option{"--method", "", "NAME", "", false, "check convert verify inspect diff scan",
           "use this method of the model (default forward)", [](Options& o, const std::string& v) { o.load.method = v; }},
    Option{"--model", "", "NAME", "", false, "check convert verify inspect diff scan",
           "use this program of a .pt2 archive that holds several", [](Options& o, const std::string& v) { o.load.model = v; }},
    Option{"--mappings", "", "FILE|DIR", "<file>", true, "check convert verify inspect diff ops explain scan",
           "load your own mapping tables; later ones override earlier ones",
           [](Options& o, const std::string& v) { o.load.mappings.emplace_back(v); }},
    Option{"--plugin", "", "LIB.so", "<file>", true, "check convert verify inspect diff ops explain lint scan",
           "load your own handlers and rows from this shared library; later ones override earlier ones, --mappings overrides all",
           [](Options& o, const std::string& v) { o.load.plugins.emplace_back(v); }},
    Option{"--op-library", "", "LIB.so", "<file>", true, "check convert verify inspect diff ops explain",
           "load custom operators of PyTorch from this shared library",
           [](Options& o, const std::string& v) { o.load.op_libraries.emplace_back(v); }},
    Option{"--op-module", "", "MODULE", "", true, "check convert verify inspect diff ops explain",
           "import this Python module, which registers custom operators of PyTorch; models run in that Python",
           [](Options& o, const std::string& v) { o.load.op_modules.push_back(v); }},
    Option{"--python", "", "FILE", "<file>", false, "check convert verify inspect diff ops explain",
           "run models and import modules with this Python, which has torch 2.4 or later (default: search for one)",
           [](Options& o, const std::string& v) { o.load.python = named_file("--python", v); }},
    Option{
        "--frontend", "", "KIND", "auto native libtorch", false, "check convert verify inspect diff",
        "read TorchScript files with compatcheck's own reader (native) or with libtorch; auto: libtorch only if its own reader "
        "doesn't support the file",
        [](Options& o, const std::string& v) { o.load.frontend = parse_frontend(v); }},
    Option{
        "--gradients", "", "", "", false, "check convert verify",
        "follow the model's code for which torch.is_grad_enabled() is true, and verify with gradients (default: without them, as "
        "in inference)",
        [](Options& o, const std::string&) { o.load.gradients = true; }},
    Option{"--libtorch", "", "DIR", "<folder>", false, "check convert verify inspect diff ops explain",
           "load operator libraries, and models that libtorch reads or runs, with this libtorch (default: search for one)",
           [](Options& o, const std::string& v) { o.load.libtorch = v; }},
    Option{"--format", "", "FORMAT", "text json jsonl sarif junit github gitlab markdown html allowlist-yaml", false,
           "check render", "format of stdout", [](Options& o, const std::string& v) { o.format = parse_format(v); }},
    Option{"--format", "", "FORMAT", "text json jsonl junit markdown html", false, "verify", "format of stdout",
           [](Options& o, const std::string& v) { o.format = parse_verify_format(v); }},
    Option{"--output", "-o", "FILE", "<file>", false, "render",
           "write the report to this file instead of stdout, in the format of its ending unless --format names one; '-': stdout",
           [](Options& o, const std::string& v) { o.output = named_file("--output", v); }},
    Option{"--format", "", "FORMAT", "text json", false, "scan", "format of the totals on stdout",
           [](Options& o, const std::string& v) {
             if (v != "text" && v != "json") throw UsageError("--format " + v + ": expected one of text, json");
             o.format = parse_format(v);
           }},
    Option{"--quiet", "-q", "", "", false, "scan", "don't print the totals",
           [](Options& o, const std::string&) { o.quiet = true; }},
    Option{"--scaffold", "", "FORM", "yaml inline plugin", false, "explain",
           "print a mapping file, one whose row is ONNX text, or a plugin for the operator to start from; MODEL shows the "
           "arguments of a custom operator",
           [](Options& o, const std::string& v) { o.scaffold = spelled<Scaffold>(v, "--scaffold " + v); }},
    Option{"--format", "", "FORMAT", "text json markdown", false, "inspect diff ops explain", "format of stdout",
           [](Options& o, const std::string& v) { o.reference_format = parse_reference_format(v); }},
    Option{"--report", "", "[FORMAT=]FILE", "<file>", true, "check convert verify render",
           "also write a report to this file, in FORMAT or the format of its ending; FORMAT=-: to stdout",
           [](Options& o, const std::string& v) { o.reports.push_back(parse_report(v)); }},
    Option{"--source-root", "", "DIR", "<folder>", false, "check render",
           "folder of the model's Python files; reports point into them",
           [](Options& o, const std::string& v) { o.source_root = existing_folder("--source-root", v); }},
    Option{
        "--target", "", "ENGINE[@VERSION]", "<engine>", true, "check scan",
        "check the ONNX model against this engine or your own profile (FILE.yaml), each call in the newest form that the engine "
        "takes; list: print the engines",
        [](Options& o, const std::string& v) { o.check.targets.push_back(v); }},
    Option{"--target", "", "ENGINE[@VERSION]", "<engine>", true, "convert verify",
           "write each call in the newest form that this engine takes; check --target list prints the engines",
           [](Options& o, const std::string& v) { o.check.targets.push_back(v); }},
    Option{"--fail-on", "", "WHAT", "unconvertible missing conditional composite warning never", false, "check scan",
           "findings that make the exit code 1 (default unconvertible)",
           [](Options& o, const std::string& v) { o.check.fail_on = parse_fail_on(v); }},
    Option{"--fail-on", "", "WHAT", "unconvertible mismatch missing conditional composite warning never", false, "verify",
           "findings that make the exit code 1 (default unconvertible: every error; mismatch, missing: errors except a named "
           "dimension that can't change; warning: warnings too)",
           [](Options& o, const std::string& v) { o.verify.fail_on = parse_verify_fail_on(v); }},
    Option{"--fail-on", "", "WHAT", "unconvertible missing conditional composite warning never", false, "convert",
           "findings that prevent writing the model, with exit code 1 (default unconvertible)",
           [](Options& o, const std::string& v) { o.check.fail_on = parse_fail_on(v); }},
    Option{"--max-missing", "", "N", "", false, "check scan", "exit with 1 if more than N operators are missing",
           [](Options& o, const std::string& v) { o.check.max_missing = not_negative<int>("--max-missing", v); }},
    Option{"--config", "", "FILE", "<file>", false, "check convert verify inspect diff ops explain",
           "read this configuration (default: the nearest compatcheck.yaml in this folder or above it)",
           [](Options& o, const std::string& v) { o.configuration.file = named_file("--config", v); }, true},
    Option{"--no-config", "", "", "", false, "check convert verify inspect diff ops explain", "read no configuration file",
           [](Options& o, const std::string&) { o.no_configuration = true; }, true},
    Option{"--print-config", "", "", "", false, "check convert verify",
           "print all values and where each one comes from, then exit",
           [](Options& o, const std::string&) { o.print_configuration = true; }},
    Option{"--baseline", "", "FILE", "<file>", false, "check", "allow findings that this file lists",
           [](Options& o, const std::string& v) { o.baseline = named_file("--baseline", v); }},
    Option{"--write-baseline", "", "FILE", "<file>", false, "check", "write the findings of this run as a baseline and pass",
           [](Options& o, const std::string& v) { o.write_baseline = named_file("--write-baseline", v); }},
    Option{"--prune-baseline", "", "", "", false, "check", "remove from the --baseline file what is no longer found",
           [](Options& o, const std::string&) { o.prune_baseline = true; }},
    Option{"--models-from", "", "FILE", "<file>", true, "check", "check the models listed in this file, one per line; '-': stdin",
           [](Options& o, const std::string& v) { o.models_from.push_back(named_file("--models-from", v)); }},
    Option{"--exclude", "", "GLOB", "", true, "check scan",
           "skip files and folders when searching a folder: by name, or by path if GLOB has a slash",
           [](Options& o, const std::string& v) { o.exclude.push_back(v); }},
    Option{"--skip-foreign", "", "", "", false, "check",
           "list files that are recognized as something else (weights without code, pickled objects, ONNX without --target ...) "
           "on stderr and omit them from the reports",
           [](Options& o, const std::string&) { o.skip_foreign = true; }},
    Option{"--changed-since", "", "REVISION", "", false, "check",
           "check only models that changed since then or that git doesn't track; all, if a table or the configuration changed",
           [](Options& o, const std::string& v) { o.changed_since = v; }},
    Option{"--changed-since", "", "TIME", "", false, "scan",
           "check only models that were modified since this date or time: 2026-01-31, 2026-01-31T12:00:00Z",
           [](Options& o, const std::string& v) { o.changed_since = v; }, false, "COMPATCHECK_SCAN_CHANGED_SINCE"},
    Option{"--shard", "", "K/N", "", false, "check", "check every Nth model, starting with the Kth",
           [](Options& o, const std::string& v) { o.shard = parse_shard(v); }},
    Option{"--jobs", "-j", "N", "", false, "check", "check N models at a time (default: one per processor)",
           [](Options& o, const std::string& v) { o.jobs = at_least_one<std::size_t>("--jobs", v); }},
    Option{
        "--ray", "", "ADDRESS", "", false, "scan",
        "the Ray cluster that checks: its address; auto (default): the one that this machine belongs to, else a local one; local",
        [](Options& o, const std::string& v) { o.ray = v; }},
    Option{"--jobs", "-j", "N", "", false, "scan", "use N actors (default: one per core of the cluster)",
           [](Options& o, const std::string& v) { o.jobs = at_least_one<std::size_t>("--jobs", v); }},
    Option{"--resume", "", "", "", false, "scan",
           "continue the run in the --output folder; unchanged models aren't checked again",
           [](Options& o, const std::string&) { o.resume = true; }},
    Option{"--memory", "", "MB", "", false, "scan", "memory limit for the process that checks a model (default 8192)",
           [](Options& o, const std::string& v) { o.load.memory_mb = at_least_one<std::uint64_t>("--memory", v); }},
    Option{"--resume", "", "", "", false, "check",
           "continue an earlier run with --resume and --report FILE.jsonl; unchanged models aren't checked again",
           [](Options& o, const std::string&) { o.resume = true; }},
    Option{"--exit-zero", "", "", "", false, "check scan", "exit with 0 instead of 1",
           [](Options& o, const std::string&) { o.check.exit_zero = true; }},
    Option{"--hash", "", "", "", false, "check", "add the model's SHA-256 to the report",
           [](Options& o, const std::string&) { o.check.hash = true; }},
    Option{"--graph", "", "", "", false, "check", "add the graph's nodes to JSON reports (HTML always has them)",
           [](Options& o, const std::string&) { o.check.graph = true; }},
    Option{"--timeout", "", "S", "", false, "check convert verify inspect extract diff scan",
           "time limit in seconds for reading a model, again for checking it, and for each run of verify (default 120)",
           [](Options& o, const std::string& v) {
             o.check.timeout_seconds = o.load.timeout_seconds = number<double>("--timeout", v, Least::above_zero);
           }},
    Option{"--memory", "", "MB", "", false, "check convert verify inspect diff",
           "memory limit for libtorch with one model, without weights (default 8192)",
           [](Options& o, const std::string& v) { o.load.memory_mb = at_least_one<std::uint64_t>("--memory", v); }},
    Option{"--progress", "", "WHEN", "auto always never", false, "check convert verify extract scan", "show progress on stderr",
           [](Options& o, const std::string& v) { o.progress = parse_when("--progress", v); }},
    Option{"--color", "", "WHEN", "auto always never", false, "check convert verify inspect diff render ops explain lint",
           "use colors", [](Options& o, const std::string& v) { o.color = parse_when("--color", v); }},
    Option{"--quiet", "-q", "", "", false, "check convert verify render",
           "print only findings that fail the gate, and the last line", [](Options& o, const std::string&) { o.quiet = true; }},
    Option{"--list", "", "", "", false, "man", "print the names of all commands, one per line",
           [](Options& o, const std::string&) { o.list_commands = true; }},
    Option{"--quiet", "-q", "", "", false, "inspect", "omit nodes and weights",
           [](Options& o, const std::string&) { o.quiet = true; }},
    Option{"--quiet", "-q", "", "", false, "extract", "don't describe the written model",
           [](Options& o, const std::string&) { o.quiet = true; }},
    Option{"--verbose", "-v", "", "", true, "check convert verify render",
           "print every site and operator, and log the work to stderr; twice: also normalization steps and details",
           [](Options& o, const std::string&) { ++o.verbosity; }},
    Option{"--log", "", "LEVEL", "off warning info debug", false, "check convert verify inspect extract diff",
           "log the work to stderr from this level on (default off; -v: info, -vv: debug)",
           [](Options& o, const std::string& v) { o.log = parse_log_level(v); }},
    Option{"--log-file", "", "FILE", "<file>", false, "check convert verify inspect extract diff",
           "append the log to this file, with times (default level debug, else the level of --log)",
           [](Options& o, const std::string& v) { o.log_file = named_file("--log-file", v); }},
};

}  // namespace

std::span<const Option> option_table() { return options_shipped; }

bool serves(const Option& option, std::string_view command) {
  return (" " + std::string(option.commands) + " ").find(" " + std::string(command) + " ") != std::string::npos;
}

std::vector<const Option*> options_of(std::string_view command) {
  std::vector<const Option*> result;
  for (const Option& option : options_shipped)
    if (serves(option, command)) result.push_back(&option);
  return result;
}

std::string environment_name(const Option& option) {
  if (!option.variable.empty()) return std::string(option.variable);
  std::string name = "COMPATCHECK_" + std::string(option.name.substr(2));
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace compatcheck::cli
