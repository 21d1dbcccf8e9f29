#include "frontend/pt2/exported.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "compatcheck/error.h"
#include "frontend/pt2/archive.h"
#include "frontend/pt2/graph_reader.h"
#include "frontend/pt2/guards.h"
#include "frontend/pt2/json.h"
#include "frontend/pt2/signature.h"
#include "frontend/pt2/tensor_meta.h"
#include "frontend/pt2/union.h"

namespace compatcheck::frontend::pt2 {
namespace {

constexpr std::string_view class_name = "__torch__.ExportedProgram", method_name = "__torch__.ExportedProgram.forward";
constexpr std::array<std::int64_t, 5> read_majors{1, 2, 5, 7, 8};
constexpr std::int64_t newest_major = 8, newest_minor = 20;
constexpr std::int64_t texts_for_nan_since = 7;  // minor version of major 8 since which bare NaN isn't written any more

struct Version {
  std::int64_t major = 0, minor = 0;
};

std::string torch_of(const Json& root) {
  const auto version = root.find("torch_version");
  return version && version->is(Json::Kind::text) ? std::string(version->text()) : std::string();
}

Version check_version(const Json& root, bool bare_numbers) {
  const auto stated = root.find("schema_version");
  if (!stated) throw ModelError("is an exported program without a schema version; save it again with torch.export.save");
  Version version;
  if (stated->is(Json::Kind::integer)) {
    version.major = stated->integer();
  } else {
    version = {stated->at("major").integer(), stated->at("minor").integer()};
  }
  const std::string spelled = std::to_string(version.major) + "." + std::to_string(version.minor);
  const std::string by = torch_of(root).empty() ? "" : ", written by torch " + torch_of(root);
  if (version.major > newest_major)
    throw ModelError("is an exported program of schema version " + spelled + by + ": this program reads versions up to " +
                     std::to_string(newest_major) + "; save it with an older torch, or update compatcheck");
  if (std::ranges::find(read_majors, version.major) == read_majors.end())
    throw ModelError("is an exported program of schema version " + spelled + by + ", which no release of torch writes");
  if (bare_numbers && version.major == newest_major && version.minor >= texts_for_nan_since)
    throw ModelError("has NaN or Infinity without quotes in its JSON, which this version of the schema doesn't allow");
  return version;
}

std::string release(const std::string& version) {  // "2.13.0+cpu" → "2.13"
  const auto first = version.find('.');
  const auto second = first == version.npos ? version.npos : version.find('.', first + 1);
  return version.substr(0, second);
}

void substitute(Expression& expression, const std::map<std::string, std::int64_t>& numbers) {
  if (const auto number = numbers.find(expression.name); expression.kind == Expression::Kind::symbol && number != numbers.end())
    expression = {.kind = Expression::Kind::number, .value = number->second};
  for (Expression& argument : expression.arguments) substitute(argument, numbers);
  const auto value = evaluate(expression, [](const Expression&) { return std::optional<Expression::Number>(); });
  if (const auto* whole = value ? std::get_if<std::int64_t>(&*value) : nullptr)
    expression = {.kind = Expression::Kind::number, .value = *whole};
}

void append_leaves(const ir::Constant& value, std::vector<const ir::Constant*>& leaves) {
  if (const auto* tuple = value.get<ir::TupleConstant>())
    for (const ir::Constant& item : tuple->items) append_leaves(item, leaves);
  else if (const auto* list = value.get<ir::ListConstant>())
    for (const ir::Constant& item : list->items) append_leaves(item, leaves);
  else if (const auto* dict = value.get<ir::DictConstant>())
    for (const auto& [key, item] : dict->items) append_leaves(item, leaves);
  else
    leaves.push_back(&value);
}

class ProgramReader {
 public:
  ProgramReader(Archive& archive, const Json& root, const schema::Registry& schemas, const ir::Watch& watch)
      : archive_(archive),
        root_(root),
        module_(root.at("graph_module")),
        graph_(module_.at("graph")),
        signature_(read_signature(module_)),
        reading_{.graph = function_.graph, .schemas = schemas, .watch = watch},
        reader_(reading_, *function_.graph.top(), graph_) {}

