#include <algorithm>
#include <utility>

#include "compatcheck/error.h"
#include "frontend/native/lexer.h"
#include "frontend/native/syntax.h"

namespace compatcheck::frontend::native {
namespace {

constexpr std::size_t deepest_syntax = 1000;  // brackets in brackets, blocks in blocks, a.b.c and so on

class CodeParser {
 public:
  CodeParser(std::string_view code, const std::string& file) : lexer_(code, file, syntax_.strings) {}

  FileSyntax file() {
    while (!at(Token::Kind::end)) {
      if (accept(Token::Kind::newline)) continue;
      if (at_name("class"))
        syntax_.classes.push_back(definition_of_class());
      else if (at_name("def"))
        syntax_.functions.push_back(function());
      else if (at_name("import") || at_name("from") || at_name("op_version_set"))
        skip_line();
      else
        lexer_.fail("a class or function is expected");
    }
    return std::move(syntax_);
  }

 private:
  struct Nested {
    explicit Nested(CodeParser& parser) : depth(parser.depth_) {
      if (++depth > deepest_syntax) parser.lexer_.fail("the code is nested more than 1000 deep");
    }
    ~Nested() { --depth; }
    std::size_t& depth;
  };

  const Token& token() const { return lexer_.current(); }
  bool at(Token::Kind kind) const { return token().kind == kind; }
  bool at_symbol(std::string_view symbol) const { return at(Token::Kind::symbol) && token().text == symbol; }
  bool at_name(std::string_view name) const { return at(Token::Kind::name) && token().text == name; }
  bool accept(Token::Kind kind) {
    if (!at(kind)) return false;
    lexer_.advance();
    return true;
  }
  bool accept_symbol(std::string_view symbol) {
    if (!at_symbol(symbol)) return false;
    lexer_.advance();
    return true;
  }
  bool accept_name(std::string_view name) {
    if (!at_name(name)) return false;
    lexer_.advance();
    return true;
  }
  void expect_symbol(std::string_view symbol) {
    if (!accept_symbol(symbol)) lexer_.fail("'" + std::string(symbol) + "' is expected");
  }
  void expect_end_of_line() {
    if (!accept(Token::Kind::newline) && !at(Token::Kind::end) && !at(Token::Kind::dedent))
      lexer_.fail("the line should end here");
  }
  std::string_view identifier() {
    if (!at(Token::Kind::name)) lexer_.fail("a name is expected");
    const std::string_view name = token().text;
    lexer_.advance();
    return name;
  }
  void skip_line() {
    while (!at(Token::Kind::newline) && !at(Token::Kind::end)) lexer_.advance();
  }

  void add(Expression& whole, Expression part) {
    whole.height = std::max(whole.height, static_cast<std::uint16_t>(part.height + 1));
    if (whole.height > deepest_syntax) lexer_.fail("the code is nested more than 1000 deep");
    whole.parts.push_back(std::move(part));
  }

  ClassSyntax definition_of_class() {
    lexer_.advance();
    ClassSyntax made{identifier(), {}, {}, {}};
    if (accept_symbol("(")) {
      made.base = identifier();
      expect_symbol(")");
    }
    begin_block();
    while (!accept(Token::Kind::dedent) && !at(Token::Kind::end)) {
      if (accept(Token::Kind::newline)) continue;
      if (at_name("def"))
        made.methods.push_back(method());
      else if (Statement member = statement(); member.kind != Statement::Kind::pass)
        made.members.push_back(std::move(member));
    }
    return made;
  }

  // The annotation of `self` is redundant, and may be no type: the name of a file of the user's stands in it.
  FunctionSyntax method() {
    FunctionSyntax made = function();
    if (!made.parameters.empty()) made.parameters[0].type = {};
    return made;
  }

  FunctionSyntax function() {
    const Nested nested(*this);
    FunctionSyntax made;
    made.start = token().start;
    lexer_.advance();
    made.name = identifier();
    expect_symbol("(");
    while (!accept_symbol(")")) {
      ParameterSyntax parameter{identifier(), {}, {}};
      if (accept_symbol(":")) parameter.type = expression();
      if (accept_symbol("=")) parameter.default_value = expression();
      made.parameters.push_back(std::move(parameter));
      if (!at_symbol(")")) expect_symbol(",");
    }
    if (accept_symbol("->")) made.result = expression();
    made.body = block();
    return made;
  }

