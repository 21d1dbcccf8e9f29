#include "cli/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <string_view>
#include <utility>

#include "compatcheck/words.h"

namespace compatcheck::cli {
namespace {

int parse_opset(std::string_view text, const std::string& whole, const char* expected) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw UsageError("--opset " + whole + ": expected " + expected);
  if (value < lowest_opset || value > highest_opset)
    throw UsageError("--opset " + whole + ": " + std::to_string(value) + " is out of range, opsets are " +
                     std::to_string(lowest_opset) + " to " + std::to_string(highest_opset));
  return value;
}

std::vector<int> range(int first, int last) {
  std::vector<int> values(static_cast<std::size_t>(last - first + 1));
  std::iota(values.begin(), values.end(), first);
  return values;
}

constexpr const char* opsets_expected = "a number, a list (9,11), a range (9-17) or all";

template <class Value>
Value choose(const std::string& given, const std::string& name, std::initializer_list<std::pair<const char*, Value>> choices) {
  std::string names;
  for (const auto& [choice, value] : choices) {
    if (name == choice) return value;
    names += (names.empty() ? "" : ", ") + std::string(choice);
  }
  throw UsageError(given + ": expected one of " + names);
}

// Longer endings first: ".sarif.json" is SARIF.
constexpr std::array<std::pair<std::string_view, Format>, 9> endings{{{".sarif.json", Format::sarif},
                                                                      {".sarif", Format::sarif},
                                                                      {".xml", Format::junit},
                                                                      {".md", Format::markdown},
                                                                      {".html", Format::html},
                                                                      {".htm", Format::html},
                                                                      {".json", Format::json},
                                                                      {".jsonl", Format::jsonl},
                                                                      {".txt", Format::text}}};

}  // namespace

bool is_given(const Options& options, std::string_view name) {
  return std::ranges::any_of(options.given, [&](const GivenOption& given) { return given.name == name; });
}

ConvertOptions convert_options(const Options& options) {
  ConvertOptions made = options.convert;
  made.opset = options.opset.value_or(default_opset);
  made.inputs = options.check.inputs;
  made.inputs_from = options.check.inputs_from;
  made.dims = options.check.dims;
  made.custom_opsets = options.check.custom_opsets;
  made.export_type = options.check.export_type;
  made.state = options.check.state;
  made.complex_io = options.check.complex_io;
  made.quantized_io = options.check.quantized_io;
  made.prefer = options.check.prefer;
  made.targets = options.check.targets;
  made.fail_on = options.check.fail_on;
  made.timeout_seconds = options.check.timeout_seconds;
  return made;
}

Opsets parse_opsets(const std::string& text) {
  if (text == "all") return {range(lowest_opset, highest_opset), true};
  if (const auto dash = text.find('-'); dash != std::string::npos) {
    const int first = parse_opset(std::string_view(text).substr(0, dash), text, opsets_expected);
    const int last = parse_opset(std::string_view(text).substr(dash + 1), text, opsets_expected);
    if (first > last) throw UsageError("--opset " + text + ": the range runs backwards");
    return {range(first, last), true};
  }
  Opsets opsets{{}, false};
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const int opset = parse_opset(std::string_view(text).substr(start, comma - start), text, opsets_expected);
    if (std::ranges::find(opsets.values, opset) == opsets.values.end()) opsets.values.push_back(opset);
    start = comma + 1;
  }
  return opsets;
}

int parse_opset(const std::string& text) { return parse_opset(text, text, "one opset"); }

Shard parse_shard(const std::string& text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, shard.index);
  const bool parted = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
  const auto second = parted ? std::from_chars(first.ptr + 1, end, shard.count) : first;
  if (!parted || second.ec != std::errc() || second.ptr != end || shard.index < 1 || shard.index > shard.count)
    throw UsageError("--shard " + text + ": expected K/N, the Kth of N parts");
  return shard;
}

Format parse_format(const std::string& name) { return spelled<Format>(name, "--format " + name); }

std::optional<Format> format_by_ending(const std::string& file) {
  for (const auto& [ending, format] : endings)
    if (file.ends_with(ending)) return format;
  return std::nullopt;
}

Format parse_verify_format(const std::string& name) {
  return choose<Format>("--format " + name, name,
                        {{"text", Format::text},
                         {"json", Format::json},
                         {"jsonl", Format::jsonl},
                         {"junit", Format::junit},
                         {"markdown", Format::markdown},
                         {"html", Format::html}});
}

ReferenceFormat parse_reference_format(const std::string& name) { return spelled<ReferenceFormat>(name, "--format " + name); }

ExportType parse_export_type(const std::string& name) { return spelled<ExportType>(name, "--export-type " + name); }

StateMode parse_state(const std::string& name) { return spelled<StateMode>(name, "--state " + name); }

ComplexIo parse_complex_io(const std::string& name) { return spelled<ComplexIo>(name, "--complex-io " + name); }

QuantizedIo parse_quantized_io(const std::string& name) { return spelled<QuantizedIo>(name, "--quantized-io " + name); }

FrontendKind parse_frontend(const std::string& name) { return spelled<FrontendKind>(name, "--frontend " + name); }

Preference parse_preference(const std::string& name) { return spelled<Preference>(name, "--prefer " + name); }

FailOn parse_fail_on(const std::string& name) { return spelled<FailOn>(name, "--fail-on " + name); }

VerifyFailOn parse_verify_fail_on(const std::string& name) { return spelled<VerifyFailOn>(name, "--fail-on " + name); }

std::optional<LogLevel> parse_log_level(const std::string& name) {
  return choose<std::optional<LogLevel>>(
      "--log " + name, name,
      {{"off", std::nullopt}, {"warning", LogLevel::warning}, {"info", LogLevel::info}, {"debug", LogLevel::debug}});
}

ReportFile parse_report(const std::string& text) {
  if (text.empty()) throw UsageError("--report: no file is named");
  if (const auto equals = text.find('='); equals != std::string::npos) {
    const std::string name = text.substr(0, equals), file = text.substr(equals + 1);
    if (name.empty()) throw UsageError("--report " + text + ": no format before '='");
    if (file.empty()) throw UsageError("--report " + text + ": no file after '='");
    return {spelled<Format>(name, "--report " + text + ": '" + name + "' is no format"), file};
  }
  if (const auto format = format_by_ending(text)) return {*format, text};
  throw UsageError("--report " + text + ": the ending names no format; write FORMAT=" + text);
}

}  // namespace compatcheck::cli
