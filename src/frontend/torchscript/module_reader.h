// From the archive's pickles and code to libtorch's objects and compiled methods, weights left in the file.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/serialization/import_source.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "frontend/torchscript/archive.h"
#include "frontend/torchscript/sources.h"
#include "frontend/torchscript/stubs.h"
#include "frontend/torchscript/weights.h"
#include "ir/program.h"

namespace compatcheck::frontend::torchscript {

class ModuleReader {
 public:
  ModuleReader(const Archive& archive, caffe2::serialize::PyTorchStreamReader& reader, Sources& sources, Weights& weights,
               const Stubs& stubs);

  // The object that the file holds. Throws ModelError, or libtorch's own exceptions.
  c10::intrusive_ptr<c10::ivalue::Object> read();
  // The types of the example inputs of forward; null where the file doesn't state one, empty if the archive has no examples.
  std::vector<ir::RecordedInput> traced_inputs(const std::vector<std::string>& names);
  const std::vector<ir::LoadNote>& notes() const { return notes_; }

 private:
  c10::IValue unpickle(const std::string& name);
  c10::StrongTypePtr resolve(const c10::QualifiedName& name);
  c10::intrusive_ptr<c10::ivalue::Object> make_object(const c10::StrongTypePtr& type, c10::IValue state);
  void set_state(const c10::intrusive_ptr<c10::ivalue::Object>& object, torch::jit::Function& method, const c10::IValue& state);
  void check_tensors(const c10::IValue& value, std::size_t depth = 0);

  caffe2::serialize::PyTorchStreamReader& reader_;
  Weights& weights_;
  const Archive& archive_;
  std::shared_ptr<torch::jit::CompilationUnit> unit_;
  std::vector<c10::IValue> constants_;
  torch::jit::SourceImporter importer_;
  std::vector<ir::LoadNote> notes_;
  std::set<std::string> noted_;
  std::size_t checked_ = 0;
};

}  // namespace compatcheck::frontend::torchscript