  void begin_block() {
    expect_symbol(":");
    if (!accept(Token::Kind::newline) || !accept(Token::Kind::indent)) lexer_.fail("an indented block is expected");
  }

  std::vector<Statement> block() {
    const Nested nested(*this);
    begin_block();
    std::vector<Statement> statements;
    while (!accept(Token::Kind::dedent) && !at(Token::Kind::end)) {
      if (accept(Token::Kind::newline)) continue;
      if (Statement made = statement(); made.kind != Statement::Kind::pass) statements.push_back(std::move(made));
    }
    return statements;
  }

  Statement statement() {
    Statement made;
    made.start = token().start;
    if (at_name("def")) {
      made.kind = Statement::Kind::function;
      made.function.push_back(function());
    } else if (accept_name("if")) {
      made.kind = Statement::Kind::branch;
      made.values.push_back(expression());
      made.body = block();
      while (accept(Token::Kind::newline)) continue;
      if (accept_name("else")) made.otherwise = block();
    } else if (accept_name("while")) {
      made.kind = Statement::Kind::while_loop;
      made.values.push_back(expression());
      made.body = block();
    } else if (accept_name("for")) {
      for_range(made);
    } else if (accept_name("with")) {
      made.kind = Statement::Kind::with;
      made.values.push_back(expression());
      if (accept_name("as")) made.targets.push_back(expression());
      made.body = block();
    } else if (accept_name("return")) {
      made.kind = Statement::Kind::result;
      if (!at(Token::Kind::newline)) made.values = expressions(made.unpacks);
      expect_end_of_line();
    } else if (accept_name("pass")) {
      expect_end_of_line();
    } else {
      assignment(made);
    }
    return made;
  }

  void for_range(Statement& made) {
    made.kind = Statement::Kind::for_range;
    made.targets.push_back(expression());
    if (!made.targets[0].is(Form::name)) lexer_.fail("a name is expected after 'for'");
    if (!accept_name("in") || !accept_name("range")) lexer_.fail("'in range(…)' is expected");
    expect_symbol("(");
    made.values.push_back(expression());
    expect_symbol(")");
    made.body = block();
  }

  void assignment(Statement& made) {
    made.kind = Statement::Kind::expression;
    made.targets = expressions(made.unpacks, &made.trailing_comma);
    if (accept_symbol(":")) {
      made.kind = Statement::Kind::assignment;
      made.annotation = expression();
    }
    if (accept_symbol("=")) {
      made.kind = Statement::Kind::assignment;
      bool tuple = false;
      made.values = expressions(tuple);
    } else if (made.kind == Statement::Kind::expression) {
      made.values = std::exchange(made.targets, {});
    }
    expect_end_of_line();
  }

  // One or several, with commas between them; `comma`: there is one, at the end perhaps.
  std::vector<Expression> expressions(bool& comma, bool* trailing = nullptr) {
    std::vector<Expression> made;
    made.push_back(expression());
    while (accept_symbol(",")) {
      comma = true;
      const bool ends = at_symbol("=") || at(Token::Kind::newline);
      if (ends && trailing) *trailing = true;
      if (ends) break;
      made.push_back(expression());
    }
    return made;
  }

  Expression expression() {
    const Nested nested(*this);
    Expression made = term();
    while (at_symbol("+") || at_symbol("-")) {
      const Form kind = at_symbol("+") ? Form::sum : Form::difference;
      lexer_.advance();
      Expression whole{.kind = kind, .start = made.start};
      add(whole, std::move(made));
      add(whole, term());
      made = std::move(whole);
    }
    return made;
  }