  Exported read() {
    self_ = function_.graph.top()->add_input(ir::module_type(std::string(class_name)), "self");
    function_.name = method_name;
    function_.parameters.push_back({"self", self_->type(), std::nullopt});
    class_.name = class_name;
    class_.is_module = true;
    class_.methods.emplace("forward", method_name);
    read_inputs();
    reader_.read_nodes();
    read_outputs();
    read_samples();
    read_ranges();
    finish();
    return std::move(exported_);
  }

 private:
  void read_inputs() {
    const auto arguments = graph_.at("inputs").members();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const InputSpec& spec = signature_.inputs[i];
      switch (spec.kind) {
        case InputSpec::Kind::user: read_user_input(spec, arguments[i]); break;
        case InputSpec::Kind::fixed: note_constant(spec.name); break;
        case InputSpec::Kind::token: reader_.arguments().bind(spec.value, reader_.nodes().constant({})); break;
        case InputSpec::Kind::object:
          reader_.arguments().bind(spec.value, reader_.nodes().constant({ir::OpaqueConstant{spec.target}}));
          break;
        default: read_stored(spec);
      }
    }
  }

  void note_constant(const std::string& input) {
    note("the input " + input + " is a constant of the program, with the value that it had when the model was exported");
  }

  void read_user_input(const InputSpec& spec, const Json& argument) {
    const Tagged held = tagged(argument);
    ExportedInput input{.name = spec.name};
    ir::TypeRef type = number_type(held.tag);
    if (held.tag == "as_custom_obj")
      throw ModelError("takes an object as its input " + spec.name + ", which ONNX can't be given");
    if (held.tag == "as_tensor") {
      type = reader_.type_of(spec.value);
      input.sizes = sizes_of(spec.value);
      if (const auto meta = reader_.meta_of(spec.value); meta && !is_row_major(*meta)) reading_.contiguous_inputs = false;
    }
    if (!type) return note_constant(spec.name);  // the signature lists it as an input of the user
    if (held.tag == "as_sym_int") input.number = expression_of("sym_int_values", spec.value);
    ir::Value* value = function_.graph.top()->add_input(type, spec.name);
    function_.parameters.push_back({spec.name, type, std::nullopt});
    exported_.program.recorded_inputs.push_back({spec.name, type});
    exported_.interface.inputs.push_back(std::move(input));
    reader_.arguments().bind(spec.value, value);
  }

  // Attributes are made once; two inputs may share one.
  void read_stored(const InputSpec& spec) {
    ir::Value*& read = stored_[spec.target];
    if (!read) {
      const auto tensor = archive_.stored(spec.target);
      if (!tensor) throw ModelError("lacks the tensor " + spec.target + ": it was saved without its weights, or is damaged");
      const ir::TypeRef type = tensor->is_none() ? ir::tensor_type() : reader_.type_of(spec.value);
      class_.attributes.push_back({.name = spec.target,
                                   .type = type,
                                   .is_parameter = spec.kind == InputSpec::Kind::parameter,
                                   .is_buffer = spec.kind == InputSpec::Kind::buffer});
      object_.attributes.push_back(tensor->is_none() ? ir::Constant{ir::OpaqueConstant{"an object"}} : *tensor);
      ir::Node* attribute = reader_.nodes().add_node("prim::GetAttr", std::array{self_}, std::array{type});
      attribute->set_attribute("name", {spec.target});
      read = attribute->output();
    }
    reader_.arguments().bind(spec.value, read);
  }

  std::vector<Expression> sizes_of(const std::string& name) {
    std::vector<Expression> sizes;
    if (const auto meta = reader_.meta_of(name))
      for (const Json& size : meta->at("sizes").members()) sizes.push_back(expression(size));
    return sizes;
  }

  Expression expression_of(std::string_view table, const std::string& name) {
    const auto values = graph_.find(table);
    const auto value = values ? values->find(name) : std::nullopt;
    return value ? expression(*value) : Expression{.kind = Expression::Kind::symbol, .name = name};
  }

