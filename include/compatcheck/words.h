// Enumerators of options by the words with which the command line and the Python module spell them.
//
//   auto type = compatcheck::spelled<compatcheck::ExportType>("onnx-aten", "--export-type");
#pragma once

#include <string>
#include <string_view>

#include "compatcheck/error.h"

namespace compatcheck {

// Parses a word of ExportType, StateMode, ComplexIo, QuantizedIo, FrontendKind, Preference, ExternalData, FailOn, VerifyFailOn,
// Format, ReferenceFormat or Scaffold. Throws UsageError for another word: "GIVEN: expected one of …".
template <class Enumerator>
Enumerator spelled(const std::string& word, const std::string& given);

// The library's messages name options by their fields: "CheckOptions::inputs". The text with flags in their place: "--input".
std::string with_flags(std::string_view text);

}  // namespace compatcheck
