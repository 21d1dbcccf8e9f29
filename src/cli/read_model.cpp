#include "cli/read_model.h"

#include <iostream>
#include <iterator>
#include <new>
#include <span>
#include <vector>

namespace compatcheck::cli {

std::vector<char> read_stdin() {
  try {
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  } catch (const std::bad_alloc&) {
    throw ModelError("<stdin>: is larger than memory; give it as a file");
  }
}

Model read_model(Loader& loader, const std::string& file) {
  if (file != "-") return loader.load(file);
  const auto bytes = read_stdin();
  return loader.load(std::as_bytes(std::span(bytes)), "<stdin>");
}

Model read_model(const LoadOptions& options, const std::string& file) {
  if (file != "-") return load(file, options);
  Loader loader(options);
  return read_model(loader, file);
}

}  // namespace compatcheck::cli
