// The archive's code/*.py, as libtorch's importer asks for them, and the way back from a graph's node to a place in
// the user's Python.
#pragma once

#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/serialization/source_range_serialization.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/debug_ranges.h"
#include "frontend/torchscript/archive.h"
#include "ir/location.h"

namespace caffe2::serialize {
class PyTorchStreamReader;
}

namespace compatcheck::frontend::torchscript {

// For libtorch's own messages.
class SourceOfRanges : public torch::jit::SourceRangeUnpickler, public DebugRanges {
 public:
  using DebugRanges::DebugRanges;
  std::optional<torch::jit::SourceRange> findSourceRangeThatGenerated(const torch::jit::SourceRange& range) override;
};

class Sources {
 public:
  Sources(const Archive& archive, caffe2::serialize::PyTorchStreamReader& reader) : archive_(archive), reader_(reader) {}

  // The source that defines what begins with `qualifier` ("__torch__.net"); null if the archive has none.
  std::shared_ptr<torch::jit::Source> load(const std::string& qualifier);
  std::vector<std::string> qualifiers() const;  // one for each code file
  std::string_view text(const std::string& qualifier);

  ir::LocationRef locate(const torch::jit::SourceRange& range);
  bool any_traced() const { return any_traced_; }  // whether any place located so far was traced

 private:
  struct File {
    std::shared_ptr<torch::jit::Source> source;
    std::shared_ptr<SourceOfRanges> ranges;  // null if the archive has none
    std::string name;
    std::unordered_map<std::size_t, ir::LocationRef> own_places;
  };
  std::string_view bytes(const Record& record);
  static void check(const std::string& name, std::string_view code);
  ir::LocationRef locate_in_code(File& file, const torch::jit::SourceRange& range);

  const Archive& archive_;
  caffe2::serialize::PyTorchStreamReader& reader_;
  std::unordered_map<const torch::jit::Source*, File> files_;
  std::unordered_map<const Record*, std::string> unpacked_;
  bool any_traced_ = false;
  StackFrames frames_;
};

}  // namespace compatcheck::frontend::torchscript
