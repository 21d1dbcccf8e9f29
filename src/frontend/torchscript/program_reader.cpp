#include "frontend/torchscript/program_reader.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/operator_upgraders/upgraders_entry.h>

#include <cstring>
#include <map>
#include <new>
#include <optional>

#include "compatcheck/error.h"
#include "frontend/libtorch_message.h"
#include "frontend/native/program_reader.h"
#include "frontend/torchscript/graphs.h"
#include "frontend/torchscript/module_reader.h"
#include "frontend/torchscript/packed_parameters.h"
#include "frontend/torchscript/stubs.h"

namespace compatcheck::frontend::torchscript {
namespace {

using caffe2::serialize::PyTorchStreamReader;

class MappedReader : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit MappedReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::size_t size() const override { return bytes_.size(); }
  std::size_t read(std::uint64_t position, void* buffer, std::size_t count, const char*) const override {
    if (position >= bytes_.size()) return 0;
    count = std::min<std::size_t>(count, bytes_.size() - position);
    std::memcpy(buffer, bytes_.data() + position, count);
    return count;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

class ProgramReader {
 public:
  ProgramReader(const Archive& archive, PyTorchStreamReader& reader, Sources& sources, const Stubs& stubs)
      : archive_(archive),
        sources_(sources),
        weights_(archive, reader),
        module_(archive, reader, sources, weights_, stubs),
        values_(program_, types_, weights_),
        graphs_(program_, types_, values_, sources) {}

  ir::Program read() {
    const auto root = module_.read();
    if (!root->type()->getForwardHooks().empty() || !root->type()->getForwardPreHooks().empty())
      throw ModelError(std::string(native::top_hooks));
    program_.root = values_.object(root);
    convert_code();
    read_inputs(*root);
    describe_origin(*root);
    return std::move(program_);
  }

 private:
  // Until no graph names a class or function that isn't in the program.
  void convert_code() {
    for (;;) {
      const auto classes = types_.take_met();
      const auto functions = graphs_.take_called();
      if (classes.empty() && functions.empty()) return;
      for (const c10::NamedTypePtr& type : classes) add_class(type);
      for (torch::jit::Function* function : functions) graphs_.convert(*function);
    }
  }

  void add_class(const c10::NamedTypePtr& type) {
    if (!type->name()) return;
    const std::string name = type->name()->qualifiedName();
    ir::Class& made = program_.classes[name];
    if (!made.name.empty()) return;
    made.name = name;
    made.is_module = type->is_module();
    made.is_interface = type->kind() == c10::TypeKind::InterfaceType;
    const auto cls = type->cast<c10::ClassType>();
    if (!cls || is_opaque_class(*cls) || is_packed_parameters(*cls)) return;
    for (std::size_t i = 0; i < cls->numAttributes(); ++i)
      made.attributes.push_back({cls->getAttributeName(i), types_.convert(cls->getAttribute(i)),
                                 made.is_module && cls->is_parameter(i), made.is_module && cls->is_buffer(i)});
    for (std::size_t i = 0; i < cls->numConstants(); ++i)
      made.constants[cls->getConstantName(i)] = values_.convert(cls->getConstant(i));
    for (torch::jit::Function* method : cls->methods()) {
      if (!method->isGraphFunction()) continue;
      made.methods[method->name()] = method->qualname().qualifiedName();
      graphs_.convert(*method);
    }
  }

  void read_inputs(const c10::ivalue::Object& root) {
    const auto* forward = root.type()->findMethod("forward");
    if (!forward) return;
    std::vector<std::string> names;
    const auto& arguments = forward->getSchema().arguments();
    for (std::size_t i = 1; i < arguments.size(); ++i) names.push_back(arguments[i].name());
    program_.recorded_inputs = examples(names);
  }

  // A type is null if it isn't stated. Example inputs aren't part of the model, so those that can't be read are skipped.
  std::vector<ir::RecordedInput> examples(const std::vector<std::string>& names) {
    try {
      return module_.traced_inputs(names);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      program_.notes.push_back(
          {ir::LoadNote::Kind::other, "traced_inputs.pkl",
           "the example inputs that the model was traced with can't be read: " + first_sentence(error.what())});
      return {};
    }
  }

  void describe_origin(const c10::ivalue::Object& root) {
    const auto training = root.type()->findAttributeSlot("training");
    program_.training = training && root.getSlot(*training).isBool() && root.getSlot(*training).toBool();
    program_.traced = sources_.any_traced() || !program_.recorded_inputs.empty();
    std::string version = archive_.text(".data/version");
    if (version.empty()) version = archive_.text("version");
    if (!version.empty()) program_.producer = "file format " + version;
    program_.notes.insert(program_.notes.end(), module_.notes().begin(), module_.notes().end());
    if (!weights_.devices().empty()) {
      std::string devices;
      for (const std::string& device : weights_.devices()) devices += (devices.empty() ? "" : ", ") + device;
      program_.notes.push_back({ir::LoadNote::Kind::cuda_to_cpu, devices, "saved on " + devices + "; read as if saved on cpu"});
    }
    if (!weights_.unpacked().empty())
      program_.notes.push_back({ir::LoadNote::Kind::fallback_loader, weights_.unpacked().front(),
                                "the archive is compressed or big-endian: its weights were read into memory"});
  }

  const Archive& archive_;
  Sources& sources_;
  ir::Program program_;
  Types types_;
  Weights weights_;
  ModuleReader module_;
  Values values_;
  Graphs graphs_;
};

std::string readable(const std::string& message) {
  const std::string reason = first_sentence(message);
  return "libtorch can't load it: " + (reason.empty() ? "it doesn't say why" : reason);
}

// Old operators are replaced by upgraders, which libtorch compiles at a cost that few models need to bear.
bool wants_upgraders(const std::string& refusal) {
  static bool there = false;
  if (there || refusal.find("upgrader graph") == refusal.npos) return false;
  torch::jit::populate_upgraders_graph_map();
  return there = true;
}

// Again and again while a refusal teaches something.
ir::Program read_with_stubs(const Archive& archive, const std::vector<std::string>& schemas) {
  PyTorchStreamReader reader(std::make_shared<MappedReader>(archive.bytes()));
  Sources sources(archive, reader);
  Stubs stubs(archive, sources, schemas);
  std::optional<std::string> first_refusal;
  for (;;) {
    try {
      ir::Program program = ProgramReader(archive, reader, sources, stubs).read();
      stubs.describe(program);
      return program;
    } catch (const Error&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& refusal) {
      const std::string message = refusal.what();
      if (!first_refusal) first_refusal = message;
      if (!wants_upgraders(message) && !stubs.learn_from(message)) throw ModelError(readable(*first_refusal));
    }
  }
}

}  // namespace

ir::Program read_program(const std::string& path, const std::vector<std::string>& schemas) {
  const Archive archive(path);
  try {
    return read_with_stubs(archive, schemas);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& refusal) {  // the file isn't a torch archive at all
    throw ModelError(readable(refusal.what()));
  }
}

}  // namespace compatcheck::frontend::torchscript
