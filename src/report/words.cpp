#include "compatcheck/words.h"

#include <string_view>

#include "compatcheck/convert.h"
#include "compatcheck/reference.h"
#include "compatcheck/render.h"
#include "compatcheck/verify.h"

namespace compatcheck {
namespace {

template <class Enumerator>
struct Word {
  std::string_view word;
  Enumerator enumerator;
};

// In the order in which messages list them.
template <class Enumerator>
constexpr Word<Enumerator> words_for[] = {};

template <>
constexpr Word<ExportType> words_for<ExportType>[] = {{"onnx", ExportType::onnx},
                                                      {"onnx-aten", ExportType::onnx_aten},
                                                      {"onnx-aten-fallback", ExportType::onnx_aten_fallback},
                                                      {"onnx-fallthrough", ExportType::onnx_fallthrough},
                                                      {"raw", ExportType::raw}};
template <>
constexpr Word<StateMode> words_for<StateMode>[] = {{"refuse", StateMode::refuse}, {"inputs-outputs", StateMode::inputs_outputs}};
template <>
constexpr Word<ComplexIo> words_for<ComplexIo>[] = {{"refuse", ComplexIo::refuse}, {"pairs", ComplexIo::pairs}};
template <>
constexpr Word<QuantizedIo> words_for<QuantizedIo>[] = {{"float", QuantizedIo::floats}, {"int", QuantizedIo::integers}};
template <>
constexpr Word<FrontendKind> words_for<FrontendKind>[] = {
    {"auto", FrontendKind::automatic}, {"native", FrontendKind::native}, {"libtorch", FrontendKind::libtorch}};
template <>
constexpr Word<Preference> words_for<Preference>[] = {{"exact", Preference::exact}, {"compact", Preference::compact}};
template <>
constexpr Word<ExternalData> words_for<ExternalData>[] = {
    {"auto", ExternalData::automatic}, {"always", ExternalData::always}, {"never", ExternalData::never}};
template <>
constexpr Word<FailOn> words_for<FailOn>[] = {
    {"unconvertible", FailOn::unconvertible}, {"missing", FailOn::missing}, {"conditional", FailOn::conditional},
    {"composite", FailOn::composite},         {"warning", FailOn::warning}, {"never", FailOn::never}};
// A verification passes or differs: it knows no operators that lack a mapping, and none that are composite.
template <>
constexpr Word<VerifyFailOn> words_for<VerifyFailOn>[] = {
    {"unconvertible", VerifyFailOn::error}, {"mismatch", VerifyFailOn::mismatch},
    {"missing", VerifyFailOn::missing},     {"conditional", VerifyFailOn::conditional},
    {"composite", VerifyFailOn::composite}, {"warning", VerifyFailOn::warning},
    {"never", VerifyFailOn::never}};
template <>
constexpr Word<Format> words_for<Format>[] = {{"text", Format::text},     {"json", Format::json},
                                              {"jsonl", Format::jsonl},   {"sarif", Format::sarif},
                                              {"junit", Format::junit},   {"github", Format::github},
                                              {"gitlab", Format::gitlab}, {"markdown", Format::markdown},
                                              {"html", Format::html},     {"allowlist-yaml", Format::allowlist_yaml}};
template <>
constexpr Word<ReferenceFormat> words_for<ReferenceFormat>[] = {
    {"text", ReferenceFormat::text}, {"json", ReferenceFormat::json}, {"markdown", ReferenceFormat::markdown}};
template <>
constexpr Word<Scaffold> words_for<Scaffold>[] = {
    {"yaml", Scaffold::yaml}, {"inline", Scaffold::inlined}, {"plugin", Scaffold::plugin}};

}  // namespace

template <class Enumerator>
Enumerator spelled(const std::string& word, const std::string& given) {
  std::string all;
  for (const auto& [each, enumerator] : words_for<Enumerator>) {
    if (each == word) return enumerator;
    all += (all.empty() ? "" : ", ") + std::string(each);
  }
  throw UsageError(given + ": expected one of " + all);
}

template ExportType spelled(const std::string&, const std::string&);
template StateMode spelled(const std::string&, const std::string&);
template ComplexIo spelled(const std::string&, const std::string&);
template QuantizedIo spelled(const std::string&, const std::string&);
template FrontendKind spelled(const std::string&, const std::string&);
template Preference spelled(const std::string&, const std::string&);
template ExternalData spelled(const std::string&, const std::string&);
template FailOn spelled(const std::string&, const std::string&);
template VerifyFailOn spelled(const std::string&, const std::string&);
template Format spelled(const std::string&, const std::string&);
template ReferenceFormat spelled(const std::string&, const std::string&);
template Scaffold spelled(const std::string&, const std::string&);

}  // namespace compatcheck
