// The main() of a build step that writes one C++ file, its last argument.
#pragma once

#include <exception>
#include <fstream>
#include <iostream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>

namespace compatcheck::process {

// `write(arguments, out)` gets the arguments before the file. Returns the exit code; a failure leaves no file.
template <class Write>
int generate(int argc, char** argv, const std::string& usage, std::size_t arguments, Write&& write) {
  const std::span<char* const> given(argv, static_cast<std::size_t>(argc));
  if (given.size() != arguments + 2) {
    std::cerr << "usage: " << usage << "\n";
    return 2;
  }
  try {
    std::ostringstream text;
    write(given.subspan(1, arguments), text);
    std::ofstream file(given.back(), std::ios::binary);
    file << text.str();
    file.close();
    if (!file) throw std::runtime_error(given.back() + std::string(": can't be written"));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

}  // namespace compatcheck::process
