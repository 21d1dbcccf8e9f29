// Storages that point into the mapped archive, and tensors as places in it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>
#include <torch/csrc/jit/serialization/storage_context.h>

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/torchscript/archive.h"
#include "frontend/torchscript/pickle_scan.h"
#include "ir/constant.h"

namespace caffe2::serialize {
class PyTorchStreamReader;
}

namespace compatcheck::frontend::torchscript {

class Weights {
 public:
  Weights(const Archive& archive, caffe2::serialize::PyTorchStreamReader& reader)
      : archive_(archive), reader_(reader), big_endian_(archive.text("byteorder") == "big") {}

  // The storages that `pickle` ("data.pkl", its tensors below "data/") names, each checked to lie in the file whole.
  // Throws ModelError naming the record.
  std::shared_ptr<torch::jit::DeserializationStorageContext> map(const std::string& pickle, const std::string& folder);

  // Throws ModelError if the tensor reaches outside its storage. libtorch doesn't look, and reads wild memory later.
  void check(const at::Tensor& tensor) const;
  ir::Constant convert(const at::Tensor& tensor);

  const std::set<std::string>& devices() const { return devices_; }  // other than cpu, on which tensors were saved
  const std::vector<std::string>& unpacked() const {
    return unpacked_;
  }  // records that couldn't stay in the file: compressed, big-endian

 private:
  struct Origin {
    std::shared_ptr<const ir::Storage> storage;
    std::string device;
  };
  void map_storage(const PickledStorage& named, const std::string& folder, torch::jit::DeserializationStorageContext& context);
  c10::Storage storage_of(const Record& record, const PickledStorage& named);
  const Origin& origin_of(const at::Tensor& tensor);
  std::shared_ptr<const ir::Quantizer> quantizer_of(const at::Tensor& tensor);

  const Archive& archive_;
  caffe2::serialize::PyTorchStreamReader& reader_;
  bool big_endian_;
  std::unordered_map<const c10::StorageImpl*, Origin> origins_;
  std::vector<c10::Storage> alive_;  // the keys of origins_ stay valid
  std::set<std::string> devices_;
  std::vector<std::string> unpacked_;
};

}  // namespace compatcheck::frontend::torchscript
