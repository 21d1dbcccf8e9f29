#include "onnx_file/write_skeleton.h"

#include <deque>
#include <map>
#include <tuple>

#include "compatcheck/error.h"
#include "onnx/output_file.h"
#include "onnx/weight_copy.h"
#include "onnx/wire.h"
#include "process/callback.h"

namespace compatcheck::onnx_file {
namespace {

// Ranges of files, and where they go in one that is written.
class Copies {
 public:
  // Returns where the next ones go.
  std::uint64_t add(const FarElements& elements, std::uint64_t at) {
    for (const FarElements::Part& part : elements.parts) {
      if (part.bytes == 0) continue;
      auto storage = std::make_shared<ir::Storage>();
      storage->file_offset = part.at;
      storage->bytes = part.bytes;
      storage->in_file = true;
      const auto bytes = static_cast<std::int64_t>(part.bytes);
      pieces_.push_back(
          {.dtype = ir::DType::u8,
           .dims = {bytes},
           .bytes = {},
           .view = ir::TensorView{
               .dtype = ir::DType::u8, .sizes = {bytes}, .strides = {1}, .storage = std::move(storage), .quantizer = nullptr}});
      by_file_[elements.file->descriptor()].push_back({&pieces_.back(), at});
      at += part.bytes;
    }
    return at;
  }

  void copy(const onnx::OutputFile& to, const std::function<void(std::uint64_t)>& written) const {
    for (const auto& [from, placed] : by_file_) onnx::copy_weights(placed, from, to.descriptor(), written);
  }

 private:
  std::deque<onnx::TensorData> pieces_;
  std::map<int, std::vector<onnx::PlacedWeight>> by_file_;
};

// Raw bytes, or what is the same: little-endian numbers one after the other.
bool can_lie_apart(const FarElements& elements) {
  return elements.field == raw_data || elements.field == float_data || elements.field == double_data;
}

void set_place(::onnx::TensorProto& tensor, const std::string& location, std::uint64_t offset, std::uint64_t length) {
  drop_far(tensor);
  tensor.clear_external_data();
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  const std::pair<const char*, std::string> entries[] = {
      {"location", location}, {"offset", std::to_string(offset)}, {"length", std::to_string(length)}};
  for (const auto& [key, value] : entries) {
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
}

class Writing {
 public:
  Writing(Skeleton& skeleton, ExternalFiles& externals, const std::filesystem::path& file, ExternalData external_data,
          const RunOptions& run)
      : skeleton_(skeleton),
        externals_(externals),
        file_(file),
        data_file_(file.string() + ".data"),
        external_data_(external_data),
        run_(run) {}

  Written write() {
    bring_in();
    std::uint64_t whole = lay_out(skeleton_).bytes;
    for (const auto& tensor : apart_) whole += tensor.second.bytes();
    if (external_data_ == ExternalData::never && whole > onnx::most_message_bytes)
      throw UsageError(
          "the model is larger than 2 GB, which one ONNX file can't be: ExtractOptions::external_data must not be `never`");
    const bool all = external_data_ == ExternalData::always || lay_out(skeleton_).bytes > onnx::most_message_bytes;
    if (all) take_out();
    total_ = whole;
    std::optional<onnx::OutputFile> data;
    if (!apart_.empty()) write_data(data.emplace(data_file_));
    onnx::OutputFile out(file_);
    write_model(out);
    if (data) data->finish();
    out.finish();
    return written_;
  }

 private:
  // Copies elements from other files of the model into the new file of data, or into the model itself.
  void bring_in() {
    for_each_tensor(skeleton_.model, [&](::onnx::TensorProto& tensor) {
      if (!is_external(tensor)) return;
      FarElements elements = externals_.elements(tensor);
      tensor.clear_external_data();
      tensor.clear_data_location();
      if (external_data_ == ExternalData::never)
        skeleton_.set_far(tensor, std::move(elements));
      else
        apart_.emplace_back(&tensor, std::move(elements));
    });
  }

  // Runtimes read external data of initializers; of attributes not all do.
  void take_out() {
    const auto of_graph = [&](::onnx::GraphProto& graph, const auto& self) -> void {
      for (auto& tensor : *graph.mutable_initializer())
        if (const FarElements* far = skeleton_.far(tensor); far && can_lie_apart(*far)) apart_.emplace_back(&tensor, *far);
      for (auto& node : *graph.mutable_node())
        for (auto& attribute : *node.mutable_attribute()) {
          if (attribute.has_g()) self(*attribute.mutable_g(), self);
          for (auto& body : *attribute.mutable_graphs()) self(body, self);
        }
    };
    of_graph(*skeleton_.model.mutable_graph(), of_graph);
  }

  void write_data(onnx::OutputFile& data) {
    Copies copies;
    std::uint64_t at = 0;
    std::map<std::tuple<const files::InputFile*, std::uint64_t, std::uint64_t>, std::uint64_t>
        places;  // tensors that share one go on sharing it
    for (const auto& [tensor, elements] : apart_) {
      const std::uint64_t length = elements.bytes(),
                          aligned = (at + onnx::external_alignment - 1) / onnx::external_alignment * onnx::external_alignment;
      const auto [place, added] = places.try_emplace({elements.file.get(), elements.parts.front().at, length}, aligned);
      set_place(*tensor, data_file_.filename().string(), place->second, length);
      if (added) at = copies.add(elements, aligned);
    }
    data.reserve(at);
    copies.copy(data, counted());
    written_.external_bytes = at;
  }

  void write_model(onnx::OutputFile& out) {
    const Layout layout = lay_out(skeleton_);
    if (layout.bytes > onnx::most_message_bytes)
      throw UsageError("the model is larger than 2 GB without its initializers, which an ONNX file can't be");
    out.reserve(layout.bytes);
    Copies copies;
    std::uint64_t at = 0;
    for (const Segment& segment : layout.segments) {
      if (const auto* bytes = std::get_if<std::string>(&segment)) {
        out.put(*bytes, at);
        at += bytes->size();
      } else {
        at = copies.add(*std::get<const FarElements*>(segment), at);
      }
    }
    copies.copy(out, counted());
    if (out.size() != layout.bytes) throw InternalError("the ONNX file isn't as long as it was laid out to be");
    written_.bytes = layout.bytes;
  }

  std::function<void(std::uint64_t)> counted() {
    return [this](std::uint64_t bytes) {
      done_ += bytes;
      if (run_.cancel && *run_.cancel) throw Cancelled("cancelled");
      process::report_progress(run_, {.stage = "write", .done = done_, .total = total_});
    };
  }

  Skeleton& skeleton_;
  ExternalFiles& externals_;
  const std::filesystem::path file_, data_file_;
  ExternalData external_data_;
  const RunOptions& run_;
  std::vector<std::pair<::onnx::TensorProto*, FarElements>> apart_;  // tensors that go to the data file
  std::uint64_t done_ = 0, total_ = 0;
  Written written_;
};

}  // namespace

Written write_skeleton(Skeleton& skeleton, ExternalFiles& externals, const std::filesystem::path& file,
                       ExternalData external_data, const RunOptions& run) {
  return Writing(skeleton, externals, file, external_data, run).write();
}

}  // namespace compatcheck::onnx_file
