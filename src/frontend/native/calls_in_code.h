// How the archive's code calls operators and classes that nobody registered: what can be read off the source.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "frontend/assumed_types.h"
#include "frontend/native/definitions.h"

namespace compatcheck::frontend::native {

// All calls of one operator, or of one method of one class, together.
struct CallShape {
  std::size_t fewest = 0, most = 0;               // positional arguments
  std::map<std::string, std::size_t> keywords{};  // keyword -> number of calls that pass it
  std::size_t calls = 0;
  ResultUse use{};

  void add(std::size_t positional, const std::vector<std::string_view>& named, const ResultUse& used);
};

// By operator ("my_lib::scale") or method of a custom class ("__torch__.torch.classes.my_lib.Net.run"), those that are
// `is_searched`.
std::map<std::string, CallShape> calls_of(Definitions& definitions, const std::function<bool(const std::string&)>& is_searched);

}  // namespace compatcheck::frontend::native
