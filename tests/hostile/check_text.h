// A whole check of a graph given as text.
#pragma once

#include <array>
#include <iostream>
#include <span>
#include <string>

#include "compatcheck/check.h"
#include "compatcheck/render.h"

namespace compatcheck::hostile {

// Refuses it with ModelError, or reports; whatever else is thrown is a defect.
inline void check_text(const std::string& text) {
  static Loader loader;
  try {
    const Model model = loader.load(std::as_bytes(std::span(text)), "graph.ir");
    constexpr std::array opsets{9, 17};
    render(check(model, opsets), Format::json);
  } catch (const ModelError&) {
  } catch (...) {
    std::cerr << text << '\n';
    throw;
  }
}

}  // namespace compatcheck::hostile
