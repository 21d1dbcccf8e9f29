// A snapshot's tables, and reading what refers to them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/snapshot_format.h"
#include "frontend/wire.h"
#include "ir/constant.h"
#include "ir/location.h"
#include "ir/type.h"

namespace compatcheck::frontend {

class SnapshotReader : public wire::Reader {
 public:
  // Reads the tables; what follows is the body.
  SnapshotReader(std::span<const std::uint8_t> bytes, snapshot_format::Content content);

  // By the number that comes next.
  const std::string& text() { return at(texts_); }
  const ir::TypeRef& type() { return at(types_); }
  const ir::LocationRef& location() { return at(locations_); }
  const std::shared_ptr<const ir::Storage>& storage() { return at(storages_); }
  template <class Item>
  const Item& at(const std::vector<Item>& table) {
    const std::uint64_t number = unsigned_number();
    if (number >= table.size()) damaged("it refers to what isn't there");
    return table[static_cast<std::size_t>(number)];
  }

  std::vector<std::string> texts();
  ir::DType dtype();
  std::vector<std::int64_t> numbers();
  std::shared_ptr<const ir::Quantizer> quantizer();  // may be null

 private:
  void read_texts();
  void read_types();
  void read_locations();
  void read_storages();
  ir::TensorType tensor_type();
  std::optional<std::vector<std::optional<std::int64_t>>> optional_numbers();

  std::vector<std::string> texts_;
  std::vector<ir::TypeRef> types_;
  std::vector<ir::LocationRef> locations_;
  std::vector<std::shared_ptr<const ir::Storage>> storages_;
};

}  // namespace compatcheck::frontend
