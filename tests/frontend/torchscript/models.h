// The models of this folder's tests, and ways to look into a program.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "frontend/torchscript/program_reader.h"
#include "ir/program.h"

namespace compatcheck::frontend::torchscript {

inline std::filesystem::path models() { return COMPATCHECK_TEST_MODELS; }
inline std::string model(const std::string& name) { return (models() / (name + ".pt")).string(); }
inline std::string broken(const std::string& file) { return (std::filesystem::path(COMPATCHECK_TEST_BROKEN) / file).string(); }
inline ir::Program read(const std::string& name) { return read_program(model(name), {}); }

inline std::vector<const ir::LoadNote*> notes(const ir::Program& program, ir::LoadNote::Kind kind) {
  std::vector<const ir::LoadNote*> found;
  for (const ir::LoadNote& note : program.notes)
    if (note.kind == kind) found.push_back(&note);
  return found;
}

// Every node of every function, nested ones too.
inline std::vector<const ir::Node*> nodes(const ir::Program& program, const std::string& op = {}) {
  std::vector<const ir::Node*> found;
  for (const auto& [name, function] : program.functions)
    ir::for_each_node(*const_cast<ir::Graph&>(function.graph).top(), [&](const ir::Node* node) {
      if (op.empty() || node->is(op)) found.push_back(node);
    });
  return found;
}

inline const ir::Constant* attribute(const ir::Program& program, const ir::Object& object, const std::string& name) {
  const auto& attributes = program.classes.at(object.class_name).attributes;
  for (std::size_t i = 0; i < attributes.size(); ++i)
    if (attributes[i].name == name) return &object.attributes.at(i);
  return nullptr;
}

inline std::vector<const ir::Object*> objects_of(const ir::Program& program, const std::string& class_ending) {
  std::vector<const ir::Object*> found;
  for (const ir::Object& object : program.objects)
    if (object.class_name.ends_with(class_ending)) found.push_back(&object);
  return found;
}

// Tensors that objects hold, by attribute name.
inline void for_each_tensor(const ir::Program& program,
                            const std::function<void(const std::string&, const ir::TensorView&)>& visit) {
  for (const ir::Object& object : program.objects)
    for (std::size_t i = 0; i < object.attributes.size(); ++i)
      if (const auto* tensor = object.attributes[i].get<ir::TensorView>())
        visit(program.classes.at(object.class_name).attributes.at(i).name, *tensor);
}

inline std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What a storage holds, wherever it is.
inline std::string bytes_of(const ir::Storage& storage, const std::string& file) {
  return storage.in_file ? file.substr(storage.file_offset, storage.bytes)
                         : std::string(storage.data.begin(), storage.data.end());
}

}  // namespace compatcheck::frontend::torchscript
