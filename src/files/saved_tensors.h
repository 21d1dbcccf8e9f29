// Tensors as torch's picklers write them: by the arguments of torch._utils._rebuild_tensor_v2 and its kin.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compatcheck/error.h"
#include "files/input_file.h"
#include "files/pickle_tree.h"
#include "files/zip.h"
#include "ir/constant.h"

namespace compatcheck::files {

// A tensor that is as torch writes it, and that only torch reads.
struct UnsupportedTensor : ModelError {
  using ModelError::ModelError;
};

class SavedTensors {
 public:
  // `folder`: of the records that hold the elements, "data/".
  SavedTensors(const InputFile& file, const ZipDirectory& directory, const PickleTree& tree, std::string folder);

  static bool rebuilds(std::string_view function);  // "torch._utils._rebuild_tensor_v2"
  // Throws ModelError, which names the record where there is one. Tensors that share a storage share it here, too.
  ir::Constant rebuilt(std::string_view function, const PickleItem& arguments, int depth = 0);

  const std::set<std::string>& devices() const { return devices_; }       // other than cpu
  const std::vector<std::string>& unpacked() const { return unpacked_; }  // records that couldn't stay in the file

 private:
  struct NamedStorage;
  struct Place {
    std::shared_ptr<const ir::Storage> storage;
    std::string device;
  };
  const PickleItem& at(PickleItemId id) const { return tree_.items[id]; }
  ir::Constant wrapped(const PickleItem& tensor, int depth);
  void set_quantizer(ir::TensorView& tensor, const PickleItem& parameters) const;
  ir::DType dtype(const PickleItem& item) const;
  std::vector<std::int64_t> integers(const PickleItem& item) const;
  std::vector<std::int64_t> plain_integers(const PickleItem& item) const;
  NamedStorage storage_named(const PickleItem& item) const;
  ir::Constant tensor(const PickleItem& storage, const PickleItem& offset, const PickleItem& sizes, const PickleItem& strides,
                      std::optional<ir::DType> stated);
  const Place& stored_at(const NamedStorage& named);
  void unpack(const ZipRecord& record);
  std::shared_ptr<const ir::Storage> storage_of(const NamedStorage& named);

  const InputFile& file_;
  const ZipDirectory& directory_;
  const PickleTree& tree_;
  std::string folder_;
  bool big_endian_;
  std::unordered_map<std::string, Place> storages_;
  std::set<std::string> devices_;
  std::vector<std::string> unpacked_;
  std::uint64_t unpacked_bytes_ = 0;
};

// Whether the archive states that its numbers are big-endian.
bool is_big_endian(const InputFile& file, const ZipDirectory& directory);

}  // namespace compatcheck::files
