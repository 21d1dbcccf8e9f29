// The statements of an exported program about its inputs. TorchScript files have none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/pt2/expression.h"
#include "ir/constant.h"
#include "ir/location.h"
#include "ir/size_range.h"

namespace compatcheck::frontend::pt2 {

std::string to_string(const ir::SizeRange& range);  // "from 2 to 64", "from 2", "up to 64", "any number"

// The statements about an input beyond its type: sizes, or the number itself, as expressions over the program's symbols.
struct ExportedInput {
  std::string name;
  std::vector<Expression> sizes{};
  std::optional<Expression> number{};
  std::optional<ir::Constant> sample{};  // the value that the program was exported with, if the file has it
};

// An assertion that isn't in the graph: its message and its place.
struct LeftOutAssertion {
  std::string message;
  ir::LocationRef location{};
  std::string module{};
};

// A dimension of an input that a guard made a number.
struct FixedSize {
  std::string input;
  std::size_t dim = 0;
  std::int64_t size = 0;
};

struct ExportedInterface {
  std::vector<ExportedInput> inputs;  // one for each of forward's
  std::map<std::string, ir::SizeRange> ranges;
  std::vector<std::string> conditions;  // guards that hold for some sizes only, as the file spells them
  std::vector<FixedSize> fixed{};
  std::vector<LeftOutAssertion> assertions;  // each once at one place
};

}  // namespace compatcheck::frontend::pt2
