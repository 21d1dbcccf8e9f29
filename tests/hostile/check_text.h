// A whole check, and conversion, of a graph given as text.
#pragma once

#include <unistd.h>

#include <array>
#include <filesystem>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "compatcheck/check.h"
#include "compatcheck/convert.h"
#include "compatcheck/render.h"

namespace compatcheck::hostile {

inline constexpr std::array opsets{9, 17};

// Refuses it with ModelError, or reports; whatever else is thrown is a defect. Returns whether the model was read.
template <class Work>
bool on_model(std::string_view bytes, const std::string& name, Work&& work) {
  static Loader loader;
  bool read = false;
  try {
    const Model model = loader.load(std::as_bytes(std::span(bytes)), name);
    read = true;
    work(model);
  } catch (const ModelError&) {
  }
  return read;
}

template <class Work>
void on_text(const std::string& text, Work&& work) {
  try {
    on_model(text, "graph.ir", work);
  } catch (...) {
    std::cerr << text << '\n';
    throw;
  }
}

inline void check_text(const std::string& text) {
  on_text(text, [](const Model& model) { render(check(model, opsets), Format::json); });
}

// What the check refuses isn't written; what it calls convertible is.
inline void convert_model(const Model& model) {
  static const auto file = std::filesystem::temp_directory_path() / ("compatcheck-hostile-" + std::to_string(getpid()) + ".onnx");
  for (const int opset : opsets) {
    std::filesystem::remove(file);
    Report report = check(model, {.opset = opset});
    const std::string contradiction =
        "opset " + std::to_string(opset) + ": the check says " + (report.convertible() ? "yes" : "no") + ", the conversion ";
    try {
      ConvertOptions options;
      options.opset = opset;
      report = convert(model, file, options);
      if (report.convertible() != std::filesystem::exists(file)) throw std::logic_error(contradiction + "the other");
    } catch (const Error& error) {
      throw std::logic_error(contradiction + error.what());
    }
  }
  std::filesystem::remove(file);
}

inline void convert_text(const std::string& text) { on_text(text, convert_model); }

}  // namespace compatcheck::hostile
