#include "frontend/native/program_reader.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <set>

#include "frontend/native/object_order.h"
#include "frontend/native/objects.h"
#include "frontend/traced_types.h"

namespace compatcheck::frontend::native {
namespace {

using ir::LoadNote;

constexpr std::uint64_t newest_format = 10;  // PyTorch 2.13: caffe2/serialize/versions.h
constexpr std::uint64_t longest_input_record = 1ull << 30;

class ArchiveReader {
 public:
  ArchiveReader(const files::InputFile& file, const files::ZipDirectory& directory, const schema::Registry& schemas, Stubs& stubs,
                const ir::Watch& watch)
      : file_(file),
        directory_(directory),
        definitions_(file, directory),
        code_{.definitions = definitions_, .schemas = schemas, .stubs = stubs, .watch = watch},
        objects_(file, directory, code_, program_) {
    code_.called = [this](const FunctionDefinition& function) { want(function.name, *function.syntax, *function.file, nullptr); };
    code_.outlined = [this](const std::string& name, ir::Function body) { return outlined(name, std::move(body)); };
    objects_.function_of = [this](const std::string& name, const FunctionSyntax& syntax,
                                  const ClassDefinition& of) -> const ir::Function& {
      return function(name, syntax, *of.file, of.type);
    };
  }

  ir::Program read(const OtherSchemas& others) {
    if (directory_.find("model.json"))
      throw ModelError("is an archive as torch 1.0 to 1.2 wrote them; load it with torch.jit.load and save it again");
    read_version();
    read_constants();
    const ir::Constant root = objects_.read("data");
    const auto* object = root.get<ir::ObjectConstant>();
    if (!object) throw ModelError("its data.pkl holds no module, but a value of type " + annotation(*ir::type_of(root)));
    program_.root = object->object;
    std::vector<ir::Constant*> constants;
    for (auto& [constant, type] : code_.constants) constants.push_back(&constant);
    order_objects(program_, constants);
    program_.functions.clear();  // those that set states were made before
    queued_.clear();
    queue_.clear();
    if (const ClassDefinition* cls = definitions_.find_class(program_.objects[program_.root].class_name); cls && cls->has_hooks)
      throw ModelError(std::string(top_hooks));
    convert_code();
    read_inputs();
    describe(others);
    return std::move(program_);
  }

 private:
  struct Queued {
    std::string name;
    const FunctionSyntax* syntax;
    CodeFile* file;
    ir::TypeRef self;
  };

  std::string text(const char* name) const {
    const files::ZipRecord* record = directory_.find(name);
    if (!record) return {};
    const auto bytes = files::read_zip_record(file_, *record, 64);
    std::string found(bytes.begin(), bytes.end());
    while (!found.empty() && (found.back() == '\n' || found.back() == '\r' || found.back() == ' ')) found.pop_back();
    return found;
  }

  void read_version() {
    version_ = text(".data/version");
    if (version_.empty()) version_ = text("version");
    if (version_.empty()) throw ModelError("is damaged: it doesn't state the version of its file format");
    const auto [end, error] = std::from_chars(version_.data(), version_.data() + version_.size(), code_.version);
    if (error != std::errc{} || end != version_.data() + version_.size() || code_.version < 1 || code_.version > newest_format)
      throw ModelError("has the file format version " + version_ + "; versions 1 to " + std::to_string(newest_format) +
                       " can be read");
    program_.producer = "file format " + version_;
  }

  void read_constants() {
    if (!directory_.find("constants.pkl")) return;
    const ir::Constant table = objects_.read("constants");
    const auto* tuple = table.get<ir::TupleConstant>();
    if (!tuple) throw ModelError("record constants.pkl holds no tuple");
    for (const ir::Constant& constant : tuple->items) code_.constants.emplace_back(constant, objects_.type_of(constant));
  }

  void want(const std::string& name, const FunctionSyntax& syntax, CodeFile& file, const ir::TypeRef& self) {
    if (queued_.insert(name).second) queue_.push_back({name, &syntax, &file, self});
  }

  const ir::Function& function(const std::string& name, const FunctionSyntax& syntax, CodeFile& file, const ir::TypeRef& self) {
    if (const auto known = program_.functions.find(name); known != program_.functions.end()) return known->second;
    queued_.insert(name);
    ir::Function made = emit(code_, name, syntax, file, self);
    return program_.functions.emplace(name, std::move(made)).first->second;
  }

  std::string outlined(const std::string& base, ir::Function body) {
    std::string name = base;
    for (int n = 1; program_.functions.contains(name); ++n) name = base + std::to_string(n);
    body.name = name;
    program_.functions.emplace(name, std::move(body));
    return name;
  }

  // Until no graph names a class or function that isn't in the program.
  void convert_code() {
    for (;;) {
      for (const ClassDefinition* cls : definitions_.take_met()) add_class(*cls);
      if (queue_.empty()) return;
      const Queued next = queue_.front();
      queue_.pop_front();
      function(next.name, *next.syntax, *next.file, next.self);
    }
  }

