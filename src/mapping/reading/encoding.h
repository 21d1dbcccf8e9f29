// Tables as one string of bytes that is compiled in: opened without reading it, each operator decoded when it is
// first asked for. Safe to read from several threads.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mapping/reading/folder.h"

namespace compatcheck::mapping {

std::string encode(const Tables& tables);

class EncodedTables {
 public:
  explicit EncodedTables(std::string_view bytes);  // `bytes` must outlive it
  explicit EncodedTables(std::string&& bytes);

  std::size_t size() const { return size_; }
  std::string_view name(std::size_t i) const { return slots_[i].name; }  // sorted
  const OperatorRows& rows(std::size_t i) const;
  const OperatorRows* find(std::string_view name) const;  // null if it isn't there

  const std::vector<OnnxChange>& changes() const { return lists().changes; }
  const std::vector<Listed>& structural() const { return lists().structural; }
  const std::vector<std::string>& schemas() const { return lists().schemas; }  // the schemas that rows state
  std::string_view source(std::string_view file) const;                        // a file's text; empty if it isn't there

 private:
  struct Slot {
    std::string_view name, bytes;
    mutable std::once_flag decoded;
    mutable std::unique_ptr<const OperatorRows> rows;
  };
  struct Lists {
    std::vector<OnnxChange> changes;
    std::vector<Listed> structural;
    std::vector<std::string> schemas;
  };
  void open(std::string_view bytes);
  const Lists& lists() const;

  std::string owned_;
  std::vector<std::string_view> files_;
  std::unique_ptr<Slot[]> slots_;
  std::size_t size_ = 0;
  std::string_view list_bytes_;
  std::vector<std::string_view> sources_;  // one a file
  mutable std::once_flag lists_decoded_;
  mutable Lists lists_;
};

}  // namespace compatcheck::mapping
