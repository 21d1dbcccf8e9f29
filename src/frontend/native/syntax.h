// The syntax of an archive's code: the part of Python in which PyTorch saves TorchScript.
// Source: torch/csrc/jit/serialization/python_print.cpp, which writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace compatcheck::frontend::native {

enum class Form : std::uint8_t {
  absent,
  name,
  integer,
  floating,
  imaginary,
  text,
  true_value,
  false_value,
  none,
  list,
  tuple,
  dict,       // parts: key, value, key, value …
  attribute,  // parts[0].text
  call,       // parts[0](the other parts); the last of them have the names in `keywords`
  subscript,  // parts[0][parts[1], …]
  slice,      // begin:end, either may be absent
  negative,   // -parts[0]
  sum,        // parts[0] + parts[1]: complex numbers are printed so
  difference,
};

struct Expression {
  Form kind = Form::absent;
  std::uint16_t height = 0;  // height of the tree below it
  std::size_t start = 0;     // where it begins in the file; where its first part begins, if that is earlier
  std::string_view text{};   // a name, the digits of a number, the contents of a string
  std::vector<Expression> parts{};
  std::vector<std::string_view> keywords{};

  bool is(Form other) const { return kind == other; }
  bool is_name(std::string_view name) const { return kind == Form::name && text == name; }
};

struct FunctionSyntax;

struct Statement {
  enum class Kind : std::uint8_t {
    assignment,
    expression,
    branch,
    for_range,
    while_loop,
    function,
    with,
    result,
    pass
  } kind = Kind::pass;
  std::size_t start = 0;
  std::vector<Expression> targets{};  // targets of an assignment, for and with
  bool unpacks = false;               // there is a comma between or after the targets: `a, b = x`
  bool trailing_comma = false;        // `a, b, = x` unpacks one value
  Expression annotation{};            // x : int = 1
  std::vector<Expression> values{};   // the right-hand side; an If's or While's condition, the length of a for
  std::vector<Statement> body{}, otherwise{};
  std::vector<FunctionSyntax> function;  // the one that is defined
};

struct ParameterSyntax {
  std::string_view name;
  Expression type, default_value;
};

struct FunctionSyntax {
  std::string_view name;
  std::size_t start = 0;
  std::vector<ParameterSyntax> parameters{};
  Expression result{};
  std::vector<Statement> body{};
};

struct ClassSyntax {
  std::string_view name, base;       // base: "Module", "NamedTuple", "Interface", "ModuleInterface", "Enum"; empty: none
  std::vector<Statement> members{};  // assignments
  std::vector<FunctionSyntax> methods{};
};

struct FileSyntax {
  std::vector<ClassSyntax> classes;
  std::vector<FunctionSyntax> functions;
  std::deque<std::string> strings;  // contents of literals with escapes
};

// `code` must outlive the result. Throws ModelError with the line of what can't be read: `file` names it.
FileSyntax parse(std::string_view code, const std::string& file);

}  // namespace compatcheck::frontend::native