  // {"as_int": 3} or {"as_expr": {"expr_str", "hint"}}; a symbol's hint is the size in the example.
  Expression expression(const Json& symbolic) {
    const Tagged held = tagged(symbolic);
    if (held.tag == "as_int") return {.kind = Expression::Kind::number, .value = held.value.integer()};
    const bool plain = held.value.is(Json::Kind::text);
    Expression parsed;
    try {
      parsed = parse_expression(plain ? held.value.text() : held.value.at("expr_str").text());
    } catch (const ModelError&) {  // a newer grammar: the size isn't known
      return {.kind = Expression::Kind::call, .name = "unknown"};
    }
    if (const auto hint = plain ? std::nullopt : held.value.find("hint"); hint && hint->is(Json::Kind::object))
      if (const auto number = hint->find("as_int"); number && number->is(Json::Kind::integer)) {
        if (parsed.kind == Expression::Kind::symbol)
          hints_.emplace(parsed.name, number->integer());
        else
          derived_hints_.emplace_back(parsed, number->integer());
      }
    return parsed;
  }

  void read_outputs() {
    std::vector<ir::Value*> users;
    std::vector<std::pair<std::string, ir::Value*>> written;  // inputs, and what they are after the call
    const auto arguments = graph_.at("outputs").members();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const OutputSpec& spec = signature_.outputs[i];
      if (spec.kind == OutputSpec::Kind::token) continue;
      ir::Value* value = reader_.arguments().value_of(arguments[i]);
      if (spec.kind == OutputSpec::Kind::user) {
        users.push_back(value);
      } else if (spec.kind == OutputSpec::Kind::written_input) {
        written.emplace_back(input_name(spec.target), value);
      } else {
        ir::Node* write = reader_.nodes().add_node("prim::SetAttr", std::array{self_, value}, {});
        write->set_attribute("name", {spec.target});
      }
    }
    if (users.empty()) throw ModelError("has no outputs");
    for (const auto& [input, value] : written)
      if (std::ranges::find(users, value) == users.end()) add_lost_write(input, *value);
    std::size_t next = 0;
    ir::Value* result = signature_.results  ? collected(*signature_.results, users, next)
                        : users.size() == 1 ? users.front()
                                            : tuple(users, {});
    function_.graph.top()->add_output(result);
    function_.returns.push_back(result->type());
  }

  ir::Value* collected(const Tree& tree, const std::vector<ir::Value*>& users, std::size_t& next) {
    if (tree.kind == Tree::Kind::leaf) return users[next++];
    std::vector<ir::Value*> members;
    for (const Tree& member : tree.members) members.push_back(collected(member, users, next));
    return tuple(members, tree.keys);
  }

  // A dictionary's values have types of their own, as a named tuple's have.
  ir::Value* tuple(const std::vector<ir::Value*>& members, const std::vector<std::string>& keys) {
    ir::Type type;
    type.kind = ir::TypeKind::tuple;
    for (const ir::Value* member : members) type.elements.push_back(member->type());
    type.field_names = keys;
    return reader_.nodes().add("prim::TupleConstruct", members, std::make_shared<const ir::Type>(std::move(type)));
  }

  std::string input_name(const std::string& value) const {
    for (const InputSpec& spec : signature_.inputs)
      if (spec.value == value) return spec.name;
    return value;
  }

  // In the order of the user's arguments, constants and None among them.
  void read_samples() {
    const auto samples = archive_.sample_inputs();
    if (!samples) return;
    std::vector<const ir::Constant*> leaves;
    append_leaves(*samples, leaves);
    std::vector<std::string> names;
    for (const InputSpec& spec : signature_.inputs)
      if (spec.kind == InputSpec::Kind::user || spec.kind == InputSpec::Kind::fixed) names.push_back(spec.name);
    if (names.size() != leaves.size()) return;
    for (ExportedInput& input : exported_.interface.inputs)
      input.sample = *leaves[static_cast<std::size_t>(std::ranges::find(names, input.name) - names.begin())];
  }

  static std::optional<std::int64_t> bound(const Json& range, std::string_view key) {
    const auto value = range.find(key);
    return value && value->is(Json::Kind::integer) ? std::optional(value->integer()) : std::nullopt;
  }

  void read_ranges() {
    const auto ranges = root_.find("range_constraints");
    if (!ranges) return;
    for (const Json& range : ranges->members()) {
      const bool named = range.find("min_val").has_value();  // "min" and "max" in torch 2.1
      exported_.interface.ranges.emplace(std::string(range.key()), ir::SizeRange{bound(range, named ? "min_val" : "min"),
                                                                                 bound(range, named ? "max_val" : "max")});
    }
  }