  void add_class(const ClassDefinition& from) {
    if (from.kind == ClassDefinition::Kind::named_tuple) return;
    ir::Class& made = program_.classes[from.name];
    if (!made.name.empty()) return;
    made.name = from.name;
    made.is_module = from.is_module();
    made.is_interface = from.is_interface();
    if (from.kind != ClassDefinition::Kind::plain && from.kind != ClassDefinition::Kind::module) return;
    for (const Attribute& attribute : from.attributes)
      made.attributes.push_back(
          {attribute.name, attribute.type, made.is_module && attribute.is_parameter, made.is_module && attribute.is_buffer});
    for (const auto& [name, value] : from.finals) made.constants[name] = constant_value(code_, *value, from.final_type(name));
    for (const FunctionSyntax& method : from.syntax->methods) {
      const std::string name = from.name + "." + std::string(method.name);
      made.methods[std::string(method.name)] = name;
      want(name, method, *from.file, from.type);
    }
  }

  void read_inputs() {
    const auto forward = program_.functions.find(program_.objects[program_.root].class_name + ".forward");
    const files::ZipRecord* record = directory_.find("traced_inputs.pkl");
    if (!record || forward == program_.functions.end()) return;
    std::vector<std::string> names;
    for (const auto& parameter : forward->second.parameters | std::views::drop(1)) names.push_back(parameter.name);
    try {
      program_.recorded_inputs = traced_inputs(files::read_zip_record(file_, *record, longest_input_record), names);
    } catch (const ModelError& error) {
      program_.notes.push_back({LoadNote::Kind::other, "traced_inputs.pkl",
                                "the example inputs that the model was traced with can't be read: " + std::string(error.what())});
    }
  }

  // States schemas of operators that can be converted, but not run: neither PyTorch nor a loaded library registers them.
  void state_schemas(const OtherSchemas& others) {
    static constexpr std::string_view helpers_own[] = {"torchvision::nms", "torchvision::roi_align", "torchvision::roi_pool"};
    const auto names = [](const std::vector<std::string>& schemas) {
      std::set<std::string> found;
      for (const std::string& text : schemas) found.insert(schema::parse(text).name);
      return found;
    };
    const std::set<std::string> users = names(others.users), registered = names(others.libraries);
    const schema::Registry shipped;
    for (const std::string& op : code_.operators) {
      const bool torchvisions = op.starts_with("torchvision::") && std::ranges::find(helpers_own, op) == std::end(helpers_own);
      if (registered.contains(op) || !(torchvisions || (users.contains(op) && !shipped.contains(op)))) continue;
      for (const schema::Schema* overload : code_.schemas.overloads(op))
        program_.stub_schemas.push_back(schema::to_string(*overload));
    }
  }

  void describe(const OtherSchemas& others) {
    state_schemas(others);
    const ir::Object& root = program_.objects[program_.root];
    const auto& attributes = program_.classes[root.class_name].attributes;
    for (std::size_t i = 0; i < attributes.size() && i < root.attributes.size(); ++i)
      if (attributes[i].name == "training" && root.attributes[i].get<bool>()) program_.training = *root.attributes[i].get<bool>();
    program_.traced = code_.traced || !program_.recorded_inputs.empty();
    program_.notes.insert(program_.notes.end(), objects_.notes().begin(), objects_.notes().end());
    std::string devices;
    for (const std::string& device : objects_.devices()) devices += (devices.empty() ? "" : ", ") + device;
    if (!devices.empty())
      program_.notes.push_back({LoadNote::Kind::cuda_to_cpu, devices, "saved on " + devices + "; read as if saved on cpu"});
    code_.stubs.describe(program_);
    for (const auto& [name, cls] : program_.classes)
      if (name.starts_with(custom_class_prefix) && !is_packed_parameters(name))
        program_.notes.push_back(
            {LoadNote::Kind::opaque_class, name, "no library registers the class " + name + "; its objects are opaque"});
    if (!objects_.unpacked().empty())
      program_.notes.push_back({LoadNote::Kind::fallback_loader, objects_.unpacked().front(),
                                "the archive is compressed or big-endian: its weights were read into memory"});
  }

  const files::InputFile& file_;
  const files::ZipDirectory& directory_;
  ir::Program program_;
  Definitions definitions_;
  Code code_;
  Objects objects_;
  std::string version_;
  std::set<std::string> queued_;
  std::deque<Queued> queue_;
};

}  // namespace

ir::Program read_program(const files::InputFile& file, const files::ZipDirectory& directory, const OtherSchemas& schemas,
                         const ir::Watch& watch) {
  schema::Registry registry;
  for (const auto* texts : {&schemas.users, &schemas.libraries})
    for (const std::string& text : *texts) registry.add(text);
  Stubs stubs;
  for (;;) {
    try {
      ir::Program program = ArchiveReader(file, directory, registry, stubs, watch).read(schemas);
      program.library_schemas = schemas.libraries;
      return program;
    } catch (const Unsupported&) {
      if (!stubs.try_other_results()) throw;
    }
  }
}

}  // namespace compatcheck::frontend::native
