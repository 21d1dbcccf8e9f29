#include "cli/read_model.h"

#include <iostream>
#include <iterator>
#include <span>
#include <vector>

namespace compatcheck::cli {

Model read_model(Loader& loader, const std::string& file) {
  if (file != "-") return loader.load(file);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  return loader.load(std::as_bytes(std::span(bytes)), "<stdin>");
}

}  // namespace compatcheck::cli
