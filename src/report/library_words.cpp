#include <algorithm>
#include <array>
#include <utility>

#include "compatcheck/words.h"

namespace compatcheck {
namespace {

// By field alone: what several structs have is the same flag. tests/cli/check_library_words.py holds it against the sources.
constexpr auto flags = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"add_outputs", "--add-outputs"},
    {"custom_opsets", "--custom-opset"},
    {"dims", "--dim"},
    {"external_data", "--external-data"},
    {"from", "--from"},
    {"hash", "--hash"},
    {"input_names", "--input-names"},
    {"inputs", "--input"},
    {"inputs_from", "--inputs-from"},
    {"libtorch", "--libtorch"},
    {"memory_mb", "--memory"},
    {"method", "--method"},
    {"model", "--model"},
    {"nodes", "--node"},
    {"op_libraries", "--op-library"},
    {"op_modules", "--op-module"},
    {"operators", "--op"},
    {"opset", "--opset"},
    {"ort_custom_ops", "--ort-custom-ops"},
    {"ort_library", "--ort-library"},
    {"output_names", "--output-names"},
    {"python", "--python"},
    {"scaffold", "--scaffold"},
    {"targets", "--target"},
    {"timeout_seconds", "--timeout"},
    {"to", "--to"},
});

constexpr std::string_view mark = "Options::";

bool in_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

}  // namespace

std::string with_flags(std::string_view text) {
  std::string made;
  for (;;) {
    const std::size_t at = text.find(mark);
    if (at == text.npos) return made += text;
    std::size_t begin = at, end = at + mark.size();
    while (begin > 0 && in_word(text[begin - 1])) --begin;
    while (end < text.size() && in_word(text[end])) ++end;
    const std::string_view field = text.substr(at + mark.size(), end - at - mark.size());
    const auto found = std::ranges::find(flags, field, [](const auto& flag) { return flag.first; });
    made += text.substr(0, begin);
    made += found == flags.end() ? text.substr(begin, end - begin) : found->second;
    text.remove_prefix(end);
  }
}

}  // namespace compatcheck