  void add_lost_write(std::string input, const ir::Value& written) {
    ir::LostWrite write{.name = std::move(input), .op = {}};
    if (const ir::Node* node = written.producer()) {
      write.op = node->op();
      write.location = node->location();
      write.module = node->module();
    }
    exported_.program.lost_writes.push_back(std::move(write));
  }
  void note(std::string message) { exported_.program.notes.push_back({ir::LoadNote::Kind::other, {}, std::move(message)}); }

  // 8 for 2*s40 is a hint of 4 for s40, which no input may have as its size.
  void solve_derived_hints() {
    constexpr std::int64_t largest = 1 << 16;
    for (const auto& [size, hint] : derived_hints_) {
      const auto names = symbols_of(size);
      if (names.size() != 1 || hints_.contains(*names.begin())) continue;
      const auto fits = [&](std::int64_t tried) {
        return evaluate(size, [&](const Expression&) { return Expression::Number(tried); }) == Expression::Number(hint);
      };
      for (std::int64_t tried = 0; tried <= std::min(hint, largest); ++tried)
        if (fits(tried)) {
          hints_.emplace(*names.begin(), tried);
          break;
        }
    }
  }

  void apply_guards() {
    const auto code = root_.find("guards_code");
    if (!code || !code->is(Json::Kind::array)) return;
    std::vector<std::string> guards;
    for (const Json& guard : code->members()) guards.emplace_back(guard.text());
    solve_derived_hints();
    const auto fixed = pt2::apply_guards(exported_.interface, guards, hints_);
    if (fixed.empty()) return;
    for (ExportedInput& input : exported_.interface.inputs)
      for (std::size_t dim = 0; dim < input.sizes.size(); ++dim) {
        Expression& size = input.sizes[dim];
        if (size.kind == Expression::Kind::number) continue;
        substitute(size, fixed);
        if (size.kind == Expression::Kind::number)
          exported_.interface.fixed.push_back({input.name, dim, std::get<std::int64_t>(size.value)});
      }
  }

  void finish() {
    ir::Program& program = exported_.program;
    exported_.interface.assertions = std::move(reading_.assertions);
    for (const auto& [about, message] : reading_.notes) note(message);
    for (const auto& [op, message] : reading_.matched_by_position)
      program.notes.push_back({ir::LoadNote::Kind::matched_by_position, op, message});
    for (const std::string& message : archive_.notes()) note(message);
    apply_guards();
    object_.class_name = class_name;
    program.stub_schemas = reading_.assumed.settle(reader_.nodes().constant({}));
    for (const std::string& op : reading_.stated)
      for (const schema::Schema* schema : reading_.schemas.overloads(op))
        program.stub_schemas.push_back(schema::to_string(*schema));
    program.classes.emplace(class_name, std::move(class_));
    program.functions.emplace(method_name, std::move(function_));
    program.objects.push_back(std::move(object_));
    program.traced = true;
    program.exported = true;
    if (const std::string version = torch_of(root_); !version.empty()) program.producer = "torch " + release(version);
  }

  Archive& archive_;
  Json root_, module_, graph_;
  Signature signature_;
  Exported exported_;
  ir::Function function_;
  ir::Class class_;
  ir::Object object_;
  Reading reading_;
  GraphReader reader_;
  ir::Value* self_ = nullptr;
  std::map<std::string, ir::Value*> stored_;
  std::map<std::string, std::int64_t> hints_;
  std::vector<std::pair<Expression, std::int64_t>> derived_hints_;  // hints for sizes that are expressions
};

}  // namespace

Exported read_exported(const files::InputFile& file, const files::ZipDirectory& directory, const std::string& model,
                       const schema::Registry& schemas, const ir::Watch& watch) {
  Archive archive(file, directory, model);
  const JsonDocument document(archive.program(), archive.program_record());
  const Version version = check_version(document.root(), document.has_bare_numbers());
  Exported exported = ProgramReader(archive, document.root(), schemas, watch).read();
  if (version.major == newest_major && version.minor > newest_minor)
    exported.program.notes.push_back({ir::LoadNote::Kind::other,
                                      {},
                                      "the file has schema version " + std::to_string(version.major) + "." +
                                          std::to_string(version.minor) +
                                          ", which is newer than this program knows: what it adds is ignored"});
  return exported;
}

}  // namespace compatcheck::frontend::pt2
