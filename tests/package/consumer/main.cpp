// The uses of the library that the README shows.
//   consumer MODEL        prints why a model doesn't convert; exits 0 if it doesn't
//   consumer MODEL FILE   converts it; exits 0 if it does
#include <compatcheck/check.h>
#include <compatcheck/convert.h>
#include <compatcheck/load.h>
#include <compatcheck/render.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    const auto model = compatcheck::load(argv[1]);
    if (argc == 3) {
      compatcheck::ConvertOptions options;
      options.opset = 17;
      return compatcheck::convert(model, argv[2], options).convertible() ? 0 : 1;
    }
    const auto report = compatcheck::check(model, {.opset = 11});
    if (report.convertible()) return 1;
    std::cout << compatcheck::render(report, compatcheck::Format::text);
  } catch (const compatcheck::Error& error) {
    std::cerr << error.what() << '\n';
    return 3;
  }
}
