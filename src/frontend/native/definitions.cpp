#include "frontend/native/definitions.h"

#include <algorithm>
#include <array>

#include "compatcheck/error.h"
#include "frontend/snapshot.h"
#include "process/spell_count.h"

namespace compatcheck::frontend::native {
namespace {

using ir::TypeKind;
using ir::TypeRef;

constexpr std::uint64_t most_code_bytes = 64 << 20;
constexpr std::size_t longest_line = 200;        // longest source line in the report
constexpr std::size_t deepest_annotation = 100;  // functions that walk a type are recursive

constexpr std::pair<std::string_view, TypeKind> simple_words[] = {
    {"int", TypeKind::integer},
    {"float", TypeKind::floating},
    {"bool", TypeKind::boolean},
    {"complex", TypeKind::complex},
    {"number", TypeKind::number},
    {"Scalar", TypeKind::number},
    {"str", TypeKind::string},
    {"NoneType", TypeKind::none},
    {"None", TypeKind::none},
    {"Device", TypeKind::device},
    {"Generator", TypeKind::generator},
    {"Layout", TypeKind::layout},
    {"MemoryFormat", TypeKind::memory_format},
    {"QScheme", TypeKind::qscheme},
    {"Stream", TypeKind::stream},
    {"Storage", TypeKind::storage},
    {"Any", TypeKind::any},
    {"list", TypeKind::any_list},
    {"tuple", TypeKind::any_tuple},
    {"AnyClassType", TypeKind::any_class},
    {"Capsule", TypeKind::capsule},
    {"t", TypeKind::var},
};
constexpr std::pair<std::string_view, TypeKind> generic_words[] = {
    {"List", TypeKind::list},      {"Optional", TypeKind::optional}, {"Tuple", TypeKind::tuple}, {"Dict", TypeKind::dict},
    {"Union", TypeKind::union_of}, {"Future", TypeKind::future},     {"RRef", TypeKind::rref},   {"Await", TypeKind::await_of},
};

std::string path_of(std::string qualifier) {
  std::ranges::replace(qualifier, '.', '/');
  return "code/" + qualifier + ".py";
}

// "a.b.C" → "a.b" and "C".
std::pair<std::string, std::string> split(const std::string& name) {
  const auto dot = name.rfind('.');
  return dot == name.npos ? std::pair(std::string(), name) : std::pair(name.substr(0, dot), name.substr(dot + 1));
}

struct TypeNesting {
  explicit TypeNesting(std::size_t& counted) : depth(counted) {
    if (++depth > deepest_annotation) throw ModelError("a type of the model is nested more than 100 deep");
  }
  ~TypeNesting() { --depth; }
  std::size_t& depth;
};

// The name of a class as it stands in the code. The user's file may be called my-net-0.5.py.
std::string spelled(const Expression& name) {
  switch (name.kind) {
    case Form::name:
    case Form::integer:
    case Form::floating: return std::string(name.text);
    case Form::attribute: return spelled(name.parts[0]) + "." + std::string(name.text);
    case Form::difference: return spelled(name.parts[0]) + "-" + spelled(name.parts[1]);
    case Form::sum: return spelled(name.parts[0]) + "+" + spelled(name.parts[1]);
    default: return {};
  }
}

ClassDefinition::Kind class_kind(std::string_view base) {
  using enum ClassDefinition::Kind;
  if (base.empty()) return plain;
  if (base == "Module") return module;
  if (base == "NamedTuple") return named_tuple;
  if (base == "Interface") return interface;
  if (base == "ModuleInterface") return module_interface;
  if (base == "Enum") return enumeration;
  throw ModelError("its code has a class with the base class " + std::string(base));
}

std::vector<std::string_view> texts(const Expression& list) {
  std::vector<std::string_view> found;
  for (const Expression& part : list.parts) found.push_back(part.text);
  return found;
}

}  // namespace

std::string dotted(const Expression& expression) {
  if (expression.is(Form::name)) return std::string(expression.text);
  if (!expression.is(Form::attribute)) return {};
  std::string base = dotted(expression.parts[0]);
  return base.empty() ? base : base + "." + std::string(expression.text);
}

CodeFile::CodeFile(std::string record, std::string code, std::vector<std::uint8_t> debug, StackFrames& frames)
    : record_(std::move(record)), code_(std::move(code)), debug_(std::move(debug)), syntax_(parse(code_, record_)) {
  if (!debug_.empty()) ranges_.emplace(debug_, frames);
}

ir::LocationRef CodeFile::locate(std::size_t offset) {
  if (ranges_)
    if (ir::LocationRef place = ranges_->find(offset)) return place;
  return own_place(offset);
}

ir::LocationRef CodeFile::own_place(std::size_t offset) {
  ir::LocationRef& place = own_places_[offset];
  if (place) return place;
  if (lines_.empty()) {
    lines_.push_back(0);
    for (std::size_t at = code_.find('\n'); at != code_.npos; at = code_.find('\n', at + 1)) lines_.push_back(at + 1);
  }
  const auto next = std::ranges::upper_bound(lines_, offset);
  const std::size_t begin = *(next - 1);
  ir::Location found;
  found.file = record_;
  found.line = static_cast<int>(next - lines_.begin());
  found.column = static_cast<int>(offset - begin) + 1;
  const std::string_view line = std::string_view(code_).substr(begin, longest_line);
  const std::string_view text = line.substr(0, line.find('\n'));
  if (const auto first = text.find_first_not_of(' '); first != text.npos) found.text = text.substr(first);
  return place = std::make_shared<const ir::Location>(std::move(found));
}

const Attribute* ClassDefinition::attribute(std::string_view searched) const {
  const auto found = std::ranges::find(attributes, searched, &Attribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

TypeRef ClassDefinition::final_type(std::string_view searched) const {
  const auto found = std::ranges::find(final_types, searched, &std::pair<std::string, TypeRef>::first);
  return found == final_types.end() ? nullptr : found->second;
}

const FunctionSyntax* ClassDefinition::method(std::string_view searched) const {
  if (!syntax) return nullptr;
  const auto found = std::ranges::find(syntax->methods, searched, &FunctionSyntax::name);
  return found == syntax->methods.end() ? nullptr : &*found;
}

CodeFile* Definitions::code(const std::string& qualifier) {
  const auto [known, fresh] = files_.try_emplace(qualifier);
  if (!fresh) return known->second.get();
  const std::string path = path_of(qualifier);
  const files::ZipRecord* record = directory_.find(path);
  if (!record) return nullptr;
  const auto bytes = [&](const files::ZipRecord& each) {
    if (each.unpacked > most_code_bytes)
      throw ModelError("record " + each.name + " has " + std::to_string(each.unpacked) +
                       " bytes; code of more than 64 MB isn't read");
    return read_zip_record(file_, each, most_code_bytes);
  };
  const auto text = bytes(*record);
  const files::ZipRecord* debug = directory_.find(path + ".debug_pkl");
  known->second = std::make_unique<CodeFile>(path, std::string(text.begin(), text.end()),
                                             debug ? bytes(*debug) : std::vector<std::uint8_t>(), frames_);
  return known->second.get();
}

std::vector<std::pair<std::string, const FileSyntax*>> Definitions::every_file() {
  constexpr std::string_view folder = "code/", ending = ".py";
  std::vector<std::pair<std::string, const FileSyntax*>> all;
  for (const files::ZipRecord& record : directory_.records) {
    std::string_view name = record.name;
    if (name.starts_with(directory_.top)) name.remove_prefix(directory_.top.size());
    if (!name.starts_with(folder) || !name.ends_with(ending)) continue;
    std::string qualifier(name.substr(folder.size(), name.size() - folder.size() - ending.size()));
    std::ranges::replace(qualifier, '/', '.');
    try {
      if (const CodeFile* file = code(qualifier)) all.emplace_back(qualifier, &file->syntax());
    } catch (const ModelError&) {  // reported when the file is needed
    }
  }
  return all;
}

const ClassDefinition* Definitions::find_class(const std::string& name) {
  if (const auto known = classes_.find(name); known != classes_.end()) return &known->second;
  if (name.starts_with(custom_class_prefix)) {
    ClassDefinition& made = classes_[name];
    made.kind = ClassDefinition::Kind::custom;
    made.name = name;
    made.type = ir::named_type(name);
    met_.push_back(&made);
    return &made;
  }
  const auto [qualifier, last] = split(name);
  CodeFile* file = qualifier.empty() ? nullptr : code(qualifier);
  if (!file) return nullptr;
  const auto found = std::ranges::find(file->syntax().classes, std::string_view(last), &ClassSyntax::name);
  if (found == file->syntax().classes.end()) return nullptr;
  ClassDefinition& made = classes_[name];
  made.kind = class_kind(found->base);
  made.name = name;
  made.file = file;
  made.syntax = &*found;
  // Known before its attributes are, whose types may name it.
  if (made.kind != ClassDefinition::Kind::named_tuple)
    made.type = made.is_module() ? ir::module_type(name) : ir::named_type(name);
  met_.push_back(&made);
  if (made.kind == ClassDefinition::Kind::named_tuple) {
    complete(made);  // its type is that of its fields
    return &made;
  }
  // One after the other: a chain of classes may be long.
  incomplete_.push_back(&made);
  if (incomplete_.size() > 1) return &made;
  const std::size_t outside = std::exchange(depth_, 0);
  for (std::size_t i = 0; i < incomplete_.size(); ++i) complete(*incomplete_[i]);
  incomplete_.clear();
  depth_ = outside;
  return &made;
}

void Definitions::complete(ClassDefinition& made) {
  std::vector<std::string_view> parameters, buffers;
  for (const Statement& member : made.syntax->members) {
    if (member.kind != Statement::Kind::assignment || member.targets.size() != 1) continue;
    const Expression& target = member.targets[0];
    const Expression* value = member.values.empty() ? nullptr : &member.values[0];
    if (target.is(Form::subscript)) {  // __annotations__["0"] = T
      if (target.parts.size() == 2 && value) made.attributes.push_back({std::string(target.parts[1].text), type(*value)});
    } else if (!target.is(Form::name)) {
      throw ModelError("the class " + made.name + " has a member that isn't known");
    } else if (target.text == "__parameters__" && value) {
      parameters = texts(*value);
    } else if (target.text == "__buffers__" && value) {
      buffers = texts(*value);
    } else if (target.text.starts_with("__")) {  // __annotations__, __forward_hooks__
      made.has_hooks |= target.text.starts_with("__forward_") && value && !value->parts.empty();
    } else if (value) {
      made.finals.emplace_back(std::string(target.text), value);
      const bool stated = member.annotation.is(Form::subscript) && member.annotation.parts.size() == 2;  // Final[T]
      if (stated) made.final_types.emplace_back(std::string(target.text), type(member.annotation.parts[1]));
    } else {
      made.attributes.push_back({std::string(target.text), type(member.annotation)});
    }
  }
  for (Attribute& attribute : made.attributes) {
    attribute.is_parameter = std::ranges::find(parameters, attribute.name) != parameters.end();
    attribute.is_buffer = std::ranges::find(buffers, attribute.name) != buffers.end();
  }
  if (made.kind != ClassDefinition::Kind::named_tuple) return;
  ir::Type tuple;
  tuple.kind = TypeKind::tuple;
  tuple.name = made.name;
  for (const Attribute& field : made.attributes) {
    tuple.elements.push_back(field.type);
    tuple.field_names.push_back(field.name);
  }
  made.type = std::make_shared<const ir::Type>(std::move(tuple));
}

const FunctionDefinition* Definitions::find_function(const std::string& name) {
  if (const auto known = functions_.find(name); known != functions_.end()) return &known->second;
  const auto [qualifier, last] = split(name);
  CodeFile* file = qualifier.empty() ? nullptr : code(qualifier);
  if (!file) return nullptr;
  const auto found = std::ranges::find(file->syntax().functions, std::string_view(last), &FunctionSyntax::name);
  if (found == file->syntax().functions.end()) return nullptr;
  return &(functions_[name] = {name, file, &*found});
}

TypeRef Definitions::named(const std::string& name) {
  const ClassDefinition* found = find_class(name);
  if (!found || !found->type) throw ModelError("its code lacks the class " + name);
  return found->type;
}

TypeRef Definitions::generic(std::string_view word, const Expression& annotation) {
  const auto* found = std::ranges::find(generic_words, word, &std::pair<std::string_view, TypeKind>::first);
  if (found == std::end(generic_words)) throw ModelError("its code has the type " + std::string(word) + "[…], which isn't known");
  ir::Type made;
  made.kind = found->second;
  for (std::size_t i = 1; i < annotation.parts.size(); ++i) {
    const Expression& part = annotation.parts[i];
    if (!(made.kind == TypeKind::tuple && part.is(Form::tuple) && part.parts.empty())) made.elements.push_back(type(part));
  }
  const std::size_t arity = made.kind == TypeKind::dict ? 2 : 1;
  if (made.kind != TypeKind::tuple && made.kind != TypeKind::union_of && made.elements.size() != arity)
    throw ModelError("its code has a " + std::string(word) + " of " + spell_count(made.elements.size(), "type"));
  if (made.kind == TypeKind::optional) return ir::optional_of(made.elements[0]);
  return std::make_shared<const ir::Type>(std::move(made));
}

TypeRef Definitions::type(const Expression& annotation) {
  const TypeNesting nested(depth_);
  if (annotation.is(Form::none)) return ir::simple_type(TypeKind::none);
  if (annotation.is(Form::subscript)) return generic(annotation.parts[0].text, annotation);
  if (annotation.is(Form::name)) {
    if (annotation.text == "Tensor") return ir::tensor_type();
    const auto* found = std::ranges::find(simple_words, annotation.text, &std::pair<std::string_view, TypeKind>::first);
    if (found != std::end(simple_words)) return ir::simple_type(found->second);
  }
  const std::string name = spelled(annotation);
  if (name.empty()) throw ModelError("its code has a type that isn't known");
  return named(name);
}

TypeRef Definitions::type(const std::string& annotation) {
  const auto [known, fresh] = stated_.try_emplace(annotation);
  if (fresh) {
    const std::string code = "def f(x : " + annotation + "):\n  pass\n";
    const FileSyntax syntax = parse(code, "a pickle");
    known->second = type(syntax.functions.at(0).parameters.at(0).type);
  }
  return known->second;
}

bool Definitions::implements(const std::string& class_name, const std::string& interface_name) const {
  const auto interface = classes_.find(interface_name);
  if (interface == classes_.end() || !interface->second.is_interface()) return false;
  const auto cls = classes_.find(class_name);
  if (cls == classes_.end()) return false;
  return std::ranges::all_of(interface->second.syntax->methods,
                             [&](const FunctionSyntax& method) { return cls->second.method(method.name) != nullptr; });
}

}  // namespace compatcheck::frontend::native
