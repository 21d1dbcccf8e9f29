// The objects that an archive's pickles hold, as entries of the program.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "files/saved_tensors.h"
#include "frontend/native/emitter.h"
#include "frontend/native/packed_parameters.h"
#include "ir/program.h"

namespace compatcheck::frontend::native {

class Objects {
 public:
  Objects(const files::InputFile& file, const files::ZipDirectory& directory, Code& code, ir::Program& program)
      : file_(file), directory_(directory), code_(code), program_(program) {}

  // Reads data.pkl or constants.pkl, with the types of the values. Throws ModelError.
  ir::Constant read(const std::string& name);  // "data"

  // The graph of a method, to run a __setstate__.
  std::function<const ir::Function&(const std::string& name, const FunctionSyntax&, const ClassDefinition&)> function_of{};

  ir::TypeRef type_of(const ir::Constant& value) const;
  const std::set<std::string>& devices() const { return devices_; }
  const std::vector<std::string>& unpacked() const { return unpacked_; }
  const std::vector<ir::LoadNote>& notes() const { return notes_; }
  // An object that is made of its parts; its index.
  std::uint32_t add(const PackedParameters& packed);

 private:
  class Reader;

  const files::InputFile& file_;
  const files::ZipDirectory& directory_;
  Code& code_;
  ir::Program& program_;
  std::set<std::string> devices_, noted_;
  std::vector<std::string> unpacked_;
  std::vector<ir::LoadNote> notes_;
};

}  // namespace compatcheck::frontend::native
