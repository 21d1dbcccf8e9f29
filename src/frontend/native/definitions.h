// The archive's code files, and the classes and functions that they define, by qualified name.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "files/input_file.h"
#include "files/zip.h"
#include "frontend/debug_ranges.h"
#include "frontend/native/syntax.h"
#include "frontend/native/typing.h"
#include "ir/location.h"
#include "ir/type.h"

namespace compatcheck::frontend::native {

inline constexpr std::string_view custom_class_prefix = "__torch__.torch.classes.";

// A code file, parsed; and where its pieces come from.
class CodeFile {
 public:
  CodeFile(std::string record, std::string code, std::vector<std::uint8_t> debug, StackFrames& frames);
  const FileSyntax& syntax() const { return syntax_; }
  // The place in the user's Python, or in the archive's own code where none was recorded.
  ir::LocationRef locate(std::size_t offset);
  bool traced(std::size_t offset) { return ranges_ && ranges_->traced(offset).value_or(false); }

 private:
  ir::LocationRef own_place(std::size_t offset);

  std::string record_, code_;
  std::vector<std::uint8_t> debug_;
  FileSyntax syntax_;
  std::optional<DebugRanges> ranges_;
  std::unordered_map<std::size_t, ir::LocationRef> own_places_;
  std::vector<std::size_t> lines_;  // offset of each line
};

struct Attribute {
  std::string name;
  ir::TypeRef type;
  bool is_parameter = false, is_buffer = false;
};

// A class, NamedTuple, interface or enum.
struct ClassDefinition {
  enum class Kind { plain, module, interface, module_interface, named_tuple, enumeration, custom } kind = Kind::plain;
  std::string name;
  ir::TypeRef type;
  CodeFile* file = nullptr;
  const ClassSyntax* syntax = nullptr;
  std::vector<Attribute> attributes;                              // types of a NamedTuple's fields, too
  std::vector<std::pair<std::string, ir::TypeRef>> final_types;   // the types of its constants
  std::vector<std::pair<std::string, const Expression*>> finals;  // its constants; an enum's members

  bool has_hooks = false;  // whether it has hooks, which PyTorch runs when the module is called

  bool is_module() const { return kind == Kind::module || kind == Kind::module_interface; }
  bool is_interface() const { return kind == Kind::interface || kind == Kind::module_interface; }
  const Attribute* attribute(std::string_view searched) const;
  ir::TypeRef final_type(std::string_view searched) const;  // null if the code doesn't state it
  const FunctionSyntax* method(std::string_view searched) const;
};

struct FunctionDefinition {
  std::string name;
  CodeFile* file = nullptr;
  const FunctionSyntax* syntax = nullptr;
};

class Definitions final : public Interfaces {
 public:
  Definitions(const files::InputFile& file, const files::ZipDirectory& directory) : file_(file), directory_(directory) {}

  // Null if the archive doesn't define it.
  const ClassDefinition* find_class(const std::string& name);
  const FunctionDefinition* find_function(const std::string& name);

  // By qualifier, "__torch__.net"; without those that can't be parsed.
  std::vector<std::pair<std::string, const FileSyntax*>> every_file();

  // Throws ModelError for what is no type.
  ir::TypeRef type(const Expression& annotation);
  // "List[int]", as pickles state types.
  ir::TypeRef type(const std::string& annotation);

  // Classes, interfaces and enums that were found since the last call.
  std::vector<const ClassDefinition*> take_met() { return std::exchange(met_, {}); }

  bool implements(const std::string& class_name, const std::string& interface_name) const override;

 private:
  CodeFile* code(const std::string& qualifier);
  void complete(ClassDefinition& made);
  ir::TypeRef generic(std::string_view word, const Expression& annotation);
  ir::TypeRef named(const std::string& name);

  const files::InputFile& file_;
  const files::ZipDirectory& directory_;
  std::map<std::string, std::unique_ptr<CodeFile>, std::less<>> files_;
  std::map<std::string, ClassDefinition, std::less<>> classes_;
  std::map<std::string, FunctionDefinition, std::less<>> functions_;
  std::map<std::string, ir::TypeRef, std::less<>> stated_;
  std::vector<const ClassDefinition*> met_;
  std::vector<ClassDefinition*> incomplete_;
  std::size_t depth_ = 0;
  StackFrames frames_;
};

// "a.b.c"; empty if the expression is no chain of names.
std::string dotted(const Expression& expression);

}  // namespace compatcheck::frontend::native
