#include "frontend/pt2/archive.h"

#include <zlib.h>

#include <algorithm>

#include "compatcheck/error.h"
#include "files/extent.h"
#include "files/saved_object.h"
#include "frontend/pt2/json.h"
#include "frontend/pt2/tensor_meta.h"
#include "process/spell_count.h"

namespace compatcheck::frontend::pt2 {
namespace {

constexpr std::uint64_t longest_json = 512 << 20, most_inflation = 1000;
constexpr std::uint64_t most_unpacked = std::uint64_t{1} << 30;  // largest size of a deflated record of weights
constexpr std::size_t most_saved_values = 1 << 20;
constexpr std::string_view flat_program = "serialized_exported_program.json";
constexpr std::string_view save_again = "; save the program again with torch.export.save";

std::vector<std::uint8_t> contents(const files::InputFile& file, const files::ZipRecord& record, std::uint64_t at_most,
                                   std::string_view what) {
  if (record.unpacked > at_most || (record.compressed && record.unpacked / most_inflation > record.stored))
    throw ModelError("record " + record.name + " is too large for " + std::string(what));
  auto bytes = read_zip_record(file, record, at_most);
  if (crc32_z(0, bytes.data(), bytes.size()) != record.crc)
    throw ModelError("record " + record.name + " is damaged: its checksum does not match");
  return bytes;
}

std::string text_of(const files::InputFile& file, const files::ZipRecord* record) {
  if (!record) return {};
  const auto bytes = read_zip_record(file, *record, 64);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Archive::Archive(const files::InputFile& file, const files::ZipDirectory& directory, const std::string& model)
    : file_(file), directory_(directory) {
  index_records();
  find_program(model);
  if (root_.empty()) {
    for (const std::string_view name :
         {"serialized_state_dict.pt", "serialized_state_dict.json", "serialized_constants.pt", "serialized_constants.json"})
      if (const auto* record = find(name)) read_saved(*record);
    samples_ = "serialized_example_inputs.pt";
    return;
  }
  check_marks();
  samples_ = "data/sample_inputs/" + name_ + ".pt";
  for (const std::string folder : {"data/weights/", "data/constants/"}) {
    if (const auto* record = find(folder + name_ + ".pt")) read_saved(*record);
    read_configuration(folder);
  }
}

const files::ZipRecord* Archive::find(std::string_view name) const {
  const auto found = records_.find(root_ + std::string(name));
  return found == records_.end() ? nullptr : found->second;
}

// Records must have one name each and places of their own.
void Archive::index_records() {
  std::vector<const files::ZipRecord*> in_order;
  for (const files::ZipRecord& record : directory_.records) {
    if (!records_.emplace(record.name, &record).second)
      throw ModelError("is a damaged zip archive: two records have the name " + record.name);
    in_order.push_back(&record);
  }
  std::ranges::sort(in_order, {}, &files::ZipRecord::header);
  for (std::size_t i = 0; i + 1 < in_order.size(); ++i)
    if (in_order[i + 1]->header - in_order[i]->header < in_order[i]->stored)
      throw ModelError("is a damaged zip archive: records " + in_order[i]->name + " and " + in_order[i + 1]->name + " overlap");
  if (records_.contains(flat_program)) return;
  root_ = directory_.top;
  for (const files::ZipRecord& record : directory_.records)
    if (!record.name.starts_with(root_)) throw ModelError("has records outside of its folder " + root_ + ": " + record.name);
}

void Archive::find_program(const std::string& model) {
  if ((program_ = find(flat_program))) {
    name_ = "model";
    if (!model.empty() && model != name_)
      throw UsageError("LoadOptions::model " + model + ": the archive holds one program, which has no name");
    return;
  }
  std::map<std::string, const files::ZipRecord*> programs;
  const std::string folder = root_ + "models/";
  bool compiled = false, executorch = false;
  for (const files::ZipRecord& record : directory_.records) {
    const std::string_view name = record.name;
    if (name.starts_with(folder) && name.ends_with(".json"))
      programs.emplace(name.substr(folder.size(), name.size() - folder.size() - 5), &record);
    if (name.starts_with(root_)) {
      compiled = compiled || name.substr(root_.size()).starts_with("data/aotinductor/");
      executorch = executorch || name.substr(root_.size()).starts_with("data/executorch/");
    }
  }
  if (programs.empty() && compiled)
    throw ModelError(
        "holds a model compiled by AOTInductor, machine code for one device without the program; export the model again "
        "and save it with torch.export.save");
  if (programs.empty() && executorch)
    throw ModelError(
        "holds an ExecuTorch program, which is lowered for a backend; save the exported program with torch.export.save");
  if (programs.empty())
    throw ModelError("is an archive of torch.export without a program: saving it may have been interrupted" +
                     std::string(save_again));
  if (compiled) notes_.push_back("ignored the code that AOTInductor compiled: the program in the archive is converted");
  std::string names;
  for (const auto& [name, record] : programs) names += (names.empty() ? "" : ", ") + name;
  const auto chosen = model.empty() && programs.size() == 1 ? programs.begin() : programs.find(model);
  if (chosen == programs.end() && model.empty())
    throw ModelError("holds several programs: choose one with LoadOptions::model (" + names + ")");
  if (chosen == programs.end()) throw UsageError("LoadOptions::model " + model + ": the archive holds " + names);
  name_ = chosen->first;
  program_ = chosen->second;
}

void Archive::check_marks() const {
  if (const auto version = text_of(file_, find("archive_version")); !version.empty() && version != "0")
    throw ModelError("is an archive of version " + version + ", which is newer than this program supports (0)");
  files::refuse_big_endian(file_, directory_);
}

std::vector<std::uint8_t> Archive::program() const { return contents(file_, *program_, longest_json, "a program"); }

void Archive::read_configuration(const std::string& folder) {
  const std::string kind = folder == "data/weights/" ? "weights" : "constants";
  const files::ZipRecord* record = find(folder + name_ + "_" + kind + "_config.json");
  if (!record) return;
  const auto& document = configurations_.emplace_back(
      std::make_unique<JsonDocument>(contents(file_, *record, longest_json, "a list of tensors"), record->name));
  for (const Json& entry : document->root().at("config").members()) {
    Placed place;
    const Json path = entry.at("path_name");
    if (path.text().empty() || path.text().find('/') != std::string_view::npos) path.fail("is no name of a record");
    place.record = folder + std::string(path.text());
    const auto pickled = entry.find("use_pickle");
    place.pickled = pickled && !pickled->is_null() && pickled->boolean();
    if (const Json meta = entry.at("tensor_meta"); !meta.is_null()) place.meta = meta;
    placed_.try_emplace(std::string(entry.key()), std::move(place));  // weights come before constants
  }
}

void Archive::read_saved(const files::ZipRecord& record) {
  if (record.unpacked == 0) return;
  if (record.compressed) return add_saved(contents(file_, record, most_unpacked, "compressed weights"));
  const auto nested = files::read_zip_directory(file_, contents_offset(file_, record), record.stored);
  files::fetch_small_records(file_, nested);
  if (nested.find("data.pkl")) add(files::read_saved_object(file_, nested, most_saved_values));
}

void Archive::add_saved(const std::vector<std::uint8_t>& bytes) {
  const files::InputFile unpacked(bytes);
  const auto directory = files::read_zip_directory(unpacked);
  if (!directory.find("data.pkl")) throw ModelError("holds weights that torch.save didn't write");
  ir::Constant dict = files::read_saved_object(unpacked, directory, most_saved_values);
  if (auto* held = dict.get<ir::DictConstant>())
    for (auto& [key, value] : held->items)
      if (auto* view = value.get<ir::TensorView>(); view && view->storage && view->storage->in_file) {
        auto& storage = replaced_[view->storage];
        if (!storage) {
          auto copy = std::make_shared<ir::Storage>(*view->storage);
          copy->data = unpacked.read(copy->file_offset, copy->bytes);
          copy->in_file = false;
          storage = std::move(copy);
        }
        view->storage = storage;
      }
  add(std::move(dict));
}

void Archive::add(ir::Constant dict) {
  auto* held = dict.get<ir::DictConstant>();
  if (!held) throw ModelError("holds weights that are no dictionary");
  for (auto& [key, value] : held->items)
    if (const auto* name = key.get<std::string>()) saved_.try_emplace(*name, std::move(value));
}

std::shared_ptr<const ir::Storage> Archive::storage_of(const std::string& record_name) {
  auto& storage = storages_[record_name];
  if (storage) return storage;
  const files::ZipRecord* record = find(record_name);
  if (!record) throw ModelError("record " + record_name + " is missing: a tensor's values aren't in the file");
  auto made = std::make_shared<ir::Storage>();
  made->record = record_name;
  made->bytes = record->unpacked;
  made->in_file = !record->compressed;
  if (made->in_file)
    made->file_offset = weights_offset(file_, *record);
  else
    made->data = contents(file_, *record, most_unpacked, "compressed weights");
  return storage = with_small_bytes(std::move(made));
}

std::shared_ptr<const ir::Storage> Archive::with_small_bytes(std::shared_ptr<const ir::Storage> storage) {
  if (!storage || !storage->in_file || storage->bytes > files::small_storage_bytes) return storage;
  auto& small = replaced_[storage];
  if (!small) {
    auto copy = std::make_shared<ir::Storage>(*storage);
    copy->data = file_.read(copy->file_offset, copy->bytes);
    small = std::move(copy);
  }
  return small;
}

ir::Constant Archive::placed(const std::string& name, const Placed& place) {
  if (!place.meta) return {};
  if (place.pickled)
    throw ModelError("the tensor " + name +
                     " is a pickled object of a tensor subclass, which isn't supported: unwrap it before exporting "
                     "(torch.nn.utils.parametrize or torchao's unwrap_tensor_subclass)");
  ir::TensorView view = stored_view(*place.meta);
  view.storage = storage_of(place.record);
  const auto reached = files::reach(view.offset, view.sizes, view.strides);
  if (!reached || view.strides.size() != view.sizes.size()) throw ModelError("the tensor " + name + " has impossible sizes");
  const std::size_t element = ir::element_bytes(view.dtype);
  if (view.storage->bytes == 0 && *reached > 0)
    throw ModelError("the tensor " + name + " was saved without its values (a fake or meta tensor)" + std::string(save_again) +
                     " with real weights");
  if (!files::fits(reached, element, view.storage->bytes))
    throw ModelError("the tensor " + name + " reaches outside its record of " + spell_count(view.storage->bytes, "byte") + " (" +
                     place.record + ")");
  return {std::move(view)};
}

std::optional<ir::Constant> Archive::stored(const std::string& name) {
  if (const auto found = placed_.find(name); found != placed_.end()) return placed(name, found->second);
  const auto found = saved_.find(name);
  if (found == saved_.end()) return std::nullopt;
  if (auto* view = found->second.get<ir::TensorView>()) {
    if (!view->storage) throw ModelError("the tensor " + name + " was saved without its values (a fake or meta tensor)");
    if (!view->storage->in_file && view->storage->data.size() < view->storage->bytes)
      throw ModelError("the tensor " + name + " lies in a compressed record of a saved file" + std::string(save_again));
    view->storage = with_small_bytes(view->storage);
    return found->second;
  }
  return ir::Constant{};
}

std::optional<ir::Constant> Archive::sample_inputs() const {
  const files::ZipRecord* record = find(samples_);
  if (!record || record->unpacked == 0 || record->compressed) return std::nullopt;
  try {
    return files::read_saved_object(file_, files::read_zip_directory(file_, contents_offset(file_, *record), record->stored));
  } catch (const ModelError&) {  // objects among them: the program is whole without examples
    return std::nullopt;
  }
}

}  // namespace compatcheck::frontend::pt2
