// The use of the library that the README shows: prints why a model doesn't convert. Exits 0 if it says so.
#include <compatcheck/check.h>
#include <compatcheck/load.h>
#include <compatcheck/render.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const auto model = compatcheck::load(argv[1]);
    const auto report = compatcheck::check(model, {.opset = 11});
    if (report.convertible()) return 1;
    std::cout << compatcheck::render(report, compatcheck::Format::text);
  } catch (const compatcheck::Error& error) {
    std::cerr << error.what() << '\n';
    return 3;
  }
}
