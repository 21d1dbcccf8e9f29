// The archive that torch.export.save writes: which of its four layouts it has, the record of the program, the tensors.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "files/input_file.h"
#include "files/zip.h"
#include "frontend/pt2/json.h"
#include "ir/constant.h"

namespace compatcheck::frontend::pt2 {

class Archive {
 public:
  // `model`: which program, where the archive holds several; may be empty. The file and its directory must outlive the archive.
  // Throws ModelError if it holds no exported program; the message says what the owner can do.
  Archive(const files::InputFile& file, const files::ZipDirectory& directory, const std::string& model);

  const std::string& program_record() const { return program_->name; }
  std::vector<std::uint8_t> program() const;

  // A parameter, buffer or constant by its name in the signature: a tensor, small ones with their bytes, or None for an object
  // that isn't a tensor. Nullopt if the archive has none of that name. Throws ModelError for a tensor that can't be read.
  std::optional<ir::Constant> stored(const std::string& name);
  // The arguments that the program was exported with: a tuple of the positional and a dict of the named ones. Nullopt where the
  // archive has none, or objects among them.
  std::optional<ir::Constant> sample_inputs() const;
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Placed {  // an entry of the configuration of weights or constants
    std::string record;
    std::optional<Json> meta;  // a tensor's metadata; read when the program uses the tensor
    bool pickled = false;
  };

  const files::ZipRecord* find(std::string_view name) const;
  void index_records();
  void find_program(const std::string& model);
  void check_marks() const;
  void read_configuration(const std::string& folder);
  void read_saved(const files::ZipRecord& record);
  void add_saved(const std::vector<std::uint8_t>& bytes);  // `bytes`: of a record that is compressed in the archive
  void add(ir::Constant dict);
  std::shared_ptr<const ir::Storage> storage_of(const std::string& record);
  ir::Constant placed(const std::string& name, const Placed& place);
  std::shared_ptr<const ir::Storage> with_small_bytes(std::shared_ptr<const ir::Storage> storage);

  const files::InputFile& file_;
  const files::ZipDirectory& directory_;
  std::string name_;  // name of the program: "model"
  std::string root_;  // the folder of all records, with its slash; empty in the layouts before torch 2.8
  std::unordered_map<std::string_view, const files::ZipRecord*> records_;
  const files::ZipRecord* program_ = nullptr;
  std::vector<std::unique_ptr<JsonDocument>> configurations_;
  std::unordered_map<std::string, Placed> placed_;
  std::unordered_map<std::string, ir::Constant> saved_;
  std::unordered_map<std::string, std::shared_ptr<const ir::Storage>> storages_;
  // The copy of each storage that was replaced. The key keeps the storage alive: otherwise a new one could get its address.
  std::map<std::shared_ptr<const ir::Storage>, std::shared_ptr<const ir::Storage>> replaced_;
  std::string samples_;  // the record of the sample inputs
  std::vector<std::string> notes_;
};

}  // namespace compatcheck::frontend::pt2