  Expression term() {
    const Nested nested(*this);
    if (at_symbol("-")) {
      Expression made{.kind = Form::negative, .start = token().start};
      lexer_.advance();
      add(made, term());
      return made;
    }
    Expression made = atom();
    for (;;) {
      if (accept_symbol(".")) {
        Expression whole{.kind = Form::attribute, .start = made.start, .text = identifier()};
        add(whole, std::move(made));
        made = std::move(whole);
      } else if (at_symbol("(")) {
        made = call(std::move(made));
      } else if (at_symbol("[")) {
        made = subscript(std::move(made));
      } else {
        return made;
      }
    }
  }

  Expression atom() {
    const Token first = token();
    const auto plain = [&](Form kind) {
      lexer_.advance();
      return Expression{.kind = kind, .start = first.start, .text = first.text};
    };
    switch (first.kind) {
      case Token::Kind::name:
        if (first.text == "True") return plain(Form::true_value);
        if (first.text == "False") return plain(Form::false_value);
        if (first.text == "None") return plain(Form::none);
        return plain(Form::name);
      case Token::Kind::integer: return plain(Form::integer);
      case Token::Kind::floating: return plain(Form::floating);
      case Token::Kind::imaginary: return plain(Form::imaginary);
      case Token::Kind::text: return plain(Form::text);
      case Token::Kind::symbol:
        if (first.text == "[") return list();
        if (first.text == "{") return dict();
        if (first.text == "(") return parenthesised();
        break;
      default: break;
    }
    lexer_.fail("an expression is expected");
  }

  Expression list() {
    Expression made{.kind = Form::list, .start = token().start};
    lexer_.advance();
    while (!accept_symbol("]")) {
      add(made, expression());
      if (!at_symbol("]")) expect_symbol(",");
    }
    return made;
  }

  Expression dict() {
    lexer_.advance();
    Expression made{.kind = Form::dict, .start = token().start};
    while (!accept_symbol("}")) {
      add(made, expression());
      expect_symbol(":");
      add(made, expression());
      if (!at_symbol("}")) expect_symbol(",");
    }
    return made;
  }

  // Parentheses around one expression don't count: its place is its own.
  Expression parenthesised() {
    Expression made{.kind = Form::tuple, .start = token().start};
    lexer_.advance();
    bool comma = false;
    while (!accept_symbol(")")) {
      add(made, expression());
      if (at_symbol(")")) continue;
      expect_symbol(",");
      comma = true;
    }
    if (made.parts.size() != 1 || comma) {
      if (!made.parts.empty()) made.start = made.parts.front().start;
      return made;
    }
    Expression inner = std::move(made.parts.front());
    return inner;
  }

  Expression call(Expression callee) {
    Expression made{.kind = Form::call, .start = callee.start};
    add(made, std::move(callee));
    lexer_.advance();
    while (!accept_symbol(")")) {
      Expression argument = expression();
      if (accept_symbol("=")) {
        if (!argument.is(Form::name)) lexer_.fail("a keyword is expected before '='");
        made.keywords.push_back(argument.text);
        argument = expression();
      } else if (!made.keywords.empty()) {
        lexer_.fail("an argument without a keyword follows one with a keyword");
      }
      add(made, std::move(argument));
      if (!at_symbol(")")) expect_symbol(",");
    }
    return made;
  }

  Expression subscript(Expression value) {
    Expression made{.kind = Form::subscript, .start = value.start};
    add(made, std::move(value));
    lexer_.advance();
    while (!accept_symbol("]")) {
      add(made, index());
      if (!at_symbol("]")) expect_symbol(",");
    }
    return made;
  }

  Expression index() {
    const std::size_t start = token().start;
    Expression first;
    if (!at_symbol(":")) first = expression();
    if (!accept_symbol(":")) return first;
    Expression made{.kind = Form::slice, .start = start};
    add(made, std::move(first));
    add(made, at_symbol("]") || at_symbol(",") ? Expression{} : expression());
    return made;
  }

  FileSyntax syntax_;
  Lexer lexer_;
  std::size_t depth_ = 0;
};

}  // namespace

FileSyntax parse(std::string_view code, const std::string& file) { return CodeParser(code, file).file(); }

}  // namespace compatcheck::frontend::native
