#include "examples/elements.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "compatcheck/error.h"
#include "files/extent.h"

namespace compatcheck::examples {
namespace {

using Bytes = std::vector<std::uint8_t>;

class Reading {
 public:
  Reading(const files::InputFile& file, const files::ZipDirectory* directory) : file_(file), directory_(directory) {}

  void read(ir::Constant& value) {
    if (auto* view = value.get<ir::TensorView>()) tensor(*view);
    if (auto* list = value.get<ir::ListConstant>())
      for (ir::Constant& item : list->items) read(item);
    if (auto* tuple = value.get<ir::TupleConstant>())
      for (ir::Constant& item : tuple->items) read(item);
    if (auto* dict = value.get<ir::DictConstant>())
      for (auto& [key, item] : dict->items) read(item);
  }

 private:
  void tensor(ir::TensorView& view) {
    const std::size_t width = ir::element_bytes(view.dtype);
    if (!view.storage || width == 0)
      throw ModelError("holds a tensor without elements (of a meta device, or of less than a byte each)");
    const auto count = static_cast<std::uint64_t>(view.elements());
    allow(count, width);
    const Bytes& from = bytes_of(view.storage);
    if (!files::fits(files::reach(view.offset, view.sizes, view.strides), width, from.size()))
      throw ModelError("holds a tensor that reaches outside its storage");
    auto storage = std::make_shared<ir::Storage>();
    storage->bytes = count * width;
    storage->data.resize(storage->bytes);
    if (count > 0) copy(view, from, storage->data, width);
    view.storage = std::move(storage);
    view.offset = 0;
    std::int64_t stride = 1;
    for (std::size_t dim = view.sizes.size(); dim-- > 0;)
      view.strides[dim] = std::exchange(stride, stride * std::max<std::int64_t>(view.sizes[dim], 1));
  }

  // An expanded tensor has few bytes in the file and many elements.
  void allow(std::uint64_t count, std::size_t width) {
    if (count > (most_element_bytes - used_) / width) throw ModelError("holds more than 4 GB of tensors");
    used_ += count * width;
  }

  static void copy(const ir::TensorView& view, const Bytes& from, Bytes& to, std::size_t width) {
    const auto start = static_cast<std::size_t>(view.offset) * width;
    if (view.contiguous()) return void(std::memcpy(to.data(), from.data() + start, to.size()));
    std::vector<std::int64_t> place(view.sizes.size());
    for (std::size_t at = 0; at < to.size(); at += width) {
      const auto element =
          static_cast<std::size_t>(std::inner_product(place.begin(), place.end(), view.strides.begin(), view.offset));
      std::memcpy(to.data() + at, from.data() + element * width, width);
      for (std::size_t dim = place.size(); dim-- > 0;) {
        if (++place[dim] < view.sizes[dim]) break;
        place[dim] = 0;
      }
    }
  }

  const Bytes& bytes_of(const std::shared_ptr<const ir::Storage>& storage) {
    const auto [known, added] = read_.try_emplace(storage);
    if (!added) return known->second;
    if (storage->bytes > most_element_bytes) throw ModelError("holds more than 4 GB of tensors");
    if (storage->in_file) return known->second = file_.read(storage->file_offset, storage->bytes);
    if (storage->bytes == 0) return known->second;
    const auto* record = directory_ ? record_named(storage->record) : nullptr;
    if (!record) throw ModelError("keeps its elements one by one: save them as raw_data (onnx.numpy_helper.from_array does)");
    Bytes all = files::read_zip_record(file_, *record, record->unpacked);
    if (all.size() < storage->bytes) throw ModelError("record " + storage->record + " is cut short or damaged");
    return known->second = Bytes(all.end() - static_cast<std::ptrdiff_t>(storage->bytes), all.end());  // behind an array's head
  }

  const files::ZipRecord* record_named(const std::string& name) const {
    if (const auto* record = directory_->find(name)) return record;
    const auto found = std::ranges::find(directory_->records, name, &files::ZipRecord::name);
    return found == directory_->records.end() ? nullptr : &*found;
  }

  const files::InputFile& file_;
  const files::ZipDirectory* directory_;
  std::map<std::shared_ptr<const ir::Storage>, Bytes> read_;
  std::uint64_t used_ = 0;
};

}  // namespace

void read_elements(ir::Constant& value, const files::InputFile& file, const files::ZipDirectory* directory) {
  Reading(file, directory).read(value);
}

}  // namespace compatcheck::examples
