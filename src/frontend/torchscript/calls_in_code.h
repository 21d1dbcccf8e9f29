// How the archive's code calls operators and classes that libtorch doesn't know: what can be read off the source.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontend/assumed_types.h"
#include "frontend/torchscript/sources.h"

namespace compatcheck::frontend::torchscript {

// All calls of one operator, or of one method of one class, taken together.
struct CallShape {
  std::size_t fewest = 0, most = 0;             // positional arguments
  std::map<std::string, std::size_t> keywords;  // and how many calls give each
  std::size_t calls = 0;
  ResultUse use;

  void add(std::size_t positional, const std::vector<std::string>& named, const ResultUse& used);
};

struct CallsInCode {
  std::map<std::string, CallShape> operators;                       // "my_lib::scale"
  std::map<std::string, std::map<std::string, CallShape>> methods;  // by class, by name
};

// "ops.ns.name" and "torch.name" in the text, as "ns::name" and "aten::name"; and custom classes' qualified names.
std::set<std::string> operators_named(std::string_view code);
std::set<std::string> custom_classes_named(std::string_view code);

// Calls of these operators and of methods of these classes in all of the archive's code.
CallsInCode find_calls(Sources& sources, const std::set<std::string>& operators, const std::set<std::string>& classes);

}  // namespace compatcheck::frontend::torchscript
