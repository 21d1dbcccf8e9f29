// The IR's types and constants as c10's, for running.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>
#include <torch/csrc/jit/api/compilation_unit.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "frontend/torchscript/archive.h"
#include "ir/constant.h"
#include "ir/graph.h"
#include "ir/type.h"

namespace compatcheck::frontend::torchscript {

// The sources of data that constants refer to.
struct ConstantSources {
  std::string file;                                          // the file that holds the storages
  std::function<c10::IValue(std::uint32_t)> object;          // an object of Program::objects
  std::function<torch::jit::CompilationUnit&()> classes;     // classes of the loaded module
  std::function<const ir::Graph&(const std::string&)> body;  // a graph of Program::functions, if libtorch doesn't know it
};

class ConstantReader {
 public:
  explicit ConstantReader(ConstantSources sources) : sources_(std::move(sources)) {}

  // Tensors that share a storage in the IR share one here. Throws ModelError for what can't be run.
  c10::IValue read(const ir::Constant& constant);
  // Tensor types lose what they say of shapes: lists of them are Tensor[] to every operator.
  c10::TypePtr type(const ir::Type& type);
  torch::jit::Function& function(const std::string& name);
  const ConstantSources& sources() const { return sources_; }

 private:
  at::Tensor tensor(const ir::TensorView& view);
  at::Tensor quantized(const at::Tensor& numbers, const ir::TensorView& view) const;
  c10::Storage storage(const std::shared_ptr<const ir::Storage>& storage);
  c10::IValue list(const ir::ListConstant& list);
  c10::IValue dict(const ir::DictConstant& dict);
  c10::IValue enumerator(const ir::EnumConstant& held);
  c10::TypePtr named(const std::string& name);

  ConstantSources sources_;
  std::optional<files::InputFile> file_;
  std::optional<MappedFile> mapped_;
  struct Known {
    std::shared_ptr<const ir::Storage> keeps_alive;
    c10::Storage storage;
  };
  std::unordered_map<const ir::Storage*, Known> storages_;
};

// prim::ListConstruct and its like: the element type decides, even of an empty list.
c10::IValue make_list(const c10::TypePtr& element, const std::vector<c10::IValue>& items);

}  // namespace compatcheck::frontend::torchscript
